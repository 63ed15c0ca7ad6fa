"""Compiled loops: the epochs of the randomised methods, and what walks columns and sparse rows.

`epoch` (and `minibatch`, of blocks of rows) takes the values of `values` and is written once for
all methods and layouts: `rows` says how rows are walked, `points`, `katyusha` and `sdca` what a
visit does to a coordinate, `scalar` what a loss does to a prediction. The plain-Python
transcriptions in the tests are their oracles; index streams come from outside. `coordinate` is
coordinate descent on a quadratic model, `gram` products of sparse rows with themselves, `logistic`
the sums of a loss over many rows. State arrays are passed in and updated in place.
"""

from __future__ import annotations

import dualgap.compiled.jit as _jit  # noqa: F401 - listens to numba from here on
