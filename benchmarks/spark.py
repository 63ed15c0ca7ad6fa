"""Logistic regression beside Spark MLlib and dask-ml: python -m benchmarks spark [--rows 500000].

The data are 100 columns whose Gram matrix has a condition number of 3e5, with eigenvalues evenly
spread on a logarithmic scale, in directions that no units of columns undo. With --units they are
those of `python -m benchmarks disk`, whose condition number is mostly one of units; Spark takes
these away before it begins. l2 = 1/n, no intercept. Spark MLlib runs on local[2] with
standardization=False and tol=1e-6; what relative suboptimality it reaches is what we have to
certify, on two local workers that hold the data in 16 partitions (gather=False), and in the memory
of one process with one thread. dask-ml's lbfgs runs on the same workers with the tolerance of
scikit-learn. Times are wall seconds of the fit alone, three runs each; starting engines and loading
data is apart.

pyspark (with Java) and dask-ml are optional; what is not installed is named and left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import dualgap
from benchmarks.cluster_fits import PARTITIONS, cuts, data_folder, local, matrix, vector

PIECE = 100_000
COLUMNS, CONDITION = 100, 3e5


class Fit(NamedTuple):
    """What a contestant found."""

    x: np.ndarray
    seconds: float
    said: str
    """Its own word on how far it came."""


Contestant = Callable[[float], Fit]
"""``fit(tol)``; those who can certify a gap certify this one."""


def spread_folder(base: Path, n: int) -> Path:
    """Data whose Gram matrix has a spread spectrum, made unless they are there."""
    folder = base / f"spread-{n}"
    if folder.exists():
        return folder
    part = folder.with_suffix(".part")
    part.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.standard_normal((COLUMNS, COLUMNS)))[0]
    directions = np.sqrt(np.logspace(0.0, np.log10(CONDITION), COLUMNS))[:, None] * rotation
    x = rng.standard_normal(COLUMNS)
    x *= 2.0 / np.linalg.norm(directions @ x)
    A = np.lib.format.open_memmap(part / "A.npy", "w+", float, (n, COLUMNS))
    labels = np.empty(n)
    for start in range(0, n, PIECE):
        at = slice(start, min(start + PIECE, n))
        A[at] = rng.standard_normal((at.stop - start, COLUMNS)) @ directions
        noise = rng.logistic(size=at.stop - start)
        labels[at] = np.where(A[at] @ x + noise > 0.0, 1.0, -1.0)
    A.flush()
    np.save(part / "labels.npy", labels)
    part.rename(folder)
    return folder


@contextmanager
def spark(folder: Path, n: int, l2: float) -> Iterator[Contestant]:
    """Spark MLlib, which has read the data and keeps them."""
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import SparkSession

    began = time.perf_counter()
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "6g")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    started = time.perf_counter()
    frame = session.read.parquet(str(as_parquet(folder, n)))
    names = [name for name in frame.columns if name != "label"]
    frame = VectorAssembler(inputCols=names, outputCol="features").transform(frame)
    frame = frame.select("label", "features").repartition(PARTITIONS).cache()
    frame.count()
    print(
        f"Spark: {started - began:.1f} s to start, {time.perf_counter() - started:.1f} s to load",
        flush=True,
    )
    model = LogisticRegression(
        regParam=l2, elasticNetParam=0.0, standardization=False, tol=1e-6, maxIter=10_000,
        fitIntercept=False,
    )  # fmt: skip

    def fit(tol: float) -> Fit:
        began = time.perf_counter()
        found = model.fit(frame)
        seconds = time.perf_counter() - began
        return Fit(
            found.coefficients.toArray(), seconds, f"{found.summary.totalIterations} iterations"
        )

    yield fit
    session.stop()


def as_parquet(folder: Path, n: int) -> Path:
    """The data as Parquet files, made unless they are there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = folder / f"parquet-{n}"
    if out.exists():
        return out
    part = out.with_suffix(".part")
    part.mkdir(exist_ok=True)
    A, b = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("A", "labels"))
    for start in range(0, n, PIECE):
        at = slice(start, min(start + PIECE, n))
        columns = {f"x{j}": np.ascontiguousarray(A[at, j]) for j in range(A.shape[1])}
        columns["label"] = (np.asarray(b[at]) > 0.0).astype(float)
        pq.write_table(pa.table(columns), part / f"{start:010d}.parquet")
    part.rename(out)
    return out


