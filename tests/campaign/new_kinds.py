"""What was left out before: data at the ends of what float64 can tell."""

import numpy as np

from tests.certificate.cases import Case
from tests.certificate.checker import MARGIN

from .draws import any_loss, case, chance, size, targets, unit_columns


def _free(rng: np.random.Generator, A: np.ndarray, **fixed: object) -> Case:
    """Mostly without regulariser, where nothing hides what the data leave open."""
    return case(rng, A, **{"free": 0.6, **fixed})


def near_1e15(rng: np.random.Generator) -> Case:
    """Integers near 1e15, whose differences are all that matters."""
    n, d = size(rng, 30, 2), size(rng, 3)
    base = 10.0 ** rng.integers(13, 16)
    k = np.arange(n)[:, None] * rng.integers(1, 4, d) + rng.integers(-3, 4, (n, d))
    A = np.where(rng.random(d) < 0.7, base, 0.0) + k
    line = np.arange(n) * 1.0
    loss = any_loss(rng, len(A))
    exact = loss not in (*MARGIN, "multinomial") and chance(rng, 0.5)
    return _free(rng, A, loss=loss, b=line if exact else None, intercept=0.7)


def wide_range(rng: np.random.Generator) -> Case:
    """Columns from 1e-290 to 1e150, most of them within what the library takes as a whole."""
    n, d = size(rng, 30, 2), size(rng, 6, 2)
    exponents = rng.uniform(-290, 90 if chance(rng, 0.9) else 150, d)
    exponents[0] = rng.uniform(-3, 3)
    A = rng.integers(-4, 5, (n, d)) * 10.0 ** np.round(exponents)
    return _free(rng, A)


def nearly_dependent(rng: np.random.Generator) -> Case:
    """Two columns that differ by 1e-8 to 1e-17 of their size, maybe in few rows only."""
    n, d = size(rng, 40, 3), size(rng, 6, 2)
    A = rng.standard_normal((n, d)) if chance(rng, 0.7) else rng.integers(1, 4, (n, d)) * 1.0
    apart = 10.0 ** rng.uniform(-17, -8)
    change = rng.standard_normal(n) * (rng.random(n) < rng.choice([0.1, 1.0]))
    A[:, -1] = A[:, 0] + apart * change
    if chance(rng, 0.2):  # the difference alone in a row of its own
        A[-1] = 0.0
        A[-1, -1] = apart
    return _free(rng, A)


def units(rng: np.random.Generator) -> Case:
    """One quantity in two units, and sums that are right to rounding only."""
    n, d = size(rng, 40, 3), size(rng, 5)
    A = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-2, 3, d)
    other = A[:, 0] * rng.choice([3.28084, 1.609344, 0.45359237, 1.8])
    if chance(rng, 0.3):
        other = other + 32.0
    if chance(rng, 0.3):
        other = A.sum(axis=1) / 3.0
    return _free(rng, np.column_stack((A, other)))


def vandermonde(rng: np.random.Generator) -> Case:
    """Powers of points in an interval."""
    n, d = size(rng, 30, 3), size(rng, 20, 3)
    low = rng.choice([0.0, 1.0, -1.0])
    t = np.linspace(low, low + rng.choice([1.0, 2.0]), n)
    return _free(rng, np.vander(t, d, increasing=True), intercept=0.2)


def hilbert(rng: np.random.Generator) -> Case:
    """1/(i + j + 1)."""
    d = size(rng, 15, 3)
    n = d + int(rng.integers(0, 4))
    return _free(rng, 1.0 / (np.arange(n)[:, None] + np.arange(d) + 1.0), intercept=0.2)


def tiny_weights(rng: np.random.Generator) -> Case:
    """Rows that weigh 1e-28 of the others."""
    A = rng.standard_normal((size(rng, 30, 3), size(rng, 6)))
    w = 10.0 ** rng.choice([0.0, 0.0, -8.0, -16.0, -28.0], len(A))
    w[0] = 1.0
    if chance(rng, 0.3):
        A[w < 1e-10] *= 10.0 ** rng.uniform(0, 8)
    return _free(rng, A, sample_weight=w * rng.choice([1.0, 0.3]))


