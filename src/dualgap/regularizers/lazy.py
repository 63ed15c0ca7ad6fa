"""k prox steps at once: what a coordinate that no row touched would have gone through."""

from __future__ import annotations


def advance(x: float, u: float, tau: float, l1: float, l2: float, k: int) -> tuple[float, float]:
    """Take k >= 1 steps of x <- prox_{tau g}(x - tau u), g = l1|x| + (l2/2)x^2.

    The closed form is that of the kernels, `regularizers.compiled_lazy`.

    Returns
    -------
    x_k, x_{k-1} : float
        The point after k steps, and the one before the last step.
    """
    from dualgap.regularizers.compiled_lazy import prox_step, skip

    before = skip(x, u, tau, l1, l2, k - 1)
    return prox_step(before, u, tau, l1, 1.0 / (1.0 + tau * l2)), before
