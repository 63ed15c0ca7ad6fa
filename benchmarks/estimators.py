"""Estimators: cost beyond `solve`, paths against cold fits, cross-validation against scikit-learn.

usage: python -m benchmarks estimators [overhead] [paths] [cv] [small]

Processor time, the best of rounds taken in turn, reported as ratios. `benchmarks.defaults` compares
single fits with scikit-learn.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from functools import partial
from time import process_time
from typing import Any

import numpy as np
import sklearn.linear_model as theirs
from sklearn.exceptions import ConvergenceWarning

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


# ---- cross-validation and other small fits ----

LASSO_SHAPES = ((200, 400), (500, 100), (100, 2000))
"""Rows and columns of the data on which cross-validated lassos are timed."""
SMALL_SHAPES = ((150, 30), (2000, 100), (100, 500))
"""Rows and columns of the data on which other fits are timed: small, medium and wide."""
EQUAL_TOL = 1e-8
"""The tolerance at which scikit-learn's coordinate descent is as accurate as our default."""
TARGETS = 32
"""Targets of the ridge regression with many of them."""


def sparse_signal(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Normal columns, of which ten matter, and noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    w = np.zeros(d)
    w[rng.choice(d, 10, replace=False)] = 3.0 * rng.normal(size=10)
    return X, X @ w + rng.normal(size=n)


def pairs() -> Iterator[tuple[str, Any, Any, np.ndarray, np.ndarray]]:
    """A label, our model, scikit-learn's at equal accuracy, and the data."""
    exact: dict[str, Any] = {"tol": EQUAL_TOL, "max_iter": 1_000_000}
    for n, d in LASSO_SHAPES:
        data = sparse_signal(n, d)
        yield f"LassoCV {n} x {d}", dualgap.LassoCV(), theirs.LassoCV(**exact), *data
        net = theirs.ElasticNetCV(l1_ratio=0.5, **exact)
        yield f"ElasticNetCV {n} x {d}", dualgap.ElasticNetCV(l1_ratio=0.5), net, *data


def small_pairs() -> Iterator[tuple[str, Any, Any, np.ndarray, np.ndarray]]:
    """The same of fits that take a few milliseconds, where what comes beside the solve counts."""
    exact: dict[str, Any] = {"tol": EQUAL_TOL, "max_iter": 10_000}
    alphas = np.geomspace(1e-2, 1e3, 20)
    for n, d in SMALL_SHAPES:
        X, y = sparse_signal(n, d)
        both = y[:, None] + np.random.default_rng(1).normal(size=(n, TARGETS))
        of = f"{n} x {d}"
        yield f"Ridge {of}", dualgap.Ridge(), theirs.Ridge(), X, y
        yield f"Ridge {of}, {TARGETS} targets", dualgap.Ridge(), theirs.Ridge(), X, both
        yield f"RidgeCV {of}", dualgap.RidgeCV(), theirs.RidgeCV(), X, y
        yield f"RidgeCV {of}, 20 alphas", dualgap.RidgeCV(alphas), theirs.RidgeCV(alphas), X, y
        folds = dualgap.RidgeCV(alphas, cv=5), theirs.RidgeCV(alphas, cv=5)
        yield f"RidgeCV {of}, 5 folds", *folds, X, y
        if n > d:
            outlying = np.where(np.arange(n) % 10 == 0, y + 30.0, y)
            robust = dualgap.HuberRegressor(), theirs.HuberRegressor(**exact)
            yield f"HuberRegressor {of}", *robust, X, outlying
        yield f"Lasso {of}", dualgap.Lasso(0.1), theirs.Lasso(0.1, **exact), X, y
        logistic = dualgap.LogisticRegression(), theirs.LogisticRegression(tol=1e-6, max_iter=1000)
        yield f"LogisticRegression {of}", *logistic, X, y > 0.0


def cv() -> None:
    """Cross-validated lassos."""
    against(pairs())


def small() -> None:
    """Other small fits."""
    against(small_pairs())


def against(some: Iterator[tuple[str, Any, Any, np.ndarray, np.ndarray]]) -> None:
    """Our defaults against scikit-learn at equal accuracy."""
    print("ours / scikit-learn's time, and the largest relative difference of mean squared errors")
    warnings.simplefilter("ignore", ConvergenceWarning)
    for label, ours, other, X, y in some:
        models = {"ours": ours, "theirs": other}
        began = process_time()
        for model in models.values():
            model.fit(X, y)
        rounds = min(max(int(3.0 / (process_time() - began)), 2), 50)
        fits = {name: partial(model.fit, X, y) for name, model in models.items()}
        times = best_of(fits, rounds)
        line = f"  {label:28} {times['ours'] / times['theirs']:5.2f}   "
        line += f"{1e3 * times['ours']:8.2f} ms / {1e3 * times['theirs']:8.2f} ms"
        if hasattr(ours, "mse_path_"):
            apart = np.abs(ours.mse_path_ / other.mse_path_ - 1.0).max()
            line += f"   errors {apart:.1e}   largest gap {ours.gap_path_.max():.1e}"
        print(line, flush=True)


def main() -> None:
    parts = {"overhead": overhead, "paths": paths, "cv": cv, "small": small}
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
