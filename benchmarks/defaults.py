"""Our estimators with their defaults against scikit-learn's with theirs.

usage: python -m benchmarks defaults [NAME ...]   (data sets; "multinomial" for elastic-net softmax)

scikit-learn's default solver is run with tolerances made smaller until its objective is within our
default tolerance of the optimum, P <= (1 + 1e-6) P*; that one run counts. P* is our lower bound of
a run with tol 1e-10. Processor time, the best of fits taken in turn. "worse" compares both with all
defaults: by how much our objective is above scikit-learn's, relative to it (negative: lower).
"""

from __future__ import annotations

import sys
import warnings
from statistics import geometric_mean
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.linear_model as theirs
from sklearn.exceptions import ConvergenceWarning

import dualgap
from benchmarks.data_sets import load
from benchmarks.timing import best_of, seconds

NAMES = (
    "a9a",
    "mushrooms",
    "german.numer_scale",
    "rcv1_sub",
    "leukemia",
    "cpuact",
    "cpusmall_scale",
    "gas",
    "qsar10012",
)
WORTH_TIMING = 5e-3
"""Seconds of scikit-learn's."""
MOST = 2_000
"""Iterations that scikit-learn gets."""


def data(name: str) -> tuple[Any, np.ndarray] | None:
    """As a user would hold it: an array if it is dense."""
    found = load(name)
    if found is None:
        return None
    X, y = found
    return (X if X.nnz < 0.5 * X.shape[0] * X.shape[1] else X.toarray()), y


def timed(ours: Any, other: Any, X: Any, y: np.ndarray) -> tuple[float, float]:
    """The best fit of each, taken in turn: at least six, up to thirty of short ones."""
    longest = seconds(lambda: ours.fit(X, y)) + seconds(lambda: other.fit(X, y))
    rounds = min(max(int(1.0 / longest), 6), 30) if longest < 2.0 else 1
    best = best_of({"a": lambda: ours.fit(X, y), "b": lambda: other.fit(X, y)}, rounds)
    return best["a"], best["b"]


def objective(model: Any, problem: dualgap.Problem) -> float:
    """P at the model's coefficients."""
    x, c = np.asarray(model.coef_, float).T, np.asarray(model.intercept_, float)
    if problem.outputs is None:
        x, c = np.ravel(x), float(np.ravel(c)[0])
    return problem.certify(x, intercept=c).primal


def compare(label: str, ours: Any, reference: Any, X: Any, y: Any, problem: Any) -> float | None:
    """Print a line; the ratio of times if scikit-learn's is worth timing."""
    ours.fit(X, y)  # kernels are compiled
    aim = (1.0 + ours.tol) * problem.solve(tol=1e-10, max_passes=100_000).certificate.dual
    power, reached = 1, False
    while not reached and power < 12:
        power += 1
        exact = {"tol": 10.0**-power, "max_iter": MOST}
        model = type(reference)(**{**reference.get_params(), **exact}).fit(X, y)
        reached = objective(model, problem) <= aim
        if np.max(model.n_iter_ if model.n_iter_ is not None else 0) >= MOST:
            break
    mine, other = timed(ours, model, X, y)
    default = objective(reference.fit(X, y), problem)
    worse = (objective(ours, problem) - default) / default
    quality = f"tol 1e-{power:02}" if reached else "never there"
    counts = other > WORTH_TIMING
    print(
        f"  {label:32} ours {1e3 * mine:8.1f} ms  theirs {1e3 * other:9.1f} ms ({quality})  "
        f"ratio {mine / other:6.3f}{'' if counts else ' (not counted)'}  worse {worse:9.1e}  "
        f"{ours.status_.name.lower()}",
        flush=True,
    )
    return mine / other if counts else None


def on(name: str) -> list[float | None]:
    """Ridge, elastic net and logistic regression on one set."""
    found = data(name)
    if found is None:
        return []
    X, y = found
    n = X.shape[0]
    labels = np.where(y > (np.median(y) if np.unique(y).size > 2 else 0.0), 1.0, -1.0)
    shared: dict[str, Any] = {"fit_intercept": True}
    squared = dualgap.Problem(X, y, l2=1.0 / n, **shared)
    logistic = dualgap.Problem(X, labels, loss="logistic", l2=1.0 / n, **shared)
    ratios = [compare(f"{name} Ridge", dualgap.Ridge(), theirs.Ridge(), X, y, squared)]
    for alpha in (1.0, 0.01):
        net = squared.replace(l1=0.5 * alpha, l2=0.5 * alpha)
        pair = dualgap.ElasticNet(alpha), theirs.ElasticNet(alpha)
        ratios.append(compare(f"{name} ElasticNet({alpha:g})", *pair, X, y, net))
    pair = dualgap.LogisticRegression(), theirs.LogisticRegression()
    return [*ratios, compare(f"{name} LogisticRegression", *pair, X, labels, logistic)]


def multinomial() -> list[float | None]:
    """Elastic-net softmax against saga: dense digits, and sparse text-like rows."""
    from sklearn.datasets import load_digits

    rng = np.random.default_rng(0)
    X, y = load_digits(return_X_y=True)
    sparse = sp.random_array((3000, 500), density=0.05, random_state=rng, format="csr")
    scores = sparse @ np.where(rng.random((500, 5)) < 0.05, rng.normal(size=(500, 5)), 0.0)
    kinds = np.argmax(5.0 * scores + rng.gumbel(size=scores.shape), axis=1)
    ratios = []
    for name, A, b, C in (
        ("digits", X / 16.0, y, 1.0),
        ("digits", X / 16.0, y, 0.05),
        ("digits, raw", X, y, 0.05),
        ("sparse", sparse, kinds, 1.0),
    ):
        options = {"C": C, "l1_ratio": 0.5}
        ours = dualgap.LogisticRegression(**options)
        reference = theirs.LogisticRegression(solver="saga", **options)
        strength = 0.5 / (C * A.shape[0])
        problem = dualgap.Problem(
            A, b.astype(float), loss="multinomial", l1=strength, l2=strength, fit_intercept=True
        )
        ratios.append(compare(f"{name} softmax(C={C:g})", ours, reference, A, b, problem))
    return ratios


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    ratios: list[float] = []
    for name in sys.argv[1:] or (*NAMES, "multinomial"):
        found = multinomial() if name == "multinomial" else on(name)
        ratios += [ratio for ratio in found if ratio is not None]
    if ratios:
        print(f"geometric mean {geometric_mean(ratios):.3f}, largest {max(ratios):.3f}")


if __name__ == "__main__":
    main()
