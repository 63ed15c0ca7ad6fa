"""One small problem that the tests of this folder share, and the numpy formulas to hold it to."""

from __future__ import annotations

import numpy as np

ALGORITHMS = ("bpd", "opt-bpd", "ada-bpd", "df-bpd", "adf-bpd", "agd")
ADAPTIVE = ("ada-bpd", "adf-bpd")
LOSSES = ("squared", "huber", "logistic", "smoothed_hinge", "squared_hinge", "strong_logistic")


def regression(n: int = 40, d: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian data and a noisy linear target."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d))
    return A, A @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n)


def labels(b: np.ndarray) -> np.ndarray:
    """Labels -1/+1 that no hyperplane separates."""
    signs = np.where(b >= 0, 1.0, -1.0)
    signs[::7] *= -1.0
    return signs


def targets(loss: str, b: np.ndarray) -> np.ndarray:
    """What a loss takes: b itself, or labels made of it."""
    return b if loss in ("squared", "huber") else labels(b)


def ridge(A: np.ndarray, b: np.ndarray, l2: float, weights: np.ndarray | None = None) -> np.ndarray:
    """The minimiser of (1/W) sum w_i (a_i'x - b_i)^2/2 + (l2/2)|x|^2, from the normal equations."""
    q = np.full(len(b), 1.0) if weights is None else weights
    q = q / q.sum()
    return np.linalg.solve(A.T @ (q[:, None] * A) + l2 * np.eye(A.shape[1]), A.T @ (q * b))


def ridge_value(
    A: np.ndarray, b: np.ndarray, x: np.ndarray, l2: float, weights: np.ndarray | None = None
) -> float:
    """The objective at x."""
    r = A @ x - b
    return float(np.average(r * r, weights=weights) / 2 + l2 / 2 * (x @ x))
