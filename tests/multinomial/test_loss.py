"""Laws of the multinomial loss, its labels, and its dual points."""

import mpmath as mp
import numpy as np
import pytest

import dualgap
from dualgap.dual_points import simplex
from dualgap.losses import Multinomial

from .data import classes

LOSS = Multinomial()
EPS = np.finfo(float).eps


def scores(n=200, K=4, seed=0, scale=3.0):
    rng = np.random.default_rng(seed)
    b = rng.integers(0, K, n).astype(float)
    b[:K] = np.arange(K)
    return scale * rng.standard_normal((n, K)), b, rng


def simplex_points(b, K, rng):
    """Points of the domain, faces and corners among them."""
    p = rng.dirichlet(np.full(K, 0.5), b.size)
    p[::3, 0] = 0.0
    p[::5] = np.eye(K)[rng.integers(0, K, p[::5].shape[0])]
    p[p.sum(axis=1) == 0, 1] = 1.0
    p /= p.sum(axis=1, keepdims=True)
    return p - np.eye(K)[b.astype(int)]


def exact(z, y, b):
    """phi, phi* and phi + phi* - <y, z> of one row, to 60 digits."""
    with mp.workdps(60):
        z, y = [mp.mpf(float(t)) for t in z], [mp.mpf(float(t)) for t in y]
        y[b] = -sum(t for k, t in enumerate(y) if k != b)
        value = mp.log(sum(mp.exp(t - z[b]) for t in z))
        p = [t + (k == b) for k, t in enumerate(y)]
        conj = sum(t * mp.log(t) for t in p if t > 0)
        return value, conj, value + conj - sum(s * t for s, t in zip(y, z, strict=True))


def test_gradient_is_the_derivative():
    z, b, _ = scores()
    h = 1e-6
    for k in range(z.shape[1]):
        e = h * np.eye(z.shape[1])[k]
        slope = (LOSS.value(z + e, b) - LOSS.value(z - e, b)) / (2 * h)
        assert np.allclose(slope, LOSS.grad(z, b)[:, k], atol=1e-9)


def test_hessian_is_the_derivative_of_the_gradient():
    z, b, _ = scores(K=3)
    h = 1e-6
    for k in range(3):
        e = h * np.eye(3)[k]
        slope = (LOSS.grad(z + e, b) - LOSS.grad(z - e, b)) / (2 * h)
        assert np.allclose(slope, LOSS.hess(z, b)[:, :, k], atol=1e-9)


@pytest.mark.parametrize("K", [2, 3, 20])
def test_smoothness_is_a_half(K):
    rng = np.random.default_rng(K)
    z, other = rng.standard_normal((2, 500, K)) * 3
    b = rng.integers(0, K, 500).astype(float)
    moved = np.linalg.norm(LOSS.grad(z, b) - LOSS.grad(other, b), axis=1)
    assert (moved <= np.linalg.norm(z - other, axis=1) / LOSS.gamma * (1 + 1e-12)).all()
    two = np.full((1, K), -50.0)  # two classes share everything: 1/2 is attained
    two[0, :2] = 0.0
    assert np.linalg.eigvalsh(LOSS.hess(two, np.zeros(1))[0])[-1] == pytest.approx(0.5)


def test_Fenchel_Young():
    z, b, rng = scores()
    y = simplex_points(b, 4, rng)
    gap = LOSS.value(z, b) + LOSS.conj(y, b) - (y * z).sum(axis=1)
    assert (gap >= -1e-13).all()
    at = LOSS.grad(z, b)
    equal = LOSS.value(z, b) + LOSS.conj(at, b) - (at * z).sum(axis=1)
    assert np.abs(equal).max() <= 1e-13
    assert np.allclose(LOSS.grad(LOSS.conj_grad(at, b), b), at, atol=1e-14)


def test_values_are_right_to_rounding():
    z, b, rng = scores(n=60, scale=20.0)
    y = simplex_points(b, 4, rng)
    y[::2] = LOSS.grad(z + rng.standard_normal(z.shape), b)[::2]
    for i in range(60):
        value, conj, _ = exact(z[i], y[i], int(b[i]))
        # The rounding of z itself moves the value, relatively, by |z| eps.
        assert abs(LOSS.value(z[i : i + 1], b[i : i + 1])[0] - value) <= 200 * EPS * value
        # p_b = 1 + y_b is known to eps |y_b|, which log p_b magnifies.
        off = abs(LOSS.conj(y[i : i + 1], b[i : i + 1])[0] - conj)
        assert off <= 8 * EPS * abs(conj) + 64 * EPS * abs(y[i, int(b[i])])


@pytest.mark.parametrize("off", [1e-12, 1e-9, 1e-6, 1e-3, 0.03, 0.3, 5.0])
def test_fenchel_gap_keeps_its_digits(off):
    z, b, rng = scores(n=60, scale=4.0)
    y = LOSS.grad(z + off * rng.standard_normal(z.shape), b)
    gap = LOSS.fenchel_gap(z, y, b)
    assert (gap >= 0).all()
    for i in range(60):
        truth = exact(z[i], y[i], int(b[i]))[2]
        # y itself is rounded: relatively 4 eps, which moves the gap by off * 4 eps * (1 - p_b).
        size = float(np.abs(y[i]).sum())
        assert abs(gap[i] - truth) <= 1e-10 * truth + 64 * EPS * size * min(off, 1.0)


