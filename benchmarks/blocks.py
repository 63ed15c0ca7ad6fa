"""What does reading data by chunks cost, from disk and from memory, and what do threads gain?

    python -m benchmarks blocks [--rows 1000000] [--columns 100] [--threads 2] [--folder SCRATCH]

Products of two kinds of data, dense rows and sparse ones (30 entries a row, Zipf columns), and a
logistic fit that holds no rows: in a folder, from memory maps of its files, which a file that
becomes shorter would crash, as blocks of the same arrays in memory, and, products alone, as data in
memory, which are cut without being read by blocks where they are large. Times are processor
seconds, the least of several rounds in turn, and in brackets wall seconds; a plain sum of the
numbers is what nothing can be faster than.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import dualgap
from benchmarks.folder_data import dense, measured, sparse
from dualgap.datasets import Folder, write_folder
from dualgap.designs import BlockDesign, Design, as_design, tasks
from dualgap.designs.sources import DenseSource, SparseSource
from dualgap.designs.threads import within_threads
from dualgap.losses import as_loss
from dualgap.losses.tasks import loss_slope

LOGISTIC = as_loss("logistic")


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


def compare(designs: dict[str, Design], threads: int, rounds: int, gram: bool) -> None:
    runs = {
        (what, name, count): (action, count)
        for name, design in designs.items()
        for count in (1, threads)
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
                "memory": as_design(kept),
            }
            compare(designs, options.threads, options.rounds, gram=name == "dense")


if __name__ == "__main__":
    main()