def large_offsets(rng: np.random.Generator) -> Case:
    """Offsets up to 1e12, all alike or not; penalties that hardly hold x back."""
    A = rng.standard_normal((size(rng, 40), size(rng, 8)))
    loss = any_loss(rng, len(A))
    b = targets(rng, A, loss)
    shape = (len(A), int(b.max()) + 1) if loss == "multinomial" else (len(A),)
    height = 10.0 ** rng.uniform(2, 12)
    offset = height * (rng.standard_normal(shape) if chance(rng, 0.5) else np.ones(shape))
    if loss in ("squared", "huber") and chance(rng, 0.5):
        b = b + height
    fixed = {}
    if chance(rng, 0.5):
        fixed = {name: float(10.0 ** rng.uniform(-12, -4)) for name in ("l1", "l2")}
        if chance(rng, 0.7):
            fixed[str(rng.choice(["l1", "l2"]))] = 0.0
    return case(rng, A, loss=loss, b=b, offset=offset, free=0.4, **fixed)


def large_targets(rng: np.random.Generator) -> Case:
    """Targets near 1e12 that an intercept takes up."""
    A = rng.standard_normal((size(rng, 40, 2), size(rng, 8)))
    loss = str(rng.choice(["squared", "huber"]))
    return case(rng, A, loss=loss, b=targets(rng, A, loss) + 10.0 ** rng.uniform(6, 12),
                intercept=0.8)  # fmt: skip


def interpolation(rng: np.random.Generator) -> Case:
    """P* = 0, or nearly: the targets are A x for integers x, or there are columns enough."""
    if chance(rng, 0.5):
        A = rng.integers(-9, 10, (size(rng, 30), size(rng, 8))).astype(float)
        b = A @ rng.integers(-3, 4, A.shape[1])
    else:
        n = size(rng, 15)
        A = rng.standard_normal((n, n + size(rng, 5))) * 10.0 ** rng.integers(-3, 4)
        b = rng.standard_normal(n)
    loss = str(rng.choice(["squared", "squared", "huber"]))
    return _free(rng, A, loss=loss, b=b, free=0.8, offset=None)


def separable(rng: np.random.Generator) -> Case:
    """Classes that a plane keeps apart, or nearly so."""
    A = rng.standard_normal((size(rng, 40, 2), size(rng, 6)))
    if chance(rng, 0.3):
        A = np.round(A)
    z = A @ rng.standard_normal(A.shape[1])
    loss = str(rng.choice([*MARGIN, "logistic", "multinomial"]))
    b = np.where(z > 0, 1.0, -1.0)
    if chance(rng, 0.2):
        b[rng.integers(len(b))] *= -1.0
    if loss == "multinomial":
        b = (b > 0).astype(int)
        b[:2] = [0, 1]
    return _free(rng, A, loss=loss, b=b)


def shifted(rng: np.random.Generator) -> Case:
    """Columns far from 0 beside their spread, such as Unix seconds, with an intercept."""
    n, d = size(rng, 40, 3), size(rng, 4)
    A = rng.standard_normal((n, d))
    A[:, 0] = np.arange(n) if chance(rng, 0.5) else 86400.0 * rng.integers(0, 365, n)
    far = 10.0 ** rng.uniform(4, 12) if chance(rng, 0.5) else 1.7e9
    signal = unit_columns(A) @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n)
    A[:, 0] += far
    loss = any_loss(rng, len(A))
    b = signal
    if loss in MARGIN:
        b = np.where(signal > np.median(signal), 1.0, -1.0)
    elif loss == "multinomial":
        b = np.digitize(signal, np.quantile(signal, [1 / 3, 2 / 3]))
        b[:3] = [0, 1, 2]
    return _free(rng, A, loss=loss, b=b, intercept=0.9)


KINDS = {
    function.__name__: (function, share)
    for function, share in (
        (near_1e15, 3),
        (wide_range, 3),
        (nearly_dependent, 4),
        (units, 2),
        (vandermonde, 1.5),
        (hilbert, 1.5),
        (tiny_weights, 2),
        (large_offsets, 2),
        (large_targets, 1.5),
        (interpolation, 3),
        (separable, 3),
        (shifted, 3),
    )
}
