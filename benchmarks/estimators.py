"""Estimators: cost beyond `solve`, and paths against cold fits.

usage: python -m benchmarks estimators [overhead] [paths]

Processor time, the best of rounds taken in turn, reported as ratios. `benchmarks.defaults` compares
with scikit-learn.
"""

from __future__ import annotations

import sys
from time import process_time
from typing import Any

import numpy as np

import dualgap
from benchmarks.defaults import data
from benchmarks.timing import best_of


def tall(n: int = 5000, d: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) / np.sqrt(np.arange(1, d + 1))
    w = np.where(np.arange(d) < 20, rng.normal(size=d), 0.0)
    return X, X @ w + 0.5 * rng.normal(size=n)


# ---- overhead ----


def overhead() -> None:
    """Fit against solve, same problem."""
    print("estimator - solve, ms, and in % of solve")
    X, y = tall()
    shared: dict[str, Any] = {"fit_intercept": True, "max_passes": 10_000}
    for n in (200, 5000):
        A, b, s = X[:n], y[:n], np.sign(y[:n])
        pairs = {
            "Ridge": (
                lambda A=A, b=b: dualgap.Ridge().fit(A, b),
                lambda A=A, b=b, n=n: dualgap.solve(A, b, l2=1.0 / n, **shared),
            ),
            "ElasticNet": (
                lambda A=A, b=b: dualgap.ElasticNet(0.02).fit(A, b),
                lambda A=A, b=b: dualgap.solve(A, b, l1=0.01, l2=0.01, **shared),
            ),
            "LogisticRegression": (
                lambda A=A, s=s: dualgap.LogisticRegression().fit(A, s),
                lambda A=A, s=s, n=n: dualgap.solve(A, s, loss="logistic", l2=1.0 / n, **shared),
            ),
        }
        for name, (fit, solve) in pairs.items():
            times = best_of({"fit": fit, "solve": solve}, rounds=15)
            extra = times["fit"] - times["solve"]
            share = 100 * extra / times["solve"]
            print(f"  {name:20} n = {n:5}: {1e3 * extra:6.2f} ms  {share:6.1f} %", flush=True)


# ---- paths ----


def paths() -> None:
    """50 lambdas with warm starts against 50 cold fits, on every set at hand."""
    print("path of 50 / 50 cold fits: time, passes")
    compare_paths("synthetic", *tall(2000, 200))
    for name in ("a9a", "cpusmall_scale", "gas", "leukemia", "mushrooms", "qsar10012", "rcv1_sub"):
        found = data(name)
        if found is not None:
            compare_paths(name, *found)


def compare_paths(name: str, X: Any, y: np.ndarray) -> None:
    """Ridge, elastic net, lasso and logistic regression."""
    y = (y - y.mean()) / y.std()
    grid = np.geomspace(1.0, 1e-3, 50)
    signs = np.where(y > (np.median(y) if np.unique(y).size > 2 else 0.0), 1.0, -1.0)
    for label, b, loss, ratio in (
        ("ridge", y, "squared", 0.0),
        ("elastic net", y, "squared", 0.5),
        ("lasso", y, "squared", 1.0),
        ("logistic l2", signs, "logistic", 0.0),
        ("logistic l1", signs, "logistic", 1.0),
    ):
        lambdas: Any = grid if ratio == 0 else 50
        shared = {"loss": loss, "fit_intercept": True, "max_passes": 10_000}

        def warm(b=b, lambdas=lambdas, ratio=ratio, shared=shared) -> Any:
            return dualgap.path(X, b, lambdas=lambdas, l1_ratio=ratio, **shared)

        path = warm()

        def cold(b=b, path=path, ratio=ratio, shared=shared) -> float:
            return sum(
                dualgap.solve(X, b, l1=v * ratio, l2=v * (1 - ratio), **shared).passes
                for v in path.lambdas
            )

        began = process_time()
        alone = cold()
        rounds = min(max(int(3.0 / (process_time() - began)), 3), 15)
        times = best_of({"path": warm, "alone": cold}, rounds=rounds)
        share, passes = times["path"] / times["alone"], path.passes.sum() / alone
        print(
            f"  {name:14} {label:12} {share:5.2f}  {passes:5.2f}   "
            f"path {1e3 * times['path']:6.1f} ms   certified: {path.converged}",
            flush=True,
        )


def main() -> None:
    parts = {"overhead": overhead, "paths": paths}
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
