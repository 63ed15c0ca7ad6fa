"""The Gram matrix of sparse rows, pair by pair: for few columns, where a row has few entries."""

from __future__ import annotations

from typing import Any

from dualgap._jit import kernel
from dualgap.kernels.scalar import Floats


@kernel
def gram_csr(data: Any, indices: Any, indptr: Any, s: float, w: Floats, out: Floats) -> None:
    """Add A' diag(w) A to the lower triangle of ``out``; indices ascend within a row.

    A last row and column belong to a constant column s, if s is not 0.
    """
    c = out.shape[0] - 1
    for i in range(w.size):
        for p in range(indptr[i], indptr[i + 1]):
            a = w[i] * data[p]
            j = indices[p]
            for r in range(indptr[i], p + 1):
                out[j, indices[r]] += a * data[r]
            if s != 0.0:
                out[c, j] += s * a
        if s != 0.0:
            out[c, c] += s * s * w[i]
