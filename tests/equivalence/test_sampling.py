"""Which rows are visited: streams, probabilities, seeds, and runs that are cut and continued."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.stats

from dualgap import Problem
from dualgap.algorithms import ALGORITHMS, RANDOMISED, SPDC
from dualgap.algorithms.primal_dual.sampling import RUN, make_sampler
from dualgap.dual_points.feasible import repair_is_free
from dualgap.status import Status

NAMES = [cls.name for cls in RANDOMISED if issubclass(cls, SPDC)]
SAMPLINGS = ["uniform", "permuted", "importance"]

# A chi-square test of a right sampler fails with this probability, over seeds; ours are fixed.
SIGNIFICANCE = 1e-3


def problem_with(n=25, d=4, *, weighted=False, seed=1, **more):
    """Heavy-tailed rows; with weights, every fifth of them 0."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-0.5, 0.5, n)[:, None]
    w = rng.uniform(0.2, 2.0, n) * (np.arange(n) % 5 > 0) if weighted else None
    return Problem(A, rng.standard_normal(n), l2=0.05, sample_weight=w, **more)


def given_probabilities(problem):
    """Positive where there is weight, and on one row without weight if there is one."""
    rng = np.random.default_rng(2)
    p = rng.uniform(0.3, 3.0, problem.n) * (problem.q > 0)
    p[0] = 1.0
    return p / p.sum()


# ---- streams ----


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_streams_depend_on_seed_and_epoch_only(sampling, weighted):
    one, other = (make_sampler(problem_with(weighted=weighted), sampling, 7) for _ in range(2))
    forwards = [one.rows(epoch) for epoch in range(6)]
    backwards = [other.rows(epoch) for epoch in reversed(range(6))][::-1]
    np.testing.assert_array_equal(forwards, backwards)
    np.testing.assert_array_equal(one.rows(3), forwards[3])
    different_seed = make_sampler(problem_with(weighted=weighted), sampling, 8)
    streams = [*forwards, *(different_seed.rows(epoch) for epoch in range(6))]
    assert len({tuple(rows) for rows in streams}) == 12


@pytest.mark.parametrize("weighted", [False, True])
def test_runs_lie_together(weighted):
    problem = problem_with(n=37, weighted=weighted)
    rows = make_sampler(problem, "runs", 0).rows(0)
    kept = np.flatnonzero(problem.q > 0)
    np.testing.assert_array_equal(np.sort(rows), kept)
    place = np.searchsorted(kept, rows)
    pieces = np.split(place, np.flatnonzero(np.diff(place) != 1) + 1)
    assert all(piece[0] % RUN == 0 for piece in pieces)
    again = make_sampler(problem, "runs", 0)
    streams = [tuple(again.rows(epoch)) for epoch in range(5)]
    assert tuple(rows) == streams[0] and len(set(streams)) > 1  # a new order in every pass


@pytest.mark.parametrize("weighted", [False, True])
def test_permuted_visits_each_row_with_weight_once(weighted):
    problem = problem_with(weighted=weighted)
    sampler = make_sampler(problem, "permuted", 0)
    for epoch in range(5):
        np.testing.assert_array_equal(np.sort(sampler.rows(epoch)), np.flatnonzero(problem.q))


def p_value(sampler, p, epochs=400):
    """Of the chi-square test that the visits have probabilities p; 0 if p rules one out."""
    drawn = np.concatenate([sampler.rows(epoch) for epoch in range(epochs)])
    counts = np.bincount(drawn, minlength=p.size)
    if counts[p == 0].any():
        return 0.0
    assert (p[p > 0] * drawn.size >= 10).all()  # so that the chi-square distribution applies
    return scipy.stats.chisquare(counts[p > 0], p[p > 0] * drawn.size).pvalue


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sampling", ["uniform", "importance", "given"])
def test_frequencies_are_the_probabilities(sampling, weighted):
    problem = problem_with(weighted=weighted)
    q, norms = problem.q, (problem.design.A**2).sum(axis=1)
    expected = {
        "uniform": q,
        "importance": q / 2 + q * norms / (2 * q @ norms),
        "given": given_probabilities(problem),
    }[sampling]
    sampler = make_sampler(problem, expected if sampling == "given" else sampling, 3)
    np.testing.assert_allclose(sampler.p, expected, rtol=1e-14)
    assert p_value(sampler, expected) > SIGNIFICANCE


def test_the_frequency_test_sees_wrong_probabilities():
    """Negative control: a quarter too much on the first half of the rows."""
    problem = problem_with()
    wrong = problem.q * np.where(np.arange(25) < 12, 1.25, 1.0)
    assert p_value(make_sampler(problem, "uniform", 3), wrong / wrong.sum()) < SIGNIFICANCE


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_successive_draws_of_a_pass_are_independent(sampling):
    """Pairs of neighbours, counted over many passes: all n^2 alike (permuted: no row repeats)."""
    problem = problem_with(n=6)
    sampler = make_sampler(problem, sampling, 4)
    pairs = np.zeros((6, 6))
    for epoch in range(3000):
        rows = sampler.rows(epoch)
        np.add.at(pairs, (rows[:-1:2], rows[1::2]), 1)
    if sampling == "permuted":
        assert not pairs.diagonal().any()
        expected = np.full(30, 300.0)
        counts = pairs[~np.eye(6, dtype=bool)]
    else:
        expected, counts = 9000 * np.outer(sampler.p, sampler.p).ravel(), pairs.ravel()
    assert scipy.stats.chisquare(counts, expected).pvalue > SIGNIFICANCE


