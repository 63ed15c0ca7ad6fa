"""Finished work on disk: one JSON file for each piece, written at once and whole.

A piece is known by a hash of everything it depends on: its parameters and the source of the
package. An interrupted report therefore goes on from what it has, and never mixes versions.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import dualgap

IN_A_RUN = ("contenders.py", "problems.py", "reference.py", "runs.py", "store.py")
"""Files of this folder that change what a run gives; the others choose runs or read them."""


@cache
def source_hash() -> str:
    """A hash of the package's version and of every source file that a run depends on."""
    root = Path(dualgap.__file__).parent
    here = Path(__file__).parent
    digest = hashlib.sha256(dualgap.__version__.encode())
    for path in sorted(root.rglob("*.py")):
        if path.parent == here and path.name not in IN_A_RUN:
            continue
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def key(kind: str, parameters: dict[str, Any]) -> str:
    """The name of a piece of work."""
    text = json.dumps([kind, source_hash(), parameters], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def write_text(path: Path, text: str) -> None:
    """Write a file as a whole or not at all."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def save(folder: Path, name: str, piece: dict[str, Any]) -> None:
    """Store a finished piece; float64 values come back bit for bit."""
    write_text(folder / f"{name}.json", json.dumps(piece))


def fetch(folder: Path, name: str) -> dict[str, Any] | None:
    """A stored piece, or None if there is none that can be read."""
    try:
        piece: dict[str, Any] = json.loads((folder / f"{name}.json").read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return piece
