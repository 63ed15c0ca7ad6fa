"""check_loss finds what is wrong with a loss, and names the law."""

import doctest
import importlib
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import dualgap
from dualgap.checks.errors import LawError
from dualgap.losses import (
    LOSSES,
    Gamma,
    Huber,
    Logistic,
    Poisson,
    SmoothedHinge,
    Squared,
    StrongLogistic,
)

from .losses import Counts, PseudoHuber, SmoothQuantile, WithProx


@pytest.mark.parametrize("name", [name for name, cls in LOSSES.items() if not cls.is_vector])
def test_the_losses_of_the_package_pass(name):
    dualgap.check_loss(LOSSES[name]())


@pytest.mark.parametrize(
    "loss", [Huber(0.1), SmoothedHinge(0.05), SmoothQuantile(0.95, 0.01), WithProx(0.2, 5.0)],
    ids=repr,
)  # fmt: skip
def test_other_options_pass(loss):
    dualgap.check_loss(loss)


def test_given_targets_are_used():
    dualgap.check_loss(Poisson(), targets=[0.0, 1e6])
    with pytest.raises(ValueError, match="is negative"):
        dualgap.check_loss(Poisson(), targets=[-1.0])


def planted(base, law, **methods):
    """A class that is ``base`` but for what is given; the law that it breaks."""
    cls = dataclass(frozen=True)(type("Planted", (base,), dict(methods)))
    return pytest.param(cls(), law, id=f"{base.__name__}: {', '.join(methods)}")


PLANTED = [
    planted(
        Squared,
        "gap_above is at least phi",
        gap_above=lambda s, low, high, y, b: 0.5 * (low - b - y) ** 2,
        value_below=lambda s, low, high, b: 0.0 * low,
    ),
    planted(
        Squared,
        "value_below is at most phi",
        value_below=lambda s, low, high, b: 0.5 * (low - b) ** 2,
    ),
    planted(
        StrongLogistic,
        "value_above is at least phi",
        value_above=lambda s, low, high, b: s.gap_above(low, high, 0.0 * low, b),
    ),
    planted(StrongLogistic, "value_above is at least phi", infimum_is_zero=True),
    planted(
        Squared,
        "gap_above is at least phi",
        row_bounds=lambda s, low, high, y, b: (
            (0.9 * Squared.row_bounds(s, low, high, y, b)[0],) * 3
        ),
    ),
    planted(
        Squared,
        "gap_above is a number >= 0 or inf",
        gap_above=lambda s, low, high, y, b: np.where(
            high < 1e300, Squared.gap_above(s, low, high, y, b), np.nan
        ),
    ),
    planted(Counts, "grad is the derivative of value", grad=lambda s, z, b: np.exp(z) + b),
    planted(Huber, "grad is the derivative of value", grad=lambda s, z, b: 0.99 * (z - b)),
    planted(PseudoHuber, "grad is the derivative of value", value=lambda s, z, b: abs(z - b)),
    planted(Counts, "hess is the derivative of grad", hess=lambda s, z, b: np.exp(z) + 0.1),
    planted(Squared, "hess is the derivative of grad", hess=lambda s, z, b: 2.0 + 0.0 * z),
    planted(
        Counts,
        "value is never negative",
        value=lambda s, z, b: np.exp(z) - b * z,
    ),
    planted(
        SmoothQuantile,
        r"phi\(z\) \+ phi\*\(y\) = y z where y = phi'\(z\)",
        conj=lambda s, y, b: y * b + s.width * y * y,
    ),
    planted(Counts, r"phi\(z\) \+ phi\*\(y\) = y z where", conj=lambda s, y, b: 0.0 * y),
    planted(PseudoHuber, "conj_grad inverts grad", conj_grad=lambda s, y, b: b + y),
    planted(SmoothQuantile, "conj_grad inverts grad", conj_grad=lambda s, y, b: b + 0.4 * y),
    planted(PseudoHuber, "phi is 1/gamma-smooth", gamma=1.5),
    planted(SmoothQuantile, "phi is 1/gamma-smooth", gamma=0.6),
    planted(PseudoHuber, "phi is delta-strongly convex", delta=0.1),
    planted(
        PseudoHuber,
        r"the domain of phi\* holds every phi'\(z\)",
        domain=lambda s, b: (-0.5 * np.ones(b.shape), 0.5 * np.ones(b.shape)),
    ),
    planted(
        PseudoHuber,
        r"the domain of phi\* holds 0",
        domain=lambda s, b: (0.1 * np.ones(b.shape), np.ones(b.shape)),
    ),
    planted(Counts, "hess_bound is at least phi''", hess_bound=lambda s, low, high, b: np.exp(low)),
    planted(WithProx, "prox_conj solves", prox_conj=lambda s, v, step, b: v / (1.0 + step)),
    planted(PseudoHuber, r"is_quadratic: phi\(z\) = \(z - b\)\^2/2", is_quadratic=True),
    planted(PseudoHuber, "is_self_concordant", is_self_concordant=True),
    planted(PseudoHuber, "has_quadratic_conj", has_quadratic_conj=True),
    planted(Counts, "has_exact_gap", has_exact_gap=True),
    planted(
        Gamma, "phi falls for ever where margins are >= 0", margins=lambda s, z, b: np.asarray(z)
    ),
    planted(Logistic, "fenchel_gap is", fenchel_gap=lambda s, z, y, b: np.zeros_like(z)),
    planted(
        Huber,
        "is_accurate: value and conj lose",
        value=lambda s, z, b: Huber.value(s, z, b) + 1e5 - 1e5,
    ),
    planted(
        PseudoHuber,
        "value and conj lose a few roundings of `terms`",
        value=lambda s, z, b: PseudoHuber.value(s, z, b) + 1e5 - 1e5,
    ),
    planted(Counts, "is_accurate: value and conj lose", is_accurate=True),
    planted(Squared, "hess has the shape of z", hess=lambda s, z, b: np.ones(1)),
]


@pytest.mark.parametrize(("loss", "law"), PLANTED)
def test_a_planted_mistake_is_found_and_its_law_named(loss, law):
    with pytest.raises(LawError, match=law) as found:
        dualgap.check_loss(loss)
    assert "Planted(" in str(found.value)
    assert any(letter.isdigit() for letter in str(found.value))


def test_the_numbers_are_told():
    @dataclass(frozen=True)
    class Off(dualgap.losses.Squared):
        name: ClassVar[str] = "off"

        def grad(self, z, b):
            return z - b + 0.25

    with pytest.raises(LawError, match=r"With b = -2\.5: grad\(-8\) = -5\.25, .*-5\.5"):
        dualgap.check_loss(Off())


def test_it_says_what_it_is_not_for():
    with pytest.raises(TypeError, match="one prediction a row"):
        dualgap.check_loss(dualgap.losses.Multinomial())


@pytest.mark.parametrize("module", ["dualgap.losses.contract", "dualgap.checks.loss"])
def test_the_examples_run(module):
    result = doctest.testmod(importlib.import_module(module), raise_on_error=True)
    assert result.attempted > 0
