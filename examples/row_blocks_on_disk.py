"""Data that stay on disk: a design of row blocks, in thirty lines.

A folder holds the rows of A in files block-0000.npy, block-0001.npy, ..., each a matrix with the
same columns. Nothing is kept in memory but the block at hand. A design needs a ``shape`` and its
``blocks``; every other verb (products, norms, Gram matrices, sums over chunks) follows from these,
and `dualgap.solve` takes it in the place of an array.

Run it with ``python examples/row_blocks_on_disk.py``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import dualgap
from dualgap.designs import Design


class RowBlocksOnDisk(Design):
    """The .npy files of a folder, one below the other, in the order of their names."""

    def __init__(self, folder: str | Path) -> None:
        self.files = sorted(Path(folder).glob("*.npy"))
        shapes = [np.load(file, mmap_mode="r").shape for file in self.files]
        self.shape = (sum(n for n, _ in shapes), shapes[0][1])

    def blocks(self, rows: int) -> Iterator[tuple[slice, np.ndarray]]:
        """At most ``rows`` rows at a time, as float64, with their place."""
        first = 0
        for file in self.files:
            A = np.load(file, mmap_mode="r")
            for start in range(0, len(A), rows):
                block = np.asarray(A[start : start + rows], dtype=np.float64)
                yield slice(first + start, first + start + len(block)), block
            first += len(A)


def write_blocks(A: np.ndarray, folder: str | Path, rows: int) -> None:
    """Cut a matrix into files."""
    for k, start in enumerate(range(0, len(A), rows)):
        np.save(Path(folder) / f"block-{k:04d}.npy", A[start : start + rows])


def main() -> None:
    """Fit a logistic regression from disk, and the same from memory."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((20_000, 50)).astype(np.float32)
    b = np.sign(A @ rng.standard_normal(50) + rng.standard_normal(20_000))
    with tempfile.TemporaryDirectory() as folder:
        write_blocks(A, folder, rows=3_000)
        design = RowBlocksOnDisk(folder)
        dualgap.check_design(design)  # does what it says agree with itself?
        from_disk = dualgap.solve(design, b, loss="logistic", l2=1e-4, fit_intercept=True)
        certificate = dualgap.certify(
            design, b, from_disk.x, from_disk.y, intercept=from_disk.intercept,
            loss="logistic", l2=1e-4, fit_intercept=True,
        )  # fmt: skip
        try:
            dualgap.solve(design, b, loss="logistic", l2=1e-4, algorithm="saga")
        except ValueError as refusal:
            print("refused:", refusal)
    in_memory = dualgap.solve(A, b, loss="logistic", l2=1e-4, fit_intercept=True)
    print("from disk:", from_disk)
    print("certified anew:", certificate)
    print("in memory:", in_memory)
    print(f"the files were read {from_disk.readings:.1f} times")


if __name__ == "__main__":
    main()
