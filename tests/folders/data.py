"""Small data of every kind that a folder may hold, and folders of them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dualgap.datasets import write_folder

N, D = 157, 6
RNG = np.random.default_rng(21)
A = RNG.standard_normal((N, D)) * np.array([1.0, 3.0, 0.1, 1.0, 1.0, 2.0])
B = np.sign(A @ RNG.standard_normal(D) + RNG.standard_normal(N))
W = RNG.integers(1, 4, N).astype(float)
OFFSET = 0.3 * RNG.standard_normal(N)
S = sp.random_array((N, 40), density=0.2, format="csr", rng=np.random.default_rng(3))

MATRICES = {
    "float64": A,
    "float32": A.astype(np.float32),
    "int16": (100.0 * A).astype(np.int16),
    "bool": A > 0.0,
    "big-endian": A.astype(">f8"),
    "CSR": S,
    "CSR of int8": sp.csr_array((10.0 * S).astype(np.int8)),
}


def in_memory(matrix):
    """The same in float64: the arrays that an in-memory fit is given."""
    return matrix.astype(np.float64)


def blocks(matrix, *vectors, rows=50):
    """Blocks of some rows."""
    for start in range(0, matrix.shape[0], rows):
        at = slice(start, start + rows)
        yield (matrix[at], *(None if v is None else v[at] for v in vectors))


def folder(path, matrix=A, *vectors, **options):
    """A folder of these data, opened."""
    return write_folder(path, blocks(matrix, *(vectors or (B,))), **options)
