"""Targets for a loss that is to be checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap._types import Array
from dualgap.losses.contract import Loss

KINDS = (
    np.array([-2.5, -0.3, 0.0, 1.7, 30.0]),
    np.array([0.0, 0.4, 1.0, 3.0, 40.0]),
    np.array([0.05, 0.4, 1.0, 3.0, 40.0]),
    np.array([-1.0, 1.0]),
)
"""Targets to try: any numbers, counts, positive numbers, labels."""


def targets_for(loss: Loss, targets: Any) -> Array:
    """Targets that the loss takes, in its own form."""
    if targets is not None:
        return np.unique(loss.targets(targets, np.size(targets)))
    refused = None
    for kind in KINDS:
        try:
            return np.unique(loss.targets(kind, kind.size))
        except ValueError as error:
            refused = error
    raise ValueError(
        f"check_loss knows no targets that {loss!r} takes; give some, targets=... ({refused})"
    )
