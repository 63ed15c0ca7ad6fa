"""The elastic net on x >= 0: g_j(x) = l1_j x + (l2_j/2) x^2 for x >= 0, else +inf.

    prox_tau(v) = max(v - tau l1, 0)/(1 + tau l2)
    g*(s)       = max(s - l1, 0)^2/(2 l2);   l2 = 0: 0 for s <= l1, else +inf

It is the box [0, inf), whose formulas these are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dualgap.regularizers.box import Box
from dualgap.regularizers.strengths import refuse_uneven


@dataclass(frozen=True, eq=False, repr=False)
class NonNegative(Box):
    """g(x) = sum_j l1_j x_j + (l2_j/2) x_j^2 where x >= 0, +inf elsewhere.

    Parameters
    ----------
    l1, l2 : float or array of shape (d,)
        Strengths >= 0.
    """

    lower: Any = field(default=0.0, init=False)
    upper: Any = field(default=np.inf, init=False)
    l1: Any = 0.0
    l2: Any = 0.0

    def __repr__(self) -> str:
        """What it was made of."""
        return f"NonNegative({self._strengths()[2:]})"

    def with_strengths(self, l1: float, l2: float) -> NonNegative:
        """The same with others."""
        refuse_uneven(self, self.l1, self.l2)
        return NonNegative(l1, l2)
