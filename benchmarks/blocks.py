"""What does reading data by chunks cost, from disk and from memory, and what do threads gain?

    python -m benchmarks blocks [--rows 1000000] [--columns 100] [--threads 2] [--folder SCRATCH]

Products of two kinds of data, dense rows and sparse ones (30 entries a row, Zipf columns), and a
logistic fit that holds no rows: in a folder, from memory maps of its files, which a file that
becomes shorter would crash, as blocks of the same arrays in memory, and, products alone, as data in
memory that are not cut. Times are
processor seconds, the least of several rounds in turn, and in brackets wall seconds; a plain sum of
the numbers is what nothing can be faster than.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import dualgap
from dualgap.datasets import Folder, write_folder
from dualgap.designs import BlockDesign, Design, as_design, tasks
from dualgap.designs.sources import DenseSource, SparseSource
from dualgap.designs.threads import within_threads
from dualgap.losses import as_loss
from dualgap.losses.tasks import loss_slope

ENTRIES = 30
"""Of a sparse row."""
PIECE = 20_000
"""Rows that are drawn at a time."""
LOGISTIC = as_loss("logistic")


def dense(rows: int, columns: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(0)
    for start in range(0, rows, PIECE):
        yield rng.standard_normal((min(PIECE, rows - start), columns))


def sparse(rows: int, columns: int) -> Iterator[sp.csr_array]:
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


def mapped(folder: Folder) -> BlockDesign:
    """Chunks that are views of maps, where the folder's are copies."""
    parts = {
        part: np.asarray(np.load(folder.path / entry.file, mmap_mode="r"))
        for part, entry in folder.manifest.arrays.items()
    }
    if "A" in parts:
        return BlockDesign.over(DenseSource(parts["A"]))
    csr = (parts[name] for name in ("data", "indices", "indptr"))
    return BlockDesign.over(SparseSource(*csr, folder.shape))


def actions(design: Design, gram: bool) -> dict[str, Callable[[], Any]]:
    n, d = design.shape
    rng = np.random.default_rng(1)
    x, w, b = 0.1 * rng.standard_normal(d), rng.random(n), np.sign(rng.standard_normal(n))
    q = np.full(n, 1.0 / n)
    found: dict[str, Callable[[], Any]] = {
        "A x": lambda: design.matvec(x),
        "A'r": lambda: design.rmatvec(w),
        "value and gradient": lambda: design.map_rows(
            tasks.there_and_back, (b, q), x, loss_slope, LOGISTIC
        ),
        "Hessian product": lambda: design.weighted_sweep(x, w),
    }
    if gram:
        found["Gram matrix"] = lambda: design.gram(w)
    if isinstance(design, BlockDesign):
        unheld = design.arranged()
        unheld.holds_rows = False
        found["logistic fit"] = lambda: dualgap.solve(unheld, b, loss="logistic", l2=1.0 / n)
    return found


def measured(action: Callable[[], Any]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    return time.process_time() - cpu, time.perf_counter() - wall


def compare(designs: dict[str, Design], threads: int, rounds: int, gram: bool) -> None:
    runs = {
        (what, name, count): (action, count)
        for name, design in designs.items()
        for count in ((1,) if name == "memory, not cut" else (1, threads))
        for what, action in actions(design, gram).items()
    }
    best: dict[Any, tuple[float, float]] = dict.fromkeys(runs, (np.inf, np.inf))
    for _ in range(rounds):
        for key, (action, count) in runs.items():
            with within_threads(count):
                cpu, wall = measured(action)
            best[key] = (min(best[key][0], cpu), min(best[key][1], wall))
    for what in dict.fromkeys(key[0] for key in runs):
        print(f"  {what}")
        for (kind, name, count), (cpu, wall) in best.items():
            if kind == what:
                print(f"    {name:16s} {count} thread(s)  {cpu:.4f} s ({wall:.4f} s)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument(
        "--columns", type=int, default=100, help="of dense data; sparse: 1000 times"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", help="where data are made; a temporary folder by default")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        for name, make, columns in (
            ("dense", dense, options.columns),
            ("sparse", sparse, 1000 * options.columns),
        ):
            opened = write_folder(Path(scratch) / name, make(options.rows, columns))
            arrays = {
                part: np.load(opened.path / entry.file)
                for part, entry in opened.manifest.arrays.items()
            }
            kept = arrays.get("A")
            if kept is None:
                parts = tuple(arrays[part] for part in ("data", "indices", "indptr"))
                kept = sp.csr_array(parts, shape=opened.shape)
            numbers = next(iter(arrays.values()))
            cuts = opened.design.cuts
            print(
                f"{name}, {opened.shape[0]} x {opened.shape[1]}: {cuts.partitions} partitions, "
                f"chunks of {cuts.rows} rows; a plain sum "
                f"{min(measured(numbers.sum)[0] for _ in range(options.rounds)):.4f} s"
            )
            designs = {
                "disk": opened.design,
                "maps": mapped(opened),
                "memory, blocks": BlockDesign(kept),
                "memory, not cut": as_design(kept),
            }
            compare(designs, options.threads, options.rounds, gram=name == "dense")


if __name__ == "__main__":
    main()
