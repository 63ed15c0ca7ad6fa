"""Early stopping: hold rows back, watch the score on them, keep the best coefficients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dualgap._types import Array
from dualgap.estimators._data import some_rows
from dualgap.trace import Snapshot

Held = tuple[Any, Any, Array | None]
"""Rows of X and y, and their weights."""


def hold_back(
    X: Any, y: Any, weights: Array | None, *, fraction: float, seed: Any, stratify: Any
) -> tuple[Held, Held]:
    """Split into rows to fit and rows to score."""
    from sklearn.model_selection import train_test_split

    n = X.shape[0]
    fit, score = train_test_split(
        np.arange(n), test_size=fraction, random_state=seed, stratify=stratify
    )

    def part(at: Array) -> Held:
        return some_rows(X, at), y[at], None if weights is None else weights[at]

    return part(np.sort(fit)), part(np.sort(score))


@dataclass
class BestScore:
    """A callback that stops when the score has not improved for ``patience`` checks.

    Parameters
    ----------
    score : callable
        From (x, intercept) to a number, larger is better.
    patience : int
        Checks without improvement before the run is stopped.
    """

    score: Callable[[Array, Any], float]
    patience: int
    best: float = -np.inf
    scores: list[float] = field(default_factory=list)
    snapshot: Snapshot | None = None
    waited: int = 0

    def __call__(self, snapshot: Snapshot) -> bool:
        """Score a check; True to stop."""
        score = self.score(snapshot.x, snapshot.intercept)
        self.scores.append(score)
        if score > self.best:
            self.best, self.snapshot, self.waited = score, snapshot, 0
        else:
            self.waited += 1
        return self.waited >= self.patience
