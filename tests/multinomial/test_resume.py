"""A run with several classes in two parts is one run, bit by bit; no dual point is written to."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap

RNG = np.random.default_rng(0)
A = RNG.standard_normal((40, 6))
CLASSES = RNG.integers(0, 3, 40)
ALGORITHMS = (
    "df-bpd",
    "adf-bpd",
    "agd",
    "df-spdc",
    "adf-spdc",
    "saga",
    "svrg",
    "newton",
    "prox-newton",
)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("penalty", [{"l2": 0.1}, {"l1": 0.01, "l2": 0.1}], ids=str)
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_two_parts_are_one_run(algorithm, penalty, layout):
    """The certificate at the end of the first part must leave the state's y as it is."""
    if algorithm == "newton" and "l1" in penalty:
        pytest.skip("newton takes no l1")
    problem = dualgap.Problem(layout(A), CLASSES, loss="multinomial", **penalty)

    def run(passes, state=None):
        return problem.solve(algorithm=algorithm, tol=1e-300, max_passes=passes, state=state)

    whole, half = run(24), run(9)
    rest = run(24 - half.state.passes, half.state)
    for name in ("x", "y", "z", "u"):
        np.testing.assert_array_equal(getattr(rest.state, name), getattr(whole.state, name))
    assert rest.state.passes == whole.state.passes


def test_certify_leaves_the_callers_dual_point_alone():
    """Rows of y sum to 0 but for rounding, which the certificate takes away for itself only."""
    problem = dualgap.Problem(A, CLASSES, loss="multinomial", l2=0.1)
    x = RNG.standard_normal((6, 3))
    y = problem.loss.grad(A @ x, problem.b)
    y[np.arange(40), CLASSES] = np.nextafter(y[np.arange(40), CLASSES], -1.0)
    before = y.copy()
    problem.certify(x, y)
    np.testing.assert_array_equal(y, before)
