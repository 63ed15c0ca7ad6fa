"""Rounds of fits on a local Dask cluster: python -m benchmarks cluster [--share 1] [--workers 2].

Prints for each fit to a certified relative gap of 1e-6: rounds, those of its certificate, readings
of the data, seconds a round, and what of these is not the work of the worker that had most to do.
The data are those of `python -m benchmarks disk`, in 16 partitions that stay in the workers; they
are never gathered. --share is that of their full sizes: 2e6 x 100 dense (5e5 where conjugate
gradients are asked for), and 1e6 x 1e5 sparse.

--latency prints instead what a round costs whose tasks do nothing, for 1, 2 and 4 workers.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import dualgap
from benchmarks.cluster_fits import (
    PARTITIONS,
    TIMEOUT,
    data_folder,
    facts,
    local,
    noted,
    observed,
)
from benchmarks.rounds import recorded
from dualgap.algorithms.streamed import newton
from dualgap.designs.alone import RowsAlone
from dualgap.designs.chunks import Chunk
from dualgap.designs.cluster import OnCluster
from dualgap.designs.ledger import Ledger

DENSE, FEWER, SPARSE = 2_000_000, 500_000, 1_000_000
TOL = 1e-6


class Case(NamedTuple):
    """A fit."""

    name: str
    rows: int
    most: int
    """Rounds that it may take."""
    loss: str = "squared"
    l2: float = 0.0
    """Times 1/n."""
    l1: float = 0.0
    """Times the least at which the solution is 0."""
    sparse: bool = False
    by_products: bool = False
    """Whether H is never formed, as with more columns."""


CASES = (
    Case("ridge 1/n", DENSE, 2, l2=1.0),
    Case("logistic 1/n", DENSE, 8, "logistic", l2=1.0),
    Case("logistic 1e-4/n", DENSE, 8, "logistic", l2=1e-4),
    Case("lasso 0.1", DENSE, 15, l1=0.1),
    Case("logistic 1/n, conjugate gradients", FEWER, 30, "logistic", l2=1.0, by_products=True),
    Case("sparse ridge 1/n", SPARSE, 20, l2=1.0, sparse=True),
    Case("sparse logistic 1/n", SPARSE, 30, "logistic", l2=1.0, sparse=True),
)


def fit(case: Case, share: float, base: Path, client: Any) -> str:
    """The row of a table."""
    n = int(case.rows * share)
    folder = data_folder(base, n, case.sparse)
    labels = case.loss == "logistic"
    data = observed(folder, n, case.sparse, labels, client)
    l1 = case.l1 * facts(folder)[f"{'labels' if labels else 'b'}, none"]
    side = 0 if case.by_products else newton.LARGEST_SIDE
    # The only way to see with 100 columns what is done with thousands.
    with mock.patch.object(newton, "LARGEST_SIDE", side), recorded(client) as tasks:
        result = dualgap.solve(data, loss=case.loss, l1=l1, l2=case.l2 / n, tol=TOL)
    rounds = noted(data)
    proofs = sum(r.task == "prove_chunk" for r in rounds)
    apart = sum(r.task not in ("look", "prove_chunk") for r in rounds)
    fitted = [(r, work) for r, work in zip(rounds, tasks.of(rounds), strict=True)]
    loads = next((k for k, r in enumerate(rounds) if r.task == "look"), 0)
    later = fitted[loads + 1 :]  # the first reading loads the blocks, too
    over = [r.seconds - max(work.busy.values(), default=0.0) for r, work in later]
    wall = sum(r.seconds for r in rounds)
    return (
        f"| {case.name} | {n} | {result.status.name} | {result.rounds - proofs} | {case.most} | "
        f"{proofs} | {apart} | {result.readings:.0f} | {result.certificate.relative_gap:.1e} | "
        f"{wall / len(rounds):.2f} | {np.median(over):.3f} |"
    )


def nothing(chunk: Chunk, x: Any) -> Any:
    """No work: a vector as long as the one that is sent."""
    return (x,)


def round_trip(client: Any, partitions: int, columns: int, repeats: int) -> list[float]:
    """Seconds of rounds whose tasks do nothing."""
    executor = OnCluster(client, TIMEOUT, Ledger(1))
    source: Any = RowsAlone(tuple(range(partitions + 1)))
    x, seconds = np.zeros(columns), []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        executor.reduce(source, nothing, (x,))
        seconds.append(time.perf_counter() - began)
    return seconds[1:]


def latencies(repeats: int) -> None:
    """The table of L(K)."""
    print("| workers | partitions | columns | least ms | median ms |")
    print("|" + " --- |" * 5)
    for workers in (1, 2, 4):
        with local(workers) as client:
            for partitions, columns in ((4, 100), (8, 100), (16, 100), (64, 100), (16, 100_000)):
                seconds = np.array(round_trip(client, partitions, columns, repeats)) * 1e3
                print(
                    f"| {workers} | {partitions} | {columns} | {seconds.min():.0f} | "
                    f"{np.median(seconds):.0f} |",
                    flush=True,
                )


def main() -> None:
    """Fit all cases, or measure rounds without work."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--share", type=float, default=0.01, help="of the full sizes")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path("disk-data"))
    parser.add_argument("--only", default="", help="fits whose names have this in them")
    parser.add_argument("--latency", action="store_true")
    parser.add_argument("--repeats", type=int, default=20, help="of --latency")
    options = parser.parse_args()
    if options.latency:
        latencies(options.repeats)
        return
    print(
        "| fit | rows | status | rounds | at most | of the certificate | for targets alone | "
        "readings | gap | s a round | s over the work |"
    )
    print("|" + " --- |" * 11)
    with local(options.workers) as client:
        bare = round_trip(client, PARTITIONS, 100, options.repeats)
        for case in CASES:
            if options.only in case.name:
                print(fit(case, options.share, options.folder, client), flush=True)
    print(
        f"\nA round whose {PARTITIONS} tasks do nothing: {min(bare):.3f} s at least, "
        f"{np.median(bare):.3f} s in the median."
    )


if __name__ == "__main__":
    main()
