"""How long does a fit of data on disk take? A model with a few constants, held against fits.

    python -m benchmarks model [--rows 2e5 1e6 4e6] [--threads 1] [--gigabytes 8 80] [--folder DIR]

A fit is some readings of the data. A reading takes, with T threads on n rows of d columns that have
so many entries and bytes,

    max(bytes / B, (entries (1/r + products/p) + n s^2/g + n k/l) / T)

seconds: B is what a plain sum of the numbers gets; r is the rate of value and gradient of squared
loss, p that of each further product, g that of a Gram matrix of s columns of dense data with the
weights of a logistic fit, and l that of k logistic losses of each row. The proof at the end has
rates of its own. These constants are measured at the first size; readings that a fit takes are
those it takes there. Then fits are made at all sizes, and what they take is printed beside it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import dualgap
from benchmarks.disk import Watch
from benchmarks.folder_data import dense, folder, measured, sparse
from dualgap.datasets.folders import Folder
from dualgap.designs import BlockDesign
from dualgap.designs.threads import within_threads
from dualgap.streamed.reading import read
from dualgap.streamed.sums import Ask

MIB = 1 << 20


class Reading(NamedTuple):
    """What a reading found."""

    products: int
    """Beyond A x."""
    side: int
    """Of a Gram matrix."""
    losses: int
    """Logistic losses of each row: one, and one for each length of a step that is tried."""
    proof: bool


class Noting(BlockDesign, counts=True):
    """A folder's rows, and what they were read for."""

    holds_rows = False
    notes: list[Reading]
    spent: list[float]
    """Processor seconds."""

    def map_rows(self, task: Any, rows: Any, *args: Any) -> Any:
        if task.__name__ == "look":
            ask, setting = args
            products = ask.slopes + ask.signs + ask.diagonal + 2 * ask.norms + 2 * len(ask.products)
            products += (ask.step is not None) + (ask.ride is not None)
            side = 0 if ask.gram is None else ask.gram.size
            losses = 1 + len(ask.lengths) if setting.loss.name == "logistic" else 0
            self.notes.append(Reading(int(products), side, losses, False))
        else:
            losses = int(self.notes[-1].losses > 0)
            self.notes.append(Reading(0, 0, losses, task.__name__ == "prove_chunk"))
        began = time.process_time()
        found = super().map_rows(task, rows, *args)
        self.spent.append(time.process_time() - began)
        return found


def noting(data: Folder) -> Noting:
    """The design of a folder."""
    design = Noting.over(data.design.source, rows_per_chunk=data.design.rows_per_chunk)
    design.notes, design.spent = [], []
    return design


class Constants(NamedTuple):
    """Rates of one thread, per second."""

    B: float
    """Bytes."""
    r: float
    """Entries, value and gradient."""
    p: float
    """Entries, a product."""
    g: float
    """n s^2 of a Gram matrix; of sparse data it counts as nothing."""
    l: float  # noqa: E741 - as in the formula
    """Rows, logistic loss."""
    proof: float
    """Entries, the proof of a squared loss."""
    proved: float
    """Rows, logistic loss in a proof."""


def least(action: Any) -> float:
    """Processor seconds."""
    return min(measured(action)[0] for _ in range(5))


def constants(data: Folder) -> Constants:
    """From readings of these data."""
    design, (n, d) = data.design, data.shape
    entries, nbytes = design.nonzeros, design.source.nbytes
    x, p = np.full(d, 1e-3), np.linspace(-1.0, 1.0, d)
    problem = {
        loss: dualgap.Problem(design, data.b, loss=loss, l2=1.0) for loss in ("squared", "logistic")
    }
    for each in problem.values():
        read(each, Ask(x))  # finds the lengths of columns, besides
    sides = np.arange(d)

    def reading(loss: str = "squared", **asked: Any) -> float:
        return least(lambda: read(problem[loss], Ask(x, **asked)))

    def total() -> None:
        for part in range(design.cuts.partitions):
            for chunk in design.chunks(part):
                chunk.entries().sum()

    plain, base, slow = least(total), reading(), reading("logistic")
    product = max(1e-9, (reading(products=(p,)) - base) / 2.0)
    proof = {loss: min(proving(data, loss) for _ in range(2)) for loss in problem}
    gram = np.inf if d > 2000 else n * d * d / max(1e-9, reading("logistic", gram=sides) - slow)
    return Constants(
        nbytes / plain, entries / base, entries / product, gram, n / max(1e-9, slow - base),
        entries / proof["squared"], n / max(1e-9, proof["logistic"] - proof["squared"]),
    )  # fmt: skip


def proving(data: Folder, loss: str) -> float:
    """Processor seconds of the proof of a fit."""
    design = noting(data)
    dualgap.solve(design, data.b, loss=loss, l2=1.0, n_threads=1)
    pairs = zip(design.notes, design.spent, strict=True)
    return sum(spent for reading, spent in pairs if reading.proof)


def predicted(
    data: Folder, plan: list[Reading], rates: Constants, threads: int
) -> tuple[float, float]:
    """Processor seconds and wall seconds."""
    (n, _), entries, nbytes = data.shape, data.design.nonzeros, data.design.source.nbytes
    return seconds(n, entries, nbytes, plan, rates, threads)


