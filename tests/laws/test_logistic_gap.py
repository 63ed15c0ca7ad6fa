"""The Fenchel gap of many rows: against its definition, and at scores that saturate."""

import mpmath
import numpy as np
import pytest

from dualgap.losses.logistic import WORTH_A_KERNEL, Logistic

SCORES = (0.0, 1e-8, 0.5, -3.0, 20.0, -40.0, 300.0, 709.0, -709.0, 720.0, -745.0, 800.0, -2000.0)


def many(values):
    return np.resize(np.asarray(values, dtype=float), WORTH_A_KERNEL + len(values))


def exact(z, y, b):
    with mpmath.workdps(400):
        m, p = mpmath.mpf(b) * mpmath.mpf(z), -mpmath.mpf(b) * mpmath.mpf(y)
        conj = sum(t * mpmath.log(t) for t in (p, 1 - p) if t > 0)
        return float(mpmath.log1p(mpmath.exp(-m)) + conj + p * m)


@pytest.mark.parametrize("b", [-1.0, 1.0])
@pytest.mark.parametrize("share", [1.0, 1.0 - 1e-9, 1.0 - 1e-3, 0.98, 0.5, 0.0])
def test_against_the_definition(b, share):
    loss, z = Logistic(), np.array(SCORES)
    y = share * loss.grad(z, np.full(z.size, b))
    gaps = loss.fenchel_gap(many(z), many(y), np.full(many(z).size, b))
    assert np.isfinite(gaps).all() and (gaps >= 0.0).all()
    for k, value in enumerate(SCORES):
        want = exact(value, y[k], b)
        assert gaps[k] == pytest.approx(want, rel=1e-9, abs=1e-15 * (1.0 + abs(value)))


def test_a_certificate_with_a_row_that_saturates():
    import dualgap

    rng = np.random.default_rng(0)
    A = rng.standard_normal((5000, 3))
    b = np.where(A @ [1.0, 2.0, -1.0] + rng.standard_normal(5000) > 0, 1.0, -1.0)
    A[0], b[0] = (2000.0, 4000.0, -2000.0), 1.0
    result = dualgap.solve(A, b, loss="logistic", l2=1e-3)
    assert abs(A[0] @ result.x) > 720.0
    assert result.status.converged and result.certificate.certified
