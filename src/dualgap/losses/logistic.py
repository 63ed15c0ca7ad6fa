"""Logistic loss, and the same plus a quadratic, which makes it strongly convex."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import entr, expit, logit, xlog1py

from dualgap import _validation as check
from dualgap._types import Array, Mask
from dualgap.compiled.clock import can_compile
from dualgap.enclosures.directed import down, up
from dualgap.enclosures.exponential import (
    LARGEST,
    exp_down,
    exp_tails,
    exp_up,
    expit_above,
    log1p_down,
    log1p_ends,
    log1p_up,
)
from dualgap.enclosures.pieces import difference
from dualgap.enclosures.relative_entropy import divergence_above
from dualgap.losses.contract import MarginLoss


def solve_margin(k: Array, s: float, guess: Array | None = None) -> Array:
    """Solve F(t) = s t + expit(t) - k = 0 for t, elementwise, s > 0.

    F increases; t solves it for k exactly if -t does for 1 - k, so take k >= 1/2, t >= 0. There F
    is concave: wherever Newton's method starts, its next iterate lies left of the root, and from
    then on it climbs to it. Steps below 1 are Halley's, which leave less than h^3/2.
    """
    middle = k - 0.5
    k = 0.5 + np.abs(middle)
    low = np.maximum((k - 1.0) / s, 0.0)
    t = _near_root(k, s) if guess is None else np.copysign(guess, guess * middle)
    t = np.clip(t, low, k / s)
    root, step = _newton(t, k, s, low)
    left = np.flatnonzero(_unfinished(step, t))
    far = np.abs(step[left]) > 1.0
    t, k, low = root[left], k[left], low[left]
    if guess is not None:  # it was no good there
        t[far] = np.clip(_near_root(k[far], s), low[far], k[far] / s)
    for _ in range(100):
        if left.size == 0:
            break
        new, step = _newton(t, k, s, low)
        root[left] = new
        going = _unfinished(step, t)
        t, k, low, left = new[going], k[going], low[going], left[going]
    return np.copysign(root, middle)


def _newton(t: Array, k: Array, s: float, low: Array) -> tuple[Array, Array]:
    """One guarded step on F, and the Newton step h in it."""
    e = expit(t)
    w = 1.0 - e
    w *= e  # expit'
    h = k - e
    h -= s * t
    slope = s + w
    h /= slope
    # Halley: h / (1 + h F''/(2 F')), F'' = w (1 - 2 e)
    e -= 0.5
    e *= w
    e /= slope
    e *= np.clip(h, -1.0, 1.0)
    np.subtract(1.0, e, out=e)
    new = t + h / e
    return np.maximum(new, low, out=new), h


def _unfinished(h: Array, t: Array) -> Mask:
    """Where a step h may leave more than rounding in expit(t), or rounding more than h in t."""
    return np.abs(h) > np.maximum(1e-5, 4e-16 * t)


def _near_root(k: Array, s: float) -> Array:
    """The root if 1 - expit(t) were exp(-t): t = W(exp(a)/s) - a, a = (1 - k)/s.

    Lambert's W by Winitzki's formula, right to a hundredth.
    """
    a = (1.0 - k) / s
    u = np.logaddexp(0.0, a - math.log(s))
    return np.asarray(u * (1.0 - np.log1p(u) / (2.0 + u)) - a)


FAR = 600.0
"""|z| from which e^-|z| nears the end of the floats."""


AT_ONCE = 2048
"""Rows whose some forty numbers stay in the cache of a core."""


def against(z_lo: Array, z_hi: Array, b: Array) -> tuple[Array, Array]:
    """The ends of t = -b z."""
    right = b > 0.0
    return np.where(right, -z_hi, z_lo), np.where(right, -z_lo, z_hi)


def softplus_tail(t: Array) -> Array:
    """At least log(1 + e^-|t|), as e^-|t| is not above 1 whatever its bound is."""
    return log1p_up(np.minimum(exp_up(-np.abs(t)), 1.0))


def _without_conjugate(t: Array, p: Array, rest: Array) -> Array:
    """At least log(1 + e^t) - p t, which is above the gap as phi* <= 0; rest is at least 1 - p."""
    share = np.where(t > 0.0, rest, p)
    line = np.where(share > 0.0, up(share * np.abs(t)), 0.0)
    return np.asarray(up(line + softplus_tail(t)))


def _complement(small: Array) -> tuple[Array, Array]:
    """The ends of 1 - small for 0 <= small <= 1/2: one float where it is one, or two neighbours."""
    rest = 1.0 - small
    left = (1.0 - rest) - small  # what the rounding left, exactly, as 1 is the larger number
    return np.where(left >= 0.0, rest, down(rest)), np.where(left <= 0.0, rest, up(rest))


def smaller_share(y: Array) -> tuple[Array, Mask]:
    """The smaller one of p and 1 - p for y = -b p, which is a float, and where it is 1 - p."""
    p = np.abs(y)
    large = p >= 0.5
    return np.where(large, 1.0 - p, p), large


def entropy_above(
    t_lo: Array,
    t_hi: Array,
    small: Array,
    large: Mask,
    tails: tuple[Array, Array] | None = None,
) -> Array:
    """At least D(p, s) + D(1 - p, 1 - s), s = expit(t), for all t from t_lo to t_hi.

    ``small`` is the smaller one of p and 1 - p, a float; ``large`` says where it is 1 - p.
    ``tails`` are `exp_tails` of t_hi and then of t_lo, where they are known.
    """
    n = small.size
    if n > AT_ONCE:
        parts = [slice(i, i + AT_ONCE) for i in range(0, n, AT_ONCE)]
        return np.concatenate([entropy_above(t_lo[i], t_hi[i], small[i], large[i]) for i in parts])
    with np.errstate(all="ignore"):
        # Both ends at once, and then both divergences: half of the calls, each twice as long.
        tops, bottoms = expit_above(np.concatenate((t_hi, -t_lo)), tails)
        s_hi, c_hi, c_lo, s_lo = tops[:n], tops[n:], bottoms[:n], bottoms[n:]
        rest_lo, rest_hi = _complement(small)
        p = np.where(large, rest_lo, small), np.where(large, rest_hi, small)
        q = np.where(large, small, rest_lo), np.where(large, small, rest_hi)
        d_hi = up(np.where(large, small - c_lo, s_hi - small))
        d_lo = down(np.where(large, small - c_hi, s_lo - small))
        both = divergence_above(
            (np.concatenate((p[0], q[0])), np.concatenate((p[1], q[1]))),
            (np.concatenate((s_lo, c_lo)), np.concatenate((s_hi, c_hi))),
            (np.concatenate((d_lo, -d_hi)), np.concatenate((d_hi, -d_lo))),
        )
        value = up(both[:n] + both[n:])
        far = (np.maximum(-t_lo, t_hi) > FAR) & (value > 0.0)
        if far.any():
            ends = [_without_conjugate(t[far], p[1][far], q[1][far]) for t in (t_lo, t_hi)]
            value[far] = np.minimum(value[far], np.maximum(*ends))
    return np.where(value >= 0.0, value, np.inf)


WORTH_A_KERNEL = 4096
"""Rows from which loading a compiled kernel pays."""


def _by_kernel(z_lo: Array, z_hi: Array, y: Array, b: Array) -> tuple[Array, Array, Array]:
    """The three bounds of `Loss.row_bounds`, for Logistic."""
    from dualgap.enclosures.compiled_logistic import row_bounds

    gap, above, below = np.empty((3, z_lo.size))
    row_bounds(z_lo, z_hi, y, b, gap, above, below)
    return gap, above, below


@dataclass(frozen=True)
class Logistic(MarginLoss):
    """phi = log(1 + exp(-b z)); phi*(y) = p log p + (1-p) log(1-p) on 0 <= p <= 1, p = -b y.

    gamma = 4, delta = 0 (on |z| <= B it is exp(-B)/4-strongly convex: what adaptation finds).
    """

    name: ClassVar[str] = "logistic"
    is_accurate: ClassVar[bool] = True
    value_at_zero: ClassVar[float | None] = math.log(2.0)
    code: ClassVar[int] = 1
    prox_is_iterative: ClassVar[bool] = True
    gamma: ClassVar[float] = 4.0
    delta: ClassVar[float] = 0.0
    is_self_concordant: ClassVar[bool] = True
    infimum_is_zero: ClassVar[bool] = True

    def value(self, z: Array, b: Array) -> Array:
        """log(1 + exp(-m)) = max(-m, 0) + log1p(exp(-|m|))."""
        m = b * z
        e = np.abs(m)
        np.negative(e, out=e)
        np.exp(e, out=e)
        value = np.log1p(e, out=e)
        value -= np.minimum(m, 0.0, out=m)
        return value

    def grad(self, z: Array, b: Array) -> Array:
        """-b expit(-m)."""
        return -b * expit(-b * z)

    def value_grad(self, z: Array, b: Array) -> tuple[Array, Array]:
        """Both from one exponential e = exp(-|m|), in (0, 1]."""
        m = b * z
        e = np.abs(m)
        np.negative(e, out=e)
        np.exp(e, out=e)
        # expit(-m) is e/(1+e) for m >= 0 and 1/(1+e) for m < 0.
        grad = np.where(m >= 0.0, e, 1.0)
        grad /= 1.0 + e
        grad *= -b
        value = np.log1p(e, out=e)
        value -= np.minimum(m, 0.0, out=m)
        return value, grad

    def total(self, z: Array, b: Array, grad: Array | None = None) -> float:
        """sum_i max(-m_i, 0) - log prod_i expit(|m_i|): one logarithm for many rows."""
        m = b * z
        p = expit(z) if grad is None else np.abs(grad)
        factors = np.maximum(p, 1.0 - p)  # expit(|m|), in [1/2, 1]: 512 multiply to 2^-512 or more
        cut = p.size - p.size % 512
        products = np.multiply.reduce(factors[:cut].reshape(512, -1), axis=0)
        logs = np.log(products).sum() + np.log(np.multiply.reduce(factors[cut:]))
        total = float(-logs - np.minimum(m, 0.0, out=m).sum())
        # The factors are rounded to eps: too coarse where all losses are tiny.
        return total if total >= 1e-3 * p.size else float(np.sum(self.value(z, b)))

    def total_grad(self, z: Array, b: Array) -> tuple[float, Array]:
        """The same and phi'(z), with one exponential a row."""
        if z.size < WORTH_A_KERNEL or not can_compile():
            grad = self.grad(z, b)
            return self.total(z, b, grad), grad
        from dualgap.losses.compiled_logistic import total_and_slopes

        grad = np.empty_like(z)
        total = total_and_slopes(z, b, grad)
        # Factors rounded to eps are too coarse where all losses are tiny, as in `total`.
        return total if total >= 1e-3 * z.size else float(np.sum(self.value(z, b))), grad

    def fenchel_gap(self, z: Array, y: Array, b: Array) -> Array:
        """phi(z) + phi*(y) - y z; of many rows as a relative entropy."""
        if z.size < WORTH_A_KERNEL or not can_compile():
            return super().fenchel_gap(z, y, b)
        from dualgap.losses.compiled_logistic import fenchel_gaps

        out = np.empty_like(z)
        fenchel_gaps(z, y, b, out)
        return out

    def rounded(self, z: Array, b: Array) -> float:
        """1: exp(-|z|) of a float z is right to its last digits."""
        return 1.0

    def hess(self, z: Array, b: Array) -> Array:
        """expit(z) expit(-z) = e/(1 + e)^2 with e = exp(-|z|)."""
        e = np.abs(z)
        np.negative(e, out=e)
        np.exp(e, out=e)
        return e / (1.0 + e) ** 2

    def hess_beside(self, z: Array, b: Array, grad: Array) -> Array:
        """p (1 - p), p = |phi'(z)|."""
        p = np.abs(grad)
        rest = 1.0 - p
        rest *= p
        return rest

    def conj(self, y: Array, b: Array) -> Array:
        """p log p + (1-p) log(1-p), with 0 log 0 = 0."""
        p = -b * y
        return np.asarray(xlog1py(1.0 - p, -p) - entr(p))  # log(1 - p) before 1 - p is rounded

    def conj_grad(self, y: Array, b: Array) -> Array:
        """-b logit(p), p kept off 0 and 1."""
        p = np.clip(-b * y, 1e-300, 1.0 - 1e-16)
        return np.asarray(-b * logit(p))

    def prox_conj(self, v: Array, s: float, b: Array) -> Array:
        """-b expit(t) with s t + expit(t) = -b v; t = -b z for the z of `Loss.prox_conj`."""
        return np.asarray(-b * expit(solve_margin(-b * v, s)))

    def prox_point(self, v: Array, s: float, b: Array, guess: Array) -> tuple[Array, Array]:
        """z = -b t, and y = phi'(z)."""
        flip = -b
        t = solve_margin(flip * v, s, flip * guess)
        return flip * t, flip * expit(t)

    def domain(self, b: Array) -> tuple[Array, Array]:
        """0 <= p <= 1."""
        return np.minimum(-b, 0.0), np.maximum(-b, 0.0)

    def bend(self, y: Array, b: Array, D: Array, move: Array, room: Array) -> float | None:
        """phi*'' = 1/(p (1 - p)), where both p and 1 - p keep half of what they have."""
        if (2.0 * move > room).any():
            return None
        p = np.abs(y)
        return 4.0 * float((D / (p * (1.0 - p))).max(initial=0.0))

    def margins(self, z: Array, b: Array) -> Array:
        """b z."""
        return b * z

    def gap_above(self, z_lo: Array, z_hi: Array, y: Array, b: Array) -> Array:
        """D(p, s) + D(1 - p, 1 - s) with s = expit(-m), D as in `enclosures.relative_entropy`.

        s - p is taken between whichever of s, p and their complements are the smaller ones.
        """
        if z_lo.size >= WORTH_A_KERNEL and can_compile():
            return _by_kernel(z_lo, z_hi, y, b)[0]
        with np.errstate(all="ignore"):
            return entropy_above(*against(z_lo, z_hi, b), *smaller_share(y))

    def value_below(self, z_lo: Array, z_hi: Array, b: Array) -> Array:
        """log(1 + e^t) = max(t, 0) + log(1 + e^-|t|) at the least t = -b z, rounded down."""
        t, _ = against(z_lo, z_hi, b)
        with np.errstate(all="ignore"):
            value = np.clip(t, 0.0, LARGEST) + log1p_down(exp_down(-np.abs(t)))
            return np.asarray(np.maximum(down(np.minimum(value, LARGEST)), 0.0))

    def value_above(self, z_lo: Array, z_hi: Array, b: Array) -> Array:
        """log(1 + e^t) = max(t, 0) + log(1 + e^-|t|) at the largest t = -b z, rounded up."""
        _, t = against(z_lo, z_hi, b)
        with np.errstate(all="ignore"):
            value = np.asarray(softplus_tail(t))
            return np.where(t > 0.0, up(np.maximum(t, 0.0) + value), value)

    def row_bounds(
        self, z_lo: Array, z_hi: Array, y: Array, b: Array
    ) -> tuple[Array, Array, Array]:
        """All three from the same exponentials."""
        n = z_lo.size
        if n >= WORTH_A_KERNEL and can_compile():
            return _by_kernel(z_lo, z_hi, y, b)
        if n > AT_ONCE:
            spans = [slice(i, i + AT_ONCE) for i in range(0, n, AT_ONCE)]
            parts = [self.row_bounds(z_lo[i], z_hi[i], y[i], b[i]) for i in spans]
            gap, above, below = (np.concatenate(part) for part in zip(*parts, strict=True))
            return gap, above, below
        t_lo, t_hi = against(z_lo, z_hi, b)
        low, high = exp_tails(np.concatenate((t_hi, t_lo)))
        least, most = log1p_ends(low[n:], high[:n])
        with np.errstate(all="ignore"):
            gap = entropy_above(t_lo, t_hi, *smaller_share(y), (low, high))
            above = np.where(t_hi > 0.0, up(np.maximum(t_hi, 0.0) + most), most)
            below = down(np.minimum(np.clip(t_lo, 0.0, LARGEST) + least, LARGEST))
        return gap, np.where(above >= 0.0, above, np.inf), np.where(below > 0.0, below, 0.0)


