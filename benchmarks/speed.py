"""What does an iteration cost beyond its two products? And the memory, and the start.

    python -m benchmarks speed

Ratios in one run: solve (set-up apart) over the bare pairs A @ x, A.T @ y of as many passes, each
the best of several, taken in turn.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
import tracemalloc

import numpy as np

import dualgap
from benchmarks.data_sets import load

PASSES = 40
ROUNDS = 7


def bare_pairs(A, passes: int) -> float:
    """Seconds for the products alone."""
    x, y = np.ones(A.shape[1]), np.ones(A.shape[0])
    began = time.perf_counter()
    for _ in range(passes):
        A @ x
        A.T @ y
    return time.perf_counter() - began


def iterations(problem: dualgap.Problem, algorithm: str) -> tuple[float, float]:
    """Seconds of PASSES iterations, and of the set-up (constants cold)."""
    cold = dualgap.Problem(
        problem.design.A, problem.b, loss=problem.loss, l1=problem.l1, l2=problem.l2
    )
    result = cold.solve(algorithm=algorithm, tol=1e-15, max_passes=PASSES)
    return result.trace.seconds[-1] - result.trace.seconds[0], result.setup.seconds


def compare(name: str, problem: dualgap.Problem, algorithms: tuple[str, ...]) -> None:
    """Print the ratios for one problem."""
    best: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        best.setdefault("bare", []).append(bare_pairs(problem.design.A, PASSES))
        for algorithm in algorithms:
            seconds, setup = iterations(problem, algorithm)
            best.setdefault(algorithm, []).append(seconds)
            best.setdefault(algorithm + " set-up", []).append(setup)
    bare = min(best["bare"])
    print(f"{name}: a bare pair of products takes {1e3 * bare / PASSES:.2f} ms")
    for algorithm in algorithms:
        setup = min(best[algorithm + " set-up"])
        print(
            f"  {algorithm:8s} iteration over bare pair {min(best[algorithm]) / bare:5.2f}"
            f"   set-up {setup:.3f} s ({setup / bare * PASSES:.0f} pairs)",
            flush=True,
        )


def memory(A, b) -> None:
    """Peak memory that a solve allocates, over the size of the data."""
    problem = dualgap.Problem(A, b, l2=1e-2 / A.shape[0])
    tracemalloc.start()
    problem.solve(max_passes=20)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    vectors = peak / (8 * (A.shape[0] + A.shape[1]))
    print(
        f"memory: solve allocates {peak / 1e6:.2f} MB at its peak, {vectors:.0f} vectors of n + d, "
        f"{peak / A.nbytes:.4f} of the data"
    )


def start() -> None:
    """Import time beyond numpy and scipy, in fresh processes."""
    base = "import numpy, scipy.linalg, scipy.sparse, scipy.special"
    code = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"
    times = {}
    for name, line in {
        "numpy and scipy": base,
        "with dualgap": f"{base}; import dualgap",
        "with dualgap.solve": f"{base}; import dualgap; dualgap.solve",
    }.items():
        runs = [
            float(subprocess.check_output([sys.executable, "-c", code.format(line)]))
            for _ in range(5)
        ]
        times[name] = min(runs)
    zero = times.pop("numpy and scipy")
    print(f"start: numpy and scipy {zero:.3f} s")
    for name, seconds in times.items():
        print(f"  {name} + {seconds - zero:.3f} s")


def main() -> None:
    A, b = dualgap.datasets.synthetic1()
    ridge = dualgap.Problem(A, b, l2=1e-2 / len(b))
    compare("synthetic1, ridge, dense 5000 x 3000", ridge, ("bpd", "ada-bpd", "adf-bpd", "agd"))
    memory(A, b)
    rcv1 = load("rcv1_sub")
    if rcv1 is None:
        print("rcv1_sub: skipped, the data folder is absent")
    else:
        A, b = rcv1
        for width, whose in ((np.int64, "as scikit-learn loads it"), (np.int32, "32-bit indices")):
            A = A.copy()
            A.indices, A.indptr = A.indices.astype(width), A.indptr.astype(width)
            logistic = dualgap.Problem(A, b, loss="logistic", l2=1e-2 / len(b))
            title = f"rcv1_sub, logistic, CSR, {whose}"
            compare(title, logistic, ("bpd", "df-bpd", "adf-bpd", "agd"))
    start()
    print(f"peak resident memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    main()
