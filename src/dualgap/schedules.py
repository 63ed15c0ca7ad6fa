"""Pickled states of before they had a version look here for a class: they are refused.

To be deleted with version 0.3; see docs/stability.md.
"""

from dualgap.state import refusal

raise refusal(0)
