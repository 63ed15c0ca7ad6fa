"""The laws over all regularisers, and wrong ones that they find."""

from __future__ import annotations

import numpy as np
import pytest

import dualgap
from dualgap.checks import LawError
from dualgap.regularizers import Bounded, Box, ElasticNet, NonNegative, Regularizer
from dualgap.regularizers.wrappers import Extended, Scaled

from . import outside

INF = np.inf
SEVERAL = np.array([0.0, 0.3, 2.0, 0.0]), np.array([0.0, 0.0, 0.7, 50.0])

RIGHT = [
    ElasticNet(0.0, 0.0),
    ElasticNet(0.3, 0.0),
    ElasticNet(*SEVERAL),
    NonNegative(),
    NonNegative(0.3),
    NonNegative(0.0, 0.7),
    NonNegative(*SEVERAL),
    Box(),
    Box(-1.0, 2.0),
    Box(-1.0, 2.0, 0.3, 0.5),
    Box(0.5, 2.0, 0.3),
    Box(-3.0, -1.0, 0.3, 0.2),
    Box(-INF, 1.0, 0.1),
    Box(0.2, INF),
    Box(1.0, 1.0, 0.2),
    Box(np.array([-1.0, 0.0, -INF, 1.0]), np.array([1.0, INF, 0.0, 1.5]), *SEVERAL),
    outside.Positive(),
    outside.Smooth(),
    outside.Smooth([0.1, 1.0, 0.5, 3.0]),
    outside.AsNet(),
    Scaled(outside.Positive(0.4), np.array([0.1, 1.0, 3.0, 2.0])),
    Extended(outside.Smooth(), 3, 1, False),
]


@pytest.mark.parametrize("g", RIGHT, ids=repr)
def test_the_laws_hold(g):
    dualgap.check_regularizer(g)


def test_each_of_fewer_coordinates():
    dualgap.check_regularizer(NonNegative(0.1), d=1)
    dualgap.check_regularizer(NonNegative(np.ones(7)), d=7, random_state=3)


# ---- planted faults: each is found, and the law that it breaks is named ----


class Lasso(Regularizer):
    """Right; what is planted below is wrong in one place."""

    strong_convexity = 0.0

    def __repr__(self):
        return type(self).__name__ + "()"

    def value(self, x):
        return float(0.3 * np.abs(x).sum())

    def prox(self, v, tau):
        return np.sign(v) * np.maximum(np.abs(v) - 0.3 * tau, 0.0)

    def conj(self, s):
        return 0.0 if (np.abs(s) <= 0.3 * (1 + 1e-12)).all() else INF

    def dual_interval(self):
        return -0.3, 0.3

    def fenchel_gap(self, x, s):
        return 0.3 * np.abs(x) - s * x


class OtherProx(Lasso):
    def prox(self, v, tau):
        return np.sign(v) * np.maximum(np.abs(v) - 0.31 * tau, 0.0)


class ProxForgetsTau(Lasso):
    def prox(self, v, tau):
        return np.sign(v) * np.maximum(np.abs(v) - 0.3, 0.0)


class ProxOfNumbersOnly(Lasso):
    def prox(self, v, tau):
        return super().prox(v, np.max(tau)) if np.ndim(tau) == 0 else v


class Concave(Lasso):
    def value(self, x):
        return float(np.sqrt(np.abs(x)).sum())


class Coupled(Lasso):
    def value(self, x):
        return float(0.3 * np.linalg.norm(x))

    def prox(self, v, tau):
        length = np.linalg.norm(v)
        return v * max(1.0 - 0.3 * np.max(tau) / length, 0.0) if length else v


class TooStrong(Lasso):
    strong_convexity = 0.1


class Negative(Lasso):
    def value(self, x):
        return super().value(x) - 1.0


class SmallConj(Lasso):
    def conj(self, s):
        return super().conj(s) - 0.1


class LargeConj(Lasso):
    def conj(self, s):
        return super().conj(s) + 0.1

    def fenchel_gap(self, x, s):
        return super().fenchel_gap(x, s) + 0.1 / x.size


class WideInterval(Lasso):
    def conj(self, s):
        return 0.0 if (np.abs(s) <= 0.4).all() else INF

    def dual_interval(self):
        return -0.4, 0.4


