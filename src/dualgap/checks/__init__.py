"""The laws that losses, regularisers and designs obey, as checks for those of your own."""

from __future__ import annotations

from dualgap.checks.design import check_design
from dualgap.checks.errors import LawError
from dualgap.checks.loss import check_loss
from dualgap.checks.regularizer import check_regularizer

__all__ = ["LawError", "check_design", "check_loss", "check_regularizer"]
