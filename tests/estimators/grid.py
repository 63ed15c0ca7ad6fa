"""Every estimator with every solver and penalty it accepts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import SkipTest

import numpy as np
from sklearn.base import clone

import dualgap
from dualgap.algorithms import (
    ALGORITHMS,
    BATCH,
    RANDOMISED,
    SDCA,
    SVRG,
    Newton,
    ProxNewton,
    WorkingSet,
)

SOLVERS = ("auto", *ALGORITHMS)
PASSES = 100
"""Checks look at behaviour, not at certificates: a short run will do."""
DRAWN = {cls.name for cls in (*RANDOMISED, SDCA)}
OWN_WAYS = {"auto", Newton.name, ProxNewton.name, WorkingSet.name, *DRAWN}
"""Solvers whose iterates depend on how the rows are written down."""


def prepared(model: Any, check: Any) -> Any:
    """The model for this check: two fits that are to be compared are run to the end.

    Once a row has weight 2, once it is there twice: the same problem, but other rows are drawn, and
    other sizes of working sets and other times to factorise chosen. (scikit-learn's own checks set
    parameters for single checks in the same way.)
    """
    name = getattr(check, "func", check).__name__
    if name == "check_class_weight_classifiers" and not model.get_params().get("fit_intercept"):
        raise SkipTest("without an intercept scikit-learn's own LogisticRegression fails this too")
    if not name.startswith("check_sample_weight_equivalence") or model.solver not in OWN_WAYS:
        return model
    if isinstance(model, dualgap.HuberRegressor) and model.alpha == 0.0:  # a batch method
        return model
    if np.isinf(getattr(model, "C", 1.0)) and model.solver != "auto":
        raise SkipTest("the classes of these data are separated, so that without a penalty there "
                       "is no solution for two fits to agree on")  # fmt: skip
    if model.solver in DRAWN:
        most = 400_000 if model.solver == SVRG.name else 40_000
        return clone(model).set_params(tol=0.0, max_iter=most)
    return clone(model).set_params(tol=0.0, max_iter=2000)


def penalties() -> list[Any]:
    """One of each estimator for each penalty, default solver."""
    return [
        dualgap.Ridge(max_iter=PASSES),
        dualgap.Ridge(alpha=0.0, max_iter=PASSES),
        dualgap.Lasso(alpha=0.1, max_iter=PASSES),
        dualgap.ElasticNet(alpha=0.1, max_iter=PASSES),
        dualgap.HuberRegressor(max_iter=PASSES),
        dualgap.HuberRegressor(alpha=0.0, max_iter=PASSES),
        dualgap.LogisticRegression(max_iter=PASSES),
        dualgap.LogisticRegression(l1_ratio=1.0, max_iter=PASSES),
        dualgap.LogisticRegression(l1_ratio=0.5, max_iter=PASSES),
        dualgap.LogisticRegression(C=np.inf, max_iter=PASSES),
        dualgap.LinearSVC(max_iter=PASSES),
        dualgap.LinearSVC(penalty="l1", max_iter=PASSES),
        dualgap.LinearSVC(loss="smoothed_hinge", max_iter=PASSES),
    ]


def cross_validated() -> list[Any]:
    """One of each, with a short path."""
    return [
        dualgap.RidgeCV(max_iter=PASSES),
        dualgap.RidgeCV(cv=3, max_iter=PASSES),
        dualgap.LassoCV(alphas=3, cv=3, max_iter=PASSES),
        dualgap.ElasticNetCV(alphas=3, cv=3, max_iter=PASSES),
        dualgap.LogisticRegressionCV(Cs=3, cv=3, max_iter=PASSES),
        dualgap.LogisticRegressionCV(
            Cs=2, cv=3, l1_ratios=(0.5,), max_iter=PASSES, use_legacy_attributes=False
        ),
    ]


def fitting(model: Any, solver: str) -> dict[str, Any] | None:
    """What it takes for this penalty to be fitted by this solver; None if it cannot be."""
    name, ratio = type(model).__name__, getattr(model, "l1_ratio", 0.0)
    lasso = name == "Lasso" or getattr(model, "penalty", "") == "l1" or ratio == 1.0
    bare = getattr(model, "alpha", 1.0) == 0.0 or np.isinf(getattr(model, "C", 1.0))
    if solver == "newton" and (lasso or ratio > 0.0):
        return None
    if name == "HuberRegressor" and solver not in ("auto", *(cls.name for cls in BATCH)):
        return None
    if solver == "working-set" and bare:
        return None
    if solver == "sdca":  # l2 on every coordinate
        return None if lasso or bare else {"fit_intercept": name == "LinearSVC"}
    return {}


def everything() -> Iterator[Any]:
    """All of it."""
    for model in penalties():
        for solver in SOLVERS:
            options = fitting(model, solver)
            if options is not None:
                yield type(model)(**{**model.get_params(), "solver": solver, **options})
    yield dualgap.LogisticRegression(solver="liblinear", max_iter=PASSES)
    yield dualgap.LogisticRegression(solver="liblinear", l1_ratio=1.0, max_iter=PASSES)
    yield from cross_validated()
