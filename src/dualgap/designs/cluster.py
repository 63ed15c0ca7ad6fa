"""An executor on a Dask cluster: a round is one task for each partition, and a tree of sums.

    send --> part 0, part 1, ..., part K-1 --> sums of FAN neighbours --> ... --> root

Everything is a task of one graph: what is sent, the sums of a partition (`remote`), sums of sums in
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, TypeVar

import numpy as np

from dualgap.designs import remote
from dualgap.designs.cuts import Sums, added_by_tree
from dualgap.designs.executors import RowArrays, RowTask, Source, Task, joined
from dualgap.designs.ledger import Ledger
from dualgap.limits import OutOfTime, current, now

T = TypeVar("T")

FAN = 4
"""So many sums are added by one task, a power of two: with fewer there are more tasks, each of
which costs the scheduler a millisecond or two."""
TRIES = 2
"""Of a round."""
ROOM = 0.5
"""Blocks stay in the workers if they take no more than this share of their memory."""
SILENT = 0.5
"""A worker that was not heard of for this share of the time-out is not waited for again."""
MOST_NAMED = 3
"""Partitions in a message."""
ASKING = 5.0
"""Seconds for which a scheduler is asked what went wrong."""


class RoundFailed(RuntimeError):
    """A round on a cluster has failed twice, for reasons that are not in the data or the task."""


class RoundTimeout(RoundFailed, TimeoutError):
    """A round on a cluster was not done in time, twice."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """A matrix or vector that lies in pieces, one for each partition, of which none is here.

    Parameters
    ----------
    name : str
        What tells it from others.
    shape : tuple of int
    dtype : dtype
    graph : mapping
        The tasks that make the pieces; empty if they are sent as they are.
    pieces : tuple
        The keys of the pieces in the graph; or the pieces.
    nbytes : int
    prepare : callable
        What is made of a piece, and its number, before it stays in the memory of a worker.
    from_files : bool
        Whether workers read them from files, of which nothing need stay in their memory.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    graph: Mapping[Any, Any]
    pieces: tuple[Any, ...]
    nbytes: int
    prepare: Callable[[Any, int], Any] = remote.kept
    from_files: bool = False

    def __len__(self) -> int:
        """Rows."""
        return self.shape[0]

    def __getitem__(self, at: slice) -> Any:
        """Nobody gets them here."""
        raise TypeError(
            f"{self.name} lies in {len(self.pieces)} pieces on a cluster, and its entries are used "
            "there. dask's compute() brings it here, if it fits."
        )


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
        self._held: dict[str, tuple[Any, ...]] = {}
        self.silent: set[str] = set()
        self._users, self._lock = 0, threading.Lock()

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
        return self._sums(source, task, (), args, by_rows=False)

    def sum_rows(
        self, source: Source, task: RowTask[Sums], rows: RowArrays, args: tuple[Any, ...]
    ) -> Any:
        """The same with the rows of vectors, by a task that makes no rows."""
        return self._sums(source, task, rows, args, by_rows=True)

    def map_rows(
        self, source: Source, task: RowTask[Sums], rows: RowArrays, args: tuple[Any, ...]
    ) -> tuple[RowArrays, Any]:
        """The rows that the chunks make, which come here, and the sums over all chunks."""
        round_ = Round(self, source, task, rows, args, by_rows=True)
        parts = round_.carried_out(round_.whole_parts)
        made, sums = zip(*parts, strict=True)
        return joined(made), remote.unpacked(added_by_tree(sums))

    def _sums(
        self,
        source: Source,
        task: Callable[..., Any],
        rows: RowArrays,
        args: tuple[Any, ...],
        *,
        by_rows: bool,
    ) -> Any:
        round_ = Round(self, source, task, rows, args, by_rows=by_rows)
        return remote.unpacked(round_.carried_out(round_.tree))

    def of_each(self, pieces: Pieces, function: Callable[[Any, int], T]) -> list[T]:
        """What a function finds of each piece, and its number."""
        graph, at = self.placed(pieces)
        name = f"dualgap-look-{self.token}-{self.ledger.rounds}"
        for k, piece in enumerate(at):
            graph[name, k] = (function, piece, k)
        root = (name, "all")
        graph[root] = (remote.together, *((name, k) for k in range(len(at))))
        return list(self.awaited(graph, root))

    def brought(self, pieces: Pieces, part: int) -> Any:
        """A piece, brought here."""
        graph, at = self.placed(pieces)
        name = f"dualgap-bring-{self.token}-{self.ledger.rounds}"
        graph[name] = (remote.kept, at[part], part)
        return self.awaited(graph, name)

    # ---- where blocks are ----

    def placed(self, pieces: Pieces, *, held: bool = True) -> tuple[dict[Any, Any], list[Any]]:
        """A graph that gives the pieces, and what they are called in it.

        Parameters
        ----------
        pieces : Pieces
        held : bool
            Whether those may be used that are held, and the others be held from now on.
        """
        with self._lock:
            there = self._held.get(pieces.name) if held else None
            if there is None and held and not pieces.from_files and self._has_room(pieces):
                there = self._held[pieces.name] = self._hold(pieces)
        if there is not None:
            return {}, list(there)
        return dict(pieces.graph), list(pieces.pieces)

    def _hold(self, pieces: Pieces) -> tuple[Any, ...]:
        name = f"dualgap-block-{self.token}-{len(self._held)}"
        graph = dict(pieces.graph)
        keys = [(name, k) for k in range(len(pieces.pieces))]
        for key, piece in zip(keys, pieces.pieces, strict=True):
            graph[key] = (pieces.prepare, piece, key[1])
        return tuple(self._sent(graph, keys))

    def _sent(self, graph: dict[Any, Any], keys: Any) -> Any:
        """Futures of what a graph gives at a key, or at a list of them."""
        others = [address for address in self._workers() if address not in self.silent]
        where = {"workers": others} if self.silent and others else {}
        return self.client.get(graph, keys, sync=False, **where)

    def _workers(self) -> dict[str, Any]:
        """What the scheduler said last of its workers, by their addresses."""
        return dict(self.client.scheduler_info(n_workers=-1)["workers"])

    def go_round_the_silent(self) -> None:
        """After a time-out: workers that have not been heard of for long get no tasks any more.

        A worker that was stopped is one of the cluster until its scheduler has given it up, which
        takes minutes. What it holds is made again by the others.
        """
        seen = {address: worker["last_seen"] for address, worker in self._workers().items()}
        last = max(seen.values(), default=0.0)
        silent = {
            address for address, at in seen.items() if last - at > SILENT * self.round_timeout
        }
        with self._lock:
            if silent > self.silent:
                self.silent = silent
                self._release()

    def _release(self) -> None:
        """The blocks; what else holds a future, such as a traceback, does not count."""
        for future in chain.from_iterable(self._held.values()):
            future.release()
        self._held.clear()

    def _has_room(self, pieces: Pieces) -> bool:
        """Whether they fit into what workers may take; no limit is room enough."""
        workers = [w for address, w in self._workers().items() if address not in self.silent]
        limits = [worker.get("memory_limit") or math.inf for worker in workers]
        return bool(limits) and pieces.nbytes <= ROOM * sum(limits)

    # ---- waiting ----

    def awaited(self, graph: dict[Any, Any], keys: Any) -> Any:
        """What a graph gives at a key, or at a list of them."""
        self.ledger.rounds += 1
        found = self._sent(graph, keys)
        futures = found if isinstance(found, list) else [found]
        left = min(self.round_timeout, current().deadline - now())
        try:
            results = _gathered(futures, left)
            return results if isinstance(found, list) else results[0]
        except TimeoutError:
            if current().time_is_up:
                raise OutOfTime from None
            raise
        finally:
            for future in futures:
                future.release()


