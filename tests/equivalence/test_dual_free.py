"""Squared loss: the dual-free step is the dual step, iterate by iterate, at equal steps.

prox_{sigma phi*} of squared loss is a convex combination, so is the dual-free line 1:
sigma_DF = gamma sigma and v = gamma y + b make them the same (gamma = 1).
"""

from dataclasses import replace

import numpy as np
import pytest

from dualgap import Problem
from dualgap.algorithms import BPD, DFBPD
from dualgap.algorithms.primal_dual.bpd import bpd_step
from dualgap.algorithms.primal_dual.df_bpd import df_bpd_step
from dualgap.algorithms.primal_dual.schedules import Steps, bpd_steps
from dualgap.algorithms.primal_dual.state import update

from .runs import assert_same, data

A, B = data("squared")
RNG = np.random.default_rng(5)
PROBLEMS = {
    "none": {},
    "l2": {"l2": 0.05},
    "lasso": {"l1": 0.03},
    "elastic net": {"l1": 0.02, "l2": 0.03},
    "weights": {"l2": 0.05, "sample_weight": RNG.integers(0, 4, len(B))},
    "offset": {"l2": 0.05, "offset": RNG.standard_normal(len(B))},
    "intercept": {"l2": 0.05, "fit_intercept": True},
    "everything": {
        "l1": 0.01,
        "l2": 0.02,
        "fit_intercept": True,
        "sample_weight": RNG.random(len(B)),
        "offset": RNG.standard_normal(len(B)),
        "penalty_weights": RNG.random(A.shape[1]),
    },
}
each_problem = pytest.mark.parametrize("name", PROBLEMS)
ITERATIONS = 80
# Each iteration rounds the same numbers in another order.
RTOL = 1e-13


def both_paths(problem, steps, x0=None, y0=None):
    """The two paths of states; steps[t] is used by iteration t, None goes on as it was."""
    one, two = [BPD().start(problem, x0, y0).state], [DFBPD().start(problem, x0, y0).state]
    for parameters in steps:
        if parameters is not None:
            one[-1], two[-1] = (update(s, steps=parameters) for s in (one[-1], two[-1]))
        one.append(bpd_step(problem, one[-1]))
        two.append(df_bpd_step(problem, two[-1]))
    return one, two


def assert_same_paths(problem, one, two):
    assert_same([s.x for s in two], [s.x for s in one], RTOL, "x")
    assert_same([s.y for s in two], [s.y for s in one], RTOL, "y")
    assert_same([s.own.v - problem.b for s in two], [s.y for s in one], RTOL, "v - b")
    assert_same([[s.primal] for s in two], [[s.primal] for s in one], RTOL, "P")
    if np.isfinite(one[-1].dual):
        assert_same([[s.dual] for s in two], [[s.dual] for s in one], RTOL, "D")


@each_problem
@pytest.mark.parametrize("theta", [0.0, 0.9, 1.0])
def test_equal_steps_give_equal_iterates(name, theta):
    problem = Problem(A, B, **PROBLEMS[name])
    steps = bpd_steps(problem.loss, problem.constants.Lam.value, 0.05, 0.1, theta_one=False)
    one, two = both_paths(problem, [replace(steps, theta=theta)] * ITERATIONS)
    assert_same_paths(problem, one, two)
    assert np.ptp([s.x for s in one], axis=0).max() > 0.1  # it went somewhere


@each_problem
def test_also_where_the_steps_change_all_the_time(name):
    problem = Problem(A, B, **PROBLEMS[name])
    rng = np.random.default_rng(1)
    # tau sigma Lam <= 1 keeps any such sequence from blowing up.
    ratios = 10.0 ** rng.uniform(-1, 1, ITERATIONS)
    Lam = problem.constants.Lam.value
    steps = [Steps(r / Lam**0.5, 1 / (r * Lam**0.5), rng.random()) for r in ratios]
    assert_same_paths(problem, *both_paths(problem, steps))


@each_problem
def test_also_where_they_accelerate(name):
    problem = Problem(A, B, **PROBLEMS[name])
    Lam = problem.constants.Lam.value
    first = Steps(1 / Lam, 1.0, 1.0, accelerating=True)
    one, two = both_paths(problem, [first] + [None] * (ITERATIONS - 1))
    assert [s.own.steps for s in one][1:] == [s.own.steps for s in two][1:]
    assert_same_paths(problem, one, two)


@each_problem
def test_also_from_another_start(name):
    problem = Problem(A, B, **PROBLEMS[name])
    rng = np.random.default_rng(2)
    steps = bpd_steps(problem.loss, problem.constants.Lam.value, 0.05, 0.1, theta_one=True)
    x0, y0 = rng.standard_normal(problem.size), rng.standard_normal(problem.n)
    assert_same_paths(problem, *both_paths(problem, [steps] * ITERATIONS, x0, y0))


def test_another_dual_step_gives_other_iterates():
    # The equality is not one of any two convergent methods.
    problem = Problem(A, B, l2=0.05)
    steps = bpd_steps(problem.loss, problem.constants.Lam.value, 0.05, 0.1, theta_one=True)
    one, _ = both_paths(problem, [steps] * 10)
    _, two = both_paths(problem, [replace(steps, sigma=1.01 * steps.sigma)] * 10)
    assert abs(one[-1].x - two[-1].x).max() > 1e-6 * abs(one[-1].x).max()
