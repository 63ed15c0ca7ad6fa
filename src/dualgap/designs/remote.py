"""What is done in the workers of a cluster: one partition at a time, as it would be done here.

A worker keeps nothing from one round to the next. It gets a block of rows and the pieces of vectors
that belong to it, makes the sums of its chunks in order, and hands them on.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from dualgap.designs.alone import RowsAlone
from dualgap.designs.blocks import BlockDesign
from dualgap.designs.chunks import Chunk
from dualgap.designs.cuts import Cuts, added_by_tree
from dualgap.designs.executors import Filled, RowArrays, filling, sums_of
from dualgap.designs.sources import DenseSource, RowSource, SparseSource
from dualgap.designs.threads import one_blas_thread

Versions = tuple[tuple[str, str], ...]
"""Names of packages, and which of them are there."""


@cache
def versions() -> Versions:
    """What decides on the last bits of sums, and on what tasks mean."""
    import scipy

    return (
        ("python", ".".join(platform.python_version_tuple()[:2])),
        ("dualgap", metadata.version("dualgap")),
        ("numpy", np.__version__),
        ("scipy", scipy.__version__),
    )


class OtherVersions(RuntimeError):
    """A worker has other packages than the process that sends it tasks."""


@dataclass(frozen=True, eq=False)
class Sent:
    """What all partitions get in a round: a task, and its arguments."""

    task: Callable[..., Any]
    args: tuple[Any, ...]
    by_rows: bool
    """Whether it is one for `map_rows`."""
    converts: tuple[Any, ...]
    """What is made of the rows of each vector; None: nothing."""
    rows: int
    """Of a chunk."""
    errors: Any
    """What numpy does about overflows, as in the process that sends."""
    versions: Versions


@dataclass(frozen=True)
class Place:
    """Which partition it is, of how many columns, and which rows."""

    part: int
    start: int
    stop: int
    columns: int
    """-1 where the task takes no columns."""


class Shifted:
    """A piece of a vector, which knows its rows by their places in the whole.

    Parameters
    ----------
    values : array
    start : int
        The row of its first entry.
    """

    def __init__(self, values: Any, start: int, convert: Any) -> None:
        self.values, self.start, self.convert = values, start, convert

    def __getitem__(self, at: slice) -> Any:
        """Some of them, as float64 arrays of their own."""
        here = self.values[at.start - self.start : at.stop - self.start]
        found = np.array(here, dtype=np.float64)
        return found if self.convert is None else self.convert(found)


class Block:
    """A partition as a source of its own, for `filling` and `sums_of`.

    Parameters
    ----------
    rows : RowSource
    place : Place
    cuts : Cuts
        The rows of the partition by their places in the whole.
    """

    def __init__(self, rows: RowSource, place: Place, cuts: Cuts) -> None:
        self.cuts, self._place = cuts, place
        self._design = BlockDesign.over(rows, rows_per_chunk=cuts.rows)
        n = place.stop - place.start
        self._design = self._design.arranged(cuts=Cuts((0, n), cuts.rows))

    def chunks(self, part: int) -> Iterator[Chunk]:
        """Those of the partition."""
        start = self._place.start
        for at, design in self._design.chunks(0):
            yield Chunk(slice(at.start + start, at.stop + start), design)


def part_sums(block: Any, vectors: Sequence[Any], place: Place, sent: Sent) -> Any:
    """The sums of one partition."""
    return _done(block, vectors, place, sent)[1]


def part_rows(block: Any, vectors: Sequence[Any], place: Place, sent: Sent) -> Any:
    """The rows that it makes, and its sums."""
    return _done(block, vectors, place, sent)


def _done(block: Any, vectors: Sequence[Any], place: Place, sent: Sent) -> tuple[RowArrays, Any]:
    check_versions(sent.versions)
    cuts = Cuts((place.start, place.stop), sent.rows)
    alone = place.columns < 0
    source: Any = RowsAlone(cuts.edges)
    if not alone:
        source = Block(row_source(block, place), place, cuts)
    quiet = np.errstate(**sent.errors)
    with one_blas_thread(), quiet, _named(place) if alone else nullcontext():
        if not sent.by_rows:
            return (), packed(sums_of(source, 0, sent.task, sent.args))
        rows: Any = tuple(
            Shifted(_piece(values, place), place.start, convert)
            for values, convert in zip(vectors, sent.converts, strict=True)
        )
        out = Filled(place.start, place.stop)
        sums = filling(source, 0, sent.task, rows, sent.args, out)
        return () if out.arrays is None else out.arrays, packed(sums)


@contextmanager
def _named(place: Place) -> Iterator[None]:
    """What is said of a vector is said of a block."""
    try:
        yield
    except ValueError as wrong:
        raise ValueError(f"block {place.part}: {wrong}") from None


def first_rows(found: tuple[RowArrays, Any]) -> Any:
    """Of what `part_rows` has made, the first array."""
    return found[0][0]


def check_versions(theirs: Versions) -> None:
    """Refuse to work for a process with other packages."""
    other = [
        f"{name} {here} and not {there}"
        for (name, here), (_, there) in zip(versions(), theirs, strict=True)
        if here != there
    ]
    if other:
        raise OtherVersions(
            f"the worker {here_at()} has {', '.join(other)}. Sums that are made by different "
            "versions may differ; install the same ones everywhere."
        )


def here_at() -> str:
    """The address of this worker, for messages."""
    from distributed import get_worker

    try:
        return str(get_worker().address)
    except ValueError:
        return platform.node()


def kept(values: Any, part: int) -> Any:
    """A piece as it is, under a name of ours."""
    return values


def added(*sums: Any) -> Any:
    """Those of some partitions, one after the other, by the tree."""
    return added_by_tree(sums)


# ---- blocks ----


def row_source(block: Any, place: Place) -> RowSource:
    """A block, which has to be the one that was promised."""
    found: RowSource = as_source(block, place.part)
    promised = (place.stop - place.start, place.columns)
    if found.shape != promised:
        raise ValueError(
            f"block {place.part} of A has shape {found.shape}, and {promised} was promised: all "
            "blocks need the same columns, and as many rows as their chunks say."
        )
    return found


def as_source(block: Any, part: int) -> Any:
    """What gives rows of it: an array, a scipy matrix, a part of files."""
    if isinstance(block, DenseSource | SparseSource):
        return block
    if sp.issparse(block):
        given: Any = block
        rows = given.tocsr()
        return SparseSource(rows.data, rows.indices, rows.indptr, rows.shape)
    if hasattr(block, "to_numpy"):
        block = block.to_numpy()
    values = np.asarray(block)
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise TypeError(
            f"block {part} of A has {values.ndim} dimensions and dtype {values.dtype}; two "
            "dimensions and a numeric dtype such as float64 are needed."
        )
    return DenseSource(values)


class FilePart:
    """Some entries of an array in a file, which the worker reads itself.

    Parameters
    ----------
    values : FileArray
        Which is pickled as a path.
    start, stop : int
        Entries of its first axis.
    """

    def __init__(self, values: Any, start: int, stop: int) -> None:
        self.values, self.start, self.dtype = values, start, values.dtype
        self.shape = (stop - start, *values.shape[1:])

    def __len__(self) -> int:
        """Entries."""
        return int(self.shape[0])

    def __getitem__(self, at: slice) -> Any:
        """Some of them."""
        return self.values[self.start + at.start : self.start + at.stop]


def part_of_files(source: Any, start: int, stop: int) -> RowSource:
    """Some rows of a source on files."""
    if isinstance(source, DenseSource):
        rows: Any = FilePart(source.A, start, stop)
        return DenseSource(rows)
    pointers: Any = FilePart(source.indptr, start, stop + 1)
    return SparseSource(source.data, source.indices, pointers, (stop - start, source.shape[1]))


def _piece(values: Any, place: Place) -> Any:
    """A piece of a vector, which has to have as many entries as the block has rows."""
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    rows = place.stop - place.start
    if values.shape[0] != rows:
        raise ValueError(
            f"block {place.part} of A has {rows} rows, and there are {values.shape[0]} entries of "
            "a vector beside it: targets, weights and offsets need the chunks of A."
        )
    return values


class Looked(NamedTuple):
    """What a block is."""

    shape: tuple[int, int]
    entries: int | None
    """Of a sparse one; else None."""
    nbytes: int


def looked_at(block: Any, part: int) -> Looked:
    """What a block is, whatever was promised."""
    rows = as_source(block, part)
    return Looked(
        rows.shape, rows.nonzeros if isinstance(rows, SparseSource) else None, rows.nbytes
    )


def checksum_of(piece: Any, part: int) -> str:
    """SHA-256 of a block of rows, or of a piece of a vector."""
    if hasattr(piece, "to_numpy"):
        piece = piece.to_numpy()
    arrays: tuple[Any, ...] = (piece,)
    if isinstance(piece, FilePart):
        arrays = (piece[0 : len(piece)],)
    elif isinstance(piece, DenseSource | SparseSource) or sp.issparse(piece):
        rows = as_source(piece, part)
        whole: Any = rows.rows(0, rows.shape[0])
        is_sparse = isinstance(rows, SparseSource)
        arrays = (whole.data, whole.indices, whole.indptr) if is_sparse else (whole,)
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def together(*found: Any) -> list[Any]:
    """What was found of each block."""
    return list(found)


# ---- symmetric matrices travel as triangles ----


class Triangle:
    """The lower triangle of a symmetric matrix, one row after the other; triangles are added.

    Parameters
    ----------
    values : array of shape (side (side + 1)/2,)
    """

    __slots__ = ("values",)

    def __init__(self, values: Any) -> None:
        self.values = values

    @classmethod
    def of(cls, matrix: Any) -> Triangle:
        """That of a matrix."""
        return cls(matrix[np.tri(len(matrix), dtype=bool)])

    def __add__(self, other: Triangle) -> Triangle:
        """Both."""
        return Triangle(self.values + other.values)

    def matrix(self) -> Any:
        """A matrix that has it, and zeros above."""
        side = int((np.sqrt(8.0 * self.values.size + 1.0) - 1.0) / 2.0 + 0.5)
        out = np.zeros((side, side))
        out[np.tri(side, dtype=bool)] = self.values
        return out


def packed(sums: Any) -> Any:
    """Sums in the form in which they travel."""
    return _each(sums, lambda M: Triangle.of(M) if getattr(M, "ndim", 0) == 2 else M)


def unpacked(sums: Any) -> Any:
    """Sums as a task has made them; of triangles the lower half."""
    return _each(sums, lambda T: T.matrix() if isinstance(T, Triangle) else T)


def _each(sums: Any, change: Callable[[Any], Any]) -> Any:
    """The symmetric ones of a tuple, which names them, changed."""
    names: tuple[str, ...] = getattr(type(sums), "triangles", tuple)()
    return sums._replace(**{name: change(getattr(sums, name)) for name in names}) if names else sums
