"""Adaptation of the strong convexity: Algorithms 3 and 4 of the paper, and the curvature rule."""

from __future__ import annotations

from collections.abc import Callable

from dualgap._names import lookup
from dualgap.algorithms.primal_dual.adaptation.curvature import Curvature
from dualgap.algorithms.primal_dual.adaptation.robust import Robust
from dualgap.algorithms.primal_dual.adaptation.rule import Rule, default_start, known_curvature
from dualgap.algorithms.primal_dual.adaptation.simple import Simple
from dualgap.algorithms.primal_dual.state import Remembered

RULES: dict[str, Callable[[], Rule]] = {cls.name: cls for cls in (Simple, Robust, Curvature)}

__all__ = [
    "RULES",
    "Curvature",
    "Remembered",
    "Robust",
    "Rule",
    "Simple",
    "as_rule",
    "default_start",
    "known_curvature",
]


def as_rule(adapt: str | Rule) -> Rule:
    """Turn a name into a rule with its default options; a rule stays itself."""
    if isinstance(adapt, Rule):
        return adapt
    if isinstance(adapt, str):
        return lookup("adapt", adapt, RULES)()
    raise TypeError(f"adapt must be a name or a dualgap rule, got {adapt!r}.")
