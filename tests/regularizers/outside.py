"""Regularisers as a user writes them: public names only, nothing inherited but the contract."""

from __future__ import annotations

import numpy as np

from dualgap import Status
from dualgap.regularizers import Regularizer


def done(g):
    """How a run ends that has arrived: what has no enclosures is not proved."""
    return Status.CONVERGED if g.has_enclosures else Status.ESTIMATED


class Positive(Regularizer):
    """l1 x on x >= 0, without a compiled form: what `NonNegative` is, from outside."""

    def __init__(self, l1=0.1):
        self.l1 = l1

    def __repr__(self):
        return f"Positive({self.l1})"

    strong_convexity = 0.0

    def value(self, x):
        return np.inf if (x < 0).any() else float(np.sum(self.l1 * x))

    def prox(self, v, tau):
        return np.maximum(v - tau * self.l1, 0.0)

    def conj(self, s):
        return np.inf if (s > self.l1).any() else 0.0

    def dual_interval(self):
        return -np.inf, self.l1

    def fenchel_gap(self, x, s):
        return x * (self.l1 - s)


class Smooth(Regularizer):
    """w (|x| where that is more than 1, (x^2 + 1)/2 - 1/2 below): smooth at 0, one w each."""

    def __init__(self, w=0.1):
        self.w = np.asarray(w, dtype=float)

    def __repr__(self):
        return "Smooth()"

    strong_convexity = 0.0

    def _each(self, x):
        size = np.abs(x)
        return self.w * np.where(size <= 1.0, 0.5 * x * x, size - 0.5)

    def value(self, x):
        return float(np.sum(self._each(x)))

    def prox(self, v, tau):
        t = tau * self.w
        return np.where(np.abs(v) <= 1.0 + t, v / (1.0 + t), v - np.sign(v) * t)

    def _conj(self, s):
        return s * s / (2.0 * self.w)

    def conj(self, s):
        return np.inf if (np.abs(s) > self.w).any() else float(np.sum(self._conj(s)))

    def dual_interval(self):
        return -self.w, self.w

    def fenchel_gap(self, x, s):
        return np.maximum(self._each(x) + self._conj(s) - s * x, 0.0)


class AsNet(Smooth):
    """An elastic net that says so: every algorithm serves it."""

    strong_convexity = 0.3

    def __repr__(self):
        return "AsNet()"

    def _each(self, x):
        return 0.2 * np.abs(x) + 0.15 * x * x

    def prox(self, v, tau):
        return np.sign(v) * np.maximum(np.abs(v) - 0.2 * tau, 0.0) / (1.0 + 0.3 * tau)

    def _conj(self, s):
        return np.maximum(np.abs(s) - 0.2, 0.0) ** 2 / 0.6

    def conj(self, s):
        return float(np.sum(self._conj(s)))

    def dual_interval(self):
        return -np.inf, np.inf

    def compiled_form(self):
        from dualgap.regularizers import Bounded

        return Bounded(0.2, 0.3, -np.inf, np.inf)
