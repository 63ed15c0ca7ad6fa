"""Small data for the estimators' tests."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

LAYOUTS = ("dense", "fortran", "csr", "csc")


@cache
def regression(n: int = 80, d: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, y, weights: well conditioned, with an intercept and noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.3
    y = X @ rng.normal(size=d) + rng.normal(size=n) + 2.0
    return X, y, rng.uniform(0.2, 3.0, n)


@cache
def labels(classes: int, n: int = 80) -> np.ndarray:
    """Noisy labels, as strings, for the rows of `regression`."""
    noisy = regression(n)[1] + np.random.default_rng(1).normal(size=n)
    cuts = np.quantile(noisy, np.linspace(0, 1, classes + 1)[1:-1])
    return np.array(["ant", "bee", "cat", "dog"])[np.digitize(noisy, cuts)]


def laid_out(X: np.ndarray, layout: str, dtype: Any = np.float64) -> Any:
    """X in a layout and dtype."""
    X = X.astype(dtype)
    made = {
        "dense": np.ascontiguousarray,
        "fortran": np.asfortranarray,
        "csr": sp.csr_matrix,
        "csc": sp.csc_matrix,
    }
    return made[layout](X)
