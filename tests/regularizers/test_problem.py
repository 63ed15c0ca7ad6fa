"""`Problem` with a regulariser: who serves it, who refuses it and how, equivalences, files."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.algorithms import ALGORITHMS
from dualgap.algorithms.needs import serving
from dualgap.preconditioners import PRECONDITIONERS
from dualgap.regularizers import Bounded, Box, ElasticNet, NonNegative

from . import outside

INF = np.inf
SERVE_ALL = ["bpd", "opt-bpd", "ada-bpd", "df-bpd", "adf-bpd", "agd"]


def data(n=40, d=6, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d))
    return A, A @ rng.standard_normal(d) + 0.4 + 0.5 * rng.standard_normal(n)


A, B = data()


# ---- who serves ----


@pytest.mark.parametrize("g", [NonNegative(0.1), Box(-1.0, 1.0), outside.Positive()], ids=repr)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_serves_or_refuses_before_any_work(g, name, monkeypatch):
    problem = dualgap.Problem(A, B, regularizer=g, fit_intercept=False)
    serve = [*SERVE_ALL, "working-set"] if isinstance(g, Box) else SERVE_ALL
    assert serving(problem) == serve
    if name in serve:
        result = problem.solve(algorithm=name, tol=1e-6, max_passes=5000)
        assert result.status is outside.done(g) and result.algorithm == name
        return

    def work(*_):
        raise AssertionError("work before the refusal")

    for product in ("matvec", "rmatvec", "gram"):
        monkeypatch.setattr(type(problem.base), product, work)
    with pytest.raises(ValueError, match="it is served by") as error:
        problem.solve(algorithm=name)
    sentence = str(error.value)
    what = "a regulariser of the form" if name == "working-set" else "the elastic net, l1 |x|"
    assert sentence.startswith(f"algorithm={name!r} needs {what}")
    assert f"regularizer={g!r}" in sentence
    assert all(repr(other) in sentence for other in serve)


def test_coordinate_steps_need_bounds():
    with pytest.raises(
        ValueError, match=r"'working-set' needs a regulariser of the form l1.*Smooth\(\)"
    ):
        dualgap.solve(A, B, regularizer=outside.Smooth(), algorithm="working-set")


def test_auto_takes_one_that_serves():
    chosen = {
        NonNegative(0.1): "working-set",
        Box(-1.0, 1.0, 0.1): "working-set",
        outside.Positive(): "ada-bpd",
        outside.Smooth(): "ada-bpd",
        outside.AsNet(): "working-set",
    }
    for g, name in chosen.items():
        assert dualgap.solve(A, B, regularizer=g).algorithm == name
    b = np.where(B > 0, 1.0, -1.0)
    assert dualgap.solve(A, b, regularizer=outside.Smooth(), loss="logistic").algorithm == "adf-bpd"
    assert dualgap.solve(A, B, regularizer=NonNegative(0.1), adapt="robust").algorithm == "ada-bpd"


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_elastic_net_that_says_so_is_served_by_every_algorithm(name):
    options = {"algorithm": name, "tol": 1e-7, "max_passes": 3000}
    if name == "newton":
        pytest.skip("it has l1")
    ours = dualgap.solve(A, B, regularizer=outside.AsNet(), **options)
    plain = dualgap.solve(A, B, l1=0.2, l2=0.3, **options)
    np.testing.assert_array_equal(ours.x, plain.x)


@pytest.mark.parametrize("name", PRECONDITIONERS)
def test_changes_of_variables(name):
    problem = dualgap.Problem(A * np.geomspace(0.2, 5.0, 6), B, regularizer=NonNegative(1e-3))
    if name in ("diagonal", "units"):
        result = problem.solve(algorithm="adf-bpd", precondition=name, tol=1e-7, max_passes=99999)
        assert result.status is dualgap.Status.CONVERGED and (result.x >= 0).all()
        return
    with pytest.raises(ValueError, match=r"mixes the coordinates.*NonNegative.*'diagonal'"):
        problem.solve(algorithm="adf-bpd", precondition=name)


def test_scaled_bounds_are_kept_to_the_last_bit():
    g = Box(0.1, 0.3)
    for scale in (0.3, 7.0, 1e3):
        result = dualgap.solve(
            scale * A, B, regularizer=g, algorithm="adf-bpd", precondition="diagonal", tol=1e-8
        )
        assert result.status is dualgap.Status.CONVERGED
        assert (result.x >= 0.1).all() and (result.x <= 0.3).all()


@pytest.mark.parametrize("algorithm", ["auto", "adf-bpd"])
def test_columns_far_from_0_are_moved(algorithm):
    """With `Smooth` the default `scaled` of the contract is at work."""
    moved = A + np.array([0.0, 1e7, 0.0, -1e8, 0.0, 0.0])
    for g in (NonNegative(0.02), outside.Positive(0.02), Box(-0.5, 0.5)):
        far = dualgap.solve(
            moved, B, regularizer=g, fit_intercept=True, tol=1e-6, algorithm=algorithm,
            max_passes=9999,
        )  # fmt: skip
        near = dualgap.solve(A, B, regularizer=g, fit_intercept=True, tol=1e-9)
        assert far.status is outside.done(g)
        np.testing.assert_allclose(far.x, near.x, atol=2e-2)


# ---- equivalences ----


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
@pytest.mark.parametrize("intercept", [False, True], ids=["", "intercept"])
@pytest.mark.parametrize(("l1", "l2"), [(0.05, 0.0), (0.0, 0.1), (0.03, 0.07)])
def test_a_box_without_ends_is_the_elastic_net(loss, intercept, l1, l2):
    """As a problem has it: bitwise; the formulas of the box: to rounding."""
    b = np.where(B > 0, 1.0, -1.0) if loss == "logistic" else B
    options = {"loss": loss, "fit_intercept": intercept, "tol": 1e-9, "max_passes": 5000}
    box = dualgap.solve(A, b, regularizer=Box(l1=l1, l2=l2), **options)
    net = dualgap.solve(A, b, l1=l1, l2=l2, **options)
    np.testing.assert_array_equal(box.x, net.x)
    assert box.certificate == net.certificate
    wide = dualgap.solve(A, b, regularizer=Box(-1e6, 1e6, l1, l2), **options)
    assert wide.status is dualgap.Status.CONVERGED
    assert abs(wide.certificate.primal - net.certificate.primal) <= max(
        wide.certificate.gap, net.certificate.gap
    )


@pytest.mark.parametrize("algorithm", ["working-set", "bpd", "adf-bpd", "agd"])
def test_not_negative_is_the_box_from_0(algorithm):
    options = {"algorithm": algorithm, "tol": 1e-8, "max_passes": 9999, "fit_intercept": True}
    one = dualgap.solve(A, B, regularizer=NonNegative(0.02, 0.1), **options)
    two = dualgap.solve(A, B, regularizer=Box(0.0, INF, 0.02, 0.1), **options)
    np.testing.assert_array_equal(one.x, two.x)
    assert one.certificate == two.certificate


def test_where_the_solution_is_positive_the_constraint_does_nothing():
    b = A @ np.linspace(1.0, 2.0, 6)
    free = dualgap.solve(A, b, l1=0.01, tol=1e-12)
    held = dualgap.solve(A, b, regularizer=NonNegative(0.01), tol=1e-12)
    np.testing.assert_allclose(held.x, free.x, rtol=1e-9)


def test_layouts_agree():
    g, thin = NonNegative(0.02), np.where(np.abs(A) > 1.0, A, 0.0)
    answers = [
        dualgap.solve(layout, B, regularizer=g, fit_intercept=c, algorithm=name, tol=1e-11)
        for c in (True,)
        for name in ("working-set",)
        for layout in (thin, sp.csr_array(thin), sp.csc_array(thin), np.asfortranarray(thin))
    ]
    for other in answers[1:]:
        np.testing.assert_allclose(other.x, answers[0].x, atol=1e-8)


def test_large_sets_sweep_over_the_columns():
    """Without a Gram matrix, dense and sparse, against a batch method."""
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((300, 2500)) * (rng.random((300, 2500)) < 0.1)
    b = wide @ np.abs(rng.standard_normal(2500)) + rng.standard_normal(300)
    for layout in (wide, sp.csc_array(wide)):
        result = dualgap.solve(layout, b, regularizer=NonNegative(0.0, 0.05), tol=1e-8)
        assert result.status is dualgap.Status.CONVERGED and result.algorithm == "working-set"
        other = dualgap.solve(
            layout,
            b,
            regularizer=NonNegative(0.0, 0.05),
            algorithm="agd",
            tol=1e-8,
            max_passes=9999,
        )
        np.testing.assert_allclose(result.x, other.x, atol=result.certificate.distance * 2)


@pytest.mark.parametrize("algorithm", ["working-set", "ada-bpd", "agd"])
def test_a_run_in_two_parts_is_the_run(algorithm):
    problem = dualgap.Problem(A, B, regularizer=NonNegative(0.01), fit_intercept=True)
    options = {"algorithm": algorithm, "tol": 1e-15}
    half = problem.solve(max_passes=6, **options)
    whole = problem.solve(max_passes=12, **options)
    again = problem.solve(max_passes=6, state=half.state, **options)
    if algorithm == "working-set":  # its steps are not of one pass
        np.testing.assert_allclose(again.x, whole.x, rtol=1e-12)
    else:
        np.testing.assert_array_equal(again.x, whole.x)


def test_a_start_outside_is_brought_inside():
    g = NonNegative(0.01)
    for name in ("working-set", "adf-bpd"):
        result = dualgap.solve(A, B, regularizer=g, x0=-np.ones(6), algorithm=name, tol=1e-8)
        assert result.status is dualgap.Status.CONVERGED
    stopped = dualgap.solve(A, B, regularizer=Box(1.0, 2.0), max_passes=0)
    assert np.isfinite(stopped.certificate.primal) and (stopped.x >= 1.0).all()


# ---- arguments ----


def test_shorthand_and_regularizer_exclude_each_other():
    for shorthand in ({"l1": 0.1}, {"l2": 0.1}, {"penalty_weights": np.ones(6)}):
        with pytest.raises(ValueError, match=r"shorthand for the elastic net.*one or the other"):
            dualgap.Problem(A, B, regularizer=NonNegative(0.1), **shorthand)
    problem = dualgap.Problem(A, B, regularizer=NonNegative(0.1))
    with pytest.raises(ValueError, match=r"this problem has regularizer=NonNegative\(l1=0.1\)"):
        problem.replace(l1=0.1)
    assert problem.with_strengths(0.2, 0.3).given.l2 == 0.3
    with pytest.raises(ValueError, match="lacks the method 'with_strengths', needed by paths"):
        dualgap.Problem(A, B, regularizer=outside.Positive()).with_strengths(0.2, 0.0)


def test_replace_and_repr():
    problem = dualgap.Problem(A, B, l1=0.3, penalty_weights=np.arange(6.0))
    other = problem.replace(regularizer=NonNegative(0.1, 0.2))
    assert repr(other) == (
        "Problem(40 x 6, loss='squared', regularizer=NonNegative(l1=0.1, l2=0.2))"
    )
    assert other.l1 == 0.0 and other.constants is problem.constants
    assert repr(Box(-1, 1, np.arange(3.0))) == "Box(lower=-1.0, upper=1.0, l1=<3 numbers>)"
    assert repr(NonNegative()) == "NonNegative()"


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Box(1.0, 0.0), "lower = 1 and upper = 0: there is no number between"),
        (lambda: Box([0.0, 2.0], 1.0), "at coordinate 1"),
        (lambda: Box(INF, INF), "no number between"),
        (lambda: Box(np.nan, 1.0), "lower = nan, but it must be a number or infinite"),
        (lambda: Box(1e200, INF), "magnitude at most 1e[+]100"),
        (lambda: Box(0.0, 1.0, -1.0), "l1 = -1, but it must be a finite number >= 0"),
        (lambda: NonNegative(INF), "l1 = inf, but it must be a finite number"),
        (lambda: NonNegative(0.1, [0.1, np.nan]), r"l2\[1\] = nan"),
        (lambda: NonNegative(np.ones((2, 2))), r"array of shape \(2, 2\)"),
        (lambda: NonNegative(True), "l1 must be a number"),
        (lambda: NonNegative("much"), "l1 has dtype"),
        (lambda: NonNegative(np.ones(2), np.ones(3)), "vectors of one length"),
        (
            lambda: dualgap.Problem(A, B, regularizer=NonNegative(np.ones(5))),
            r"l1 .*\(5,\).*\(6,\)",
        ),
        (
            lambda: dualgap.Problem(A, B, regularizer=outside.Smooth(np.ones(5))),
            r"dual_interval.*5",
        ),
        (lambda: dualgap.Problem(A, B, regularizer=NonNegative), "is the class NonNegative"),
        (lambda: dualgap.Problem(A, B, regularizer=0.1), "must be a value of a subclass"),
        (lambda: ElasticNet(-0.1, 0.0), "l1 = -0.1"),
        (
            lambda: dualgap.Problem(A, B, regularizer=ElasticNet(-np.ones(6), np.ones(6))),
            r"l1\[0\] = -1",
        ),
    ],
)
def test_bad_arguments(make, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        make()


def test_numbers_and_vectors_are_the_same():
    one = dualgap.solve(A, B, regularizer=NonNegative(0.1, 0.2), tol=1e-9)
    two = dualgap.solve(A, B, regularizer=NonNegative(np.full(6, 0.1), [0.2] * 6), tol=1e-9)
    np.testing.assert_array_equal(one.x, two.x)
    net = dualgap.solve(A, B, regularizer=ElasticNet(0.1, 0.2), tol=1e-9)
    np.testing.assert_array_equal(net.x, dualgap.solve(A, B, l1=0.1, l2=0.2, tol=1e-9).x)


def test_the_callers_arrays_are_not_kept():
    l1 = np.full(6, 0.1)
    g = NonNegative(l1)
    l1[:] = 5.0
    assert (g.l1 == 0.1).all()


# ---- files and copies ----


@pytest.mark.parametrize(
    "g", [NonNegative(0.1), NonNegative(np.arange(6.0), 0.3), Box(-INF, np.arange(6.0)),
          ElasticNet(np.arange(6.0), 0.1)], ids=repr,
)  # fmt: skip
def test_a_file_holds_the_regulariser(tmp_path, g):
    problem = dualgap.Problem(A, B, regularizer=g, fit_intercept=True)
    problem.dump(tmp_path / "p.npz")
    again = dualgap.Problem.load(tmp_path / "p.npz")
    assert type(again.given) is type(g) and repr(again) == repr(problem)
    x = problem.penalty.nearest(np.linspace(-1.0, 1.0, 6))
    assert again.certify(x) == problem.certify(x)
    np.testing.assert_array_equal(again.solve().x, problem.solve().x)


def test_a_file_does_not_hold_code(tmp_path):
    with pytest.raises(
        TypeError, match=r"Positive\(0.1\) is not one of dualgap's \(ElasticNet, Non"
    ):
        dualgap.Problem(A, B, regularizer=outside.Positive()).dump(tmp_path / "p.npz")


def test_copies_are_the_same():
    for g in (NonNegative(0.1), Box(0.0, np.arange(1.0, 7.0)), outside.Smooth()):
        again = pickle.loads(pickle.dumps(g))
        x = np.linspace(0.0, 1.0, 6)
        assert again.value(x) == g.value(x) and repr(again) == repr(g)


def test_a_form_with_bounds_becomes_a_box():
    class Held(outside.Positive):
        def compiled_form(self):
            return Bounded(self.l1, 0.0, 0.0, INF)

    dualgap.check_regularizer(Held(0.05))
    held = dualgap.solve(A, B, regularizer=Held(0.05), tol=1e-9)
    assert held.algorithm == "working-set"
    np.testing.assert_array_equal(
        held.x, dualgap.solve(A, B, regularizer=NonNegative(0.05), tol=1e-9).x
    )


# ---- paths ----


def test_a_path_of_not_negative_points():
    path = dualgap.path(A, B, lambdas=12, regularizer=NonNegative(), fit_intercept=True, tol=1e-8)
    assert path.converged and (path.x >= 0).all() and not path.x[0].any() and path.x[-1].any()
    for k in (3, 11):
        alone = dualgap.solve(
            A, B, regularizer=NonNegative(path.lambdas[k]), fit_intercept=True, tol=1e-10
        )
        assert abs(alone.certificate.primal - path.certificates[k].primal) <= (
            path.certificates[k].gap
        )
    with pytest.raises(ValueError, match="give the lambdas"):
        dualgap.path(A, B, lambdas=12, regularizer=outside.Positive())


def test_a_path_of_an_elastic_net_that_was_given():
    """An equivalence: it is the path of l1 and l2."""
    lambdas = [0.3, 0.1, 0.03, 0.01]
    short = dualgap.path(A, B, lambdas=lambdas, tol=1e-10)
    given = dualgap.path(A, B, lambdas=lambdas, tol=1e-10, regularizer=ElasticNet(0.1, 0.0))
    np.testing.assert_allclose(given.x, short.x, atol=1e-6)


def test_a_state_outside_of_the_bounds_is_of_another_problem():
    problem = dualgap.Problem(A, B, regularizer=NonNegative(0.01, 0.1), fit_intercept=True)
    state = problem.solve(tol=1e-10).state
    other = problem.replace(regularizer=Box(5.0, 6.0))
    with pytest.raises(ValueError, match="state belongs to another problem"):
        other.solve(state=state)


@pytest.mark.parametrize("g", [NonNegative([0.1, 0.2]), Box(-1, 1, 0.0, [0.1, 0.3])])
def test_a_path_does_not_forget_strengths_of_single_coordinates(g):
    with pytest.raises(ValueError, match="strengths of their own"):
        dualgap.path(A[:, :2], B, regularizer=g, lambdas=[0.1, 0.01])
