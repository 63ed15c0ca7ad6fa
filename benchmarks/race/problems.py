"""The problems by name, SET/UNITS/LOSS/STRENGTH: a9a/unit/logistic/1e-2, gas/raw/enet/1e-2.

Units: raw, as the file has them, or unit, divided by the largest row norm. STRENGTH is n l2. The
elastic nets have l1 = 0.05 of the smallest l1 at which x = 0 is the answer.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from fnmatch import fnmatch

import numpy as np
import scipy.sparse as sp

import dualgap
from benchmarks.data_sets import folder, load
from benchmarks.race.tasks import Task

STRENGTHS = ("1", "1e-2", "1e-4")
NET_STRENGTH = "1e-2"
NET_RATIO = 0.05
SYNTHETIC = {"synthetic1": "squared", "synthetic2": "logistic"}
"""Made with a largest row norm of 1."""
REAL = {
    "cpusmall_scale": "squared",
    "cpuact": "squared",
    "gas": "squared",
    "qsar10012": "squared",
    "rcv1_sub": "logistic",
    "a9a": "logistic",
    "mushrooms": "logistic",
    "german.numer_scale": "logistic",
    "leukemia": "logistic",
}
ALREADY_UNIT = ("rcv1_sub",)
DENSE_FROM = 0.5
"""Density from which a data set is an array."""
QUICK = ("synthetic2/*/1e-2", "mushrooms/unit/*/1e-2", "german*/raw/logistic/1e-4", "gas/*/1e-2")


def names() -> list[str]:
    """All problems whose data are at hand."""
    sets = SYNTHETIC | (REAL if folder() else {})
    out = []
    for name, loss in sets.items():
        for units in ("unit",) if name in (*SYNTHETIC, *ALREADY_UNIT) else ("unit", "raw"):
            out += [f"{name}/{units}/{loss}/{strength}" for strength in STRENGTHS]
            out.append(f"{name}/{units}/enet/{NET_STRENGTH}")
    return out


def select(patterns: list[str] | None, strengths: list[str] | None) -> Iterator[str]:
    """The names that match one of the patterns, whole or by their set, and one of the strengths."""
    for name in names():
        parts = name.split("/")
        wanted = not patterns or any(fnmatch(name, p) or fnmatch(parts[0], p) for p in patterns)
        if wanted and (not strengths or any(float(s) == float(parts[3]) for s in strengths)):
            yield name


@functools.lru_cache(maxsize=2)
def data(name: str, units: str):
    """A and b of a set."""
    if name in SYNTHETIC:
        return getattr(dualgap.datasets, name)()
    loaded = load(name)
    if loaded is None:
        raise ValueError(f"{name}: the data folder is absent; set DUALGAP_DATA.")
    A, b = loaded
    if units == "unit":
        A = A / np.sqrt(A.multiply(A).sum(axis=1).max())
    dense = A.nnz > DENSE_FROM * A.shape[0] * A.shape[1]
    return (A.toarray() if dense else sp.csr_matrix(A)), np.asarray(b, float)


def make(name: str) -> Task:
    """The task of this name."""
    set_name, units, kind, strength = name.split("/")
    A, b = data(set_name, units)
    loss = (SYNTHETIC | REAL)[set_name]
    l1 = 0.0
    if kind == "enet":
        slope = b if loss == "squared" else b / 2  # minus the derivative of the loss at z = 0
        l1 = NET_RATIO * float(np.abs(A.T @ slope).max()) / len(b)
    return Task(name, A, b, loss, l2=float(strength) / len(b), l1=l1)
