"""A round on a cluster as a graph of tasks.

send --> part 0, part 1, ..., part K-1 --> sums of FAN neighbours --> ... --> root
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from dualgap.designs import remote
from dualgap.designs.executors import RowArrays
from dualgap.designs.pieces import Pieces

FAN = 4
"""So many sums are added by one task, a power of two: with fewer there are more tasks, each of
which costs the scheduler a millisecond or two."""

Graph = dict[Any, Any]
Placed = Callable[[Pieces], tuple[Graph, list[Any]]]
"""A graph that gives pieces, and what they are called in it."""


class Round:
    """One round.

    Parameters
    ----------
    source, task, rows, args
        As executors take them.
    by_rows : bool
        Whether the task takes rows.
    """

    def __init__(
        self,
        source: Any,
        task: Callable[..., Any],
        rows: RowArrays,
        args: tuple[Any, ...],
        *,
        by_rows: bool,
    ) -> None:
        self.rows = rows
        self.matrix: Pieces | None = getattr(source, "pieces", None)
        columns = -1 if self.matrix is None else self.matrix.shape[1]
        self.places = [
            remote.Place(k, start, stop, columns)
            for k, (start, stop) in enumerate(pairwise(source.cuts.edges))
        ]
        converts = tuple(getattr(values, "convert", None) for values in rows)
        self.sent = remote.Sent(
            task, args, by_rows, converts, source.cuts.rows, np.geterr(), remote.versions()
        )

    def sums(self, name: str, placed: Placed) -> tuple[Graph, Any]:
        """The tasks, and the key of the sums of all partitions."""
        graph, parts = self._parts(name, placed, remote.part_sums)
        return graph, tree(graph, parts, f"dualgap-add-{name}")

    def each(self, name: str, placed: Placed) -> tuple[Graph, list[Any]]:
        """The tasks, and the keys of what each partition gives: rows and sums."""
        return self._parts(name, placed, remote.part_rows)

    def _parts(
        self, name: str, placed: Placed, work: Callable[..., Any]
    ) -> tuple[Graph, list[Any]]:
        graph: Graph = {}
        blocks: Sequence[Any] = [None] * len(self.places)
        if self.matrix is not None:
            more, blocks = placed(self.matrix)
            graph.update(more)
        vectors = [self._vector(values, graph, placed) for values in self.rows]
        send = f"dualgap-send-{name}"
        graph[send] = self.sent
        keys = [(f"dualgap-part-{name}", k) for k in range(len(self.places))]
        for k, place in enumerate(self.places):
            pieces = [vector[k] for vector in vectors]
            graph[keys[k]] = (work, blocks[k], pieces, place, send)
        return graph, list(keys)

    def _vector(self, values: Any, graph: Graph, placed: Placed) -> Sequence[Any]:
        """The pieces of a vector, by what they are called in the graph; or themselves."""
        source = getattr(values, "source", values)
        if isinstance(source, Pieces):
            more, pieces = placed(source)
            graph.update(more)
            return pieces
        return [np.asarray(source[place.start : place.stop]) for place in self.places]


def tree(graph: Graph, parts: Sequence[Any], name: str) -> Any:
    """The key of the sum of parts, added in the order of `cuts.Tree`, FAN neighbours at a time."""
    level = list(parts)
    while len(level) > 1:
        groups = [level[k : k + FAN] for k in range(0, len(level), FAN)]
        level = []
        for k, group in enumerate(groups):
            key = (name, len(groups), k) if len(group) > 1 else group[0]
            if len(group) > 1:
                graph[key] = (remote.added, *group)
            level.append(key)
    return level[0]
