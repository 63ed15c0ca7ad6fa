"""A regulariser of one's own: coefficients that are not negative, with a price l1 each.

    g_j(x) = l1 x for x >= 0, +inf for x < 0
    prox   = max(v - tau l1, 0)
    g_j*(s) = 0 for s <= l1, +inf above

Every algorithm that asks for prox and nothing else serves it. One that says of itself that it is an
elastic net between bounds (``compiled_form``) is served by the compiled coordinate steps, too.

Run it with ``python examples/non_negative.py``.
"""

from __future__ import annotations

import numpy as np

import dualgap
from dualgap.regularizers import Bounded, Regularizer


class Positive(Regularizer):
    """l1 x on x >= 0.

    Parameters
    ----------
    l1 : float
        The price >= 0 of one unit of a coefficient.
    """

    strong_convexity = 0.0
    has_exact_gap = True  # `fenchel_gap` is a product of two factors >= 0
    is_homogeneous = True  # g(t x) = t g(x)

    def __init__(self, l1: float = 0.0) -> None:
        self.l1 = l1

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.l1})"

    def value(self, x: np.ndarray) -> float:
        """l1 sum(x), +inf where some x < 0."""
        return np.inf if (x < 0.0).any() else float(self.l1 * x.sum())

    def prox(self, v: np.ndarray, tau: float | np.ndarray) -> np.ndarray:
        """max(v - tau l1, 0)."""
        return np.maximum(v - tau * self.l1, 0.0)

    def conj(self, s: np.ndarray) -> float:
        """0, +inf where some s > l1."""
        return np.inf if (s > self.l1).any() else 0.0

    def dual_interval(self) -> tuple[float, float]:
        """s <= l1."""
        return -np.inf, self.l1

    def fenchel_gap(self, x: np.ndarray, s: np.ndarray) -> np.ndarray:
        """l1 x + 0 - s x."""
        return x * (self.l1 - s)


class CompiledPositive(Positive):
    """The same, in the form that compiled kernels know."""

    def compiled_form(self) -> Bounded:
        """l1 |x| + (l2/2) x^2 on [lower, upper]."""
        return Bounded(l1=self.l1, l2=0.0, lower=0.0, upper=np.inf)


def mixtures(n: int = 300, d: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and mixtures of some of the columns."""
    rng = np.random.default_rng(0)
    A = rng.random((n, d))
    x = np.maximum(rng.standard_normal(d), 0.0)
    return A, A @ x + 0.1 * rng.standard_normal(n)


def main() -> None:
    """Check both, and fit them by algorithms that serve them."""
    A, b = mixtures()
    for g, algorithms in (
        (Positive(1e-3), ("auto", "ada-bpd", "agd")),
        (CompiledPositive(1e-3), ("working-set",)),
    ):
        dualgap.check_regularizer(g)
        for algorithm in algorithms:
            result = dualgap.solve(A, b, regularizer=g, algorithm=algorithm, max_passes=5000)
            zeros = np.count_nonzero(result.x == 0.0)
            gap = result.certificate.gap
            print(
                f"{g!r}: {result.algorithm}, {result.status.name}, P(x) - P* <= {gap:.2g}, "
                f"least x {result.x.min():g}, {zeros} zeros"
            )
    try:
        dualgap.solve(A, b, regularizer=Positive(1e-3), algorithm="newton")
    except ValueError as refusal:
        print("refused:", refusal)


if __name__ == "__main__":
    main()
