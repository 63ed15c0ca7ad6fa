"""What saved states hold, as text: ``python -m tests.structure.state_fields`` writes it.

The version first, then a line for each type that is met in the states of all algorithms and changes
of variables, with its fields.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import dualgap
from dualgap.state import STATE_VERSION, State

FILE = Path(__file__).with_name("state_fields.txt")
COMMAND = "python -m tests.structure.state_fields"
CHANGED = ("auto", "diagonal", "whiten", "rows", "low-rank", "units", "orthonormal")


def states() -> Iterator[State]:
    """Of every algorithm, in its own variables and in others where it runs in them."""
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((20, 4)), np.sign(rng.standard_normal(20))
    run = {"max_passes": 6, "tol": 1e-14}
    for name in dualgap.algorithms.ALGORITHMS:
        for loss in ("squared", "logistic"):
            yield dualgap.solve(A, b, l2=0.1, loss=loss, algorithm=name, **run).state
    for name, rule in itertools.product(("ada-bpd", "ada-spdc"), dualgap.adaptation.RULES):
        yield dualgap.solve(A, b, l2=0.1, algorithm=name, adapt=rule, **run).state
    for name, variables in itertools.product(("ada-bpd", "newton"), CHANGED):
        yield dualgap.solve(A, b, l2=0.1, algorithm=name, precondition=variables, **run).state
    yield dualgap.solve(A, b, l1=0.01, algorithm="working-set", **run).state
    yield dualgap.solve(A, b > 0, l1=0.01, loss="multinomial", **run).state


def types_in(value: Any, found: dict[str, set[str]]) -> None:
    """Add the types of the package that a value is saved with, and the names of their fields."""
    kind = type(value)
    if isinstance(value, tuple | list):
        for part in value:
            types_in(part, found)
    if kind.__module__.split(".")[0] == "dualgap":
        saved = saved_of(value)
        found.setdefault(f"{kind.__module__}.{kind.__qualname__}", set()).update(saved)
        for part in saved.values():
            types_in(part, found)


def saved_of(value: Any) -> dict[str, Any]:
    """What an instance is saved with, without what it has computed from its fields."""
    if isinstance(value, tuple):
        return dict(value._asdict())
    saved = value.__getstate__() or {}
    parts = saved if isinstance(saved, tuple) else (saved,)  # a tuple where there are slots
    merged = {name: part for mapping in parts for name, part in (mapping or {}).items()}
    if dataclasses.is_dataclass(value):
        fields = {f.name for f in dataclasses.fields(value)}
        return {name: part for name, part in merged.items() if name in fields}
    return merged


def text() -> str:
    """The content of the file."""
    found: dict[str, set[str]] = {}
    for state in states():
        types_in(state, found)
    lines = [f"{name}: {', '.join(sorted(fields))}" for name, fields in sorted(found.items())]
    return "\n".join([f"version {STATE_VERSION}", *lines]) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
    print(f"The fields of states of version {STATE_VERSION} are written.")
