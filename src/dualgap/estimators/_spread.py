"""Estimators on data of dask: fits whose rows stay where they are, and lazy predictions.

Labels are found and encoded where the blocks are. What is said of a block here is a function of the
block alone, at the top level of the module, so that workers can be sent it.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, softmax
from sklearn.utils.multiclass import check_classification_targets

from dualgap._types import Array
from dualgap.designs import DaskDesign
from dualgap.designs.collections import as_array, as_vector, is_dask, one_block_wide
from dualgap.designs.taking import at_rest

MOST_CLASSES = 1 << 16
"""With more the matrices of coefficients would be huge."""


class Spread(NamedTuple):
    """Data that stay where they are, and what belongs to their rows, in the same blocks."""

    X: DaskDesign
    y: Any
    weights: Any


class SpreadLabels(NamedTuple):
    """Classes, the weight of each, and the number of each row's class, which stays with its row."""

    classes: Any
    totals: Array
    codes: Any


def spread(owner: Any, X: Any, y: Any, sample_weight: Any) -> Spread | None:
    """What an estimator is fitted to where that is large data of dask; else None.

    Raises
    ------
    TypeError, ValueError
        If they are, and the estimator is asked for what needs rows here.
    """
    if not is_dask(X):
        return None
    design = at_rest(X)
    if design is None:
        return None
    try:
        return _checked(owner, design, X, y, sample_weight)
    except BaseException:
        with design.in_use():  # which releases what the looks at X have left in the workers
            raise


def _checked(owner: Any, design: DaskDesign, X: Any, y: Any, sample_weight: Any) -> Spread:
    """What belongs to the rows, if the estimator can be fitted to it there."""
    name = type(owner).__name__
    for option in ("warm_start", "early_stopping"):
        if getattr(owner, option, False):
            raise ValueError(
                f"{name}({option}=True) needs the rows of X in memory, and these stay on the "
                f"cluster. Leave {option} out, or gather them (dualgap.open says how)."
            )
    for argument, values in (("y", y), ("sample_weight", sample_weight)):
        if values is not None and not is_dask(values):
            raise TypeError(
                f"{argument} is a {type(values).__name__}, and X is of dask: give {argument} as a "
                "dask array or data frame's column with the rows of X, such as "
                f"dask.array.from_array({argument}, chunks=X.chunks[0])."
            )
    learn_features(owner, X, design.shape[1])
    weights = None if sample_weight is None else design.in_blocks("sample_weight", sample_weight)
    return Spread(design, design.in_blocks("y", y), weights)


def learn_features(owner: Any, X: Any, d: int) -> None:
    """How many features there are, and their names."""
    owner.__dict__.pop("feature_names_in_", None)
    owner.n_features_in_ = d
    names = list(getattr(X, "columns", []))
    if names and all(isinstance(name, str) for name in names):
        owner.feature_names_in_ = np.array(names, dtype=object)


def encode(data: Spread) -> SpreadLabels:
    """Classes, codes 0, 1, ..., and what each class weighs: two rounds, which read none of X."""
    found = data.X.of_each(data.y, labels_of)
    classes = np.unique(np.concatenate([labels for labels in found if len(labels)]))
    if classes.size > MOST_CLASSES:
        raise ValueError(f"y has more than {MOST_CLASSES} labels; classes are a few.")
    check_classification_targets(classes)
    codes = data.y.map_blocks(partial(codes_of, classes=classes), dtype=float)
    if data.weights is None:
        rows = codes
    else:
        rows = codes.map_blocks(beside, data.weights, dtype=float, new_axis=1)
    totals = sum(data.X.of_each(rows, partial(totals_of, classes=classes.size)))
    return SpreadLabels(classes, np.asarray(totals), codes)


def labels_of(y: Any, part: int) -> Any:
    """Those of some rows."""
    return np.unique(np.asarray(y))


def codes_of(y: Any, classes: Any) -> Array:
    """The numbers of their classes."""
    return np.searchsorted(classes, np.asarray(y)).astype(np.float64)


def beside(codes: Array, weights: Any) -> Any:
    """Both, as columns."""
    return np.column_stack((codes, np.asarray(weights, dtype=np.float64)))


def totals_of(rows: Array, part: int, classes: int) -> Array:
    """What each class weighs."""
    codes, weights = (rows, None) if rows.ndim == 1 else (rows[:, 0], rows[:, 1])
    counts = np.bincount(codes.astype(np.intp), weights, classes)
    return np.asarray(counts, dtype=np.float64)


def weighted(data: Spread, labels: SpreadLabels, by_class: Array | None) -> Any:
    """The weights of rows, times those of their classes."""
    if by_class is None:
        return data.weights
    given = () if data.weights is None else (data.weights,)
    return labels.codes.map_blocks(class_weight_of, *given, by_class=by_class, dtype=float)


