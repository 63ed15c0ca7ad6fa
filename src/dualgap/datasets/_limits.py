"""How much a small file may make of itself: compressed data, and columns without entries.

A few bytes can stand for terabytes, by compression or by a large index. What is out of all
proportion to the file is refused by a sentence that names the limit and the option that raises it.
"""

from __future__ import annotations

from dualgap import _validation as check
from dualgap.datasets._errors import DataError

ALWAYS = 1 << 26
"""Every compressed file may hold this many bytes (64 MiB), however small it is."""
EXPANSION = 100
"""A compressed file that holds more bytes than ALWAYS may hold this many times its own size; text
and numbers come to about twenty times."""
COLUMNS = 1_000_000
"""Every svmlight file may have this many columns, however few entries it has."""
COLUMNS_PER_ENTRY = 10
"""A file with more columns than COLUMNS may have this many columns for each of its entries; with
more of them, at least nine columns in ten would be empty."""


def checked_bytes(max_bytes: int | None) -> int | None:
    """The option as it was given, if it is one."""
    return None if max_bytes is None else check.integer("max_bytes", max_bytes)


def check_expansion(name: str, held: int, compressed: int, max_bytes: int | None) -> None:
    """Refuse a compressed file that holds more than it may.

    Parameters
    ----------
    name : str
        What the message calls it.
    held, compressed : int
        Bytes seen so far, after decompression and before.
    max_bytes : int or None
        The user's limit; by default one that is in proportion.
    """
    limit = max(ALWAYS, EXPANSION * compressed) if max_bytes is None else max_bytes
    if held <= limit:
        return
    why = f" ({EXPANSION} times its size)" if max_bytes is None and limit > ALWAYS else ""
    raise DataError(
        f"{name} holds more than {limit} bytes once it is decompressed, which is the limit{why}. "
        "If you trust it, raise the limit by max_bytes (--max-bytes on the command line)."
    )


def check_width(name: str, columns: int, entries: int) -> None:
    """Refuse an svmlight file whose largest index makes hardly anything but empty columns."""
    limit = max(COLUMNS, COLUMNS_PER_ENTRY * entries)
    if columns > limit:
        raise DataError(
            f"{name} has an index that makes {columns} columns for {entries} entries; the limit is "
            f"{limit}. If that is meant, say n_features={columns} (--features on the command line)."
        )
