"""Steps by local curvature: shorter runs, an honest Lam, and a monitor that takes them back."""

from __future__ import annotations

import numpy as np
import pytest

import dualgap
from dualgap.algorithms import ADFBPD
from dualgap.api import Problem
from dualgap.objective.constants import Constants

RNG = np.random.default_rng(11)
A = RNG.normal(size=(300, 15))
SIGNS = np.sign(A @ RNG.normal(size=15))  # separable: phi'' falls as x grows
SHARED = {"loss": "logistic", "l2": 1e-3 / 300}


def run(local=True, tol=1e-8, problem=None, **options):
    problem = problem or Problem(A, SIGNS, **SHARED)
    return problem.solve(algorithm=ADFBPD(local=local), tol=tol, max_passes=20_000, **options)


def curvature(problem, x):
    """gamma lambda_max(A'Q diag(phi'')A)."""
    w = problem.q * problem.loss.hess(problem.predict(x), problem.b)
    return problem.loss.gamma * np.linalg.eigvalsh(A.T @ (w[:, None] * A))[-1]


def test_runs_are_shorter_where_rows_are_classified_with_confidence():
    local, bound = run(), run(local=False)
    assert local.status.converged
    assert bound.status.converged
    assert local.passes < 0.35 * bound.passes
    assert (
        abs(local.certificate.primal - bound.certificate.primal) <= 2e-8 * bound.certificate.primal
    )


def test_lam_bounds_the_curvature_of_the_region_and_not_of_all():
    problem = Problem(A, SIGNS, **SHARED)
    result = run(problem=problem)
    assert result.state.own.Lam >= curvature(problem, result.x)
    assert result.state.own.Lam <= 0.5 * problem.constants.Lam.value


@pytest.mark.parametrize("loss", ["squared", "smoothed_hinge", "logistic"])
def test_nothing_changes_where_phi_is_as_curved_as_its_bound(loss):
    """Squared loss, losses with kinks, and logistic regression held near 0 by l2."""
    problem = Problem(A, SIGNS, loss=loss, l2=10.0)
    one, two = run(problem=problem), run(local=False, problem=problem)
    assert one.state.own.Lam == two.state.own.Lam
    assert np.array_equal(one.x, two.x)


def test_the_theorems_steps_rest_on_bounds():
    algorithm = ADFBPD(schedule="theorem")
    result = Problem(A, SIGNS, **SHARED).solve(algorithm=algorithm, tol=1e-8, max_passes=200)
    assert result.state.own.Lam == Problem(A, SIGNS, **SHARED).constants.Lam.value


@pytest.mark.parametrize("share", [1e-2, 1e-6])
def test_an_estimate_that_promises_too_much_is_taken_back(monkeypatch, share):
    own = Constants.weighted_Lam
    monkeypatch.setattr(Constants, "weighted_Lam", lambda self, w: (share * own(self, w)[0], 1))
    result = run(tol=1e-6)
    assert result.status.converged


def test_a_roll_back_returns_to_the_bound():
    from dualgap.algorithms.primal_dual.adaptation.monitor import watch_progress
    from dualgap.state import replace

    problem, algorithm = Problem(A, SIGNS, **SHARED), ADFBPD()
    state = problem.solve(algorithm=algorithm, tol=1e-8, max_passes=150).state
    assert 0.0 < state.own.level < 1.0
    lost = replace(state, primal=1e9, dual=0.0)
    back, _ = watch_progress(algorithm, problem, lost, algorithm.adapt)
    assert back.own.Lam == problem.constants.Lam_estimate.value
    assert back.own.level == 0.0
    assert back.own.ahead is None


def test_in_parts_bitwise():
    problem = Problem(A, SIGNS, **SHARED)
    whole = problem.solve(algorithm="adf-bpd", tol=1e-15, max_passes=203)
    part = problem.solve(algorithm="adf-bpd", tol=1e-15, max_passes=58)
    rest = problem.solve(algorithm="adf-bpd", tol=1e-15, max_passes=145, state=part.state)
    assert whole.state.own.level == rest.state.own.level < 1.0
    assert np.array_equal(whole.state.x, rest.state.x)
    assert whole.state.check_passes == rest.state.check_passes


def test_by_name_as_well():
    assert dualgap.solve(A, SIGNS, algorithm="adf-bpd", max_passes=9000, **SHARED).status.converged
