"""scikit-learn's checks on data, after a look at what they take on trust."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import column_or_1d, validate_data

from dualgap.designs import BlockDesign, Design, Observations, check_structure
from dualgap.designs.collections import is_dask
from dualgap.designs.taking import at_rest, brought

FLOATS = [np.float64, np.float32]
"""What data are kept as."""


def validated(owner: Any, X: Any, *targets: Any, **options: Any) -> Any:
    """What scikit-learn's ``validate_data`` gives, for sparse X whose places are in its shape.

    A design stays what it is, so that data on disk stay there: ``fit(*dualgap.open(folder))``.
    Their conversion, and the products of ``predict``, read foreign memory where they are not.
    """
    if is_dask(X):
        design = at_rest(X)
        if design is not None:
            with design.in_use():
                raise TypeError(
                    f"{type(owner).__name__} needs the rows of X in memory, and these stay on the "
                    "cluster. LogisticRegression, Ridge, Lasso and ElasticNet, dualgap.solve and "
                    "dualgap.path take them as they are; dask.config.set({'dualgap.gather': True}) "
                    "gathers what fits into memory."
                )
        X, *targets = brought(X, *targets)  # type: ignore[assignment]
    if isinstance(X, Design | Observations):
        return _design(owner, X, targets, **options)
    if sp.issparse(X):
        check_structure("X", X)
    elif options.get("reset", True) and len(targets) == 1 and _is_plain(X, targets[0], options):
        owner.__dict__.pop("feature_names_in_", None)
        owner.n_features_in_ = X.shape[1]
        return X, targets[0]
    return validate_data(owner, X, *targets, **options)


def _is_plain(X: Any, y: Any, options: dict[str, Any]) -> bool:
    """Whether `validate_data` would give these very arrays back, which takes it much longer to see.

    So it does of finite floats; y may be labels as well, or have columns for several targets.
    """
    if type(X) is not np.ndarray or type(y) is not np.ndarray or X.dtype not in FLOATS:
        return False
    columns = y.ndim == 1 or (y.ndim == 2 and y.size > 0 and options.get("multi_output", False))
    if X.ndim != 2 or X.size == 0 or not columns or len(y) != len(X):
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = y.dtype.kind in "biu" or (y.dtype in FLOATS and np.isfinite(y.sum()))
        return bool(numbers and np.isfinite(X.sum()))


def _design(owner: Any, X: Any, targets: Any, *, reset: bool = True, **options: Any) -> Any:
    """A design, and the targets as arrays; the estimator learns the number of features of it."""
    if isinstance(X, Observations):
        if X.offset is not None or (reset and X.weights is not None):
            raise ValueError(
                "these data have weights or offsets, which fit takes by themselves: say "
                "fit(data.design, data.b, sample_weight=data.weights); no estimator has offsets."
            )
        X, targets = X.design, tuple(X.b if y is None else y for y in targets)
    if reset and (owner.needs_blocks or owner.early_stopping) and not isinstance(X, BlockDesign):
        name = type(owner).__name__ + "(early_stopping=True)" * bool(not owner.needs_blocks)
        raise TypeError(
            f"{name} takes parts of X, which {X.title} does not give. Give an array, a sparse "
            "matrix, a folder as dualgap.open opens it, or a BlockDesign."
        )
    n, d = X.shape
    if reset:
        owner.__dict__.pop("feature_names_in_", None)
        owner.n_features_in_ = d
    elif d != owner.n_features_in_:
        raise ValueError(
            f"X has {d} features, but {type(owner).__name__} is expecting {owner.n_features_in_} "
            "features as input."
        )
    given = [column_or_1d(np.asarray(y)) for y in targets]
    for y in given:
        if len(y) != n:
            raise ValueError(f"X has {n} rows, and there are {len(y)} targets.")
    return (X, *given) if given else X


def some_rows(X: Any, at: Any) -> Any:
    """Rows of X by their numbers, which ascend where X is a design."""
    return X.some_rows(at) if isinstance(X, BlockDesign) else X[at]


def product(X: Any, x: Any) -> Any:
    """X x, of data in memory or on disk."""
    return X.matvec(x) if isinstance(X, Design) else X @ x
