"""What does a checkpoint cost: seconds of the processor, bytes, and the first look at the data?

    python -m benchmarks checkpoints [--folder SCRATCH]

A run of a few passes with a checkpoint after every step, next to the same run without; the sum of
the data, which is made once by a run that is kept and once by one that resumes; and a product with
A, for comparison. Seconds are of one thread, the least of some rounds; waiting for the disk is not
in them.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

import dualgap
from benchmarks.timing import best_of
from dualgap.checkpoints.identity import of_data

ROUNDS = 5


def problems() -> dict[str, Callable[[], dualgap.Problem]]:
    """Small, tall, wide and sparse."""
    rng = np.random.default_rng(0)

    def dense(n: int, d: int) -> dualgap.Problem:
        A = rng.standard_normal((n, d))
        b = np.sign(A @ rng.standard_normal(d) + rng.standard_normal(n))
        return dualgap.Problem(A, b, loss="logistic", l2=1e-4)

    def sparse(n: int, d: int) -> dualgap.Problem:
        A = sp.random_array((n, d), density=30 / d, format="csr", rng=rng)
        b = np.sign(A @ rng.standard_normal(d) + 0.1 * rng.standard_normal(n))
        return dualgap.Problem(A, b, loss="logistic", l2=1e-4)

    return {
        "1000 x 20": lambda: dense(1000, 20),
        "200 000 x 50": lambda: dense(200_000, 50),
        "3000 x 1000": lambda: dense(3000, 1000),
        "100 000 x 20 000, sparse": lambda: sparse(100_000, 20_000),
    }


def measured(problem: dualgap.Problem, algorithm: str, file: Path) -> list[float]:
    """Milliseconds of a pass, of a checkpoint, of the sum of the data, of A x; and kilobytes."""
    options = {"algorithm": algorithm, "tol": 1e-14, "max_passes": 10}
    writes: list[int] = []

    def kept() -> None:
        file.unlink(missing_ok=True)
        result = problem.solve(checkpoint=file, checkpoint_every=0, **options)
        writes.append(len(result.trace) - 1)

    x = np.ones(problem.d)
    times = best_of(
        {
            "alone": lambda: problem.solve(**options),
            "kept": kept,
            "sum": lambda: of_data(problem.base),
            "product": lambda: problem.base.matvec(x),
        },
        ROUNDS,
    )
    each = (times["kept"] - times["alone"] - times["sum"]) / writes[-1]
    seconds = (times["alone"] / 10, each, times["sum"], times["product"])
    return [*(1e3 * value for value in seconds), file.stat().st_size / 1e3]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description="What checkpoints cost.")
    parser.add_argument("--folder", type=Path, help="where to write; a temporary one by default")
    given = parser.parse_args()
    print(f"{'':26}{'':10}{'ms a pass':>10}{'ms a':>12}{'sum of':>10}{'A x':>8}{'kB a':>12}")
    print(f"{'':36}{'ms a pass':>10}{'ms a':>12}{'sum of':>10}{'A x':>8}{'kB a':>12}")
    print(f"{'':36}{'of a run':>10}{'checkpoint':>12}{'A, ms':>10}{'ms':>8}{'checkpoint':>12}")
    with threadpool_limits(1), tempfile.TemporaryDirectory(dir=given.folder) as folder:
        for name, make in problems().items():
            problem = make()
            for algorithm in ("adf-bpd", "newton", "adf-spdc"):
                a_pass, each, digest, product, size = measured(
                    problem, algorithm, Path(folder) / "run.npz"
                )
                print(
                    f"{name:26}{algorithm:10}{a_pass:10.2f}{each:12.2f}{digest:10.2f}"
                    f"{product:8.2f}{size:12.0f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
