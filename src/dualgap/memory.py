"""What memory a call may take, and what asks before it takes some.

A copy of data that saves time and could be done without, in float32, of columns, laid out by
columns, is made where it is small beside the memory there is (`Memory.spares`). Whether vectors
with an entry for each row are held at all is decided in the same way, where there is a choice. Each
answer follows from the limit and from the size alone: no clock is read, and no count is kept of
what was granted before, so that the order in which things are asked for changes nothing.

The memory of a call is ambient, as its limits are (`limits`): who copies data is ten calls away
from `solve`. Without a limit it is what the process may still have, measured when it is first asked
for, and then kept for the call.
"""

from __future__ import annotations

import math
import os
import re
import sys
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path
from typing import Any

UNITS = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
    "tib": 1 << 40,
}
"""What units of memory are called, in any case, and how many bytes they are."""
SHARE = 4
"""A copy may take one part of so many of the memory; no more than two or three are alive at
once."""
VECTORS = 32
"""So many vectors with an entry for each row are alive at once in a fit that holds rows, with its
certificate: 7 to 21 were counted on dense data, and 7 to 17 on sparse data but for adf-bpd, which
took 34 there; the rest is room for small copies."""
VECTORS_SHARE = 2
"""They may take one part of so many of the memory where they could be done without."""
LEAST_VECTORS = 7
"""No fit that holds rows does with fewer."""
UNASKED = 1 << 24
"""Copies up to so many bytes are made without measuring what there is."""


class Memory:
    """What a call may take besides what the process holds when it begins.

    Parameters
    ----------
    given : float, optional
        Bytes; by default what the process may still have.
    """

    def __init__(self, given: float | None = None) -> None:
        self.given = given

    @cached_property
    def limit(self) -> float:
        """Bytes; infinity where nothing is known."""
        return available() if self.given is None else self.given

    @property
    def origin(self) -> str:
        """Where the limit comes from, in words."""
        return "that this process may have" if self.given is None else "that memory_limit allows"

    def spares(self, size: float) -> bool:
        """Whether a copy of so many bytes may be made which could be done without."""
        return (self.given is None and size <= UNASKED) or SHARE * size <= self.limit

    def holds(self, size: float) -> bool:
        """Whether so many bytes may be taken at all."""
        return (self.given is None and size <= UNASKED) or size <= self.limit

    def holds_easily(self, vectors: float) -> bool:
        """Whether `VECTORS` vectors of so many bytes in all leave room for the copies."""
        return (self.given is None and vectors <= UNASKED) or (
            VECTORS_SHARE * vectors <= self.limit
        )

    def __repr__(self) -> str:
        """The limit."""
        return f"Memory({written(self.limit)})"


class OutOfMemory(MemoryError):
    """Memory has run out in the middle of a call; the message says what can be done."""

    def __init__(self, memory: Memory, error: MemoryError) -> None:
        said = f" ({error})" if str(error) else ""
        super().__init__(
            f"memory has run out{said}, where there were {written(memory.limit)} {memory.origin}. "
            "Data in a folder (dualgap convert, dualgap.datasets.write_folder) are fitted by "
            "'newton' and 'working-set' without vectors of their length: "
            "dualgap.open(folder, holds_rows=False)."
        )


def row_vectors(rows: int, outputs: int | None) -> float:
    """Bytes of the vectors that a fit needs which holds its rows."""
    return 8.0 * VECTORS * rows * (outputs or 1)


def check_rows(rows: int, outputs: int | None, *, on_disk: bool = False) -> None:
    """Refuse a fit whose vectors do not fit into memory, before any work.

    All vectors count that a fit may need, where there is another way (data on disk) or a limit was
    given; of data in memory, against what was measured, only those that every fit needs.
    """
    memory = current()
    need = row_vectors(rows, outputs)
    if memory.given is None and not on_disk:
        need *= LEAST_VECTORS / VECTORS
    if not memory.holds(need):
        times = f" and {outputs} classes" if outputs else ""
        raise ValueError(
            f"a fit that holds vectors with an entry for each of {rows} rows{times} needs "
            f"{written(need)}, and there are {written(memory.limit)} {memory.origin}. Data in a "
            "folder (dualgap convert, dualgap.datasets.write_folder) are fitted by 'newton' and "
            "'working-set' without such vectors: dualgap.open(folder, holds_rows=False)."
        )


def check_copy(size: float, what: str, remedy: str) -> None:
    """Refuse a copy that cannot be done without and does not fit, before it is made.

    Parameters
    ----------
    size : float
        Bytes.
    what, remedy : str
        What it is a copy of and for, and what to do instead; parts of the message.
    """
    memory = current()
    if not memory.holds(size):
        raise ValueError(
            f"{what} needs {written(size)}, and there are {written(memory.limit)} {memory.origin}. "
            f"{remedy}"
        )


