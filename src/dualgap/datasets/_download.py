"""One file from the network into a folder: wholly, checked, or not at all."""

from __future__ import annotations

import hashlib
import http.client
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from dualgap._files import replacing
from dualgap.datasets._errors import DataError

SILENCE = 20.0
"""Seconds to wait for the next bytes."""
PATIENCE = 600.0
"""Seconds that a download may take."""
PIECE = 1 << 16


def cache_folder() -> Path:
    """Where downloads are kept: DUALGAP_CACHE, or the platform's folder for such things."""
    given = os.environ.get("DUALGAP_CACHE")
    if given:
        return Path(given)
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "dualgap"


def download(
    url: str,
    target: Path,
    *,
    largest: int,
    checksum: str | None,
    verify: Callable[[Path], None],
    silence: float = SILENCE,
    patience: float = PATIENCE,
) -> None:
    """Fetch url to target, with its sha256 beside it; at any failure nothing is left behind.

    Parameters
    ----------
    url : str
        The address.
    target : Path
        The file to make; the checksum goes to the same name with ``.sha256`` added.
    largest : int
        Bytes that the file may have.
    checksum : str or None
        What it must hash to, ``algorithm:digest``.
    verify : callable
        Called with the complete file, under a temporary name, to raise if it is not what it
        should be.
    silence, patience : float
        Seconds to wait for the next bytes, and for all of them.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as part:
        try:
            _fetch(url, part, largest, silence, time.monotonic() + patience)
        except (OSError, http.client.HTTPException) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            if isinstance(error, urllib.error.HTTPError):
                error.close()  # it holds the connection
            raise DataError(f"{url} could not be downloaded: {reason}.") from None
        if checksum is not None:
            check_digest(part, checksum, f"what {url} sent")
        verify(part)
        # The checksum first: a file in its place always has one.
        with replacing(sidecar(target)) as note:
            note.write_text(f"sha256:{digest(part, 'sha256')}\n")


def sidecar(path: Path) -> Path:
    """The file that holds the checksum of a downloaded one."""
    return path.with_name(path.name + ".sha256")


def digest(path: Path, algorithm: str) -> str:
    """The hexadecimal digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def check_digest(path: Path, expected: str, what: str) -> None:
    """Raise unless the file hashes to ``algorithm:digest``."""
    algorithm, _, wanted = expected.strip().partition(":")
    found = digest(path, algorithm)
    if found != wanted:
        raise DataError(f"{what} has the {algorithm} {found}, not the expected {wanted}.")


def _fetch(url: str, part: Path, largest: int, silence: float, deadline: float) -> None:
    with urllib.request.urlopen(url, timeout=silence) as answer, part.open("wb") as file:
        length = answer.headers.get("Content-Length")
        announced = int(length) if length is not None and length.isdigit() else None
        size = 0
        while True:
            if max(size, announced or 0) > largest:
                raise DataError(f"{url} sends more than the {largest} bytes expected at most.")
            if time.monotonic() > deadline:
                raise TimeoutError("it took too long")
            piece = answer.read1(PIECE)
            if not piece:
                break
            file.write(piece)
            size += len(piece)
        if announced is not None and size < announced:
            raise DataError(f"{url} broke off after {size} of {announced} bytes; try again.")
