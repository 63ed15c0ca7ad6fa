"""Laws that what users write has to obey, put to the test."""

from dualgap.checks.errors import LawError
from dualgap.checks.regularizer import check_regularizer

__all__ = ["LawError", "check_regularizer"]
