"""P at a point of floats, from the data as they are: rationals; 60 digits for the logistic loss.

What a test holds against it is the quality of the point, not of anybody's evaluation of it.
"""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np


def exact_P(A, b, x, c=0.0, *, loss="squared", l1=0.0, l2=0.0, weights=None, offset=None):
    """(1/W) sum_i w_i phi_i(a_i'x + c + offset_i) + l1 |x|_1 + (l2/2)|x|^2, as a float."""
    n = len(b)
    point = [Fraction(float(v)) for v in x]
    weight = [Fraction(float(v)) for v in (np.ones(n) if weights is None else weights)]
    shift = [Fraction(float(v)) for v in (np.zeros(n) if offset is None else offset)]
    total = Fraction(0) if loss != "logistic" else mpmath.mpf(0)
    with mpmath.workdps(60):
        for row, target, w, o in zip(np.asarray(A, dtype=float), b, weight, shift, strict=True):
            z = sum((Fraction(float(a)) * v for a, v in zip(row, point, strict=True)), Fraction(0))
            total += _times(w, _phi(loss, z + Fraction(float(c)) + o, Fraction(float(target))))
        mean = total / _number(sum(weight), total)
        g = sum(Fraction(l1) * abs(v) + Fraction(l2) * v * v / 2 for v in point)
        return float(mean + _number(g, total))


def _phi(loss, z, b):
    if loss == "squared":
        return (z - b) ** 2 / 2
    if loss == "huber":  # its default threshold
        e, r = Fraction(1.35), abs(z - b)
        return r * r / 2 if r <= e else e * r - e * e / 2
    if loss == "squared_hinge":
        return max(Fraction(0), 1 - b * z) ** 2 / 2
    if loss == "smoothed_hinge":  # of width 1
        slack = max(Fraction(0), 1 - b * z)
        return slack * slack / 2 if slack <= 1 else slack - Fraction(1, 2)
    assert loss == "logistic"
    return mpmath.log1p(mpmath.exp(-_mp(b * z)))


def _mp(value):
    return mpmath.mpf(value.numerator) / value.denominator


def _times(w, value):
    return w * value if isinstance(value, Fraction) else _mp(w) * value


def _number(value, like):
    value = Fraction(value)
    return value if isinstance(like, Fraction) else _mp(value)
