"""Newton: the same optimum as other methods, whatever the units, and certified."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

import dualgap
from dualgap.algorithms import Newton
from dualgap.algorithms.second_order import newton_system, tuning
from dualgap.designs import as_design
from dualgap.linalg import hessian_factor
from tests.tuned import tuned

RNG = np.random.default_rng(5)
TALL = RNG.standard_normal((120, 7))
WIDE = RNG.standard_normal((12, 60))
KINKED = ("huber", "smoothed_hinge", "squared_hinge")
UNITS = 10.0 ** np.linspace(-4, 4, 7)


def targets(A, loss):
    z = A @ np.linspace(-1, 1, A.shape[1]) + np.random.default_rng(8).standard_normal(len(A))
    return z if loss in ("squared", "huber") else np.where(z > 0, 1.0, -1.0)


@pytest.mark.parametrize("loss", ["squared", "logistic", "strong_logistic", *KINKED])
@pytest.mark.parametrize("A", [TALL, WIDE, TALL * UNITS], ids=["tall", "wide", "units"])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_certified_to_the_last_digits(loss, A, storage, fit_intercept, weighted):
    b = targets(A, loss)
    w = np.arange(len(b)) % 3 + 1.0 if weighted else None
    result = dualgap.solve(
        storage(A), b, loss=loss, l2=1e-3, fit_intercept=fit_intercept, sample_weight=w,
        algorithm="newton", tol=1e-10,
    )  # fmt: skip
    assert result.status.converged
    again = dualgap.certify(
        A, b, result.x, result.y, loss=loss, l2=1e-3, intercept=result.intercept,
        fit_intercept=fit_intercept, sample_weight=w,
    )  # fmt: skip
    assert again.certified and again.relative_gap <= 1e-10


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_penalty_weights_with_zeros(loss):
    p = np.array([0.0, 1.0, 2.0, 0.5, 1.0, 0.0, 3.0])
    b = targets(TALL, loss)
    arguments = {"loss": loss, "l2": 0.1, "penalty_weights": p, "fit_intercept": True}
    ours = dualgap.solve(TALL, b, algorithm="newton", tol=1e-9, **arguments)
    slow = dualgap.solve(TALL, b, algorithm="adf-bpd", tol=1e-9, max_passes=20000, **arguments)
    assert ours.status.converged and slow.status.converged
    assert abs(ours.certificate.primal - slow.certificate.primal) <= 2e-9 * slow.certificate.primal


def test_units_do_not_count():
    """Columns in other units, with the penalty that makes the problems equal."""
    b = targets(TALL, "logistic")
    plain = dualgap.solve(TALL, b, loss="logistic", l2=0.01, algorithm="newton", tol=1e-9)
    other = dualgap.solve(
        TALL * UNITS, b, loss="logistic", l2=0.01, penalty_weights=UNITS**2,
        algorithm="newton", tol=1e-9,
    )  # fmt: skip
    assert other.status.converged
    assert other.certificate.primal == pytest.approx(plain.certificate.primal, rel=2e-9)
    assert other.passes <= 1.2 * plain.passes + 3


# Several systems, or chunks of one; the last is large enough for a float32 copy.
@pytest.mark.parametrize("shape", [(300, 200), (600, 400), (2100, 500)], ids=str)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("cut", [3, 8])
def test_a_state_goes_on_bitwise(loss, cut, shape):
    if loss == "squared" and shape == (300, 200):
        pytest.skip("factorised at once: there is nothing to interrupt")
    A = np.random.default_rng(1).standard_normal(shape)
    b = targets(A, loss)
    problem = dualgap.Problem(A, b, loss=loss, l2=1e-4)
    whole = problem.solve(algorithm="newton", tol=1e-10)
    first = problem.solve(algorithm="newton", tol=1e-10, max_passes=cut)
    assert not first.status.converged
    second = problem.solve(algorithm="newton", tol=1e-10, state=first.state)
    np.testing.assert_array_equal(second.x, whole.x)


def by_frequency(n, d, entries=30):
    """Columns whose shares of the entries fall with their rank; they are too many for a factor."""
    rng = np.random.default_rng(9)
    share = np.arange(1.0, d + 1) ** -0.9
    columns = rng.choice(d, size=n * entries, p=share / share.sum())
    starts = np.arange(0, n * entries + 1, entries)
    A = sp.csr_array((rng.standard_normal(n * entries), columns, starts), shape=(n, d))
    A.sum_duplicates()
    z = A @ rng.standard_normal(d) / np.sqrt(entries)
    return A, z, np.where(z + rng.logistic(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_diagonal_serves_where_a_trial_says_so(loss, fit_intercept, monkeypatch):
    A, z, labels = by_frequency(10_000, 5_000)
    problem = dualgap.Problem(
        A, z if loss == "squared" else labels, loss=loss, l2=1e-4, fit_intercept=fit_intercept
    )
    tried = problem.solve(algorithm="newton")
    tuned(monkeypatch, "SYSTEMS", trial_after=10**9)
    plain = problem.solve(algorithm="newton")
    assert tried.state.own.by_diagonal and plain.state.own.by_diagonal is None
    assert tried.status.converged and plain.status.converged
    assert tried.passes <= 40 and tried.passes <= 0.3 * plain.passes
    assert tried.certificate.primal == pytest.approx(plain.certificate.primal, rel=2e-6)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_trial_that_fails_costs_half_a_pass(loss, monkeypatch):
    """Columns of one frequency, for which the diagonal is a multiple of the identity, nearly."""
    rng = np.random.default_rng(9)
    A = sp.random_array((6_000, 5_000), density=0.006, format="csr", random_state=rng)
    z = A @ rng.standard_normal(5_000)
    b = z if loss == "squared" else np.where(z > 0, 1.0, -1.0)
    problem = dualgap.Problem(A, b, loss=loss, l2=1e-5)
    tried = problem.solve(algorithm="newton")
    tuned(monkeypatch, "SYSTEMS", trial_after=10**9)
    plain = problem.solve(algorithm="newton")
    assert tried.state.own.by_diagonal is False
    np.testing.assert_array_equal(tried.x, plain.x)
    assert tried.passes == plain.passes + 0.5


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_more_columns_than_rows_are_not_tried(loss):
    A, z, labels = by_frequency(5_000, 10_000)
    problem = dualgap.Problem(A, z if loss == "squared" else labels, loss=loss, l2=1e-5)
    result = problem.solve(algorithm="newton", tol=1e-3)
    assert result.state.own.products > tuning.SYSTEMS.trial_after
    assert result.state.own.by_diagonal is None


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("cut", [6, 10, 13, 17])
def test_a_trial_does_not_depend_on_where_a_run_was_cut(loss, cut):
    A, z, labels = by_frequency(10_000, 5_000)
    problem = dualgap.Problem(A, z if loss == "squared" else labels, loss=loss, l2=1e-4)
    whole = problem.solve(algorithm="newton", tol=1e-9)
    first = problem.solve(algorithm="newton", tol=1e-9, max_passes=cut)
    assert not first.status.converged
    second = problem.solve(algorithm="newton", tol=1e-9, state=first.state)
    assert second.state.own.by_diagonal
    np.testing.assert_array_equal(second.x, whole.x)


def test_l1_is_refused():
    with pytest.raises(ValueError, match=r"algorithm='newton' needs a smooth.*l1=0\.1"):
        dualgap.solve(TALL, targets(TALL, "squared"), l1=0.1, algorithm="newton")


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("A", [TALL, WIDE], ids=["columns", "rows"])
@pytest.mark.parametrize("free", [False, True])
def test_the_factor_inverts(storage, A, free):
    """Against the dense inverse."""
    n, d = A.shape
    rng = np.random.default_rng(n)
    w, l2 = rng.random(n), 0.1 + rng.random(d)
    if free:
        A = np.column_stack((A, np.ones(n)))
        l2 = np.append(l2, 0.0)
    factor = hessian_factor.HessianFactor(as_design(storage(A)), w, l2)
    H = A.T @ (w[:, None] * A) + np.diag(l2)
    r = rng.standard_normal(len(l2))
    np.testing.assert_allclose(factor.solve(r), scipy.linalg.solve(H, r), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("free", [False, True])
def test_a_step_in_row_space_is_the_same_step(storage, free):
    """d = H^(-1) r and A d without a product with A but one."""
    rng = np.random.default_rng(3)
    A = np.column_stack((WIDE, rng.random(len(WIDE)))) if free else WIDE
    n, d = A.shape
    w, l2 = rng.random(n), 0.1 + rng.random(d)
    l2[-1] *= not free
    x, slope = rng.standard_normal(d), rng.standard_normal(n)
    factor = hessian_factor.HessianFactor(as_design(storage(A)), w, 2.0 * l2).with_strengths(l2)
    r = -A.T @ slope - l2 * x
    step, image = factor.newton_step(r, slope, x, A @ x)
    H = A.T @ (w[:, None] * A) + np.diag(l2)
    np.testing.assert_allclose(step, scipy.linalg.solve(H, r), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(factor.solve(r), step, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(image, A @ step, rtol=1e-9, atol=1e-12)


@pytest.fixture
def narrow(monkeypatch):
    """Float32 copies of small data too, from the first product on."""
    monkeypatch.setattr("dualgap.designs.narrow.LEAST_ENTRIES", 0)
    tuned(monkeypatch, "SYSTEMS", at_once=0.0)


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
@pytest.mark.parametrize("A", [TALL, WIDE, TALL * UNITS], ids=["tall", "wide", "units"])
@pytest.mark.parametrize("l2", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_narrow_products_do_not_limit_the_answer(loss, A, l2, fit_intercept, narrow):
    """Far beyond what float32 holds, also where it cannot even tell H from a singular matrix."""
    b = targets(A, loss)
    result = dualgap.solve(
        A, b, loss=loss, l2=l2, fit_intercept=fit_intercept, algorithm="newton", tol=1e-10
    )
    assert result.status.converged
    assert result.certificate.relative_gap <= 1e-10


def test_a_narrow_factor_of_a_singular_matrix_is_made_again(narrow):
    A = np.column_stack((TALL, TALL[:, 0] + 1e-6 * TALL[:, 1]))
    design, w, l2 = as_design(A), np.ones(len(A)), np.full(8, 1e-14)
    factor = hessian_factor.HessianFactor(design, w, l2, narrow=design.narrowed())
    assert not factor.is_narrow
    fine = hessian_factor.HessianFactor(design, w, l2 + 1.0, narrow=design.narrowed())
    assert fine.is_narrow and not fine.is_exact


def test_steps_go_on_where_curvature_falls():
    """Separable with hardly any l2: each full step would gain a margin of about one."""
    b = np.sign(TALL[:, 0])
    arguments = {"loss": "logistic", "l2": 1e-7, "algorithm": "newton", "tol": 1e-8}
    result = dualgap.solve(TALL, b, **arguments)
    assert result.status.converged
    assert len(result.trace) <= 14


def test_flat_directions_are_left_alone():
    """Duplicate and zero columns without a regulariser: H is singular."""
    A = np.column_stack((TALL, TALL[:, 0], np.zeros(len(TALL))))
    b = targets(TALL, "squared")
    result = dualgap.solve(A, b, algorithm="newton", tol=1e-8)
    best = np.linalg.lstsq(A, b, rcond=None)[0]
    assert result.certificate.primal == pytest.approx(0.5 * np.mean((A @ best - b) ** 2), rel=1e-8)


def test_multinomial():
    b = np.random.default_rng(6).integers(0, 3, len(TALL))
    arguments = {"loss": "multinomial", "l2": 0.01, "fit_intercept": True}
    ours = dualgap.solve(TALL, b, algorithm="newton", tol=1e-8, **arguments)
    slow = dualgap.solve(TALL, b, algorithm="adf-bpd", tol=1e-8, max_passes=20000, **arguments)
    assert ours.status.converged
    assert abs(ours.certificate.primal - slow.certificate.primal) <= 2e-8 * slow.certificate.primal


def test_it_knows_what_it_aims_at():
    assert Newton().aiming_at(1e-3).tol == 1e-3


@pytest.mark.parametrize("loss", KINKED)
@pytest.mark.parametrize("l2", [0.0, 1e-6])
def test_kinks_and_hardly_a_regulariser(loss, l2):
    """Directions in which no row has curvature: a plain Newton step would be endless."""
    b = targets(TALL, loss)
    result = dualgap.solve(TALL * UNITS, 5.0 * b if loss == "huber" else b, loss=loss, l2=l2,
                           algorithm="newton", tol=1e-8)  # fmt: skip
    assert result.status.converged and result.passes < 150


def test_a_full_step_may_overshoot():
    """The start is confident and wrong: phi'' is tiny there, and the Newton step far too long."""
    A, b = np.ones((40, 1)), np.where(np.arange(40) < 10, 1.0, -1.0)
    start = np.array([30.0])
    result = dualgap.solve(A, b, loss="logistic", l2=1e-6, x0=start, algorithm="newton", tol=1e-10)
    assert result.status.converged
    assert (np.diff(result.trace.primal) <= 1e-12).all()


def test_auto_takes_the_options_of_the_paper():
    """An option of the primal-dual steps asks for a primal-dual method."""
    b = targets(TALL, "squared")
    assert dualgap.solve(TALL, b, l2=0.1).algorithm == "newton"
    assert dualgap.solve(TALL, b, l2=0.1, adapt="robust").algorithm == "ada-bpd"
    assert dualgap.solve(TALL, b, l2=0.1, mu=0.1).algorithm == "ada-bpd"


def few_long_rows(kind):
    """Dense rows of which a basis is cheap, independent or not."""
    rng = np.random.default_rng(4)
    A = rng.standard_normal((20, 400))
    if kind == "centred":
        A -= A.mean(axis=0)
    elif kind == "repeated":
        A[10:] = A[:10]
    b = np.where(rng.random(20) < 0.5, 1.0, -1.0)
    return A, b


@pytest.mark.parametrize("kind", ["independent", "centred", "repeated"])
@pytest.mark.parametrize("loss", ["logistic", "smoothed_hinge"])
@pytest.mark.parametrize("arguments", [
    {},
    {"fit_intercept": True},
    {"sample_weight": np.arange(20) % 3.0, "offset": np.linspace(-1, 1, 20)},
    {"penalty_weights": np.linspace(0.5, 2.0, 400)},
], ids=lambda a: "-".join(a) or "plain")  # fmt: skip
@pytest.mark.parametrize("l2", [1.0, 1e-3])
def test_few_long_rows_in_a_basis_of_their_space(kind, loss, arguments, l2):
    """What auto does there: the same answer, in the user's variables and certified there."""
    A, b = few_long_rows(kind)
    problem = dualgap.Problem(A, b, loss=loss, l2=l2, **arguments)
    ours = problem.solve(tol=1e-9)
    plain = problem.solve(tol=1e-9, precondition="none")
    assert ours.algorithm == plain.algorithm == "newton"
    assert ours.state.change.preconditioner == "rows" and plain.state.change is None
    assert ours.status.converged and ours.x.shape == (400,)
    again = problem.certify(ours.x, ours.y, intercept=ours.intercept)
    assert again.relative_gap <= 1e-9
    assert ours.certificate.primal == pytest.approx(plain.certificate.primal, rel=2e-9)


