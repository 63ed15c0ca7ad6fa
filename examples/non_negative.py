"""A regulariser of one's own: coefficients that are not negative, with a price l1 each.

    g_j(x) = l1 x for x >= 0, +inf for x < 0
    prox   = max(v - tau l1, 0)
    g_j*(s) = 0 for s <= l1, +inf above

Every algorithm that asks for prox and nothing else serves it. One that says of itself that it is an
elastic net between bounds (``compiled_form``) is served by the compiled coordinate steps, too.

The last four methods of the class are its enclosures: bounds that hold for real numbers, with the
rounding of every operation included. With them certificates of problems with it are theorems.

Run it with ``python examples/non_negative.py``.
"""

from __future__ import annotations

import numpy as np

import dualgap
from dualgap.enclosures import at_least, at_most, down, sum_down, sum_up, up
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

    def gap_above(
        self, x: np.ndarray, s_lo: np.ndarray, s_hi: np.ndarray, blur: float = 0.0
    ) -> np.ndarray:
        """x (l1 - s) is largest at the lower end; `up` pays for the rounding of each operation."""
        l1 = at_most(self.l1, blur)
        gap = up(x * up(l1 - np.minimum(s_lo, l1)))
        return np.where((x >= 0.0) & (gap >= 0.0), gap, np.inf)

    def value_above(self, x: np.ndarray, blur: float = 0.0) -> float:
        """l1 sum(x), rounded up."""
        return sum_up(up(at_most(self.l1, blur) * x)) if (x >= 0.0).all() else np.inf

    def value_below(self, x: np.ndarray, blur: float = 0.0) -> float:
        """l1 sum(x), rounded down."""
        terms = np.maximum(down(at_least(self.l1, blur) * x), 0.0)
        return sum_down(terms) if (x >= 0.0).all() else np.inf

    def inner_interval(self, blur: float = 0.0) -> tuple[float, float]:
        """s <= l1, from inside: l1 is exact, unless it stands for numbers nearby."""
        return -np.inf, float(at_least(self.l1, blur))


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