# ---- what follows from the probabilities ----


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("sampling", [*SAMPLINGS, "given"])
def test_ratio_and_R(sampling, weighted, intercept):
    """R^2 = max |a_i|^2 q_i/p_i with sigma_i = sigma; an intercept's column belongs to a_i."""
    problem = problem_with(weighted=weighted, fit_intercept=intercept)
    chosen = given_probabilities(problem) if sampling == "given" else sampling
    sampler = make_sampler(problem, chosen, 0)
    assert sampler.p.sum() == pytest.approx(1.0, rel=1e-12)
    assert (sampler.p[problem.q > 0] > 0).all()
    drawn = sampler.p > 0
    np.testing.assert_allclose(
        sampler.ratio[drawn] * sampler.p[drawn], problem.q[drawn], rtol=1e-14
    )
    assert not sampler.ratio[~drawn].any()
    A = np.column_stack([problem.design.matvec(e) for e in np.eye(problem.size)])
    R_sq = max(
        (A[i] @ A[i]) * problem.q[i] / sampler.p[i] for i in range(problem.n) if sampler.p[i] > 0
    )
    assert pytest.approx(math.sqrt(R_sq), rel=1e-12) == sampler.R
    assert sampler.least == sampler.p[drawn].min()
    if sampling == "importance":
        mean_square = problem.q @ (A**2).sum(axis=1)
        assert sampler.R**2 <= 2 * mean_square * (1 + 1e-12)
        assert sampler.R < make_sampler(problem, "uniform", 0).R


def test_rows_of_zeros():
    sampler = make_sampler(Problem(np.zeros((5, 2)), np.ones(5)), "importance", 0)
    np.testing.assert_array_equal(sampler.p, np.full(5, 0.2))
    assert sampler.R > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: 1.001 * p, "sum to 1"),
        (lambda p: np.append(0.0, p[1:]) / p[1:].sum(), r"sampling\[0\] = 0"),
        (lambda p: p[:-1] / p[:-1].sum(), "25"),
        (lambda p: np.append(p, 0.0), "25"),
        (lambda p: np.concatenate([[-p[0], p[1] + 2 * p[0]], p[2:]]), "negative"),
        (lambda p: np.where(np.arange(25) == 3, np.nan, p), "finite"),
        (lambda p: "by weight", "importance"),
        (lambda p: 7, "sampling"),
    ],
    ids=["sum", "zero", "short", "long", "negative", "nan", "name", "number"],
)
def test_bad_probabilities_are_refused(change, message):
    problem = problem_with()
    good = given_probabilities(problem)
    SPDC(sampling=good).start(problem, None, None)
    with pytest.raises((ValueError, TypeError), match=message):
        SPDC(sampling=change(good)).start(problem, None, None)


def test_a_problem_does_not_confuse_probabilities():
    """Its samplers are kept; what they are kept by must be the values, not where they lie."""
    problem = problem_with(n=4)
    rng = np.random.default_rng(3)
    for _ in range(50):
        p = rng.uniform(0.5, 1.5, 4)
        p /= p.sum()
        sampler = SPDC(sampling=p.tolist()).sampler(problem)
        np.testing.assert_allclose(sampler.p, p, rtol=1e-12)


def test_probabilities_changed_in_place_are_seen():
    problem = problem_with(n=4)
    p = np.full(4, 0.25)
    SPDC(sampling=p).sampler(problem)
    p[:] = [0.1, 0.2, 0.3, 0.4]
    sampler = SPDC(sampling=p).sampler(problem)
    np.testing.assert_allclose(sampler.ratio, problem.q / [0.1, 0.2, 0.3, 0.4], rtol=1e-12)


# ---- seeds ----


def same(one, other, *, but=()):
    """Two states are bitwise the same, but for these parts of the incumbent."""
    for field in dataclasses.fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if field.name == "incumbent":
            a, b = vars(a), vars(b)
            a, b = ({k: v for k, v in point.items() if k not in but} for point in (a, b))
        if field.name != "own":
            np.testing.assert_equal(a, b, err_msg=field.name)
            continue
        a, b = vars(a), vars(b)
        for part in ("remembered", "watch"):  # dataclasses of their own
            pair = (None if x[part] is None else vars(x[part]) for x in (a, b))
            np.testing.assert_equal(*pair, err_msg=part)
        rest = ({k: v for k, v in x.items() if k not in ("remembered", "watch")} for x in (a, b))
        np.testing.assert_equal(*rest, err_msg="own")