@contextmanager
def on_workers(folder: Path, n: int, l2: float) -> Iterator[dict[str, Contestant]]:
    """Ourselves and dask-ml, on two workers that have loaded the data."""
    import dask
    from distributed import wait

    began = time.perf_counter()
    with local(2) as client:
        started = time.perf_counter()
        A, b = dask.persist(matrix(folder, n, False), vector(folder, "labels", n))
        wait([A, b])
        loaded = time.perf_counter()
        print(f"dask: {started - began:.1f} s to start, {loaded - started:.1f} s to load")
        data = dualgap.open(A, b, client=client, gather=False)

        def ours(tol: float) -> Fit:
            began = time.perf_counter()
            found = dualgap.solve(data, loss="logistic", l2=l2, tol=tol)
            seconds = time.perf_counter() - began
            gap = found.certificate.relative_gap
            return Fit(found.x, seconds, f"{found.rounds} rounds, certified {gap:.1e}")

        contestants = {"dualgap, 2 workers": ours}
        if installed("dask_ml", "dask-ml"):
            contestants["dask-ml lbfgs, 2 workers"] = dask_ml(A, (b > 0.0).astype(int), n * l2)
        yield contestants


def dask_ml(A: Any, labels: Any, strength: float) -> Contestant:
    """dask-ml, whose objective is n times ours."""

    def fit(tol: float) -> Fit:
        from dask_ml.linear_model import LogisticRegression

        model = LogisticRegression(
            penalty="l2", C=1.0 / strength, solver="lbfgs", fit_intercept=False, tol=1e-4,
            max_iter=10_000,
        )  # fmt: skip
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(A, labels)
        return Fit(np.ravel(model.coef_), time.perf_counter() - began, "")

    return fit


def in_memory(folder: Path, n: int, l2: float) -> Contestant:
    """Ourselves, in this process."""
    A = np.array(np.load(folder / "A.npy", mmap_mode="r")[:n])
    b = np.load(folder / "labels.npy")[:n]

    def fit(tol: float) -> Fit:
        began = time.perf_counter()
        found = dualgap.solve(A, b, loss="logistic", l2=l2, tol=tol, n_threads=1)
        seconds = time.perf_counter() - began
        gap = found.certificate.relative_gap
        return Fit(found.x, seconds, f"{found.readings:.0f} readings, certified {gap:.1e}")

    return fit


def installed(module: str, package: str) -> bool:
    """Whether it is; said if not."""
    found = importlib.util.find_spec(module) is not None
    if not found:
        print(f"{package} is not installed and is left out: pip install {package}")
    return found


def objective(folder: Path, n: int, l2: float, x: np.ndarray) -> float:
    """P(x)."""
    A, b = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("A", "labels"))
    loss = sum(
        float(np.logaddexp(0.0, -np.asarray(b[at]) * (A[at] @ x)).sum())
        for at in (slice(low, high) for low, high in cuts(n, PARTITIONS))
    )
    return loss / n + 0.5 * l2 * float(x @ x)


def main() -> None:
    """Run all contestants in turn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path("disk-data"))
    parser.add_argument("--units", action="store_true", help="the data of benchmarks disk")
    parser.add_argument("--tol", type=float, help="to certify; by default what Spark has reached")
    options = parser.parse_args()
    n, l2 = options.rows, 1.0 / options.rows
    make = partial(data_folder, sparse=False) if options.units else spread_folder
    folder = make(options.folder, n)
    print(f"{n} x 100, l2 = 1/n; load average {os.getloadavg()[0]:.1f}", flush=True)
    alone = in_memory(folder, n, l2)
    best = objective(folder, n, l2, alone(1e-11).x)
    found: dict[str, list[Fit]] = {}
    tol = options.tol or 2e-6

    def run(name: str, contestant: Contestant) -> float:
        fit = contestant(tol)
        found.setdefault(name, []).append(fit)
        away = objective(folder, n, l2, fit.x) / best - 1.0
        print(f"{name:26s} {fit.seconds:8.2f} s  {away:9.1e} above P*  {fit.said}", flush=True)
        return away

    if installed("pyspark", "pyspark"):
        with spark(folder, n, l2) as mllib:
            reached = max(run("Spark MLlib, local[2]", mllib) for _ in range(options.runs))
        tol = options.tol or max(reached, 1e-12)
    with on_workers(folder, n, l2) as contestants:
        for _ in range(options.runs):
            for name, contestant in contestants.items():
                run(name, contestant)
            run("dualgap, in memory", alone)
    times = {name: sorted(fit.seconds for fit in fits) for name, fits in found.items()}
    ours = times["dualgap, 2 workers"]
    print("\n| fit | least s | median s | median over ours |\n| --- | --- | --- | --- |")
    for name, seconds in times.items():
        ratio = np.median(seconds) / np.median(ours)
        print(f"| {name} | {seconds[0]:.2f} | {np.median(seconds):.2f} | {ratio:.1f} |")


if __name__ == "__main__":
    main()
