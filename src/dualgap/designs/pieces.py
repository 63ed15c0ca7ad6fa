"""Matrices and vectors that lie in pieces on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap.designs import remote


@dataclass(frozen=True, eq=False)
class Pieces:
    """A matrix or vector that lies in pieces, one for each partition, of which none is here.

    Parameters
    ----------
    name : str
        What tells it from others.
    shape : tuple of int
    dtype : dtype
    graph : mapping
        The tasks that make the pieces; empty if they are sent as they are.
    pieces : tuple
        The keys of the pieces in the graph; or the pieces.
    nbytes : int
    prepare : callable
        What is made of a piece, and its number, before it stays in the memory of a worker.
    from_files : bool
        Whether workers read them from files, of which nothing need stay in their memory.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    graph: Mapping[Any, Any]
    pieces: tuple[Any, ...]
    nbytes: int
    prepare: Callable[[Any, int], Any] = remote.kept
    from_files: bool = False

    def __len__(self) -> int:
        """Rows."""
        return self.shape[0]

    def __getitem__(self, at: slice) -> Any:
        """Nobody gets them here."""
        raise TypeError(
            f"{self.name} lies in {len(self.pieces)} pieces on a cluster, and its entries are used "
            "there. dask's compute() brings it here, if it fits."
        )
