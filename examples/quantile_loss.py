"""A loss with options: quantile regression, with the kink of the pinball loss rounded off.

With the residual r = z - b, a quantile 0 < q < 1 and a width h > 0,

    phi(z)  = max over y in [-q, 1 - q] of  y r - (h/2) y^2,
    phi*(y) = b y + (h/2) y^2  on [-q, 1 - q].

As h goes to 0 this becomes the pinball loss, max(-q r, (1 - q) r), from which it differs by h/2 at
most. phi'' is 1/h where r/h is in [-q, 1 - q] and 0 elsewhere, so that gamma = h.

Run it with ``python examples/quantile_loss.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import dualgap
from dualgap.enclosures import down, up
from dualgap.losses import RegressionLoss


@dataclass(frozen=True)
class SmoothQuantile(RegressionLoss):
    """The pinball loss of the quantile q, rounded off over the width h.

    Parameters
    ----------
    q : float
        The quantile, between 0 and 1.
    h : float
        The width > 0, in units of the targets.
    """

    q: float = 0.5
    h: float = 0.1

    has_quadratic_conj = True  # phi*'' = gamma in the domain
    has_exact_gap = True

    @property
    def gamma(self) -> float:
        """phi is 1/h-smooth."""
        return self.h

    def grad(self, z: np.ndarray, b: np.ndarray) -> np.ndarray:
        """r/h, cut off at -q and 1 - q: the y of the maximum."""
        return np.clip((z - b) / self.h, -self.q, 1.0 - self.q)

    def value(self, z: np.ndarray, b: np.ndarray) -> np.ndarray:
        """y r - (h/2) y^2 = y (r - (h/2) y), of which the two factors have the same sign."""
        y = self.grad(z, b)
        return y * ((z - b) - 0.5 * self.h * y)

    def hess(self, z: np.ndarray, b: np.ndarray) -> np.ndarray:
        """1/h inside, 0 outside."""
        r = (z - b) / self.h
        return np.where((r >= -self.q) & (r <= 1.0 - self.q), 1.0 / self.h, 0.0)

    def conj(self, y: np.ndarray, b: np.ndarray) -> np.ndarray:
        """b y + (h/2) y^2."""
        return y * (b + 0.5 * self.h * y)

    def conj_grad(self, y: np.ndarray, b: np.ndarray) -> np.ndarray:
        """b + h y."""
        return b + self.h * y

    def domain(self, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """From -q to 1 - q."""
        return np.full(b.shape, -self.q), np.full(b.shape, 1.0 - self.q)

    def fenchel_gap(self, z: np.ndarray, y: np.ndarray, b: np.ndarray) -> np.ndarray:
        """(p - y)(r - h p) + (h/2)(p - y)^2 with p = phi'(z): two terms >= 0."""
        p = self.grad(z, b)
        off = p - y
        return np.maximum(off * ((z - b) - self.h * p), 0.0) + 0.5 * self.h * off**2

    def gap_above(
        self, z_lo: np.ndarray, z_hi: np.ndarray, y: np.ndarray, b: np.ndarray
    ) -> np.ndarray:
        """The larger one of the gaps at both ends of r, every rounding counted.

        (r - h y)^2/(2h) is the gap where r/h is in the domain and more than that elsewhere; beyond
        an end e of the domain the gap is (e - y)(r - h (e + y)/2).
        """
        bound = np.zeros(y.shape)
        with np.errstate(all="ignore"):
            for r in (down(z_lo - b), up(z_hi - b)):
                off = np.maximum(up(r - down(self.h * y)), up(up(self.h * y) - r))
                gap = up(up(0.5 * up(off * off)) / self.h)
                for sign, end in ((1.0, 1.0 - self.q), (-1.0, self.q)):
                    room = np.maximum(up(end - sign * y), 0.0)
                    half = down(down(end + sign * y) * (0.5 * self.h))
                    beyond = up(room * up(np.maximum(sign * r - half, 0.0)))
                    gap = np.where(sign * r > up(self.h * end), beyond, gap)
                bound = np.maximum(bound, gap)
        return np.where(bound >= 0.0, bound, np.inf)  # inf where floats end, never nan

    def value_below(self, z_lo: np.ndarray, z_hi: np.ndarray, b: np.ndarray) -> np.ndarray:
        """y (r - h y/2), a lower bound for every y in the domain, at the r that is nearest to 0."""
        with np.errstate(all="ignore"):
            low, high = down(z_lo - b), up(z_hi - b)
            size = np.where(low > 0.0, low, np.where(high < 0.0, -high, 0.0))
            y = np.minimum(size / self.h, np.where(low > 0.0, 1.0 - self.q, self.q))
            bound = down(y * down(size - up(y * (0.5 * self.h))))
        return np.where((bound > 0.0) & np.isfinite(bound), bound, 0.0)


def prices(n: int = 500, d: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and targets whose noise has a long tail to one side."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((n, d))
    return A, A @ rng.standard_normal(d) + rng.exponential(1.0, n)


def main() -> None:
    """Fit three quantiles, count the rows below, and try other algorithms."""
    A, b = prices()
    for q in (0.1, 0.5, 0.9):
        loss = SmoothQuantile(q, h=0.05)
        dualgap.check_loss(loss)
        result = dualgap.solve(A, b, loss=loss, l2=1e-4, fit_intercept=True)
        below = np.mean(b < A @ result.x + result.intercept)
        print(f"q = {q}: {result.algorithm}, {result.status.name}, {below:.2f} of the rows below")
    for algorithm in ("adf-bpd", "agd", "prox-newton"):
        result = dualgap.solve(
            A, b, loss=SmoothQuantile(0.9), l2=1e-2, algorithm=algorithm, max_passes=5000
        )
        gap = result.certificate.gap
        print(f"{algorithm}: {result.status.name}, P(x) - P* <= {gap:.2g}")
    for algorithm in ("bpd", "adf-spdc"):
        try:
            dualgap.solve(A, b, loss=SmoothQuantile(0.9), l2=1e-2, algorithm=algorithm)
        except ValueError as refusal:
            print("refused:", refusal)


if __name__ == "__main__":
    main()
