"""Does adaptation find the strong convexity of the data? Passes against the oracle's.

    python -m benchmarks adaptivity [--n 5000] [--d 3000] [--seed 0]
    python -m benchmarks adaptivity --local

Ridge regression on synthetic1; passes until (P - P*)/(P(0) - P*) <= 1e-9, for l2 = 1, 1e-2, 1e-4, 0
over n. The oracle is Opt-BPD, which is given mu. With --local: logistic regression on the sets at
hand; passes of adf-bpd to a certified relative gap of 1e-6, with steps by the bound on phi'' and by
phi'' where the iterates are.
"""

from __future__ import annotations

import argparse

import numpy as np
import scipy.linalg

import dualgap
from benchmarks.data_sets import load
from dualgap.adaptation import Curvature, Robust, Simple
from dualgap.algorithms import ADFBPD, AGD, BPD, DFBPD, AdaBPD, OptBPD

TARGET = 1e-9
LIMIT = 4000


def contenders(mu: float) -> dict[str, dualgap.algorithms.Algorithm]:
    """What is compared; the first is the oracle."""
    return {
        "opt-bpd": OptBPD(mu=mu),
        "ada-bpd curvature": AdaBPD(),
        "  start 1000 x too large": AdaBPD(mu=np.sqrt(1e3) * mu),
        "  start 1000 x too small": AdaBPD(mu=np.sqrt(1e-3) * mu),
        "  period 10": AdaBPD(adapt=Curvature(period=10)),
        "adf-bpd curvature": ADFBPD(),
        "ada-bpd simple": AdaBPD(adapt=Simple()),
        "ada-bpd robust": AdaBPD(adapt=Robust()),
        "ada-bpd robust, theta 1": AdaBPD(adapt=Robust(theta_one=True)),
        "bpd (mu = 0)": BPD(),
        "df-bpd (mu given)": DFBPD(mu=mu),
        "primal ag": AGD(),
    }


def passes_to_target(problem: dualgap.Problem, algorithm, optimum: float) -> tuple[float, int]:
    """Passes until the relative suboptimality is TARGET, and roll-backs."""
    bound = optimum + TARGET * (problem.primal_at_zero - optimum)
    result = problem.solve(
        algorithm=algorithm,
        tol=1e-15,
        max_passes=LIMIT,
        callback=lambda snapshot: snapshot.primal <= bound,
    )
    reached = np.flatnonzero(result.trace.primal <= bound)
    passes = result.state.t if reached.size else np.inf
    return passes, result.trace.rollbacks


def local_smoothness() -> None:
    """Steps by the bound against steps by local curvature."""
    print("passes to a certified 1e-6, checks included: by the bound, local, ratio [seconds]")
    for name in ("a9a", "mushrooms", "german.numer_scale", "rcv1_sub"):
        found = load(name)
        if found is None:
            print(f"{name}: skipped, the data folder is absent")
            continue
        A, b = found
        A = A / np.sqrt(A.multiply(A).sum() / A.shape[0])  # rows of length 1, in the mean
        for strength in (1.0, 1e-2, 1e-4):
            problem = dualgap.Problem(A, b, loss="logistic", l2=strength / A.shape[0])
            runs = [
                problem.solve(algorithm=ADFBPD(local=local), tol=1e-6, max_passes=20_000)
                for local in (False, True)
            ]
            bound, local = (run.passes for run in runs)
            before, after = (run.seconds for run in runs)
            print(
                f"  {name:20} l2 = {strength:g}/n: {bound:7.0f} {local:7.0f}  {local / bound:.2f}"
                f"  [{after / before:.2f}]  {runs[0].status.name} {runs[1].status.name}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=5000)
    parser.add_argument("--d", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--local", action="store_true")
    options = parser.parse_args()
    if options.local:
        local_smoothness()
        return
    n = options.n
    A, b = dualgap.datasets.synthetic1(n, options.d, options.seed)
    gram = A.T @ A / n
    correlation = A.T @ b / n
    eigenvalues = scipy.linalg.eigvalsh(gram)
    mu = float(np.sqrt(n * eigenvalues[0]))
    print(f"synthetic1 {n} x {options.d}: mu^2/n = {mu**2 / n:.3g}, L^2/n = {eigenvalues[-1]:.3g}")
    strengths = (1.0, 1e-2, 1e-4, 0.0)
    table: dict[str, list[str]] = {}
    for strength in strengths:
        l2 = strength / n
        problem = dualgap.Problem(A, b, l2=l2)
        x = scipy.linalg.solve(gram + l2 * np.eye(options.d), correlation, assume_a="pos")
        optimum = problem.primal(x, A @ x)
        oracle = np.inf
        for name, algorithm in contenders(mu).items():
            passes, rollbacks = passes_to_target(problem, algorithm, optimum)
            oracle = passes if name == "opt-bpd" else oracle
            count = f"{passes:.0f}" if np.isfinite(passes) else f"> {LIMIT}"
            note = f" ({rollbacks} roll-backs)" if rollbacks else ""
            table.setdefault(name, []).append(f"{count} [{passes / oracle:.2f}]{note}")
    width = 22
    print("passes to relative suboptimality 1e-9 [over the oracle's]")
    print(" " * 26 + "".join(f"l2 = {s:g}/n".rjust(width) for s in strengths))
    for name, cells in table.items():
        print(name.ljust(26) + "".join(cell.rjust(width) for cell in cells), flush=True)


if __name__ == "__main__":
    main()
