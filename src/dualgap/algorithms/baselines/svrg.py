"""SVRG (Johnson & Zhang 2013), proximal (Xiao & Zhang 2014): a randomised baseline.

Lc = R^2/gamma, tau = 0.1/Lc, N = 2n (``check_every`` passes). For each outer loop, from the
snapshot x:

    1.  y <- phi'(A x),  u <- A'Qy                              the full gradient
    2.  w <- x;  N times: pick k with probability p_k,
            w <- prox_{tau g}(w - tau (u + (q_k/p_k)(phi_k'(a_k'w) - y_k) a_k))
    3.  x <- w

An outer loop is three passes: line 1 stores the snapshot's y, so line 2 visits each drawn row
once. Line 1 gives z = A x as well, hence P(x), and y is a dual point: the check is free. Line 3
takes the last iterate, Johnson & Zhang's practical choice (their Option I); Xiao & Zhang's theorem
is about the average of the iterates. Step and period are those of Xiao & Zhang's experiments.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap._types import Array
from dualgap.algorithms.contract import NO_ADVICE, Advice, Start
from dualgap.algorithms.primal_dual.family import with_dual
from dualgap.algorithms.primal_dual.randomised import (
    Randomised,
    distinct_rows,
    power_tables,
    randomised_start,
    sparse_lines,
)
from dualgap.algorithms.primal_dual.sampling import Rows
from dualgap.algorithms.primal_dual.schedules import Steps
from dualgap.algorithms.primal_dual.state import update
from dualgap.problem import Problem
from dualgap.state import State, replace


@dataclass(frozen=True)
class Snapshots(Randomised):
    """Base of the methods with an inner loop between two full gradients.

    Parameters
    ----------
    sampling, seed
        See `Randomised`.
    check_every : int
        Passes of an inner loop, N/n.
    """

    @property
    def passes_per_step(self) -> float:
        """Passes of an inner loop, and the one of the full gradient."""
        return self.check_every + 1.0

    def stream(self, problem: Problem, s: State) -> Rows:
        """The rows of one inner loop; every loop so far had one pass for its gradient."""
        return super().stream(problem, replace(s, passes=s.passes - s.t))

    def start(
        self, problem: Problem, x0: Array | None, y0: Array | None, advice: Advice = NO_ADVICE
    ) -> Start:
        """The state before the first outer loop: y = phi'(A x0), so y0 plays no part."""
        x = problem.zeros() if x0 is None else x0
        return Start(
            randomised_start(self, problem, x, None, Delta=0.0, dual_free=False, advice=advice)
        )

    def step(self, problem: Problem, s: State) -> State:
        """One outer loop: lines 2 and 3; then line 1 of the next, which gives P(x) and D(y)."""
        stream = self.stream(problem, s)
        problem.design.ledger.rows += stream.size
        s = self.visit(problem, s, stream)
        z, y, u = problem.slope_at(s.x)
        new = update(
            s, t=s.t + 1, passes=s.passes + self.passes_per_step, z=z, zt=z, y=y,
            u=u, primal=problem.primal(s.x, z),
        )  # fmt: skip
        return with_dual(problem, new)


@dataclass(frozen=True)
class SVRG(Snapshots):
    """Proximal SVRG with step 0.1/Lc; parameters as in `Snapshots`."""

    name: ClassVar[str] = "svrg"

    def steps(
        self,
        problem: Problem,
        Lam: float,
        Delta: float,
        boldness: float = 1.0,
        advice: Advice = NO_ADVICE,
    ) -> Steps:
        """tau = 0.1/Lc; there is no dual step and no extrapolation."""
        return Steps(0.1 * problem.loss.known_gamma / Lam, math.nan, 0.0)

    def visit(self, problem: Problem, s: State, stream: Rows) -> State:
        """Lines 2 and 3 over the stream."""
        if problem.outputs is not None:
            return replace(s, x=self._vector_loop(problem, s, stream))
        from dualgap.kernels.svrg import svrg_csr, svrg_dense

        sampler = self.sampler(problem, s.own.advice)
        tau = s.own.steps.tau
        w = s.x.copy()
        offset = np.zeros(problem.n) if problem.offset is None else problem.offset
        g, loss, d = problem.elastic_net, problem.loss, problem.d
        rows = problem.design.rows()
        if rows.dense is not None:
            shrink = 1.0 / (1.0 + tau * g.l2)
            svrg_dense(
                rows.dense, rows.constant, problem.b, offset, stream, sampler.ratio,
                w, s.u, s.y, tau, g.l1, g.has_l1, shrink, loss.code, loss.parameter,
            )  # fmt: skip
        else:
            lines = sparse_lines(d, w, s.u)
            l1, l2 = np.zeros(d + 1), np.zeros(d + 1)
            l1[: g.l1.size], l2[: g.l2.size] = g.l1, g.l2
            C, H = power_tables(tau, g.l2[:d], stream.size)
            few = distinct_rows(problem, sampler)
            svrg_csr(
                rows.data, rows.indices, rows.indptr, rows.constant, problem.b, offset[:few],
                stream, sampler.ratio[:few], lines, s.y, tau, l1, l2, C, H,
                loss.code, loss.parameter,
            )  # fmt: skip
            w = np.ascontiguousarray(lines[: problem.size, 0])
        return replace(s, x=w)

    def _vector_loop(self, problem: Problem, s: State, stream: Rows) -> Array:
        """Line 2 for a loss of several predictions per row."""
        from dualgap.kernels.multinomial_svrg import multinomial_svrg_csr, multinomial_svrg_dense

        assert problem.outputs is not None
        ratio = self.sampler(problem, s.own.advice).ratio
        tau, K, d = s.own.steps.tau, problem.outputs, problem.d
        offset = np.zeros((0, K)) if problem.offset is None else problem.offset
        work = np.zeros((2, K))
        g = problem.elastic_net
        l1, l2 = np.zeros(d + 1), np.zeros(d + 1)
        l1[: problem.size], l2[: problem.size] = g.l1[:, 0], g.l2[:, 0]
        rows = problem.design.rows()
        if rows.dense is not None:
            # One line per class, so that the loops run along a row of the data.
            w, u = (np.array(values.T, order="C") for values in (s.x, s.u))
            multinomial_svrg_dense(
                rows.dense, rows.constant, problem.b, offset, stream, ratio,
                w, u, s.y, tau, l1, g.has_l1, 1.0 / (1.0 + tau * l2), work,
            )  # fmt: skip
            return np.ascontiguousarray(w.T)
        lines = np.zeros((d + 1, 2, K))
        lines[: problem.size, 0], lines[: problem.size, 1] = s.x, s.u
        last = np.zeros(d + 1, dtype=np.int64)
        C, H = power_tables(tau, l2[:d], stream.size)
        multinomial_svrg_csr(
            rows.data, rows.indices, rows.indptr, rows.constant, problem.b, offset, stream,
            ratio, lines, last, s.y, tau, l1, l2, C, H, work,
        )  # fmt: skip
        return np.ascontiguousarray(lines[: problem.size, 0])
