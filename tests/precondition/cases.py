"""Data whose columns have nothing in common but their rows."""

from __future__ import annotations

import numpy as np


def badly_scaled(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Correlated columns in units from 1e-3 to 1e3, each with a mean of its own; a noisy target."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d)) + rng.standard_normal((n, 1)) + 1.0
    b = A @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n)
    return A * np.logspace(-3, 3, d), b


def labels(b: np.ndarray) -> np.ndarray:
    """Labels -1/+1 that no hyperplane separates."""
    signs = np.where(b > np.median(b), 1.0, -1.0)
    signs[::5] *= -1.0
    return signs
