"""Labels, class weights, and the constant feature of a penalised intercept."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from dualgap._types import Array
from dualgap.designs import BlockDesign, Design

SAFE = 2.0**53
"""Whole numbers below this are no different as integers."""


class Labels(NamedTuple):
    """The classes in order, and the number of each row's class."""

    classes: Any
    codes: Any


def encode(y: Any) -> Labels:
    """Classes and codes 0, 1, ..."""
    if y.dtype.kind in "fiub":
        low, high = y.min(), y.max()
        upper = y == high
        if (upper | (y == low)).all() and low != high:  # two classes need no sorting
            classes = np.array([low, high], dtype=y.dtype)
            whole = classes.dtype.kind != "f" or (np.abs(classes) < SAFE) & (classes % 1.0 == 0.0)
            if not np.all(whole):  # two whole numbers are labels beyond doubt
                check_classification_targets(np.repeat(classes, 2))
            return Labels(classes, upper.astype(np.intp))
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    return Labels(classes, codes)


def at_least_two(labels: Labels, weights: Array | None) -> None:
    """Refuse data in which one class alone counts."""
    seen = labels.codes if weights is None else labels.codes[weights > 0]
    counted = np.flatnonzero(np.bincount(seen, minlength=labels.classes.size))
    if counted.size >= 2:
        return
    where = "the data" if weights is None or labels.classes.size < 2 else "the weighted data"
    label = labels.classes[[int(counted[0])]].tolist()[0]
    raise ValueError(
        f"This solver needs samples of at least 2 classes in the data, but {where} contains only "
        f"one class: {label!r}"
    )


def class_weights(class_weight: Any, labels: Labels, y: Any, weights: Array | None) -> Array | None:
    """The weight of each class, or None.

    ``"balanced"``: W / (K W_k) with W_k the total weight of class k.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        K = labels.classes.size
        totals = np.bincount(labels.codes, weights=weights, minlength=K)
        with np.errstate(divide="ignore"):
            return np.where(totals > 0, totals.sum() / (K * totals), 0.0)
    if not isinstance(class_weight, dict):
        raise ValueError(f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}.")
    return np.asarray(compute_class_weight(class_weight, classes=labels.classes, y=y))


def with_constant(X: Any, value: float) -> Any:
    """(X, value 1): a feature whose coefficient, times value, is a penalised intercept."""
    if isinstance(X, BlockDesign):
        return X.with_constant(value)
    if isinstance(X, Design):
        raise TypeError(
            f"a penalised intercept is one more column of X, which {X.title} cannot be given. Give "
            "an array, a sparse matrix, a folder as dualgap.open opens it, or a BlockDesign."
        )
    column = np.full((X.shape[0], 1), value, dtype=X.dtype)
    if isinstance(X, np.ndarray):
        return np.hstack((X, column))
    return sp.hstack((X, sp.csr_matrix(column)), format="csr")
