"""What `benchmarks gate` measures: short calls of everything the package does.

Run as a script, in a process of its own, this prints the best seconds of each case as JSON. It
imports nothing but the package on the path, by its public names and with plain arguments, so that
an old base runs the same cases; one that it cannot run is null.
"""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import dualgap

Action = Callable[[], object]
Parts = tuple[Callable[[], dict[str, Action]], ...]

SECONDS = 0.15
"""What the calls of one case take together in a process, as far as the limits below allow."""
FEWEST, MOST = 8, 40
"""Calls of each case in a process; the best counts."""
LONG = 2.0
"""Calls of more seconds than this are timed once in a process."""
CERTIFICATES = 20
"""In one call of a case that does nothing but certify: alone they are too short to time."""


# ---- data ----


@cache
def dense() -> tuple[Any, Any, Any]:
    """800 x 300, the paper's: rows, targets, labels."""
    A, b = dualgap.datasets.synthetic1(800, 300)
    return A, b, np.where(b > 0, 1.0, -1.0)


@cache
def large() -> tuple[Any, Any, Any]:
    """2500 x 600, the paper's: rows, targets, labels."""
    A, b = dualgap.datasets.synthetic1(2500, 600, seed=1)
    return A, b, np.where(b > 0, 1.0, -1.0)


@cache
def sparse() -> tuple[Any, Any, Any]:
    """4000 x 2000 with one entry in a hundred: rows, targets, labels."""
    rng = np.random.default_rng(0)
    S = sp.random_array((4000, 2000), density=0.01, format="csr", random_state=rng)
    scores = S @ rng.standard_normal(2000)
    return S, scores + 0.1 * rng.standard_normal(4000), np.where(scores > 0, 1.0, -1.0)


@cache
def tall() -> tuple[Any, Any, Any, Any]:
    """2000 x 30, noisy: rows, targets, labels that no plane separates, four classes."""
    rng = np.random.default_rng(2)
    A = rng.standard_normal((2000, 30)) / np.sqrt(np.arange(1.0, 31.0))
    b = A @ rng.standard_normal(30) + rng.standard_normal(2000)
    classes = (A @ rng.standard_normal((30, 4)) + rng.gumbel(size=(2000, 4))).argmax(axis=1)
    return A, b, np.where(b + rng.standard_normal(2000) > 0, 1.0, -1.0), classes


def strongest(A: Any, b: Any) -> float:
    """The smallest l1 for which x = 0 minimises the squared loss."""
    return float(np.abs(A.T @ b).max()) / len(b)


# ---- cases ----


def solves() -> dict[str, Action]:
    A, b, labels = dense()
    S, values, signs = sparse()
    T, _, mixed, classes = tall()
    l1, l2 = 0.05 * strongest(A, b), 1e-2 / len(b)
    short, thin = 1e-2 / len(signs), 0.05 * strongest(S, values)
    weights = 1.0 + np.arange(800.0) % 3
    solve = dualgap.solve
    return {
        "ridge": lambda: solve(A, b, l2=l2),
        "ridge, 30 x 5": lambda: solve(A[:30, :5], b[:30], l2=0.1),
        "ridge, weights, intercept": lambda: solve(
            A, b, l2=l2, sample_weight=weights, fit_intercept=True
        ),
        "lasso": lambda: solve(A, b, l1=l1, fit_intercept=True),
        "lasso, 200 x 300": lambda: solve(A[:200], b[:200], l1=l1),
        "lasso, sparse": lambda: solve(S, values, l1=thin),
        "elastic net": lambda: solve(A, b, l1=l1, l2=l2),
        "logistic": lambda: solve(A, labels, loss="logistic", l2=l2),
        "logistic, l1": lambda: solve(A, labels, loss="logistic", l1=l1 / 4, fit_intercept=True),
        "logistic, sparse": lambda: solve(S, signs, loss="logistic", l2=short),
        "logistic, sparse, adf-spdc": lambda: solve(
            S, signs, loss="logistic", l2=short, algorithm="adf-spdc"
        ),
        "huber": lambda: solve(A, b, loss="huber", l2=l2),
        "squared hinge, intercept": lambda: solve(
            T, mixed, loss="squared_hinge", l2=1e-3, fit_intercept=True
        ),
        "unregularised, squared": lambda: solve(A, b, fit_intercept=True),
        "unregularised, logistic": lambda: solve(T, mixed, loss="logistic", fit_intercept=True),
        "multinomial, l2": lambda: solve(
            T, classes, loss="multinomial", l2=1e-3, fit_intercept=True
        ),
        "multinomial, l1": lambda: solve(T, classes, loss="multinomial", l1=1e-2),
    }


def large_solves() -> dict[str, Action]:
    A, b, labels = large()
    l1, l2 = 0.05 * strongest(A, b), 1e-2 / len(b)
    return {
        "ridge, 2500 x 600": lambda: dualgap.solve(A, b, l2=l2),
        "lasso, 2500 x 600": lambda: dualgap.solve(A, b, l1=l1),
        "logistic, 2500 x 600": lambda: dualgap.solve(A, labels, loss="logistic", l2=l2),
    }