def class_weight_of(codes: Array, *weights: Any, by_class: Array) -> Array:
    """Of some rows."""
    found = by_class[codes.astype(np.intp)]
    return np.asarray(found * weights[0] if weights else found, dtype=np.float64)


def targets_of(codes: Array, seen: Any, signs: bool) -> Any:
    """The codes as a loss has them: -1 and +1, or numbers among the classes that are fitted."""
    if signs:
        return 2.0 * codes - 1.0
    return np.minimum(np.searchsorted(seen, codes), seen.size - 1).astype(np.float64)


# ---- predictions ----


def scores(X: Any, coefficients: Array, intercept: Any, features: int) -> Any:
    """X coefficients + intercept, an array of dask."""
    X = one_block_wide(as_array("X", X))
    if X.shape[1] != features:
        raise ValueError(f"X has {X.shape[1]} features, and {features} are expected.")
    several = coefficients.ndim == 2
    how: dict[str, Any] = {"drop_axis": 1}
    if several:
        how = {"chunks": (X.chunks[0], (coefficients.shape[1],))}
    return X.map_blocks(
        scores_of, coefficients, intercept, dtype=float, meta=np.empty((0, 0)[: 1 + several]), **how
    )


def scores_of(block: Any, coefficients: Array, intercept: Any) -> Array:
    """Of some rows."""
    return np.asarray(block @ coefficients + intercept)


def decided(found: Any, classes: Any) -> Any:
    """The labels that scores stand for; of an array of dask one of dask."""
    if not is_dask(found):
        best = (found > 0).astype(np.intp) if found.ndim == 1 else found.argmax(axis=1)
        return np.asarray(classes[best])
    how = {"drop_axis": 1} if found.ndim == 2 else {}
    meta = np.empty(0, classes.dtype)
    return found.map_blocks(decided, classes, dtype=classes.dtype, meta=meta, **how)


def probabilities(found: Any) -> Any:
    """Those that scores stand for; of an array of dask one of dask."""
    if is_dask(found):
        how: dict[str, Any] = {"meta": np.empty((0, 0)), "dtype": float}
        if found.ndim == 1:
            how |= {"new_axis": 1, "chunks": (found.chunks[0], (2,))}
        return found.map_blocks(probabilities, **how)
    if found.ndim == 1:
        positive = expit(found)
        return np.column_stack((1.0 - positive, positive)).astype(found.dtype, copy=False)
    return np.asarray(softmax(found, axis=1))


def score(predicted: Any, y: Any, sample_weight: Any, moments: Any) -> float:
    """The share of rows that are right, or R^2: one round.

    Parameters
    ----------
    predicted : dask array
    y, sample_weight : dask collections
    moments : callable
        `right_of` or `squares_of`.
    """
    rows = [as_labels(values) for values in (y, sample_weight) if values is not None]
    found = predicted.map_blocks(
        moments, *rows, dtype=float, new_axis=1, chunks=((1,) * predicted.numblocks[0], (4,)),
        meta=np.empty((0, 0)),
    ).compute()  # fmt: skip
    whole, mean, squares, left = found[0]
    for weight, its_mean, its_squares, its_left in found[1:]:
        if weight > 0.0:  # Chan's update of a mean and of the squares about it
            both, apart = whole + weight, its_mean - mean
            squares += its_squares + apart**2 * whole * weight / both
            mean += apart * weight / both
            whole, left = both, left + its_left
    if moments is right_of:
        return float(mean)
    return float(1.0 - left / squares) if squares > 0.0 else float(left == 0.0)


def as_labels(values: Any) -> Any:
    """A vector of dask as an array."""
    if not is_dask(values):
        raise TypeError(
            f"X is of dask, and there is a {type(values).__name__} beside it: give y and "
            "sample_weight as dask arrays or data frames' columns, too."
        )
    return as_vector(values)


def right_of(predicted: Any, y: Any, weights: Any = None) -> Array:
    """What some rows weigh, and the share of them that is right."""
    right = np.asarray(predicted) == np.asarray(y)
    w = np.ones(len(right)) if weights is None else np.asarray(weights, dtype=np.float64)
    whole = w.sum()
    return np.array([[whole, (w @ right) / whole if whole > 0.0 else 0.0, 0.0, 0.0]])


def squares_of(predicted: Any, y: Any, weights: Any = None) -> Array:
    """What some rows weigh, the mean of y, the squares about it, and those of what is left."""
    y, predicted = np.asarray(y, dtype=np.float64), np.asarray(predicted)
    w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
    whole = w.sum()
    mean = (w @ y) / whole if whole > 0.0 else 0.0
    return np.array([[whole, mean, w @ (y - mean) ** 2, w @ (y - predicted) ** 2]])
