"""An adaptive algorithm whose rule never moves is the plain one, bit by bit.

The same parameters give the same floating-point operations, so nothing may differ: neither the
monitor nor the bookkeeping around a rule touches an iterate.
"""

import numpy as np
import pytest

from dualgap.adaptation import Curvature, Robust, Simple
from dualgap.algorithms import ADFBPD, BPD, DFBPD, AdaBPD, OptBPD
from dualgap.algorithms.primal_dual.bpd import bpd_step
from dualgap.algorithms.primal_dual.df_bpd import df_bpd_step
from dualgap.algorithms.primal_dual.schedules import bpd_steps, df_bpd_steps
from dualgap.algorithms.primal_dual.state import update

from .runs import PENALTIES, problem, states

ITERATIONS = 50
NEVER = 10**6
each_penalty = pytest.mark.parametrize("penalty", PENALTIES)
each_gap_rule = pytest.mark.parametrize("rule", [Simple, Robust])
each_rule = pytest.mark.parametrize("rule", [Simple, Robust, Curvature])
each_loss = pytest.mark.parametrize("loss", ["squared", "logistic", "huber", "strong_logistic"])


def assert_identical(one, two):
    for s, t in zip(one, two, strict=True):
        np.testing.assert_array_equal(s.own.zt, t.own.zt)
        for name in ("x", "y", "z", "u"):
            np.testing.assert_array_equal(getattr(s, name), getattr(t, name))
        assert (s.t, s.primal, s.dual) == (t.t, t.primal, t.dual)
        assert (s.own.Delta, s.own.Lam) == (t.own.Delta, t.own.Lam)
        assert s.own.steps == t.own.steps


@each_penalty
@each_gap_rule
def test_frozen_ada_bpd_is_bpd(penalty, rule):
    """Algorithms 3 and 4 extrapolate with the theorem's theta, as Algorithm 1 does."""
    mu = 0.9
    small = problem("squared", penalty)
    one = states(BPD(mu=mu), small, ITERATIONS)
    two = states(AdaBPD(adapt=rule(period=NEVER, start=one[0].own.Delta)), small, ITERATIONS)
    assert one[0].own.steps.theta < 1.0
    assert_identical(one, two)


@each_penalty
@each_gap_rule
def test_frozen_ada_bpd_is_bpd_with_the_same_mu(penalty, rule):
    small = problem("squared", penalty)
    one = states(BPD(mu=0.9), small, ITERATIONS)
    two = states(AdaBPD(adapt=rule(period=NEVER), mu=0.9), small, ITERATIONS)
    assert_identical(one, two)


@each_penalty
@each_gap_rule
def test_frozen_ada_bpd_is_opt_bpd(penalty, rule):
    for loss in ("squared", "strong_logistic"):
        small = problem(loss, penalty)
        one = states(OptBPD(), small, ITERATIONS)
        assert one[0].own.Delta > 0.0
        two = states(AdaBPD(adapt=rule(period=NEVER, start=one[0].own.Delta)), small, ITERATIONS)
        assert_identical(one, two)


@each_penalty
@each_gap_rule
def test_frozen_adf_bpd_is_df_bpd(penalty, rule):
    """With schedule="theorem" both take the steps of the proof, 1/(2L)."""
    small = problem("squared", penalty)
    one = states(DFBPD(mu=0.9, schedule="theorem"), small, ITERATIONS)
    rule = rule(period=NEVER, start=one[0].own.Delta)
    two = states(ADFBPD(adapt=rule, schedule="theorem"), small, ITERATIONS)
    assert one[0].own.steps.theta < 1.0
    assert_identical(one, two)


@each_loss
@each_penalty
@each_rule
@pytest.mark.parametrize("dual_free", [False, True], ids=["Algorithm 1", "Algorithm 6"])
def test_frozen_is_the_plain_iteration_at_its_parameters(loss, penalty, rule, dual_free):
    """Also for losses whose plain method knows no Delta > 0, and with theta = 1 (curvature)."""
    small = problem(loss, penalty)
    lam, Delta = PENALTIES[penalty].get("l2", 0.0), 0.03
    algorithm = ADFBPD if dual_free else AdaBPD
    two = states(algorithm(adapt=rule(period=NEVER, start=Delta)), small, ITERATIONS)
    theta_one = rule is Curvature
    Lam = small.constants.Lam_estimate.value
    if dual_free:
        steps = df_bpd_steps(small.loss, Lam, lam, Delta, k=1.0, theta_one=theta_one)
    else:
        steps = bpd_steps(small.loss, Lam, lam, Delta, theta_one=theta_one)
    assert (steps.theta == 1.0) == (theta_one or (small.loss.delta == 0 and not dual_free))
    one = [update(two[0], steps=steps)]
    for _ in range(ITERATIONS):
        one.append((df_bpd_step if dual_free else bpd_step)(small, one[-1]))
    assert_identical(one, two)


def test_a_rule_that_moves_is_not_frozen():
    small = problem("squared", "l2")
    frozen = states(AdaBPD(adapt=Simple(period=NEVER, start=0.03)), small, 11)
    moving = states(AdaBPD(adapt=Simple(period=10, start=0.03)), small, 11)
    assert_identical(frozen[:10], moving[:10])
    assert moving[10].own.Delta in (0.015, 0.06)
    assert (frozen[11].y != moving[11].y).any()
