"""The only file that imports numba.

Kernels are compiled once and kept on disk. None takes a function or a class instance as argument,
and none is a closure: those defeat the cache. A kernel releases the interpreter lock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])

# Sums may be reordered, so that they use vector registers; NaN and infinity keep their meaning.
# Iterates may rest on this, a certificate never does.
_REORDERED = {"reassoc", "contract"}


def kernel(function: F) -> F:
    """Compile a kernel whose sums may be reordered."""
    compiled: Any = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=_REORDERED)(
        function
    )
    return cast(F, compiled)


def scalar(function: F) -> F:
    """Compile a formula of scalars, to be inlined into kernels; nothing is reordered."""
    compiled: Any = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    return cast(F, compiled)
