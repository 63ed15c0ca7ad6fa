"""What happens to a Dask cluster, at random moments, and what becomes of the fit that runs on it.

    python -m benchmarks chaos --kills 50

Each fit has to end with the bits of the undisturbed one, or with an error that says what happened,
within the deadline: two tries of a round and what it takes to start a process. After each of them
the scheduler has to know no task, and its workers to hold nothing.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import dualgap
from dualgap.designs import DaskDesign
from dualgap.designs.cluster import RoundFailed

ROWS, COLUMNS, BLOCKS = 120_000, 40, 12
TIMEOUT = 15.0
"""Seconds that a round may take here."""
SPARE = 20.0
"""Seconds that the deadline of a fit has beyond two tries of a round."""
FITS: tuple[dict[str, Any], ...] = (
    {"loss": "logistic", "l2": 1e-6, "fit_intercept": True, "tol": 1e-9},
    {"loss": "squared", "l1": 1e-2, "tol": 1e-9},
    {"loss": "huber", "l1": 1e-3, "l2": 1e-3, "fit_intercept": True, "tol": 1e-9},
)
MEMORY = 400_000_000
"""Bytes that a worker may take in the trial without memory."""


def data(slow: float = 0.0) -> tuple[Any, Any]:
    """A matrix whose blocks the workers make, and its targets."""
    import dask.array as da

    def made(block: Any, block_info: Any = None) -> Any:
        time.sleep(slow)
        number = block_info[0]["chunk-location"][0] if block_info else 0
        return np.random.default_rng(number).standard_normal(block.shape)

    rows = ROWS // BLOCKS
    A = da.zeros((ROWS, COLUMNS), chunks=(rows, -1)).map_blocks(made, dtype=float)
    noise = np.random.default_rng(BLOCKS).standard_normal(ROWS)
    return A, da.where(A[:, 0] + da.from_array(noise, chunks=rows) > 0.0, 1.0, -1.0)


def fitted(
    client: Any, options: dict[str, Any], timeout: float = TIMEOUT, given: Any = None
) -> Any:
    """What is compared: coefficients, intercept, and what was proved."""
    A, b = data() if given is None else given
    found = dualgap.solve(DaskDesign(A, client=client, round_timeout=timeout), b, **options)
    proof = found.certificate
    return found.x.tobytes(), np.asarray(found.intercept).tobytes(), proof.gap.hex(), found.status


@dataclass
class Row:
    """What one kind of disturbance has led to."""

    name: str
    same: int = 0
    errors: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    """Other bits, other errors, no end, or something left behind."""
    longest: float = 0.0

    def run(self, fit: Callable[[], Any], expected: Any, deadline: float) -> None:
        """One fit, which happens in a thread so that a hang is seen."""
        ended: list[Any] = []

        def work() -> None:
            try:
                ended.append(fit())
            except RoundFailed as error:
                ended.append(error)
            except BaseException as error:
                ended.append(error)

        began = time.monotonic()
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(deadline)
        self.longest = max(self.longest, time.monotonic() - began)
        if not ended:
            self.wrong.append(f"no end after {deadline:g} s")
        elif isinstance(ended[0], RoundFailed):
            self.errors.append(str(ended[0]))
        elif isinstance(ended[0], BaseException):
            self.wrong.append(f"{type(ended[0]).__name__}: {ended[0]}")
        elif ended[0] == expected:
            self.same += 1
        else:
            self.wrong.append("other bits")

    def __str__(self) -> str:
        """A line of the table."""
        runs = self.same + len(self.errors) + len(self.wrong)
        return (
            f"{self.name:<34}{runs:>6}{self.same:>11}{len(self.errors):>14}"
            f"{len(self.wrong):>7}{self.longest:>11.1f}"
        )


class Cluster:
    """Two processes, and who is killed."""

    def __init__(self, **options: Any) -> None:
        from distributed import Client, LocalCluster

        self.cluster = LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", **options
        )
        self.client = Client(self.cluster)
        self.signals = self.replaced = 0

    def close(self) -> None:
        """End it."""
        self.client.close()
        self.cluster.close()

    def pid(self, number: int) -> int | None:
        """Of a worker that the scheduler knows.

        One that dies while it starts is not started again: its nanny gives up.
        """
        nannies = list(self.cluster.workers.values())
        nanny = nannies[number % len(nannies)]
        if nanny.worker_address not in self.cluster.scheduler.workers:
            return None
        return getattr(getattr(nanny.process, "process", None), "pid", None)

    def send(self, number: int, what: signal.Signals) -> None:
        """A signal to a worker; to another one if it has just died."""
        pid = self.pid(number) or self.pid(number + 1)
        if pid is not None:
            try:
                os.kill(pid, what)
            except ProcessLookupError:
                return
            self.signals += 1

    def ready(self, workers: int = 2) -> None:
        """Wait until all workers are there; what a nanny has given up is replaced."""
        try:
            self.client.wait_for_workers(workers, timeout=30)
        except TimeoutError:
            self.replaced += 1
            self.cluster.scale(0)
            self.cluster.scale(workers)
            self.client.wait_for_workers(workers, timeout=60)

    def left(self) -> str:
        """What of fits is still there, once the scheduler has heard of what was released."""
        scheduler, until = self.cluster.scheduler, time.monotonic() + 15.0
        while time.monotonic() < until:
            held = sum(worker.nbytes for worker in list(scheduler.workers.values()))
            if not scheduler.tasks and not held:
                return ""
            time.sleep(0.05)
        return f"{len(scheduler.tasks)} tasks and {held} bytes are left"


@contextmanager
def after(seconds: float, action: Callable[[], Any]) -> Any:
    """Something that happens meanwhile."""
    timer = threading.Timer(seconds, action)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def disturbed(
    there: Cluster,
    row: Row,
    options: dict[str, Any],
    expected: Any,
    moment: float,
    action: Callable[[], Any],
    timeout: float = TIMEOUT,
) -> None:
    """One fit to which something happens, and a look at what is left of it."""
    there.ready()
    with after(moment, action):
        row.run(lambda: fitted(there.client, options, timeout), expected, 2 * timeout + SPARE)
    if left := there.left():
        row.wrong.append(left)


def on_one_cluster(kills: int, rng: random.Random) -> list[Row]:
    """What happens to workers and clients."""
    there = Cluster()
    expected, seconds = [], []
    for options in FITS:
        began = time.monotonic()
        fitted(there.client, options)
        middle = time.monotonic()
        expected.append(fitted(there.client, options))
        seconds.append(time.monotonic() - middle)
        took = f"{middle - began:.2f} s, then {seconds[-1]:.2f} s"
        print(f"undisturbed, {options['loss']}: {took}", flush=True)
    rows = []

    def trials(name: str, count: int, happens: Callable[[], Any], timeout: float = TIMEOUT) -> None:
        rows.append(Row(name))
        for k in range(count):
            which = k % len(FITS)
            moment = rng.uniform(0.0, seconds[which])
            disturbed(there, rows[-1], FITS[which], expected[which], moment, happens, timeout)
        print(rows[-1], flush=True)

    def kill() -> None:
        there.send(rng.randrange(2), signal.SIGKILL)

    def two_in_turn() -> None:
        there.send(0, signal.SIGKILL)
        time.sleep(rng.uniform(0.0, 0.5))
        there.send(1, signal.SIGKILL)

    paused: list[int | None] = []

    def pause() -> None:
        paused.append(there.pid(0))
        there.send(0, signal.SIGSTOP)
        go_on = threading.Timer(12.0, there.send, (0, signal.SIGCONT))
        go_on.daemon = True
        go_on.start()

    trials("a worker killed", kills, kill)
    trials("two killed in turn", 6, two_in_turn)
    trials("a worker added", 3, lambda: there.cluster.scale(3))
    there.cluster.scale(2)
    trials("a worker paused for 12 s", 3, pause, 5.0)
    time.sleep(12.0)
    there.ready()

    rows.append(Row("two fits at once, one killed"))
    for _ in range(3):
        there.ready()
        with after(rng.uniform(0.0, seconds[0]), kill):
            other = Row("")
            work = (lambda: fitted(there.client, FITS[0]), expected[0], 2 * TIMEOUT + SPARE)
            thread = threading.Thread(target=other.run, args=work)
            thread.start()
            rows[-1].run(lambda: fitted(there.client, FITS[1]), expected[1], work[2])
            thread.join()
        rows[-1].same += other.same
        rows[-1].errors += other.errors
        rows[-1].wrong += other.wrong + [left for left in (there.left(),) if left]
    print(rows[-1], flush=True)

    rows.append(Row("the client disconnected"))
    for k in range(3):
        from distributed import Client

        client = Client(there.cluster)
        with after(rng.uniform(0.1, 0.9) * seconds[k], client.close):
            row_fit = lambda client=client, k=k: fitted(client, FITS[k])  # noqa: E731
            rows[-1].run(row_fit, expected[k], 2 * TIMEOUT + SPARE)
        client.close()
        if left := there.left():
            rows[-1].wrong.append(left)
    print(rows[-1], flush=True)
    print(f"{there.signals} signals were sent; workers were replaced {there.replaced} times")
    there.close()
    return rows


def without_memory() -> Row:
    """A block that takes more memory than workers have: they die of it wherever it is made."""
    there, row = Cluster(memory_limit=MEMORY), Row("a worker out of memory")

    def huge(block: Any, block_info: Any = None) -> Any:
        if block_info and block_info[0]["chunk-location"][0] == 2 and len(block):
            hoard = []
            for _ in range(30):
                hoard.append(np.ones(MEMORY // 80))
                time.sleep(0.05)
            time.sleep(5.0)
        return block

    A, b = data()
    given = A.map_blocks(huge, dtype=float, meta=np.empty((0, 0))), b
    row.run(lambda: fitted(there.client, FITS[0], 30.0, given), None, 60.0 + SPARE)
    if left := there.left():
        row.wrong.append(left)
    print(row, flush=True)
    there.close()
    return row


def without_scheduler(rng: random.Random) -> Row:
    """A scheduler that is a process of its own, and is killed."""
    from distributed import Client

    row = Row("the scheduler killed")
    for k in range(3):
        with tempfile.TemporaryDirectory() as folder:
            where = str(Path(folder) / "scheduler.json")
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            begin = [sys.executable, "-m", "dask"]
            options = ["--scheduler-file", where]
            scheduler = subprocess.Popen(
                [*begin, "scheduler", *options, "--host", "127.0.0.1", "--port", "0",
                 "--dashboard-address", ":0"], **quiet,
            )  # fmt: skip
            worker = subprocess.Popen(
                [*begin, "worker", *options, "--no-dashboard", "--nthreads", "1", "--no-nanny",
                 "--death-timeout", "10"], **quiet,
            )  # fmt: skip
            try:
                with Client(scheduler_file=where, timeout=30) as client:
                    client.wait_for_workers(1, timeout=60)
                    expected = fitted(client, FITS[k])
                    began = time.monotonic()
                    fitted(client, FITS[k])
                    moment = rng.uniform(0.1, 0.9) * (time.monotonic() - began)
                    with after(moment, scheduler.kill):
                        fit = lambda client=client, k=k: fitted(client, FITS[k])  # noqa: E731
                        row.run(fit, expected, 2 * TIMEOUT + SPARE)
            finally:
                for process in (scheduler, worker):
                    process.kill()
                    process.wait()
    print(row, flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks chaos", description=__doc__)
    parser.add_argument("--kills", type=int, default=50, help="of one worker, at random moments")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    import dask

    # Workers wait so long for one that is dead; 30 s are the default.
    dask.config.set({"distributed.comm.timeouts.connect": "5s"})
    rng = random.Random(given.seed)
    print(f"{'what happens':<34}{'fits':>6}{'same bits':>11}{'clear errors':>14}"
          f"{'wrong':>7}{'longest, s':>11}")  # fmt: skip
    rows = [*on_one_cluster(given.kills, rng), without_memory(), without_scheduler(rng)]
    print()
    for row in rows:
        for said in sorted({*row.errors, *row.wrong}):
            print(f"{row.name}: {said}")
    sys.exit(any(row.wrong for row in rows))


if __name__ == "__main__":
    main()
