"""What a hostile but ordinary generator makes: each function draws one problem."""

import numpy as np

from tests.certificate.cases import Case

from .draws import case, chance, size


def _shape(rng: np.random.Generator) -> tuple[int, int]:
    return size(rng, 60), size(rng, 30)


def plain(rng: np.random.Generator) -> Case:
    """Gaussian data."""
    return case(rng, rng.standard_normal(_shape(rng)))


def single_precision(rng: np.random.Generator) -> Case:
    """float32 data."""
    A = rng.standard_normal(_shape(rng)).astype(np.float32)
    return case(rng, A)


def integers(rng: np.random.Generator) -> Case:
    """Small integers, where many things happen exactly."""
    return case(rng, rng.integers(-2, 3, _shape(rng)).astype(float))


def scales(rng: np.random.Generator) -> Case:
    """Columns in units from 1e-8 to 1e8."""
    n, d = _shape(rng)
    return case(rng, rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-8, 8, d))


def collinear(rng: np.random.Generator) -> Case:
    """Columns that are others plus noise of 1e-1 to 1e-6, or sums of others in small integers."""
    n, d = size(rng, 60, 3), size(rng, 30, 2)
    if chance(rng, 0.4):
        A = rng.integers(-3, 4, (n, d)).astype(float)
        A[:, -1] = A[:, :-1] @ rng.integers(-1, 2, d - 1)
        return case(rng, A)
    A = rng.standard_normal((n, max(1, d // 2)))
    A = A @ rng.standard_normal((A.shape[1], d))
    return case(rng, A + 10.0 ** rng.uniform(-6, -1) * rng.standard_normal((n, d)))


def constant_columns(rng: np.random.Generator) -> Case:
    """A column of one value and a column of zeros among others."""
    n, d = size(rng, 60), size(rng, 30, 2)
    A = rng.standard_normal((n, d))
    A[:, rng.integers(d)] = rng.choice([1.0, 3.0, -0.1])
    A[:, rng.integers(d)] = 0.0
    return case(rng, A)


def twins(rng: np.random.Generator) -> Case:
    """Columns twice, and now and then a multiple by a power of two."""
    n, d = size(rng, 60), size(rng, 15)
    A = rng.standard_normal((n, d))
    return case(rng, np.column_stack((A, A[:, : size(rng, d)] * rng.choice([1.0, 1.0, -2.0]))))


def repeated_rows(rng: np.random.Generator) -> Case:
    """Each row several times, with targets of its own."""
    A = rng.standard_normal((size(rng, 15), size(rng, 15)))
    return case(rng, np.repeat(A, rng.integers(1, 5), axis=0))


def one_hot(rng: np.random.Generator) -> Case:
    """A factor as columns of 0 and 1, which sum to the constant, beside other columns."""
    n, levels = size(rng, 60, 2), size(rng, 8, 2)
    factor = np.eye(levels)[rng.integers(levels, size=n)]
    return case(rng, np.column_stack((factor, rng.standard_normal((n, size(rng, 5))))))


def wide(rng: np.random.Generator) -> Case:
    """More columns than rows."""
    n = size(rng, 15)
    return case(rng, rng.standard_normal((n, n + size(rng, 15))), free=0.15)


def sparse(rng: np.random.Generator) -> Case:
    """Mostly zeros; whole rows and columns may be empty."""
    n, d = size(rng, 60, 4), size(rng, 30, 2)
    return case(rng, rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.2))


def larger(rng: np.random.Generator) -> Case:
    """Some hundred rows."""
    n, d = size(rng, 400, 100), size(rng, 40, 5)
    return case(rng, rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-2, 2, d))


KINDS = {
    function.__name__: (function, share)
    for function, share in (
        (plain, 4),
        (single_precision, 2),
        (integers, 3),
        (scales, 3),
        (collinear, 3),
        (constant_columns, 2),
        (twins, 2),
        (repeated_rows, 2),
        (one_hot, 2),
        (wide, 2),
        (sparse, 2),
        (larger, 0.5),
    )
}
