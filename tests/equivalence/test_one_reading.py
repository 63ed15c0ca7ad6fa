"""Dual-free batch iterations on dense data: one reading for both products, the same iterates."""

from __future__ import annotations

import numpy as np
import pytest

import dualgap
from dualgap.api import Problem
from dualgap.designs import dense
from dualgap.designs.dense import DenseDesign

RNG = np.random.default_rng(7)
A = RNG.normal(size=(150, 6)) * np.array([1.0, 3.0, 0.1, 1.0, 1.0, 2.0])
SIGNS = np.sign(A @ RNG.normal(size=6) + RNG.normal(size=150))
CODES = RNG.integers(0, 3, 150)
PROBLEMS = {
    "squared": {"b": A[:, 0] + RNG.normal(size=150), "l2": 1e-3},
    "logistic": {"b": SIGNS, "loss": "logistic", "l1": 1e-3, "fit_intercept": True},
    "weights": {
        "b": SIGNS,
        "loss": "smoothed_hinge",
        "l2": 1e-2,
        "sample_weight": RNG.integers(0, 3, 150),
        "offset": 0.5 * RNG.normal(size=150),
        "fit_intercept": True,
    },
    "multinomial": {"b": CODES, "loss": "multinomial", "l2": 1e-3, "fit_intercept": True},
}
ALGORITHMS = ["df-bpd", "adf-bpd"]


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(dense, "block_rows", lambda columns: 5)


def run(name, algorithm, passes, **options):
    problem = Problem(A, **PROBLEMS[name])
    return problem.solve(algorithm=algorithm, tol=1e-15, max_passes=passes, **options)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("precondition", ["none", "diagonal"])
def test_the_iterates_are_those_of_two_products(
    monkeypatch, small_blocks, name, algorithm, precondition
):
    assert Problem(A, **PROBLEMS[name]).design.reads_once
    one = run(name, algorithm, 25, precondition=precondition)
    assert one.state.own.ahead is not None
    monkeypatch.setattr(DenseDesign, "reads_once", property(lambda self: False))
    two = run(name, algorithm, 25, precondition=precondition)
    assert two.state.own.ahead is None
    assert one.state.t == two.state.t
    first, second = ({**vars(s), **vars(s.own)} for s in (one.state, two.state))
    for field in ("x", "y", "z", "zt", "u", "v"):
        ours, theirs = first[field], second[field]
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_run_in_parts_is_bitwise_the_same(small_blocks, name, algorithm):
    whole = run(name, algorithm, 41)
    problem = Problem(A, **PROBLEMS[name])
    part = problem.solve(algorithm=algorithm, tol=1e-15, max_passes=17)
    rest = problem.solve(algorithm=algorithm, tol=1e-15, max_passes=24, state=part.state)
    for field in ("x", "y", "z", "u"):
        assert np.array_equal(getattr(whole.state, field), getattr(rest.state, field))
    assert np.array_equal(whole.state.own.v, rest.state.own.v)


def test_the_data_are_read_once_an_iteration(monkeypatch, small_blocks):
    counts = {"matvec": 0, "rmatvec": 0, "_swept": 0}
    for verb in counts:
        own = getattr(DenseDesign, verb)

        def counted(self, *arguments, verb=verb, own=own):
            counts[verb] += 1
            return own(self, *arguments)

        monkeypatch.setattr(DenseDesign, verb, counted)
    problem = Problem(A, **PROBLEMS["squared"])
    state = problem.solve(algorithm="df-bpd", tol=1e-15, max_passes=1).state
    others = []
    for passes in (10, 20):
        counts.update(matvec=0, rmatvec=0, _swept=0)
        problem.solve(algorithm="df-bpd", tol=1e-15, max_passes=passes, state=state)
        assert counts["_swept"] == passes
        others.append(counts["matvec"] + counts["rmatvec"])
    assert others[0] == others[1]  # those of the certificate


def test_a_rollback_forgets_what_was_made_ahead(small_blocks):
    """A start that promises too much is taken back, and the run still converges."""
    rule = dualgap.adaptation.Simple(start=1e3)
    result = dualgap.solve(
        A, PROBLEMS["squared"]["b"], l2=1e-4, algorithm="adf-bpd", adapt=rule, max_passes=5000
    )
    assert result.status.converged
