"""The manifest of a folder of arrays: what is in which file, and what it means.

    {"format": "dualgap folder", "format_version": 1, "rows": n, "columns": d, "rows_per_chunk": r,
     "arrays": {"A": {"file": "A.npy", "dtype": "<f8", "shape": [n, d], "sha256": "..."}, "b": ...},
     "column_names": [...], "target_name": "...", "classes": [...], "categories": {...}}

In the place of A a sparse folder has data, indices and indptr, as scipy's CSR format has them. Each
sum is that of the numbers as they lie in the file, without the header that numpy puts before them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from dualgap.datasets._errors import DataError

NAME = "manifest.json"
FORMAT, VERSION = "dualgap folder", 1
SPARSE = ("data", "indices", "indptr")
VECTORS = ("b", "weights", "offset")
KNOWN = ("A", *SPARSE, *VECTORS)
LONGEST = 1 << 30
"""Bytes of a manifest, of which names may be the most."""


@dataclass(frozen=True)
class Entry:
    """One array: the file that it is in, the form of its numbers, and their sum."""

    file: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    sha256: str

    def to_json(self) -> dict[str, Any]:
        """What a manifest says of it."""
        return {
            "file": self.file,
            "dtype": self.dtype.str,
            "shape": list(self.shape),
            "sha256": self.sha256,
        }


@dataclass(frozen=True)
class Manifest:
    """What a manifest says, once it was found to hang together."""

    rows: int
    columns: int
    rows_per_chunk: int
    arrays: dict[str, Entry]
    column_names: list[str] | None = None
    target_name: str | None = None
    classes: list[str] | None = None
    """What the codes in b stand for."""
    categories: dict[str, list[str]] = field(default_factory=dict)
    """Columns of the source that became one column for each of their values."""

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are compressed."""
        return "A" not in self.arrays

    def to_json(self) -> str:
        """The file's content."""
        arrays = {name: entry.to_json() for name, entry in self.arrays.items()}
        content = {
            "format": FORMAT,
            "format_version": VERSION,
            "rows": self.rows,
            "columns": self.columns,
            "rows_per_chunk": self.rows_per_chunk,
            "arrays": arrays,
            "column_names": self.column_names,
            "target_name": self.target_name,
            "classes": self.classes,
            "categories": self.categories,
        }
        return json.dumps(content, indent=1, allow_nan=False) + "\n"


