"""An executor on a Dask cluster: a round is one task for each partition, and a tree of sums.

Everything is a task of one graph (`rounds`): what is sent, the sums of a partition, sums of sums in
the order of `cuts.Tree`. So whatever a worker loses is made again by those that are left, from the
tasks that had made it, and with the same bits. Nothing is scattered, no task is bound to a worker,
and only the root comes here. Blocks stay in the workers from their first use to the end of the call
(`in_use`), if they fit there; otherwise each round makes them anew.

dask has no time limit on anything, so each round has one. A round that fails because of the cluster
is tried once more, and then given up by a sentence that says where it was.
"""

from __future__ import annotations

import math
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, count
from typing import Any, TypeVar

from dualgap.designs import remote
from dualgap.designs.cuts import Sums, added_by_tree
from dualgap.designs.executors import RowArrays, RowTask, Source, Task, joined
from dualgap.designs.ledger import Ledger
from dualgap.designs.pieces import Pieces
from dualgap.designs.rounds import Graph, Round
from dualgap.limits import OutOfTime, current, now

T = TypeVar("T")

TRIES = 2
"""A round is tried so often."""
ROOM = 0.5
"""Blocks stay in the workers if they take no more than this share of their memory."""
SILENT = 0.5
"""A worker that was not heard of for this share of the time-out is not waited for again."""
ASKING = 3.0
"""Seconds for which a scheduler is asked anything."""
RETURN = 10.0
"""Seconds for which a scheduler that has gone may come back."""
MOST_NAMED = 3
"""Partitions in a message."""


class RoundFailed(RuntimeError):
    """A round on a cluster has failed twice, for reasons that are not in the data or the task."""


class RoundTimeout(RoundFailed, TimeoutError):
    """A round on a cluster was not done in time, twice."""


