"""scikit-learn's checks on data, after a look at what they take on trust."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from dualgap.designs import check_structure


def validated(owner: Any, X: Any, *targets: Any, **options: Any) -> Any:
    """What scikit-learn's ``validate_data`` gives, for sparse X whose places are in its shape.

    Their conversion, and the products of ``predict``, read foreign memory where they are not.
    """
    if sp.issparse(X):
        check_structure("X", X)
    return validate_data(owner, X, *targets, **options)
