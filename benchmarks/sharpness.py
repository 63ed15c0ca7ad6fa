"""How sharply a point is judged without a dual point: python -m benchmarks sharpness.

Small random problems of every loss and penalty, and points x between 0 and the minimiser, from far
away to 1e-9 of it. For each the proved gap of `certify(A, b, x)`, which looks for a dual point by a
Newton step, and the gap with the dual point phi'(z) that is at hand for free, both over the true
P(x) - P*. Points whose P(x) - P* is below 1e-10 P* are left out: P* itself is known no better.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import dualgap

LOSSES = ("squared", "logistic", "huber", "smoothed_hinge", "squared_hinge", "poisson", "gamma")
PENALTIES: tuple[dict[str, float], ...] = (
    {"l2": 1e-1}, {"l2": 1e-3}, {"l2": 1e-6}, {"l1": 1e-2}, {"l1": 1e-2, "l2": 1e-3},
)  # fmt: skip
CONDITIONS = (1e0, 1e3, 1e6)
DISTANCES = (1.0, 1e-1, 1e-2, 1e-4, 1e-6)
LEAST = 1e-10
"""The least P(x) - P* over P* that is compared."""


def targets(loss: str, z: Any, rng: np.random.Generator) -> Any:
    """Targets that suit a loss, from the scores of a true model."""
    if loss == "poisson":
        return rng.poisson(np.exp(np.clip(z, -3.0, 3.0))).astype(float)
    if loss == "gamma":
        return np.exp(np.clip(z, -3.0, 3.0)) * rng.gamma(2.0, 0.5, z.size)
    noisy = z + rng.standard_normal(z.size)
    return noisy if loss in ("squared", "huber") else np.where(noisy > 0.0, 1.0, -1.0)


def ratios(loss: str, seed: int) -> tuple[list[float], list[float]]:
    """The gaps over P(x) - P*: with the Newton dual point, and with phi'(z)."""
    rng = np.random.default_rng(seed)
    newton, free = [], []
    for penalty in PENALTIES:
        for condition in CONDITIONS:
            A = rng.standard_normal((200, 20)) * np.geomspace(1.0, 1.0 / condition, 20)
            b = targets(loss, A @ rng.standard_normal(20), rng)
            problem = dualgap.Problem(A, b, loss=loss, **penalty)
            best = problem.solve(tol=1e-13)
            least = best.certificate.primal - best.certificate.gap
            for distance in DISTANCES:
                x = best.x + distance * rng.standard_normal(20) * (1.0 + np.abs(best.x))
                proof = problem.certify(x)
                true = proof.primal - least
                if not np.isfinite(proof.primal) or true <= LEAST * least:
                    continue
                newton.append(proof.gap / true)
                y = problem.loss.grad(A @ x, problem.b)
                free.append(problem.certify(x, y).gap / true)
    return newton, free


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    seed = parser.parse_args().seed
    every: tuple[list[float], list[float]] = ([], [])
    print("the proved gap without y over P(x) - P*, and with y = phi'(z): median, 90 %, largest")
    with threadpool_limits(1):
        for loss in LOSSES:
            found = ratios(loss, seed)
            line(loss, *found)
            for all_, some in zip(every, found, strict=True):
                all_ += some
    line("all", *every)


def line(name: str, newton: list[float], free: list[float]) -> None:
    """One row of the table."""
    cells = [
        f"{np.median(r):8.3g} {np.quantile(r, 0.9):8.3g} {max(r):8.3g}" for r in (newton, free)
    ]
    print(f"  {name:15s} {len(newton):4d} points   {cells[0]}      {cells[1]}")


if __name__ == "__main__":
    main()
