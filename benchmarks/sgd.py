"""What users would pick instead for data on disk: scikit-learn's SGD over chunks, beside our fit.

    python -m benchmarks sgd [--rows 1e6] [--loss logistic] [--readings 20] [--folder DIR]

The objective is the same, l2 = 1/n, no intercept; columns have one scale, as SGD wants it, and
share a factor. `partial_fit` gets the rows in the order of the file, which is random, by chunks.
Settings: scikit-learn's own; the same with averaging; and the best of some step sizes, which is
looked for on the first fiftieth of the rows. Seconds are those of `partial_fit` and of reading the
chunks, not of looking at the objective, which is done at the readings that the table names. P* is
the primal value of our certified fit at tol = 1e-10.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier, SGDRegressor

import dualgap
from benchmarks.folder_data import dense, folder, measured
from dualgap.datasets.folders import Folder

CHUNK = 20_000
LEVELS = (1e-2, 1e-3, 1e-4, 1e-6)
ETA0 = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
LOOKS = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0)
"""Readings after which the objective is looked at; then after each."""
Model = SGDClassifier | SGDRegressor


def chunks(data: Folder, stop: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The first rows."""
    for start in range(0, stop, CHUNK):
        at = slice(start, min(start + CHUNK, stop))
        yield data.design.source.rows(at.start, at.stop), np.asarray(data.b[at])


def objective(data: Folder, x: np.ndarray, loss: str, l2: float, rows: int) -> float:
    """P(x) over the first rows."""
    total = 0.0
    for A, b in chunks(data, rows):
        z = A @ x
        values = np.logaddexp(0.0, -b * z) if loss == "logistic" else 0.5 * (z - b) ** 2
        total += float(values.sum())
    return total / rows + 0.5 * l2 * float(x @ x)


def made(loss: str, l2: float, **options: Any) -> Model:
    """An estimator of this objective."""
    kind, name = SGDClassifier, "log_loss"
    if loss == "squared":
        kind, name = SGDRegressor, "squared_error"
    return kind(loss=name, alpha=l2, fit_intercept=False, shuffle=False, random_state=0, **options)


def learn(model: Model, pieces: Iterator[tuple[np.ndarray, np.ndarray]]) -> None:
    """`partial_fit` on each."""
    classes = {"classes": [-1.0, 1.0]} if isinstance(model, SGDClassifier) else {}
    for A, b in pieces:
        model.partial_fit(A, b, **classes)


def tuned(data: Folder, loss: str, l2: float) -> tuple[dict[str, Any], float]:
    """The options that are best on some of the rows, and the processor seconds of the search."""
    rows = max(CHUNK, data.shape[0] // 50)
    found: list[tuple[float, dict[str, Any]]] = []
    spent = 0.0
    for rate in ("constant", "invscaling"):
        for eta0 in ETA0:
            for average in (False, True):
                options = {"learning_rate": rate, "eta0": eta0, "average": average}
                model = made(loss, l2, **options)
                spent += measured(lambda m=model: learn(m, chunks(data, rows)))[0]
                value = objective(data, model.coef_.ravel(), loss, l2, rows)
                found.append((value if np.isfinite(value) else np.inf, options))
    return min(found, key=lambda pair: pair[0])[1], spent


def followed(data: Folder, loss: str, l2: float, best: float, most: int, **options: Any) -> str:
    """How soon each level is reached, and the level in the end."""
    n = data.shape[0]
    model, cpu, wall = made(loss, l2, **options), 0.0, 0.0
    looks = [*LOOKS, *range(2, most + 1)]
    reached: dict[float, str] = {}
    at, gone = 0, 0.0
    pieces = chunks(data, n)
    for look in looks:
        count = max(1, round((look - gone) * n / CHUNK))
        if look > 1.0:
            pieces = chunks(data, n)
        took = measured(lambda p=pieces, c=count: learn(model, few(p, c)))
        cpu, wall, gone, at = cpu + took[0], wall + took[1], look, at + count
        P = objective(data, model.coef_.ravel(), loss, l2, n)
        level = (P - best) / best
        for each in LEVELS:
            if level <= each:
                reached.setdefault(each, f"{at * CHUNK / n:.2f} ({cpu:.1f} s)")
        if len(reached) == len(LEVELS):
            break
    cells = " | ".join(reached.get(each, "-") for each in LEVELS)
    return f"{cells} | {level:.1e} after {at * CHUNK / n:.0f} ({cpu:.1f} s, wall {wall:.1f} s)"


def few(pieces: Iterator[Any], count: int) -> Iterator[Any]:
    """At most so many of them; the others are left for later."""
    for _, piece in zip(range(count), pieces, strict=False):
        yield piece


def compare(data: Folder, loss: str, most: int) -> None:
    """The table."""
    n = data.shape[0]
    l2 = 1.0 / n
    dualgap.solve(data.design.source.rows(0, 500), data.b[:500], loss=loss, l2=1e-2)  # compiles
    best = dualgap.solve(data, loss=loss, l2=l2, tol=1e-10).certificate.primal
    print(f"\n{loss}, {n} x {data.shape[1]}, {data.design.source.nbytes / 1e9:.1f} GB; "
          "readings (processor seconds) to (P - P*)/P*\n")  # fmt: skip
    print("| fit | " + " | ".join(f"{level:g}" for level in LEVELS) + " | in the end |")
    print("| --- | " + "--- | " * (len(LEVELS) + 1))
    cells, took = [], (0.0, 0.0)
    for tol in LEVELS:
        results: list[Any] = []
        took = measured(
            lambda t=tol, r=results: r.append(
                dualgap.solve(data, loss=loss, l2=l2, tol=t, n_threads=1)
            )
        )
        cells.append(f"{results[0].readings:.0f} ({took[0]:.1f} s)")
        left = (results[0].certificate.primal - best) / best
    print(f"| dualgap, certified | {' | '.join(cells)} | {left:.1e} ({took[0]:.1f} s, "
          f"wall {took[1]:.1f} s) |", flush=True)  # fmt: skip
    options, spent = tuned(data, loss, l2)
    words = ", ".join(f"{name}={value}" for name, value in options.items())
    for name, given in (
        ("SGD as it is", {}),
        ("SGD, average=True", {"average": True}),
        (f"SGD, {words} (search {spent:.1f} s)", options),
    ):
        print(f"| {name} | {followed(data, loss, l2, best, most, **given)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--loss", nargs="+", default=["logistic", "squared"])
    parser.add_argument("--readings", type=int, default=20)
    parser.add_argument("--folder", help="where data are made; a temporary folder by default")
    options = parser.parse_args()

    def blocks(rows: int, columns: int) -> Iterator[np.ndarray]:
        return dense(rows, columns, shared=1.0)

    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        data = folder(Path(scratch) / "data", blocks, int(options.rows), options.columns)
        for loss in options.loss:
            compare(data, loss, options.readings)


if __name__ == "__main__":
    main()
