"""``dualgap demo``: embedded data, with and without regularisation, next to scikit-learn."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dualgap
from dualgap._files import check_writable, replacing
from dualgap._types import Array
from dualgap.cli.common import to_json

TOL = 1e-6
ROUNDS = 3
"""Fits of which the fastest is shown; the first also loads code."""
PICTURES = (".png", ".svg", ".pdf")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's: told apart by the colour-blind, too."""


@dataclass(frozen=True)
class Comparison:
    """A problem, and scikit-learn's estimator of the same objective, with its default tolerance."""

    name: str
    A: Array
    b: Array
    objective: dict[str, Any]
    estimator: Any


@dataclass(frozen=True)
class Fit:
    """What one solver came to; gaps below what rounding can show are shown as that."""

    problem: str
    solver: str
    primal: float
    gap: float
    relative_gap: float
    seconds: float
    note: str


def comparisons() -> list[Comparison]:
    """The problems: the objective of `dualgap.Problem`, and scikit-learn's words for it."""
    from sklearn.datasets import load_breast_cancer, load_diabetes
    from sklearn.linear_model import ElasticNet, LinearRegression, LogisticRegression, Ridge
    from sklearn.svm import LinearSVC

    A, b = load_diabetes(return_X_y=True)
    A = A / A.std(axis=0)
    high = np.where(b > np.median(b), 1.0, -1.0)
    C, labels = load_breast_cancer(return_X_y=True)
    C, labels = (C - C.mean(axis=0)) / C.std(axis=0), 2.0 * labels - 1.0
    n, m, free = len(b), len(labels), {"fit_intercept": True}
    l1, l2 = 2.0, 0.1
    logistic = {"loss": "logistic", **free}
    return [
        Comparison("least squares", A, b, free, LinearRegression()),
        Comparison("ridge", A, b, {"l2": l2, **free}, Ridge(alpha=l2 * n)),
        Comparison(
            "elastic net",
            A,
            b,
            {"l1": l1, "l2": l2, **free},
            ElasticNet(alpha=l1 + l2, l1_ratio=l1 / (l1 + l2)),
        ),
        Comparison("logistic, l2 = 0", A, high, logistic, LogisticRegression(C=np.inf)),
        Comparison(
            "logistic",
            C,
            labels,
            {"l2": 1e-3, **logistic},
            LogisticRegression(C=1.0 / (1e-3 * m)),
        ),
        Comparison(
            "squared hinge",
            C,
            labels,
            {"loss": "squared_hinge", "l2": 1e-3},
            LinearSVC(C=0.5 / (1e-3 * m), fit_intercept=False, dual="auto"),
        ),
    ]


def compare(problem: Comparison) -> tuple[dualgap.Result, Fit, Fit]:
    """Fit with both; each point's distance from the optimum is bounded by `dualgap.certify`."""
    A, b, objective = problem.A, problem.b, problem.objective
    result, seconds = _timed(lambda: dualgap.solve(A, b, tol=TOL, max_passes=20000, **objective))
    again = dualgap.certify(A, b, result.x, result.y, intercept=result.intercept, **objective)
    certified = result.status.converged and again == result.certificate
    note = "" if certified else str(result.status)
    ours = _fit(problem.name, f"dualgap {result.algorithm}", again, seconds, note)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model, seconds = _timed(lambda: problem.estimator.fit(A, b))
    x = np.ravel(model.coef_).astype(float)
    c = float(np.ravel(model.intercept_)[0]) if objective.get("fit_intercept") else 0.0
    # The better of two bounds: from the dual point that x itself suggests, and from ours.
    theirs = min(
        (dualgap.certify(A, b, x, y, intercept=c, **objective) for y in (None, result.y)),
        key=lambda certificate: certificate.gap,
    )
    limit = any("converge" in str(w.message) for w in caught)
    note = "stopped at its limit" if limit else ""
    other = _fit(problem.name, type(model).__name__, theirs, seconds, note)
    return result, ours, other


def _fit(
    problem: str, solver: str, certificate: dualgap.Certificate, seconds: float, note: str
) -> Fit:
    gap = certificate.gap
    return Fit(problem, solver, certificate.primal, gap, gap / certificate.primal, seconds, note)


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    best = np.inf
    for _ in range(ROUNDS):
        began = time.perf_counter()
        done = work()
        best = min(best, time.perf_counter() - began)
    return done, best


