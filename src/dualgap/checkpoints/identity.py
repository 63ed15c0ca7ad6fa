"""Whose run a checkpoint is: the problem and the options, so that no other run goes on from it.

Numbers stand in it as they are, in hexadecimal, arrays and data by their SHA-256: of the bytes as
they lie in memory, for other bytes, or the same numbers in another order, are another sum.
"""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

import numpy as np

from dualgap.checkpoints.files import checksum
from dualgap.designs import DaskDesign, Design
from dualgap.designs.contract import block_rows
from dualgap.designs.files import FileArray
from dualgap.designs.pieces import Pieces
from dualgap.problem import Problem

Said = Any
"""What JSON holds."""

PIECE = 1 << 20
"""Bytes of a file that are read at a time."""

WORDS = {
    "A": "the data A",
    "b": "the targets b",
    "x0": "the x that it begins at",
    "y0": "the y that it begins at",
    "earlier": "the run that it takes over preparations from",
}
"""What a sentence calls the parts that it does not call by the name of the argument."""


def of_problem(problem: Problem) -> dict[str, Said]:
    """Data, targets, loss, regulariser and weights; the data are read once."""
    return {
        "shape": [problem.n, problem.d],
        "loss": described(problem.loss),
        "l1": described(problem.l1),
        "l2": described(problem.l2),
        "regularizer": described(problem.given),
        "fit_intercept": problem.fit_intercept,
        "penalty_weights": described(problem.penalty_weights),
        "b": _of_rows(problem, problem.b),
        "sample_weight": _of_rows(problem, problem.sample_weight),
        "offset": _of_rows(problem, problem.offset),
        "A": of_data(problem.base),
    }


def _of_rows(problem: Problem, values: Any) -> Said:
    """What belongs to the rows; what lies on a cluster by the sums of its pieces."""
    source = getattr(values, "source", None)
    if isinstance(source, Pieces) and isinstance(problem.base, DaskDesign):
        said = {"dtype": source.dtype.str, "shape": list(source.shape)}
        return {**said, "sha256": problem.base.checksum(source)}
    return described(values)


def of_data(design: Design) -> dict[str, Said]:
    """The form of the data, and the sums of their arrays, or of their rows.

    Where there are neither, a product with random numbers stands for them.
    """
    kind = type(design).__name__
    if isinstance(design, DaskDesign):
        return {"kind": kind, "edges": list(design.cuts.edges), "sha256": design.checksum()}
    stored = design.stored(0.0)
    if stored is not None and stored.dense is not None:
        return {"kind": kind, **described(stored.dense)}
    if stored is not None:
        A = stored.sparse
        parts = {name: described(getattr(A, name)) for name in ("data", "indices", "indptr")}
        return {"kind": kind, "format": A.format, **parts}
    digest = hashlib.sha256()
    if design.offers("blocks"):
        for _, block in design.blocks(block_rows(design.shape[1])):
            digest.update(np.ascontiguousarray(block).reshape(-1).data)
    else:
        numbers = np.random.default_rng(0).standard_normal(design.shape[0])
        digest.update(np.ascontiguousarray(design.rmatvec(numbers)).reshape(-1).data)
    return {"kind": kind, "sha256": digest.hexdigest()}


def described(value: Any) -> Said:
    """A value that can be compared: by what it is made of, however deep that lies."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, np.ndarray):
        order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        return {
            "dtype": value.dtype.str,
            "shape": list(value.shape),
            "order": order,
            "sha256": checksum(value),
        }
    if isinstance(value, FileArray):
        return {
            "dtype": value.dtype.str,
            "shape": list(value.shape),
            "order": "C",
            "sha256": _sum_of_file(value),
        }
    if isinstance(value, np.generic):
        return described(value.item())
    if isinstance(value, tuple | list):
        return [described(part) for part in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    else:
        parts = dict(getattr(value, "__dict__", {}))
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    return {"type": name, **{part: described(held) for part, held in parts.items()}}


def _sum_of_file(array: FileArray) -> str:
    """As `checksum`, of numbers that are read a piece at a time."""
    digest = hashlib.sha256()
    step = max(1, PIECE * len(array) // max(1, array.nbytes))
    for start in range(0, len(array), step):
        digest.update(array[start : start + step].reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def differences(there: dict[str, Said], here: dict[str, Said]) -> list[str]:
    """What is not the same, in words; nothing if all is."""
    out = []
    for name in [*here, *(name for name in there if name not in here)]:
        one, other = there.get(name), here.get(name)
        if one != other:
            what = WORDS.get(name, name)
            if any(isinstance(said, dict) and "sha256" in said for said in (one, other)):
                is_are = "are" if what.endswith(("data A", "b", "weights")) else "is"
                out.append(f"{what} {is_are} not the same{_manner(one, other)}")
            else:
                out.append(f"{what} is {_shown(one)} there and {_shown(other)} here")
    return out


def _manner(one: Said, other: Said) -> str:
    """How two arrays differ, where that can be told without their numbers."""
    for name in ("kind", "format", "dtype", "shape", "order"):
        here, there = (said.get(name) if isinstance(said, dict) else None for said in (other, one))
        if here != there:
            return f" ({name} {_shown(there)} there, {_shown(here)} here)"
    return ""


def _shown(said: Said) -> str:
    """For people: floats in decimal, values by their class and what they are made of."""
    if isinstance(said, str) and said.lstrip("-").startswith(("0x", "inf", "nan")):
        return repr(float.fromhex(said))
    if isinstance(said, dict) and "type" in said:
        parts = (f"{k}={_shown(v)}" for k, v in said.items() if k != "type")
        return f"{said['type'].rpartition('.')[2]}({', '.join(parts)})"
    if isinstance(said, dict):
        return "an array"
    if isinstance(said, list):
        return f"({', '.join(map(_shown, said))})"
    return repr(said)
