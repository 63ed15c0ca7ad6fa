"""scikit-learn's checks on data, after a look at what they take on trust."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from dualgap.designs import check_structure

FLOATS = [np.float64, np.float32]
"""What data are kept as."""


def validated(owner: Any, X: Any, *targets: Any, **options: Any) -> Any:
    """What scikit-learn's ``validate_data`` gives, for sparse X whose places are in its shape.

    Their conversion, and the products of ``predict``, read foreign memory where they are not.
    """
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
