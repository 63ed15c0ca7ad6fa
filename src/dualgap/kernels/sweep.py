"""Both products of a Newton step with sparse rows, in one reading."""

from __future__ import annotations

from typing import Any

from dualgap._jit import kernel
from dualgap.kernels.scalar import Floats


@kernel
def sweep_csr(
    data: Any, indices: Any, indptr: Any, c: float, x: Floats, w: Floats, z: Floats, u: Floats
) -> None:
    """z = A x + c, add A' diag(w) z to u."""
    for i in range(w.size):
        v = c
        for p in range(indptr[i], indptr[i + 1]):
            v += data[p] * x[indices[p]]
        z[i] = v
        r = w[i] * v
        for p in range(indptr[i], indptr[i + 1]):
            u[indices[p]] += r * data[p]