def seconds(
    n: int, entries: float, nbytes: float, plan: list[Reading], rates: Constants, threads: int
) -> tuple[float, float]:
    cpu = wall = 0.0
    for r in plan:
        each = entries * (1.0 / rates.r + max(0, r.products - 1) / rates.p)
        each += n * (r.side**2 / rates.g + r.losses / rates.l)
        each = entries / rates.proof + n * r.losses / rates.proved if r.proof else each
        cpu += each
        wall += max(nbytes / rates.B, each / threads)
    return cpu, wall


def memory(data: Folder, plan: list[Reading], threads: int) -> float:
    """MiB beyond the interpreter: chunks and what is made of them, and Gram matrices that wait."""
    design, (_, d) = data.design, data.shape
    chunk = design.source.nbytes / data.shape[0] * design.cuts.rows
    side = max([r.side for r in plan], default=0)
    held = np.ceil(np.log2(design.cuts.partitions + 1)) + 3 * threads + 4
    return float((3 * threads * chunk + held * 8 * (side**2 + d)) / MIB)


def cases(data: Folder, is_sparse: bool) -> dict[str, dict[str, Any]]:
    """What is fitted."""
    n = data.shape[0]
    most = float(np.abs(data.design.rmatvec(np.asarray(data.b))).max() / n)
    found: dict[str, dict[str, Any]] = {
        "ridge 1/n": {"l2": 1.0 / n},
        "logistic 1/n": {"l2": 1.0 / n, "loss": "logistic"},
        "elastic net 0.05": {"l1": 0.05 * most, "l2": 1.0 / n},
    }
    return found if is_sparse else {**found, "lasso 0.01": {"l1": 0.01 * most}}


def compare(scratch: Path, name: str, sizes: list[int], columns: int, options: Any) -> None:
    """Constants, then fits at each size."""
    make = sparse if name == "sparse" else dense
    data = folder(scratch / f"{name}-{sizes[0]}", make, sizes[0], columns)
    with within_threads(1):
        rates = constants(data)
    print(f"\n{name}, {columns} columns; per second and thread: B = {rates.B:.2g} bytes, "
          f"r = {rates.r:.2g} and p = {rates.p:.2g} entries, g = {rates.g:.2g} n s^2, "
          f"l = {rates.l:.2g} rows; of a proof {rates.proof:.2g} entries, and {rates.proved:.2g} "
          "rows of logistic loss\n")  # fmt: skip
    print("| fit | rows | readings: expected | taken | CPU s: predicted | measured | "
          "wall s: predicted | measured | MiB: predicted | most |")  # fmt: skip
    print("| --- | " + "--- | " * 9)
    plans: dict[str, list[Reading]] = {}
    watch, start = Watch(), private()
    for n in sizes:
        data = folder(scratch / f"{name}-{n}", make, n, columns)
        for case, asked in cases(data, name == "sparse").items():
            design = noting(data)
            watch.most = 0.0
            cpu, wall = measured(
                lambda d=design, b=data.b, a=asked: dualgap.solve(
                    d, b, n_threads=options.threads, **a
                )
            )
            plan = plans.setdefault(case, design.notes)
            expected = predicted(data, plan, rates, options.threads)
            print(
                f"| {case} | {n} | {len(plan)} | {len(design.notes)} | {expected[0]:.2f} | "
                f"{cpu:.2f} | {expected[1]:.2f} | {wall:.2f} | "
                f"{start + memory(data, plan, options.threads):.0f} | {watch.most:.0f} |",
                flush=True,
            )
    per_row = data.design.source.nbytes / data.shape[0]
    for gigabytes in options.gigabytes:
        n = int(1e9 * gigabytes / per_row)
        entries = n * data.design.nonzeros / data.shape[0]
        for case, plan in plans.items():
            cpu, wall = seconds(n, entries, n * per_row, plan, rates, options.threads)
            print(f"expected for {gigabytes:g} GB, {n:.1e} rows, {case}: {len(plan)} readings, "
                  f"{wall:.0f} s with {options.threads} thread(s)")  # fmt: skip


def private() -> float:
    """MiB of private memory now."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("RssAnon"))
    return float(line.split()[1]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, nargs="+", default=[2e5, 1e6, 4e6])
    parser.add_argument("--sparse-rows", type=float, nargs="*", default=[2e5, 1e6])
    parser.add_argument("--columns", type=int, default=100, help="dense; sparse: 1000 times")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--gigabytes", type=float, nargs="*", default=[8.0, 80.0])
    parser.add_argument("--folder", help="where data are made; a temporary folder by default")
    options = parser.parse_args()
    small = np.random.default_rng(0).standard_normal((500, 5))
    for loss in ("squared", "logistic"):  # compiles what is compiled
        dualgap.solve(small, np.sign(small[:, 0]), loss=loss, l2=1e-3)
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        for name, rows, columns in (
            ("dense", options.rows, options.columns),
            ("sparse", options.sparse_rows, 1000 * options.columns),
        ):
            if rows:
                compare(Path(scratch), name, sorted(int(n) for n in rows), columns, options)


if __name__ == "__main__":
    main()
