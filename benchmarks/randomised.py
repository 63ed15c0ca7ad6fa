"""The randomised algorithms: passes to a target, against the oracle and the baselines.

    python -m benchmarks randomised [--seeds 5] [--problem synthetic1 ...] [--limit 200] [--rules]

Passes (row visits of the iterations, over n) until (P - P*)/(P(0) - P*) <= 1e-6, median over seeds,
for l2 = 1, 1e-2, 1e-4 over n. SVRG and Katyusha have inner loops of 2n rows, and their full
gradients are counted; P is looked at after each of their outer loops (3 passes), and after each
pass of the others, whose checks are not in these numbers.
"""

from __future__ import annotations

import argparse
import functools
from dataclasses import replace

import numpy as np

import dualgap
from benchmarks.data_sets import load
from dualgap import algorithms as alg
from dualgap.adaptation import Robust, Simple
from dualgap.algorithms.baselines.svrg import Snapshots

TARGET = 1e-6


@functools.cache
def data(name: str):
    """A, b and the loss of a problem; None if its data are not at hand."""
    if name == "synthetic1":
        return (*dualgap.datasets.synthetic1(), "squared")
    if name == "synthetic2":
        return (*dualgap.datasets.synthetic2(), "logistic")
    loaded = load(name)
    if loaded is None:
        return None
    A, b = loaded
    if name == "cpuact":
        A = scaled_columns(A.toarray())
        return A / np.sqrt((A * A).sum(axis=1).max()), b, "squared"
    return A, b, "logistic"


def scaled_columns(A: np.ndarray) -> np.ndarray:
    """Columns moved and scaled to [-1, 1], as LIBSVM's tools do; constant ones become 0.

    Raw columns of cpuact differ in size by many powers of ten: without preconditioning no method
    here gets anywhere.
    """
    low, high = A.min(axis=0), A.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    return np.where(high > low, 2.0 * (A - low) / width - 1.0, 0.0)


def contenders(names: list[str], rules: bool) -> dict[str, alg.Algorithm]:
    """The algorithms by name; if asked for, the adaptive one with the paper's rules."""
    out: dict[str, alg.Algorithm] = {name: alg.ALGORITHMS[name]() for name in names}
    for name, algorithm in out.items():
        if not isinstance(algorithm, Snapshots):  # there it is the length of the inner loop
            out[name] = replace(algorithm, check_every=1)
    if rules:
        out["adf-spdc robust"] = alg.ADFSPDC(check_every=1, adapt=Robust())
        out["adf-spdc simple"] = alg.ADFSPDC(check_every=1, adapt=Simple())
        out["adf-spdc permuted"] = alg.ADFSPDC(check_every=1, sampling="permuted")
    return out


def passes(problem: dualgap.Problem, algorithm, optimum: float, seed: int, limit: int) -> float:
    """Passes of iterations until the target is met."""
    bound = optimum + TARGET * (problem.primal_at_zero - optimum)
    result = problem.solve(
        algorithm=algorithm,
        tol=1e-15,
        max_passes=limit,
        random_state=seed,
        callback=lambda snapshot: snapshot.primal <= bound,
    )
    return result.state.passes if result.trace.primal[-1] <= bound else np.inf


def median_passes(problem, algorithm, optimum: float, seeds: int, limit: int) -> float:
    """Over the seeds, infinity where most runs miss the target; stops once that is certain."""
    counts: list[float] = []
    for seed in range(seeds):
        counts.append(passes(problem, algorithm, optimum, seed, limit))
        if 2 * np.isinf(counts).sum() > seeds:
            return np.inf
    return float(np.median(counts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--limit", type=int, default=200)
    parser.add_argument("--problem", nargs="*", default=["synthetic1"])
    parser.add_argument("--algorithm", nargs="*", default=[c.name for c in alg.RANDOMISED])
    parser.add_argument("--rules", action="store_true", help="adf-spdc with other rules too")
    options = parser.parse_args()
    strengths = (1.0, 1e-2, 1e-4)
    for name in options.problem:
        loaded = data(name)
        if loaded is None:
            print(f"{name}: skipped, the data folder is absent")
            continue
        A, b, loss = loaded
        table: dict[str, list[str]] = {}
        for strength in strengths:
            problem = dualgap.Problem(A, b, loss=loss, l2=strength / len(b))
            reference = problem.solve(tol=1e-12, max_passes=20000)
            optimum = reference.certificate.primal
            for label, algorithm in contenders(options.algorithm, options.rules).items():
                median = median_passes(problem, algorithm, optimum, options.seeds, options.limit)
                shown = f"{median:.0f}" if np.isfinite(median) else f"> {options.limit}"
                table.setdefault(label, []).append(shown)
        print(f"{name}, {loss}: passes to 1e-6, median of {options.seeds} seeds")
        print(" " * 20 + "".join(f"{s:g}/n".rjust(12) for s in strengths))
        for label, cells in table.items():
            print(label.ljust(20) + "".join(c.rjust(12) for c in cells), flush=True)


if __name__ == "__main__":
    main()
