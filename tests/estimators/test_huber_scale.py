"""The search for the scale of a Huber regression, by what it costs."""

from __future__ import annotations

import numpy as np
import pytest

import dualgap
from dualgap import Status
from dualgap.estimators._joint_search import Place, next_scale


def data(seed):
    """60 x 14, a tenth of the targets far off; columns in units of their own where seed is odd."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 14))
    X *= 10.0 ** rng.uniform(-2, 2, 14) if seed % 2 else 1.0
    noise = rng.standard_normal(60) * (1.0 + 10.0 * (rng.random(60) < 0.1))
    return X, X @ rng.standard_normal(14) + noise


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("tol", [1e-6, 1e-10])
def test_a_few_solves_and_passes(seed, tol):
    """Each inner solve takes a few passes, and a line through two scales finds the third."""
    model = dualgap.HuberRegressor(tol=tol).fit(*data(seed))
    assert model.status_ is Status.CONVERGED
    assert model.certificate_.relative_gap <= tol
    assert len(model.trace_) <= 15
    assert model.n_iter_ <= 150


def test_a_line_finds_where_scale_and_best_scale_meet():
    """If the best scale is 2 + 0.7 s they meet at 2/0.3, after two pairs."""
    place = Place(scale=1.0, tol=1e-2)
    for _ in range(2):
        best = 2.0 + 0.7 * place.scale
        place.last, place.scale = (place.scale, best), next_scale(place, best)
    assert place.scale == pytest.approx(2.0 / 0.3)


@pytest.mark.parametrize("slope", [-0.5, 0.99, 1.5])
def test_a_line_that_leads_nowhere_is_not_followed(slope):
    place = Place(scale=2.0, tol=1e-2, last=(1.0, 3.0))
    best = 3.0 + slope
    assert next_scale(place, best) == best
