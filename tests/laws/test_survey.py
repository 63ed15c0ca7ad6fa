"""Data that have only blocks: what is wanted at once is one reading, with the same answers."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import dualgap
from dualgap.api import Problem
from dualgap.certificate import certify_point
from dualgap.designs import InterceptDesign, tasks
from dualgap.losses import as_loss
from tests.laws.test_reduce import Blocks

N, D = 400, 9
RNG = np.random.default_rng(5)
A = RNG.standard_normal((N, D))
X = RNG.standard_normal(D) * (np.arange(D) < 5)
B = A @ X + RNG.standard_normal(N)
SIGNS = np.sign(B)
Q = RNG.random(N)
Q /= Q.sum()


def taken(design):
    """The readings since the design was made."""
    return round(design.ledger.readings, 6)


# ---- the survey ----


@pytest.mark.parametrize("gram", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_survey_answers_as_the_verbs_do_bit_for_bit(gram, intercept):
    plain, base = Blocks(A), Blocks(A).surveyed(Q, gram=gram)
    design = base
    if intercept:
        plain, design = (InterceptDesign(one, Q) for one in (plain, base))
    r = RNG.standard_normal(N)
    answers = [
        (one.rmatvec(r), one.row_norms_sq(), one.column_norms_sq(Q), one.rmatvec(Q), one.gram(Q))
        for one in (design, plain)
    ]
    for ours, theirs in zip(*answers, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert taken(design) == (1.0 if gram else 2.0)
    assert design.knows_gram(Q) == gram


def test_weights_times_a_power_of_four_round_to_the_same():
    plain, design = Blocks(A), Blocks(A).surveyed(Q, gram=True)
    for times in (0.25, 16.0):
        np.testing.assert_array_equal(design.gram(times * Q), plain.gram(times * Q))
        np.testing.assert_array_equal(design.rmatvec(times * Q), plain.rmatvec(times * Q))
    assert taken(design) == 1.0
    for other in (2.0 * Q, -Q, np.where(np.arange(N) == 7, 0.0, Q)):
        assert not design.knows_gram(other)
        np.testing.assert_array_equal(design.rmatvec(other), plain.rmatvec(other))
    assert taken(design) == 4.0


@pytest.mark.parametrize("first", ["matvec", "rmatvec", "there and back", "columns"])
def test_it_comes_with_whatever_is_read_first(first):
    plain, design = Blocks(A), Blocks(A).surveyed(Q, gram=True)
    asked = {
        "matvec": lambda one: one.matvec(X),
        "rmatvec": lambda one: one.rmatvec(B),
        "there and back": lambda one: tasks.product_pair(one, (Q,), X, tasks.weigh)[1],
        "columns": lambda one: one.columns(np.array([1, 3])).T,
    }[first]
    np.testing.assert_array_equal(asked(design), asked(plain))
    design.row_norms_sq()
    assert taken(design) == 1.0


def test_the_users_design_is_left_alone():
    design = Blocks(A)
    problem = Problem(design, B, l2=0.1)
    problem.solve()
    assert design.survey is None
    assert problem.base.ledger is design.ledger
    assert type(problem.base) is Blocks


def test_data_in_memory_are_not_surveyed():
    for data in (A, np.asfortranarray(A), A.astype(np.float32)):
        problem = Problem(data, B, l2=0.1)
        assert not problem.design.streams
        assert problem.base.survey is None


def test_a_survey_is_saved_with_the_design():
    design = Blocks(A).surveyed(Q, gram=True)
    design.row_norms_sq()
    again = pickle.loads(pickle.dumps(design))
    np.testing.assert_array_equal(again.gram(Q), design.gram(Q))
    assert taken(again) == 1.0


@pytest.mark.parametrize("entry", [np.nan, np.inf, 1e200])
def test_what_is_not_finite_is_refused_by_the_first_reading(entry):
    bad = A.copy()
    bad[17, 3] = entry
    said = "too large to be squared in column 3" if entry == 1e200 else "1 of its entries are not"
    with pytest.raises(ValueError, match=said):
        dualgap.solve(Blocks(bad), B, l2=0.1)


# ---- two products at once ----


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("offset", [None, 0.1 * B])
def test_both_products_are_one_reading_and_the_same(fit_intercept, offset):
    given = {"loss": "logistic", "l2": 0.1, "fit_intercept": fit_intercept, "offset": offset}
    streamed, stored = (Problem(data, SIGNS, **given) for data in (Blocks(A), A))
    x = RNG.standard_normal(stored.size)
    y = as_loss("logistic").grad(B, SIGNS)
    assert streamed.column_norms.size == stored.size  # the survey
    for verb, arguments in {
        "slope_at": (x,),
        "slope_after": (x, B),
        "predict_and_adjoint": (x, y),
    }.items():
        before = taken(streamed.base)
        ours = getattr(streamed, verb)(*arguments)
        assert taken(streamed.base) - before == pytest.approx(1.0)
        for one, other in zip(ours, getattr(stored, verb)(*arguments), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("l1", [0.0, 0.05])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_certificate_is_one_reading(loss, l1, fit_intercept):
    b = B if loss == "squared" else SIGNS
    given = {"loss": loss, "l1": l1, "l2": 0.1, "fit_intercept": fit_intercept}
    streamed, stored = (Problem(data, b, **given) for data in (Blocks(A), A))
    result = stored.solve(tol=1e-9)
    x = stored.joined(result.x, result.intercept)
    assert streamed.column_norms.size == stored.size  # the survey
    before = taken(streamed.base)
    certificate = certify_point(streamed, x, result.y)
    assert taken(streamed.base) - before == pytest.approx(1.0)
    theirs = certify_point(stored, x, result.y)
    assert certificate.kind == theirs.kind
    assert certificate.primal == pytest.approx(theirs.primal, rel=1e-14)
    assert certificate.gap == pytest.approx(theirs.gap, rel=1e-3, abs=1e-15)


# ---- whole runs ----


@pytest.mark.parametrize(
    ("most", "given"),
    [
        (3, {"l2": 1e-3}),  # survey with A'Qb and A'QA; a product with H; the proof
        (3, {"l2": 1e-3, "fit_intercept": True}),
        (3, {"l2": 1e-3, "tol": 1e-9}),
        (3, {"l1": 0.05}),  # survey with A'Qb and A'QA; x and its gradient; the proof
        (3, {"l1": 0.05, "l2": 1e-2}),
        (4, {"l1": 0.05, "fit_intercept": True}),
        (11, {"loss": "logistic", "l2": 1e-3}),
        (16, {"loss": "logistic", "l2": 1e-3, "fit_intercept": True}),
    ],
)
def test_so_few_readings_are_enough(most, given):
    b = SIGNS if given.get("loss") == "logistic" else B
    streamed, stored = (dualgap.solve(data, b, **given) for data in (Blocks(A), A))
    assert streamed.status.converged
    scaled = float("l1" in given and "l2" not in given)  # y into a box, before its proof
    assert streamed.readings <= most + scaled
    assert streamed.readings < 0.75 * stored.readings
    np.testing.assert_allclose(streamed.x, stored.x, atol=1e-3)
    if "l1" not in given:  # the same iterations; of l1 the Gram matrix, once known, saves some
        assert streamed.passes == stored.passes


@pytest.mark.parametrize("loss", ["logistic", "huber", "squared_hinge"])
def test_a_newton_step_with_a_factor_reads_twice(loss):
    """A Gram matrix, and the step with the gradient at its end."""
    b = B if loss == "huber" else SIGNS
    streamed, stored = (
        Problem(data, b, loss=loss, l2=1e-2).solve(algorithm="newton", tol=1e-7)
        for data in (Blocks(A), A)
    )
    assert streamed.passes == stored.passes
    np.testing.assert_allclose(streamed.x, stored.x, rtol=1e-9, atol=1e-12)
    assert streamed.readings <= 0.75 * (stored.readings + 1.0)  # whose proof reads once, too


@pytest.mark.parametrize("algorithm", ["agd", "df-bpd"])
@pytest.mark.parametrize("offset", [None, 0.1 * B])
@pytest.mark.parametrize("l2", [0.0, 1e-2])
def test_an_iteration_of_a_gradient_method_is_one_reading(algorithm, offset, l2):
    given = {"loss": "logistic", "l1": 1e-3, "l2": l2, "offset": offset}
    streamed, stored = (Problem(data, SIGNS, **given) for data in (Blocks(A), A))
    runs = [
        problem.solve(algorithm=algorithm, tol=1e-15, max_passes=passes)
        for problem, passes in ((streamed, 5), (streamed, 25), (streamed, 45), (stored, 45))
    ]
    _, short, long, other = runs
    assert long.readings - short.readings == pytest.approx(long.state.t - short.state.t)
    np.testing.assert_allclose(long.x, other.x, rtol=1e-8, atol=1e-10)
    assert long.passes == other.passes
    half = streamed.solve(algorithm=algorithm, tol=1e-15, max_passes=40, state=runs[0].state)
    np.testing.assert_array_equal(half.state.x, long.state.x)


def test_columns_that_are_known_are_not_read_again():
    design = Blocks(A)
    first = design.columns(np.array([4, 1]))
    assert taken(design) == 1.0
    second = design.columns(np.array([1, 4]), known=first)
    assert taken(design) == 1.0
    third = design.columns(np.array([4, 1, 7, D]), 3.0, known=second)
    assert taken(design) == 2.0
    np.testing.assert_array_equal(second.T, A[:, [1, 4]].T)
    np.testing.assert_array_equal(third.T, np.vstack((A[:, [4, 1, 7]].T, np.full(N, 3.0))))


def test_the_gradients_of_p_and_of_the_dual_point_are_one_reading():
    """Of working sets with an intercept: both at the start and after each step."""
    files = []

    class Counted(Blocks):
        def blocks(self, rows):
            files.append(rows)
            return super().blocks(rows)

    given = {"loss": "logistic", "l1": 1e-2, "fit_intercept": True}
    result, stored = (dualgap.solve(data, SIGNS, **given) for data in (Counted(A), A))
    assert result.algorithm == "working-set"
    np.testing.assert_allclose(result.x, stored.x, atol=1e-6)
    times_the_set_has_grown = 3
    scaled, proved = 1, 1
    assert len(files) == 1 + times_the_set_has_grown + result.state.t + scaled + proved


@pytest.mark.parametrize("intercept", [False, True])
def test_a_gram_matrix_that_is_wanted_comes_with_the_next_reading(intercept):
    plain, base = Blocks(A), Blocks(A).surveyed(Q, gram=False)
    design = base
    if intercept:
        plain, design = (InterceptDesign(one, Q) for one in (plain, base))
    design.row_norms_sq()  # the survey
    other = np.abs(B)
    design.gram_comes(other)
    assert not design.knows_gram(other)
    u = design.rmatvec(B)
    assert design.knows_gram(other)
    np.testing.assert_array_equal(design.gram(other), plain.gram(other))
    np.testing.assert_array_equal(u, plain.rmatvec(B))
    assert taken(design) == 2.0


@pytest.mark.parametrize("intercept", [False, True])
def test_one_that_is_asked_for_at_once_is_one_reading(intercept):
    base = Blocks(A).surveyed(Q, gram=False)
    design = InterceptDesign(base, Q) if intercept else base
    design.row_norms_sq()  # the survey
    for weights in (np.abs(B), 2.0 * Q):
        before = taken(design)
        design.gram_comes(weights)
        design.gram(weights)
        assert taken(design) - before == pytest.approx(1.0)
        assert base.survey.wanted is None
    before = taken(design)
    design.rmatvec(B)
    assert taken(design) - before == pytest.approx(1.0)


# ---- passes, in the ledger ----


def test_the_ledger_keeps_the_passes_of_verbs_however_they_are_done():
    """Law: a verb that answers with others in one reading counts the same; norms, while unknown."""
    for surveyed in (False, True):
        norms = 0.0 if surveyed else 1.0
        design = Blocks(A).surveyed(Q, gram=True) if surveyed else Blocks(A)
        for passes, verb in (
            (0.5, lambda one: one.matvec(X)),
            (1.5, lambda one: one.rmatvec(np.ones((N, 3)))),
            (norms, lambda one: one.row_norms_sq()),
            (norms, lambda one: one.column_norms_sq(Q)),
            (0.5, lambda one: one.rmatvec(Q)),
            (D, lambda one: one.gram(Q)),
            (1.0, lambda one: tasks.product_pair(one, (Q,), X, tasks.weigh)),
        ):
            before = design.ledger.passes
            verb(design)
            assert design.ledger.passes - before == passes


def test_the_set_up_is_what_the_ledger_says():
    """The first gradient, half a pass; and A'QA, as many passes as it has columns, for a bound."""
    for data in (A, Blocks(A)):
        newton = Problem(data, SIGNS, loss="logistic", l2=0.1).solve(algorithm="newton")
        assert newton.setup.passes == 0.5
        steps = Problem(data, SIGNS, loss="logistic", l2=0.1).solve(algorithm="adf-bpd")
        assert steps.setup.passes == D + 0.5
