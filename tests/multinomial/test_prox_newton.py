"""Newton on the nonzero coordinates: its shifts by brute force, its optimum by other methods."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import scale

import dualgap
from dualgap.algorithms.second_order import class_blocks
from dualgap.regularizers.shifts import best_shifts

from .data import case

strengths = st.sampled_from([0.0, 0.1, 1.0])


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=6), strengths, strengths)
def test_no_other_shift_is_better(row, l1, l2):
    x = np.array([row]) / 8.0
    c = best_shifts(x, np.array([[l1]]), np.array([[l2]]))[0, 0]
    tried = np.append(np.linspace(-3, 3, 1201), x)[:, None]

    def value(c):
        return (l1 * abs(x - c) + 0.5 * l2 * (x - c) ** 2).sum(axis=-1)

    assert value(c) <= value(tried).min() + 1e-12


@pytest.mark.parametrize("l1, l2", [(1e-3, 0.0), (1e-3, 1e-3), (1e-4, 1e-4), (1e-2, 1e-2)])
@pytest.mark.parametrize("load", [load_wine, load_digits])
def test_certified_where_first_order_methods_crawl(load, l1, l2):
    A, b = load(return_X_y=True)
    result = dualgap.solve(
        scale(A), b, loss="multinomial", l1=l1, l2=l2, fit_intercept=True, tol=1e-8
    )
    assert result.algorithm == "prox-newton"
    assert result.status.converged and result.passes < 600


@pytest.mark.parametrize("penalty", ["l1", "elastic_net"])
def test_the_optimum_of_others(penalty):
    problem = case(penalty, fit_intercept=True, weights=True, offset=True).problem()
    ours = problem.solve(algorithm="prox-newton", tol=1e-9)
    other = problem.solve(algorithm="adf-bpd", tol=1e-9, max_passes=20000)
    assert ours.status.converged and other.status.converged
    assert ours.certificate.primal == pytest.approx(other.certificate.primal, rel=2e-9)


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
def test_one_prediction_a_row(loss):
    rng = np.random.default_rng(3)
    A = rng.standard_normal((80, 12))
    b = A[:, :3].sum(axis=1) + 0.3 * rng.standard_normal(80)
    b = b if loss == "squared" else np.sign(b)
    arguments = {"loss": loss, "l1": 0.03, "l2": 0.01, "tol": 1e-9}
    ours = dualgap.solve(A, b, algorithm="prox-newton", **arguments)
    other = dualgap.solve(A, b, algorithm="working-set", **arguments)
    assert ours.status.converged and other.status.converged
    assert ours.certificate.primal == pytest.approx(other.certificate.primal, rel=2e-9)
    assert ((ours.x != 0) == (other.x != 0)).all()


@pytest.mark.parametrize("cut", [4, 9])
def test_a_state_goes_on_bitwise(cut):
    problem = case("elastic_net", fit_intercept=True).problem()
    whole = problem.solve(algorithm="prox-newton", tol=1e-9)
    part = problem.solve(algorithm="prox-newton", tol=1e-9, max_passes=cut)
    rest = problem.solve(algorithm="prox-newton", tol=1e-9, state=part.state)
    assert (rest.x == whole.x).all() and rest.state.t == whole.state.t


def collinear(l1=1e-3, l2=0.0):
    """Columns that are sums and copies of each other."""
    rng = np.random.default_rng(7)
    A = rng.standard_normal((200, 12))
    b = np.argmax(A[:, :4] + rng.gumbel(size=(200, 4)), axis=1)
    A = np.hstack([A, A[:, :6] + A[:, 6:], A[:, :5]])
    return dualgap.Problem(A, b, loss="multinomial", l1=l1, l2=l2, fit_intercept=True)


@pytest.mark.parametrize("l2", [0.0, 1e-4])
def test_collinear_columns(l2):
    problem = collinear(l2=l2)
    ours = problem.solve(algorithm="prox-newton", tol=1e-9)
    assert ours.status.converged and ours.state.t <= 12
    assert ours.state.own.passes_held_up > class_blocks.whole_price(problem)  # by line 6
    other = problem.solve(algorithm="adf-bpd", tol=1e-5, max_passes=20000)
    assert other.status.converged
    assert ours.certificate.primal <= other.certificate.primal
    assert ours.certificate.primal >= other.certificate.dual


@pytest.mark.parametrize("cut", [15, 25, 33])
def test_the_whole_of_h_goes_on_bitwise(cut):
    problem = collinear()
    whole = problem.solve(algorithm="prox-newton", tol=1e-9)
    part = problem.solve(algorithm="prox-newton", tol=1e-9, max_passes=cut)
    rest = problem.solve(algorithm="prox-newton", tol=1e-9, state=part.state)
    assert part.state.t < whole.state.t
    assert (rest.x == whole.x).all() and rest.state.t == whole.state.t
