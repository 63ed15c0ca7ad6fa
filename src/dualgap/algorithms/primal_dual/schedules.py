"""Step sizes: (tau, sigma, theta) of Theorems 1 and 3, and the variant without strong convexity.

    m = lambda + Delta,   Delta = delta M  (delta mu^2/n in the paper's letters)

Theorem 1 (BPD), equations (7), (8):
    tau = sqrt(gamma/(Lam m))       sigma = sqrt(m/(Lam gamma))
    theta_x = (1 - tau sigma Delta/(delta + 2 sigma))/(1 + tau lambda)
    theta_y = 1/(1 + sigma gamma/2)

Theorem 3 (DF-BPD), equations (13), (14), with a factor k on both steps:
    tau = k sqrt(gamma/(Lam m))     sigma = k sqrt(gamma m/Lam)
    theta_x = (1 - tau sigma Delta/(4 + 2 sigma))/(1 + tau lambda)
    theta_y = 1/(1 + sigma/2)
    k = 1/2 is the proof's, sqrt(2/(4 + gamma delta)) what its inequalities allow, 1 is printed.

m = 0 (no strong convexity known): Chambolle & Pock's acceleration by the strong convexity gamma of
f*: theta = 1/sqrt(1 + gamma sigma), then sigma <- sigma theta, tau <- tau/theta; error O(1/t^2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dualgap.losses import Loss


@dataclass(frozen=True)
class Steps:
    """The parameters of one iteration.

    Attributes
    ----------
    tau, sigma, theta : float
        Primal step, dual step (per sample), extrapolation.
    rate : float
        The contraction per pass that the theorem predicts for them (1 if none does); a pass is one
        iteration of a batch method and n of a randomised one.
    accelerating : bool
        Whether they change from one iteration to the next (`accelerate`).
    """

    tau: float
    sigma: float
    theta: float
    rate: float = 1.0
    accelerating: bool = False


def bpd_steps(loss: Loss, Lam: float, lam: float, Delta: float, *, theta_one: bool) -> Steps:
    """Theorem 1's parameters for m = lam + Delta; theta = 1 is valid too and asks for no delta."""
    m = lam + Delta
    if m <= 0.0:
        return Steps(loss.known_gamma / Lam, 1.0 / loss.known_gamma, 1.0, accelerating=True)
    tau = math.sqrt(loss.known_gamma / Lam) / math.sqrt(m)  # Lam m may leave float64
    sigma = math.sqrt(m / loss.known_gamma) / math.sqrt(Lam)
    # With delta = 0 an estimate Delta > 0 is local curvature; 1/gamma is the largest it can have,
    # and gives the most cautious prediction.
    delta = loss.delta if loss.delta > 0 else 1.0 / loss.known_gamma
    theta_x = (1.0 - tau * sigma * Delta / (delta + 2.0 * sigma)) / (1.0 + tau * lam)
    rate = max(theta_x, 1.0 / (1.0 + sigma * loss.known_gamma / 2.0))
    proved = loss.delta > 0 or Delta == 0
    return Steps(tau, sigma, rate if proved and not theta_one else 1.0, rate)


def df_bpd_steps(
    loss: Loss, Lam: float, lam: float, Delta: float, *, k: float, theta_one: bool
) -> Steps:
    """Theorem 3's parameters for m = lam + Delta, steps times k."""
    m = lam + Delta
    if m <= 0.0:
        return Steps(k * k * loss.known_gamma / Lam, 1.0, 1.0, accelerating=True)
    tau = k * math.sqrt(loss.known_gamma / Lam) / math.sqrt(m)  # Lam m may leave float64
    sigma = k * math.sqrt(loss.known_gamma * m) / math.sqrt(Lam)
    theta_x = (1.0 - tau * sigma * Delta / (4.0 + 2.0 * sigma)) / (1.0 + tau * lam)
    rate = max(theta_x, 1.0 / (1.0 + sigma / 2.0))
    return Steps(tau, sigma, 1.0 if theta_one else rate, rate)


def proved_factor(loss: Loss) -> float:
    """The largest k that the inequalities in the proof of Theorem 3 allow."""
    return math.sqrt(2.0 / (4.0 + loss.known_gamma * loss.delta))


