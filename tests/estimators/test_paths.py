"""Paths: every point certified, and the same as solving each alone."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as theirs

import dualgap
from dualgap.api import Problem
from dualgap.paths import _walk, largest_lambda
from tests.estimators.data import labels, regression

X, Y, WEIGHTS = regression()
CODES = np.unique(labels(3), return_inverse=True)[1]
SIGNS = np.where(labels(2) == "ant", -1.0, 1.0)
CASES = [
    ("squared", Y, 1.0),
    ("squared", Y, 0.3),
    ("logistic", SIGNS, 1.0),
    ("multinomial", CODES, 0.5),
    ("smoothed_hinge", SIGNS, 1.0),
    ("huber", Y, 0.5),
]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("loss", "b", "ratio"), CASES)
def test_every_point_is_certified(loss, b, ratio, intercept):
    options = {"loss": loss, "fit_intercept": intercept, "sample_weight": WEIGHTS}
    path = dualgap.path(X, b, lambdas=8, l1_ratio=ratio, tol=1e-8, max_passes=10_000, **options)
    assert len(path) == 8
    assert path.converged
    assert "8 converged" in repr(path)
    assert (np.diff(path.lambdas) < 0).all()
    for k, strength in enumerate(path.lambdas):
        intercept = path.intercepts[k] if path.intercepts.ndim == 2 else float(path.intercepts[k])
        strengths = {"l1": strength * ratio, "l2": strength * (1 - ratio)}
        again = dualgap.certify(
            X, b, path.x[k], path.y[k], intercept=intercept, **strengths, **options
        )
        assert again == path.certificates[k]
        assert again.relative_gap <= 1e-8


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("loss", "b", "ratio"), CASES)
def test_the_path_begins_where_everything_is_0(loss, b, ratio, intercept):
    options = {"loss": loss, "fit_intercept": intercept, "sample_weight": WEIGHTS}
    top = largest_lambda(Problem(X, b, **options))
    zero = dualgap.solve(X, b, l1=1.001 * top, tol=1e-12, max_passes=20_000, **options)
    some = dualgap.solve(X, b, l1=0.99 * top, tol=1e-12, max_passes=20_000, **options)
    assert not zero.x.any()
    assert some.x.any()


def test_the_same_as_scikit_learns_path():
    lambdas, coefs, _ = theirs.lasso_path(X, Y, alphas=20, tol=1e-10)
    path = dualgap.path(X, Y, lambdas=20, tol=1e-12, max_passes=20_000)
    np.testing.assert_allclose(path.lambdas, lambdas, rtol=1e-12)
    np.testing.assert_allclose(path.x.T, coefs, atol=1e-5)


def test_a_path_takes_fewer_passes_than_its_points_alone():
    options = {"algorithm": "adf-bpd", "tol": 1e-8}
    path = dualgap.path(X, Y, lambdas=np.geomspace(1, 1e-3, 30), l1_ratio=0, **options)
    alone = sum(dualgap.solve(X, Y, l2=v, **options).passes for v in path.lambdas)
    assert path.passes.sum() < 0.6 * alone


def test_given_lambdas_are_sorted_and_0_is_allowed():
    path = dualgap.path(X, Y, lambdas=[0.0, 1.0, 0.1], tol=1e-10)
    assert path.lambdas.tolist() == [1.0, 0.1, 0.0]
    expected = theirs.LinearRegression(fit_intercept=False).fit(X, Y).coef_
    np.testing.assert_allclose(path.x[-1], expected, atol=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lambdas": 0}, "lambdas must be an integer of at least 1"),
        ({"lambdas": []}, "lambdas must be a number of points or a list"),
        ({"lambdas": [-1.0]}, "lambdas must not be negative"),
        ({"l1_ratio": 0.0}, "give the lambdas"),
        ({"l1_ratio": 1.5}, "l1_ratio must be at most 1"),
        ({"eps": 0.0}, "eps must be more than 0"),
        ({"x0": np.zeros(6)}, "unexpected keyword argument 'x0'"),
        ({"penalty_weights": [0, 1, 1, 1, 1, 1]}, "penalty_weights leave a column free"),
        ({"tol": -1.0}, "tol must be more than 0"),
        ({"max_passes": "many"}, "max_passes"),
        ({"random_state": -1}, "random_state must not be negative"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        dualgap.path(X, Y, **options)


def test_replace_shares_the_constants_and_nothing_else():
    problem = Problem(X, Y, l2=0.1, fit_intercept=True, sample_weight=WEIGHTS)
    first = problem.solve(tol=1e-9)
    other = problem.replace(b=2 * Y, l1=0.05, l2=0.0)
    assert other.constants is problem.constants
    assert (problem.l1, problem.l2) == (0.0, 0.1)
    fresh = Problem(X, 2 * Y, l1=0.05, fit_intercept=True, sample_weight=WEIGHTS)
    a, b = other.solve(tol=1e-9), fresh.solve(tol=1e-9)
    assert a.certificate == b.certificate
    assert np.array_equal(problem.solve(tol=1e-9).x, first.x)
    with pytest.raises(ValueError, match="make a new Problem"):
        problem.replace(b=CODES, loss="multinomial")


def test_no_extrapolation_from_points_that_lie_close():
    """Strides of very different length would magnify what is left of errors."""
    from dualgap.paths._ahead import shares as _shares

    even = _shares([3.0, 2.0, 1.0], 0.0)
    np.testing.assert_allclose(even, [1.0, -3.0, 3.0])
    for at in ([0.001, 0.0, -1.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]):
        assert _shares(at, -2.0)[0] == 0.0
        assert np.abs(_shares(at, -2.0)).sum() <= 4.0
        assert sum(_shares(at, -2.0)) == pytest.approx(1.0)


# ---- the ways that a walk takes ----

LAMBDAS = np.geomspace(1.0, 1e-3, 12)
WIDE = np.random.default_rng(5).normal(size=(30, 80))
WIDE_Y = WIDE[:, 0] - 2.0 * WIDE[:, 1] + 0.1 * np.random.default_rng(6).normal(size=30)
WAYS = [
    ("_squared", X, Y, "squared", 0.0),
    ("_squared", X, Y, "squared", 0.5),
    ("_squared", X, Y, "squared", 1.0),
    ("_squared", WIDE, WIDE_Y, "squared", 0.0),
    ("_chords", X, SIGNS, "logistic", 0.0),
    ("_chords", X, SIGNS, "logistic", 0.5),
    ("_chords", X, SIGNS, "logistic", 1.0),
    ("_chords", X, SIGNS, "strong_logistic", 0.0),
    ("_chords", WIDE, np.sign(WIDE_Y), "logistic", 0.0),
    ("_chords", WIDE, np.sign(WIDE_Y), "logistic", 1.0),
    ("space", X, Y, "squared", 0.0),
    ("space", WIDE, WIDE_Y, "squared", 0.0),
    ("subspace", X, SIGNS, "logistic", 0.0),
    ("subspace", WIDE, np.sign(WIDE_Y), "logistic", 0.0),
    ("columns", X, Y, "squared", 0.5),
    ("columns", X, SIGNS, "logistic", 0.5),
    ("columns", WIDE, np.sign(WIDE_Y), "logistic", 1.0),
]


def way(name, monkeypatch):
    """The module, and no other way that would be shorter."""
    from dualgap.linalg import krylov_factor
    from dualgap.paths import _chords, _models, _squared

    if name in ("space", "columns"):
        monkeypatch.setattr(_squared, "on_gram_matrix", lambda *_: False)
        monkeypatch.setattr(_models, "may_form", lambda *_: False)
    if name == "subspace":
        monkeypatch.setattr(krylov_factor, "FACTORISED", 0.0)
    return _squared if name in ("_squared", "space") else _chords


@pytest.mark.parametrize("layout", ["dense", "csr", "float32"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("name", "A", "b", "loss", "ratio"), WAYS)
def test_short_ways_lead_where_solves_lead(monkeypatch, name, A, b, loss, ratio, intercept, layout):
    """The same points, weights, penalty weights and offsets included, without a solve."""
    from dualgap.driver.light import MOST_FAILURES
    from dualgap.paths import _chords

    module = way(name, monkeypatch)
    rng = np.random.default_rng(3)
    n, d = A.shape
    data = {"dense": A, "csr": sp.csr_array(A), "float32": A.astype(np.float32)}[layout]
    options = {
        "loss": loss,
        "l1_ratio": ratio,
        "fit_intercept": intercept,
        "sample_weight": rng.integers(0, 3, n),
        "penalty_weights": rng.uniform(0.5, 2.0, d),
        "offset": 0.3 * rng.normal(size=n),
        "lambdas": LAMBDAS,
        "tol": 1e-9,
    }
    plain = dualgap.path(data, b, **options)
    by_solves = dualgap.path(data, b, callback=lambda snapshot: None, **options)
    assert by_solves.converged
    np.testing.assert_allclose(plain.x, by_solves.x, atol=3e-4)
    np.testing.assert_allclose(plain.intercepts, by_solves.intercepts, atol=3e-4)
    for ours, theirs_ in zip(plain.certificates, by_solves.certificates, strict=True):
        assert ours.dual <= theirs_.primal and theirs_.dual <= ours.primal
        assert ours.relative_gap <= 1e-9

    solves = []
    solve = _walk.solve_problem
    monkeypatch.setattr(_walk, "solve_problem", lambda p, **o: solves.append(p) or solve(p, **o))
    problem = Problem(data, b, loss=loss, fit_intercept=intercept)
    pairs = [(v * ratio, v * (1 - ratio)) for v in LAMBDAS]
    assert module.pays(problem, pairs)
    dualgap.path(data, b, **options)
    assert len(solves) <= (1 + MOST_FAILURES if module is _chords else 0)


def test_what_the_gram_matrix_cannot_tell_is_left_to_solves():
    """Columns that differ by less than the rounding of their squares, and a large mean."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=(60, 1))
    A = np.hstack([base + 1e-9 * rng.normal(size=(60, 3)), rng.normal(size=(60, 2)) + 1e8])
    b = rng.normal(size=60)
    path = dualgap.path(
        A, b, lambdas=np.geomspace(1, 1e-12, 10), l1_ratio=0.0, fit_intercept=True, tol=1e-8
    )
    for k, strength in enumerate(path.lambdas):
        certificate = dualgap.certify(
            A, b, path.x[k], path.y[k], l2=strength, intercept=float(path.intercepts[k])
        )
        assert certificate == path.certificates[k]
        assert path.statuses[k].converged == (certificate.relative_gap <= 1e-8)


