"""Where compiled kernels are kept if nowhere else will do, and what is not worth keeping.

numba keeps a compiled function in two kinds of files: an index (``.nbi``: its version, then a table
of signatures) and, for each signature, the code (``.nbc``), all of them pickles. It gives up at a
file that broke off, as one does when a disk is full or a machine goes down while it is written.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import stat
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

PICKLES = {".nbi": 2, ".nbc": 1}
"""How many of them follow each other in a file of this ending."""


def own_temporary_folder(name: str) -> Path | None:
    """A folder of this name below the system's temporary one, which nobody else can write to.

    What is in it will be executed, so that one which belongs to somebody else, or which others
    may write to, is no place. None if there is no such folder.
    """
    user = str(os.getuid()) if hasattr(os, "getuid") else "user"
    try:
        folder = Path(tempfile.gettempdir()) / f"dualgap-{user}-{name}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    if not stat.S_ISDIR(found.st_mode):
        return None
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & 0o022):
        return None
    return folder


def remove_broken_files(folder: Path, module: str) -> list[Path]:
    """Remove the files of a module's functions that are no whole pickles; numba makes them anew.

    Parameters
    ----------
    folder : Path
        Where numba keeps them.
    module : str
        The name of the module's file, without its ending.

    Returns
    -------
    list of Path
        What was removed.
    """
    removed = []
    for path in folder.glob(f"{module}.*.nb[ci]"):
        with contextlib.suppress(OSError):  # another process may have been faster
            if not _is_whole(path):
                path.unlink()
                removed.append(path)
    return removed


def _is_whole(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            for _ in range(PICKLES[path.suffix]):
                _Skeleton(file).load()
        except OSError:
            raise
        except Exception:  # there are as many kinds as ways to break a pickle
            return False
    return True


class _Anything:
    """Stands for every object in a pickle, so that nothing is made of them."""

    def __new__(cls, *_: Any, **__: Any) -> _Anything:
        return object.__new__(cls)

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __setstate__(self, state: Any) -> None: ...

    def __setitem__(self, key: Any, value: Any) -> None: ...

    def append(self, value: Any) -> None:
        """For pickled lists of another type."""

    def extend(self, values: Any) -> None:
        """The same."""

    def add(self, value: Any) -> None:
        """For pickled sets of another type."""


class _Skeleton(pickle.Unpickler):
    """Reads a pickle to its end; names in it must exist (ours may be in the making), no more."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)

    def find_class(self, module: str, name: str) -> Any:
        if not module.startswith("dualgap."):
            super().find_class(module, name)
        return _Anything
