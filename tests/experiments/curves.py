"""Curves made by hand."""

import numpy as np

from dualgap.experiments.curves import Curve


def straight(passes: float, *, limit: float = 1000.0) -> Curve:
    """A curve that reaches 1e-6 after exactly this many passes, at a steady rate."""
    at = np.arange(0.0, limit + 1.0)
    gaps = 10.0 ** (-6.0 * at / passes) * (1.0 - 1e-12)
    return Curve(at, gaps[None], at[None] / 100.0, limit)


def seeds(*passes: float, limit: float = 1000.0) -> Curve:
    """One straight line for each seed."""
    lines = [straight(p, limit=limit) for p in passes]
    gaps = np.vstack([line.gaps for line in lines])
    return Curve(lines[0].passes, gaps, np.vstack([line.seconds for line in lines]), limit)