class NoInterval(Lasso):
    def dual_interval(self):
        return -INF, INF


class EmptyInterval(Lasso):
    def dual_interval(self):
        return 0.1, 0.3


class OtherGap(Lasso):
    def fenchel_gap(self, x, s):
        return 0.3 * np.abs(x) - 0.9 * s * x


class OtherArgmin(Lasso):
    def argmin(self, slope, curvature, at):
        return at - slope / curvature


class OtherScaled(Lasso):
    def scaled(self, factor):
        return self


class OtherForm(Lasso):
    def compiled_form(self):
        return Bounded(0.3, 0.1, -INF, INF)


class NotHomogeneous(ElasticNet):
    is_homogeneous = True


class Changes(Lasso):
    def prox(self, v, tau):
        v *= 0.5
        return v


class OneNumber(Lasso):
    def fenchel_gap(self, x, s):
        return float(np.sum(super().fenchel_gap(x, s)))


def test_what_the_faults_are_planted_in_is_right():
    dualgap.check_regularizer(Lasso())


@pytest.mark.parametrize(
    ("g", "law", "numbers"),
    [
        (OtherProx(), "prox", "x is not its minimiser"),
        (ProxForgetsTau(), "prox", "tau = 0.01"),
        (ProxOfNumbersOnly(), "prox", "tau as an array of equal steps"),
        (Concave(), "convex", "halfway; it should be at most"),
        (Coupled(), "separable", "should not know of the others"),
        (TooStrong(), "strong convexity", "with strength 0.1"),
        (Negative(), "g >= 0", "finite and >= 0"),
        (SmallConj(), "Fenchel-Young", "should be at least"),
        (LargeConj(), "Moreau", "should be the same"),
        (WideInterval(), "Fenchel-Young", "is less than s'x"),
        (NoInterval(), "dual interval", "inf at s"),
        (EmptyInterval(), "dual interval", "should contain 0"),
        (OtherGap(), "Fenchel gap", "sum to"),
        (OtherArgmin(), "argmin", "not its minimiser"),
        (OtherScaled(), "scaled", "by g itself it is"),
        (OtherForm(), "compiled form", "by g itself it is"),
        (NotHomogeneous(0.1, 0.1), "homogeneous", r"g\(2x\)"),
        (Changes(), "form", "changed its argument"),
        (OneNumber(), "form", r"should have shape \(4,\)"),
    ],
    ids=lambda v: repr(v) if isinstance(v, Regularizer) else "",
)
def test_a_planted_fault_is_found_and_its_law_named(g, law, numbers):
    with pytest.raises(LawError, match=numbers) as error:
        dualgap.check_regularizer(g)
    assert f"breaks the law {law!r}" in str(error.value)


def test_what_lacks_a_method_says_which_and_who_needs_it():
    class Half(Regularizer):
        strong_convexity = 0.0

        def value(self, x):
            return 0.0

        def prox(self, v, tau):
            return v

        def dual_interval(self):
            return 0.0, 0.0

    with pytest.raises(TypeError, match=r"'conj', needed by the dual value.*'fenchel_gap', needed"):
        Half()

    class Unrelated:
        value = prox = conj = dual_interval = strong_convexity = None

    with pytest.raises(TypeError, match="It lacks 'fenchel_gap', needed by certificates"):
        dualgap.check_regularizer(Unrelated())
    for wrong in (NonNegative, 0.1, "nonnegative", None):
        with pytest.raises(TypeError, match="regularizer"):
            dualgap.check_regularizer(wrong)


@pytest.mark.parametrize("d", [0, -1, 2.5, True])
def test_d_is_a_number_of_coefficients(d):
    with pytest.raises(ValueError, match="d must be an integer of at least 1"):
        dualgap.check_regularizer(NonNegative(), d=d)


def test_dual_x_of_the_contract_attains_the_conjugate():
    class Plain(outside.AsNet):
        pass

    g, s = Plain(), np.linspace(-3.0, 3.0, 9)
    x = g.dual_x(s)
    np.testing.assert_allclose(x, ElasticNet(0.2, 0.3).dual_x(s), atol=1e-7)
    with pytest.raises(ValueError, match="not strongly convex"):
        outside.Positive().dual_x(s)
