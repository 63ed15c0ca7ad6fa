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


@contextmanager
def open_bytes(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file ("-": standard input) for reading, decompressed."""
    if str(path) == STDIN:
        with _decompressed(sys.stdin.buffer) as stream:
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
    with file, _decompressed(file) as stream:
        yield stream


@contextmanager
def _decompressed(raw: Any) -> Iterator[BinaryIO]:
    file = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw)
    head = file.peek(6)
    for magic, opener in OPENERS.items():
        if head.startswith(magic):
            with opener(file, "rb") as stream:
                yield stream
            return
    yield cast(BinaryIO, file)
