"""What a loss is: scalar formulas of one prediction z and its target b.

A loss knows nothing of rows, weights or 1/n. All methods are elementwise over arrays.
phi is convex and >= 0, 1/gamma-smooth and delta-strongly convex (delta may be 0).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dualgap import _validation as check
from dualgap._arrays import total
from dualgap._types import Array


@dataclass(frozen=True)
class Loss(ABC):
    """One loss phi(z; b), its conjugate phi*, and the constants of the theorems."""

    name: ClassVar[str]
    code: ClassVar[int] = -1
    """What compiled kernels know it by (`kernels.scalar`); -1: they do not."""
    has_dual_prox: ClassVar[bool] = True
    prox_is_iterative: ClassVar[bool] = False
    """The dual prox is found by iteration, not by a formula."""
    is_quadratic: ClassVar[bool] = False
    """phi'' is constant, so that the Hessian of the data term never changes."""
    is_self_concordant: ClassVar[bool] = False
    """|phi'''| <= phi'', which the bound without regulariser rests on."""
    has_exact_gap: ClassVar[bool] = False
    """`fenchel_gap` is a product of differences, and takes none of numbers larger than itself."""
    is_vector: ClassVar[bool] = False
    """A row has `outputs` predictions: z, y and gradients have shape (n, K), values (n,)."""

    @property
    def parameter(self) -> float:
        """The option that compiled kernels need, if there is one."""
        return 0.0

    @property
    @abstractmethod
    def gamma(self) -> float:
        """phi is 1/gamma-smooth."""

    @property
    @abstractmethod
    def delta(self) -> float:
        """phi is delta-strongly convex."""

    @abstractmethod
    def targets(self, b: Any, n: int) -> Array:
        """Check the targets and bring them to the form that the formulas use."""

    @abstractmethod
    def value(self, z: Array, b: Array) -> Array:
        """phi(z)."""

    @abstractmethod
    def grad(self, z: Array, b: Array) -> Array:
        """phi'(z)."""

    @abstractmethod
    def hess(self, z: Array, b: Array) -> Array:
        """phi''(z) (the larger of the two derivatives of phi' where it has a kink)."""

    def hess_beside(self, z: Array, b: Array, grad: Array) -> Array:
        """phi''(z) where phi'(z) is known already."""
        return self.hess(z, b)

    @abstractmethod
    def conj(self, y: Array, b: Array) -> Array:
        """phi*(y), for y in the domain."""

    @abstractmethod
    def conj_grad(self, y: Array, b: Array) -> Array:
        """A v with phi'(v) = y, for y in the domain (clipped to finite values at its ends)."""

    def prox_conj(self, v: Array, s: float, b: Array) -> Array:
        """prox_{s phi*}(v): the y = phi'(z) with s z + phi'(z) = v."""
        raise TypeError(  # pragma: no cover - algorithms ask `has_dual_prox` first
            f"the loss {self.name!r} has no dual prox"
        )

    def prox_point(self, v: Array, s: float, b: Array, guess: Array) -> tuple[Array, Array]:
        """The z and the y = phi'(z) of `prox_conj`, where z is found by iteration from a guess.

        With z at hand phi*(y) = y z - phi(z) costs no more than phi.
        """
        raise NotImplementedError  # pragma: no cover - only where `prox_is_iterative`

    def domain(self, b: Array) -> tuple[Array, Array]:
        """The ends (low, high) of the domain of phi*; they contain 0 and every phi'(z)."""
        everywhere = np.full(b.shape, np.inf)
        return -everywhere, everywhere

    def outputs(self, b: Array) -> int | None:
        """Predictions per row, K; None for a loss of one."""
        return None

    def into_domain(self, y: Array, b: Array) -> Array:
        """The y moved into the domain of phi*, row by row; what is inside stays as it is."""
        return np.clip(y, *self.domain(b))

    def margins(self, z: Array, b: Array) -> Array | None:
        """What a loss that never reaches its infimum wants large; None for the other losses.

        phi falls for ever along a ray whose margins are >= 0 and not all 0.
        """
        return None

    def value_grad(self, z: Array, b: Array) -> tuple[Array, Array]:
        """phi(z) and phi'(z) together, where sharing work pays."""
        return self.value(z, b), self.grad(z, b)

    def total(self, z: Array, b: Array, grad: Array | None = None) -> float:
        """sum_i phi(z_i), which may cost less than its terms; ``grad`` is phi'(z) if known."""
        return total(self.value(z, b))

    def total_grad(self, z: Array, b: Array) -> tuple[float, Array]:
        """sum_i phi(z_i), and phi'(z)."""
        value, grad = self.value_grad(z, b)
        return total(value), grad

    def fenchel_gap(self, z: Array, y: Array, b: Array) -> Array:
        """phi(z) + phi*(y) - y z >= 0, evaluated without cancellation where that can be done."""
        return np.maximum(self.value(z, b) + self.conj(y, b) - y * z, 0.0)

    def rounded(self, z: Array, b: Array) -> Array | float:
        """The size of the number that formulas make of z first: its rounding is like one of z."""
        return 1.0 + np.abs(z)

    @abstractmethod
    def start(self, b: Array) -> Array:
        """The v that an algorithm starts from: y = phi'(v) (the paper's choices, Sec. 4.2)."""


class RegressionLoss(Loss):
    """A loss of the residual z - b."""

    def targets(self, b: Any, n: int) -> Array:
        """Finite real targets."""
        return check.vector("b", b, n, what="row of A")

    def rounded(self, z: Array, b: Array) -> Array:
        """The residual."""
        return np.abs(z - b)

    def start(self, b: Array) -> Array:
        """v = b, that is y = 0."""
        return b


class MarginLoss(Loss):
    """A loss of the margin b z with labels b = -1 or +1; p = -b y."""

    def targets(self, b: Any, n: int) -> Array:
        """Labels -1/+1, or 0/1 which become -1/+1; bool counts as 0/1."""
        labels = check.vector("b", b, n, what="row of A")
        seen = np.unique(labels)
        if np.isin(seen, (-1.0, 1.0)).all():
            return labels
        if np.isin(seen, (0.0, 1.0)).all():
            return 2.0 * labels - 1.0
        shown = ", ".join(f"{v:g}" for v in seen[:5]) + (", ..." if seen.size > 5 else "")
        raise ValueError(
            f"b has {seen.size} distinct values ({shown}); loss={self.name!r} takes two labels, "
            "-1 and +1 (or 0 and 1). Map your classes to them."
        )

    def start(self, b: Array) -> Array:
        """v = 0."""
        return np.zeros_like(b)
