"""Conjugate gradients, Lanczos, Cholesky and line searches against what they are defined by."""

import numpy as np
import pytest
import scipy.linalg

from dualgap.linalg.cholesky import cholesky, factor_and_condition, lower_factor, solved_once
from dualgap.linalg.conjugate_gradients import ConjugateGradients
from dualgap.linalg.lanczos import Lanczos
from dualgap.linalg.line_search import HALVINGS, Trial, first_that_falls, near_lowest


def definite(side, seed=0, scale=1.0):
    B = np.random.default_rng(seed).normal(size=(side + 3, side)) * scale
    return B.T @ B / len(B)


# ---- conjugate gradients ----


def solved(H, r, steps, run=None, precondition=lambda r: r.copy()):
    if run is None:
        run = ConjugateGradients.begun(r.copy())
        run.turn(precondition(run.r))
    for _ in range(steps):
        assert run.advance(H @ run.p)
        run.turn(precondition(run.r))
    return run


@pytest.mark.parametrize("diagonal", [False, True])
def test_as_many_steps_as_coordinates_solve_a_system(diagonal):
    H, r = definite(8), np.arange(1.0, 9.0)
    units = np.diag(H) if diagonal else np.ones(8)
    run = solved(H, r, 8, precondition=lambda r: r / units)
    np.testing.assert_allclose(H @ run.d, r, rtol=1e-8)
    assert run.gain == pytest.approx(0.5 * r @ np.linalg.solve(H, r), rel=1e-8)
    assert run.count == 8


def test_a_copy_goes_on_bitwise_and_leaves_the_first_alone():
    H, r = definite(9), np.ones(9)
    first = solved(H, r, 3)
    kept = first.d.copy()
    whole = solved(H, r, 5)
    again = solved(H, r, 2, run=first.copy())
    assert np.array_equal(again.d, whole.d) and np.array_equal(again.r, whole.r)
    assert np.array_equal(first.d, kept)


def test_a_flat_direction_is_not_taken():
    run = ConjugateGradients.begun(np.array([1.0, 0.0]))
    run.turn(run.r)
    assert not run.advance(np.zeros(2))
    assert not run.d.any() and run.count == 0


def test_the_first_direction_is_not_the_residual_itself():
    run = ConjugateGradients.begun(np.array([1.0, 2.0]))
    run.turn(run.r)
    run.advance(np.array([2.0, 4.0]))
    assert np.array_equal(run.p, [1.0, 2.0])


# ---- Lanczos ----


def test_the_whole_space_has_the_spectrum():
    M = definite(7)
    space = Lanczos(lambda v: M @ v, np.ones(7), room=7)
    while space.size < 7:
        space.grow()
    V = space.V[:7]
    np.testing.assert_allclose(V @ V.T, np.eye(7), atol=1e-12)
    np.testing.assert_allclose(V @ M @ V.T, space.T, atol=1e-12)
    np.testing.assert_allclose(
        space.solve(0.1) @ V, np.linalg.solve(M + 0.1 * np.eye(7), np.ones(7))
    )
    r = np.arange(7.0)
    np.testing.assert_allclose(
        space.inverse(r, 0.1, 5.0), np.linalg.solve(M + 0.1 * np.eye(7), r), rtol=1e-8
    )


@pytest.mark.parametrize("room", [0, 30])
def test_the_largest_eigenvalue_with_and_without_a_basis(room):
    M = np.diag(np.linspace(1.0, 3.0, 40))
    space = Lanczos(lambda v: M @ v, np.ones(40), room)
    for _ in range(25):
        space.grow()
    assert 2.99 < space.largest_eigenvalue() <= 3.0 + 1e-12


def test_an_invariant_space_ends():
    space = Lanczos(lambda v: 2.0 * v, np.ones(5), room=5)
    space.grow()
    assert space.off == [0.0] and not space.may_grow
    assert not Lanczos(lambda v: v, np.zeros(3), room=3).may_grow


# ---- Cholesky ----


@pytest.mark.parametrize("columns", [(), (2,)])
def test_units_of_very_different_size(columns):
    unit = 10.0 ** np.linspace(-12, 12, 9)
    G = unit[:, None] * definite(9) * unit
    x = np.random.default_rng(1).normal(size=(9, *columns))
    x = (x.T / unit).T
    np.testing.assert_allclose(cholesky(G).solve(G @ x), x, rtol=1e-9)


def test_a_singular_matrix_is_shifted():
    G = np.ones((3, 3))
    factor = cholesky(G)
    assert np.isfinite(factor.solve(np.ones(3))).all()
    assert factor.least_pivot < 1e-6
    assert lower_factor(np.array([[1.0, 2.0], [2.0, 1.0]])) is None
    assert solved_once(np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones(2)) is None


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_factors_have_the_precision_of_the_matrix(precision):
    M = definite(6).astype(precision)
    L = lower_factor(M)
    assert L.dtype == precision and not np.triu(L, 1).any()
    np.testing.assert_allclose(L @ L.T, M, rtol=1e-5, atol=1e-6)


def test_the_condition_number():
    M = definite(6)
    factor, found = factor_and_condition(M)
    np.testing.assert_allclose(factor, scipy.linalg.cholesky(M, lower=True))
    assert found == pytest.approx(1.0 / np.linalg.cond(M, 1), rel=0.5)
    assert factor_and_condition(-M) == (None, 0.0)


# ---- lengths of steps ----


def parabola(lowest):
    """(t - lowest)^2, with its slope at 0."""
    slope = -2.0 * lowest
    return lambda t: Trial((t - lowest) ** 2, t * slope, t, 2.0 * (t - lowest)), slope


def test_the_first_length_that_falls_is_taken():
    look, _ = parabola(0.2)
    t, end = first_that_falls(look, HALVINGS, 0.04)
    assert t == 0.25 and end.point == 0.25
    assert first_that_falls(look, (1.0, 0.5), 0.04) is None
    refused = first_that_falls(lambda t: Trial(0.0, np.nan, t), HALVINGS, 1.0)
    assert refused is None


@pytest.mark.parametrize("lowest", [0.03, 0.2, 0.9, 1.02, 3.0, 40.0])
def test_the_lowest_point_is_nearly_found(lowest):
    look, slope = parabola(lowest)
    t, end = near_lowest(look, lowest**2, slope, may_lengthen=True)
    assert end.value < lowest**2
    assert t == 1.0 or abs(end.slope) <= 0.1 * abs(slope)
    t, _ = near_lowest(look, lowest**2, slope, may_lengthen=False)
    assert t <= 1.0
