"""Proofs that no minimiser exists: classes separated by coefficients that nothing penalises."""

from __future__ import annotations

import numpy as np

from dualgap._types import Array
from dualgap.problem import Problem


def one_class(problem: Problem) -> bool:
    """Whether an unpenalised intercept alone separates: logistic loss, and one class only.

    With K classes one that no row has is enough: its intercept goes to -inf.
    """
    seen = np.unique(problem.b[problem.q > 0]).size
    if problem.outputs is not None:
        return problem.fit_intercept and bool(seen < problem.outputs)
    if not problem.loss.is_self_concordant or not problem.free_intercept_only:
        return False
    return bool(seen == 1)


def separates(problem: Problem, x: Array, z: Array) -> bool:
    """Whether x proves that the infimum is not attained: its ray lowers P for ever.

    Only for a loss that never reaches its infimum (logistic), where no penalty holds x back.
    """
    if not problem.regularizer.free.all():
        return False
    counts = problem.q > 0

    def proved(predictions: Array) -> bool:
        margins = problem.loss.margins(predictions, problem.b)
        if margins is None:
            return False
        return bool((margins[counts] >= 0).all() and (margins[counts] > 0).any())

    if problem.offset is None:
        return proved(z)
    # An offset may swallow a small prediction: look again without it.
    return proved(z - problem.offset) and proved(problem.design.matvec(x))
