"""Strengths that stand for real numbers nearby, from below and from above.

A problem rounds l1 p_j and l2 p_j to floats. What is proved of it has to hold for the products
themselves, which lie within v (1 -+ blur) of the float v, with blur = 2^-53.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap.enclosures.directed import UNIT, down, up


def at_least(v: Any, blur: float = 0.0) -> Any:
    """At most v (1 - blur), and not below 0, for numbers v >= 0.

    For blur <= 2^-53 that is the float before v: v u is at most the distance to it, also where v
    is a power of two and the distance is half of that to the float after it.
    """
    if not blur:
        return v
    return np.maximum(down(v if blur <= UNIT else v * down(1.0 - float(blur))), 0.0)


def at_most(v: Any, blur: float = 0.0) -> Any:
    """At least v (1 + blur), and 0 where v is 0, for numbers v >= 0."""
    if not blur:
        return v
    return np.where(v > 0.0, up(v if blur <= UNIT else v * up(1.0 + float(blur))), 0.0)
