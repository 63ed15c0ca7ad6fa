"""Nearly dependent columns without penalty: no bound may rest on taking them for dependent.

The truth is found in exact arithmetic, for the very numbers that the package is given.
"""

from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

import dualgap

APART = [1e-4, 1e-6, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13]


def nearly_equal_columns(apart, K=3, n=45, seed=3):
    """A column, and for each class one that differs from it by `apart` on the rows of the class."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(n)
    b = rng.integers(0, K, n)
    b[:K] = np.arange(K)
    return np.column_stack((a, a[:, None] + apart * np.eye(K)[b])), b


def telling_apart(apart, K, margin):
    """The x that gives every row's own class the score `margin` and the others 0."""
    return np.vstack((np.full(K, -margin / apart), np.eye(K) * (margin / apart)))


def primal(A, b, x):
    """P without penalty: z in fractions, the logarithms with 40 digits."""
    with mp.workdps(40):
        total = mpf(0)
        for row, own in zip(A, b, strict=True):
            z = [sum(Fraction(s) * Fraction(t) for s, t in zip(row, c, strict=True)) for c in x.T]
            shifted = [s - z[own] for s in z]
            total += mp.log(sum(mp.exp(mpf(s.numerator) / s.denominator) for s in shifted))
        return float(total / len(b))


@pytest.mark.parametrize("apart", APART)
@pytest.mark.parametrize("K", [2, 3, 5])
def test_nearly_equal_columns_are_not_taken_for_equal(apart, K):
    A, b = nearly_equal_columns(apart, K)
    low = primal(A, b, telling_apart(apart, K, 0.9))
    assert low < 0.8 * np.log(K)
    rng = np.random.default_rng(0)
    for x in (np.zeros((K + 1, K)), rng.standard_normal((K + 1, K))):
        for y in (None, rng.dirichlet(np.ones(K), len(b)) - np.eye(K)[b]):
            got = dualgap.certify(A, b, x, y, loss="multinomial")
            assert got.dual <= low + 1e-9, f"P = {low} is below the lower bound: {got}"


@pytest.mark.parametrize("apart", APART)
@pytest.mark.parametrize("algorithm", ["adf-bpd", "adf-spdc"])
def test_solve_does_not_converge_to_the_wrong_value(apart, algorithm):
    A, b = nearly_equal_columns(apart)
    low = primal(A, b, telling_apart(apart, 3, 2.0))
    result = dualgap.solve(A, b, loss="multinomial", algorithm=algorithm, max_passes=200)
    got = result.certificate
    assert got.dual <= low + 1e-9, f"P = {low} is below the lower bound: {got}"
    assert not result.status.converged


@pytest.mark.parametrize("apart", [1e-5, 1e-7, 1e-9])
def test_a_penalty_on_some_columns_only(apart):
    """The columns that nearly coincide are free, another is not, and there is an intercept."""
    A, b = nearly_equal_columns(apart)
    x = telling_apart(apart, 3, 0.9)
    low = primal(A, b, x)
    wide = np.column_stack((A, np.random.default_rng(1).standard_normal(len(b))))
    got = dualgap.certify(
        wide, b, np.zeros((5, 3)), loss="multinomial", l2=0.1, fit_intercept=True,
        penalty_weights=[0, 0, 0, 0, 1],
    )  # fmt: skip
    assert got.dual <= low + 1e-9, f"P = {low} is below the lower bound: {got}"