def test_a_basis_of_few_rows_goes_on_bitwise():
    A, b = few_long_rows("centred")
    problem = dualgap.Problem(A, b, loss="logistic", l2=1e-5)
    whole = problem.solve(tol=1e-10)
    first = problem.solve(tol=1e-10, max_passes=5)
    assert not first.status.converged
    np.testing.assert_array_equal(problem.solve(tol=1e-10, state=first.state).x, whole.x)


@pytest.mark.parametrize("change", [
    {"algorithm": "newton"}, {"precondition": "none"}, {"loss": "squared"}, {"l2": 0.0},
    {"A": sp.csr_array(few_long_rows("centred")[0])}, {"A": few_long_rows("centred")[0][:, :60]},
], ids=str)  # fmt: skip
def test_no_basis_elsewhere(change):
    A, b = few_long_rows("centred")
    options = {"A": A, "loss": "logistic", "l2": 0.1, **change}
    result = dualgap.solve(options.pop("A"), b, **options)
    assert result.state.change is None


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1e3, 1e6])
def test_the_unit_of_all_columns_does_not_count_beside_an_intercept(loss, unit, monkeypatch):
    """The same problem in other units takes as many passes of conjugate gradients."""
    monkeypatch.setattr(hessian_factor, "cost", lambda *args, **kwargs: np.inf)
    A = np.random.default_rng(2).standard_normal((301, 120)) + 0.5
    b = targets(A, loss)
    arguments = {"loss": loss, "fit_intercept": True, "algorithm": "newton", "tol": 1e-9}
    plain = dualgap.solve(A, b, l2=1e-2, **arguments)
    other = dualgap.solve(unit * A, b, l2=1e-2 * unit**2, **arguments)
    assert plain.status.converged and other.status.converged
    assert other.passes <= 1.1 * plain.passes + 2


