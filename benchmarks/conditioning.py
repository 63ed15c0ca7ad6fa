"""Does preconditioning take the conditioning and the units of the data away? Passes to 1e-6.

    python -m benchmarks conditioning [--invariance | --low-rank] [--algorithm adf-spdc] [--seed 0]

Whitened logistic regression on synthetic2, a9a and mushrooms: passes until the certified relative
gap is 1e-6, and until (P - P*)/(P(0) - P*) <= 1e-6; of the iterations alone, and with the products
of the checks. ``--invariance``: cpuact and gas in raw units against columns of unit length.
``--low-rank``: adf-bpd on data too wide to whiten, where a few strong directions are taken away.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import dualgap
from benchmarks.data_sets import load
from dualgap.preconditioners import LowRank

TARGET = 1e-6


def table(algorithm: str, seed: int) -> None:
    """Passes to the targets, and the set-up, at ever weaker regularisation."""
    print(
        "set            l2 n   certified   with checks   suboptimal, with checks   set-up s"
        "   total s"
    )
    for name, strengths in (
        ("synthetic2", (1.0, 1e-2, 1e-4, 1e-6)),
        ("a9a", (1e-2, 1e-4)),
        ("mushrooms", (1e-2, 1e-4)),
    ):
        loaded = dualgap.datasets.synthetic2() if name == "synthetic2" else load(name)
        if loaded is None:
            print(f"{name}: skipped, the data folder is absent")
            continue
        A, b = loaded
        for strength in strengths:
            problem = dualgap.Problem(A, b, loss="logistic", l2=strength / len(b))
            result = problem.solve(
                algorithm=algorithm, precondition="whiten", random_state=seed, max_passes=200
            )
            optimum = problem.solve(
                algorithm=algorithm, precondition="whiten", tol=1e-11, max_passes=400
            ).certificate.dual
            bound = optimum + TARGET * (problem.primal_at_zero - optimum)
            reached = np.flatnonzero(result.trace.primal <= bound)
            passes = result.trace.passes[reached[0]] if reached.size else math.inf
            met = result.certificate.relative_gap <= TARGET
            done, all_done = (result.state.passes, result.passes) if met else (math.inf, math.inf)
            print(
                f"{name:12}{strength:8.0e}{done:12.0f}{all_done:14.0f}{passes:26.0f}"
                f"{result.setup.seconds:11.2f}{result.seconds:10.2f}",
                flush=True,
            )


def invariance(algorithm: str) -> None:
    """Raw columns against columns of unit length, the same problem."""
    print("set      n l2    precondition    raw   unit   ratio   objectives differ by")
    for name in ("cpuact", "gas"):
        loaded = load(name)
        if loaded is None:
            print(f"{name}: skipped, the data folder is absent")
            continue
        A, b = loaded
        A = A.toarray()
        n = len(b)
        length = np.sqrt((A * A).mean(axis=0))
        length[length == 0] = 1.0
        for strength in (0.0, 1.0, 1e-2, 1e-4):
            for by, precondition in (
                ("auto", "auto"),
                (algorithm, "diagonal"),
                (algorithm, "whiten"),
            ):
                results = [
                    dualgap.solve(
                        A * scale,
                        b,
                        l2=strength / n,
                        penalty_weights=(length * scale) ** 2,
                        algorithm=by,
                        precondition=precondition,
                        max_passes=20000,
                    )
                    for scale in (np.ones_like(length), 1.0 / length)
                ]
                raw, unit = results
                differ = abs(raw.certificate.primal / unit.certificate.primal - 1.0)
                print(
                    f"{name:8}{strength:5.0e}{precondition:>14}{raw.passes:9.0f}{unit.passes:7.0f}"
                    f"{raw.passes / unit.passes:8.2f}{differ:12.1e}   "
                    f"{raw.status.name} {unit.status.name}",
                    flush=True,
                )


def wide(n: int = 2000, d: int = 6000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Noisy labels; the covariance of the rows has eigenvalues 1/j^2, in mixed directions."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d)) / np.arange(1, d + 1)
    for v in rng.standard_normal((3, d)):
        A -= np.outer(A @ v, 2.0 * v / (v @ v))
    A /= math.sqrt((A * A).sum() / n)
    z = A @ rng.standard_normal(d)
    b = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * z / z.std())), 1.0, -1.0)
    return A, b


def low_rank(limit: int = 20000) -> None:
    """Iterations and checks, set-up, and seconds, with their ratios to a run without."""
    print("set             l2 n   precondition   passes   set-up       s   ratios      gap")
    for name, loaded in (("2000 x 6000", wide()), ("rcv1_sub", load("rcv1_sub"))):
        if loaded is None:
            print(f"{name}: skipped, the data folder is absent")
            continue
        A, b = loaded
        for strength in (1e-2, 1e-4):
            problem = dualgap.Problem(A, b, loss="logistic", l2=strength / len(b))
            plain = None
            for precondition in ("none", "diagonal", LowRank(rank=20), LowRank(), LowRank(100)):
                result = problem.solve(
                    algorithm="adf-bpd", precondition=precondition, max_passes=limit
                )
                plain = plain or result
                label = (
                    precondition
                    if isinstance(precondition, str)
                    else f"low-rank {precondition.rank}"
                )
                print(
                    f"{name:12}{strength:8.0e}{label:>15}{result.passes:9.0f}"
                    f"{result.setup.passes:9.0f}{result.seconds:8.1f}"
                    f"{plain.passes / result.passes:6.1f}{plain.seconds / result.seconds:5.1f}"
                    f"{result.certificate.relative_gap:9.0e}   {result.status.name}",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--invariance", action="store_true")
    parser.add_argument("--low-rank", action="store_true")
    parser.add_argument("--algorithm", default="adf-spdc")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.invariance:
        invariance(options.algorithm)
    elif options.low_rank:
        low_rank()
    else:
        table(options.algorithm, options.seed)


if __name__ == "__main__":
    main()
