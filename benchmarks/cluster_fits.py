"""Fits on a local cluster for benchmarks: the data as dask has them, and what each round took."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks.disk import SPARSE_COLUMNS, make
from dualgap.designs import DaskDesign, Observations
from dualgap.designs.cluster import OnCluster
from dualgap.designs.collections import Matrix
from dualgap.designs.ledger import Ledger
from dualgap.designs.remote import packed

PARTITIONS = 16
TIMEOUT = 600.0


class Noted(NamedTuple):
    """A round."""

    task: str
    """The name of what is done with each chunk."""
    seconds: float
    """Wall time."""
    sent: int
    """Bytes that each partition gets."""
    returned: int
    """Bytes of a sum."""
    began: float
    """By the clock of this process, as `time.time` has it."""


class Noting(OnCluster):
    """An executor that notes what each round takes."""

    rounds: list[Noted]

    def _noted(self, task: Any, args: Any, act: Any) -> Any:
        began, clock = time.time(), time.perf_counter()
        found = act()
        seconds = time.perf_counter() - clock
        sums = found[1] if type(found) is tuple and len(found) == 2 else found
        back = len(pickle.dumps(packed(sums)))
        self.rounds.append(Noted(task.__name__, seconds, len(pickle.dumps(args)), back, began))
        return found

    def reduce(self, source: Any, task: Any, args: Any) -> Any:
        """As it is."""
        return self._noted(task, args, lambda: super(Noting, self).reduce(source, task, args))

    def sum_rows(self, source: Any, task: Any, rows: Any, args: Any) -> Any:
        """As it is."""
        act = super().sum_rows
        return self._noted(task, args, lambda: act(source, task, rows, args))

    def map_rows(self, source: Any, task: Any, rows: Any, args: Any) -> Any:
        """As it is."""
        act = super().map_rows
        return self._noted(task, args, lambda: act(source, task, rows, args))


@contextmanager
def local(workers: int) -> Iterator[Any]:
    """The client of so many processes with one thread each."""
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(workers)
        yield client


def dense_rows(folder: str, start: int, stop: int) -> Any:
    """Some rows of A.npy, in memory."""
    return np.array(np.load(Path(folder) / "A.npy", mmap_mode="r")[start:stop])


def sparse_rows(folder: str, start: int, stop: int) -> Any:
    """Some rows of a CSR matrix, in memory."""
    data, indices, indptr = (
        np.load(Path(folder) / f"{name}.npy", mmap_mode="r")
        for name in ("data", "indices", "indptr")
    )
    ends = np.array(indptr[start : stop + 1])
    low, high = int(ends[0]), int(ends[-1])
    parts = np.array(data[low:high]), np.array(indices[low:high]), (ends - low).astype(np.int32)
    return sp.csr_array(parts, shape=(stop - start, SPARSE_COLUMNS))


def entries(folder: str, name: str, start: int, stop: int) -> Any:
    """Some entries of a vector."""
    return np.array(np.load(Path(folder) / f"{name}.npy", mmap_mode="r")[start:stop])


def matrix(folder: Path, rows: int, sparse: bool, partitions: int = PARTITIONS) -> Any:
    """The first rows of a folder that `benchmarks.disk` has made, as an array of dask."""
    import dask
    import dask.array as da

    act = dask.delayed(sparse_rows if sparse else dense_rows, pure=True)
    columns = SPARSE_COLUMNS if sparse else np.load(folder / "A.npy", mmap_mode="r").shape[1]
    meta = sp.csr_array((0, columns)) if sparse else np.empty((0, columns))
    return da.concatenate(
        [
            da.from_delayed(act(str(folder.resolve()), a, b), shape=(b - a, columns), meta=meta)
            for a, b in cuts(rows, partitions)
        ]
    )


def vector(folder: Path, name: str, rows: int, partitions: int = PARTITIONS) -> Any:
    """The first entries of one of its vectors, in the same pieces."""
    import dask
    import dask.array as da

    act, where = dask.delayed(entries, pure=True), str(folder.resolve())
    return da.concatenate(
        [
            da.from_delayed(act(where, name, a, b), shape=(b - a,), meta=np.empty(0))
            for a, b in cuts(rows, partitions)
        ]
    )


def cuts(rows: int, partitions: int) -> list[tuple[int, int]]:
    """Where partitions begin and end."""
    return list(pairwise(np.linspace(0, rows, partitions + 1).astype(int).tolist()))


def data_folder(base: Path, rows: int, sparse: bool) -> Path:
    """Data of `benchmarks.disk`, made unless they are there."""
    folder = base / f"{'sparse' if sparse else 'dense'}-{rows}"
    make(folder, rows, sparse)
    return folder


def observed(folder: Path, rows: int, sparse: bool, labels: bool, client: Any) -> Observations:
    """Matrix and targets, whose rounds are noted."""
    ledger = Ledger(1)
    executor = Noting(client, TIMEOUT, ledger)
    executor.rounds = []
    design = DaskDesign.of(Matrix(matrix(folder, rows, sparse), executor, ledger))
    b = vector(folder, "labels" if labels else "b", rows)
    return Observations(design, design.vectors(b, None, None)[0])


def noted(data: Observations) -> list[Noted]:
    """What was noted."""
    rounds: list[Noted] = data.design.executor.rounds
    return rounds


def facts(folder: Path) -> dict[str, float]:
    """Such as the least l1 at which the solution is 0."""
    found: dict[str, float] = json.loads((folder / "facts.json").read_text())
    return found
