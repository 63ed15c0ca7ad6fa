"""Archives of named arrays that execute nothing: what numpy reads as an npz, with a text in it.

A zip archive with an ``.npy`` member for each array and a member of JSON that says what they are.
Members are stored, not compressed: a file from a stranger takes no more memory than it is long.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

Values = np.ndarray[Any, Any]

UNREADABLE = (
    ValueError,  # JSON, text that is no UTF-8, and what constructors refuse
    TypeError,
    KeyError,
    AttributeError,
    OverflowError,
    RecursionError,
    NotImplementedError,
    EOFError,
    MemoryError,
    zipfile.BadZipFile,
)
"""What damaged or foreign files lead to."""


def write_members(
    part: Path, text_name: str, text: dict[str, Any], arrays: Mapping[str, Values]
) -> None:
    """Write the text, as JSON, and the arrays; no array may hold objects."""
    with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(text_name, json.dumps(text, indent=1))
        for name, values in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, values, allow_pickle=False)


class Members:
    """The members of an archive, none of which takes more memory than the archive is long.

    Parameters
    ----------
    archive : ZipFile
    length : int
        Bytes of the file.
    writer : str
        Who writes such files, for the sentence about a file that somebody else has packed.
    """

    def __init__(self, archive: zipfile.ZipFile, length: int, writer: str) -> None:
        self.archive, self.length, self.writer = archive, length, writer
        self.names = set(archive.namelist())

    def read(self, name: str) -> bytearray:
        """A member's bytes; zipfile compares their checksum."""
        if name not in self.names:
            raise KeyError(name)
        info = self.archive.getinfo(name)
        if info.flag_bits & 1:
            raise ValueError(f"its member {name} is encrypted.")
        if info.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"its member {name} is compressed; {self.writer} stores members.")
        if info.file_size > self.length:
            raise ValueError(f"its member {name} is said to be longer than the file.")
        out = bytearray(info.file_size)
        member: Any  # readinto is not among what typeshed knows of it
        with self.archive.open(info) as member:
            if member.readinto(out) != len(out) or member.read(1):
                raise ValueError(f"its member {name} breaks off.")
        return out

    def text(self, name: str, format_name: str) -> dict[str, Any]:
        """The JSON object of a member that says that it is of this format."""
        content = json.loads(self.read(name).decode(), parse_constant=_refuse_constant)
        if not isinstance(content, dict) or content.get("format") != format_name:
            raise ValueError(f"{name} does not say that its format is {format_name!r}.")
        return content

    def array(self, name: str, kinds: str = "fiu") -> Values:
        """An array in memory of its own, of numbers unless other kinds of dtype are allowed."""
        content = self.read(f"{name}.npy")
        stream = io.BytesIO(content)
        version = np.lib.format.read_magic(stream)
        if version != (1, 0):
            raise ValueError(f"{name} is an npy array of version {version}, not (1, 0).")
        shape, by_columns, dtype = np.lib.format.read_array_header_1_0(stream)
        begin = stream.tell()
        if dtype.kind not in kinds:
            raise ValueError(f"{name} has dtype {dtype}, which is no real number.")
        if dtype.itemsize * math.prod(shape) != len(content) - begin:
            raise ValueError(f"{name} holds another number of bytes than its shape {shape} takes.")
        values = np.frombuffer(content, dtype, offset=begin)
        values = values.astype(dtype.newbyteorder("="), copy=False)
        return values.reshape(shape, order="F" if by_columns else "C")


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number.")
