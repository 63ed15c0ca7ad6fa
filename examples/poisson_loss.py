"""A loss of one's own: counts with a log link, whose second derivative has no bound.

The loss of a count b >= 0 with the mean e^z is half its deviance,

    phi(z)  = e^z - b z + (b log b - b),    phi'(z) = e^z - b,    phi''(z) = e^z,
    phi*(y) = m log m - m - (b log b - b),  m = y + b,            on y >= -b.

phi'' has no bound, so ``gamma`` is None: algorithms whose step sizes rest on such a bound refuse
the loss, and those that search along a line serve it.

Run it with ``python examples/poisson_loss.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import dualgap
from dualgap.enclosures import down, exp_bounds, log_bounds, up
from dualgap.losses import Loss


def excess(m: np.ndarray, log_mu: np.ndarray) -> np.ndarray:
    """mu - m - m log(mu/m) >= 0, with mu = e^log_mu, not as a difference of larger numbers.

    With t = log(mu/m) it is m (e^t - 1 - t); it is mu where m = 0.
    """
    t = log_mu - np.log(np.where(m > 0.0, m, 1.0))
    near = np.minimum(t, 1.0)
    small = m * (np.expm1(near) - near)
    return np.where((t > 1.0) | (m <= 0.0), np.exp(log_mu) - m * (1.0 + t), small)


@dataclass(frozen=True)
class Counts(Loss):
    """Poisson loss: phi(z) = e^z - b z + (b log b - b) for a count b >= 0."""

    gamma = None  # phi'' = e^z has no bound
    is_self_concordant = True  # |phi'''| = phi''
    has_exact_gap = True  # `excess` takes no difference of larger numbers

    def targets(self, b: Any, n: int) -> np.ndarray:
        """Finite numbers, one a row, none of them negative."""
        counts = super().targets(b, n)
        if (counts < 0.0).any():
            raise ValueError("Counts takes targets b >= 0; drop the rows with b < 0.")
        return counts

    def value(self, z: np.ndarray, b: np.ndarray) -> np.ndarray:
        """e^z - b z + (b log b - b)."""
        return excess(b, z)

    def grad(self, z: np.ndarray, b: np.ndarray) -> np.ndarray:
        """e^z - b."""
        return np.exp(z) - b

    def hess(self, z: np.ndarray, b: np.ndarray) -> np.ndarray:
        """e^z."""
        return np.exp(z)

    def conj(self, y: np.ndarray, b: np.ndarray) -> np.ndarray:
        """m log m - m - (b log b - b); where b > 0 that is m log(m/b) - m + b and y log b."""
        m = np.maximum(y + b, 0.0)
        log_b = np.log(np.where(b > 0.0, b, 1.0))
        log_m = np.log(np.where(m > 0.0, m, 1.0))
        return np.where(b > 0.0, excess(m, log_b) + y * log_b, m * log_m - m)

    def conj_grad(self, y: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The v with e^v - b = y: log m, and a finite number at the end of the domain."""
        return np.log(np.maximum(y + b, 1e-300))

    def domain(self, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """y >= -b."""
        return -b, np.full(b.shape, np.inf)

    def fenchel_gap(self, z: np.ndarray, y: np.ndarray, b: np.ndarray) -> np.ndarray:
        """phi(z) + phi*(y) - y z = mu - m - m log(mu/m), with mu = e^z."""
        return excess(np.maximum(y + b, 0.0), z)

    def gap_above(
        self, z_lo: np.ndarray, z_hi: np.ndarray, y: np.ndarray, b: np.ndarray
    ) -> np.ndarray:
        """The smaller one of two upper bounds of mu - m - m log(mu/m), every rounding counted.

        It is at most (mu - m)^2/(2 min(m, mu)), which is sharp where mu is near m. Far from there
        mu + m (log m - 1 - z) at the ends of z serves, as the gap is convex in z.
        """
        with np.errstate(all="ignore"):
            m_lo, m_hi = np.maximum(down(y + b), 0.0), np.maximum(up(y + b), 0.0)
            mu_lo, mu_hi = exp_bounds(z_lo, z_hi)
            off = np.maximum(up(mu_hi - m_lo), -down(mu_lo - m_hi))
            near = up(up(off * off) / (2.0 * np.minimum(m_lo, mu_lo)))
            log_m = log_bounds(m_lo, m_hi)[1]
            far = np.zeros_like(near)
            for z, mu in ((z_lo, exp_bounds(z_lo, z_lo)[1]), (z_hi, mu_hi)):
                slope = up(up(log_m - 1.0) - z)
                far = np.maximum(far, up(mu + up(np.where(slope > 0.0, m_hi, m_lo) * slope)))
            bound = np.fmin(near, far)
        return np.where(bound >= 0.0, bound, np.inf)  # inf where floats end, never nan

    def value_below(self, z_lo: np.ndarray, z_hi: np.ndarray, b: np.ndarray) -> np.ndarray:
        """mu - b + b (log b - z) at the end that is nearest to log b; 0 where that is inside."""
        with np.errstate(all="ignore"):
            log_lo, log_hi = log_bounds(b, b)
            right = (b == 0.0) | (z_lo > log_hi)  # phi = mu where b = 0
            z = np.where(right, z_lo, z_hi)
            mu = exp_bounds(z, z)[0]
            rest = np.where(b > 0.0, down(b * down(down(log_lo - z) - 1.0)), 0.0)
            bound = np.where(right | (z_hi < log_lo), down(mu + rest), 0.0)
        return np.where((bound > 0.0) & np.isfinite(bound), bound, 0.0)

    def mean(self, z: np.ndarray) -> np.ndarray:
        """The target that a prediction stands for."""
        return np.exp(z)


def counts(n: int = 400, d: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and how often something was counted in each."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((n, d))
    return A, rng.poisson(np.exp(0.5 + A @ rng.normal(0.0, 0.4, d))).astype(np.float64)


def main() -> None:
    """Check the loss, fit it by all that serve it, and see the others refuse."""
    A, b = counts()
    dualgap.check_loss(Counts())
    print("check_loss found no law broken")
    for algorithm, strengths in (
        ("newton", {"l2": 1e-3}),
        ("working-set", {"l1": 1e-2}),
        ("prox-newton", {"l1": 1e-2, "l2": 1e-3}),
    ):
        result = dualgap.solve(
            A, b, loss=Counts(), fit_intercept=True, algorithm=algorithm, **strengths
        )
        certificate = dualgap.certify(
            A, b, result.x, result.y, intercept=result.intercept, loss=Counts(),
            fit_intercept=True, **strengths,
        )  # fmt: skip
        print(f"{algorithm}: {result.status.name}, P(x) - P* <= {certificate.gap:.2g}")
    for algorithm in ("adf-bpd", "saga"):
        try:
            dualgap.solve(A, b, loss=Counts(), l2=1e-3, algorithm=algorithm)
        except ValueError as refusal:
            print("refused:", refusal)


if __name__ == "__main__":
    main()
