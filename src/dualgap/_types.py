"""Names of the array types that the package passes around."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""A float64 array: iterates, dual points, targets, weights."""

Mask = NDArray[np.bool_]
"""A bool array: a set of rows or columns."""

Places = NDArray[np.intp]
"""Positions of rows or columns."""

Data = Any
"""Whatever a user may hand over as a data matrix: array, sparse matrix, data frame."""
