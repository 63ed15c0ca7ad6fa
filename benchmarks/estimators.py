"""Estimators: cost beyond `solve`, paths against cold fits, defaults against scikit-learn.

usage: python -m benchmarks.estimators [overhead] [paths] [defaults]

Times are medians of alternating runs, reported as ratios. "defaults" runs scikit-learn's default
solver with tolerances made smaller until its objective is within our certified gap of ours, and
counts the time of that one run; it needs the data sets (see `data_sets`), and uses synthetic data
without them.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from statistics import geometric_mean, median
from typing import Any

import numpy as np
import sklearn.linear_model as theirs
from sklearn.exceptions import ConvergenceWarning

import dualgap
from benchmarks.data_sets import load


def seconds(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def alternating(*calls: Callable[[], Any], rounds: int = 7) -> list[float]:
    """The median time of each, run in turns so that all see the same machine."""
    times = [[seconds(call) for call in calls] for _ in range(rounds)]
    return [median(column) for column in zip(*times, strict=True)]


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
    signs = np.sign(y)
    for n in (200, 5000):
        A, b, s = X[:n], y[:n], signs[:n]
        pairs: list[tuple[str, Callable[[], Any], Callable[[], Any]]] = [
            (
                "Ridge",
                lambda A=A, b=b: dualgap.Ridge(1.0).fit(A, b),
                lambda A=A, b=b, n=n: dualgap.solve(
                    A, b, l2=1.0 / n, fit_intercept=True, max_passes=10_000
                ),
            ),
            (
                "LogisticRegression",
                lambda A=A, s=s: dualgap.LogisticRegression().fit(A, s),
                lambda A=A, s=s, n=n: dualgap.solve(
                    A, s, loss="logistic", l2=1.0 / n, fit_intercept=True, max_passes=10_000
                ),
            ),
        ]
        for name, fit, solve in pairs:
            fit(), solve()
            ours, plain = alternating(fit, solve, rounds=11)
            extra = ours - plain
            print(f"  {name:20} n = {n:5}: {1e3 * extra:6.2f} ms  {100 * extra / plain:6.1f} %")


# ---- paths ----


def paths() -> None:
    """50 lambdas with warm starts against 50 cold fits."""
    print("path of 50 / 50 cold fits: time, passes")
    X, y = tall(2000, 200)
    grid = np.geomspace(1.0, 1e-3, 50)
    for label, b, loss, ratio in (
        ("ridge", y, "squared", 0.0),
        ("elastic net", y, "squared", 0.5),
        ("lasso", y, "squared", 1.0),
        ("logistic l2", np.sign(y), "logistic", 0.0),
        ("logistic l1", np.sign(y), "logistic", 1.0),
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

        alone = cold()
        one, many = alternating(warm, cold, rounds=3)
        passes = path.passes.sum() / alone
        print(f"  {label:12} {one / many:5.2f}  {passes:5.2f}   certified: {path.converged}")


# ---- defaults ----


def problems() -> Iterator[tuple[str, Any, np.ndarray]]:
    found = False
    for name in ("a9a", "mushrooms", "cpuact", "phishing", "w8a", "rcv1_sub"):
        try:
            data = load(name)
        except OSError:
            continue
        if data is not None:
            found = True
            yield name, *data
    if not found:
        yield "synthetic", *tall()


def defaults() -> None:
    """Our defaults against scikit-learn's default solver at our certified quality."""
    ratios = []
    for name, X, b in problems():
        regression = np.unique(b).size > 20
        n = X.shape[0]
        labels = b if not regression else np.sign(b - np.median(b))
        labels = np.where(labels > 0, 1, -1)
        cases = [
            ("Ridge", dualgap.Ridge(), theirs.Ridge, b, {"l2": 1.0 / n}),
            ("ElasticNet", dualgap.ElasticNet(0.01), theirs.ElasticNet, b,
             {"l1": 0.005, "l2": 0.005}),
            ("LogisticRegression", dualgap.LogisticRegression(), theirs.LogisticRegression, labels,
             {"l2": 1.0 / n, "loss": "logistic"}),
        ]  # fmt: skip
        for label, ours, reference, y, strengths in cases:
            ours.fit(X, y)  # compile and warm up
            began = time.perf_counter()
            ours.fit(X, y)
            mine = time.perf_counter() - began
            bound = ours.certificate_
            theirs_time, quality = at_quality(
                reference, ours, X, y, bound.primal + bound.gap, strengths
            )
            default = reference(**shared(reference, ours)).fit(X, y)
            worse = objective(X, y, default, strengths) < bound.primal * (1 - 1e-9)
            ratio = mine / theirs_time
            if theirs_time > 5e-3:
                ratios.append(ratio)
            print(
                f"  {name:10} {label:20} ours {1e3 * mine:8.1f} ms ({ours.status_.name.lower()}, "
                f"gap {bound.relative_gap:.1e})  theirs {1e3 * theirs_time:8.1f} ms "
                f"({quality})  ratio {ratio:6.2f}{'  default of theirs is lower' if worse else ''}",
                flush=True,
            )
    if ratios:
        print(f"geometric mean {geometric_mean(ratios):.2f}, largest {max(ratios):.2f}")


def shared(reference: Any, ours: Any) -> dict[str, Any]:
    return (
        {k: v for k, v in ours.get_params().items() if k in ("alpha", "l1_ratio", "C")}
        if (reference is not theirs.LogisticRegression)
        else {"C": ours.C}
    )


def objective(X: Any, y: np.ndarray, model: Any, strengths: dict[str, Any]) -> float:
    x = np.ravel(model.coef_).astype(float)
    c = float(np.ravel(model.intercept_)[0])
    return dualgap.Problem(X, y, fit_intercept=True, **strengths).certify(x, intercept=c).primal


def at_quality(
    reference: Any, ours: Any, X: Any, y: np.ndarray, aim: float, strengths: dict[str, Any]
) -> tuple[float, str]:
    """Time of the loosest run of scikit-learn's default solver that reaches ``aim``."""
    for power in range(2, 13):
        options = {"tol": 10.0**-power, **shared(reference, ours)}
        options["max_iter"] = 100_000
        model = reference(**options)
        took = seconds(lambda model=model: model.fit(X, y))
        if objective(X, y, model, strengths) <= aim:
            return took, f"tol {10.0**-power:.0e}"
    return took, "never there"


def main(words: list[str]) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    parts = {"overhead": overhead, "paths": paths, "defaults": defaults}
    for name in words or parts:
        parts[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
