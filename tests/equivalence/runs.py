"""Small problems, and runs step by step, for the equivalences."""

import numpy as np

from dualgap import Problem

PENALTIES = {
    "l2": {"l2": 0.05},
    "elastic net": {"l1": 0.02, "l2": 0.03},
    "none": {},
}


def data(loss, n=30, d=6, seed=0):
    """A and b: not separable, so that there is a minimiser without regulariser too.

    A holds in 32 bits, and column lengths differ.
    """
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d)) * 0.6 ** np.arange(d)
    A = A.astype(np.float32).astype(np.float64)
    signal = A @ rng.standard_normal(d) + 0.8 * rng.standard_normal(n)
    if loss in ("squared", "huber"):
        return A, signal
    return A, np.where(signal + rng.standard_normal(n) > 0, 1.0, -1.0)


def problem(loss, penalty, **options):
    A, b = data(loss)
    return Problem(A, b, loss=loss, **PENALTIES[penalty], **options)


def states(algorithm, problem, iterations):
    """The state at the start and after every iteration."""
    path = [algorithm.start(problem, None, None).state]
    for _ in range(iterations):
        path.append(algorithm.step(problem, path[-1]))
    return path


def assert_same(found, expected, rtol, what=""):
    """Rows of two paths, relative to the largest entry on the path: the unit of its rounding."""
    found, expected = np.array(found, dtype=float), np.array(expected, dtype=float)
    assert found.shape == expected.shape
    assert np.isfinite(expected).all()
    error = abs(found - expected).max(axis=-1)
    worst = f"{what} is off by {error.max():.2g} at row {error.argmax()}"
    assert error.max() <= rtol * abs(expected).max(), worst