def test_fenchel_gap_at_faces_and_far_away():
    z, b, rng = scores(scale=300.0)
    y = simplex_points(b, 4, rng)
    gap = LOSS.fenchel_gap(z, y, b)
    for i in range(0, 200, 7):
        truth = float(exact(z[i], y[i], int(b[i]))[2])
        assert gap[i] == pytest.approx(truth, rel=1e-12, abs=1e-12)
    assert np.isfinite(LOSS.fenchel_gap(1e4 * z, y, b)).all()


def test_into_domain():
    z, b, rng = scores()
    inside = LOSS.grad(z, b)
    assert LOSS.into_domain(inside, b) is inside
    wild = 3.0 * rng.standard_normal(z.shape)
    wild[0] = -5.0
    y = LOSS.into_domain(wild, b)
    p = y + np.eye(4)[b.astype(int)]
    assert p.min() >= -EPS and np.abs(p.sum(axis=1) - 1).max() <= 4 * EPS
    assert (y[0] == 0).all()  # nothing left of p: the corner
    mixed = inside.copy()
    mixed[5] = wild[5]
    kept = LOSS.into_domain(mixed, b)
    assert (np.delete(kept, 5, axis=0) == np.delete(inside, 5, axis=0)).all()


@pytest.mark.parametrize("K", [2, 3, 6])
@pytest.mark.parametrize("spread", [0.1, 3.0, 30.0])
def test_balance_by_the_stationary_vector(K, spread):
    z, b, rng = scores(K=K, scale=spread)
    q = rng.dirichlet(np.ones(b.size))
    y = LOSS.grad(z, b)
    out = simplex.balance(y, q, b)
    size = q @ np.abs(out)
    assert (np.abs(q @ out) <= 1e-14 * size + 1e-300).all()
    factor = np.abs(out).sum(axis=1) / np.abs(y).sum(axis=1)
    assert factor.max() == pytest.approx(1.0) and factor.min() >= 0
    for c in range(K):  # one factor per class
        assert np.ptp(factor[b == c]) <= 1e-14
    again = simplex.balance(out, q, b)  # balanced already
    assert np.abs(again - out).max() <= 1e-12 * np.abs(out).max()


def test_balance_of_a_chain_that_falls_apart():
    b = np.repeat(np.arange(4.0), 2)
    q = np.full(8, 1 / 8)
    p = np.eye(4)[b.astype(int)]
    p[0] = [0.5, 0.5, 0, 0]  # 0 <-> 1 exchange, 2 leaves to 3, 3 stays
    p[2] = [0.1, 0.9, 0, 0]
    p[4] = [0, 0, 0.7, 0.3]
    y = p - np.eye(4)[b.astype(int)]
    out = simplex.balance(y, q, b)
    assert np.abs(q @ out).max() <= 1e-17
    assert (out[4] == 0).all()
    assert np.abs(out[0]).max() > 0.09 and (out[2] == y[2]).all()
    assert (simplex.balance(0 * y, q, b) == 0).all()


@pytest.mark.parametrize(
    ("b", "words"),
    [
        ([0, 1, 2.5], ("b[2] = 2.5", "not a class", "integers")),
        ([0, -1, 1], ("b[1] = -1", "not a class")),
        ([0, 0, 0], ("class 0 only", "classes=K")),
        ([0, 1, 100000], ("b[2] = 100000", "100001 classes", "3 are seen")),
        # Labels 1, ..., K: class 0 would be fitted, and never seen.
        ([1, 2, 3], ("b[2] = 3", "4 classes", "3 are seen; class 0 is not", "return_inverse")),
        ([2, 1, 1], ("b[0] = 2", "3 classes", "class 0 is not", "Multinomial(classes=3)")),
        ([1, 1, 1], ("b[0] = 1", "2 classes", "1 are seen; class 0 is not")),
        ([0, 3, 1], ("b[1] = 3", "4 classes", "3 are seen; class 2 is not")),
    ],
)
def test_bad_labels(b, words):
    with pytest.raises(ValueError) as caught:
        dualgap.Problem(np.eye(3), b, loss="multinomial")
    assert all(word in str(caught.value) for word in words)


def test_labels_and_classes():
    assert Multinomial().outputs(Multinomial().targets([0, 2, 1], 3)) == 3
    assert Multinomial(classes=5).outputs(np.zeros(3)) == 5
    assert Multinomial().outputs(Multinomial().targets(np.array([0.0, 1.0]), 2)) == 2
    with pytest.raises(ValueError, match=r"b\[1\] = 3, but classes=3"):
        Multinomial(classes=3).targets([0, 3], 2)
    with pytest.raises(TypeError, match="dtype"):
        Multinomial().targets(["a", "b"], 2)
    for bad in (1, 0, -3):
        with pytest.raises(ValueError, match="at least 2"):
            Multinomial(classes=bad)
    for bad in (2.5, True, "3"):
        with pytest.raises(TypeError, match="integer"):
            Multinomial(classes=bad)
    for bad in (10**9, 10**400):
        with pytest.raises(ValueError, match=r"classes must be at most 1000000, got 1.*Number the"):
            Multinomial(classes=bad)


