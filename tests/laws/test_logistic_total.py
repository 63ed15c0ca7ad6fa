"""The sum of the logistic loss over many rows, compiled: equal to its terms."""

import numpy as np
import pytest

from dualgap.losses import Logistic
from dualgap.losses.logistic import WORTH_A_KERNEL

LOSS = Logistic()


@pytest.mark.parametrize("size", [1e-8, 1.0, 30.0, 1e4, 1e300])
@pytest.mark.parametrize("separated", [False, True])
@pytest.mark.parametrize("n", [WORTH_A_KERNEL, WORTH_A_KERNEL + 511])
def test_total_and_slopes(size, separated, n):
    rng = np.random.default_rng(0)
    z = size * rng.standard_normal(n)
    b = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    z = b * np.abs(z) if separated else z  # all losses tiny, where size is large
    total, slopes = LOSS.total_grad(z, b)
    assert total == pytest.approx(np.sum(LOSS.value(z, b)), rel=1e-14)
    np.testing.assert_allclose(slopes, LOSS.grad(z, b), rtol=1e-15, atol=0.0)