def spdc_steps(
    loss: Loss, R: float, n: float, least: float, lam: float, Delta: float, *, k: float
) -> Steps:
    """Theorem 2's parameters (SPDC), equations (9), (10), with k/R for 1/(4R).

    tau = (k/R) sqrt(gamma/(n m)),  sigma = (k/R) sqrt(n m/gamma),  m = lam + Delta
    theta_x = (1 - tau sigma Delta/(2(sigma + 4 delta)))/(1 + tau lam)
    theta_y = 1 - p s/(1 + s),  s = sigma gamma/2,  p the least probability (1/n if uniform)
    """
    tau, sigma = _randomised_steps(loss, R, n, lam + Delta, k)
    delta = loss.delta if loss.delta > 0 else 1.0 / loss.known_gamma
    s = 0.5 * sigma * loss.known_gamma
    theta_x = (1.0 - tau * sigma * Delta / (2.0 * (sigma + 4.0 * delta))) / (1.0 + tau * lam)
    proved = loss.delta > 0 or Delta == 0
    return _randomised(tau, sigma, theta_x, s, least, lam + Delta, n, proved=proved)


def df_spdc_steps(
    loss: Loss, R: float, n: float, least: float, lam: float, Delta: float, *, k: float
) -> Steps:
    """Theorem 4's parameters (DF-SPDC), equations (15), (16), with k/R for 1/(4R).

    tau as in Theorem 2,  sigma = (k/R) sqrt(gamma n m)
    theta_x = (1 - tau sigma Delta/(4 + 2 sigma))/(1 + tau lam),  theta_y with s = sigma/2
    """
    tau, sigma = _randomised_steps(loss, R, n, lam + Delta, k)
    sigma *= loss.known_gamma
    theta_x = (1.0 - tau * sigma * Delta / (4.0 + 2.0 * sigma)) / (1.0 + tau * lam)
    return _randomised(tau, sigma, theta_x, 0.5 * sigma, least, lam + Delta, n, proved=True)


def zhang_xiao_steps(loss: Loss, R: float, n: float, least: float, lam: float) -> Steps:
    """SPDC of Zhang & Xiao (2015), lam > 0, for any probabilities p.

    tau = (1/2R) sqrt(gamma/(n lam)),  sigma = (1/2R) sqrt(n lam/gamma)
    theta_x = 1/(1 + 2 tau lam),  theta_y = 1 - p s/(1 + s),  s = 2 sigma gamma,  p the least one;
    uniform: theta = theta_y = 1 - 1/(n + R sqrt(n/(lam gamma)))
    """
    tau, sigma = _randomised_steps(loss, R, n, lam, 0.5)
    s = 2.0 * sigma * loss.known_gamma
    theta = max(1.0 / (1.0 + 2.0 * tau * lam), 1.0 - least * s / (1.0 + s))
    return Steps(tau, sigma, theta, theta**n)


def _randomised_steps(loss: Loss, R: float, n: float, m: float, k: float) -> tuple[float, float]:
    """(tau, sigma); without strong convexity those of m = R^2/(gamma n): sigma = k/gamma."""
    gamma = loss.known_gamma
    m = m if m > 0 else R * R / (gamma * n)
    # R^2 m may leave float64, R and sqrt(m) do not.
    return k / R * math.sqrt(gamma / n) / math.sqrt(m), k / R * math.sqrt(n * m / gamma)


def _randomised(
    tau: float,
    sigma: float,
    theta_x: float,
    s: float,
    least: float,
    m: float,
    n: float,
    *,
    proved: bool,
) -> Steps:
    theta = max(theta_x, 1.0 - least * s / (1.0 + s)) if m > 0 else 1.0
    return Steps(tau, sigma, theta if proved else 1.0, theta**n)


def accelerate(steps: Steps, dual_convexity: float) -> Steps:
    """The next parameters without strong convexity of P; theta belongs to the step just taken.

    ``dual_convexity`` is gamma (Euclidean dual step) or 1 (dual-free: f* relative to itself).
    """
    theta = 1.0 / math.sqrt(1.0 + dual_convexity * steps.sigma)
    return Steps(steps.tau / theta, steps.sigma * theta, theta, accelerating=True)
