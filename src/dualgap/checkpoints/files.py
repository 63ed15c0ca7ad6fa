"""Checkpoints as files: a manifest in JSON, and arrays with their checksums.

The manifest says what wrote the file, whose run it is (`identity`) and what the values are
(`codec`). A file is written beside the one before it and takes its place when the disk has it.
"""

from __future__ import annotations

import errno
import hashlib
import platform
import zipfile
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from dualgap._archives import UNREADABLE, Members, Values, write_members
from dualgap._files import check_writable, replacing_for_good
from dualgap.state import STATE_VERSION

FORMAT = "dualgap checkpoint"
VERSION = 1
MANIFEST = "manifest.json"
KINDS = "fiub"
"""The kinds of dtype of the arrays in a file: floats, integers and bools."""
VERSIONS = ("format_version", "state_version")
"""What the file says of the form of its values; all must be as they are here."""


@dataclass(frozen=True, eq=False)
class Content:
    """What a file holds."""

    identity: dict[str, Any]
    """Whose run it is."""
    values: dict[str, Any]
    """The trees of its values."""
    arrays: dict[str, Values]
    """What these refer to."""


def check_place(target: Path, resume: bool) -> None:
    """Refuse, before any work, a file that could not be written or must not be overwritten."""
    check_writable("checkpoint", target)
    if not target.exists():
        return
    if not target.is_file():
        raise ValueError(f"checkpoint={target} is no regular file; name another one.")
    with _reading(target) as members:
        _check_versions(members.text(MANIFEST, FORMAT), target)
    if not resume:
        raise ValueError(
            f"checkpoint={target} holds a run already: resume=True goes on from it (--resume on "
            "the command line). To begin anew, delete it or name another file."
        )


def write(target: Path, content: Content) -> None:
    """Write the file, wholly or not at all; what was there before stays if that fails."""
    sums = {name: checksum(values) for name, values in content.arrays.items()}
    manifest = {
        "format": FORMAT,
        "format_version": VERSION,
        "state_version": STATE_VERSION,
        "written_by": _writer(),
        "run": content.identity,
        "sha256": sums,
        "values": content.values,
    }
    existed = target.exists()
    try:
        with replacing_for_good(target) as part:
            write_members(part, MANIFEST, manifest, content.arrays)
    except OSError as error:
        intact = " The one that was there is as it was." if existed else ""
        reason = error.strerror or str(error)
        raise OSError(
            error.errno or errno.EIO, f"checkpoint={target} cannot be written: {reason}.{intact}"
        ) from error


def read(target: Path) -> Content:
    """Read a file that `write` has written; anything else is refused."""
    with _reading(target) as members:
        manifest = members.text(MANIFEST, FORMAT)
        _check_versions(manifest, target)
        arrays = {}
        for name, written in manifest["sha256"].items():
            arrays[name] = members.array(name, KINDS)
            if checksum(arrays[name]) != written:
                raise ValueError(f"{name} has another checksum than the manifest says.")
        return Content(dict(manifest["run"]), dict(manifest["values"]), arrays)


def checksum(values: Values) -> str:
    """SHA-256 of the entries in the order in which they lie, or of a copy in C order."""
    whole = values.flags.c_contiguous or values.flags.f_contiguous
    laid = values if whole else np.ascontiguousarray(values)
    laid = laid if laid.flags.c_contiguous else laid.T
    return hashlib.sha256(laid.reshape(-1).view(np.uint8).data).hexdigest()


@cache
def _writer() -> dict[str, str]:
    """The versions of what writes the file."""
    packages = ("dualgap", "numpy", "scipy", "numba")
    versions = {name: metadata.version(name) for name in packages}
    return {"python": platform.python_version(), **versions}


def damaged(target: Path, error: Exception) -> ValueError:
    """The sentence on a file whose content leads to this error."""
    reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
    return ValueError(
        f"checkpoint={target} is no checkpoint of dualgap, or a damaged one: "
        f"{reason or type(error).__name__}"
    )


class _reading:
    """The members of a file; what goes wrong with them is said in a sentence."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __enter__(self) -> Members:
        try:
            self.archive = zipfile.ZipFile(self.target)
        except OSError as error:
            raise _unreadable(self.target, error) from None
        except UNREADABLE as error:
            raise damaged(self.target, error) from None
        return Members(self.archive, self.target.stat().st_size, "dualgap")

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self.archive.close()
        if isinstance(error, _OtherVersion):
            raise ValueError(str(error)) from None
        if isinstance(error, OSError):
            raise _unreadable(self.target, error) from None
        if isinstance(error, UNREADABLE):
            raise damaged(self.target, error) from None


class _OtherVersion(ValueError):
    """The file is a checkpoint, but not one that this dualgap can go on from."""


def _check_versions(manifest: dict[str, Any], target: Path) -> None:
    here = {"format_version": VERSION, "state_version": STATE_VERSION}
    there = {name: manifest.get(name) for name in VERSIONS}
    if there != here:
        writer = manifest.get("written_by", {}).get("dualgap")
        raise _OtherVersion(
            f"checkpoint={target} was written by dualgap {writer} in another form ({_said(there)} "
            f"there, {_said(here)} here), and no run goes on from it here. Resume it with that "
            "version, or begin anew with another file."
        )


def _said(versions: dict[str, Any]) -> str:
    return " and ".join(f"{name} {version!r}" for name, version in versions.items())


def _unreadable(target: Path, error: OSError) -> ValueError:
    return ValueError(f"checkpoint={target} cannot be read: {error.strerror or error}.")