def as_bytes(argument: str, value: Any) -> float | None:
    """From a number of bytes, or a number with a unit such as ``"2 GB"``; None stays None."""
    if value is None:
        return None
    number = math.nan
    if isinstance(value, str):
        form = re.fullmatch(r"\s*([0-9]*\.?[0-9]+|[0-9]+\.)\s*([a-z]*)\s*", value.lower())
        if form is not None and form[2] in UNITS:
            number = float(form[1]) * UNITS[form[2]]
    elif not isinstance(value, bool) and hasattr(value, "__index__"):
        number = float(value.__index__())
    if not 1.0 <= number < math.inf:
        raise ValueError(
            f"{argument}={value!r} must be a number of bytes, of at least 1, or one with a unit, "
            "such as '500 MB' or '2GiB'."
        )
    return number


def written(size: float) -> str:
    """Bytes as people read them."""
    if math.isinf(size):
        return "any number of bytes"
    for unit in ("TB", "GB", "MB", "kB"):
        if size >= UNITS[unit.lower()]:
            return f"{size / UNITS[unit.lower()]:.3g} {unit}"
    return f"{size:.0f} bytes"


# ---- the memory of a call ----

_current: ContextVar[Memory] = ContextVar("memory")


def current() -> Memory:
    """That of the call that this is part of; outside of one, what there is now."""
    return _current.get(None) or Memory()


def spares(size: float) -> bool:
    """Whether the memory of the call spares a copy of so many bytes; see `Memory.spares`."""
    return current().spares(size)


class Within:
    """A context for whose work there is a memory; made by `within_memory`."""

    __slots__ = ("memory", "token")

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def __enter__(self) -> Memory:
        self.token = _current.set(self.memory)
        return self.memory

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        _current.reset(self.token)
        if isinstance(error, MemoryError) and not isinstance(error, OutOfMemory):
            raise OutOfMemory(self.memory, error) from error


def within_memory(limit: float | Memory | None) -> Within:
    """For what is done here this is the memory.

    Parameters
    ----------
    limit : float, Memory or None
        Bytes, or a memory that has been measured. None: that of the call which this is part of, or
        else what there is.
    """
    if limit is None:
        return Within(current())
    return Within(limit if isinstance(limit, Memory) else Memory(limit))


# ---- what there is ----


def available() -> float:
    """Bytes that this process may still have; infinity where nothing is known.

    The least of what its own limits leave (RLIMIT_DATA, RLIMIT_AS), what its control group leaves,
    and what the machine has available.
    """
    return max(1.0, min(_of_process(), _of_control_group(), _of_machine()))


def _of_process() -> float:
    """What RLIMIT_DATA and RLIMIT_AS leave."""
    try:
        import resource
    except ImportError:  # where there are no such limits
        return math.inf
    left = math.inf
    for name, field in (("RLIMIT_DATA", "VmData"), ("RLIMIT_AS", "VmSize")):
        most = resource.getrlimit(getattr(resource, name))[0]
        if most != resource.RLIM_INFINITY:
            left = min(left, most - _fields(Path("/proc/self/status")).get(field, 0.0))
    return left


def _of_machine() -> float:
    """What may be taken before pages of others have to go."""
    known = _fields(Path("/proc/meminfo")).get("MemAvailable")
    if known is not None:
        return known
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return math.inf


def _fields(path: Path) -> dict[str, float]:
    """Bytes by name, of a file of lines such as ``VmData:  1024 kB``; empty if there is none."""
    out = {}
    for line in _lines(path):
        name, _, rest = line.partition(":")
        words = rest.split()
        if len(words) == 2 and words[1] == "kB" and words[0].isdigit():
            out[name] = 1024.0 * int(words[0])
    return out


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def _of_control_group(root: Path = Path("/sys/fs/cgroup")) -> float:
    """What the control groups leave that this process is in, each with those above it."""
    left = math.inf
    if not sys.platform.startswith("linux"):
        return left
    for line in _lines(Path("/proc/self/cgroup")):
        _, _, rest = line.partition(":")
        kinds, _, place = rest.partition(":")
        if kinds and "memory" not in kinds.split(","):
            continue
        top = root / "memory" if kinds else root
        parts = [part for part in place.split("/") if part]
        # In a container the group may be mounted as the top, and its own path be another's.
        for folder in (top.joinpath(*parts[:k]) for k in range(len(parts) + 1)):
            left = min(left, _left_in(folder, unified=not kinds))
    return left


def _left_in(folder: Path, *, unified: bool) -> float:
    """What the limit of one group leaves; pages of files, which can go, are not counted as used."""
    names = ("memory.max", "memory.current", "") if unified else (
        "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"
    )  # fmt: skip
    most, used = (_number(folder / name) for name in names[:2])
    if most is None or used is None:
        return math.inf
    for line in _lines(folder / "memory.stat"):
        name, _, count = line.partition(" ")
        if name in (f"{names[2]}active_file", f"{names[2]}inactive_file") and count.isdigit():
            used -= int(count)
    return most - max(used, 0.0)


def _number(path: Path) -> float | None:
    """The number that a file holds; None for "max", or if there is no such file."""
    words = _lines(path)
    return float(words[0]) if words and words[0].strip().isdigit() else None