@pytest.mark.parametrize("apart", APART)
def test_overlapping_classes(apart):
    """A minimiser exists, so there is a bound to get wrong; it is found in other coordinates."""
    rng = np.random.default_rng(5)
    a, v = rng.standard_normal((2, 40))
    A = np.column_stack((a, a + apart * v))
    b = (np.column_stack((-v, 0 * v, v)) + 2.0 * rng.gumbel(size=(40, 3))).argmax(axis=1)
    difference = (A[:, 1] - A[:, 0]) / apart  # exact, but for the division
    best = dualgap.solve(
        np.column_stack((a, difference)), b, loss="multinomial", tol=1e-12, max_passes=5000
    )
    assert best.status.converged
    w, r = best.x
    x = np.vstack((w - r / apart, r / apart))
    low = primal(A, b, x)
    one_column = dualgap.solve(a[:, None], b, loss="multinomial", max_passes=5000)
    assert low < one_column.certificate.dual - 0.01
    for at in (np.zeros((2, 3)), x, np.vstack((one_column.x, 0 * w))):
        got = dualgap.certify(A, b, at, loss="multinomial")
        assert got.dual <= low + 1e-12, f"P = {low} is below: {got}"
        if apart >= 1e-8 and at is x:
            assert got.certified and got.gap <= 1e-5


def test_independent_columns_are_certified():
    """The care above costs nothing where columns are far apart."""
    rng = np.random.default_rng(0)
    A, b = nearly_equal_columns(0.3)
    b = np.where(rng.random(len(b)) < 0.5, rng.integers(0, 3, len(b)), b)
    result = dualgap.solve(A, b, loss="multinomial", tol=1e-10, max_passes=20000)
    assert result.status.converged and result.certificate.kind == "gap_projected_dual"


# ---- what `rounding` says must be enough ----


def ridge_by_exact_arithmetic(A, b, K, l2):
    """P* and the optimal y by Newton's method, with 60 digits."""
    with mp.workdps(60):
        n, d = A.shape
        rows = [[mpf(v) for v in row] for row in A.tolist()]
        x = mp.zeros(d * K, 1)

        def evaluate(x):
            value = mpf(l2) / 2 * sum(t * t for t in x)
            p = []
            for i in range(n):
                z = [sum(rows[i][j] * x[j * K + k] for j in range(d)) for k in range(K)]
                top = max(z)
                e = [mp.exp(s - top) for s in z]
                p.append([t / sum(e) for t in e])
                value += (top + mp.log(sum(e)) - z[b[i]]) / n
            return value, p

        value, p = evaluate(x)
        for _ in range(200):
            g, H = mpf(l2) * x, mpf(l2) * mp.eye(d * K)
            for i in range(n):
                for j in range(d):
                    for k in range(K):
                        g[j * K + k] += rows[i][j] * (p[i][k] - (k == b[i])) / n
                        for m in range(d):
                            for o in range(K):
                                w = p[i][k] * ((k == o) - p[i][o])
                                H[j * K + k, m * K + o] += rows[i][j] * rows[i][m] * w / n
            step = mp.lu_solve(H, g)
            decrement = sum(s * t for s, t in zip(step, g, strict=True))
            size = mpf(1)
            while True:
                trial, at = evaluate(x - size * step)
                if trial <= value or size < mpf(10) ** -40:
                    break
                size /= 2
            x, value, p = x - size * step, trial, at
            if decrement < mpf(10) ** -45:
                break
        else:
            raise AssertionError("Newton's method has not converged")
        y = [[float(p[i][k] - (k == b[i])) for k in range(K)] for i in range(n)]
        return value, np.array(y)


@pytest.mark.parametrize(("apart", "l2"), [(1e-3, 1e-8), (1e-5, 1e-11), (2e-7, 2e-15)])
def test_rounding_covers_what_is_lost_when_x_is_large(apart, l2):
    """A'Qy is known to eps |A|'Q|y| only, which a large x* turns into an error of D(y)."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        a, v = rng.standard_normal((2, 6))
        A = np.column_stack((a, a + apart * v))[[0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]]
        b = np.append(np.digitize(v, [-0.5, 0.5]), rng.integers(0, 3, 6))
        best, y = ridge_by_exact_arithmetic(A, b, 3, l2)
        loss = dualgap.losses.Multinomial(classes=3)
        got = dualgap.certify(A, b, np.zeros((2, 3)), y, loss=loss, l2=l2)
        over = float(mpf(got.dual) - best)
        assert over <= 0.0, f"the bound exceeds P* by {over}"
        assert got.certified
