"""What do two threads gain? Bars of speed-up, in one go, on a machine that does nothing else.

    python -m benchmarks cores [--rows 1e7] [--rounds 5] [--threads 2] [--folder DIR]

1. A logistic fit of 1e7 x 100 numbers on disk (8 GB): at least 1.5 times as fast, the median.
2. A value and gradient of 1e6 x 1e5 sparse rows: 1.8 times.
3. Processor time of either: at most 1.2 times as much.
4. With the other cores busy (processes that spin are started for it): the fit of a tenth of the
   rows takes at most 1.1 times as long as with one thread.

Beside these, without a bar, what data in memory gain. One thread and several take turns.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import dualgap
from benchmarks.folder_data import dense, folder, measured, sparse
from dualgap.datasets.folders import Folder
from dualgap.designs import Design, as_design, tasks
from dualgap.designs.threads import within_threads
from dualgap.losses import as_loss
from dualgap.losses.tasks import loss_slope

LOGISTIC = as_loss("logistic")
SPIN = "while True: pass"


def in_turn(
    action: Callable[[int], Any], threads: int, rounds: int
) -> tuple[tuple[float, float], tuple[float, float], list[float]]:
    """Medians of processor and wall seconds with one thread, with several; ratios of wall times."""
    one, many = [], []
    for _ in range(rounds):
        one.append(measured(lambda: action(1)))
        many.append(measured(lambda: action(threads)))
    ratios = [a[1] / b[1] for a, b in zip(one, many, strict=True)]
    return middle(one), middle(many), sorted(ratios)


def middle(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    """Medians."""
    cpu, wall = (statistics.median(column) for column in zip(*pairs, strict=True))
    return cpu, wall


def report(
    what: str, action: Callable[[int], Any], threads: int, rounds: int, gain: float | None = None
) -> None:
    """One line, with the verdict where there is a bar."""
    one, many, ratios = in_turn(action, threads, rounds)
    speed, more = statistics.median(ratios), many[0] / one[0]
    verdict = ""
    if gain is not None:
        wall = "met" if speed >= gain else "MISSED"
        cpu = "met" if more <= 1.2 else "MISSED"
        verdict = f"; wall {wall} (at least {gain:.2f})"
        verdict += "" if gain < 1.0 else f", processor {cpu} (at most 1.20)"
    print(f"{what}: {one[1]:.3f} s -> {many[1]:.3f} s wall, {speed:.2f} times as fast "
          f"({ratios[0]:.2f} to {ratios[-1]:.2f}), {more:.2f} times the processor time{verdict}",
          flush=True)  # fmt: skip


@contextmanager
def busy(cores: int) -> Iterator[None]:
    """So many processes that spin."""
    spinning = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(cores)]
    try:
        yield
    finally:
        for one in spinning:
            one.kill()
            one.wait()


def fit(data: Folder) -> Callable[[int], Any]:
    """Logistic regression at l2 = 1/n."""
    l2 = 1.0 / data.shape[0]
    return lambda threads: dualgap.solve(data, loss="logistic", l2=l2, n_threads=threads)


def sweep(design: Design) -> Callable[[int], Any]:
    """Value and gradient."""
    n, d = design.shape
    x, q = np.linspace(-0.1, 0.1, d), np.full(n, 1.0 / n)
    b = np.where(np.arange(n) % 3, 1.0, -1.0)

    def action(threads: int) -> None:
        with within_threads(threads):
            design.map_rows(tasks.there_and_back, (b, q), x, loss_slope, LOGISTIC)

    return action


def gram(design: Design) -> Callable[[int], Any]:
    """A Gram matrix."""
    w = np.full(design.shape[0], 0.25)

    def action(threads: int) -> None:
        with within_threads(threads):
            design.gram(w)

    return action


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=1e7, help="dense; sparse: a tenth")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", help="where data are made; a temporary folder by default")
    options = parser.parse_args()
    rows, few, rounds = int(options.rows), int(options.rows) // 10, options.rounds
    threads = options.threads
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        parts = folder(Path(scratch) / "sparse", sparse, few, 100_000)
        report(f"sparse sweep on disk, {few} rows", sweep(parts.design), threads, 3 * rounds, 1.8)
        small = folder(Path(scratch) / "small", dense, few, 100)
        fit(small)(1)  # compiles
        with busy(threads - 1):
            report(f"fit of {few} rows beside busy cores", fit(small), threads, rounds, 1.0 / 1.1)
        held = as_design(np.load(small.path / "A.npy"))
        report("in memory, value and gradient", sweep(held), threads, 3 * rounds)
        report("in memory, Gram matrix", gram(held), threads, rounds)
        large = folder(Path(scratch) / "large", dense, rows, 100)
        report(f"logistic fit on disk, {rows} rows", fit(large), threads, rounds, 1.5)


if __name__ == "__main__":
    main()
