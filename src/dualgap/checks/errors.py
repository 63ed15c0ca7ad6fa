"""The error of a law that does not hold."""

from __future__ import annotations


class LawError(ValueError):
    """A law that a value breaks, named, with the numbers that show it."""
