"""Algorithm 5 or 7 in blocks of m rows; the loop is `kernels.minibatch`.

Steps are those of the theorems with n/m for n and m p for p: a pass has n/m iterations, and a row
is in a block with probability about m p (Zhang & Xiao, 2015).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dualgap.algorithms.primal_dual.marshalling import (
    columns_of,
    dual_of,
    every_target,
    loss_of,
    point_of,
    prox_of,
    rows_of,
    steps_of,
)
from dualgap.algorithms.primal_dual.sampling import Stream
from dualgap.algorithms.primal_dual.state import update
from dualgap.problem import Problem
from dualgap.state import State

if TYPE_CHECKING:
    from dualgap.algorithms.primal_dual.spdc import SPDC


def visit_blocks(algorithm: SPDC, problem: Problem, s: State, stream: Stream) -> State:
    """The points after the stream, block by block."""
    from dualgap.kernels import values
    from dualgap.kernels.minibatch import minibatch

    own, m = s.own, algorithm.batch
    steps, ratio = own.steps, algorithm.sampler(problem, own.advice).ratio
    rule = values.FREE if algorithm.dual_free else values.PROX
    assert own.xt is not None
    prox = prox_of(problem, steps.tau, -(-stream.size // m))
    point = point_of(problem, prox, s.x, own.xt, s.u, width=6)
    dual = dual_of(s.y, own.v)._replace(step=np.empty(m), drift=np.empty(m))
    minibatch(
        rows_of(problem), stream, every_target(problem, ratio), loss_of(problem),
        steps_of(steps.sigma, steps.theta, rule), point, dual, np.zeros(problem.size),
    )  # fmt: skip
    x, old, u = columns_of(problem, point)
    return update(s, x=x, xt=old, y=dual.y, u=u, v=dual.v if algorithm.dual_free else None)