LOGISTIC = {"loss": "logistic", "l1": 0.01, "l2": 0.02}
SETTINGS = {
    "ridge": {"l2": 0.02},
    "none": {},
    "elastic net, intercept": {"l1": 0.01, "l2": 0.02, "fit_intercept": True},
}


def two_layouts(**more):
    """A sparse 40 x 9 problem, dense and as CSR."""
    rng = np.random.default_rng(4)
    A = rng.standard_normal((40, 9)) * (rng.random((40, 9)) < 0.4)
    b = A @ rng.standard_normal(9) + rng.standard_normal(40)
    if more.get("loss") == "logistic":
        b = np.sign(b)
    return [Problem(A, b, **more), Problem(sp.csr_array(A), b, **more)]


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_run_other_seed_other_run(name):
    for problem in two_layouts(**LOGISTIC):
        options = {"algorithm": name, "tol": 1e-12, "max_passes": 20}
        one = problem.solve(random_state=5, **options)
        same(one.state, problem.solve(random_state=5, **options).state)
        fresh = two_layouts(**LOGISTIC)[sp.issparse(problem.design.A)]
        same(one.state, fresh.solve(random_state=5, **options).state)
        assert (one.state.x != problem.solve(random_state=6, **options).state.x).any()


def test_a_generator_is_a_seed():
    problem = two_layouts(l2=0.02)[0]
    options = {"algorithm": "spdc", "tol": 1e-12, "max_passes": 4}

    def run(random_state):
        return problem.solve(random_state=random_state, **options).state.x

    np.testing.assert_array_equal(run(np.random.default_rng(1)), run(np.random.default_rng(1)))
    assert (run(np.random.default_rng(1)) != run(np.random.default_rng(2))).any()
    np.testing.assert_array_equal(run(None), run(None))


# ---- cut and continued ----


def check_joined(problem, **options):
    options = {"tol": 1e-15, "random_state": 2, **options}
    whole = problem.solve(max_passes=40, **options)
    part = problem.solve(max_passes=18, **options)
    assert part.state.passes == 18
    joined = problem.solve(max_passes=22, state=part.state, **options)
    assert whole.state.passes == joined.state.passes == 40
    # Where D = -inf along the iterates the bound comes from paid checks, whose times differ.
    same(joined.state, whole.state, but=() if repair_is_free(problem) else ("dual", "y"))
    np.testing.assert_array_equal(joined.x, whole.x)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", NAMES)
def test_two_runs_joined_by_the_state_are_one(name, setting):
    for problem in two_layouts(**SETTINGS[setting]):
        check_joined(problem, algorithm=name)


@pytest.mark.parametrize("adapt", ["simple", "robust"])
@pytest.mark.parametrize("name", ["ada-spdc", "adf-spdc"])
def test_two_runs_are_one_with_the_rules_of_the_paper(name, adapt):
    """A cut in the middle of a period of 10 passes."""
    for problem in two_layouts(**LOGISTIC):
        check_joined(problem, algorithm=name, adapt=adapt)


class Points(list):
    """The points that a callback has seen."""

    def look(self, snapshot):
        self.append(snapshot.x.copy())


@pytest.mark.parametrize("name", NAMES)
def test_looking_on_changes_nothing(name):
    """Callback and tol decide only when to stop."""
    for problem in two_layouts(**LOGISTIC):
        seen = Points()
        options = {"algorithm": name, "max_passes": 30, "random_state": 1}
        plain = problem.solve(tol=1e-15, **options)
        watched = problem.solve(tol=1e-15, callback=seen.look, **options)
        same(plain.state, watched.state)
        assert len(seen) == 16
        loose = problem.solve(tol=1e-2, **options)
        assert loose.status is Status.CONVERGED and loose.state.passes < 30
        np.testing.assert_array_equal(loose.state.x, seen[loose.state.t])


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("name", NAMES)
def test_weights_are_repeated_rows(name, sampling):
    """Both optima are within sqrt(2 gap/l2) of the solutions, by strong convexity."""
    rng = np.random.default_rng(6)
    A, weights = rng.standard_normal((30, 4)), rng.integers(0, 4, 30)
    b = np.sign(A @ rng.standard_normal(4) + rng.standard_normal(30))
    more = {"loss": "logistic", "l2": 0.1}
    algorithm = ALGORITHMS[name](sampling=sampling)
    options = {"algorithm": algorithm, "tol": 1e-10, "max_passes": 3000}
    weighted = Problem(A, b, sample_weight=weights, **more).solve(**options)
    repeated = Problem(np.repeat(A, weights, axis=0), np.repeat(b, weights), **more)
    repeated = repeated.solve(**options)
    radius = 0.0
    for result in (weighted, repeated):
        assert result.status is Status.CONVERGED
        radius += math.sqrt(2 * result.certificate.gap / 0.1)
    assert radius < 1e-4
    assert np.linalg.norm(weighted.x - repeated.x) <= radius