def found(problem, x, run=None):
    """The light run's answer from this point."""
    return (run or _walk.light_run(1e-9, np.inf)).find(problem, x, problem.predict(x))


def test_a_light_run_gives_up_where_steps_do_not_come_near():
    """From far away, where phi'' says nothing; and never again after that has happened twice."""
    from dualgap.driver.light import MOST_FAILURES

    problem = Problem(X, SIGNS, loss="logistic", l2=1e-3)
    run = _walk.light_run(1e-9, np.inf)
    far = np.full(X.shape[1], 1e3)
    for _ in range(MOST_FAILURES):
        assert found(problem, far, run) is None
    near = problem.solve(tol=1e-12).x
    assert found(problem, near, run) is None
    again = found(problem, near)
    assert again is not None
    assert again.certificate.relative_gap <= 1e-9
    assert found(problem, np.full(X.shape[1], np.nan)) is None


def test_nothing_left_to_gain_is_no_reason_to_divide_by_it():
    """One class: the intercept alone makes every loss as small as it likes, and the gap 0."""
    A = np.random.default_rng(0).standard_normal((30, 60))
    options = {"loss": "logistic", "fit_intercept": True, "tol": 1e-4}
    path = dualgap.path(A, np.ones(30), lambdas=[1, 0.5, 0.3, 0.1, 0.05, 0.01], **options)
    assert np.isfinite(path.x).all()


