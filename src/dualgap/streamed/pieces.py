"""A chunk of rows as a small problem of its own, for whoever is written for rows that are held."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from dualgap._types import Array
from dualgap.designs import Design, InterceptDesign
from dualgap.designs.chunks import Chunk
from dualgap.designs.dense import DenseRows
from dualgap.problem import Problem
from dualgap.streamed.first_look import Form


def framed(problem: Problem) -> Problem:
    """The problem without its data, to which a chunk adds its own."""
    frame = copy.copy(problem)
    for name in ("primal_at_zero", "null_model", "is_solved_by_null", "free_span"):
        frame.__dict__.pop(name, None)
    nothing: Any = None
    frame.base = frame.design = frame.constants = nothing
    frame.b = frame.q = frame.sample_weight = frame.offset = frame.streamed = nothing
    return frame


def piece_of(chunk: Chunk, rows: tuple[Array, ...], frame: Problem, form: Form) -> Problem:
    """The problem of these rows, whose weights stay what they are: q is w."""
    piece = copy.copy(frame)
    piece.n = chunk.shape[0]
    piece.b, piece.sample_weight, piece.offset = form.split(rows)
    piece.q = np.ones(piece.n) if piece.sample_weight is None else piece.sample_weight
    base: Design = chunk.design if chunk.design.is_sparse else DenseRows(chunk.dense())
    piece.base = piece.design = base
    if frame.fit_intercept:
        piece.design = InterceptDesign(base, piece.q, 1.0)
    return piece
