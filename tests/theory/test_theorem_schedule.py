"""schedule="theorem" runs the theorem's parameters: a certified Lam is never found too small.

The theorems use Lam only through |A dx|_Q^2 <= Lam |dx|^2, which a certified upper bound satisfies
for every dx; so nothing that happens in a run is a reason to change tau, sigma or theta.
"""

from __future__ import annotations

import numpy as np
import pytest

from dualgap import Problem
from dualgap.algorithms import AGD, BPD, DFBPD

from .reference import newton
from .runs import follow, starts
from .spectra import case


@pytest.mark.parametrize("start", ["slow x", "fast x", "fast y"])
@pytest.mark.parametrize("algorithm", [BPD, DFBPD, AGD], ids=["bpd", "df-bpd", "agd"])
def test_steps_never_change(algorithm, start):
    """Also when the iterates move along the top eigenvector, where equality holds."""
    c = case(1, kappa=2.5, conditioning=1.0, l2=0.02, weighted=True)
    x0, y0 = starts(c, newton(c.problem))[start]
    run = follow(algorithm(mu=c.mu, schedule="theorem"), c.problem, x0, y0, iterations=200)
    changed = [t for t, steps in enumerate(run.steps) if steps != run.steps[0]]
    assert not changed, f"first changed at t = {changed[0]}"


@pytest.mark.parametrize("algorithm", [BPD, DFBPD, AGD], ids=["bpd", "df-bpd", "agd"])
def test_rounding_is_not_taken_for_curvature(algorithm):
    """dz = z - z_old carries the rounding of z, here that of an offset of 1e7 times the signal."""
    rng = np.random.default_rng(1)
    A = rng.standard_normal((50, 5))
    offset = 1e7 * (1.0 + rng.random(50))
    b = offset + 1e-3 * rng.standard_normal(50)
    problem = Problem(A, b, l2=1e-3, offset=offset)
    run = follow(algorithm(schedule="theorem"), problem, iterations=1000)
    assert run.steps[-1].tau == run.steps[0].tau
