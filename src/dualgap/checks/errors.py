"""What a check raises."""

from __future__ import annotations


class LawError(AssertionError):
    """A law does not hold; the sentence names it, and the values that differ."""
