"""Adaptation rules under their public name; they live with the paper's algorithms."""

from dualgap.algorithms.primal_dual.adaptation import (
    RULES,
    Curvature,
    Remembered,
    Robust,
    Rule,
    Simple,
    as_rule,
)

__all__ = ["RULES", "Curvature", "Remembered", "Robust", "Rule", "Simple", "as_rule"]
