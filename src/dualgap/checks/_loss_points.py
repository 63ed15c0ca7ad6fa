"""Where a loss is tried: predictions, targets and dual points, and what it says of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dualgap._types import Array, Mask
from dualgap.checks._loss_targets import targets_for
from dualgap.checks.errors import LawError
from dualgap.losses.contract import Loss

SOME = np.concatenate([np.linspace(-8.0, 8.0, 65), [-40.0, -20.3, 20.3, 40.0]])
"""Predictions that are tried, whatever the target."""
NEAR = np.array([-3.1, -1.0, -0.2, -1e-3, 0.0, 1e-3, 0.2, 1.0, 3.1])
"""Predictions that are tried, counted from where the loss of a row is least."""
SHARES = (0.0, 0.3, 0.7, 1.0)
"""Dual points that are tried, as shares of phi'(z)."""


class LossPoints:
    """Predictions z with targets b, and value, grad and hess of a loss there.

    Parameters
    ----------
    loss : Loss
    targets : array, optional
        Targets that the loss takes.
    """

    def __init__(self, loss: Loss, targets: Any) -> None:
        self.loss = loss
        b = targets_for(loss, targets)
        middle = loss.conj_grad(np.zeros_like(b), b)
        rows = [np.concatenate((SOME, m + NEAR if abs(m) < 100.0 else NEAR)) for m in middle]
        z = np.concatenate(rows)
        b = np.repeat(b, [row.size for row in rows])
        finite = np.isfinite(loss.value(z, b)) & np.isfinite(loss.grad(z, b))
        self.z, self.b = z[finite], b[finite]
        if not self.z.size:
            raise LawError(f"{loss!r}: value and grad are finite at no z between -40 and 40.")
        self.value = np.asarray(loss.value(self.z, self.b))
        self.grad = np.asarray(loss.grad(self.z, self.b))
        self.hess = np.asarray(loss.hess(self.z, self.b))
        # What may be rounded on the way to phi(z): terms like b z, which cancel.
        self.size = 1.0 + np.abs(self.value) + np.abs(self.grad * self.z)
        self.size += np.abs(self.b) * (1.0 + np.abs(self.z) + np.abs(np.log(np.abs(self.b) + 1.0)))

    def fail(
        self, broken: Mask, law: str, numbers: Callable[[int], str], b: Array | None = None
    ) -> None:
        """Raise a LawError with the numbers of the first row in which the law is broken."""
        if broken.any():
            i = int(np.flatnonzero(broken)[0])
            target = (self.b if b is None else b)[i]
            raise LawError(f"{self.loss!r} breaks a law: {law}. With b = {target:g}: {numbers(i)}.")

    def dual_points(self) -> tuple[Array, Array]:
        """Dual points inside the domain, and their targets."""
        y = np.concatenate([share * self.grad for share in SHARES])
        b = np.tile(self.b, len(SHARES))
        return np.clip(y, *self.loss.domain(b)), b
