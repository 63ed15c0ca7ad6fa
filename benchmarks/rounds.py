"""Rounds of a fit, recorded and played again on another cluster: python -m benchmarks rounds.

A logistic fit on a local cluster is recorded: for each of its rounds what is sent, the seconds of
each task, and what each gives back. Then the rounds are played again, task by task, on other
numbers of workers, with given latency and bandwidth. The scheduler's seconds a task and a round are
those at which rounds without work, of 4 and of 64 partitions, come out as they were measured, and
nothing is fitted to the rounds that are played. The first line plays the cluster that was recorded,
beside what it took; --check records fits on other numbers of workers, too.
"""

from __future__ import annotations

import argparse
import heapq
import math
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import dualgap
from benchmarks.cluster_fits import Noted, data_folder, local, noted, observed
from dualgap.designs.rounds import FAN

PART, ADD = "dualgap-part", "dualgap-add"


@dataclass
class Work:
    """What workers did in a round."""

    parts: dict[int, float] = field(default_factory=dict)
    """Seconds of each partition."""
    busy: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Seconds of each worker."""


class Tasks:
    """What the scheduler has seen: tasks of many rounds."""

    seen: Sequence[dict[str, Any]] = ()

    def of(self, rounds: Sequence[Noted]) -> list[Work]:
        """The work of each round; rounds come one after the other."""
        found = [Work() for _ in rounds]
        starts = np.array([r.began for r in rounds])
        named: dict[str, int] = {}
        tasks = sorted(self.seen, key=lambda task: _span(task)[0])
        for task in tasks:
            kind, number = _name(task["key"])
            if kind not in (PART, ADD):
                continue
            begin, end = _span(task)
            # Clocks of workers are a little off: a round is known by its first partitions.
            at = named.setdefault(number, max(int(np.searchsorted(starts, begin)) - 1, 0))
            found[at].busy[task["worker"]] += end - begin
            if kind == PART:
                found[at].parts[_part(task["key"])] = end - begin
        return found


def _span(task: dict[str, Any]) -> tuple[float, float]:
    """When it was computed."""
    for phase in task["startstops"]:
        if phase["action"] == "compute":
            return phase["start"], phase["stop"]
    return 0.0, 0.0


def _name(key: Any) -> tuple[str, str]:
    """What kind of task it is, and of which round."""
    name = str(key[0] if isinstance(key, tuple) else key)
    kind = "-".join(name.split("-")[:2])
    return kind, name.removeprefix(f"{kind}-")


def _part(key: Any) -> int:
    return int(key[1])


@contextmanager
def recorded(client: Any) -> Iterator[Tasks]:
    """The tasks of what is done meanwhile, as the scheduler reports them."""
    tasks = Tasks()
    client.get_task_stream(start=0, stop=0)  # the scheduler begins to take notes
    began = time.time()
    yield tasks
    tasks.seen = client.get_task_stream(start=began)


class Cluster(NamedTuple):
    """Where rounds are played."""

    workers: int
    latency: float
    """Seconds until a message arrives."""
    bandwidth: float
    """Bytes a second into or out of a worker."""
    a_round: float = 0.0
    """Seconds of the scheduler and the client for each round."""
    a_task: float = 0.0
    """The same for each task."""


class Recorded(NamedTuple):
    """A round, as it is played."""

    seconds: tuple[float, ...]
    """Of each partition's task."""
    sent: int
    returned: int
    measured: float


def play(round_: Recorded, cluster: Cluster) -> float:
    """Seconds of a round: tasks are handed out one by one, sums are made where they can be first.

    What is sent goes from worker to worker along a tree; a worker that adds sums gets those which
    it does not have, one after the other.
    """
    hop = cluster.latency + round_.sent / cluster.bandwidth
    fetch = cluster.latency + round_.returned / cluster.bandwidth
    begin = hop * (1 + math.ceil(math.log2(cluster.workers)))
    clock = cluster.a_round
    free = [(begin, worker) for worker in range(cluster.workers)]
    heapq.heapify(free)
    level = []
    for seconds in round_.seconds:
        clock += cluster.a_task
        at, worker = heapq.heappop(free)
        end = max(at, clock) + seconds
        heapq.heappush(free, (end, worker))
        level.append((end, worker))
    while len(level) > 1:
        above = []
        for k in range(0, len(level), FAN):
            group = level[k : k + FAN]
            where = group[0][1]
            elsewhere = sum(worker != where for _, worker in group)
            ready = max(end for end, _ in group) + elsewhere * fetch
            clock += cluster.a_task
            above.append((max(ready, clock), where) if len(group) > 1 else group[0])
        level = above
    return level[0][0] + fetch


def fitted(rows: int, base: Path, workers: int) -> tuple[list[Recorded], float, float]:
    """The rounds of a fit, and the scheduler's seconds a round and a task."""
    from benchmarks.cluster import round_trip

    with local(workers) as client:
        few, many = (float(np.median(round_trip(client, k, 100, 15))) for k in (4, 64))
        data = observed(data_folder(base, rows, False), rows, False, True, client)
        with recorded(client) as tasks:
            dualgap.solve(data, loss="logistic", l2=1.0 / rows)
        rounds = noted(data)
        found = [
            Recorded(tuple(work.parts.values()), r.sent, r.returned, r.seconds)
            for r, work in zip(rounds, tasks.of(rounds), strict=True)
        ]
    a_task = max(many - few, 0.0) / (_tasks(64) - _tasks(4))
    return found[1:], max(few - _tasks(4) * a_task, 0.0), a_task  # the first one loads the blocks


def _tasks(partitions: int) -> int:
    """Of a round: partitions and sums."""
    count = partitions
    while partitions > 1:
        partitions = math.ceil(partitions / FAN)
        count += partitions
    return count


def main() -> None:
    """Record a fit and play it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--workers", type=int, default=2, help="of the recorded fit")
    parser.add_argument("--check", type=int, nargs="*", default=[], help="other numbers of workers")
    parser.add_argument("--play", type=int, nargs="*", default=[1, 2, 4, 8, 16])
    parser.add_argument("--latency", type=float, default=5e-4, help="seconds")
    parser.add_argument("--bandwidth", type=float, default=1.25e9, help="bytes a second")
    parser.add_argument("--folder", type=Path, default=Path("disk-data"))
    options = parser.parse_args()
    rounds, a_round, a_task = fitted(options.rows, options.folder, options.workers)
    print(
        f"{len(rounds)} rounds of {len(rounds[0].seconds)} tasks; the scheduler takes "
        f"{1e3 * a_round:.0f} ms a round and {1e3 * a_task:.1f} ms a task\n"
    )
    print("| workers | latency ms | GB/s | played s | measured s |")
    print("|" + " --- |" * 5)
    here = {options.workers: sum(r.measured for r in rounds)}
    for workers in options.check:
        here[workers] = sum(r.measured for r in fitted(options.rows, options.folder, workers)[0])
    on_one_machine = [(w, 0.0, math.inf, f"{s:.2f}") for w, s in here.items()]
    given = [(w, options.latency, options.bandwidth, "") for w in options.play]
    for workers, latency, bandwidth, measured in on_one_machine + given:
        cluster = Cluster(workers, latency, bandwidth, a_round, a_task)
        played = sum(play(r, cluster) for r in rounds)
        print(
            f"| {workers} | {1e3 * latency:g} | {bandwidth / 1e9:g} | {played:.2f} | {measured} |"
        )


if __name__ == "__main__":
    main()
