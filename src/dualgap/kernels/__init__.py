"""Compiled inner loops of the randomised algorithms.

Each takes values of `kernels.values` and is written once for dense and sparse rows. The
plain-Python transcriptions in the tests are their oracles. State arrays are passed in and updated
in place; nothing is allocated inside; index streams come from outside.
"""

from __future__ import annotations

import dualgap.compiled.jit as _jit  # noqa: F401 - listens to numba from here on