class OnCluster:
    """Partitions in the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
    round_timeout : float
        Seconds after which a round is tried again, and given up.
    ledger : Ledger
        Where rounds, and rows that were read, are entered.
    """

    def __init__(self, client: Any, round_timeout: float, ledger: Ledger) -> None:
        self.client, self.round_timeout, self.ledger = client, round_timeout, ledger
        self.token = uuid.uuid4().hex[:12]
        """What the keys of all tasks have in their names."""
        self.silent: set[str] = set()
        """Workers that get no tasks any more."""
        self._held: dict[str, list[Any] | None] = {}
        """The futures of pieces; None for those that do not fit."""
        self._numbers = count()
        self._users, self._lock = 0, threading.RLock()

    def __repr__(self) -> str:
        """One line."""
        return f"OnCluster({self.client!r})"

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Who leaves last releases the blocks that have stayed in the workers."""
        with self._lock:
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    self._release()

    # ---- what executors do ----

    def reduce(self, source: Source, task: Task[Sums], args: tuple[Any, ...]) -> Any:
        """The sums over all chunks."""
        return self._sums(Round(source, task, (), args, by_rows=False))

    def sum_rows(
        self, source: Source, task: RowTask[Sums], rows: RowArrays, args: tuple[Any, ...]
    ) -> Any:
        """The same with the rows of vectors, by a task that makes no rows."""
        return self._sums(Round(source, task, rows, args, by_rows=True))

    def map_rows(
        self, source: Source, task: RowTask[Sums], rows: RowArrays, args: tuple[Any, ...]
    ) -> tuple[RowArrays, Any]:
        """The rows that the chunks make, which come here, and the sums over all chunks."""
        round_ = Round(source, task, rows, args, by_rows=True)
        parts = self._carried_out(lambda name: round_.each(name, self.placed), round_.places)
        self._enter(round_)
        made, sums = zip(*parts, strict=True)
        return joined(made), remote.unpacked(added_by_tree(sums))

    def _sums(self, round_: Round) -> Any:
        found = self._carried_out(lambda name: round_.sums(name, self.placed), round_.places)
        self._enter(round_)
        return remote.unpacked(found)

    def _enter(self, round_: Round) -> None:
        if round_.matrix is not None:
            self.ledger.enter(round_.places[-1].stop)

    def of_each(self, pieces: Pieces, function: Callable[[Any, int], T]) -> list[T]:
        """What a function finds of each piece, and its number."""

        def graph_of(name: str) -> tuple[Graph, Any]:
            graph, at = self.placed(pieces)
            keys = [(f"dualgap-part-{name}", k) for k in range(len(at))]
            graph.update((key, (function, at[key[1]], key[1])) for key in keys)
            root = f"dualgap-add-{name}"
            graph[root] = (remote.together, *keys)
            return graph, root

        return list(self._carried_out(graph_of))

    def brought(self, pieces: Pieces, part: int) -> Any:
        """A piece, brought here."""

        def graph_of(name: str) -> tuple[Graph, Any]:
            graph, at = self.placed(pieces)
            key = (f"dualgap-part-{name}", part)
            graph[key] = (remote.kept, at[part], part)
            return graph, key

        return self._carried_out(graph_of)

    # ---- where blocks are ----

    def placed(self, pieces: Pieces) -> tuple[Graph, list[Any]]:
        """A graph that gives the pieces, and what they are called in it; they are held if they fit.

        Parameters
        ----------
        pieces : Pieces
        """
        with self._lock:
            if pieces.name not in self._held:
                fits = not pieces.from_files and self._has_room(pieces)
                self._held[pieces.name] = self._hold(pieces) if fits else None
            held = self._held[pieces.name]
        return as_they_are(pieces) if held is None else ({}, list(held))

    def _hold(self, pieces: Pieces) -> list[Any]:
        graph, at = as_they_are(pieces)
        name = f"dualgap-block-{self.token}-{next(self._numbers)}"
        keys = [(name, k) for k in range(len(at))]
        graph.update((key, (pieces.prepare, at[key[1]], key[1])) for key in keys)
        return list(self._sent(graph, keys))

    def _release(self) -> None:
        """The blocks; whatever else holds their futures, such as a traceback, does not count."""
        for future in self._futures():
            future.release()
        self._held.clear()

    def _has_room(self, pieces: Pieces) -> bool:
        """Whether they fit into what workers may take; no limit is room enough."""
        limits = [worker.get("memory_limit") or math.inf for worker in self._workers().values()]
        return pieces.nbytes <= ROOM * sum(limits)

    def _workers(self) -> dict[str, Any]:
        """What the scheduler says of workers that get tasks, by their addresses."""
        said = answer(partial(self.client.scheduler_info, n_workers=-1)) or {}
        workers = said.get("workers", {}).items()
        return {address: worker for address, worker in workers if address not in self.silent}

    # ---- rounds ----

    def _sent(self, graph: Graph, keys: Any) -> Any:
        """Futures of what a graph gives at a key, or at a list of them."""
        where: dict[str, Any] = {}
        if self.silent and (others := list(self._workers())):
            where = {"workers": others}
        return self.client.get(graph, keys, sync=False, **where)

    def _carried_out(
        self, graph_of: Callable[[str], tuple[Graph, Any]], places: list[remote.Place] | None = None
    ) -> Any:
        """What a round gives.

        Parameters
        ----------
        graph_of : callable
            ``graph_of(name) -> (graph, keys)``: its tasks, with this in their names, and what is
            wanted. Called for each try.
        places : list of Place, optional
            What is said of partitions.
        """
        tries, where = TRIES, ""
        while True:
            name = f"{self.token}-{next(self._numbers)}"
            self.ledger.rounds += 1
            try:
                graph, keys = graph_of(name)
                return self._awaited(self._sent(graph, keys), places)
            except Exception as error:
                if not (isinstance(error, faults()) or self._is_cut_off):
                    self._say_where(error)
                    raise
                tries, where = tries - 1, told_by(error, places) or where
                if not tries or self._stays_cut_off:
                    raise self._failure(error, where, TRIES - tries) from error
                self._start_anew()

    def _awaited(self, found: Any, places: list[remote.Place] | None) -> Any:
        """The results of futures, which are released whatever happens."""
        futures = found if isinstance(found, list) else [found]
        until = time.monotonic() + min(self.round_timeout, current().deadline - now())
        try:
            results = [f.result(timeout=max(0.0, until - time.monotonic())) for f in futures]
            return results if isinstance(found, list) else results[0]
        except TimeoutError:
            if current().time_is_up:
                raise OutOfTime from None
            raise Late(answer(partial(self._looked_round, places)) or "") from None
        finally:
            for future in futures:
                future.release()

    def _say_where(self, error: Exception) -> None:
        """Add to an error from a block which one it was, as far as futures of blocks tell."""
        with self._lock:
            held = [held for held in self._held.values() if held is not None]
        parts = sorted(
            {k for at in held for k, future in enumerate(at) if future.status == "error"}
        )
        if parts:
            error.add_note(f"It was in partition {', '.join(map(str, parts[:MOST_NAMED]))}.")

    def _start_anew(self) -> None:
        """Let go of blocks whose futures a lost scheduler, or a dead worker, has made useless."""
        with self._lock:
            if any(f.status in ("cancelled", "lost", "error") for f in self._futures()):
                self._release()

    def _futures(self) -> Iterator[Any]:
        return chain.from_iterable(held or () for held in self._held.values())

    @property
    def _is_cut_off(self) -> bool:
        """Whether the scheduler cannot be reached."""
        return bool(self.client.status != "running")

    @property
    def _stays_cut_off(self) -> bool:
        """The same, after some time in which a client finds a scheduler again."""
        until = time.monotonic() + min(RETURN, self.round_timeout)
        while self.client.status == "connecting" and time.monotonic() < until:
            time.sleep(0.05)
        return self._is_cut_off

    def _looked_round(self, places: list[remote.Place] | None) -> str:
        """After a time-out: where the round is, and who is not heard of any more.

        A worker that was stopped is one of the cluster until its scheduler has given it up, which
        takes minutes. So it gets no tasks any more, and what it holds is made again by the others.
        """
        seen = {address: worker["last_seen"] for address, worker in self._workers().items()}
        where = self._unfinished(places, seen)
        last = max(seen.values(), default=0.0)
        most = SILENT * self.round_timeout
        silent = {address for address, at in seen.items() if last - at > most}
        if silent:
            with self._lock:
                self.silent |= silent
                self._release()
        return where

    def _unfinished(self, places: list[remote.Place] | None, seen: dict[str, float]) -> str:
        """Partitions that are in work, and where; first those that were not heard of for long."""
        found = []
        for worker, keys in sorted(
            self.client.processing().items(), key=lambda item: seen.get(item[0], 0.0)
        ):
            parts = [title(key, places) for key in keys if self.token in str(key)]
            found += [f"{part} on worker {worker}" for part in sorted(parts)]
        more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        return ", ".join(found[:MOST_NAMED]) + more

    def _failure(self, error: Exception, where: str, tries: int) -> RoundFailed:
        """The sentence on a round that has failed for the last time."""
        at = f" It was at {where}." if where else ""
        if self._is_cut_off:
            at += " The scheduler cannot be reached."
        if isinstance(error, TimeoutError):
            return RoundTimeout(
                f"a round on the cluster was not done within round_timeout={self.round_timeout:g} "
                f"seconds, {tries} times.{at} Look at that worker, or raise round_timeout."
            )
        return RoundFailed(
            f"a round on the cluster has failed {'twice' if tries > 1 else 'once'}.{at} "
            f"{type(error).__name__}: {error}"
        )


class Late(TimeoutError):
    """A round is not done in time; the argument says where it was."""


def as_they_are(pieces: Pieces) -> tuple[Graph, list[Any]]:
    """`OnCluster.placed` for pieces that are made anew wherever they are used."""
    return dict(pieces.graph), list(pieces.pieces)


def faults() -> tuple[type[Exception], ...]:
    """What is raised where the cluster is at fault."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm import CommClosedError

    return (TimeoutError, CancelledError, KilledWorker, CommClosedError)