def run(plot: Path | None, as_json: bool) -> bool:
    """Compare, print, draw; whether every fit of ours is certified within tol."""
    if plot is not None:
        if plot.suffix.lower() not in PICTURES:
            raise ValueError(f"--plot={plot} must end with one of {', '.join(PICTURES)}.")
        check_writable("--plot", plot)
        _matplotlib()
    found = [compare(problem) for problem in comparisons()]
    fits = [fit for _, *pair in found for fit in pair]
    if as_json:
        print(to_json({"tol": TOL, "fits": [vars(fit) for fit in fits]}))
    else:
        _print(fits)
    if plot is not None:
        _draw(plot, found)
        if not as_json:
            print(f"\npicture: {plot}")
    return all(not ours.note for _, ours, _ in found)


def _print(fits: list[Fit]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("problem", no_wrap=True)
    table.add_column("solver", no_wrap=True)
    for heading in ("objective P(x)", "P(x) - P* <=", "relative", "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for fit in fits:
        ours = fit.solver.startswith("dualgap")
        row = (
            fit.problem if ours else "",
            fit.solver,
            f"{fit.primal:.9g}",
            f"{fit.gap:.1e}",
            f"{fit.relative_gap:.1e}",
            f"{fit.seconds:.4f}",
            fit.note,
        )
        table.add_row(*row, style="bold" if ours else None, end_section=not ours)
    console = Console()
    wide = console.width if console.is_terminal else 120
    print("min (1/n) sum_i phi(a_i'x + c; b_i) + l1 |x|_1 + (l2/2) |x|^2")
    Console(width=wide).print(table)
    print(
        "P(x) - P* <= is the bound that dualgap.certify finds for the point of either solver.\n"
        f"dualgap stops at a certified relative gap of {TOL:g}, scikit-learn by its default "
        "tolerances; seconds are the best of three."
    )


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise ImportError(
            'the picture needs matplotlib: pip install "dualgap[cli]", or use --no-plot.'
        ) from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def _draw(path: Path, found: list[tuple[dualgap.Result, Fit, Fit]]) -> None:
    """Left, how our certified gaps fall; right, where both solvers ended."""
    plt = _matplotlib()
    figure, (left, right) = plt.subplots(1, 2, figsize=(11.0, 4.4), layout="constrained")
    for k, (result, ours, _) in enumerate(found):
        trace = result.trace
        relative = trace.gap / np.maximum(trace.primal, np.finfo(float).tiny)
        known = np.isfinite(relative) & (relative > 0)
        style = {"color": COLOURS[k], "linestyle": ("-", "--", "-.")[k % 3]}
        left.loglog(1.0 + trace.passes[known], relative[known], label=ours.problem, **style)
    left.axhline(TOL, color="0.4", linewidth=0.9, linestyle=":")
    left.annotate("tol", (1.0, TOL), xytext=(2, 3), textcoords="offset points", color="0.4")
    left.set_xlabel("1 + passes over the data")
    left.set_ylabel("certified gap / P(x)")
    left.set_title("dualgap: the certified gap falls")
    left.legend(frameon=False, fontsize=9)
    names = [ours.problem for _, ours, _ in found]
    rows = np.arange(len(names))
    for label, marker, colour, fits in (
        ("dualgap", "o", COLOURS[0], [ours for _, ours, _ in found]),
        ("scikit-learn", "s", COLOURS[1], [theirs for _, _, theirs in found]),
    ):
        gaps = [fit.relative_gap for fit in fits]
        right.semilogx(gaps, rows, marker, color=colour, label=label, markersize=7)
    right.axvline(TOL, color="0.4", linewidth=0.9, linestyle=":")
    right.set_yticks(rows, names)
    right.invert_yaxis()
    right.set_xlabel("certified gap / P(x) at the end")
    right.set_title("where both end, by dualgap.certify")
    right.legend(frameon=False, fontsize=9)
    for axis in (left, right):
        axis.grid(alpha=0.25)
    with replacing(path) as part:
        figure.savefig(part, dpi=120, format=path.suffix.lower()[1:])
    plt.close(figure)
