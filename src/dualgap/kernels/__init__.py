"""Compiled loops: the epoch of the randomised methods.

`epoch` takes the values of `values` and is written once for all methods and layouts: `rows` says
how rows are walked, `points`, `katyusha`, `sdca` and `blocks` what a visit does to a coordinate.
The plain-Python transcriptions in the tests are their oracles; index streams come from outside, and
state arrays are passed in and updated in place. Compiled formulas lie with what they are formulas
of: `losses.compiled`, `regularizers.compiled_lazy`, `linalg.compiled_gram` and
`linalg.compiled_descent`.
"""

from __future__ import annotations

import dualgap.compiled.jit as _jit  # noqa: F401 - listens to numba from here on
