"""What a loss is: scalar formulas of one prediction z and its target b.

A loss knows nothing of weights or 1/n. All methods are elementwise over arrays; only those of a
loss of several predictions a row (``is_vector``) know rows: the last axis of z is the classes.
phi is convex and >= 0, 1/gamma-smooth (gamma may be None) and delta-strongly convex (delta may be
0).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np

from dualgap import _validation as check
from dualgap._arrays import is_one_piece, pieces, total
from dualgap._types import Array

NEEDED_BY = {
    "gamma": "every method needs it: the smoothness constant, or None where there is none",
    "value": "every method needs phi(z)",
    "grad": "every method needs phi'(z)",
    "hess": "'newton', 'working-set', 'prox-newton' and the certificate need phi''(z)",
    "conj": "the certificate needs phi*(y)",
    "conj_grad": "the certificate and starts from a y0 need the v with phi'(v) = y",
}
"""What a loss must define, and who needs it."""
NEEDED_SOMETIMES = {
    "hess_bound": "the certificate needs the largest phi'' from low to high",
    "gap_above": "a certificate that is a theorem needs upper bounds of phi(z) + phi*(y) - y z",
    "value_below": "a certificate that is a theorem needs lower bounds of phi(z)",
}
"""The same for what only some losses, or some certificates, need."""
ARGUMENTS = {
    "gamma": "",
    "value": "(z, b)",
    "grad": "(z, b)",
    "hess": "(z, b)",
    "conj": "(y, b)",
    "conj_grad": "(y, b)",
    "hess_bound": "(low, high, b)",
    "gap_above": "(z_lo, z_hi, y, b)",
    "value_below": "(z_lo, z_hi, b)",
}
"""The arguments of each of these, for the sentence that says what is lacking."""


@dataclass(frozen=True)
class Loss:
    """One loss phi(z; b), its conjugate phi*(y; b), and the constants of the theorems.

    To add a loss, derive a frozen dataclass from this one; its options are the fields, any number
    of them. Pass a value of it as ``loss=``, after `dualgap.check_loss` has found no law broken.
    z, y and b are arrays of one shape, and every formula is elementwise.

    Required: ``gamma`` (phi is 1/gamma-smooth; None where no such number exists), ``value``,
    ``grad``, ``hess``, ``conj``, ``conj_grad``; and ``domain`` if phi* is not finite everywhere.
    Where gamma is None also ``hess_bound``, unless the loss is self-concordant.

    Optional: ``delta`` (0), ``targets`` (finite real numbers), ``null_point`` (searched for),
    ``prox_conj`` (without it algorithms that need the dual prox refuse the loss), ``margins``
    (without it nobody claims that no minimiser exists), ``fenchel_gap`` (a difference of the
    terms), ``gap_above`` and ``value_below`` (without them no certificate is a theorem), ``start``
    (0), ``name`` (that of the class), and the flags below. Only losses of this
    package have a compiled form (``code``, ``parameter``); without one the randomised algorithms
    refuse the loss.

    phi is never negative: add a constant where it would be. The certificate allows for roundings
    of the size of `terms`; where the formulas are better than that, say so by ``is_accurate``, and
    `dualgap.check_loss` will see whether it is true.

    Examples
    --------
    The squared loss of a relative error, with a scale of its own:

    >>> from dataclasses import dataclass
    >>> from typing import ClassVar
    >>> import dualgap
    >>> @dataclass(frozen=True)
    ... class Scaled(dualgap.losses.Loss):
    ...     scale: float = 2.0
    ...
    ...     @property
    ...     def gamma(self):
    ...         return self.scale**2
    ...
    ...     def value(self, z, b):
    ...         return 0.5 * ((z - b) / self.scale) ** 2
    ...
    ...     def grad(self, z, b):
    ...         return (z - b) / self.scale**2
    ...
    ...     def hess(self, z, b):
    ...         return 0.0 * z + 1.0 / self.scale**2
    ...
    ...     def conj(self, y, b):
    ...         return y * (b + 0.5 * self.scale**2 * y)
    ...
    ...     def conj_grad(self, y, b):
    ...         return b + self.scale**2 * y
    >>> dualgap.check_loss(Scaled())
    >>> result = dualgap.solve([[1.0], [2.0]], [1.0, 3.0], loss=Scaled(), l2=0.1)
    >>> result.status.name, result.certificate.kind
    ('ESTIMATED', 'float')
    """

    name: ClassVar[str]
    code: ClassVar[int] = -1
    """What compiled kernels know it by (`losses.compiled`); -1: they do not."""
    has_dual_prox: ClassVar[bool] = False
    """Whether there is a `prox_conj`; set where a class defines one."""
    prox_is_iterative: ClassVar[bool] = False
    """The dual prox is found by iteration, not by a formula (and there is a `prox_point`)."""
    is_quadratic: ClassVar[bool] = False
    """phi is (z - b)^2/2, so that the Hessian of the data term never changes."""
    is_self_concordant: ClassVar[bool] = False
    """|phi'''| <= phi'', which the bound without regulariser rests on."""
    has_quadratic_conj: ClassVar[bool] = False
    """phi*'' is gamma everywhere inside the domain of phi*."""
    is_accurate: ClassVar[bool] = False
    """value and conj are right to a few roundings of their result, of y z, or of z; if not, of
    `terms`."""
    has_exact_gap: ClassVar[bool] = False
    """`fenchel_gap` is a product of differences, and takes none of numbers larger than itself."""
    is_vector: ClassVar[bool] = False
    """A row has `outputs` predictions: z, y and gradients have shape (n, K), values (n,)."""
    has_enclosures: ClassVar[bool] = False
    """Whether there are `gap_above` and `value_below`; set where a class defines both."""
    infimum_is_zero: ClassVar[bool] = True
    """inf phi = 0, so that phi(z) is the gap at y = 0. False, unless it says otherwise, in a class
    that defines `value_above`: that never makes a claim false, it only costs time."""
    value_at_zero: ClassVar[float | None] = None
    """phi(0) where that is the same for every target; None otherwise."""

    def __init_subclass__(cls, **options: Any) -> None:
        """A name, if there is none, and whether there are a dual prox and enclosures."""
        super().__init_subclass__(**options)
        if "name" not in cls.__dict__:
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
        if "prox_conj" in cls.__dict__ and "has_dual_prox" not in cls.__dict__:
            cls.has_dual_prox = True
        if "has_enclosures" not in cls.__dict__:
            if {"gap_above", "value_below"} <= {*cls.__dict__}:
                cls.has_enclosures = True
            elif {"value", "conj", "domain"} & {*cls.__dict__}:
                cls.has_enclosures = False  # those of the base are about another function
        cls._drop_inherited_bounds()

    @classmethod
    def _drop_inherited_bounds(cls) -> None:
        """What follows from the bounds that a class defines is not inherited from its base.

        `value_above` and `row_bounds` of the base may be formulas of another function.
        """
        own = {"gap_above", "value_above", "value_below"} & {*cls.__dict__}
        if "infimum_is_zero" not in cls.__dict__ and "value_above" in own:
            cls.infimum_is_zero = False
        stale = {"value_above"} if cls.infimum_is_zero and "gap_above" in own else set()
        if own:
            stale.add("row_bounds")
        for name in stale - {*cls.__dict__}:
            if getattr(cls, name) is not getattr(Loss, name):
                setattr(cls, name, getattr(Loss, name))

    @property
    def parameter(self) -> float:
        """The option that compiled kernels need, if there is one."""
        return 0.0

    # ---- required ----

    @property
    def gamma(self) -> float | None:
        """phi is 1/gamma-smooth; None: phi'' has no bound."""
        self._lacks("gamma")

    def value(self, z: Array, b: Array) -> Array:
        """phi(z)."""
        self._lacks("value")

    def grad(self, z: Array, b: Array) -> Array:
        """phi'(z)."""
        self._lacks("grad")

    def hess(self, z: Array, b: Array) -> Array:
        """phi''(z) (the larger of the two derivatives of phi' where it has a kink)."""
        self._lacks("hess")

    def conj(self, y: Array, b: Array) -> Array:
        """phi*(y), for y in the domain."""
        self._lacks("conj")

    def conj_grad(self, y: Array, b: Array) -> Array:
        """A v with phi'(v) = y, for y in the domain (clipped to finite values at its ends)."""
        self._lacks("conj_grad")

    def domain(self, b: Array) -> tuple[Array, Array]:
        """The ends (low, high) of the domain of phi*; they contain 0 and every phi'(z)."""
        everywhere = np.full(b.shape, np.inf)
        return -everywhere, everywhere

    def hess_bound(self, low: Array, high: Array, b: Array) -> Array:
        """At least phi''(z) for every z from low to high; 1/gamma where there is a gamma.

        By default for a self-concordant loss, whose phi'' grows at most e-fold for 1 of z.
        """
        if self.gamma is not None:
            return np.full_like(high, 1.0 / self.gamma)
        if self.is_self_concordant:
            half = 0.5 * (high - low)
            return np.asarray(self.hess(low + half, b) * np.exp(half))
        self._lacks("hess_bound")

    # ---- optional ----

    @property
    def delta(self) -> float:
        """phi is delta-strongly convex."""
        return 0.0

    def targets(self, b: Any, n: int) -> Array:
        """Check the targets and bring them to the form that the formulas use: finite, real."""
        return check.vector("b", b, n, what="row of A")

    def null_point(self, b: Array, q: Array, offset: Array) -> float | None:
        """The c that minimises sum_i q_i phi(c + offset_i; b_i), if there is a formula."""
        return None

    def mean(self, z: Array) -> Array:
        """The target that a prediction z stands for: z itself, unless there is a link."""
        return z

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

    def margins(self, z: Array, b: Array) -> Array | None:
        """What a loss that never reaches its infimum wants large; None for the other losses.

        phi falls for ever along a ray whose margins are >= 0 and not all 0.
        """
        return None

    def start(self, b: Array) -> Array:
        """The v that an algorithm starts from: y = phi'(v) (the paper's choices, Sec. 4.2)."""
        return np.zeros_like(b)

    def fenchel_gap(self, z: Array, y: Array, b: Array) -> Array:
        """phi(z) + phi*(y) - y z >= 0, evaluated without cancellation where that can be done."""
        return np.maximum(self.value(z, b) + self.conj(y, b) - y * z, 0.0)

    def rounded(self, z: Array, b: Array) -> Array | float:
        """The size of the number that formulas make of z first: its rounding is like one of z."""
        return 1.0 + np.abs(z)

    def terms(self, z: Array, y: Array, b: Array) -> Array:
        """At least the sizes of the numbers that are added up in value, conj and y z.

        A certificate counts their roundings, unless the loss `is_accurate`. By default 1, phi, phi*
        and y z, the same with b for z, and, as in e^z - b z, terms of the size of b z where slopes
        have no bound, or of z where they have one.
        """
        slopes = np.abs(self.grad(z, b)) + np.abs(y)
        low, high = self.domain(b)
        width = np.where(np.isfinite(low) & np.isfinite(high), high - low, slopes)
        sizes = 1.0 + np.abs(self.value(z, b)) + np.abs(self.conj(y, b))
        sizes += (slopes + width) * (np.abs(z) + np.abs(b))
        if self.gamma is None:
            least = np.abs(self.conj_grad(np.zeros_like(z), b))
            sizes += np.abs(b) * (1.0 + np.abs(z) + np.minimum(least, 100.0)) + self.hess(z, b)
        return np.asarray(sizes)

    def outputs(self, b: Array) -> int | None:
        """Predictions per row, K; None for a loss of one."""
        return None

    # ---- enclosures: numbers that hold with all roundings counted ----

    def gap_above(self, z_lo: Array, z_hi: Array, y: Array, b: Array) -> Array:
        """At least h(z) = phi(z) + phi*(y) - y z for every *real* z from z_lo to z_hi, row by row.

        Every rounding is counted, by `dualgap.enclosures.up` and its kin; y is in the domain and
        stands for itself. h is convex in z, so that the larger one of its values at the ends will
        do. The ends may be infinite or huge: the result may be inf, but neither nan nor too small.
        """
        self._lacks("gap_above")

    def value_below(self, z_lo: Array, z_hi: Array, b: Array) -> Array:
        """At most phi(z) for every real z from z_lo to z_hi, row by row, and >= 0."""
        self._lacks("value_below")

    def value_above(self, z_lo: Array, z_hi: Array, b: Array) -> Array:
        """At least phi(z) for every real z from z_lo to z_hi: the gap at y = 0.

        That is phi(z) - inf phi. Override it where inf phi, which is -phi*(0), is not 0. Where inf
        phi is 0 and a formula is cheaper, override it and set ``infimum_is_zero`` to True.
        """
        return self.gap_above(z_lo, z_hi, np.zeros_like(z_lo), b)

    def row_bounds(
        self, z_lo: Array, z_hi: Array, y: Array, b: Array
    ) -> tuple[Array, Array, Array]:
        """`gap_above`, `value_above` and `value_below` of the same rows.

        Override it where the three share work. A class that defines one of the three anew does not
        inherit it from another loss.

        Parameters
        ----------
        z_lo, z_hi : array
            The ends of z, which may be infinite.
        y : array
            Points of the domain of phi*.
        b : array
            Targets.

        Returns
        -------
        gap, above, below : array
            At least phi(z) + phi*(y) - y z, at least phi(z), and at most phi(z), for every real z
            from z_lo to z_hi.
        """
        return (
            self.gap_above(z_lo, z_hi, y, b),
            self.value_above(z_lo, z_hi, b),
            self.value_below(z_lo, z_hi, b),
        )

    # ---- what follows from the formulas; overridden where sharing work pays ----

    @property
    def known_gamma(self) -> float:
        """gamma, for those who have asked whether there is one (`algorithms.needs`)."""
        gamma = self.gamma
        if gamma is None:  # pragma: no cover - whoever needs it has asked
            raise TypeError(f"the loss {self.name!r} has no smoothness constant: gamma is None")
        return gamma

    def hess_beside(self, z: Array, b: Array, grad: Array) -> Array:
        """phi''(z) where phi'(z) is known already."""
        return self.hess(z, b)

    def secant(self, z: Array, b: Array, grad: Array) -> Array | float:
        """The phi'' that careful steps count on: 1/gamma, or that of the way to the minimum.

        Without gamma it is |phi'(z)|/|z - v| with phi'(v) = 0, or phi''(z) where that is more: the
        quadratic that touches phi at z then has its minimum no further away than phi has.
        """
        if self.gamma is not None:
            return 1.0 / self.gamma
        here = self.hess_beside(z, b, grad)
        way = np.abs(z - self.conj_grad(np.zeros_like(z), b))
        slope = np.divide(np.abs(grad), way, out=np.zeros_like(here), where=way > 0.0)
        return np.maximum(here, slope)

    def into_domain(self, y: Array, b: Array) -> Array:
        """The y moved into the domain of phi*, row by row; y itself if all are inside."""
        moved = y
        for at in pieces(len(y)):
            low, high = self.domain(b[at])
            some = y[at]
            if not ((some >= low) & (some <= high)).all():
                moved = y.copy() if moved is y else moved
                np.clip(some, low, high, out=moved[at])
        return moved

    @property
    def knows_bend(self) -> bool:
        """Whether `bend` knows phi*''."""
        return self.delta > 0.0 or self.has_quadratic_conj or self.is_self_concordant

    def bend(self, y: Array, b: Array, D: Array, move: Array, room: Array) -> float | None:
        """At least D_i phi*''(y'_i) for all y' within ``move`` of y; None if that is not known.

        None also where y' leaves the domain, whose ends are ``room`` away. If |phi'''| <= phi'',
        then 1/phi*'' changes by no more than y does: it keeps half of what it has where that is
        twice the move.
        """
        if self.delta > 0.0:
            return float(D.max(initial=0.0)) / self.delta
        if self.has_quadratic_conj:
            if (move > room).any():
                return None
            return float(D.max(initial=0.0)) * self.known_gamma
        if not self.is_self_concordant:
            return None
        K = self.hess(self.conj_grad(y, b), b) * (1.0 - 1e-12)
        if (2.0 * move > np.minimum(K, 2.0 * room)).any():
            return None
        return 2.0 * float(np.divide(D, K, out=np.zeros_like(D), where=D > 0.0).max(initial=0.0))

    def value_grad(self, z: Array, b: Array) -> tuple[Array, Array]:
        """phi(z) and phi'(z) together, where sharing work pays."""
        return self.value(z, b), self.grad(z, b)

    def total(self, z: Array, b: Array, grad: Array | None = None) -> float:
        """sum_i phi(z_i), which may cost less than its terms; ``grad`` is phi'(z) if known."""
        return total(self.value(z, b))

    def total_grad(self, z: Array, b: Array) -> tuple[float, Array]:
        """sum_i phi(z_i), and phi'(z)."""
        if is_one_piece(len(z)):
            value, grad = self.value_grad(z, b)
            return total(value), grad
        slopes, sums = np.empty(z.shape), []
        for at in pieces(len(z)):
            value, slopes[at] = self.value_grad(z[at], b[at])
            sums.append(total(value))
        return total(np.array(sums)), slopes

    def _lacks(self, method: str) -> NoReturn:
        raise TypeError(lacking(type(self), [method]))


