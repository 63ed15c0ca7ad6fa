"""What designs have in common that are made of another one, which holds the data."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Self

from dualgap.designs.chunks import Chunk
from dualgap.designs.contract import Design
from dualgap.designs.cuts import Cuts
from dualgap.designs.executors import Executor


class Composed(Design, counts=True):
    """A design in terms of ``base``: its rows, its cuts, its ledger."""

    base: Design

    def __init__(self, base: Design) -> None:
        self.base, self.ledger = base, base.ledger

    @abstractmethod
    def over(self, base: Design, rows: slice) -> Design:
        """A design that is made of these rows of the base as this one is of the base."""

    @property
    def offers_rows(self) -> bool:
        """The base's."""
        return self.base.offers_rows

    @cached_property
    def cuts(self) -> Cuts:
        """The base's."""
        return self.base.cuts

    @property
    def executor(self) -> Executor:
        """The base's."""
        return self.base.executor

    @property
    def title(self) -> str:
        """The base's: that is what users know."""
        return self.base.title

    @property
    def streams(self) -> bool:
        """The base's."""
        return self.base.streams

    @property
    def reads_once(self) -> bool:
        """The base's."""
        return self.base.reads_once

    def arranged(self, *, cuts: Cuts | None = None, executor: Executor | None = None) -> Self:
        """The base's."""
        other = copy.copy(self)
        other.base = self.base.arranged(cuts=cuts, executor=executor)
        other.cuts = other.base.cuts
        return other

    def chunks(self, part: int) -> Iterator[Chunk]:
        """The base's, each in terms of which this is made."""
        return map(self._over, self.base.chunks(part))  # a loop would hold what it has done with

    def _over(self, chunk: Chunk) -> Chunk:
        whole = chunk.design is self.base
        return Chunk(chunk.rows, self if whole else self.over(chunk.design, chunk.rows))
