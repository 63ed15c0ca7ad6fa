"""What happens to a cluster does not happen to the answer: the same bits, or an error in time."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

import dualgap
from dualgap.designs import DaskDesign, cluster
from dualgap.designs.cluster import RoundFailed, RoundTimeout
from tests.cluster.conftest import tasks
from tests.cluster.test_fits import assert_same_bits, in_blocks, lazy
from tests.streamed.data import TARGETS, A

distributed = pytest.importorskip("distributed", reason="fits on a cluster need the extra dask")
SIGNS = TARGETS["logistic"]
PROBLEM = {"loss": "logistic", "l2": 1e-6, "fit_intercept": True, "tol": 1e-9}


def fit(client, seconds=60.0, callback=None, values=None):
    design = DaskDesign(lazy(A) if values is None else values, client=client, round_timeout=seconds)
    return dualgap.solve(design, lazy(SIGNS), callback=callback, **PROBLEM)


@pytest.fixture(scope="module")
def expected():
    design = DaskDesign(lazy(A))
    return dualgap.solve(in_blocks(A, design), SIGNS, n_threads=1, **PROBLEM)


def process_of(processes, number):
    return list(processes.workers.values())[number].process.process


def at_check(number, action):
    """A callback that does something at a check, some time into the round that follows."""
    seen = []

    def callback(snapshot):
        seen.append(snapshot)
        if len(seen) == number:
            threading.Timer(0.01, action).start()

    return callback


@pytest.mark.parametrize("fits", [True, False], ids=["held", "made anew"])
def test_a_killed_worker_does_not_matter(fits, client, processes, expected, monkeypatch):
    client.wait_for_workers(2, timeout=60)
    if not fits:
        monkeypatch.setattr(cluster, "ROOM", 0.0)
    pid = process_of(processes, int(fits)).pid
    found = fit(client, callback=at_check(2, lambda: os.kill(pid, signal.SIGKILL)))
    assert_same_bits(found, expected)
    client.wait_for_workers(2, timeout=60)


def test_blocks_need_not_stay_in_memory(client, expected, monkeypatch):
    monkeypatch.setattr(cluster, "ROOM", 0.0)
    assert_same_bits(fit(client), expected)


@pytest.mark.slow
def test_a_stopped_worker_is_gone_round(client, processes, expected):
    client.wait_for_workers(2, timeout=60)
    pid = process_of(processes, 0).pid
    try:
        found = fit(client, 8.0, at_check(2, lambda: os.kill(pid, signal.SIGSTOP)))
    finally:
        os.kill(pid, signal.SIGCONT)
    assert_same_bits(found, expected)
    assert found.rounds > fit(client).rounds


@pytest.mark.slow
def test_where_all_are_stopped_there_is_an_error_in_time(client, processes):
    client.wait_for_workers(2, timeout=60)
    pids = [process_of(processes, number).pid for number in (0, 1)]

    def stop():
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)

    try:
        with pytest.raises(RoundTimeout, match=r"round_timeout=2 seconds, 2 times\. It .* tcp"):
            fit(client, 2.0, at_check(3, stop))
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.slow
def test_a_block_that_kills_its_workers_is_named(client, processes, monkeypatch):
    client.wait_for_workers(2, timeout=60)
    monkeypatch.setattr(processes.scheduler, "allowed_failures", 0)

    def deadly(block, block_info=None):
        if block_info[0]["chunk-location"][0] == 2 and len(block):
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    with pytest.raises(
        RoundFailed, match=r"failed twice. It was at block \d of .* on worker tcp.*KilledWorker"
    ):
        fit(client, values=lazy(A).map_blocks(deadly, dtype=float, meta=np.empty((0, 0))))
    client.wait_for_workers(2, timeout=60)


def test_an_error_while_blocks_are_made_is_told_as_it_is(client, processes):
    def broken(block, block_info=None):
        if len(block) and block_info[0]["chunk-location"][0] == 3:
            raise FileNotFoundError("part-3 is not there")
        return block

    with pytest.raises(FileNotFoundError, match="part-3") as caught:
        fit(client, values=lazy(A).map_blocks(broken, dtype=float, meta=np.empty((0, 0))))
    assert caught.value.__notes__ == ["It was in partition 3."]
    assert tasks(processes) == []


def test_two_fits_at_once_keep_out_of_each_others_way(processes, expected):
    with distributed.Client(processes) as one, distributed.Client(processes) as other:
        design = DaskDesign(lazy(A), client=one)
        found = {}

        def run(name, data):
            found[name] = dualgap.solve(data, lazy(SIGNS), **PROBLEM)

        threads = [
            threading.Thread(target=run, args=(k, data))
            for k, data in enumerate((design, design, DaskDesign(lazy(A), client=other)))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for k in range(3):
            np.testing.assert_array_equal(found[k].x, expected.x)
            assert found[k].certificate.gap == expected.certificate.gap
        assert tasks(processes) == []


def test_a_lost_connection_is_an_error(processes):
    client = distributed.Client(processes)
    with pytest.raises(RoundFailed, match="scheduler cannot be reached"):
        fit(client, callback=at_check(1, client.close))


def test_the_time_limit_of_a_call_ends_a_round(client, monkeypatch):
    """Rounds take half a second; there is a point, and a proof of it, all the same."""
    monkeypatch.setattr(cluster, "ROOM", 0.0)

    def slow(block):
        time.sleep(0.2 * bool(len(block)))
        return block

    values = lazy(A).map_blocks(slow, dtype=float, meta=np.empty((0, 0)))
    problem = dualgap.Problem(DaskDesign(values, client=client), lazy(SIGNS), loss="logistic", l2=1)
    result = problem.solve(max_time=0.1)
    assert result.status is dualgap.Status.TIME_LIMIT and result.certificate.certified


@pytest.mark.parametrize("workers", [1, 3])
def test_the_number_of_workers_decides_on_no_bit(workers, expected):
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=workers, processes=False, dashboard_address=":0"
        ) as threads,
        distributed.Client(threads) as client,
    ):
        assert_same_bits(fit(client), expected)
        assert tasks(threads) == []
