"""The paper's synthetic data have the covariance that they claim."""

import numpy as np
import pytest

from dualgap.datasets import synthetic1, synthetic2


@pytest.mark.parametrize(("make", "halving"), [(synthetic1, 2.0), (synthetic2, 100.0)])
def test_covariance_falls_by_half_every_so_many_columns(make, halving):
    A, _ = make(20000, 12, seed=1)
    correlation = np.corrcoef(A.T)
    distance = np.abs(np.subtract.outer(np.arange(12), np.arange(12)))
    # 20000 rows estimate a correlation to 1/sqrt(20000) = 0.007; five of these.
    np.testing.assert_allclose(correlation, 2.0 ** (-distance / halving), atol=0.035)


@pytest.mark.parametrize("make", [synthetic1, synthetic2])
def test_rows_are_scaled_and_seeds_decide(make):
    A, b = make(50, 7, seed=3)
    assert np.linalg.norm(A, axis=1).max() == pytest.approx(1.0, abs=1e-15)
    assert A.flags.c_contiguous and A.shape == (50, 7) and b.shape == (50,)
    again, other = make(50, 7, seed=3), make(50, 7, seed=4)
    assert np.array_equal(A, again[0]) and np.array_equal(b, again[1])
    assert not np.array_equal(A, other[0])


def test_synthetic2_has_both_classes():
    _, b = synthetic2(200, 5)
    assert set(b) == {-1.0, 1.0}
