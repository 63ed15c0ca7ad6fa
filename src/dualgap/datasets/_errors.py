"""What is wrong with a file, and where."""

from __future__ import annotations


class DataError(ValueError):
    """A file that cannot be read as data; the message names the file and, if it can, the line."""


def at_line(name: str, line: int, problem: str) -> DataError:
    """The error for a problem in a line of a file."""
    return DataError(f"{name}, line {line}: {problem}")


def shown(text: bytes, most: int = 40) -> str:
    """A piece of a file, short enough and printable."""
    piece = text[:most].decode("utf-8", errors="backslashreplace")
    return repr(piece) + ("..." if len(text) > most else "")
