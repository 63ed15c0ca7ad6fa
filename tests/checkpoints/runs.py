"""Runs that keep a copy of each of their checkpoints, and what must not differ between two runs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import dualgap
from dualgap.checkpoints import files
from dualgap.trace import COLUMNS

EXACT = [name for name in COLUMNS if name != "seconds"]
"""Columns of a trace that no clock has a part in."""


def data(loss: str, layout: str = "dense", n: int = 40, d: int = 6, seed: int = 5) -> Any:
    """A small problem of which half of the entries are 0; targets as the loss wants them."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.6) * np.logspace(0.0, 0.7, d)
    z = A @ rng.standard_normal(d) + rng.standard_normal(n)
    if loss == "multinomial":
        b = np.argmax(np.column_stack((z, -z, rng.standard_normal(n))), axis=1)
    elif loss in ("poisson", "gamma"):
        b = rng.poisson(np.exp(np.clip(z, -2.0, 1.0))) + (loss == "gamma")
    else:
        b = z if loss in ("squared", "huber") else np.where(z > 0.0, 1.0, -1.0)
    return (A if layout == "dense" else sp.csr_array(A)), b, rng.uniform(0.5, 2.0, n)


@contextmanager
def every_one_kept(folder: Path) -> Iterator[list[Path]]:
    """The checkpoints that are written inside, each as a file of its own."""
    kept: list[Path] = []
    write = files.write

    def and_kept(target: Path, content: files.Content) -> None:
        write(target, content)
        kept.append(shutil.copy(target, folder / f"{len(kept)}.npz"))

    files.write = and_kept
    try:
        yield kept
    finally:
        files.write = write


def difference(one: dualgap.Result, other: dualgap.Result) -> list[str]:
    """The names of what is not the same to the last bit, or nothing."""
    arrays = {name: (getattr(one, name), getattr(other, name)) for name in ("x", "y", "intercept")}
    for name in EXACT:
        arrays[f"trace.{name}"] = getattr(one.trace, name), getattr(other.trace, name)
    bits = {n: [np.asarray(part).tobytes() for part in pair] for n, pair in arrays.items()}
    names = [name for name, (ours, theirs) in bits.items() if ours != theirs]
    for name in ("passes", "status", "algorithm", "notes"):
        if getattr(one, name) != getattr(other, name):
            names.append(name)
    if one.certificate.plain() != other.certificate.plain():
        names.append("certificate")
    if one.trace.rollbacks != other.trace.rollbacks:
        names.append("rollbacks")
    return names
