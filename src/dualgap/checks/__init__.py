"""Laws that parts of a problem obey, as checks for those that a user brings along."""

from __future__ import annotations

from dualgap.checks.design import check_design
from dualgap.checks.errors import LawError

__all__ = ["LawError", "check_design"]
