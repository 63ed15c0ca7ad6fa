"""Working sets: the optimum that others find, KKT, P that never rises, resumed bit by bit."""

import dataclasses
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from mpmath import mp
from sklearn.linear_model import ElasticNet, Lasso

import dualgap
from dualgap import Problem, Status
from dualgap.algorithms import WorkingSet
from dualgap.algorithms.second_order import set_models, tuning, working_set
from dualgap.linalg import penalised
from dualgap.losses import LOSSES
from tests.tuned import tuned

from .test_resume import assert_same_state

SCALAR = [name for name, loss in LOSSES.items() if not loss.is_vector]
PENALTIES = {
    "lasso": {"l1": 0.03},
    "elastic net": {"l1": 0.03, "l2": 1e-3},
    "l2": {"l2": 0.02},
}
STORAGE = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "float32": lambda A: A.astype(np.float32),
    "csr float32": lambda A: sp.csr_array(A.astype(np.float32)),
}
each_loss = pytest.mark.parametrize("loss", SCALAR)
each_penalty = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
WAYS = {
    "gram": {"GRAMS": {"cheap": 1e9}},
    "columns": {"GRAMS": {"cheap": 0.0, "largest_side": 0}},
    "few at a time": {"SETS": {"growth": 1, "all_of": 0}, "GRAMS": {"cheap_whole": 0.0}},
}


@pytest.fixture(params=WAYS, ids=WAYS)
def way(request, monkeypatch):
    """Each way to minimise the model, whatever the sizes would choose; and sets that grow."""
    for group, values in WAYS[request.param].items():
        tuned(monkeypatch, group, **values)
    return request.param