def lacking(cls: type[Loss], names: list[str]) -> str:
    """The sentence on what a class does not define, and who needs it."""
    needs = {**NEEDED_BY, **NEEDED_SOMETIMES}
    parts = [f"{name}{ARGUMENTS[name]} ({needs[name]})" for name in names]
    return (
        f"{cls.__name__} does not define {', '.join(parts)}. Define "
        f"{'it' if len(names) == 1 else 'them'} in the class; `dualgap.losses.Loss` says what each "
        "is."
    )


def no_loss(given: Any) -> str:
    """The sentence on what was given in the place of a loss."""
    what = f"loss must be a name or a dualgap loss, got {given!r}"
    if isinstance(given, type) and issubclass(given, Loss):
        return f"{what}, which is a class; give a value, {given.__name__}(...)."
    absent = [name for name in NEEDED_BY if not hasattr(given, name)]
    parts = [f"{name}{ARGUMENTS[name]} ({NEEDED_BY[name]})" for name in absent]
    lacks = f" It lacks {', '.join(parts)}." if parts and len(parts) < len(NEEDED_BY) else ""
    return f"{what}. Your own is a value of a class that derives from dualgap.losses.Loss.{lacks}"


def check_contract(loss: Loss) -> None:
    """Refuse a loss whose class lacks what somebody needs."""
    cls = type(loss)
    absent = [name for name in NEEDED_BY if getattr(cls, name) is getattr(Loss, name)]
    if not absent and loss.gamma is None and not loss.is_self_concordant:
        absent = ["hess_bound"] if cls.hess_bound is Loss.hess_bound else []
    if absent:
        raise TypeError(lacking(cls, absent))


class RegressionLoss(Loss):
    """A loss of the residual z - b."""

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
        seen = check.distinct(labels)
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
