"""Collections of dask: blocks of rows, of which it has to be known how large they are.

dask need not know: the rows of a data frame are counted when they are read, and the entries of
sparse blocks are nowhere written. A look at the blocks tells, which is a round.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Iterable
from itertools import accumulate, pairwise
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from dualgap.designs import remote
from dualgap.designs.blocks import BlockDesign
from dualgap.designs.cluster import OnCluster
from dualgap.designs.ledger import Ledger
from dualgap.designs.pieces import Pieces

LOGGER = logging.getLogger("dualgap")

T = TypeVar("T")

TOO_MANY = 1 << 62
"""Bytes that fit nowhere."""


def is_dask(values: Any) -> bool:
    """Whether these are data of dask; dask is not loaded to find out."""
    if "dask" not in sys.modules:
        return False
    import dask

    return not isinstance(values, type) and bool(dask.is_dask_collection(values))


class Matrix:
    """A matrix of dask, with what has to be known of its blocks.

    Parameters
    ----------
    A : dask array or data frame
    cluster : OnCluster or None
        Who works on the blocks; None: the threads of this process.
    ledger : Ledger
        That of the data, which learns how many rows there are.

    Attributes
    ----------
    edges : tuple of int
        Where rows are cut, as in `Cuts`.
    shape : tuple of int
    entries : int or None
        Of sparse blocks; None of dense ones.
    nbytes : int
    pieces : Pieces
        The blocks.
    """

    def __init__(self, A: Any, cluster: OnCluster | None, ledger: Ledger) -> None:
        self.array, self.cluster, self.ledger = one_block_wide(as_array("A", A)), cluster, ledger
        blocks, self.entries = range(self.array.numblocks[0]), None
        sizes = list(self.array.chunks[0])
        unknown = any(size != size for size in sizes)
        first = self._looked_at(blocks[:1], TOO_MANY)[0]
        if unknown or first.entries is not None:
            if unknown:
                LOGGER.info("the rows of %d blocks are counted, which takes a round", len(blocks))
            found = self._looked_at(blocks, len(blocks) * first.nbytes)
            sizes = [look.shape[0] for look in found]
            self.nbytes = sum(look.nbytes for look in found)
            if first.entries is not None:
                self.entries = sum(look.entries or 0 for look in found)
        else:
            self.nbytes = int(self.array.nbytes)
        self.kept = [k for k in blocks if sizes[k]]
        """Blocks with rows; the others are left out."""
        if len(self.kept) < len(blocks):
            LOGGER.info("%d of %d blocks have no rows", len(blocks) - len(self.kept), len(blocks))
        self.edges = (0, *accumulate(int(sizes[k]) for k in self.kept))
        self.shape = (self.edges[-1], int(self.array.shape[1]))
        if 0 in self.shape:
            raise ValueError(
                f"A is empty: shape {self.shape}. At least one row and one feature are needed."
            )
        ledger.n = self.shape[0]
        self.pieces = self._tasks("A", self.array, self.shape, self.nbytes, self.kept)

    @property
    def name(self) -> str:
        """What tells it from others."""
        return str(self.array.name)

    def block(self, part: int) -> Any:
        """One of them, brought here."""
        if self.cluster is None:
            return self.array.blocks[self.kept[part]].compute(scheduler="synchronous")
        return self.cluster.brought(self.pieces, part)

    def whole(self) -> Any:
        """All of them, brought here."""
        blocks = [remote.as_source(self.block(part), part) for part in range(len(self.kept))]
        found = [block.rows(0, block.shape[0]) for block in blocks]
        return np.concatenate(found) if self.entries is None else sp.vstack(found, format="csr")

    def vector(self, name: str, values: Any) -> Any:
        """What belongs to the rows: of dask, in pieces like theirs, or here without a cluster.

        Parameters
        ----------
        name : str
            Of the argument.
        values : dask collection, array or None
        """
        if not is_dask(values):
            return values
        array = self.aligned(name, as_array(name, values))
        if self.cluster is None:
            return np.asarray(array.compute())
        shape = (self.shape[0], *array.shape[1:])
        return self._tasks(name, array, shape, 8 * int(np.prod(shape)), self.kept)

    def of_each(self, array: Any, function: Callable[[Any, int], T]) -> list[T]:
        """What a function finds of each piece of a vector that is `aligned`, and its number."""
        if self.cluster is not None:
            pieces = self._tasks("b", array, self.shape[:1], 8 * self.shape[0], self.kept)
            return self.cluster.of_each(pieces, function)
        blocks = array.to_delayed().ravel()
        return [
            function(blocks[k].compute(scheduler="synchronous"), part)
            for part, k in enumerate(self.kept)
        ]

    def aligned(self, name: str, array: Any) -> Any:
        """An array of dask with an entry for each row, in blocks like those of the rows.

        Parameters
        ----------
        name : str
            Of the argument.
        array : dask array
        """
        n = self.shape[0]
        if array.ndim == 2:
            array = array.rechunk({1: -1})
        blocks = self.array.numblocks[0]
        if any(size != size for size in array.chunks[0]):
            if array.numblocks[0] != blocks:
                raise ValueError(
                    f"{name} has {array.numblocks[0]} blocks of unknown sizes, and A has {blocks}; "
                    f"call {name}.compute_chunk_sizes() before, or make both from one data frame."
                )
        elif array.shape[0] != n:
            raise ValueError(
                f"{name} has shape {array.shape}; expected ({n},), one entry per row of A."
            )
        else:
            sizes = [0] * blocks
            for part, k in enumerate(self.kept):
                sizes[k] = self.edges[part + 1] - self.edges[part]
            array = array.rechunk({0: tuple(sizes)})
        return array

    def _tasks(
        self, name: str, array: Any, shape: tuple[int, ...], nbytes: int, blocks: Iterable[int]
    ) -> Pieces:
        """Some blocks of an array as tasks."""
        import dask

        ready = blocks_at_hand(array)
        (array,) = dask.optimize(array)
        keys = [key[0] if isinstance(key, list) else key for key in array.__dask_keys__()]
        some = tuple(ready.get(keys[k], keys[k]) for k in blocks)
        title = f"{name} ({array.name}, {len(some)} blocks)"
        prepare = remote.as_source if name == "A" else remote.kept
        graph = dict(array.__dask_graph__())
        return Pieces(title, shape, array.dtype, graph, some, nbytes, prepare)

    def _looked_at(self, blocks: Iterable[int], nbytes: int) -> list[remote.Looked]:
        """What some blocks are; those of so many bytes in all may stay in the workers then."""
        if self.cluster is not None:
            pieces = self._tasks("A", self.array, (1, 1), nbytes, blocks)
            return self.cluster.of_each(pieces, remote.looked_at)
        import dask

        delayed = self.array.to_delayed().ravel()
        look = dask.delayed(remote.looked_at)
        return list(dask.compute(*(look(delayed[k], k) for k in blocks)))


class FileMatrix:
    """A matrix in files that all workers can read, with the attributes of `Matrix`.

    Parameters
    ----------
    blocks : BlockDesign
        Its rows, from arrays that are pickled as paths.
    name : str
        The path.
    cluster : OnCluster
    """

    def __init__(self, blocks: BlockDesign, name: str, cluster: OnCluster) -> None:
        self.name, self.cluster, self.shape = name, cluster, blocks.shape
        self.edges, self.ledger = blocks.cuts.edges, cluster.ledger
        self.ledger.n = self.shape[0]
        self.entries = blocks.nonzeros if blocks.stores_entries else None
        self.nbytes = blocks.source.nbytes
        parts = tuple(remote.part_of_files(blocks.source, *edges) for edges in pairwise(self.edges))
        self.pieces = Pieces(
            f"A ({name})", self.shape, blocks.dtype, {}, parts, self.nbytes, from_files=True
        )

    def block(self, part: int) -> Any:
        """One of the blocks, read here."""
        return self.pieces.pieces[part]

    def vector(self, name: str, values: Any) -> Any:
        """What belongs to the rows, in pieces like theirs."""
        if not hasattr(values, "path"):
            return values
        parts = tuple(remote.FilePart(values, *edges) for edges in pairwise(self.edges))
        shape, dtype = tuple(values.shape), values.dtype
        return Pieces(f"{name} ({self.name})", shape, dtype, {}, parts, 0, from_files=True)


def blocks_at_hand(array: Any) -> dict[Any, Any]:
    """Blocks that a cluster has made already, as futures, by their keys.

    They are looked for in the graph as it is given: no task is left of them once it is optimised.
    """
    if "distributed" not in sys.modules:
        return {}
    from distributed import Future

    return {key: made for key, made in array.__dask_graph__().items() if isinstance(made, Future)}


def as_array(name: str, values: Any) -> Any:
    """A collection of dask as a dask array of numbers."""
    kind = type(values)  # a delayed value says that it has every attribute
    if hasattr(kind, "to_dask_array"):
        _check_columns(name, values)
        values = values.to_dask_array()
    if not (hasattr(type(values), "chunks") and hasattr(type(values), "to_delayed")):
        raise TypeError(f"{name} is a {kind.__name__} of dask; give a dask array or data frame.")
    if values.dtype.kind not in "biuf":
        raise TypeError(
            f"{name} has dtype {values.dtype}; convert it to a numeric dtype such as float64."
        )
    return values


def as_vector(values: Any) -> Any:
    """A vector of dask, or a column of a data frame, as a dask array of any type."""
    if hasattr(type(values), "to_dask_array"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # text becomes objects, which labels may be
            values = values.to_dask_array()
    return values


def _check_columns(name: str, frame: Any) -> None:
    """Refuse columns that are no numbers, by name."""
    dtypes = frame.dtypes.items() if frame.ndim == 2 else ((frame.name, frame.dtype),)
    for column, dtype in dtypes:
        if str(dtype) == "category":
            raise TypeError(
                f"column {column!r} of {name} has categories, which are no numbers: "
                "dask.dataframe.get_dummies makes a column of each, after categorize()."
            )
        if getattr(dtype, "kind", "O") not in "biuf":
            raise TypeError(
                f"column {column!r} of {name} has dtype {dtype}; convert it to a numeric dtype "
                "such as float64, or drop it."
            )


def one_block_wide(array: Any) -> Any:
    """A matrix whose blocks have all columns."""
    if array.ndim != 2:
        hint = " Use A.reshape(-1, 1) for a single feature." if array.ndim == 1 else ""
        raise ValueError(
            f"A must have two dimensions (rows, features), got shape {array.shape}.{hint}"
        )
    if array.shape[1] != array.shape[1]:
        raise ValueError("the number of columns of A is not known; call A.compute_chunk_sizes().")
    if array.numblocks[1] > 1:
        LOGGER.info(
            "A is cut along its columns into %d blocks, which are joined", array.numblocks[1]
        )
        array = array.rechunk({1: -1})
    return array
