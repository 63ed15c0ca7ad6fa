"""Rows that tasks make, as arrays of dask: nothing is made before they are computed.

They are made from the user's own collections, which dask reads again then, and not from blocks that
a fit has kept in the workers.
"""

from __future__ import annotations

import uuid
from typing import Any

from dualgap.designs import remote
from dualgap.designs.cluster import as_they_are
from dualgap.designs.rounds import Round


def lazy_rows(round_: Round, tail: tuple[int, ...]) -> Any:
    """The array that the task of a round makes.

    Parameters
    ----------
    round_ : Round
        Which is not carried out.
    tail : tuple of int
        The shape of an entry.
    """
    import dask.array as da
    from dask.delayed import Delayed

    name = uuid.uuid4().hex
    graph, keys = round_.each(name, as_they_are)
    parts = []
    for place, key in zip(round_.places, keys, strict=True):
        rows = (f"dualgap-rows-{name}", place.part)
        graph[rows] = (remote.first_rows, key)
        shape = (place.stop - place.start, *tail)
        parts.append(da.from_delayed(Delayed(rows, graph), shape, float))
    return da.concatenate(parts)
