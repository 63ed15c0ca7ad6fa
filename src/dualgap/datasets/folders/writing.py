"""Folders of arrays, written aside and moved into place when they are complete."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from dualgap.datasets._errors import DataError
from dualgap.datasets.folders.manifest import KNOWN, NAME, Entry, Manifest, is_folder

HEADER = 128
"""Bytes of the header of every file, whatever its shape is once it is known."""


@contextmanager
def making(target: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a new folder beside the target, which takes its place if all goes well.

    Whatever goes wrong, the target is as it was, and the new folder is gone. After a crash of the
    process what is left of it begins with a point and has no manifest.
    """
    target = Path(os.path.abspath(target))
    check_target(target, overwrite=overwrite)
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    part.mkdir()
    try:
        yield part
        _move(part, target)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise DataError(f"{target}: there is no space left for it.") from None
        raise
    finally:
        shutil.rmtree(part, ignore_errors=True)


def check_target(target: Path, *, overwrite: bool) -> None:
    """Refuse a place that is taken, or that cannot be written to: before the work, not after it."""
    parent = target.parent
    if not parent.is_dir():
        raise DataError(f"{target}: there is no directory {parent}; make it first.")
    if not os.access(parent, os.W_OK):
        raise DataError(f"{target}: nothing can be written to {parent}; choose another place.")
    if not os.path.lexists(target):
        return
    if not overwrite:
        raise DataError(f"{target} is there already; say overwrite=True (--overwrite) to replace.")
    if target.is_symlink() or not target.is_dir() or not is_folder(target):
        raise DataError(f"{target} is no folder of arrays, and is not replaced by one.")
    known = {NAME, *(f"{name}.npy" for name in KNOWN)}
    foreign = sorted(path.name for path in target.iterdir() if path.name not in known)
    if foreign:
        raise DataError(f"{target} holds {foreign[0]!r} as well, and is not replaced.")


def _move(part: Path, target: Path) -> None:
    """Into place; what was there is deleted only when the new folder stands."""
    _flush(part)
    if not target.exists():
        part.rename(target)
        _flush(target.parent)
        return
    old = target.with_name(f".{target.name}.{secrets.token_hex(4)}.old")
    target.rename(old)
    try:
        part.rename(target)
    except OSError:
        old.rename(target)
        raise
    _flush(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def _flush(folder: Path) -> None:
    """The names in a folder reach the disk, where the system can say so."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class ArrayFile:
    """An array of which pieces are appended; its length is known in the end.

    Parameters
    ----------
    folder : Path
    name : str
        Of the array.
    dtype : dtype
    tail : tuple of int
        The shape of an entry of its first axis.
    """

    def __init__(self, folder: Path, name: str, dtype: Any, tail: tuple[int, ...] = ()) -> None:
        self.path, self.dtype, self.tail = folder / f"{name}.npy", np.dtype(dtype), tail
        self.length = 0
        self._sum = hashlib.sha256()
        self._file = self.path.open("xb")
        self._file.write(bytes(HEADER))

    def append(self, values: Any) -> None:
        """Some more entries."""
        block = np.ascontiguousarray(values, dtype=self.dtype)
        content = block.reshape(-1).view(np.uint8).data
        self._sum.update(content)
        self._file.write(content)
        self.length += len(block)

    def reopen(self) -> np.memmap[Any, Any]:
        """All that was written, to be changed in place; `resum` must follow."""
        self._file.flush()
        shape = (self.length, *self.tail)
        return np.memmap(self.path, self.dtype, "r+", HEADER, shape)

    def resum(self) -> None:
        """The sum of what is in the file now."""
        self._file.flush()
        self._sum = sha256_of(self.path)

    def entry(self) -> Entry:
        """Complete the file."""
        shape = (self.length, *self.tail)
        self._file.seek(0)
        self._file.write(_header(self.dtype, shape))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return Entry(self.path.name, self.dtype, shape, self._sum.hexdigest())

    def close(self) -> None:
        """Without a header, as after an error."""
        self._file.close()


def sha256_of(path: Path, begin: int = HEADER) -> Any:
    """Of a file from this byte on."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        file.seek(begin)
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest


def _header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """numpy's, filled up with blanks before its end."""
    room = io.BytesIO()
    given = {"descr": dtype.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(room, given)
    text = room.getvalue()[10:].rstrip()
    content = text.ljust(HEADER - 11) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(content).to_bytes(2, "little") + content


def write_manifest(part: Path, manifest: Manifest) -> None:
    """Last of all: what has no manifest is no folder."""
    write_json(part / NAME, manifest.to_json())


def write_json(path: Path, text: str) -> None:
    """A text that is on the disk when this ends."""
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
