"""svmlight (LIBSVM) files: ``target index:value index:value ...``, one row per line."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from dualgap import _validation as check
from dualgap._types import Array
from dualgap.datasets._errors import DataError, at_line, shown
from dualgap.datasets._limits import check_width
from dualgap.datasets._streams import BROKEN, name_of, open_bytes

BLOCK = 1 << 20
"""Bytes read at a time; a longer line makes the block grow."""
PADDING = 4
GROWTH = 1.25
"""Arrays grow by this factor, in place: the peak stays within it of what is kept."""
POSTPONED = 1024
LARGEST_INT32 = 2**31 - 1
LARGEST_INDEX = 2**62
"""Column numbers above this, which no real data have, are refused."""


def load_svmlight(
    path: str | Path,
    *,
    n_features: int | None = None,
    zero_based: bool | None = None,
    max_bytes: int | None = None,
) -> tuple[sp.csr_array, Array, bool]:
    """Read an svmlight file; numbers are rounded as ``float()`` rounds them.

    Blank lines, comments (from ``#`` on) and ``qid:`` are skipped. Indices must ascend in a line,
    and every number must be finite.

    Parameters
    ----------
    path : str or Path
        The file, plain or compressed by gzip, bzip2 or xz; ``"-"`` is standard input.
    n_features : int, optional
        Number of columns; by default as many as the largest index asks for, if that is at most
        1 000 000 or ten times the entries.
    zero_based : bool, optional
        Whether the first column has index 0 and not 1. By default it has if the index 0 occurs.
    max_bytes : int, optional
        Bytes that a compressed file may hold; by default 64 MiB, or 100 times its own size.

    Returns
    -------
    A, b, zero_based : csr_array of shape (n, d), array of shape (n,), bool
        Indices are int32 where they fit.

    Raises
    ------
    DataError
        Naming the file and the line.
    """
    if n_features is not None and check.integer("n_features", n_features) > LARGEST_INDEX:
        raise ValueError(f"n_features must be at most {LARGEST_INDEX}; that many columns suffice.")
    if zero_based is not None:
        zero_based = check.flag("zero_based", zero_based)
    with open_bytes(path, max_bytes) as stream:
        return Reader(name_of(path), n_features, zero_based).read(stream)


class Reader:
    """The arrays that a file fills, and how far it has been read."""

    def __init__(self, name: str, n_features: int | None, zero_based: bool | None) -> None:
        from dualgap.datasets import _decimals
        from dualgap.datasets import _parsing as kernel

        self.name, self.n_features, self.zero_based = name, n_features, zero_based
        self.kernel = kernel
        self.powers = _decimals.powers_of_five()
        # The largest index that may occur.
        self.limit = LARGEST_INDEX if n_features is None else n_features - bool(zero_based)
        self.targets, self.values = np.empty(0), np.empty(0)
        self.row_ends = np.empty(0, dtype=np.int64)
        self.indices: np.ndarray[Any, Any] = np.empty(0, dtype=np.int32)
        self.postponed = np.empty((POSTPONED, 4), dtype=np.int64)
        self.state = np.zeros(kernel.STATE_SIZE, dtype=np.int64)
        self.state[kernel.LINE] = 1
        self.state[kernel.SMALLEST] = np.iinfo(np.int64).max
        self.state[kernel.LARGEST] = -1

    @property
    def line(self) -> int:
        """That is being read."""
        return int(self.state[self.kernel.LINE])

    def read(self, stream: BinaryIO) -> tuple[sp.csr_array, Array, bool]:
        """All rows."""
        self.run(stream)
        return self._matrix()

    def run(self, stream: BinaryIO) -> None:
        """Parse block by block; what follows the last newline waits for the next block."""
        block = np.empty(BLOCK + PADDING, dtype=np.uint8)
        held = 0  # bytes at the start of the block, of a line that is not complete
        while True:
            if held == block.size - PADDING:
                block.resize(2 * block.size, refcheck=False)
            got = self._fill(stream, block[held : block.size - PADDING].data)
            if not got:
                break
            self._refuse_binary(block[held : held + got])
            total = held + got
            end = block[:total].tobytes().rfind(b"\n") + 1
            self._parse(block, end)
            self.after_block()
            held = total - end
            block[:held] = block[end:total].copy()
        if held:  # the last line has no newline
            block[held] = self.kernel.NEWLINE
            self._parse(block, held + 1)
            self.after_block()

    def after_block(self) -> None:
        """For who takes rows away as soon as they are read."""

    def _fill(self, stream: BinaryIO, room: memoryview) -> int:
        try:
            return stream.readinto(room)  # type: ignore[attr-defined, no-any-return]
        except BROKEN as error:
            raise at_line(self.name, self.line, f"the data break off here: {error}.") from None

    def _refuse_binary(self, new: np.ndarray[Any, Any]) -> None:
        if not new.all():
            line = self.line + int(np.count_nonzero(new[: int(np.argmin(new))] == 10))
            raise at_line(self.name, line, "a zero byte; this is a binary file, not svmlight text.")

    def _parse(self, block: np.ndarray[Any, Any], end: int) -> None:
        """Parse the whole lines in block[:end]."""
        k, state = self.kernel, self.state
        text = block[:end].tobytes()
        self._reserve(rows=text.count(b"\n"), entries=text.count(b":"))
        state[k.POSITION] = 0
        while state[k.POSITION] < end:
            room = k.Room(self.targets, self.row_ends, self.indices, self.values, self.postponed)
            code = k.parse(block, end, self.powers, self.limit, room, state)
            if code == k.FULL and state[k.POSTPONED] == 0:  # one line has more than there is room
                self.postponed = np.empty((2 * len(self.postponed), 4), dtype=np.int64)
            self._read_postponed(block)
            if code == k.WIDE:
                self.indices = self.indices.astype(np.int64)
            elif code not in (k.END, k.FULL):
                raise self._error(code, bytes(block[int(state[k.POSITION]) : end]))

    def _reserve(self, rows: int, entries: int) -> None:
        """Make room for so many more."""
        rows += int(self.state[self.kernel.ROWS])
        entries += int(self.state[self.kernel.ENTRIES])
        if entries > LARGEST_INT32 and self.indices.dtype == np.int32:
            self.indices = self.indices.astype(np.int64)  # as wide as the row pointers must be
        for array, size in (
            (self.targets, rows),
            (self.row_ends, rows),
            (self.indices, entries),
            (self.values, entries),
        ):
            if array.size < size:
                array.resize(max(size, int(GROWTH * array.size)), refcheck=False)

    def _read_postponed(self, block: np.ndarray[Any, Any]) -> None:
        count = int(self.state[self.kernel.POSTPONED])
        for slot, start, end, line in self.postponed[:count].tolist():
            token = bytes(block[start:end])
            value = float(token)
            if not np.isfinite(value):
                raise at_line(self.name, line, f"{shown(token)} is too large for float64.")
            if slot < 0:
                self.targets[-1 - slot] = value
            else:
                self.values[slot] = value
        self.state[self.kernel.POSTPONED] = 0

    def _error(self, code: int, rest: bytes) -> DataError:
        k = self.kernel
        token = rest.split(maxsplit=1)[0]
        piece = shown(token)
        number = token.rpartition(b":")[2].lstrip(b"+-").lower()
        not_finite = number in (b"nan", b"inf", b"infinity")
        problem = {
            k.BAD_TARGET: f"the target {piece} is not a number.",
            k.BAD_INDEX: f"{piece} is not of the form index:value, with an integer index >= 0.",
            k.BAD_VALUE: f"{piece}: the value is not a number.",
            k.NOT_ASCENDING: f"{piece}: indices must ascend within a line.",
            k.TOO_LARGE: f"{piece}: the index is beyond the last of {self.n_features} columns.",
        }[code]
        if not_finite and code in (k.BAD_TARGET, k.BAD_VALUE):
            problem = f"{piece} is not finite. Drop or impute it."
        return at_line(self.name, self.line, problem)

    def width(self, rows: int, entries: int) -> tuple[int, bool]:
        """The number of columns, and whether indices start at 0, of a file with so many."""
        k, state = self.kernel, self.state
        if rows == 0:
            raise at_line(self.name, self.line, "the file ends, and there was no row of data.")
        smallest, largest = int(state[k.SMALLEST]), int(state[k.LARGEST])
        zero_based = smallest == 0 if self.zero_based is None else self.zero_based
        if smallest == 0 and not zero_based:
            raise DataError(f"{self.name} has the index 0, but indices were said to start at 1.")
        needed = largest + zero_based
        if self.n_features is not None and needed > self.n_features:
            raise DataError(
                f"{self.name} has the index {largest}, and indices start at 0: {needed} columns, "
                f"not {self.n_features}."
            )
        if self.n_features is None:
            check_width(self.name, needed, entries)
        return max(needed, 1) if self.n_features is None else self.n_features, zero_based

    def _matrix(self) -> tuple[sp.csr_array, Array, bool]:
        k, state = self.kernel, self.state
        rows, entries = int(state[k.ROWS]), int(state[k.ENTRIES])
        columns, zero_based = self.width(rows, entries)
        for array, size in (
            (self.targets, rows),
            (self.row_ends, rows),
            (self.indices, entries),
            (self.values, entries),
        ):
            array.resize(size, refcheck=False)
        if not zero_based:
            self.indices -= 1
        pointers = np.zeros(rows + 1, dtype=self.indices.dtype)
        pointers[1:] = self.row_ends
        matrix = sp.csr_array((self.values, self.indices, pointers), shape=(rows, columns))
        return matrix, self.targets, zero_based
