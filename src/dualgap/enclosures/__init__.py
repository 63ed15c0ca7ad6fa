"""Numbers that provably enclose others: rounding with a direction, exponentials, products.

What a certificate rests on. Everything here holds for IEEE double precision, rounding to nearest
and gradual underflow (`arithmetic_is_ieee` tests it), and trusts no function of the C library but
the square root, which IEEE 754 asks to be rounded correctly.
"""

from __future__ import annotations

from dualgap.enclosures.directed import down, sum_down, sum_up, up
from dualgap.enclosures.exponential import exp_bounds, log_bounds
from dualgap.enclosures.strengths import at_least, at_most

__all__ = [
    "at_least",
    "at_most",
    "down",
    "exp_bounds",
    "log_bounds",
    "sum_down",
    "sum_up",
    "up",
]
