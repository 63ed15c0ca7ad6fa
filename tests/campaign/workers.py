"""Problems examined one by one, or in several processes side by side."""

import multiprocessing
from collections.abc import Iterator
from typing import Any

from .examine import examine
from .problems import generate
from .warm import warm_up


def examined(problem: tuple[str, int, int]) -> dict[str, Any]:
    """The record of a problem by family, seed and index."""
    return examine(generate(*problem)).record()


def results(todo: list[tuple[str, int, int]], jobs: int) -> Iterator[dict[str, Any]]:
    """The records as they come, in any order."""
    if jobs == 1:
        warm_up()
        yield from map(examined, todo)
        return
    fresh = multiprocessing.get_context("spawn")  # compiled kernels and forks do not mix
    with fresh.Pool(jobs, initializer=warm_up) as pool:
        yield from pool.imap_unordered(examined, todo, chunksize=4)
