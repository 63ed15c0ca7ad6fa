"""Files are written wholly or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield a path beside the target to write to; it takes the target's place if all goes well.

    A target that is no regular file (a device, a pipe) is written to as it is.
    """
    target = Path(os.path.realpath(target))
    if target.exists() and not target.is_file():
        yield target
        return
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        yield part
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def replacing_for_good(target: Path) -> Iterator[Path]:
    """As `replacing`, and when it ends the new file is on the disk, should the machine stop.

    The path beside the target has one name only, so that a process that is killed while it writes
    leaves one file at most, which the next one replaces.
    """
    target = Path(os.path.realpath(target))
    part = target.with_name(f".{target.name}.part")
    try:
        yield part
        _write_through(part)
        part.replace(target)
        if os.name == "posix":  # elsewhere folders cannot be opened
            _write_through(target.parent)
    finally:
        part.unlink(missing_ok=True)


def _write_through(path: Path) -> None:
    """Wait until the disk has what was written to this file, or folder."""
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_writable(option: str, target: Path) -> None:
    """Raise unless a file of this name could be written: before the work, not after it."""
    folder = target.resolve().parent
    if target.is_dir():
        raise ValueError(f"{option}={target} is a directory; name a file in it.")
    if not folder.is_dir():
        raise ValueError(f"{option}={target}: there is no directory {folder}; make it first.")
    if not os.access(target if target.exists() else folder, os.W_OK):
        raise ValueError(f"{option}={target} cannot be written to; choose another place.")