def test_max_passes_limits_attempts_and_counts_them(monkeypatch):
    """Points that a light run gave up cost what was spent on them, too."""
    from dualgap.driver.light import MOST_STEPS, LightRun
    from dualgap.paths import _models, _squared

    monkeypatch.setattr(_squared, "pays", lambda *_: False)
    monkeypatch.setattr(_models, "may_form", lambda *_: False)
    rng = np.random.default_rng(35)
    A = sp.csr_array(rng.standard_normal((8, 300)) + 3 * rng.standard_normal((8, 1)))
    b = A[:, [0]].toarray().ravel() + 0.5 * rng.standard_normal(8)
    options = {"lambdas": 5, "eps": 0.01, "tol": 1e-4}
    spent = []
    find = LightRun.find

    def watched(self, *given):
        found = find(self, *given)
        spent.append((found is None, self.spent))
        return found

    monkeypatch.setattr(LightRun, "find", watched)
    path = dualgap.path(A, b, max_passes=MOST_STEPS, **options)
    assert any(failed and passes > MOST_STEPS for failed, passes in spent)
    for passes, (_, attempt) in zip(path.passes[1:], spent, strict=False):
        assert passes >= attempt


@pytest.mark.parametrize("ratio", [0.0, 1.0])
def test_steps_that_raise_the_objective_are_shortened(ratio, monkeypatch):
    """From a point at which phi'' of the rows that matter is small, Newton's steps go too far."""
    from dualgap.paths import _chords

    problem = Problem(X, SIGNS, loss="logistic", l1=1e-3 * ratio, l2=1e-3 * (1 - ratio))
    start = 6.0 * problem.solve(tol=1e-12).x
    primal = [problem.primal(start, problem.predict(start))]
    search = _chords.first_that_falls

    def watched(look, *given):
        def seen(share):
            trial = look(share)
            primal.append(trial.value)
            return trial

        return search(seen, *given)

    monkeypatch.setattr(_chords, "first_that_falls", watched)
    end = found(problem, start)
    assert end is not None and end.certificate.relative_gap <= 1e-9
    assert (np.diff(primal) > 0).any()  # a step that was too long
    monkeypatch.setattr(_chords, "first_that_falls", lambda look, *_: (1.0, look(1.0)))
    assert found(problem, start) is None


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_other_paths_are_walked_by_solves(loss):
    """A free column, no strength at all, or few points: for these there is no short way."""
    from dualgap.paths import _chords, _squared

    b = Y if loss == "squared" else SIGNS
    many = [(0.0, v) for v in LAMBDAS]
    weights = np.ones(X.shape[1])
    weights[0] = 0.0
    for problem, strengths in (
        (Problem(X, b, loss=loss, penalty_weights=weights), many),
        (Problem(X, b, loss=loss), [*many, (0.0, 0.0)]),
        (Problem(X, b, loss=loss), many[:2]),
    ):
        assert not _squared.pays(problem, strengths)
        assert not _chords.pays(problem, strengths)


