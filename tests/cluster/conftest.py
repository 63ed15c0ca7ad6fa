"""A cluster of two processes for all tests of this folder, which leave nothing on it."""

from __future__ import annotations

import time

import pytest


def tasks(cluster):
    """Keys that the scheduler knows, once it has heard of what was released."""
    until = time.monotonic() + 10.0
    while cluster.scheduler.tasks and time.monotonic() < until:
        time.sleep(0.02)
    return sorted(map(str, cluster.scheduler.tasks))


@pytest.fixture(scope="package")  # its threads would allocate memory beside other tests
def processes():
    """Two workers, each a process with one thread."""
    import distributed

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as cluster:
        yield cluster


@pytest.fixture
def client(processes):
    """A client, after which the scheduler knows no task."""
    import distributed

    with distributed.Client(processes) as client:
        yield client
        assert tasks(processes) == []
