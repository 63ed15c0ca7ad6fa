"""Values to a tree of JSON and named arrays, and back: the same bits in the same types and layouts.

Known are None, bools, integers, strings and floats (in hexadecimal), numpy's scalars and arrays,
tuples and lists, dataclasses and named tuples, and plain objects of this package, which are what
their attributes are. What stands in two places is written once, and is one object again. Anything
else is refused, and nothing is ever pickled or executed.

A design is the data, and never written: the run that goes on has it.
"""

from __future__ import annotations

import dataclasses
import sys
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from dualgap.designs import Design

PACKAGE = "dualgap"
Tree = Any
"""What JSON holds."""
Values = np.ndarray[Any, Any]
NUMBERS = "fiub"
"""The kinds of dtype that arrays and scalars may have: floats, integers and bools."""


class Encoder:
    """Values to trees, which share what they have in common, and to one set of arrays.

    Parameters
    ----------
    homes : set of str
        Packages beside this one whose dataclasses may be written: those of an algorithm or a
        preconditioner that is the user's own.

    Attributes
    ----------
    arrays : dict
        What the trees refer to, by the place where it was met first.
    """

    def __init__(self, homes: set[str]) -> None:
        self.homes = homes
        self.arrays: dict[str, Values] = {}
        self._known: dict[int, Tree] = {}
        self._kept: list[Any] = []  # or an address might be used again

    def tree(self, value: Any, place: str) -> Tree:
        """The tree of a value that stands at this place."""
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return {"float": value.hex()}
        if isinstance(value, np.generic) and value.dtype.kind in NUMBERS and value.itemsize <= 8:
            return {"scalar": value.dtype.name, "value": self.tree(value.item(), place)}
        if kind in (tuple, list):
            parts = [self.tree(part, f"{place}.{k}") for k, part in enumerate(value)]
            return {kind.__name__: parts}
        if isinstance(value, Design):
            return {"design": kind.__name__, "shape": list(value.shape)}
        if id(value) not in self._known:
            self._kept.append(value)
            if isinstance(value, np.ndarray):
                self._known[id(value)] = self._array(value, place)
            else:
                written = self._object(value, place)
                self._known[id(value)] = {"again": len(self._known)}
                return {**written, "number": len(self._known) - 1}
        return self._known[id(value)]

    def _array(self, value: Values, place: str) -> Tree:
        if value.dtype.kind not in NUMBERS:
            raise _unknown(value, place)
        self.arrays[place] = np.asarray(value)
        if value.strides == _usual_strides(value):
            return {"array": place}
        return {"array": place, "strides": list(value.strides)}

    def _object(self, value: Any, place: str) -> Tree:
        kind = type(value)
        parts = _parts(value)
        if parts is None or not is_home(kind.__module__, self.homes):
            raise _unknown(value, place)
        fields = {name: self.tree(part, f"{place}.{name}") for name, part in parts.items()}
        return {"object": f"{kind.__module__}:{kind.__qualname__}", "fields": fields}


