"""What a proof costs, and what is proved at defaults: python -m benchmarks proofs.

First the proof at a given y over the gap in floats, which is what a certificate was before it was
proved, on dense 20 000 x 500 data and on rcv1_sub (one thread, processor time); without a y, where
a Newton step is looked for, beside it. Then default fits on the data sets beside the clone: the
whole fit over the fit without its proof, and whether it is proved to tol.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import dualgap
from benchmarks.data_sets import folder, load
from benchmarks.gate_fits import SETS, problems
from benchmarks.timing import best_of
from dualgap.certificate import estimated_pair, proved_pair
from dualgap.driver import proving


def models(A: Any, b: Any) -> dict[str, dict[str, Any]]:
    n = A.shape[0]
    signs = np.where(b > np.median(b), 1.0, -1.0)
    most = float(np.abs(A.T @ b).max()) / n
    return {
        "ridge": {"b": b, "l2": 1.0 / n},
        "ridge, intercept": {"b": b, "l2": 1.0 / n, "fit_intercept": True},
        "lasso": {"b": b, "l1": 0.1 * most},
        "lasso, intercept": {"b": b, "l1": 0.1 * most, "fit_intercept": True},
        "Huber, l2": {"b": b, "loss": "huber", "l2": 1.0 / n},
        "logistic, l2": {"b": signs, "loss": "logistic", "l2": 1.0 / n},
        "logistic, l2, intercept": {
            "b": signs, "loss": "logistic", "l2": 1.0 / n, "fit_intercept": True,
        },
        "logistic, l1": {"b": signs, "loss": "logistic", "l1": 0.1 * most / np.abs(b).max()},
        "smoothed hinge, l2": {"b": signs, "loss": "smoothed_hinge", "l2": 1.0 / n},
    }  # fmt: skip


def certificates(name: str, A: Any, b: Any, rounds: int) -> None:
    print(f"\n{name}: the proof over the gap in floats, and without a y")
    for model, given in models(A, b).items():
        given = dict(given)
        problem = dualgap.Problem(A, given.pop("b"), **given)
        result = problem.solve()
        x = problem.join(result.x, result.intercept)
        best = best_of(
            {
                "floats": lambda p=problem, x=x, y=result.y: estimated_pair(p, x, y),
                "proof": lambda p=problem, x=x, y=result.y: proved_pair(p, x, y),
                "without y": lambda p=problem, x=x: proved_pair(p, x, None),
            },
            rounds,
        )
        gap = estimated_pair(problem, x, result.y)[0].gap
        print(
            f"  {model:26s} {1e3 * best['floats']:7.2f} ms"
            f"   proof {best['proof'] / best['floats']:5.2f}"
            f"   without y {best['without y'] / best['floats']:6.2f}"
            f"   gap {gap:.1e}, proved {result.certificate.gap:.1e}"
        )


class Clock:
    """The seconds that proofs take inside of a fit."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self, *args: Any) -> Any:
        began = time.process_time()
        try:
            return proved_pair(*args)
        finally:
            self.seconds += time.process_time() - began


def fits(rounds: int) -> None:
    """Default fits on the data sets, with and without their proofs."""
    ratios: list[float] = []
    print("\nDefault fits: the whole over the fit without its proof, and what was proved")
    for name in SETS:
        for penalty, (A, b, given) in problems(name).items():
            whole, least = float("inf"), float("inf")
            for _ in range(rounds):
                clock = Clock()
                proving.proved_pair, before = clock, proving.proved_pair
                began = time.process_time()
                result = dualgap.solve(A, b, **given)
                spent = time.process_time() - began
                proving.proved_pair = before
                if spent < whole:
                    whole, least = spent, spent - clock.seconds
            ratios.append(whole / least)
            proof = result.certificate
            print(
                f"  {name:20s} {penalty:26s} {1e3 * whole:9.2f} ms  {whole / least:5.2f}  "
                f"{result.status.name:12s} {proof.kind:18s} {proof.relative_gap:.1e}"
            )
    print(f"  median {statistics.median(ratios):.3f}, largest {max(ratios):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=("certificates", "fits"))
    options = parser.parse_args()
    with threadpool_limits(1):
        if options.only != "fits":
            rng = np.random.default_rng(0)
            A = rng.standard_normal((20_000, 500))
            b = A @ rng.standard_normal(500) / 20.0 + rng.standard_normal(20_000)
            certificates("dense 20 000 x 500", A, b, options.rounds)
            if folder() is not None:
                certificates("rcv1_sub", *load("rcv1_sub"), options.rounds)
        if options.only != "certificates" and folder() is not None:
            fits(options.rounds)


if __name__ == "__main__":
    main()
