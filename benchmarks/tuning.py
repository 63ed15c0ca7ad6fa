"""What halving and doubling each tuning value of the second-order algorithms costs.

usage: python -m benchmarks tuning [GROUP.FIELD ...]

The fields of `dualgap.algorithms.second_order.tuning`, such as SETS.enough; without names all of
them. Made data: six losses, on dense, sparse and wide rows, with l1 and with l2, weak and strong.
Printed are passes over those with the value as it is: their geometric mean, the best and the worst
problem, and how many problems take other passes. Set-ups, which find the same constants of the
data in every run, and work on small matrices are not counted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

import dualgap
from dualgap.algorithms.second_order import tuning

LOSSES = ("squared", "logistic", "huber", "squared_hinge", "poisson", "multinomial")
GROUPS = ("DAMPING", "SYSTEMS", "SETS", "GRAMS", "CLASSES")
FACTORS = (0.5, 2.0)


def data(kind: str) -> Any:
    """Rows with columns that are alike, few entries, or more columns than rows."""
    rng = np.random.default_rng(0)
    if kind == "sparse":
        return sp.random_array((1500, 600), density=0.02, rng=rng, format="csr")
    n, d = (400, 60) if kind == "dense" else (120, 500)
    common = rng.standard_normal((n, 1))
    return (rng.standard_normal((n, d)) + common) * np.logspace(0.0, -1.0, d)


def problems() -> Iterator[tuple[str, dualgap.Problem]]:
    """The problems by name, with strengths as shares of those at which x is 0 or nearly so."""
    for kind in ("dense", "sparse", "wide"):
        A = data(kind)
        rng = np.random.default_rng(1)
        n, d = A.shape
        x = np.where(rng.random(d) < 0.1, rng.standard_normal(d), 0.0)
        z = A @ x
        z = z / z.std() + 0.5 * rng.standard_normal(n)
        for loss in LOSSES:
            b = {"squared": z, "huber": z, "poisson": np.round(np.exp(np.minimum(z, 3.0)))}.get(
                loss, np.sign(z)
            )
            if loss == "multinomial":
                b = np.digitize(z, [-0.5, 0.5])
            slope = float(np.abs(A.T @ (z - z.mean())).max()) / n
            for part, share in (("l1", 0.3), ("l1", 0.02), ("l2", 1.0), ("l2", 1e-3)):
                strength = {part: share * slope}
                problem = dualgap.Problem(A, b, loss=loss, fit_intercept=True, **strength)
                yield f"{kind}/{loss}/{part}={share:g}", problem


def passes(known: list[tuple[str, dualgap.Problem]]) -> np.ndarray[Any, Any]:
    """The passes of each; nan where it does not converge."""
    results = [problem.solve(max_passes=1e4) for _, problem in known]
    return np.array([r.passes if r.status.converged else np.nan for r in results])


def changed(group: str, name: str, factor: float) -> tuple[float, float] | None:
    """The value and the other one, which takes its place; None if it makes no other."""
    values = getattr(tuning, group)
    value = getattr(values, name)
    other = type(value)(value * factor)
    if other == value:
        return None
    setattr(tuning, group, replace(values, **{name: other}))
    return value, other


def main() -> None:
    known = list(problems())
    plain = passes(known)
    print(f"{len(known)} problems, {np.isnan(plain).sum()} of them do not converge")
    print("value                              is      other    mean   best  worst  changed")
    for group in GROUPS:
        values = getattr(tuning, group)
        for name in (field.name for field in fields(values)):
            if sys.argv[1:] and f"{group}.{name}" not in sys.argv[1:]:
                continue
            for factor in FACTORS:
                pair = changed(group, name, factor)
                if pair is None:
                    continue
                ratio = passes(known) / plain
                setattr(tuning, group, values)
                mean = float(np.exp(np.nanmean(np.log(ratio))))
                label = f"{group}.{name}"
                print(
                    f"{label:28} {pair[0]:8.3g}   {pair[1]:8.3g}  {mean:6.3f} "
                    f"{np.nanmin(ratio):6.2f} {np.nanmax(ratio):6.2f}   {np.sum(ratio != 1.0):3d}"
                    + (f"  {np.isnan(ratio).sum()} lost" if np.isnan(ratio).any() else "")
                )


if __name__ == "__main__":
    main()