class Decoder:
    """Trees and arrays to values.

    Parameters
    ----------
    arrays : dict
        What the trees refer to.
    homes : set of str
        As in `Encoder`.
    """

    def __init__(self, arrays: dict[str, Values], homes: set[str]) -> None:
        self.arrays, self.homes = arrays, homes
        self.design: Design | None = None
        """The data, in the variables of the run; known once its change of variables is read."""
        self._known: dict[int | str, Any] = {}

    def value(self, tree: Tree) -> Any:
        """The value of a tree; a ValueError, KeyError or TypeError says that it is none."""
        if not isinstance(tree, dict):
            return tree
        if "float" in tree:
            return float.fromhex(tree["float"])
        if "scalar" in tree:
            return np.dtype(tree["scalar"]).type(self.value(tree["value"]))
        for kind in (tuple, list):
            if kind.__name__ in tree:
                return kind(self.value(part) for part in tree[kind.__name__])
        if "design" in tree:
            return self._design(tree)
        if "array" in tree:
            return self._array(tree)
        if "again" in tree:
            return self._known[tree["again"]]
        made = self._object(tree)
        self._known[tree["number"]] = made
        return made

    def _design(self, tree: Tree) -> Design:
        design = self.design
        same = design is not None and type(design).__name__ == tree["design"]
        if design is None or not same or list(design.shape) != tree["shape"]:
            raise ValueError(f"it was made with a {tree['design']} of shape {tree['shape']}.")
        return design

    def _array(self, tree: Tree) -> Values:
        name = tree["array"]
        if name not in self._known:
            plain = self.arrays[name]
            strides = tree.get("strides")
            self._known[name] = plain if strides is None else _with_strides(plain, strides)
        made: Values = self._known[name]
        return made

    def _object(self, tree: Tree) -> Any:
        kind = self._kind(tree["object"])
        fields = {name: self.value(part) for name, part in tree["fields"].items()}
        if _is_named_tuple(kind):
            return kind(**fields)
        made = object.__new__(kind)
        if dataclasses.is_dataclass(kind):
            expected = {field.name for field in dataclasses.fields(kind)}
            if expected != fields.keys():
                names = ", ".join(sorted(expected))
                raise ValueError(f"a {tree['object']} is made of {names}.")
        for name, part in fields.items():
            object.__setattr__(made, name, part)
        return made

    def _kind(self, written: str) -> Any:
        """The class of this name, in this package or in that of the caller's own algorithm."""
        module, _, name = written.partition(":")
        if not is_home(module, self.homes):
            raise ValueError(f"{written} is no class that a run of this algorithm has.")
        found: Any = sys.modules[module]  # nothing is imported because a file says so
        for part in name.split("."):
            found = getattr(found, part)
        if not isinstance(found, type) or found.__module__ != module or not _may_be_made(found):
            raise ValueError(f"{written} is no class of values.")
        return found


def is_home(module: str, homes: set[str]) -> bool:
    """Whether values of classes of this module may be written and read."""
    return module.partition(".")[0] in {PACKAGE, *homes}


def _may_be_made(kind: type) -> bool:
    ours = is_home(kind.__module__, set()) and not issubclass(kind, Enum)
    return ours or dataclasses.is_dataclass(kind) or _is_named_tuple(kind)


def _is_named_tuple(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def _parts(value: Any) -> dict[str, Any] | None:
    """What it is made of, without what it has computed from that; None if nobody knows."""
    kind = type(value)
    if not _may_be_made(kind) or isinstance(value, type):
        return None
    if _is_named_tuple(kind):
        return dict(value._asdict())
    if dataclasses.is_dataclass(kind):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(kind)}
    if not hasattr(value, "__dict__"):
        return None
    computed = {n for base in kind.__mro__ for n, m in vars(base).items() if _is_computed(m)}
    return {name: part for name, part in vars(value).items() if name not in computed}


def _is_computed(member: Any) -> bool:
    return isinstance(member, cached_property)


def _unknown(value: Any, place: str) -> TypeError:
    kind = type(value)
    what = f"a {kind.__name__} of {kind.__module__}"
    if isinstance(value, np.ndarray):
        what = f"an array of dtype {value.dtype}"
    return TypeError(
        f"{place} of this run is {what}, which a checkpoint cannot hold. It holds numbers, "
        "strings, arrays of numbers, tuples, and the dataclasses of the algorithm."
    )


# ---- layouts: the last bits of products with an array depend on how it lies in memory ----


def _usual_strides(value: Values) -> tuple[int, ...]:
    """Those that `write_array` and its reader give an array of this shape and order."""
    by_columns = value.flags.f_contiguous and not value.flags.c_contiguous
    sizes = value.shape if by_columns else value.shape[::-1]
    steps = np.cumprod([value.itemsize, *sizes])[:-1].tolist()
    return tuple(steps if by_columns else steps[::-1])


def _with_strides(plain: Values, strides: list[int]) -> Values:
    """The same numbers, so far apart in memory."""
    reach = [step * (side - 1) for step, side in zip(strides, plain.shape, strict=True) if side]
    before = -sum(step for step in reach if step < 0)
    length = before + sum(step for step in reach if step > 0) + plain.itemsize
    room = np.zeros(-(-length // plain.itemsize), plain.dtype)
    laid = np.ndarray(plain.shape, plain.dtype, room, before, strides)
    laid[...] = plain
    return laid
