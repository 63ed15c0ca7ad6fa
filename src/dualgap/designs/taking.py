"""What a user gives, taken apart: matrix, targets, weights and offset, whatever they come in."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from dualgap.designs import DaskDesign, Design, Observations, as_design
from dualgap.designs.collections import LOGGER, Matrix, is_dask
from dualgap.designs.dask import Options, matrix_of, options

GATHERED = 500_000_000
"""Data of fewer bytes are gathered: a round costs more than a reading of them in memory."""


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
    if not isinstance(design, Design):
        return 0.0, 0
    ledger = as_design(design).ledger  # once it was looked at whether it is one
    return ledger.readings, ledger.rounds


def in_use(A: Any) -> AbstractContextManager[None]:
    """The call that this is part of, as `Design.in_use`."""
    return A.in_use() if isinstance(A, Design) else nullcontext()


def observed(
    A: Any,
    b: Any,
    sample_weight: Any,
    offset: Any,
    asked: Options | None = None,
) -> tuple[Any, Any, Any, Any]:
    """Matrix, targets, weights and offset of dask, as a fit takes them.

    Parameters
    ----------
    A : dask array or data frame
    b, sample_weight, offset : dask or other arrays, optional
    asked : Options, optional
        By default what dask's configuration says.

    Returns
    -------
    tuple
        A design and pieces; or arrays in memory, if the data are small and may be gathered.
    """
    asked = options() if asked is None else asked
    matrix = matrix_of(A, asked)
    if _is_gathered(matrix, asked):
        return _gathered(matrix, b, sample_weight, offset)
    design = DaskDesign.of(matrix)
    return design, *design.vectors(b, sample_weight, offset)


def at_rest(A: Any) -> DaskDesign | None:
    """A collection of dask as a design, unless it is small enough to be gathered."""
    asked = options()
    matrix = matrix_of(A, asked)
    return None if _is_gathered(matrix, asked) else DaskDesign.of(matrix)


def brought(A: Any, *vectors: Any) -> tuple[Any, ...]:
    """A collection of dask in memory as an array or a CSR matrix, with its vectors; said, too."""
    matrix = matrix_of(A, options())
    whole = matrix.whole()
    LOGGER.info(_note(matrix))
    return whole, *(np.asarray(v.compute()) if is_dask(v) else v for v in vectors)


def _is_gathered(matrix: Matrix, asked: Options) -> bool:
    return asked.gather is True or (asked.gather == "auto" and matrix.nbytes < GATHERED)


def _note(matrix: Matrix) -> str:
    return (
        f"the data, {matrix.nbytes / 1e6:.3g} MB in {len(matrix.kept)} blocks of dask, were "
        "gathered into memory; dualgap.open(A, b, gather=False) leaves them where they are."
    )


def _gathered(matrix: Matrix, *vectors: Any) -> tuple[Any, ...]:
    """In memory, with a note that says so."""
    design = as_design(matrix.whole())
    note = _note(matrix)
    LOGGER.info(note)
    design.notes = (note,)
    design.ledger.rounds += matrix.ledger.rounds
    return design, *(np.asarray(v.compute()) if is_dask(v) else v for v in vectors)
