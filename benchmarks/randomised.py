"""The randomised algorithms: passes to a target, against the oracle and the baselines.

    python -m benchmarks.randomised [--seeds 5] [--problem synthetic1 ...] [--limit 200]

Passes (row visits of the iterations, over n) until (P - P*)/(P(0) - P*) <= 1e-6, median over seeds,
for l2 = 1, 1e-2, 1e-4 over n. Checks are not in these numbers.
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
        A = A.toarray()
        return A / np.sqrt((A * A).sum(axis=1).max()), b, "squared"
    return A, b, "logistic"


def contenders(names: tuple[str, ...]) -> dict[str, alg.Algorithm]:
    """The algorithms by name, and the adaptive ones with the paper's rules."""
    out: dict[str, alg.Algorithm] = {name: alg.ALGORITHMS[name]() for name in names}
    for name in out:  # looked at after each pass, so that passes are counted one by one
        if hasattr(out[name], "check_every"):
            out[name] = replace(out[name], check_every=1)
    if "adf-spdc" in out:
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--limit", type=int, default=200)
    parser.add_argument("--problem", nargs="*", default=["synthetic1"])
    parser.add_argument("--algorithm", nargs="*", default=[c.name for c in alg.RANDOMISED])
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
            for label, algorithm in contenders(tuple(options.algorithm)).items():
                counts = [
                    passes(problem, algorithm, optimum, seed, options.limit)
                    for seed in range(options.seeds)
                ]
                median = float(np.median(counts))
                shown = f"{median:.0f}" if np.isfinite(median) else f"> {options.limit}"
                table.setdefault(label, []).append(shown)
        print(f"{name}, {loss}: passes to 1e-6, median of {options.seeds} seeds")
        print(" " * 20 + "".join(f"{s:g}/n".rjust(12) for s in strengths))
        for label, cells in table.items():
            print(label.ljust(20) + "".join(c.rjust(12) for c in cells), flush=True)


if __name__ == "__main__":
    main()