def _gathered(futures: list[Any], seconds: float) -> list[Any]:
    """All results, within a time."""
    until = time.monotonic() + seconds
    return [future.result(timeout=max(0.0, until - time.monotonic())) for future in futures]


class Round:
    """One round; its graph is made anew for each try.

    Parameters
    ----------
    on : OnCluster
    source, task, rows, args
        As executors take them.
    by_rows : bool
        Whether the task takes rows.
    """

    def __init__(
        self,
        on: OnCluster,
        source: Any,
        task: Callable[..., Any],
        rows: RowArrays,
        args: tuple[Any, ...],
        *,
        by_rows: bool,
    ) -> None:
        self.on, self.rows = on, rows
        self.matrix: Pieces | None = getattr(source, "pieces", None)
        columns = -1 if self.matrix is None else self.matrix.shape[1]
        self.places = [
            remote.Place(k, start, stop, columns)
            for k, (start, stop) in enumerate(pairwise(source.cuts.edges))
        ]
        converts = tuple(getattr(values, "convert", None) for values in rows)
        self.sent = remote.Sent(
            task, args, by_rows, converts, source.cuts.rows, np.geterr(), remote.versions()
        )

    def carried_out(self, ending: Callable[[dict[Any, Any], str], Any]) -> Any:
        """What is at the end of the graph, which ``ending`` says."""
        for left in reversed(range(TRIES)):
            name = f"dualgap-part-{self.on.token}-{self.on.ledger.rounds}"
            try:
                graph = self.graph(name, whole=ending == self.whole_parts)
                found = self.on.awaited(graph, ending(graph, name))
            except _lost() as error:
                if not left:
                    raise self._failure(error, name) from error
                if isinstance(error, TimeoutError):
                    _answer(self.on.go_round_the_silent)
                continue
            if self.matrix is not None:
                self.on.ledger.enter(self.places[-1].stop)
            return found
        raise AssertionError("a round ends or fails")

    def graph(self, name: str, *, whole: bool, held: bool = True) -> dict[Any, Any]:
        """The tasks of the partitions.

        Parameters
        ----------
        name : str
            Of the tasks, which are (name, 0), (name, 1), ...
        whole : bool
            Whether they give the rows that they make, and not sums alone.
        held : bool
            Whether blocks that are held may be used, and are held if they can be.
        """
        graph: dict[Any, Any] = {}
        blocks: list[Any] = [None] * len(self.places)
        if self.matrix is not None:
            more, blocks = self.on.placed(self.matrix, held=held)
            graph.update(more)
        vectors = [self._vector(values, graph, held) for values in self.rows]
        send = name.replace("part", "send", 1)
        graph[send] = self.sent
        work = remote.part_rows if whole else remote.part_sums
        for k, place in enumerate(self.places):
            pieces = [vector[k] for vector in vectors]
            graph[name, k] = (work, blocks[k], pieces, place, send)
        return graph

    def _vector(self, values: Any, graph: dict[Any, Any], held: bool) -> Sequence[Any]:
        """The pieces of a vector, by what they are called in the graph; or themselves."""
        source = getattr(values, "source", values)
        if isinstance(source, Pieces):
            more, pieces = self.on.placed(source, held=held)
            graph.update(more)
            return pieces
        return [np.asarray(source[place.start : place.stop]) for place in self.places]

    def whole_parts(self, graph: dict[Any, Any], name: str) -> list[Any]:
        """All partitions come here."""
        return [(name, k) for k in range(len(self.places))]

    def tree(self, graph: dict[Any, Any], name: str) -> Any:
        """The root of a tree; its order is that of `cuts.Tree`, FAN neighbours at a time."""
        level = self.whole_parts(graph, name)
        into = name.replace("part", "add", 1)
        while len(level) > 1:
            groups = [level[k : k + FAN] for k in range(0, len(level), FAN)]
            level = []
            for group in groups:
                if len(group) == 1:
                    level.append(group[0])
                    continue
                key = (into, group[0][1], len(groups))
                graph[key] = (remote.added, *group)
                level.append(key)
        return level[0]

    def _failure(self, error: Exception, name: str) -> RoundFailed:
        """The sentence on a round that has failed for the second time."""
        on = self.on
        where = _answer(lambda: self._unfinished(name)) or self._told_by(error)
        at = f"; it was at {where}" if where else ""
        if isinstance(error, TimeoutError):
            status = "" if on.client.status == "running" else ". The scheduler cannot be reached"
            return RoundTimeout(
                f"a round on the cluster was not done within round_timeout={on.round_timeout:g} "
                f"seconds, {TRIES} times{at}{status}. Look at that worker, or raise round_timeout."
            )
        return RoundFailed(
            f"a round on the cluster has failed {TRIES} times{at}. {type(error).__name__}: {error}"
        )

    def _unfinished(self, name: str) -> str:
        """Partitions that are in work, and where."""
        found = []
        processing = self.on.client.processing()
        for worker in sorted(processing, key=lambda address: address not in self.on.silent):
            keys = processing[worker]
            parts = [self._part(key) for key in keys if _is_of(key, self.on.token)]
            found += [f"{part} on worker {worker}" for part in parts if part]
        more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        return ", ".join(found[:MOST_NAMED]) + more

    def _told_by(self, error: Exception) -> str:
        """What an exception of dask's says of the task and the worker."""
        task, worker = getattr(error, "task", None), getattr(error, "last_worker", None)
        part = self._part(task)
        address = getattr(worker, "address", worker)
        return f"{part} on worker {address}" if part and worker is not None else part

    def _part(self, key: Any) -> str:
        """What a task is about."""
        if not isinstance(key, tuple) or not isinstance(key[-1], int):
            return ""
        if str(key[0]).startswith("dualgap-add"):
            return "a sum of partitions"
        place = self.places[key[1]] if key[1] < len(self.places) else None
        return "" if place is None else f"partition {place.part} (rows from {place.start} on)"


def _is_of(key: Any, token: str) -> bool:
    return isinstance(key, tuple) and token in str(key[0])


def _answer(question: Callable[[], T]) -> T | None:
    """What the scheduler says, if it says anything soon."""
    said: list[T] = []

    def ask() -> None:
        try:
            said.append(question())
        except Exception:  # whatever a cluster that is in trouble does
            return

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(ASKING)
    return said[0] if said else None


def _lost() -> tuple[type[Exception], ...]:
    """What is raised where the cluster is at fault."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm import CommClosedError

    return (TimeoutError, CancelledError, KilledWorker, CommClosedError)
