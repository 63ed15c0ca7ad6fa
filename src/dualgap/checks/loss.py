"""The laws of a loss, run on a value of your own: `check_loss`.

Each law is an inequality between numbers that the methods give, at some predictions z, targets b
and dual points y; its slack is what differences and rounding explain. A law that holds here may
fail elsewhere: this finds mistakes, it proves nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap._types import Array
from dualgap.checks._digits import lost_digits
from dualgap.checks._enclosures import enclosure_laws
from dualgap.checks._loss_points import SHARES, LossPoints
from dualgap.checks.errors import LawError
from dualgap.linalg.rounding import EPS
from dualgap.losses.contract import Loss, check_contract, no_loss

STEP = EPS ** (1 / 3)
"""Central differences take this step, times 1 + |z|."""
SLACK = 1e-6
"""What is compared may differ by this, relative to the sizes that meet in it."""


def check_loss(loss: Loss, targets: Any = None) -> None:
    """Find a law that a loss breaks.

    The laws: grad is the derivative of value, and hess of grad; phi is convex and >= 0; the domain
    holds 0 and every phi'(z); phi + phi* >= y z, with equality at y = phi'(z); conj_grad inverts
    grad; phi'' <= 1/gamma (or hess_bound, where gamma is None) and >= delta; the dual prox, if
    there is one, solves its equation; the flags, if they are set, are true; no more digits are
    lost than a certificate allows for; enclosures, if there are any, enclose.

    Parameters
    ----------
    loss : Loss
        A value of a class that derives from `dualgap.losses.Loss`.
    targets : array, optional
        Targets b that the loss takes; without them some numbers, counts or labels are tried.

    Raises
    ------
    LawError
        If a law is broken: the message names it and gives the numbers.
    TypeError
        If the loss lacks a method: the message says which, and who needs it.

    Examples
    --------
    >>> import dualgap
    >>> dualgap.check_loss(dualgap.losses.Huber(threshold=2.0))
    """
    if not isinstance(loss, Loss):
        raise TypeError(no_loss(loss))
    if loss.is_vector:
        raise TypeError(f"check_loss is for losses of one prediction a row, got {loss!r}.")
    check_contract(loss)
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        _Laws(loss, targets).run()


class _Laws(LossPoints):
    def run(self) -> None:
        """All laws, those first that others rest on."""
        self._shapes()
        self._derivatives()
        self._signs()
        self._domain()
        self._conjugate()
        self._constants()
        for s in (0.1, 1.0, 7.0) if self.loss.has_dual_prox else ():
            self._prox(s)
        self._flags()
        if self.loss.has_enclosures:
            self._enclosures()

    # ---- value, grad, hess ----

    def _shapes(self) -> None:
        for name in ("value", "grad", "hess"):
            shape = getattr(self, name).shape
            if shape != self.z.shape:
                raise LawError(
                    f"{self.loss!r} breaks a law: {name} has the shape of z. It has {shape}, z "
                    f"has {self.z.shape}."
                )

    def _derivatives(self) -> None:
        loss, z, b = self.loss, self.z, self.b
        h = STEP * (1.0 + np.abs(z))
        wide, narrow = ((loss.value(z + t, b) - loss.value(z - t, b)) / (2 * t) for t in (2 * h, h))
        error = 4.0 * np.abs(wide - narrow) + 8.0 * EPS * self.size / h
        error += SLACK * (1.0 + np.abs(self.grad))
        self.fail(
            ~(np.abs(self.grad - narrow) <= error),
            "grad is the derivative of value",
            lambda i: (
                f"grad({z[i]:g}) = {self.grad[i]:.8g}, and value rises by {narrow[i]:.8g} a unit"
            ),
        )
        low, here, high = (loss.grad(z + t, b) for t in (-h, 0.0, h))
        left, right = (here - low) / h, (high - here) / h
        # At a kink of phi' one of its two slopes will do.
        error = 2.0 * np.abs(left - right) + 8.0 * EPS * (np.abs(here) + np.abs(b) + 1.0) / h
        error += 1e-4 * (1.0 + np.abs(self.hess))
        self.fail(
            ~(np.abs(self.hess - 0.5 * (left + right)) <= error),
            "hess is the derivative of grad",
            lambda i: (
                f"hess({z[i]:g}) = {self.hess[i]:.8g}, and grad has the slope "
                f"{0.5 * (left[i] + right[i]):.8g} there"
            ),
        )

    def _signs(self) -> None:
        z = self.z
        self.fail(
            ~(self.value >= -16.0 * EPS * self.size),
            "value is never negative",
            lambda i: f"value({z[i]:g}) = {self.value[i]:.8g}; add a constant",
        )
        self.fail(
            ~(self.hess >= 0.0),
            "phi is convex",
            lambda i: f"hess({z[i]:g}) = {self.hess[i]:.8g}, which must not be negative",
        )

    # ---- the conjugate ----

    def _domain(self) -> None:
        low, high = self.loss.domain(self.b)
        self.fail(
            ~((low <= 0.0) & (high >= 0.0)),
            "the domain of phi* holds 0",
            lambda i: f"domain = [{low[i]:g}, {high[i]:g}]",
        )
        reach = 8.0 * EPS * (1.0 + np.abs(self.grad) + np.abs(self.b))
        self.fail(
            ~((self.grad >= low - reach) & (self.grad <= high + reach)),
            "the domain of phi* holds every phi'(z)",
            lambda i: (
                f"grad({self.z[i]:g}) = {self.grad[i]:.8g} is outside of [{low[i]:g}, {high[i]:g}]"
            ),
        )

    def _conjugate(self) -> None:
        loss, z = self.loss, self.z
        y = self.loss.into_domain(self.grad, self.b)
        conj = np.asarray(loss.conj(y, self.b))
        gap = self.value + conj - y * z
        room = SLACK * (self.size + np.abs(conj))
        self.fail(
            ~(np.abs(gap) <= room),
            "phi(z) + phi*(y) = y z where y = phi'(z) (Fenchel-Young)",
            lambda i: (
                f"conj({y[i]:.8g}) = {conj[i]:.8g} at the slope of z = {z[i]:g}, and it should be "
                f"y z - value = {y[i] * z[i] - self.value[i]:.8g}"
            ),
        )
        points, b = self.dual_points()
        conj = np.asarray(loss.conj(points, b))
        self.fail(
            ~np.isfinite(conj),
            "conj is finite in the domain",
            lambda i: f"conj({points[i]:.8g}) = {conj[i]}",
            b,
        )
        order = np.random.default_rng(0).permutation(self.z.size)
        same = np.argsort(self.b[order], kind="stable")
        back = np.argsort(self.b, kind="stable")
        other = np.empty_like(z)
        other[back] = z[order][same]  # another z of the same target
        other = np.tile(other, len(SHARES))
        value = loss.value(other, b)
        gap = value + conj - points * other
        room = SLACK * (1.0 + np.abs(value) + np.abs(conj) + np.abs(points * other))
        self.fail(
            ~(gap >= -room),
            "phi(z) + phi*(y) >= y z (Fenchel-Young)",
            lambda i: (
                f"value({other[i]:g}) + conj({points[i]:.8g}) = {value[i] + conj[i]:.8g} is less "
                f"than y z = {points[i] * other[i]:.8g}"
            ),
            b,
        )
        self._digits(other, points, b)
        self._inverse(points, b)
        self._gap(other, points, b, gap, room)

    def _digits(self, z: Array, y: Array, b: Array) -> None:
        seen = lost_digits(self.loss, z, y, b)
        if seen is None:
            return
        off, most = seen
        law = "is_accurate: value and conj lose a few roundings of their result, or of z"
        if not self.loss.is_accurate:
            law = "value and conj lose a few roundings of `terms`"
        self.fail(
            off > most,
            law,
            lambda i: (
                f"value({z[i]:g}) + conj({y[i]:.8g}) is off by {off[i]:.3g}, and may be by "
                f"{most[i]:.3g}; write it without cancellation, or override `terms`"
            ),
            b,
        )

    def _inverse(self, y: Array, b: Array) -> None:
        loss = self.loss
        v = np.asarray(loss.conj_grad(y, b))
        again = loss.grad(v, b)
        error = SLACK * (1.0 + np.abs(y)) + 16.0 * EPS * (1.0 + np.abs(v)) * loss.hess(v, b)
        self.fail(
            ~(np.isfinite(v) & (np.abs(again - y) <= error)),
            "conj_grad inverts grad: phi'(v) = y",
            lambda i: (
                f"v = conj_grad({y[i]:.8g}) = {v[i]:.8g}, and grad(v) = {again[i]:.8g} should be y"
            ),
            b,
        )

    def _gap(self, z: Array, y: Array, b: Array, plain: Array, room: Array) -> None:
        loss = self.loss
        gap = loss.fenchel_gap(z, y, b)
        self.fail(
            ~((gap >= 0.0) & (np.abs(gap - plain) <= 2.0 * room)),
            "fenchel_gap is phi(z) + phi*(y) - y z, and never negative",
            lambda i: f"fenchel_gap({z[i]:g}, {y[i]:.8g}) = {gap[i]:.8g} and not {plain[i]:.8g}",
            b,
        )
        if loss.has_exact_gap:
            at = loss.fenchel_gap(self.z, loss.into_domain(self.grad, self.b), self.b)
            bent = np.maximum(self.hess, 1e-30)
            sizes = np.abs(self.grad) + np.abs(self.b) + 1.0
            most = (64.0 * EPS) ** 2 * (bent * (1.0 + np.abs(self.z)) ** 2 + sizes**2 / bent)
            most = np.where(self.hess > 0.0, most, 64.0 * EPS * self.size)
            self.fail(
                ~(at <= np.maximum(most, 1e-300)),
                "has_exact_gap: fenchel_gap is no difference of larger numbers",
                lambda i: f"at y = grad({self.z[i]:g}) it is {at[i]:.3g} and not 0",
            )

    # ---- the constants ----

    def _constants(self) -> None:
        loss, z, b = self.loss, self.z, self.b
        if loss.gamma is None:
            for r in (0.0, 1e-3, 0.5, 2.0):
                self._hess_bound(r)
        else:
            gamma = float(loss.gamma)
            if not 0.0 < gamma < np.inf:
                raise LawError(f"{loss!r} breaks a law: gamma is positive or None. It is {gamma}.")
            self.fail(
                ~(self.hess <= (1.0 + SLACK) / gamma),
                "phi is 1/gamma-smooth",
                lambda i: (
                    f"hess({z[i]:g}) = {self.hess[i]:.8g} is more than 1/gamma = {1 / gamma:.8g}"
                ),
            )
        dz = 0.37 * (1.0 + np.abs(z))
        secant = (loss.grad(z + dz, b) - self.grad) / dz
        slack = SLACK * (1.0 + np.abs(secant))
        self.fail(
            ~(secant >= loss.delta - slack),
            "phi is convex" if loss.delta == 0.0 else "phi is delta-strongly convex",
            lambda i: (
                f"grad rises by {secant[i]:.8g} a unit from z = {z[i]:g} on, less than delta = "
                f"{loss.delta:g}"
            ),
        )
        if loss.gamma is not None:
            most = 1.0 / float(loss.gamma)
            self.fail(
                ~(secant <= most + slack),
                "phi is 1/gamma-smooth",
                lambda i: (
                    f"grad rises by {secant[i]:.8g} a unit from z = {z[i]:g} on, more than "
                    f"1/gamma = {most:.8g}"
                ),
            )

    def _hess_bound(self, r: float) -> None:
        loss, z, b = self.loss, self.z, self.b
        bound = loss.hess_bound(z - r, z + r, b)
        seen = np.max([loss.hess(z + t * r, b) for t in np.linspace(-1.0, 1.0, 9)], axis=0)
        self.fail(
            ~(bound >= seen * (1.0 - 1e-9)),
            "hess_bound is at least phi'' everywhere from low to high",
            lambda i: (
                f"hess_bound({z[i] - r:g}, {z[i] + r:g}) = {bound[i]:.8g}, and hess reaches "
                f"{seen[i]:.8g} there"
            ),
        )

    # ---- the dual prox and the flags ----

    def _prox(self, s: float) -> None:
        loss, b = self.loss, self.b
        v = np.clip(self.z, -8.0, 8.0)
        y = np.asarray(loss.prox_conj(v, s, b))
        point = (v - y) / s
        wanted = loss.grad(point, b)
        error = SLACK * (1.0 + np.abs(v) + np.abs(b)) * (1.0 + loss.hess(point, b) / s)
        self.fail(
            ~(np.abs(y - wanted) <= error),
            "prox_conj solves y = phi'((v - y)/s)",
            lambda i: (
                f"prox_conj({v[i]:g}, s={s:g}) = {y[i]:.8g}, and phi'((v - y)/s) = {wanted[i]:.8g}"
            ),
        )

    def _flags(self) -> None:
        loss, z, b = self.loss, self.z, self.b
        if loss.is_quadratic:
            square = 0.5 * (z - b) ** 2
            self.fail(
                ~(np.abs(self.value - square) <= SLACK * (1.0 + square)),
                "is_quadratic: phi(z) = (z - b)^2/2",
                lambda i: f"value({z[i]:g}) = {self.value[i]:.8g} and not {square[i]:.8g}",
            )
        if loss.is_self_concordant:
            step = 1e-2
            ratio = loss.hess(z + step, b) / self.hess
            sensible = np.isfinite(ratio) & (self.hess > 1e-250)
            self.fail(
                sensible & ~(np.abs(np.log(ratio)) <= step * (1.0 + 1e-4)),
                "is_self_concordant: |phi'''| <= phi''",
                lambda i: f"from z = {z[i]:g} to {z[i] + step:g} hess grows {ratio[i]:.6g}-fold",
            )
        if loss.has_quadratic_conj:
            y = self.loss.into_domain(self.grad, b)
            rise = loss.conj_grad(y, b) - loss.conj_grad(0.5 * y, b)
            wanted = 0.5 * loss.known_gamma * y
            self.fail(
                ~(np.abs(rise - wanted) <= SLACK * (1.0 + np.abs(wanted) + np.abs(b))),
                "has_quadratic_conj: phi*'' = gamma in the domain",
                lambda i: (
                    f"conj_grad rises by {rise[i]:.8g} and not by {wanted[i]:.8g} from y = "
                    f"{0.5 * y[i]:.8g} to {y[i]:.8g}"
                ),
            )
        for way in (1.0, -1.0):
            margins = loss.margins(np.full_like(z, way), b)
            if margins is not None:
                self._margins(way, margins)

    def _enclosures(self) -> None:
        y, b = self.dual_points()
        z = np.tile(self.z, len(SHARES))
        for law, broken, seen in enclosure_laws(self.loss, z, y, b):
            self.fail(broken, law, seen.numbers, b)

    def _margins(self, way: float, margins: Array) -> None:
        z = self.z
        later = self.loss.value(z + 5.0 * way, self.b)
        rises = later > self.value * (1.0 + SLACK) + SLACK * self.size
        self.fail(
            (margins >= 0.0) & rises,
            "phi falls for ever where margins are >= 0",
            lambda i: (
                f"the margin of {way:+g} is >= 0, and value({z[i]:g}) = {self.value[i]:.6g} rises "
                f"to value({z[i] + 5 * way:g}) = {later[i]:.6g}"
            ),
        )
