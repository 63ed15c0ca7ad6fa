"""Arrays in files, of which parts are read into memory when they are wanted.

Nothing is mapped: a file that becomes shorter ends the process (SIGBUS) where a missing part of its
map is touched, and a look at the file before does not help against what comes in between. A read
that gives too little is an error that names the file. It costs one more copy, which is made while
a core's cache holds it.
"""

from __future__ import annotations

import mmap
import os
import threading
import weakref
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

Stored = np.ndarray[Any, Any]

SMALLEST_ROOM = 1 << 16
"""Bytes from which on memory for a part is kept for the next: to get it costs as much as filling
it."""
LARGEST_ROOM = 1 << 25
"""Bytes up to which it is: those of the longest chunks."""
KEPT = 16
"""Rooms of one size that are kept at most: two for each of eight threads."""


class Rooms:
    """Memory for parts of files, used again when nobody holds the part any more.

    A part is an array like any other: it may be held, or views of it, for as long as anybody likes.
    """

    def __init__(self) -> None:
        self._free: dict[int, deque[bytearray]] = {}

    def array(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Stored:
        """An array with anything in it."""
        count = int(np.prod(shape, dtype=np.int64))
        size = 1 << (count * dtype.itemsize - 1).bit_length()
        if not SMALLEST_ROOM <= size <= LARGEST_ROOM:
            return np.empty(shape, dtype)
        free = self._free.setdefault(size, deque(maxlen=KEPT))
        try:
            room = free.pop()
        except IndexError:
            room = bytearray(size)
        flat = np.frombuffer(room, dtype, count)
        weakref.finalize(flat, free.append, room).atexit = False  # views hold ``flat``
        return flat.reshape(shape)


ROOMS = Rooms()


class FileArray(NDArrayOperatorsMixin):
    """An array in C order in a file, read when it is asked for: slices of it, or all of it.

    Arithmetic and numpy's functions read all of it. Pickled, it is the path: another process opens
    the file itself.

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
        self._opened: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Without what this process has opened."""
        return {**self.__dict__, "_opened": None}

    def __repr__(self) -> str:
        """One line."""
        return f"FileArray({str(self.path)!r}, {self.dtype}, shape={self.shape})"

    def __len__(self) -> int:
        """The length of its first axis."""
        return self.shape[0]

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """The bytes of all numbers."""
        return self.size * self.dtype.itemsize

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Stored:
        """All of it."""
        if copy is False:
            raise ValueError(f"{self.path} is read into memory, which is a copy.")
        whole: Stored = self._into(np.empty(self.shape, self.dtype), 0)
        return whole if dtype is None else np.asarray(whole, dtype)

    def __array_ufunc__(self, function: np.ufunc, method: str, *given: Any, **options: Any) -> Any:
        """Of an operation on numbers, such as ``-folder.b``: on all of them, in memory."""
        read = [np.asarray(value) if isinstance(value, FileArray) else value for value in given]
        return getattr(function, method)(*read, **options)

    def __getitem__(self, at: Any) -> Stored:
        """Some consecutive entries of the first axis; for anything else all of it is read."""
        if not isinstance(at, slice) or at.step not in (None, 1):
            whole: Stored = np.asarray(self)
            return whole[at]  # type: ignore[no-any-return]
        start, stop, _ = at.indices(self.shape[0])
        rows = max(0, stop - start)
        return self._into(ROOMS.array(self.dtype, (rows, *self.shape[1:])), start)

    def _into(self, out: Stored, start: int) -> Stored:
        """Fill an array with entries of the first axis from this one on."""
        if out.size == 0:
            return out
        room = out.reshape(-1).view(np.uint8).data
        place = self.begin + start * (room.nbytes // len(out))
        handle = self.opened()
        while room.nbytes:
            try:
                read = _read_at(handle, room, place)
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(self.path)) from None
            if not read:
                raise shrunken(self.path)
            room, place = room[read:], place + read
        return out

    def opened(self) -> int:
        """The file, which stays open: whatever takes its name later is not read in its place."""
        if self._opened is None:
            handle = os.open(self.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
            with _opening:
                if self._opened is None:
                    weakref.finalize(self, os.close, handle)
                    self._opened = handle
                else:  # another thread was first
                    os.close(handle)
        return self._opened


_opening = threading.Lock()
_seeking = threading.Lock()


def _read_at(handle: int, room: memoryview, place: int) -> int:
    """Read as much as comes at once; how many bytes that were."""
    if hasattr(os, "preadv"):
        return os.preadv(handle, [room], place)
    with _seeking:
        os.lseek(handle, place, os.SEEK_SET)
        found = os.read(handle, room.nbytes)
    room[: len(found)] = found
    return len(found)


# ---- maps that somebody else has made ----


class Watched:
    """A memory map whose file cannot be found; the length of it is asked before each part.

    Parameters
    ----------
    array : array
        One whose numbers lie in a map.
    """

    def __init__(self, array: Stored) -> None:
        self.array, self.dtype, self.shape = array, array.dtype, array.shape
        base, start, _ = _owner(array)
        assert isinstance(base, mmap.mmap)
        self._map, self._end = base, start - start % mmap.ALLOCATIONGRANULARITY + len(base)

    def __reduce__(self) -> Any:
        """Pickled, it is a copy, as any array: the map belongs to this process."""
        return np.ascontiguousarray, (self.array,)

    def __len__(self) -> int:
        """The length of its first axis."""
        return len(self.array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Stored:
        """All of it."""
        return np.array(self[:], dtype=dtype)

    def __getitem__(self, at: slice) -> Stored:
        """Some consecutive entries of the first axis; the file was long enough for them."""
        if self._map.size() < self._end:
            raise shrunken("the file of a memory map")
        return self.array[at]


def is_mapped(array: Any) -> bool:
    """Whether the numbers of an array lie in a map of a file."""
    return isinstance(array, np.ndarray) and isinstance(_owner(array)[0], mmap.mmap)


def watched(array: Any) -> Any:
    """An array as it is; of one that lies in a map of a file, parts that are read from there."""
    if not is_mapped(array):
        return array
    found = _file_under(array)
    return Watched(array) if found is None else found


def read_whole(array: Any) -> Any:
    """What lies in a file, in memory; anything else as it is."""
    found = watched(array)
    return np.asarray(found) if isinstance(found, FileArray | Watched) else array


def mark_of(array: Any) -> str:
    """What tells a file from another, and from itself before it was written to: name, size, time.

    Empty for what lies in no file.
    """
    if isinstance(array, FileArray):  # the file that is read, whatever has taken its name
        path, found = array.path, os.fstat(array.opened())
    elif getattr(array, "filename", None) is not None:
        path, found = Path(array.filename), Path(array.filename).stat()
    else:
        return ""
    return f"{path}:{found.st_size}:{found.st_mtime_ns}"


def _file_under(array: Stored) -> FileArray | None:
    """The numbers of a map in its file, if that can be found and holds them as the map does."""
    _, start, root = _owner(array)
    name = getattr(root, "filename", None)
    if name is None or not array.flags.c_contiguous or array.dtype.hasobject:
        return None
    if getattr(root, "mode", "c") == "c":  # changes of such a map are not in the file
        return None
    begin = start + array.ctypes.data - root.ctypes.data
    found = FileArray(Path(name), array.dtype, array.shape, begin)
    try:
        same = _is_mapped_from(found.opened(), array.ctypes.data)
    except OSError:
        return None
    return found if same else None


def _is_mapped_from(handle: int, address: int) -> bool:
    """Whether the memory at an address is a map of this very file, and not of its predecessor.

    Linux tells; elsewhere the answer is no.
    """
    with Path("/proc/self/maps").open(encoding="utf-8") as lines:
        for line in lines:
            bounds, _, _, _, inode = line.split(maxsplit=5)[:5]
            low, high = (int(bound, 16) for bound in bounds.split("-"))
            if low <= address < high:
                return int(inode) == os.fstat(handle).st_ino
    return False


def _owner(array: Stored) -> tuple[Any, int, Any]:
    """What holds the memory, and the map of a file that it is, with its first byte in the file."""
    base: Any = array
    offset, root = 0, None
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap):
            offset, root = int(base.offset), base
        base = base.base
    if isinstance(base, memoryview):
        base = base.obj
    return base, offset, root


def shrunken(path: Any) -> ValueError:
    """What to raise where a file is shorter than it was."""
    return ValueError(
        f"{path} has become shorter than it was when it was opened. Nobody may write to data while "
        "they are read; restore the file, or convert the data again."
    )