@dataclass(frozen=True)
class StrongLogistic(MarginLoss):
    """phi = log(1 + exp(-b z)) + (k/2) z^2: strongly convex and not quadratic.

    gamma = 1/(1/4 + k), delta = k; phi* has no closed form and is found by Newton's method.

    Parameters
    ----------
    strength : float
        k > 0.
    """

    strength: float = 0.1

    name: ClassVar[str] = "strong_logistic"
    is_accurate: ClassVar[bool] = True
    code: ClassVar[int] = 5
    prox_is_iterative: ClassVar[bool] = True
    infimum_is_zero: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the strength."""
        object.__setattr__(
            self, "strength", check.real("strength", self.strength, low=0.0, strict=True)
        )

    @property
    def parameter(self) -> float:
        """The strength."""
        return self.strength

    @property
    def gamma(self) -> float:
        """1/(1/4 + k)."""
        return 1.0 / (0.25 + self.strength)

    @property
    def delta(self) -> float:
        """The strength k."""
        return self.strength

    def value(self, z: Array, b: Array) -> Array:
        """log(1 + exp(-m)) + (k/2) z^2."""
        return Logistic().value(z, b) + 0.5 * self.strength * z * z

    def grad(self, z: Array, b: Array) -> Array:
        """-b expit(-m) + k z."""
        return Logistic().grad(z, b) + self.strength * z

    def hess(self, z: Array, b: Array) -> Array:
        """expit(z) expit(-z) + k."""
        return Logistic().hess(z, b) + self.strength

    def conj(self, y: Array, b: Array) -> Array:
        """y z - phi(z) at the z with phi'(z) = y."""
        z = self.conj_grad(y, b)
        return y * z - self.value(z, b)

    def conj_grad(self, y: Array, b: Array) -> Array:
        """The z with -b expit(-bz) + k z = y: with t = -b z, k t + expit(t) = -b y."""
        return -b * solve_margin(-b * y, self.strength)

    def prox_conj(self, v: Array, s: float, b: Array) -> Array:
        """phi'(z) at the z with s z + phi'(z) = v: with t = -b z, (s + k) t + expit(t) = -b v."""
        return self.grad(-b * solve_margin(-b * v, s + self.strength), b)

    def prox_point(self, v: Array, s: float, b: Array, guess: Array) -> tuple[Array, Array]:
        """As `prox_conj`, from a guess."""
        z = -b * solve_margin(-b * v, s + self.strength, -b * guess)
        return z, self.grad(z, b)

    def gap_above(self, z_lo: Array, z_hi: Array, y: Array, b: Array) -> Array:
        """The gap of the logistic loss at y1, and (y2 - k z)^2/(2k), for a split y = y1 + y2.

        Every split gives an upper bound: phi* is the least of phi1*(y1) + phi2*(y2). The slopes at
        v with phi'(v) = y are the best one. y1 = -b p, with p or 1 - p a float, and y2 = y - y1 is
        a sum of three floats.
        """
        k, t = self.strength, -b * self.conj_grad(y, b)
        with np.errstate(all="ignore"):
            t = np.where(np.isfinite(t), t, 0.0)
            small, large = expit(-np.abs(t)), t > 0.0
            first = entropy_above(*against(z_lo, z_hi, b), small, large)
            y2, e = difference(y, np.where(large, -b, 0.0))
            e, tail = (e + np.where(large, -b, b) * small), e
            exact = (tail == 0.0) | (small == 0.0)
            e_lo, e_hi = np.where(exact, e, down(e)), np.where(exact, e, up(e))
            most = up(up(y2 - down(k * z_lo)) + e_hi)
            least = down(down(y2 - up(k * z_hi)) + e_lo)
            off = np.maximum(np.abs(most), np.abs(least))
            value = up(first + up(up(0.5 * up(off * off)) / k))
        return np.where(value >= 0.0, value, np.inf)

    def value_above(self, z_lo: Array, z_hi: Array, b: Array) -> Array:
        """log(1 + exp(-m)) + (k/2) z^2, rounded up; it is never 0, so that the gap at 0 is less."""
        first = Logistic().value_above(z_lo, z_hi, b)
        with np.errstate(all="ignore"):
            far = np.maximum(-z_lo, z_hi)
            value = up(first + up(0.5 * up(self.strength * up(far * far))))
        return np.where(value >= 0.0, value, np.inf)

    def value_below(self, z_lo: Array, z_hi: Array, b: Array) -> Array:
        """Both terms at their least, rounded down."""
        first = Logistic().value_below(z_lo, z_hi, b)
        with np.errstate(all="ignore"):
            near = np.maximum(np.maximum(z_lo, -z_hi), 0.0)
            square = down(0.5 * down(self.strength * down(near * near)))
            value = first + np.where(square > 0.0, square, 0.0)
            value = down(np.minimum(value, LARGEST))
        return np.where(value > 0.0, value, 0.0)
