"""Folders of data for benchmarks: dense rows or sparse ones, with labels -1 and +1."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from dualgap.datasets import write_folder
from dualgap.datasets.folders import Folder, open_folder

ENTRIES = 30
"""Of a sparse row."""
PIECE = 20_000
"""Rows that are drawn at a time."""


def dense(rows: int, columns: int, shared: float = 0.0) -> Iterator[np.ndarray]:
    """Normal numbers; ``shared`` is the size of a factor that the columns have in common."""
    rng = np.random.default_rng(0)
    for start in range(0, rows, PIECE):
        n = min(PIECE, rows - start)
        A = rng.standard_normal((n, columns))
        if shared:
            A += shared * rng.standard_normal((n, 1))
        yield A


def sparse(rows: int, columns: int) -> Iterator[sp.csr_array]:
    """ENTRIES numbers a row, in columns drawn by Zipf's law."""
    rng = np.random.default_rng(0)
    share = 1.0 / np.arange(1, columns + 1)
    upto = np.cumsum(share / share.sum())
    for start in range(0, rows, PIECE):
        n = min(PIECE, rows - start)
        at = np.searchsorted(upto, rng.random((n, ENTRIES))).clip(max=columns - 1)
        values = rng.standard_normal(n * ENTRIES)
        pointers = np.arange(0, n * ENTRIES + 1, ENTRIES)
        block = sp.csr_array((values, at.reshape(-1), pointers), shape=(n, columns))
        block.sum_duplicates()
        yield block


def labelled(blocks: Iterator[Any], columns: int) -> Iterator[tuple[Any, np.ndarray]]:
    """The blocks, and labels of a logistic model."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal(columns)
    for A in blocks:
        z = A @ x
        z *= 2.0 / np.sqrt(np.mean(z * z))
        yield A, np.where(z + rng.logistic(size=len(z)) > 0.0, 1.0, -1.0)


def folder(path: Path, make: Callable[..., Iterator[Any]], rows: int, columns: int) -> Folder:
    """A folder with labels, made unless it is there; fits of it do not hold its rows."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_folder(path, labelled(make(rows, columns), columns))
    return open_folder(path, holds_rows=False)


def measured(action: Callable[[], Any]) -> tuple[float, float]:
    """Processor seconds, and wall seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    return time.process_time() - cpu, time.perf_counter() - wall