def slow_problem(fit_intercept=False):
    """Sparse and badly conditioned, for conjugate gradients without a factor."""
    rng = np.random.default_rng(11)
    A = sp.random_array((600, 500), density=0.03, random_state=rng, format="csr")
    b = A @ rng.standard_normal(500) + 0.1 * rng.standard_normal(600)
    return dualgap.Problem(A, b, l2=1e-6, fit_intercept=fit_intercept)


def residuals(problem, monkeypatch):
    """|r|^2/(2 l2) after each product, of the iterates and of their mix."""
    seen = []
    smooth = newton_system.System._smooth

    def look(self):
        smooth(self)
        mix = np.nan if self.now.smoothed is None else self.now.smoothed.left
        seen.append([0.5 * float((self.inverse * r * r).sum()) for r in (self.run.r, mix)])

    with monkeypatch.context() as patch:
        patch.setattr(newton_system.System, "_smooth", look)
        result = problem.solve(algorithm="newton", tol=1e-10, max_passes=5000)
    assert result.status.converged
    return result, np.array(seen)


@pytest.fixture
def no_factor(monkeypatch):
    monkeypatch.setattr(hessian_factor, "cost", lambda *a, **k: np.inf)


def test_residuals_of_the_mix_are_harmonic_sums(no_factor, monkeypatch):
    _, seen = residuals(slow_problem(), monkeypatch)
    first = int(np.flatnonzero(np.isfinite(seen[:, 1]))[0])
    assert len(seen) - first > 5
    expected = 1.0 / np.cumsum(1.0 / seen[first:, 0])
    assert seen[first:, 1] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_mix_gives_the_dual_point(fit_intercept, no_factor, monkeypatch):
    problem = slow_problem(fit_intercept)
    result, seen = residuals(problem, monkeypatch)
    again = problem.certify(result.x, result.y, intercept=result.intercept)
    assert again.certified and again.relative_gap <= 1e-10
    tuned(monkeypatch, "SYSTEMS", smooth_from=0.0)
    _, rough = residuals(problem, monkeypatch)
    assert not np.isfinite(rough[:, 1]).any()
    assert len(seen) < len(rough)


def test_the_mix_goes_on_bitwise(no_factor):
    problem = slow_problem(True)
    whole = problem.solve(algorithm="newton", tol=1e-10, max_passes=5000)
    mixed = 0
    for less in (2, 4, 6):
        part = problem.solve(algorithm="newton", tol=1e-10, max_passes=whole.state.passes - less)
        mixed += part.state.own.system.smoothed is not None
        rest = problem.solve(algorithm="newton", tol=1e-10, state=part.state, max_passes=5000)
        assert (rest.x == whole.x).all() and (rest.y == whole.y).all()
    assert mixed
