"""Where the rows of a design are cut: with the order of sums, all that decides on their last bits.

Rows are cut into partitions, which different workers may take, and these into chunks. The sums of
the chunks of a partition are added in order, those of partitions by a fixed tree. The same cuts
give the same bits, whoever carries out the work and however many they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

Sums = TypeVar("Sums", bound=tuple[Any, ...])
"""What a task adds up: arrays and numbers, in a tuple or a NamedTuple."""


class Cuts(NamedTuple):
    """The cuts of n rows.

    Parameters
    ----------
    edges : tuple of int
        0 = e_0 < e_1 < ... < e_K = n: partition k has the rows from e_k to e_(k+1).
    rows : int
        Rows of a chunk; the last one of a partition may have fewer.
    """

    edges: tuple[int, ...]
    rows: int

    @classmethod
    def whole(cls, n: int) -> Cuts:
        """No cut at all."""
        return cls((0, n), max(1, n))

    @classmethod
    def even(cls, n: int, partitions: int, rows: int) -> Cuts:
        """Partitions of as many rows each as can be."""
        edges = sorted({n * k // partitions for k in range(partitions + 1)})
        return cls(tuple(edges), rows)

    @classmethod
    def of_chunks(cls, n: int, partitions: int, rows: int) -> Cuts:
        """Partitions of whole chunks, as many in each as can be."""
        chunks = -(-n // rows)
        edges = sorted({min(n, rows * (chunks * k // partitions)) for k in range(partitions + 1)})
        return cls(tuple(edges), rows)

    @property
    def partitions(self) -> int:
        """How many there are."""
        return len(self.edges) - 1

    @property
    def any(self) -> bool:
        """Whether there is more than one chunk."""
        return len(self.edges) > 2 or self.rows < self.edges[-1]

    def bounds(self, part: int) -> tuple[int, int]:
        """The first row of a partition, and the first of the next."""
        return self.edges[part], self.edges[part + 1]

    def chunks(self, part: int) -> Iterator[slice]:
        """The chunks of a partition, in order, as slices of rows."""
        start, stop = self.bounds(part)
        for first in range(start, stop, self.rows):
            yield slice(first, min(first + self.rows, stop))

    def check(self, n: int) -> None:
        """Refuse cuts that do not fit n rows."""
        rising = all(low < high for low, high in pairwise(self.edges))
        if len(self.edges) < 2 or self.edges[0] != 0 or self.edges[-1] != n or not rising:
            raise ValueError(f"edges must rise from 0 to {n}, got {self.edges}.")
        if self.rows < 1:
            raise ValueError(f"rows={self.rows}, but a chunk has at least one row.")


def plus(one: Sums, other: Sums) -> Sums:
    """Both, component by component, in arrays of their own."""
    return _like(one, [a + b for a, b in zip(one, other, strict=True)])


def added_in_order(pieces: Iterable[Sums]) -> Sums:
    """One after the other. Arrays that a task has returned are not written to."""
    rest = iter(pieces)
    first = next(rest)
    total: list[Any] | None = None
    for piece in rest:
        if total is None:
            total = list(plus(first, piece))
            continue
        for k, term in enumerate(piece):
            into = total[k]
            if isinstance(into, np.ndarray) and into.dtype == getattr(term, "dtype", None):
                into += term
            else:
                total[k] = into + term
    return first if total is None else _like(first, total)


class Tree(Generic[Sums]):
    """Neighbours, then neighbours of these: ((0 + 1) + (2 + 3)) + (4 + 5), ...

    Sums are handed over in order, and added as soon as they have a neighbour, so that few of them
    are held: those of whole trees of different sizes.
    """

    def __init__(self) -> None:
        self._trees: list[tuple[int, Sums]] = []
        """Sizes, which fall, and sums."""

    def add(self, sums: Sums) -> None:
        """The next one."""
        size = 1
        while self._trees and self._trees[-1][0] == size:
            sums = plus(self._trees.pop()[1], sums)
            size *= 2
        self._trees.append((size, sums))

    def total(self) -> Sums:
        """The sum of all; trees that have found no neighbour are added now."""
        sums = self._trees.pop()[1]
        while self._trees:
            sums = plus(self._trees.pop()[1], sums)
        return sums


def added_by_tree(parts: Iterable[Sums]) -> Sums:
    """All, in the order of `Tree`."""
    tree: Tree[Sums] = Tree()
    for sums in parts:
        tree.add(sums)
    return tree.total()


def _like(sums: Sums, parts: list[Any]) -> Sums:
    """A tuple of the same kind."""
    return type(sums)._make(parts) if hasattr(sums, "_make") else type(sums)(parts)