def data(loss, n=60, d=25, seed=0, density=0.5):
    """Correlated columns of different lengths, half of the entries 0; holds in 32 bits."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d)) + 0.5 * rng.standard_normal((n, 1))
    A *= (rng.random((n, d)) < density) * np.geomspace(0.3, 3.0, d)
    A = A.astype(np.float32).astype(np.float64)
    signal = A[:, ::3] @ rng.standard_normal(A[:, ::3].shape[1]) + rng.standard_normal(n)
    if loss in ("squared", "huber"):
        return A, signal
    if loss in ("poisson", "gamma"):
        mean = np.exp(np.clip(0.3 * signal, -3.0, 3.0))
        return A, (rng.poisson(mean) if loss == "poisson" else rng.gamma(2.0, mean / 2.0)) * 1.0
    return A, np.where(signal + rng.standard_normal(n) > 0, 1.0, -1.0)


def everything(n, d):
    rng = np.random.default_rng(5)
    weights = rng.uniform(0.5, 2.0, d)
    weights[[1, 4]] = 0.0
    w = rng.uniform(0.0, 2.0, n)
    w[3] = 0.0
    return {
        "fit_intercept": True,
        "sample_weight": w,
        "offset": 0.3 * rng.standard_normal(n),
        "penalty_weights": weights,
    }


def solved(problem, tol=1e-9, **options):
    """Certified to tol, with the certificate repeated from the data, and P never rising."""
    result = problem.solve(algorithm="working-set", tol=tol, max_passes=3000, **options)
    assert result.status is Status.CONVERGED, result
    assert result.certificate.relative_gap <= tol
    P = result.trace.primal
    assert (np.diff(P) <= 4e-15 * P[:-1]).all()
    assert np.isfinite(P).all()
    return result


def assert_kkt(problem, result, atol):
    """-A'Q phi'(z) - l2 x is l1 sign(x) where x != 0, and within l1 elsewhere."""
    x = problem.join(result.x, result.intercept)
    g = problem.regularizer
    s = -problem.adjoint(problem.loss.grad(problem.predict(x), problem.b)) - g.l2 * x
    wrong = np.where(x != 0, np.abs(s - g.l1 * np.sign(x)), np.maximum(np.abs(s) - g.l1, 0.0))
    assert wrong.max() <= atol


# ---- the optimum ----


@each_loss
@each_penalty
@pytest.mark.parametrize("more", [False, True], ids=["", "everything"])
def test_the_same_optimum_as_another_method(loss, penalty, more, way):
    A, b = data(loss)
    options = everything(*A.shape) if more else {}
    ours = solved(Problem(A, b, loss=loss, **penalty, **options))
    other = Problem(A, b, loss=loss, **penalty, **options)
    another = "adf-bpd" if other.loss.gamma is not None else "prox-newton"
    theirs = other.solve(algorithm=another, tol=1e-7, max_passes=30000)
    assert theirs.certificate.certified
    low = max(ours.certificate.dual, theirs.certificate.dual)
    assert low <= min(ours.certificate.primal, theirs.certificate.primal) * (1 + 1e-13)
    again = dualgap.certify(
        A, b, ours.x, ours.y, loss=loss, **penalty,
        **{"intercept": ours.intercept, **options},
    )  # fmt: skip
    assert again == ours.certificate


@each_loss
@pytest.mark.parametrize("penalty", ["lasso", "elastic net"])
def test_optimality_conditions(loss, penalty, way):
    A, b = data(loss)
    problem = Problem(A, b, loss=loss, **PENALTIES[penalty])
    result = solved(problem, tol=1e-11)
    assert 0 < np.count_nonzero(result.x) < A.shape[1]
    assert_kkt(problem, result, atol=3e-5 * problem.l1)


@pytest.mark.parametrize("shape", [(200, 15), (20, 150)], ids=["n > d", "n < d"])
@pytest.mark.parametrize("storage", STORAGE.values(), ids=STORAGE)
@pytest.mark.parametrize("fit_intercept", [False, True], ids=["", "intercept"])
@pytest.mark.parametrize("l2", [0.0, 0.01])
def test_scikit_learn_in_every_layout(shape, storage, fit_intercept, l2):
    A, b = data("squared", *shape, density=0.3)
    l1 = 0.05
    options = {"fit_intercept": fit_intercept, "tol": 1e-14, "max_iter": 100000}
    if l2:
        model = ElasticNet(alpha=l1 + l2, l1_ratio=l1 / (l1 + l2), **options)
    else:
        model = Lasso(alpha=l1, **options)
    model.fit(A, b)
    problem = Problem(storage(A), b, l1=l1, l2=l2, fit_intercept=fit_intercept)
    ours = solved(problem)
    theirs = problem.certify(model.coef_, intercept=float(model.intercept_))
    assert ours.certificate.dual <= theirs.primal * (1 + 1e-12)
    assert theirs.primal - ours.certificate.primal >= -1e-9 * theirs.primal
    np.testing.assert_allclose(ours.x, model.coef_, atol=2e-5)
    assert ours.intercept == pytest.approx(float(model.intercept_), abs=2e-5)


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
@pytest.mark.parametrize("fit_intercept", [False, True], ids=["", "intercept"])
def test_layouts_agree(loss, fit_intercept, way):
    A, b = data(loss, density=0.2)
    options = {"loss": loss, "l1": 0.02, "l2": 1e-4, "fit_intercept": fit_intercept}
    runs = [solved(Problem(store(A), b, **options), tol=1e-10) for store in STORAGE.values()]
    for run in runs[1:]:
        assert run.certificate.primal == pytest.approx(runs[0].certificate.primal, rel=1e-9)
        assert ((run.x != 0) == (runs[0].x != 0)).all()


def test_what_the_gap_rules_out_is_zero():
    """|u_j| + |a_j| sqrt(2 gap/gamma) < l1 proves x*_j = 0; and there it is 0."""
    A, b = data("squared", n=50, d=300)
    problem = Problem(A, b, l1=0.5)
    fine = solved(problem, tol=1e-12)
    rough = problem.solve(algorithm="working-set", tol=1e-5)
    s = problem.adjoint(rough.y)
    scale = min(1.0, problem.l1 / np.abs(s).max())
    gap = problem.certify(rough.x, scale * rough.y).gap
    out = np.abs(scale * s) + problem.column_norms * np.sqrt(2.0 * gap) < problem.l1
    assert out.sum() > 100
    assert not fine.x[out].any()


# ---- edges ----


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("l2", [0.0, 1e-3])
@pytest.mark.parametrize("first", [1, 64])
def test_duplicate_zero_and_constant_columns(loss, l2, first, monkeypatch):
    tuned(monkeypatch, "SETS", growth=first)
    A, b = data(loss, d=8)
    n = len(b)
    A = np.column_stack((A, A, -A[:, :3], np.zeros(n), np.ones(n), 1e6 * A[:, 0]))
    x0 = np.ones(A.shape[1])  # also where the column is zero
    problem = Problem(A, b, loss=loss, l1=0.02, l2=l2, fit_intercept=True)
    cold, warm = solved(problem), solved(problem, x0=x0)
    assert warm.x[19] == cold.x[19] == 0.0
    assert warm.certificate.primal == pytest.approx(cold.certificate.primal, rel=2e-9)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (9, 1)])
def test_one_row_one_column(loss, shape):
    A, b = data(loss, *shape, density=1.0)
    problem = Problem(A, b, loss=loss, l1=0.01)
    assert_kkt(problem, solved(problem, tol=1e-11), atol=1e-7)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_largest_useful_l1(loss):
    A, b = data(loss)
    zero = Problem(A, b, loss=loss)
    largest = np.abs(zero.adjoint(zero.loss.grad(np.zeros(len(b)), zero.b))).max()
    assert not solved(Problem(A, b, loss=loss, l1=1.001 * largest)).x.any()
    assert solved(Problem(A, b, loss=loss, l1=0.99 * largest)).x.any()


def test_all_data_zero():
    assert not solved(Problem(np.zeros((4, 3)), np.arange(4.0), l1=0.1)).x.any()


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_units_do_not_matter(loss):
    """Columns times 10^k with strengths to match: the same problem."""
    A, b = data(loss)
    units = 10.0 ** np.random.default_rng(0).integers(-5, 6, A.shape[1])
    plain = solved(Problem(A, b, loss=loss, l1=0.02))
    scaled = solved(Problem(A * units, b, loss=loss, l1=0.02, penalty_weights=units))
    np.testing.assert_allclose(scaled.x * units, plain.x, atol=1e-4)
    assert scaled.state.t <= plain.state.t + 2


def test_losses_of_several_predictions_are_refused():
    A, _ = data("squared")
    problem = Problem(A, np.arange(60) % 3, loss="multinomial", l1=0.1)
    with pytest.raises(ValueError, match="no kernel for loss='multinomial'"):
        problem.solve(algorithm="working-set")


# ---- warm, and resumed ----


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_warm_start_is_cheap(loss):
    A, b = data(loss, n=200, d=400)
    cold = solved(Problem(A, b, loss=loss, l1=0.05), tol=1e-6)
    warm = solved(Problem(A, b, loss=loss, l1=0.05), tol=1e-6, x0=cold.x)
    assert warm.state.t <= 1 < cold.state.t
    near = solved(Problem(A, b, loss=loss, l1=0.049), tol=1e-6, x0=cold.x)
    afar = solved(Problem(A, b, loss=loss, l1=0.049), tol=1e-6)
    assert near.passes < afar.passes


@each_loss
@pytest.mark.parametrize("penalty", ["lasso", "elastic net"])
@pytest.mark.parametrize("more", [False, True], ids=["", "everything"])
def test_two_parts_are_one_run(loss, penalty, more, way):
    A, b = data(loss)
    options = {"loss": loss, **PENALTIES[penalty], **(everything(*A.shape) if more else {})}
    algorithm = WorkingSet()
    problem = Problem(A, b, **options)
    path = [algorithm.start(problem, None, None).state]
    for _ in range(4):
        path.append(algorithm.step(problem, path[-1]))
    for cut in range(1, 4):
        fresh = Problem(A, b, **options)  # has gathered no columns yet
        state = pickle.loads(pickle.dumps(path[cut]))
        before = pickle.dumps(state)
        for expected in path[cut + 1 :]:
            state = algorithm.step(fresh, state)
            assert_same_state(state, expected)
        assert pickle.dumps(path[cut]) == before
    run = problem.solve(algorithm="working-set", tol=1e-300, max_passes=2.0)
    by_hand = path[min(run.state.t, 4)]
    if run.state.t <= 4:
        assert_same_state(dataclasses.replace(by_hand, incumbent=run.state.incumbent), run.state)


def test_the_callers_data_are_left_alone():
    A, b = data("logistic")
    kept = A.copy(), b.copy()
    solved(Problem(A, b, loss="logistic", l1=0.02))
    assert (A == kept[0]).all() and (b == kept[1]).all()


@pytest.mark.parametrize("storage", ["C", "F", "float32"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_dense_columns_grow_in_the_order_of_their_coming(storage, fit_intercept):
    A, b = data("squared", d=8)
    problem = Problem(STORAGE[storage](A), b, fit_intercept=fit_intercept)
    full = np.column_stack((A, np.full(len(A), problem.design.scale))) if fit_intercept else A
    order = np.random.default_rng(0).permutation(full.shape[1])
    seen = []
    for size in (2, 3, 5, full.shape[1]):
        columns = problem.columns(order[:size])
        seen.append((columns, order[:size]))
    other = problem.design.columns(order[[0, 1, 2, 5]], known=seen[1][0])  # beside what came later
    for columns, at in [*seen, (other, order[[0, 1, 2, 5]])]:
        assert np.array_equal(columns.at, at)
        assert np.array_equal(columns.T, full[:, at].T)


def stepwise(M, r, x, l1):
    """To the minimiser on the support, one factorisation for each coordinate that becomes 0."""
    x, r, on = x.copy(), r.copy(), np.arange(x.size)
    while True:
        step = np.linalg.solve(M[np.ix_(on, on)], r[on])
        here = x[on]
        crossing = (l1[on] > 0) & (here * (here + step) <= 0.0)
        if not crossing.any():
            x[on] += step
            return x
        ratios = np.where(crossing, -here / step, np.inf)
        k = int(ratios.argmin())
        move = np.zeros_like(x)
        move[on] = ratios[k] * step
        x, r = x + move, r - M @ move
        x[on[k]] = 0.0
        on = np.delete(on, k)


@pytest.mark.parametrize("seed", range(30))
def test_one_factorisation_follows_all_changes_of_sign(seed):

    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 25))
    B = rng.normal(size=(size + 5, size)) * rng.uniform(0.1, 3.0, size)
    H = B.T @ B / len(B)
    x = rng.normal(size=size) * (rng.random(size) < 0.8)
    l1 = rng.uniform(0.0, 1.0, size) * (rng.random(size) < 0.9)
    l2 = rng.uniform(0.0, 0.1, size)
    g = rng.normal(size=size)
    on = (x != 0) | (l1 == 0)
    M = H + np.diag(l2 + penalised.RIDGE * np.diag(H))
    r = -(g + l1 * np.sign(x) + l2 * x)
    expected = x.copy()
    if on.any():
        expected[on] = stepwise(M[np.ix_(on, on)], r[on], x[on], l1[on])
    moved = penalised.polish(H, g, x, penalised.Penalty(l1, l2))
    assert moved == on.any()
    np.testing.assert_allclose(x, expected, atol=1e-8)
    assert np.array_equal(x == 0, expected == 0)


# ---- small sparse data: H of all coordinates ----


@pytest.fixture
def small_sets(monkeypatch):
    """Few coordinates at a time, so that there are several sets."""
    tuned(monkeypatch, "SETS", growth=1, all_of=0)


@pytest.mark.parametrize("storage", ["csr", "csc", "csr float32"])
@pytest.mark.parametrize("penalty", ["lasso", "elastic net"])
@pytest.mark.parametrize("more", [False, True], ids=["", "everything"])
def test_parts_of_the_whole(storage, penalty, more, small_sets, monkeypatch):
    A, b = data("squared")
    arguments = {**PENALTIES[penalty], **(everything(*A.shape) if more else {})}

    def run():
        problem = Problem(STORAGE[storage](A), b, **arguments)
        return problem, solved(problem, tol=1e-12)

    problem, whole = run()
    assert whole.state.own.full_gram.shape == (problem.size, problem.size)
    assert 3 < whole.state.own.coordinates.size < problem.size
    assert_kkt(problem, whole, atol=1e-6 * problem.l1)
    tuned(monkeypatch, "GRAMS", cheap_whole=0.0)
    _, parts = run()
    assert parts.state.own.full_gram is None
    assert whole.x == pytest.approx(parts.x, abs=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_the_known_gram_gives_parts_and_gradients(seed):
    from dualgap.linalg.compiled_gram import add_symmetric_product, symmetric_part

    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 12))
    G = rng.normal(size=(size, size))
    G += G.T
    lower = np.tril(G) + np.triu(np.full((size, size), np.nan), 1)  # nobody looks there
    at = np.flatnonzero(rng.random(size) < (0.0, 0.3, 0.8, 1.0)[seed % 4])
    part = np.empty((at.size, at.size))
    symmetric_part(lower, at, part)
    assert np.array_equal(part, G[np.ix_(at, at)])
    v, u = rng.normal(size=at.size) * (rng.random(at.size) < 0.7), rng.normal(size=size)
    expected = u + G[:, at] @ v
    add_symmetric_product(lower, at, v, u)
    np.testing.assert_allclose(u, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("penalty", ["lasso", "elastic net"])
def test_sets_follow_each_other_with_no_product_between(penalty, small_sets, monkeypatch):
    A, b = data("squared")
    problem = Problem(sp.csr_array(A), b, fit_intercept=True, **PENALTIES[penalty])
    sizes, steps = [], []
    descend, step = set_models.descend, WorkingSet.step

    def watched(H, *rest):
        sizes.append(len(H))
        return descend(H, *rest)

    def counted(self, problem, s):
        steps.append(len(sizes))
        return step(self, problem, s)

    monkeypatch.setattr(set_models, "descend", watched)
    monkeypatch.setattr(WorkingSet, "step", counted)
    result = solved(problem, tol=1e-9)
    assert len(sizes) > 2 * len(steps)
    assert sizes == sorted(sizes)
    assert_kkt(problem, result, atol=1e-6 * problem.l1)


def test_the_whole_goes_on_bitwise_and_to_other_strengths(small_sets, monkeypatch):
    tuned(monkeypatch, "SETS", rounds=1)
    A, b = data("squared")
    problem = Problem(sp.csr_array(A), b, l1=0.03, fit_intercept=True)
    straight = solved(problem)
    part = problem.solve(algorithm="working-set", tol=1e-9, max_passes=2)
    assert 0 < part.state.t < straight.state.t
    assert_same_state(problem.solve(tol=1e-9, state=part.state).state, straight.state)
    other = problem.replace(l1=0.02)
    warm = other.solve(algorithm="working-set", tol=1e-9, earlier=straight.state)
    assert warm.status.converged
    assert warm.state.own.full_gram is straight.state.own.full_gram


def test_dense_and_large_data_have_no_whole():
    A, b = data("squared", n=30, d=200)
    assert not working_set.is_cheap(Problem(A, b, l1=0.1))
    assert not working_set.is_cheap(Problem(sp.csr_array(A), np.sign(b), loss="logistic"))
    assert working_set.is_cheap(Problem(sp.csr_array(A), b, l1=0.1))
    wide = sp.csr_array(np.ones((2, tuning.GRAMS.largest_side + 1)))
    assert not working_set.is_cheap(Problem(wide, [0.0, 1.0], l1=0.1))


@pytest.mark.parametrize("storage", ["C", "csr"])
def test_no_step_where_nothing_but_the_intercept_is_wanted(storage):
    A, b = data("squared")
    w = np.arange(len(b)) % 3 + 0.5
    result = dualgap.solve(
        STORAGE[storage](A), b + 7.0, l1=1e3, fit_intercept=True, sample_weight=w,
        offset=np.linspace(0, 1, len(b)),
    )  # fmt: skip
    assert result.state.t == 0 and result.status.converged
    assert not result.x.any()
    assert result.intercept == pytest.approx(np.average(b + 7.0 - np.linspace(0, 1, 60), weights=w))


def test_a_smaller_gap_counts_where_rounding_hides_p():
    # b is large and P small: P rises by its rounding while the gap falls from 1e-8 to 3e-13.
    rng = np.random.default_rng(7807)
    n, d = int(rng.integers(2, 200)), int(rng.integers(70, 600))
    density = float(rng.choice([0.01, 0.05, 0.2]))
    A = sp.random_array((n, d), density=density, random_state=rng, format="csr")
    w = np.where(rng.random(d) < 0.1, rng.normal(size=d), 0)
    b = A @ w + 10.0 ** rng.integers(-6, 1) * rng.normal(size=n) + rng.choice([0, 5.0])
    problem = Problem(A, b, l1=3.545431450949177e-05, fit_intercept=True)
    result = problem.solve(algorithm="working-set", tol=1e-12, max_passes=100)
    assert result.status.converged


def test_the_whole_does_not_go_on_to_another_kind_of_loss():
    rng = np.random.default_rng(1)
    A = sp.random_array((80, 200), density=0.1, random_state=rng, format="csr")
    squares = Problem(A, np.sign(rng.normal(size=80)), l1=1e-4)
    first = squares.solve(algorithm="working-set")
    assert first.state.own.full_gram is not None
    logistic = squares.replace(loss="logistic")
    warm = logistic.solve(algorithm="working-set", tol=1e-8, earlier=first.state)
    assert warm.status.converged and warm.state.own.full_gram is None


def test_an_empty_set_of_the_whole_is_no_step():
    rng = np.random.default_rng(0)
    A = sp.random_array((60, 150), density=0.1, random_state=rng, format="csr")
    problem = Problem(A, rng.normal(size=60), l1=1e-4)
    first = problem.solve(algorithm="working-set")
    other, algorithm = problem.replace(l1=100.0), WorkingSet()
    state = algorithm.inherit(other, algorithm.start(other, None, None).state, first.state)
    assert state.own.coordinates.size == 0 and state.own.full_gram is not None
    assert not algorithm.step(other, state).x.any()


@pytest.mark.parametrize("seed", range(5))
def test_a_gap_that_rounding_keeps_open_is_closed_by_careful_steps(seed):
    # P is 1e-14 of P(0): rounding in z leaves gaps of 1e-11 P and more, and steps go to and fro.
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(60, 10))
    b = A @ rng.normal(size=10) + 1e-7 * rng.normal(size=60) + 100.0
    problem = Problem(A, b, l2=1e-10, fit_intercept=True)
    result = problem.solve(algorithm="working-set", tol=1e-15, max_passes=3000)
    assert result.status is Status.CONVERGED
    assert result.certificate.relative_gap <= 1e-15
    assert result.state.t < 1000
    with mp.workdps(60):  # the exact minimiser, by normal equations
        F = mp.matrix(np.column_stack((A, np.ones(60))).tolist())
        H = F.T * F / 60 + mp.diag([mp.mpf(1e-10)] * 10 + [0])
        best = mp.lu_solve(H, F.T * mp.matrix(b.tolist()) / 60)

        def value(v):
            r = F * v - mp.matrix(b.tolist())
            return (r.T * r)[0] / 120 + mp.mpf(1e-10) / 2 * sum(v[j] ** 2 for j in range(10))

        ours = mp.matrix([*result.x.tolist(), result.intercept])
        assert value(ours) - value(best) <= result.certificate.gap


def test_problems_that_share_data_share_gathered_columns():
    """Equivalence: `replace` makes another problem of the same data, whichever asks first."""
    A, b = np.random.default_rng(0).standard_normal((20, 6)), np.arange(20.0)
    problem = Problem(A, b, l1=0.1)
    other = problem.replace(l1=0.2)
    found = other.columns(np.array([1, 4]))
    assert problem.columns(np.array([1, 4])) is found
    assert problem.replace(b=-b).columns(np.array([1, 4])) is found
    np.testing.assert_array_equal(found.matvec(np.array([1.0, 2.0])), A[:, 1] + 2.0 * A[:, 4])
