"""The constants of the theorems: bounds on the right side, exact ones exact."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dualgap.designs import InterceptDesign, as_design
from dualgap.objective import constants
from dualgap.objective.constants import Constants

EPS = np.finfo(float).eps


@pytest.fixture(autouse=True)
def as_in_the_driver():
    """The driver runs everything so: what counts is the value that comes out."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        yield


def spectrum(A, q):
    """Extreme eigenvalues of A'QA from the singular values of Q^(1/2) A: no Gram matrix."""
    s = np.linalg.svd(np.sqrt(q)[:, None] * A, compute_uv=False)
    return (s[-1] ** 2 if A.shape[0] >= A.shape[1] else 0.0), s[0] ** 2


def weights(n, seed=0, zeros=False):
    w = np.random.default_rng(seed).random(n) + 0.1
    if zeros:
        w[: n // 3] = 0.0
    return w / w.sum()


def random(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def with_spectrum(values, n, seed=0):
    """A matrix with these singular values in random directions."""
    rng = np.random.default_rng(seed)
    d = len(values)
    U = np.linalg.qr(rng.standard_normal((n, d)))[0]
    V = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return (U * values) @ V.T


DESIGNS = {
    "random tall": random(60, 25),
    "random wide": random(25, 60),
    "square": random(30, 30),
    "nonnegative": abs(random(50, 30)),
    "nonnegative sparse": np.maximum(random(50, 30) - 1.2, 0.0),
    "one large row": np.vstack([random(40, 20), 1e3 * np.ones((1, 20))]),
    "rank one": np.outer(random(40, 1), random(30, 1)),
    "identity": np.eye(35),
    "orthogonal": with_spectrum(np.ones(24), 40),
    "clustered top": with_spectrum(np.concatenate([[1.001, 1.0], np.linspace(0.999, 0.9, 28)]), 50),
    "dense spectrum": with_spectrum(np.sqrt(np.linspace(1.0, 0.01, 40)), 60),
    "geometric spectrum": with_spectrum(0.7 ** np.arange(30.0), 45),
    "ill-conditioned": with_spectrum(10.0 ** -np.linspace(0.0, 8.0, 24), 40),
    "alternating signs": (-1.0) ** np.add.outer(np.arange(40), np.arange(20)),
    "top direction in one column": np.hstack([1e-3 * random(40, 29), random(40, 1)]),
    "zero columns": random(40, 30) * (np.arange(30) % 3 == 0),
    "small numbers": 1e-40 * random(40, 24),
    "large numbers": 1e40 * random(40, 24),
    "smallest numbers": 1e-95 * random(40, 24),
    "largest numbers": 1e95 * random(40, 24),
    "single row": random(1, 30),
    "single column": random(30, 1),
}
each_design = pytest.mark.parametrize("name", DESIGNS)
each_weighting = pytest.mark.parametrize("zeros", [False, True], ids=["weights", "some zero"])


@pytest.fixture(params=["Gram", "no Gram"])
def route(request, monkeypatch):
    """Either the Gram matrix is formed, or it is too large for that."""
    if request.param == "no Gram":
        monkeypatch.setattr(constants, "GRAM_LIMIT", 0)
        monkeypatch.setattr(constants, "SMALL_GRAM", 0)
    return request.param


@each_design
@each_weighting
def test_Lam_is_an_upper_bound(name, zeros, route):
    A = DESIGNS[name]
    q = weights(len(A), zeros=zeros)
    found = Constants(as_design(A), q).Lam
    _, top = spectrum(A, q)
    assert found.side == "upper"
    # The singular value is itself known to a few eps.
    assert found.value >= top * (1 - 10 * EPS)
    trace = q @ (A * A).sum(axis=1)
    if route == "Gram":
        # The bound's own slack for rounding is below 1e-11 for sides of up to a thousand.
        assert found.value <= top * (1 + 1e-11)
    else:
        assert found.value <= trace * (1 + 1e-8)


@each_design
def test_Lam_with_an_intercept(name, route):
    A = DESIGNS[name]
    q = weights(len(A))
    design = InterceptDesign(as_design(A), q)
    found = Constants(design, q).Lam
    _, top = spectrum(np.column_stack([A, np.full(len(A), design.scale)]), q)
    assert found.value >= top * (1 - 10 * EPS)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    n=st.integers(1, 40),
    d=st.integers(1, 40),
    seed=st.integers(0, 10**6),
    decay=st.floats(0.0, 6.0),
    sparsity=st.floats(0.0, 0.95),
    gram=st.booleans(),
)
def test_Lam_is_an_upper_bound_for_any_shape_and_scale(n, d, seed, decay, sparsity, gram):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-decay, decay, d)
    A *= rng.random((n, d)) >= sparsity
    q = weights(n, seed)
    with pytest.MonkeyPatch.context() as patch:
        if not gram:
            patch.setattr(constants, "GRAM_LIMIT", 0)
        for stored in (A, sp.csr_array(A)):
            assert Constants(as_design(stored), q).Lam.value >= spectrum(A, q)[1] * (1 - 10 * EPS)


@pytest.mark.parametrize("seed", range(5))
def test_Lam_without_Gram_is_close_for_nonnegative_data(seed, monkeypatch):
    # |A|'Q|A| = A'QA then, and power iteration brings the Collatz-Wielandt quotient down to Lam.
    monkeypatch.setattr(constants, "GRAM_LIMIT", 0)
    A = np.random.default_rng(seed).random((300, 60))
    q = weights(300, seed)
    found = Constants(as_design(A), q).Lam
    assert "Collatz-Wielandt" in found.origin
    # Five iterations with a ratio of about 1/60 between the first two eigenvalues leave 60^-5;
    # what keeps the vector positive, a shift of 1e-3, may cost as much.
    assert found.value == pytest.approx(spectrum(A, q)[1], rel=1e-3, abs=0)


