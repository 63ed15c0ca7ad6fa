"""Algorithm 5 or 7 in blocks of m rows; the loop is `kernels.minibatch`.

Steps are those of the theorems with n/m for n and m p for p: a pass has n/m iterations, and a row
is in a block with probability about m p (Zhang & Xiao, 2015).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dualgap.algorithms.primal_dual.randomised import power_tables, sparse_lines
from dualgap.algorithms.primal_dual.sampling import Rows
from dualgap.algorithms.primal_dual.state import update
from dualgap.problem import Problem
from dualgap.state import State

if TYPE_CHECKING:
    from dualgap.algorithms.primal_dual.spdc import SPDC


def visit_blocks(algorithm: SPDC, problem: Problem, s: State, stream: Rows) -> State:
    """The points after the stream, block by block."""
    from dualgap.kernels.minibatch import minibatch_csr, minibatch_dense

    own, m = s.own, algorithm.batch
    sampler = algorithm.sampler(problem, own.advice)
    steps, g, loss, rows = own.steps, problem.elastic_net, problem.loss, problem.design.rows()
    assert own.xt is not None
    y = s.y.copy()
    v = own.v.copy() if own.v is not None else np.zeros(0)
    offset = np.zeros(problem.n) if problem.offset is None else problem.offset
    step, drift = np.empty(m), np.empty(m)
    if rows.dense is not None:
        x, old, u = s.x.copy(), own.xt.copy(), s.u.copy()
        minibatch_dense(
            rows.dense, rows.constant, problem.b, offset, stream, m, problem.q, sampler.ratio,
            steps.sigma, x, old, u, y, v, steps.tau, steps.theta, g.l1, g.l2,
            loss.code, loss.parameter, algorithm.dual_free, np.empty(x.size), step, drift,
        )  # fmt: skip
    else:
        lines = sparse_lines(problem.d, s.x, own.xt, s.u, width=6)
        l1, l2 = np.zeros(problem.d + 1), np.zeros(problem.d + 1)
        l1[: g.l1.size], l2[: g.l2.size] = g.l1, g.l2
        C, H = power_tables(steps.tau, g.l2[: problem.d], -(-stream.size // m))
        minibatch_csr(
            rows.data, rows.indices, rows.indptr, rows.constant, problem.b, offset, stream, m,
            problem.q, sampler.ratio, steps.sigma, lines, y, v, steps.tau, steps.theta, l1, l2,
            C, H, loss.code, loss.parameter, algorithm.dual_free, step, drift,
        )  # fmt: skip
        x, old, u = (np.ascontiguousarray(lines[: problem.size, k]) for k in range(3))
    return update(s, x=x, xt=old, y=y, u=u, v=v if algorithm.dual_free else None)
