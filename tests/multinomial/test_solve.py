"""Solving with classes: against logistic regression, scikit-learn, and itself continued."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import dualgap
from dualgap.algorithms import ALGORITHMS

from .data import FORMATS, PENALTIES, case, classes

SERVED = (
    "df-bpd", "adf-bpd", "agd", "df-spdc", "opt-df-spdc", "adf-spdc", "saga", "svrg", "prox-newton",
)  # fmt: skip
NO_PROX = ("bpd", "opt-bpd", "ada-bpd", "spdc", "opt-spdc", "ada-spdc", "sdca")


@pytest.mark.parametrize("algorithm", SERVED)
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_every_algorithm_certifies(algorithm, penalty, fit_intercept):
    problem = case(penalty, fit_intercept=fit_intercept, weights=True, offset=True)
    result = problem.problem().solve(algorithm=algorithm, tol=1e-5, max_passes=20000)
    assert result.status.converged
    assert result.x.shape == (4, 3) and result.y.shape == (60, 3)
    assert result.intercept.shape == (3,)
    again = dualgap.certify(
        problem.A, problem.b, result.x, result.y, intercept=result.intercept,
        **problem.arguments,
    )  # fmt: skip
    assert again == result.certificate
    assert result.certificate.primal == pytest.approx(
        float(problem.primal(result.x, result.intercept)), rel=1e-14
    )


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("algorithm", ["adf-bpd", "adf-spdc", "prox-newton"])
def test_formats_agree(form, algorithm):
    problem = case("elastic_net", fit_intercept=True, weights=True, density=0.5)
    one = problem.problem("C").solve(algorithm=algorithm, tol=1e-9)
    other = problem.problem(form).solve(algorithm=algorithm, tol=1e-9)
    assert other.status.converged
    assert np.abs(one.x - other.x).max() <= 1e-6
    assert abs(one.certificate.primal - other.certificate.primal) <= 2e-9


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_two_classes_are_logistic_regression(penalty, fit_intercept):
    """Only w = x_1 - x_0 enters the loss.

    For given w the penalty is least at x_1 = -x_0 = w/2: l1 |w| + (l2/2) |w|^2/2. So the problem
    is logistic regression for w with l1 and l2/2.
    """
    A, b = classes(K=2)
    l1, l2 = PENALTIES[penalty]
    same = {"fit_intercept": fit_intercept, "tol": 1e-11, "max_passes": 20000}
    two = dualgap.solve(A, b, loss="multinomial", l1=l1, l2=l2, **same)
    one = dualgap.solve(A, b, loss="logistic", l1=l1, l2=l2 / 2, algorithm="adf-bpd", **same)
    assert two.certificate.primal == pytest.approx(one.certificate.primal, abs=3e-11)
    assert np.abs(two.x[:, 1] - two.x[:, 0] - one.x).max() <= 1e-4
    assert two.intercept[1] - two.intercept[0] == pytest.approx(one.intercept, abs=1e-4)
    if l2:
        assert np.abs(two.x[:, 1] + two.x[:, 0]).max() <= 1e-4
    again = dualgap.certify(
        A, b, two.x[:, 1] - two.x[:, 0], loss="logistic", l1=l1, l2=l2 / 2,
        intercept=two.intercept[1] - two.intercept[0], fit_intercept=fit_intercept,
    )  # fmt: skip
    assert again.certified and again.gap <= 1e-7


@pytest.mark.parametrize("algorithm", ["adf-bpd", "adf-spdc"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_against_scikit_learn(algorithm, fit_intercept):
    A, b = classes(n=150, d=5, K=4)
    l2 = 1e-2
    model = LogisticRegression(
        C=1 / (len(b) * l2), fit_intercept=fit_intercept, tol=1e-10, max_iter=10000
    ).fit(A, b)
    theirs = model.coef_.T
    problem = dualgap.Problem(A, b, loss="multinomial", l2=l2, fit_intercept=fit_intercept)
    result = problem.solve(algorithm=algorithm, tol=1e-10, max_passes=5000)
    intercept = model.intercept_ if fit_intercept else 0.0
    certificate = problem.certify(theirs, intercept=intercept)
    assert result.status.converged and certificate.certified
    assert result.certificate.dual <= certificate.primal
    assert certificate.dual <= result.certificate.primal
    distance = result.certificate.distance + certificate.distance
    assert np.linalg.norm(result.x - theirs) <= distance
    assert np.abs(result.x - theirs).max() <= 1e-4


@pytest.mark.parametrize("algorithm", SERVED[:-1])  # whose steps cost the same
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_resume_is_bitwise(algorithm, fit_intercept):
    problem = case("elastic_net", fit_intercept=fit_intercept, weights=True).problem()
    options = {"algorithm": algorithm, "tol": 1e-300}
    whole = problem.solve(max_passes=24, **options)
    half = problem.solve(max_passes=12, **options)
    rest = problem.solve(max_passes=12, state=half.state, **options)
    for name in ("x", "y", "z", "u"):
        assert (getattr(rest.state, name) == getattr(whole.state, name)).all(), name
    assert (rest.x == whole.x).all()


def test_state_of_another_number_of_classes_is_refused():
    A, b = classes()
    state = dualgap.solve(A, b, loss="multinomial", l2=0.1).state
    with pytest.raises(ValueError, match="state belongs to"):
        dualgap.solve(A, b, loss=dualgap.losses.Multinomial(classes=4), l2=0.1, state=state)


@pytest.mark.parametrize("algorithm", ["adf-bpd", "agd", "adf-spdc"])
def test_a_start_at_the_optimum_stays_there(algorithm):
    problem = case("l2", fit_intercept=True).problem()
    best = problem.solve(tol=1e-11)
    x0 = np.vstack((best.x, best.intercept))
    warm = problem.solve(algorithm=algorithm, x0=x0, y0=best.y, tol=1e-6)
    assert warm.status.converged and warm.trace.primal[0] - best.certificate.primal <= 1e-11
    assert warm.passes <= 30
    problem = case("l2").problem()
    best = problem.solve(tol=1e-11)
    assert problem.solve(algorithm=algorithm, x0=best.x, tol=1e-6).passes <= 3


@pytest.mark.parametrize("adapt", ["curvature", "simple", "robust"])
@pytest.mark.parametrize("algorithm", ["adf-bpd", "adf-spdc"])
def test_every_rule(adapt, algorithm):
    result = case("l2").problem().solve(algorithm=algorithm, adapt=adapt, max_passes=5000)
    assert result.status.converged


@pytest.mark.parametrize("algorithm", NO_PROX)
def test_algorithms_that_need_a_dual_prox_refuse(algorithm):
    with pytest.raises(ValueError, match="needs the dual prox"):
        case("l2").problem().solve(algorithm=algorithm)


@pytest.mark.parametrize("algorithm", sorted(set(ALGORITHMS) - {*SERVED, *NO_PROX, "newton"}))
def test_algorithms_without_a_kernel_refuse(algorithm):
    with pytest.raises(ValueError, match=r"no kernel for loss='multinomial'; use 'adf-spdc'"):
        case("l2").problem().solve(algorithm=algorithm)


def test_auto_and_callback():
    seen = []
    result = case("l2", fit_intercept=True).problem().solve(callback=seen.append)
    assert result.algorithm == "newton"
    assert seen[-1].x.shape == (4, 3) and seen[-1].intercept.shape == (3,)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_separable_classes_have_no_minimiser(fit_intercept):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((60, 4))
    b = (A @ rng.standard_normal((4, 3))).argmax(axis=1)
    result = dualgap.solve(A, b, loss="multinomial", fit_intercept=fit_intercept)
    assert result.status is dualgap.Status.NO_MINIMISER


@pytest.mark.parametrize("penalty", ["none", "l2", "l1"])
def test_a_class_without_rows(penalty):
    """Its intercept goes to -inf; without one a penalty holds everything."""
    A, b = classes()
    l1, l2 = PENALTIES[penalty]
    loss = dualgap.losses.Multinomial(classes=4)
    free = dualgap.solve(A, b, loss=loss, l1=l1, l2=l2, fit_intercept=True)
    assert free.status is dualgap.Status.NO_MINIMISER
    if penalty != "none":
        assert dualgap.solve(A, b, loss=loss, l1=l1, l2=l2).status.converged