def is_folder(path: Path) -> bool:
    """Whether there is a manifest of this format in a folder, whatever else it says."""
    try:
        return _content(path / NAME).get("format") == FORMAT
    except DataError:
        return False


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a folder; whatever does not hang together is refused."""
    path = folder / NAME
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder of arrays; `dualgap convert` makes one.")
    content = _content(path)
    if content.get("format") != FORMAT:
        raise DataError(f'{path} is no manifest: its "format" is not "{FORMAT}".')
    version = content.get("format_version")
    if version != VERSION or isinstance(version, bool):
        raise DataError(f"{path} has format_version {version!r}; this dualgap reads {VERSION}.")
    try:
        return _Reader(content).manifest()
    except _Fault as fault:
        raise DataError(f"{path}: {fault}") from None


def _content(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > LONGEST:
            raise DataError(f"{path} is longer than a manifest can be.")
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path.parent} has no {NAME}; `dualgap convert` makes one.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} is no JSON: {error}") from None
    if not isinstance(content, dict):
        raise DataError(f"{path} is no manifest: it is no JSON object.")
    return content


class _Fault(Exception):
    """What is wrong with a field."""


class _Reader:
    """The fields of a manifest, checked one by one."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content

    def manifest(self) -> Manifest:
        rows, columns = self._whole("rows"), self._whole("columns")
        arrays = self._arrays(rows, columns)
        names = self._names("column_names")
        if names is not None and len(names) != columns:
            raise _Fault(f"column_names has {len(names)} names for {columns} columns.")
        target = self.content.get("target_name")
        if target is not None and not isinstance(target, str):
            raise _Fault("target_name is no string.")
        return Manifest(
            rows=rows,
            columns=columns,
            rows_per_chunk=self._whole("rows_per_chunk"),
            arrays=arrays,
            column_names=names,
            target_name=target,
            classes=self._names("classes"),
            categories=self._categories(),
        )

    def _whole(self, name: str) -> int:
        value = self.content.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 1 << 62:
            raise _Fault(f"{name} is {_shown(value)}, and no whole number of at least 1.")
        return value

    def _names(self, name: str) -> list[str] | None:
        values = self.content.get(name)
        return None if values is None else _distinct(name, values)

    def _categories(self) -> dict[str, list[str]]:
        values = self.content.get("categories") or {}
        if not isinstance(values, dict):
            raise _Fault("categories is no JSON object.")
        return {name: _distinct(f"categories[{name!r}]", of) for name, of in values.items()}

    def _arrays(self, rows: int, columns: int) -> dict[str, Entry]:
        given = self.content.get("arrays")
        if not isinstance(given, dict):
            raise _Fault("arrays is no JSON object.")
        unknown = sorted(set(given) - set(KNOWN))
        if unknown:
            raise _Fault(f"arrays has {unknown[0]!r}, which this format does not know.")
        if ("A" in given) == any(name in given for name in SPARSE):
            raise _Fault("arrays has either A, or data, indices and indptr.")
        arrays = {name: _entry(name, given[name]) for name in KNOWN if name in given}
        shapes: dict[str, tuple[int, ...]] = {"A": (rows, columns), "indptr": (rows + 1,)}
        if "A" not in arrays:
            missing = [name for name in SPARSE if name not in arrays]
            if missing:
                raise _Fault(f"arrays has no {missing[0]}.")
            shapes |= dict.fromkeys(("data", "indices"), arrays["data"].shape[:1])
        shapes |= dict.fromkeys(VECTORS, (rows,))
        for name, entry in arrays.items():
            if entry.shape != shapes[name]:
                raise _Fault(
                    f"{name} has shape {list(entry.shape)}, and {list(shapes[name])} is expected."
                )
            wanted = "iu" if name in SPARSE[1:] else "fiub"
            if entry.dtype.kind not in wanted or entry.dtype.itemsize > 8:
                kind = "integers" if wanted == "iu" else "real numbers"
                raise _Fault(f"{name} has dtype {entry.dtype.str}; {kind} are expected.")
        return arrays


def _entry(name: str, given: Any) -> Entry:
    if not isinstance(given, dict):
        raise _Fault(f"{name} is no JSON object.")
    file, dtype, shape, total = (given.get(key) for key in ("file", "dtype", "shape", "sha256"))
    if not isinstance(file, str) or PurePath(file).name != file or "\\" in file or not file:
        raise _Fault(f"{name}: file is {_shown(file)}, and no name of a file in the folder.")
    whole = isinstance(shape, list) and all(
        isinstance(side, int) and not isinstance(side, bool) and 0 <= side < 1 << 62
        for side in shape
    )
    if not whole:
        raise _Fault(f"{name}: shape is {_shown(shape)}, and no list of whole numbers.")
    if not isinstance(total, str) or len(total) != 64:
        raise _Fault(f"{name}: sha256 is {_shown(total)}, and no sum of 64 digits.")
    try:
        kind = np.dtype(dtype if isinstance(dtype, str) else "")
    except TypeError:
        raise _Fault(f"{name}: dtype is {_shown(dtype)}, which numpy does not know.") from None
    return Entry(file, kind, tuple(shape or ()), total)


def _distinct(name: str, values: Any) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise _Fault(f"{name} is no list of strings.")
    if len(set(values)) != len(values):
        raise _Fault(f"{name} has a name twice.")
    return values


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}..."
