"""H = A' diag(w) A of sparse rows: as a matrix for few columns, and times a vector."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap._jit import kernel
from dualgap.kernels.scalar import Floats


@kernel
def csr_gram(data: Any, indices: Any, indptr: Any, constant: float, w: Floats, H: Floats) -> None:
    """Add A' diag(w) A to the lower triangle of H, pair by pair; indices ascend in every row.

    A last row and column belong to a constant column, if that is not 0.
    """
    last = H.shape[0] - 1
    for i in range(indptr.size - 1):
        # Unsigned: no negative index to look out for.
        start, stop = np.uintp(indptr[i]), np.uintp(indptr[i + 1])
        for p in range(start, stop):
            a = w[i] * data[p]
            row = H[np.uintp(indices[p])]
            for other in range(start, p + np.uintp(1)):
                row[np.uintp(indices[other])] += a * data[other]
        if constant != 0.0:
            a = w[i] * constant
            row = H[last]
            for p in range(start, stop):
                row[np.uintp(indices[p])] += a * data[p]
            row[last] += a * constant


@kernel
def csr_sweep(
    data: Any, indices: Any, indptr: Any, c: float, x: Floats, w: Floats, z: Floats, u: Floats
) -> None:
    """z = A x + c, and add A' diag(w) z to u, in one reading."""
    for i in range(w.size):
        start, stop = np.uintp(indptr[i]), np.uintp(indptr[i + 1])
        v = c
        for p in range(start, stop):
            v += data[p] * x[np.uintp(indices[p])]
        z[i] = v
        r = w[i] * v
        for p in range(start, stop):
            u[np.uintp(indices[p])] += r * data[p]
