"""Sums of floats that are all but exact, by extraction of leading digits.

With sigma a power of two, n <= 2^M and |v_i| <= 2^-M sigma, the floats q_i = (v_i + sigma) - sigma
are multiples of u sigma whose sums are at most sigma: they are added up without a rounding, in any
order. v_i - q_i is a float as well, and at most u sigma (Rump, Ogita, Oishi: Accurate
floating-point summation I, SIAM J. Sci. Comput. 31, 2008, lemma 3.3). Two extractions leave numbers
below n^2 u^2 max |v_i| or so, whose plain sum is off by n u of their sizes.
"""

from __future__ import annotations

import math

import numpy as np

from dualgap._types import Array
from dualgap.enclosures.directed import UNIT, gam, up

AT_ONCE = 1 << 14
"""Numbers that are added up at the same time; they stay near a core."""
LEVELS = 2
"""Extractions."""
HIGHEST = 1000
"""Powers of two above this are not added to anything: the sum might overflow."""


def accurate_sum(v: Array) -> tuple[float, float]:
    """The sum of floats of any signs, and what it may be off; (0, 0) only if the sum is 0.

    Parameters
    ----------
    v : array of shape (n,)
        Finite.

    Returns
    -------
    total, error : float
        |sum_i v_i - total| <= error, about u |total| + n^3 u^3 max |v_i|.
    """
    parts: list[float] = []
    open_ = 0.0
    for start in range(0, v.size, AT_ONCE):
        some = v[start : start + AT_ONCE]
        bits = math.ceil(math.log2(some.size))
        for _ in range(LEVELS):
            most = float(np.abs(some).max())
            exponent = math.frexp(most)[1] + bits
            if exponent > HIGHEST:
                parts.extend(some.tolist())
                some = some[:0]
                break
            sigma = math.ldexp(1.0, max(exponent, -1074))
            q = some + sigma
            q -= sigma
            parts.append(float(q.sum()))
            some = some - q
            if not some.any():
                break
        else:
            parts.append(float(some.sum()))
            left = float(np.abs(some).max())
            open_ = up(open_ + up(gam(some.size + 4.0) * up(some.size * left)))
    try:
        total = math.fsum(parts)
    except OverflowError:  # the sum is no float, and nothing is said of it
        return 0.0, math.inf
    return total, up(up(UNIT * abs(total)) + open_) if total or open_ else 0.0
