"""Dual coordinate ascent: every step is exact, and the dual never falls."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

import dualgap
from dualgap.losses import LOSSES

RNG = np.random.default_rng(3)
A = RNG.standard_normal((60, 9)) * (RNG.random((60, 9)) < 0.6)
SCALAR = [name for name, loss in LOSSES.items() if loss.code >= 0 and not loss.is_vector]


def targets(loss):
    z = A @ np.linspace(-1, 1, 9) + np.random.default_rng(4).standard_normal(60)
    return z if loss in ("squared", "huber") else np.where(z > 0, 1.0, -1.0)


@pytest.mark.parametrize("loss", SCALAR)
@pytest.mark.parametrize("l1", [0.0, 0.02])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("uneven", [False, True])
def test_certified(loss, l1, storage, uneven):
    p = np.linspace(0.5, 2.0, 9) if uneven else None
    w = np.arange(60) % 3 + 1.0 if uneven else None
    b = targets(loss)
    result = dualgap.solve(
        storage(A), b, loss=loss, l1=l1, l2=0.1, penalty_weights=p, sample_weight=w,
        algorithm="sdca", tol=1e-9,
    )  # fmt: skip
    assert result.status.converged
    steps = np.diff(result.trace.dual)
    assert (steps[:-1] >= -1e-14).all()
    assert steps[-1] >= -2e-14  # from D in floats to a proved bound, every rounding counted


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_a_step_maximises_the_dual(storage):
    """One row visited: no other value of its y gives a larger D."""
    b = targets("logistic")
    problem = dualgap.Problem(storage(A), b, loss="logistic", l2=0.1)
    algorithm = dualgap.algorithms.SDCA()
    s = algorithm.start(problem, None, None).state
    after = algorithm.visit(problem, s, np.array([7]))

    def minus_dual(value):
        y = s.y.copy()
        y[7] = value
        return problem.conjugate_sum(y) + problem.regularizer.conj(-problem.adjoint(y))

    low, high = sorted((0.0, -b[7]))
    best = scipy.optimize.minimize_scalar(
        minus_dual, bounds=(low, high), method="bounded", options={"xatol": 1e-10}
    )
    assert minus_dual(after.y[7]) <= best.fun + 1e-13
    np.testing.assert_allclose(after.u, problem.adjoint(after.y), atol=1e-14)


def test_free_coordinates_are_refused():
    with pytest.raises(ValueError, match=r"'sdca' needs l2 > 0 on every coordinate"):
        dualgap.solve(A, targets("squared"), l2=0.1, fit_intercept=True, algorithm="sdca")


@pytest.mark.parametrize("cuts", [(20, 20), (3, 4, 14, 19), (1,) * 40], ids=str)
def test_a_run_in_parts_is_one_run(cuts):
    """Checks come when they are due, and x and y do not depend on where a run was cut."""
    problem = dualgap.Problem(A, targets("logistic"), loss="logistic", l2=1e-4)
    whole = problem.solve(algorithm="sdca", tol=1e-15, max_passes=40)
    assert whole.state.passes == 40
    state = None
    for passes in cuts:
        state = problem.solve(algorithm="sdca", tol=1e-15, max_passes=passes, state=state).state
    assert state.passes == 40
    for name in ("x", "y", "u"):
        np.testing.assert_array_equal(getattr(state, name), getattr(whole.state, name))


def test_strengths_may_change():
    """What is kept with the data does not depend on them."""
    p = np.linspace(0.5, 2.0, 9)
    strong = dualgap.Problem(A, targets("squared"), l2=10.0, penalty_weights=p)
    assert strong.solve(algorithm="sdca").status.converged
    weak = strong.replace(l2=0.1).solve(algorithm="sdca")
    fresh = dualgap.solve(A, targets("squared"), l2=0.1, penalty_weights=p, algorithm="sdca")
    assert weak.status.converged
    np.testing.assert_array_equal(weak.x, fresh.x)


@pytest.mark.parametrize("tol", [1e-300, 5e-324])
def test_hardly_any_tolerance(tol):
    b = 100.0 * targets("squared")
    result = dualgap.solve(A, b, l2=0.1, algorithm="sdca", tol=tol, max_passes=2000)
    assert result.certificate.relative_gap <= 1e-12
