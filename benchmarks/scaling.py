"""Time of algorithm="auto" against n, d, nonzeros and l2: python -m benchmarks scaling [--quick].

Each sweep changes one of them and is drawn to a PNG of its own; printed beside the time is the time
per nonzero, which is flat where the time is linear. One thread; best of several; tol = 1e-6.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

import dualgap

RUN_FOR = 1.0
"""Seconds after which a solve is not timed again."""
MOST_RUNS = 5
COLOURS = {"ridge": "#0072B2", "logistic": "#D55E00"}
MARKS = {"ridge": "o", "logistic": "s"}
Point = tuple[float, Any, np.ndarray, float]
"""The number on the axis, A, b before signs are taken, l2."""


def normal(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Independent rows of norm about 1; targets of a model with noise."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((n, d))
    A /= np.sqrt(d)
    return A, A @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n)


def over_n(quick: bool) -> Iterator[Point]:
    """Dense, d = 20, l2 = 1e-4, the same problem with ever more rows."""
    for n in (10**3, 10**4) if quick else (10**3, 10**4, 10**5, 10**6):
        yield (n, *normal(n, 20), 1e-4)


def over_d(quick: bool) -> Iterator[Point]:
    """Dense, n = 2000, l2 = 1/n."""
    for d in (10, 100) if quick else (10, 30, 100, 300, 1000, 3000, 10000):
        yield (d, *normal(2000, d), 1.0 / 2000)


def over_nonzeros(quick: bool) -> Iterator[Point]:
    """Sparse, n = 20 000, d = 5000, l2 = 1/n, 2 to 200 nonzeros a row of norm about 1."""
    n, d = 20_000, 5000
    for row in (2, 6) if quick else (2, 6, 20, 60, 200):
        rng = np.random.default_rng(0)
        values = rng.standard_normal(n * row) / np.sqrt(row)
        columns = rng.integers(0, d, n * row, dtype=np.int32)
        starts = np.arange(0, n * row + 1, row, dtype=np.int32)
        A = sp.csr_array((values, columns, starts), shape=(n, d))
        A.sum_duplicates()
        b = A @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n)
        yield A.nnz, A, b, 1.0 / n


def over_l2(quick: bool) -> Iterator[Point]:
    """synthetic2, correlated columns, 5000 x 500; n l2 from 1 to 1e-8."""
    A, b = dualgap.datasets.synthetic2(*((500, 50) if quick else (5000, 500)))
    for exponent in (0, -4) if quick else (0, -2, -4, -6, -8):
        yield 10.0**exponent, A, b, 10.0**exponent / len(b)


SWEEPS: dict[str, tuple[Callable[[bool], Iterator[Point]], str]] = {
    "n": (over_n, "rows n"),
    "d": (over_d, "columns d"),
    "nnz": (over_nonzeros, "nonzeros"),
    "l2": (over_l2, "n l2"),
}


def best_seconds(A: Any, b: np.ndarray, loss: str, l2: float, limit: float):
    """The best of several whole solves (at least two: the first may compile), and the last."""
    times: list[float] = []
    while len(times) < 2 or (len(times) < MOST_RUNS and sum(times) < RUN_FOR):
        began = time.perf_counter()
        result = dualgap.solve(A, b, loss=loss, l2=l2, max_passes=10**6, max_time=limit)
        times.append(time.perf_counter() - began)
    return min(times), result


def sweep(name: str, options: argparse.Namespace) -> Path:
    """Measure, print and draw one sweep."""
    points, title = SWEEPS[name]
    print(f"against {title}: {points.__doc__}")
    times: dict[str, list[tuple[float, float]]] = {"ridge": [], "logistic": []}
    for value, A, b, l2 in points(options.quick):
        nonzeros = A.nnz if sp.issparse(A) else A.size
        for kind, curve in times.items():
            logistic = kind == "logistic"
            target, loss = (np.sign(b), "logistic") if logistic else (b, "squared")
            seconds, result = best_seconds(A, target, loss, l2, options.limit)
            curve.append((value, seconds))
            print(
                f"  {value:8g} {kind:9s} {1e3 * seconds:10.2f} ms {1e9 * seconds / nonzeros:9.1f} "
                f"ns per nonzero  {result.passes:6g} passes  {result.algorithm}  "
                f"{result.status.name.lower()}",
                flush=True,
            )
    return draw(name, title, times, options.out)


def draw(name: str, title: str, times: dict, folder: Path) -> Path:
    """Time against the number, and a line of slope 1 where time should be linear."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 3.6), layout="constrained")
    for kind, curve in times.items():
        x, y = np.array(curve).T
        axes.plot(x, y, color=COLOURS[kind], marker=MARKS[kind], label=kind)
        if name != "l2":
            axes.plot(x, y[-1] * x / x[-1], color=COLOURS[kind], linestyle=":", linewidth=1)
    if name != "l2":
        axes.plot([], [], color="#666666", linestyle=":", linewidth=1, label="linear")
    else:
        axes.invert_xaxis()
    axes.set(xscale="log", yscale="log", xlabel=title, ylabel="seconds to certified 1e-6")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"scaling_{name}.png"
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sweeps", nargs="+", choices=tuple(SWEEPS), default=list(SWEEPS))
    parser.add_argument("--quick", action="store_true", help="a few small points")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each solve")
    parser.add_argument("--out", type=Path, default=Path(), metavar="FOLDER", help="of the PNGs")
    options = parser.parse_args()
    with threadpool_limits(1):
        for name in options.sweeps:
            print(f"  drawn: {sweep(name, options)}")


if __name__ == "__main__":
    main()