def test_a_class_that_is_not_seen_may_be_said_to_exist():
    """At the optimum l2 x_0 = -(mean of p_i0 a_i): class 0 has coefficients, as there is l2."""
    A, b = classes()
    result = dualgap.solve(A, b + 1, loss=Multinomial(classes=4), l2=0.1, tol=1e-12)
    assert result.status.converged and result.x.shape == (4, 4)
    p = np.exp(A @ result.x)[:, 0] / np.exp(A @ result.x).sum(axis=1)
    assert 0.1 * result.x[:, 0] == pytest.approx(-(p @ A) / 60, abs=1e-5)


def test_every_caller_is_told_of_a_class_that_is_not_seen():
    A, b = classes()
    for call in (
        lambda: dualgap.solve(A, b + 1, loss="multinomial", l2=0.1),
        lambda: dualgap.certify(A, b + 1, np.zeros((4, 4)), loss="multinomial", l2=0.1),
        lambda: dualgap.path(A, b + 1, loss="multinomial", lambdas=3),
        lambda: dualgap.Problem(A, b, loss="multinomial", l2=0.1).replace(b=b + 1),
    ):
        with pytest.raises(ValueError, match="class 0 is not"):
            call()
    model = dualgap.LogisticRegression().fit(A, b + 1)  # which maps labels, and says which
    assert model.classes_.tolist() == [1, 2, 3] and model.coef_.shape == (3, 4)


def test_points_of_more_entries_than_can_be_handled():
    """The data are small; y would have a row of a million entries for each of theirs."""
    A = np.ones((3000, 2))
    with pytest.raises(ValueError, match=r"classes=1000000 with 3000 rows and 2 columns"):
        dualgap.Problem(A, np.zeros(3000), loss=Multinomial(classes=10**6), l2=0.1)


def test_shapes_are_checked():
    A, b = classes()
    problem = dualgap.Problem(A, b, loss="multinomial", l2=0.1, fit_intercept=True)
    with pytest.raises(ValueError, match=r"x has shape \(4,\); expected \(4, 3\)"):
        problem.certify(np.zeros(4))
    with pytest.raises(ValueError, match=r"y has shape \(60,\)"):
        problem.certify(np.zeros((4, 3)), np.zeros(60))
    with pytest.raises(ValueError, match=r"intercept has shape \(2,\)"):
        problem.certify(np.zeros((4, 3)), intercept=np.ones(2))
    with pytest.raises(ValueError, match="offset has shape"):
        dualgap.Problem(A, b, loss="multinomial", offset=np.zeros(60))
    with pytest.raises(ValueError, match=r"y0\[0\] = .* outside the domain"):
        problem.solve(y0=np.ones((60, 3)))
    with pytest.raises(ValueError, match="no intercept; use fit_intercept=True"):
        dualgap.Problem(A, b, loss="multinomial").certify(np.zeros((4, 3)), intercept=np.ones(3))


def test_values_are_checked():
    A, b = classes()
    problem = dualgap.Problem(A, b, loss="multinomial", l2=0.1, fit_intercept=True)
    x, y = np.zeros((4, 3)), np.zeros((60, 3))
    x[2, 1] = y[7, 2] = np.nan
    with pytest.raises(ValueError, match=r"x\[2, 1\] = nan. Give a finite value for that column"):
        problem.certify(x)
    with pytest.raises(ValueError, match=r"y0\[7, 2\] = nan. Give a finite value for that row"):
        problem.solve(y0=y)
    with pytest.raises(ValueError, match=r"offset\[7, 2\] = nan"):
        dualgap.Problem(A, b, loss="multinomial", offset=y)
    with pytest.raises(ValueError, match="x has largest magnitude 1e\\+101"):
        problem.certify(np.full((4, 3), 1e101))
    for tiny in (1e-200, 5e-324):  # as small as it likes
        assert problem.certify(np.full((4, 3), tiny), intercept=np.full(3, tiny)).certified
        assert problem.solve(x0=np.full((5, 3), tiny)).status.converged


def test_the_callers_offset_is_left_alone():
    A, b = classes()
    offset = np.random.default_rng(0).standard_normal((60, 3))
    before = offset.copy()
    for writeable in (True, False):
        offset.flags.writeable = writeable
        problem = dualgap.Problem(A, b, loss="multinomial", l2=0.1, offset=offset)
        assert problem.offset.flags.writeable
        for algorithm in ("adf-bpd", "adf-spdc", "saga", "svrg"):
            problem.solve(algorithm=algorithm, max_passes=10)
        assert np.array_equal(offset, before)
