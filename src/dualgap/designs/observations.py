"""A design together with what is known of its rows: targets, weights, offsets, and names.

Whatever takes ``A, b`` takes one of these in the place of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from dualgap._types import Array
from dualgap.designs.collections import is_dask
from dualgap.designs.contract import Design
from dualgap.designs.dask import DaskDesign, observed


@dataclass(frozen=True, eq=False)
class Observations:
    """Rows and what belongs to them; ``A, b = observations`` takes them apart.

    Attributes
    ----------
    design : Design
        The rows.
    b : array of shape (n,) or None
        Targets, or codes of classes; None where there are none.
    weights : array of shape (n,) or None
        Weights of the rows.
    offset : array of shape (n,) or None
        What is added to predictions.
    columns : list of str or None
        The names of the columns.
    classes : list of str or None
        What the codes 0, 1, ... in b stand for.
    """

    design: Design
    b: Array | None
    weights: Array | None = None
    offset: Array | None = None
    columns: list[str] | None = None
    classes: list[str] | None = None

    def __iter__(self) -> Iterator[Any]:
        """The design, then b."""
        return iter((self.design, self.b))

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the design."""
        return self.design.shape


def taken_apart(A: Any, b: Any, sample_weight: Any, offset: Any) -> tuple[Any, Any, Any, Any]:
    """Matrix, targets, weights and offset; what is given beside observations goes before theirs."""
    if isinstance(A, Observations):
        b = A.b if b is None else b
        sample_weight = A.weights if sample_weight is None else sample_weight
        offset = A.offset if offset is None else offset
        A = A.design
    if b is None:
        raise TypeError("b is missing: the targets, one value per row of A.")
    if is_dask(A):
        return observed(A, b, sample_weight, offset)
    if isinstance(A, DaskDesign):
        return A, *A.vectors(b, sample_weight, offset)
    return A, b, sample_weight, offset


def spent_on(A: Any) -> tuple[float, int]:
    """Readings and rounds of data so far; none of data that are no design yet."""
    design = A.design if isinstance(A, Observations) else A
    return (
        (design.ledger.readings, design.ledger.rounds) if isinstance(design, Design) else (0.0, 0)
    )


def in_use(A: Any) -> AbstractContextManager[None]:
    """The call that this is part of, as `Design.in_use`."""
    return A.in_use() if isinstance(A, Design) else nullcontext()
