"""Bytes from a path or from standard input; gz, bz2 and xz are known by their first bytes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from dualgap.datasets._errors import DataError
from dualgap.datasets._limits import check_expansion, checked_bytes

OPENERS: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}

BROKEN = (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile, OSError)
"""What a truncated or corrupt compressed stream raises while it is read."""

STDIN = "-"


def name_of(path: str | Path) -> str:
    """What messages call it."""
    return "standard input" if str(path) == STDIN else str(path)


class _Counted(io.RawIOBase):
    """A file whose bytes are counted as they are read."""

    def __init__(self, source: BinaryIO) -> None:
        self.source, self.count = source, 0

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        # One read at a time: what came before the end of a truncated file is not lost.
        got = int(self.source.readinto1(room))  # type: ignore[attr-defined]
        self.count += got
        return got


class _Bounded(_Counted):
    """What a compressed file holds, up to the limit."""

    def __init__(
        self, source: BinaryIO, compressed: _Counted, name: str, max_bytes: int | None
    ) -> None:
        super().__init__(source)
        self.compressed, self.name, self.max_bytes = compressed, name, max_bytes

    def readinto(self, room: Any) -> int:
        got = super().readinto(room)
        check_expansion(self.name, self.count, self.compressed.count, self.max_bytes)
        return got


@contextmanager
def open_bytes(path: str | Path, max_bytes: int | None = None) -> Iterator[BinaryIO]:
    """Open a file ("-": standard input) for reading, decompressed.

    ``max_bytes`` bounds what comes out of a compressed one; see `_limits`.
    """
    name, max_bytes = name_of(path), checked_bytes(max_bytes)
    if str(path) == STDIN:
        with _decompressed(sys.stdin.buffer, name, max_bytes) as stream:
            yield stream
        return
    if Path(path).is_dir():
        raise DataError(f"{path} is a directory; name a file in it.")
    try:
        file = open(path, "rb")
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be opened: {error.strerror or error}.") from None
    with file, _decompressed(file, name, max_bytes) as stream:
        yield stream


@contextmanager
def _decompressed(raw: Any, name: str, max_bytes: int | None) -> Iterator[BinaryIO]:
    file = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw)
    head = file.peek(6)
    for magic, opener in OPENERS.items():
        if head.startswith(magic):
            counted = _Counted(cast(BinaryIO, file))
            with opener(io.BufferedReader(counted), "rb") as inner:
                yield cast(BinaryIO, io.BufferedReader(_Bounded(inner, counted, name, max_bytes)))
            return
    yield cast(BinaryIO, file)
