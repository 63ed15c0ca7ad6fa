"""The paper's synthetic data: rows from a normal distribution with covariance 2^(-|i-j|/k).

(The paper prints a plus in the exponent, which is no covariance.) Such rows are an autoregressive
sequence with coefficient r = 2^(-1/k): a_1 = e_1, a_j = r a_{j-1} + sqrt(1 - r^2) e_j.
"""

from __future__ import annotations

import numpy as np
from scipy.signal import lfilter

from dualgap._types import Array


def synthetic1(n: int = 5000, d: int = 3000, seed: int = 0) -> tuple[Array, Array]:
    """Ridge regression of Figures 1 and 2: covariance 2^(-|i-j|/2), rows scaled to max norm 1.

    Returns
    -------
    A, b : array of shape (n, d), array of shape (n,)
        b = (A before scaling) x + noise, with x and the noise standard normal.
    """
    rng = np.random.default_rng(seed)
    A = _rows(rng, n, d, 2.0)
    b = A @ rng.standard_normal(d) + rng.standard_normal(n)
    return _scaled(A), np.asarray(b)


def synthetic2(n: int = 5000, d: int = 500, seed: int = 0) -> tuple[Array, Array]:
    """Logistic regression of Figure 3: covariance 2^(-|i-j|/100), rows scaled to max norm 1.

    Returns
    -------
    A, b : array of shape (n, d), array of shape (n,)
        b = sign((A before scaling) x + noise), with x and the noise standard normal.
    """
    rng = np.random.default_rng(seed)
    A = _rows(rng, n, d, 100.0)
    score = A @ rng.standard_normal(d) + rng.standard_normal(n)
    return _scaled(A), np.where(score >= 0, 1.0, -1.0)


def _rows(rng: np.random.Generator, n: int, d: int, halving: float) -> Array:
    r = 2.0 ** (-1.0 / halving)
    noise = rng.standard_normal((n, d))
    noise[:, 1:] *= np.sqrt(1.0 - r * r)
    return np.asarray(lfilter([1.0], [1.0, -r], noise, axis=1))


def _scaled(A: Array) -> Array:
    return np.ascontiguousarray(A / np.sqrt(np.einsum("ij,ij->i", A, A).max()))
