"""Threads that take the partitions of a design, and how many there may be.

The linear algebra library has one thread of its own while they run: threads that share one product
cost up to twice the processor time for next to nothing, and each number of them has other last
digits. Sums of partitions are added by the tree of `cuts` in the order of the partitions, whoever
was first, so that any number of threads gives the same bits as one.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dualgap.designs.cuts import Sums, added_by_tree
from dualgap.designs.executors import (
    SERIAL,
    Executor,
    Filled,
    RowArrays,
    RowTask,
    Source,
    Task,
    filling,
    sums_of,
)

T = TypeVar("T")

AHEAD = 2
"""Partitions that each thread may be ahead of the sum: their sums wait in memory."""


class Threads:
    """Partitions in threads of this process.

    Parameters
    ----------
    workers : int
        How many threads; they decide on no bit.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def __repr__(self) -> str:
        """One line."""
        return f"Threads({self.workers})"

    def reduce(self, source: Source, task: Task[Sums], args: tuple[Any, ...]) -> Sums:
        """The sums over all chunks."""
        with one_blas_thread():
            parts = source.cuts.partitions
            if min(self.workers, parts) == 1:
                return SERIAL.reduce(source, task, args)
            work = partial(sums_of, source, task=task, args=args)
            return added_by_tree(self.in_order(work, parts))

    def map_rows(
        self, source: Source, task: RowTask[Sums], rows: RowArrays, args: tuple[Any, ...]
    ) -> tuple[RowArrays, Sums]:
        """The rows that the chunks make, in order, and the sums over all chunks."""
        with one_blas_thread():
            parts = source.cuts.partitions
            if min(self.workers, parts) == 1:
                return SERIAL.map_rows(source, task, rows, args)
            out = Filled(0, source.cuts.edges[-1])
            work = partial(filling, source, task=task, rows=rows, args=args, out=out)
            sums = added_by_tree(self.in_order(work, parts))
            return out.taken(), sums

    def in_order(self, work: Callable[[int], T], parts: int) -> Iterator[T]:
        """What ``work(part)`` gives for each partition, the first one first.

        Threads end with the call; whatever one of them raises is raised here.
        """
        if min(self.workers, parts) == 1:
            yield from map(work, range(parts))
            return
        errors = np.geterr()  # of this thread; those of the others are their own before numpy 2

        def part(k: int) -> T:
            with np.errstate(**errors):
                return work(k)

        with ThreadPoolExecutor(min(self.workers, parts), "dualgap") as pool:
            waiting: deque[Future[T]] = deque()
            try:
                for k in range(parts):
                    waiting.append(pool.submit(copy_context().run, part, k))
                    if len(waiting) > AHEAD * self.workers:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()


# ---- the threads of a call ----

_current: ContextVar[Threads | None] = ContextVar("threads", default=None)


def current_threads() -> Threads:
    """Those of the call that this is part of; outside of one, as many as there may be."""
    return _current.get() or Threads(available())


class Within:
    """A context with a number of threads; made by `within_threads`."""

    __slots__ = ("one_thread", "threads", "token")

    def __init__(self, threads: Threads | None, one_thread: bool) -> None:
        self.threads, self.one_thread = threads, one_thread

    def __enter__(self) -> None:
        self.token = _current.set(self.threads)
        if self.one_thread:
            _one_thread.__enter__()

    def __exit__(self, *error: object) -> None:
        _current.reset(self.token)
        if self.one_thread:
            _one_thread.__exit__()


def within_threads(workers: int | None, executor: Executor | None = None) -> Within:
    """For what is done here there are so many threads.

    Parameters
    ----------
    workers : int or None
        With a number, the linear algebra library has one thread for whatever is done here, so that
        no bit depends on the number. None: as many threads as there may be.
    executor : Executor, optional
        Of the data that this is about. If threads share them no bit depends on their default
        number either; other data, which are not cut, have the library's own default without one.
    """
    one_thread = workers is not None or isinstance(executor, Threads)
    return Within(None if workers is None else Threads(workers), one_thread)


def available() -> int:
    """How many threads this process may use.

    As many as there are cores that it may run on, by its affinity and by the quota of its
    container; no more than OMP_NUM_THREADS says, which joblib sets for its worker processes; and
    one in a thread that joblib has started beside others.
    """
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    most = int(asked) if asked.isdigit() and int(asked) > 0 else cores()
    return 1 if _is_beside_others() else min(most, cores())


def cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    return max(1, min(count, _quota()))


@cache
def _quota() -> int:
    """Cores of the control group that this process belongs to, rounded up; many if it has none."""
    try:  # version 2: "max 100000" or "150000 100000"
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return sys.maxsize if quota == "max" else -(-int(quota) // int(period))
    except (OSError, ValueError):
        pass
    try:  # version 1; -1 is none
        folder = Path("/sys/fs/cgroup/cpu")
        limit = int((folder / "cpu.cfs_quota_us").read_text())
        period_us = int((folder / "cpu.cfs_period_us").read_text())
        return -(-limit // period_us) if limit > 0 else sys.maxsize
    except (OSError, ValueError):
        return sys.maxsize


def _is_beside_others() -> bool:
    """Whether joblib runs this in a thread of its own, among others of this process.

    Its worker processes are told by OMP_NUM_THREADS how many threads each may have.
    """
    if threading.current_thread() is threading.main_thread() or "joblib" not in sys.modules:
        return False
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    return bool(getattr(backend, "nesting_level", 0))


# ---- the linear algebra library ----


class _OneThread:
    """Holds the library at one thread while anybody asks for it.

    Its number of threads belongs to the process: who comes first sets it to one, who leaves last
    gives it back.
    """

    def __init__(self) -> None:
        self.lock, self.users = threading.Lock(), 0
        self.held: Any = None

    def __enter__(self) -> None:
        with self.lock:
            self.users += 1
            if self.users == 1:
                self.held = _libraries().limit(limits=1, user_api="blas")

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                self.held.restore_original_limits()


_one_thread = _OneThread()


def one_blas_thread() -> _OneThread:
    """A context in which the linear algebra library has one thread."""
    return _one_thread


@cache
def _libraries() -> Any:
    """Those that are loaded; to find them takes milliseconds, to set them microseconds."""
    import scipy.linalg  # noqa: F401 - it has a library of its own, which must be there by now
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
