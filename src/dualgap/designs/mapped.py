"""Arrays in files, mapped read-only, and looked at before each part of them is read.

A file that has become shorter than its map ends the process (SIGBUS) where its missing part is
touched. Asking the file for its length before each part costs a microsecond; reading parts into
memory instead, which cannot fail like that, costs half the speed of a product.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np

Stored = np.ndarray[Any, Any]


class Mapped:
    """An array in C order in a file, mapped when it is first read.

    Pickled, it is the path: another process maps the file itself.

    Parameters
    ----------
    path : Path
    dtype : dtype
        Of its numbers.
    shape : tuple of int
    begin : int
        The byte of the file at which the numbers begin.
    """

    def __init__(
        self, path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], begin: int
    ) -> None:
        self.path, self.dtype, self.shape, self.begin = Path(path), dtype, shape, begin
        self._whole: Stored | None = None
        self._map: mmap.mmap | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Without the map."""
        return {**self.__dict__, "_whole": None, "_map": None}

    def __len__(self) -> int:
        """The length of its first axis."""
        return self.shape[0]

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """The bytes of all numbers."""
        return self.size * self.dtype.itemsize

    def whole(self) -> Stored:
        """All of it, of which nothing is read here."""
        if self._whole is None:
            with self.path.open("rb") as file:
                if os.fstat(file.fileno()).st_size < self.begin + self.nbytes:
                    raise shrunken(self.path)
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            flat = np.frombuffer(self._map, self.dtype, self.size, self.begin)
            self._whole = flat.reshape(self.shape)
        return self._whole

    def __getitem__(self, at: slice) -> Stored:
        """Some consecutive entries of the first axis; the file is long enough for them."""
        whole = self.whole()
        assert self._map is not None
        if self._map.size() < self.begin + self.nbytes:
            raise shrunken(self.path)
        return whole[at]


class Watched:
    """A memory map that somebody else has made, with the same look at its file.

    Parameters
    ----------
    array : array
        One whose numbers lie in a map.
    """

    def __init__(self, array: Stored) -> None:
        self.array, self.dtype, self.shape = array, array.dtype, array.shape
        self._map, self._end = _map_under(array)

    def __reduce__(self) -> Any:
        """Pickled, it is a copy, as any array: the map belongs to this process."""
        return np.ascontiguousarray, (self.array,)

    def __len__(self) -> int:
        """The length of its first axis."""
        return len(self.array)

    def __getitem__(self, at: slice) -> Stored:
        """Some consecutive entries of the first axis; the file is long enough for them."""
        if self._map.size() < self._end:
            raise shrunken("the file of a memory map")
        return self.array[at]


def is_mapped(array: Any) -> bool:
    """Whether the numbers of an array lie in a map of a file."""
    return isinstance(array, np.ndarray) and isinstance(_owner(array)[0], mmap.mmap)


def _owner(array: Stored) -> tuple[Any, int]:
    """What holds the memory of an array, and the byte of a file at which a map of it begins."""
    base: Any = array
    offset = 0
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap):
            offset = int(base.offset)
        base = base.base
    if isinstance(base, memoryview):
        base = base.obj
    return base, offset - offset % mmap.ALLOCATIONGRANULARITY


def _map_under(array: Stored) -> tuple[mmap.mmap, int]:
    """The map, and where it ends in its file."""
    base, start = _owner(array)
    assert isinstance(base, mmap.mmap)
    return base, start + len(base)


def shrunken(path: Any) -> ValueError:
    """What to raise where a file is shorter than it was."""
    return ValueError(
        f"{path} has become shorter than it was when it was opened. Nobody may write to data while "
        "they are read; restore the file, or convert the data again."
    )