def test_a_hessian_that_would_cost_too_much_is_not_formed(monkeypatch):
    """The set of coordinates changes, its H is not formed: no step may mix the two."""
    from dualgap.algorithms.contract import Advice
    from dualgap.paths import _chords, _models
    from dualgap.state import replace

    problem = Problem(WIDE, np.sign(WIDE_Y), loss="logistic", l1=0.1)
    few, many = np.zeros(problem.d), np.full(problem.d, 0.1)
    few[:3] = 0.1

    def at(x):
        advice = Advice(predictions=problem.predict(x))
        return replace(_chords.Chords().start(problem, x, None, advice).state, u=x)

    state, hess = at(few), np.full(problem.n, 0.25)
    model = _models.model_for(problem, state, hess, None)
    assert model is not None and model.serves(problem, state)
    assert not model.serves(problem, at(many))
    monkeypatch.setattr(_models, "DEAR", -1.0)
    assert _models.model_for(problem, at(many), hess, model) is None
    left = _chords.Chords().step(problem, at(many))
    assert left.primal == np.inf  # which ends a light run


def lanczos(most=300):
    """On weighted and centred data, with M as a matrix beside it."""
    from dualgap.designs import as_design
    from dualgap.linalg.krylov_factor import krylov_space

    rng = np.random.default_rng(2)
    n, d = WIDE.shape
    w, unit, v = rng.random(n), rng.uniform(0.5, 2.0, d), rng.normal(size=d)
    m = WIDE.T @ w / np.sqrt(w.sum())
    M = unit[:, None] * (WIDE.T @ (w[:, None] * WIDE) - np.outer(m, m)) * unit
    return krylov_space(as_design(WIDE), w, m, unit, v, most), M, v


