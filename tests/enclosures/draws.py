"""Rows to try the enclosures of scalar losses on: predictions, dual points and targets, seeded."""

from __future__ import annotations

import numpy as np

from dualgap import losses
from tests.reliability.from_examples import load

LOSSES = [
    losses.Squared(),
    losses.Huber(),
    losses.Huber(threshold=1e-3),
    losses.SmoothedHinge(),
    losses.SmoothedHinge(width=0.3),
    losses.SquaredHinge(),
    losses.Logistic(),
    losses.StrongLogistic(),
    losses.StrongLogistic(strength=1e-6),
    losses.Poisson(),
    losses.Gamma(),
]
FAMILIES = ("poisson", "gamma", "counts")
EXAMPLES = [
    load("poisson_loss").Counts(),
    load("quantile_loss").SmoothQuantile(),
    load("quantile_loss").SmoothQuantile(q=0.9, h=1e-3),
]


def targets(loss, rng, n):
    if isinstance(loss, losses.MarginLoss):
        return rng.choice([-1.0, 1.0], n)
    if loss.name in ("poisson", "counts"):
        return np.where(rng.random(n) < 0.2, 0.0, np.rint(10.0 ** rng.uniform(0.0, 6.0, n)))
    if loss.name == "gamma":
        return 10.0 ** rng.uniform(-3.0, 3.0, n)
    return rng.normal(0.0, 1.0, n)


def extreme_targets(loss, rng, n):
    if isinstance(loss, losses.MarginLoss):
        return rng.choice([-1.0, 1.0], n)
    size = 10.0 ** rng.uniform(-280.0, 280.0 if loss.name in FAMILIES else 150.0, n)
    return size if loss.name in FAMILIES else size * rng.choice([-1.0, 1.0], n)


def predictions(loss, rng, b, n):
    """Some of size 1, some far out, some beyond what exponentials of floats can be."""
    kind = rng.integers(0, 5, n)
    z = rng.normal(0.0, 3.0, n)
    z = np.where(kind == 1, rng.normal(0.0, 60.0, n), z)
    z = np.where(kind == 2, rng.uniform(-700.0, 700.0, n), z)
    z = np.where(kind == 3, rng.uniform(600.0, 900.0, n) * rng.choice([-1.0, 1.0], n), z)
    if loss.name in FAMILIES:
        return np.where(kind == 4, np.log(np.maximum(b, 1e-3)) + rng.normal(0.0, 1e-3, n), z)
    return np.where(kind == 4, b + rng.normal(0.0, 1e-3, n), z)


def dual_points(loss, rng, z, b):
    """phi'(z), points near it and far from it, the ends of the domain, 0 and tiny ones."""
    n = z.size
    with np.errstate(all="ignore"):
        y = np.clip(loss.grad(z, b), -1e290, 1e290)
    kind = rng.integers(0, 7, n)
    y = np.where(kind == 1, y * (1.0 + 10.0 ** rng.uniform(-15.0, -1.0, n)), y)
    y = np.where(kind == 2, y * rng.random(n), y)
    y = np.where(kind == 3, 0.0, y)
    low, high = loss.domain(b)
    y = np.where((kind == 4) & np.isfinite(low), low, y)
    y = np.where((kind == 5) & np.isfinite(high), high, y)
    share = 10.0 ** rng.uniform(-300.0, 0.0, n)
    inner = np.where(np.isfinite(low), low, -1.0) * share
    y = np.where(kind == 6, np.where(inner == 0.0, np.minimum(high, 1.0) * share, inner), y)
    return np.clip(y, low, high)


def ends(rng, z):
    """Points, intervals of roundings, and wide ones."""
    kind = rng.integers(0, 3, z.size)
    half = np.where(kind == 1, np.abs(z) * 10.0 ** rng.uniform(-16.0, -9.0, z.size), 0.0)
    half = np.where(kind == 2, 10.0 ** rng.uniform(-6.0, 2.0, z.size), half)
    return z - half, z + half * rng.random(z.size)