def paths() -> dict[str, Action]:
    A, b, labels = dense()
    S, values, _ = sparse()
    grid = np.geomspace(1.0, 1e-4, 30)
    return {
        "path, ridge": lambda: dualgap.path(A, b, lambdas=grid, l1_ratio=0.0),
        "path, lasso": lambda: dualgap.path(A, b, lambdas=30, eps=1e-2, fit_intercept=True),
        "path, lasso, sparse": lambda: dualgap.path(S, values, lambdas=20, eps=3e-2),
        "path, logistic l1": lambda: dualgap.path(A, labels, loss="logistic", lambdas=15, eps=5e-2),
    }


def estimators() -> dict[str, Action]:
    A, b, labels = dense()
    T, targets, mixed, classes = tall()
    small, few = T[:150], T[:400]
    return {
        "Ridge, 150 x 30": lambda: dualgap.Ridge().fit(small, targets[:150]),
        "ElasticNet": lambda: dualgap.ElasticNet(0.01).fit(A, b),
        "LogisticRegression": lambda: dualgap.LogisticRegression().fit(A, labels),
        "LogisticRegression, 4 classes": lambda: dualgap.LogisticRegression().fit(T, classes),
        "LinearSVC": lambda: dualgap.LinearSVC().fit(T, mixed),
        "HuberRegressor, 150 x 30": lambda: dualgap.HuberRegressor().fit(small, targets[:150]),
        "RidgeCV": lambda: dualgap.RidgeCV(alphas=np.geomspace(1e-2, 1e2, 10)).fit(T, targets),
        "LassoCV": lambda: dualgap.LassoCV(alphas=20, cv=3).fit(few, targets[:400]),
        "LogisticRegressionCV": lambda: dualgap.LogisticRegressionCV(Cs=4, cv=3).fit(
            few, mixed[:400]
        ),
    }


def certificates() -> dict[str, Action]:
    """Of the solver's own points, the problem being at hand; the last ones start from the data."""
    A, b, labels = dense()
    S, values, signs = sparse()
    T, targets, mixed, classes = tall()
    l1, l2 = 0.05 * strongest(A, b), 1e-2 / len(b)
    short, thin = 1e-2 / len(signs), 0.05 * strongest(S, values)
    given: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "squared l2": (A, b, {"l2": l2}),
        "squared l1": (A, b, {"l1": l1}),
        "squared l1, intercept": (A, b, {"l1": l1, "fit_intercept": True}),
        "logistic l2": (A, labels, {"loss": "logistic", "l2": l2}),
        "logistic l2, intercept": (
            T,
            mixed,
            {"loss": "logistic", "l2": 1e-3, "fit_intercept": True},
        ),
        "squared, unregularised": (T, targets, {"fit_intercept": True}),
        "multinomial l2": (T, classes, {"loss": "multinomial", "l2": 1e-3}),
        "sparse, squared l1": (S, values, {"l1": thin}),
        "sparse, logistic l2": (S, signs, {"loss": "logistic", "l2": short}),
        "sparse, logistic l1": (S, signs, {"loss": "logistic", "l1": thin / 4}),
    }
    out = {f"certify, {name}": at_hand(*case) for name, case in given.items()}
    for name in ("squared l2", "squared, unregularised", "sparse, logistic l2"):
        out[f"new problem, certify, {name}"] = from_the_data(*given[name])
    return out


def at_hand(A: Any, b: Any, arguments: dict[str, Any]) -> Action:
    """Many certificates of one point of one problem."""

    @cache
    def solved() -> tuple[Any, Any]:
        problem = dualgap.Problem(A, b, **arguments)
        return problem, problem.solve()

    def certify() -> None:
        problem, result = solved()
        for _ in range(CERTIFICATES):
            problem.certify(result.x, result.y, intercept=result.intercept)

    return certify


def from_the_data(A: Any, b: Any, arguments: dict[str, Any]) -> Action:
    """Many certificates of one point, each from a new problem."""

    @cache
    def solved() -> Any:
        return dualgap.solve(A, b, **arguments)

    def certify() -> None:
        result = solved()
        for _ in range(CERTIFICATES):
            dualgap.certify(A, b, result.x, result.y, intercept=result.intercept, **arguments)

    return certify


PARTS = (solves, large_solves, paths, estimators, certificates)


# ---- clock ----


def best_seconds(action: Action) -> float:
    """The least processor time of some calls, after one that compiles."""
    action()
    times = [_seconds(action)]
    if times[0] > LONG:
        return times[0]
    more = math.ceil(SECONDS / max(times[0], 1e-9)) - 1
    times += [_seconds(action) for _ in range(min(max(more, FEWEST - 1), MOST - 1))]
    return min(times)


def _seconds(action: Action) -> float:
    began = time.process_time()  # one thread: the time others take is not in it
    action()
    return time.process_time() - began


def measured(parts: Parts, wanted: list[str]) -> dict[str, float | None]:
    """Best seconds of these cases, all if none is named; null where the package cannot run it."""
    out: dict[str, float | None] = {}
    for part in parts:
        for name, action in part().items():
            if not wanted or name in wanted:
                try:
                    out[name] = best_seconds(action)
                except Exception as error:  # whatever an old base raises
                    out[name] = None
                    print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
    return out


def main(parts: Parts) -> None:
    """Measure the cases that are named on the command line, and print their seconds."""
    warnings.simplefilter("ignore")  # a base may converge less well: its time is what counts
    best = measured(parts, sys.argv[1:])
    print(json.dumps({"where": str(Path(dualgap.__file__).resolve()), "best": best}))


if __name__ == "__main__":
    main(PARTS)