def test_a_krylov_space_serves_every_strength():
    """Galerkin's solution, and the length of what is left, known without a product."""
    space, M, v = lanczos()
    for size in range(1, 12):
        space.grow()
        V = space.V[:size]
        np.testing.assert_allclose(V @ V.T, np.eye(size), atol=1e-12)
        np.testing.assert_allclose(V @ M @ V.T, space.T, atol=1e-10 * space.T.max())
        for l2 in (1e-2, 1.0, 100.0):
            s = space.solve(l2)
            left = v - M @ (s @ V) - l2 * (s @ V)
            np.testing.assert_allclose(V @ left, 0.0, atol=1e-10)
            assert np.linalg.norm(left) == pytest.approx(space.left(s), rel=1e-6)


def test_a_space_that_ends_knows_it():
    """M has rank 29 at most, so that v, Mv, ... is no larger than 30; and there is a limit."""
    space, M, v = lanczos()
    while space.may_grow:
        space.grow()
    assert 25 <= space.size <= 30
    s = space.solve(1.0)
    np.testing.assert_allclose(s @ space.V[: space.size], np.linalg.solve(M + np.eye(80), v))
    short, *_ = lanczos(most=4)
    while short.may_grow:
        short.grow()
    assert short.size == 4


def test_the_inverse_on_the_space_and_outside():
    space, M, _ = lanczos()
    for _ in range(6):
        space.grow()
    V = space.V[:6]
    P = V.T @ V
    expected = np.linalg.inv(P @ M @ P + 0.3 * P + 2.0 * (np.eye(80) - P))
    r = np.random.default_rng(0).normal(size=80)
    np.testing.assert_allclose(space.inverse(r, 0.3, 2.0), expected @ r, atol=1e-10)


def test_a_path_that_outgrows_its_space_goes_on_by_solves(monkeypatch):
    from dualgap.linalg import krylov_factor
    from dualgap.paths import _squared

    monkeypatch.setattr(_squared, "on_gram_matrix", lambda *_: False)
    monkeypatch.setattr(krylov_factor, "ALWAYS", 3)
    monkeypatch.setattr(krylov_factor, "LARGEST", 0.0)
    solves = []
    solve = _walk.solve_problem
    monkeypatch.setattr(_walk, "solve_problem", lambda p, **o: solves.append(p) or solve(p, **o))
    options = {"lambdas": np.geomspace(100.0, 1e-3, 12), "l1_ratio": 0.0, "fit_intercept": True}
    path = dualgap.path(X, Y, **options)
    assert path.converged and 0 < len(solves) < 12
    for k, strength in enumerate(path.lambdas):
        again = dualgap.certify(
            X, Y, path.x[k], path.y[k], l2=strength, intercept=float(path.intercepts[k])
        )
        assert again == path.certificates[k]


def test_nothing_to_fit():
    """b is constant: v = 0, and there is no space at all."""
    from dualgap.paths import _squared

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_squared, "on_gram_matrix", lambda *_: False)
        path = dualgap.path(X, np.full(len(X), 3.0), lambdas=LAMBDAS, l1_ratio=0.0,
                            fit_intercept=True)  # fmt: skip
    assert path.converged and not path.x.any()
    np.testing.assert_allclose(path.intercepts, 3.0)


def test_no_point_takes_more_passes_than_it_may(monkeypatch):
    """Badly conditioned, so that the space would have to grow further: solves end at the limit."""

    from dualgap.paths import _squared

    monkeypatch.setattr(_squared, "on_gram_matrix", lambda *_: False)
    rng = np.random.default_rng(1)
    A = rng.normal(size=(90, 70)) * np.logspace(0, -3, 70)
    b = A @ rng.normal(size=70) + 0.01 * rng.normal(size=90)
    options = {"lambdas": np.geomspace(1e-2, 1e-9, 8), "l1_ratio": 0.0, "tol": 1e-8}
    free, short = dualgap.path(A, b, **options), dualgap.path(A, b, max_passes=12, **options)
    assert free.passes.max() > 20.0
    assert short.passes.max() <= 13.0  # a solve counts the product that its last check makes