def test_Lam_without_Gram_uses_Lanczos_where_signs_cancel(monkeypatch):
    monkeypatch.setattr(constants, "GRAM_LIMIT", 0)
    A = random(400, 300)
    q = weights(400)
    c = Constants(as_design(A), q)
    _, top = spectrum(A, q)
    assert "Lanczos" in c.Lam.origin
    assert top <= c.Lam.value < c.trace


def test_all_rows_zero(route):
    found = Constants(as_design(np.zeros((5, 3))), weights(5))
    assert found.Lam.value == 0.0
    assert found.R.value == 0.0


# ---- R, M, trace ----


@each_design
@each_weighting
def test_R_is_the_largest_row_with_weight(name, zeros):
    A = DESIGNS[name].copy()
    q = weights(len(A), zeros=zeros)
    A[q == 0] *= 1e3  # must not count
    found = Constants(as_design(A), q).R
    exact = np.sqrt((A.astype(np.longdouble)[q > 0] ** 2).sum(axis=1).max())
    assert found.side == "exact"
    assert found.value == pytest.approx(float(exact), rel=A.shape[1] * EPS, abs=0)


@each_design
@each_weighting
def test_M_is_the_smallest_eigenvalue(name, zeros):
    A = DESIGNS[name]
    q = weights(len(A), zeros=zeros)
    found = Constants(as_design(A), q).M
    low, top = spectrum(A, q)
    assert found.side == "exact"
    assert found.value >= 0.0
    # To the rounding of the Gram matrix, which is relative to its largest eigenvalue.
    assert abs(found.value - low) <= 4 * sum(A.shape) * EPS * top
    if A.shape[0] < A.shape[1]:
        assert found.value == 0.0


def test_M_is_refused_where_the_Gram_matrix_is_too_large(monkeypatch):
    monkeypatch.setattr(constants, "GRAM_LIMIT", 10)
    with pytest.raises(ValueError, match="side 11, more than 10"):
        _ = Constants(as_design(random(30, 11)), weights(30)).M


@each_design
def test_trace(name):
    A = DESIGNS[name]
    q = weights(len(A))
    assert Constants(as_design(A), q).trace == pytest.approx(
        np.sum(q[:, None] * A * A), rel=1e-13, abs=0
    )


@pytest.mark.parametrize("store", [np.asarray, np.float32, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("shape", [(50, 12), (12, 50)])
def test_gram_eigenvalues_are_those_of_either_side(store, shape):
    A = np.float32(random(*shape)).astype(float)
    w = weights(shape[0], zeros=True)
    found = Constants(as_design(store(A)), w).gram_eigenvalues(w)
    exact = np.sort(np.linalg.svd(np.sqrt(w)[:, None] * A, compute_uv=False) ** 2)
    assert found.shape == (12,)
    np.testing.assert_allclose(found, exact, rtol=0, atol=200 * EPS * exact[-1])


def test_weights_are_repeated_rows():
    A = random(20, 6)
    counts = np.random.default_rng(2).integers(0, 4, 20)
    weighted = Constants(as_design(A), counts / counts.sum())
    repeated = np.repeat(A, counts, axis=0)
    plain = Constants(as_design(repeated), np.full(len(repeated), 1 / len(repeated)))
    assert weighted.R == plain.R
    for name in ("Lam", "M", "Lam_estimate"):
        # The same Gram matrix but for the order of its sums.
        values = getattr(weighted, name).value, getattr(plain, name).value
        assert values[0] == pytest.approx(values[1], rel=1e-12, abs=0)


# ---- the estimate ----


@each_design
@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_Lam_estimate_of_small_data_is_exact(name, store):
    A = DESIGNS[name]
    q = weights(len(A))
    found = Constants(as_design(store(A)), q).Lam_estimate
    assert found.side == "exact"
    assert found.value == pytest.approx(spectrum(A, q)[1], rel=4 * sum(A.shape) * EPS, abs=0)


LARGE = {
    "random": random(500, 260),
    "wide": random(260, 500),
    "nonnegative": abs(random(400, 250)),
    "decaying": random(400, 250) * 0.98 ** np.arange(250.0),
    "correlated": random(400, 20) @ random(20, 250, 1) + 0.1 * random(400, 250, 2),
    "smallest numbers": 1e-95 * random(400, 250),
    "largest numbers": 1e95 * random(400, 250),
    "one direction": random(400, 250) + 3.0 * np.outer(random(400, 1), random(250, 1)),
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("intercept", [False, True], ids=["alone", "intercept"])
def test_Lam_estimate_of_larger_data_is_within_2_percent(name, intercept):
    A = LARGE[name]
    q = weights(len(A))
    design = as_design(A)
    if intercept:
        design = InterceptDesign(design, q)
        A = np.column_stack([A, np.full(len(A), design.scale)])
    found = Constants(design, q).Lam_estimate
    assert found.side == "estimate"
    assert found.value == pytest.approx(spectrum(A, q)[1], rel=0.02, abs=0)


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array])
def test_the_ledger_counts_the_passes_of_constants(stored):
    c = Constants(as_design(stored(random(300, 250))), weights(300))
    ledger = c.design.ledger
    assert ledger.passes == 0
    _ = c.R
    norms = ledger.passes
    assert norms == 1
    _ = c.R
    assert ledger.passes == norms  # kept
    _ = c.Lam_estimate
    assert norms < ledger.passes <= norms + constants.LANCZOS_STEPS
    before = ledger.passes
    _ = c.M
    assert ledger.passes == before + 250  # a Gram matrix is d products