def told_by(error: Exception, places: list[remote.Place] | None) -> str:
    """Where a round was, as an exception tells."""
    if isinstance(error, Late):
        return str(error)
    worker = getattr(error, "last_worker", None)
    if worker is None:
        return ""
    task: Any = getattr(error, "task", "")
    return f"{title(task, places)} on worker {getattr(worker, 'address', worker)}"


def title(key: Any, places: list[remote.Place] | None) -> str:
    """What a task is about."""
    name = str(key[0] if isinstance(key, tuple) else key)
    if name.startswith("dualgap-add"):
        return "a sum of partitions"
    if name.startswith("dualgap-send"):
        return "its beginning"
    if not (isinstance(key, tuple) and len(key) > 1 and isinstance(key[1], int)):
        return f"the task {key}"
    if not name.startswith("dualgap-"):  # of the user's own blocks, which may be more
        return f"block {key[1]} of {name}"
    rows = "" if places is None else f" (rows from {places[key[1]].start} on)"
    return f"partition {key[1]}{rows}"


def answer(question: Callable[[], T]) -> T | None:
    """What the scheduler says, if it says anything soon."""
    said: list[T] = []

    def ask() -> None:
        try:
            said.append(question())
        except Exception:  # whatever a cluster does that is in trouble
            return

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(ASKING)
    return said[0] if said else None
