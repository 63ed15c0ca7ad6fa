"""Problem and state, as the values that kernels take; and back. The only place that does this."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dualgap._arrays import cache_lines
from dualgap._types import Array
from dualgap.problem import Problem
from dualgap.state import State

if TYPE_CHECKING:
    from dualgap.algorithms.primal_dual.sampling import Sampler, Stream
    from dualgap.kernels import blocks, points, sdca, values
    from dualgap.regularizers.elastic_net import ElasticNet

NONE = np.zeros(0)


class Visited(NamedTuple):
    """The points after a run over a stream of rows."""

    x: Array
    old: Array
    """The x before the last step."""
    u: Array
    y: Array
    v: Array


def visited(
    problem: Problem, s: State, sampler: Sampler, stream: Stream, rule: int, batch: int = 1
) -> Visited:
    """One step for each ``batch`` rows of the stream; ``rule`` is one of `kernels.values`."""
    from dualgap.kernels import values
    from dualgap.kernels.epoch import run_epoch

    own = s.own
    sigma, theta = own.steps.sigma, own.steps.theta
    if rule in (values.SLOPE, values.SNAPSHOT):
        sigma, theta = math.inf, 0.0
    old = s.x if theta == 0.0 or own.xt is None else own.xt
    prox, dual = prox_of(problem, own.steps.tau, -(-stream.size // batch)), dual_of(s.y, own.v)
    point: Any = point_of(problem, prox, s.x, old, s.u)
    if batch > 1:
        point = blocks_of(problem, prox, (s.x, old, s.u), batch, stream.size)
    run_epoch(
        rows_of(problem), stream, targets_of(problem, sampler), loss_of(problem),
        steps_of(sigma, theta, rule), point, dual,
    )  # fmt: skip
    x, old, u = columns_of(problem, point)
    return Visited(x, old, u, dual.y, dual.v)


def rows_of(problem: Problem) -> values.Dense | values.Sparse:
    """The data."""
    from dualgap.kernels.values import Dense, Sparse

    rows = problem.design.rows()
    constant = float(rows.constant)
    if rows.dense is not None:
        return Dense(rows.dense, constant)
    return Sparse(rows.data, rows.indices, rows.indptr, problem.d, constant)


def targets_of(problem: Problem, sampler: Sampler) -> values.Targets:
    """What belongs to the rows: one entry each, if all have the same; sparse rows gain by that."""
    from dualgap.kernels.values import Targets

    few = 1 if problem.uniform and sampler.even else problem.n
    offset = problem.offset
    if problem.outputs is not None:
        offset = np.zeros((1, problem.outputs)) if offset is None else offset
    elif offset is None:
        offset = np.zeros(few)
    else:
        few = problem.n
    return Targets(problem.b, offset, _entries(problem.q, few), _entries(sampler.ratio, few))


def every_target(problem: Problem, ratio: Array) -> values.Targets:
    """The same with an entry for every row."""
    from dualgap.kernels.values import Targets

    offset = np.zeros(problem.n) if problem.offset is None else problem.offset
    return Targets(problem.b, offset, _entries(problem.q, problem.n), _entries(ratio, problem.n))


def _entries(values: Array, count: int) -> Array:
    """The first ones, in memory of their own where one number stands for all."""
    return values[:count] if values.flags.writeable else np.array(values[:count])


def exact_point_of(g: ElasticNet, w: Array) -> sdca.Exact:
    """The point of dual coordinate ascent, which moves w itself."""
    from dualgap.kernels.sdca import Exact

    return Exact(w, prox_by(1.0, g.l1, g.l2, 1.0 / g.l2, g.l1.size))


def loss_of(problem: Problem) -> values.ScalarLoss | values.Softmax:
    """The loss; `Needs.compiled_loss` has refused those without a code."""
    from dualgap.kernels.values import ScalarLoss, Softmax

    if problem.outputs is not None:
        return Softmax(problem.outputs)
    return ScalarLoss(problem.loss.code, float(problem.loss.parameter))


def steps_of(
    sigma: float | Array, theta: float, rule: int, precision: float | None = None
) -> values.Steps:
    """The numbers of a method; a dual step may be that of each row."""
    from dualgap.kernels.values import Steps
    from dualgap.losses.compiled import EXACT

    return Steps(np.atleast_1d(sigma), theta, rule, precision or EXACT)


def prox_of(problem: Problem, tau: float, steps: int) -> values.Prox:
    """The prox of tau g, for up to so many steps at once."""
    g, d = problem.elastic_net, problem.d
    l1, l2 = np.zeros(d + 1), np.zeros(d + 1)
    l1[: problem.size], l2[: problem.size] = g.l1.reshape(-1), g.l2.reshape(-1)
    return prox_with(tau, l1, l2, steps, dense=problem.design.rows().dense is not None)


def prox_with(tau: float, l1: Array, l2: Array, steps: int, *, dense: bool) -> values.Prox:
    """The same, of strengths of the coordinates; the last are those of an intercept."""
    size = l1.size - 1
    prox = prox_by(tau, l1, l2, 1.0 / (1.0 + tau * l2), size)
    if dense or not (l2[:size] == l2[0]).all():
        return prox
    C, H = power_tables(tau, l2[0], steps)
    return prox._replace(C=C, H=H)


def prox_by(tau: float, l1: Array, l2: Array, shrink: Array, size: int) -> values.Prox:
    """The same, by what it multiplies by; the first ``size`` coordinates may share numbers."""
    from dualgap.kernels.values import Prox

    common = float(l1[0]), float(shrink[0])
    if (l1[:size] != l1[0]).any() or (l2[:size] != l2[0]).any():
        common = 0.0, 0.0
    return Prox(tau, l1, l2, shrink, bool((l1 > 0.0).any()), *common, NONE, NONE)


def point_of(
    problem: Problem, prox: values.Prox, x: Array, old: Array, u: Array
) -> points.Vectors | points.ClassVectors | points.Lines | points.ClassLines:
    """Copies of the point, which a kernel moves."""
    from dualgap.kernels.points import ClassLines, ClassVectors, Lines, Vectors

    dense, K = problem.design.rows().dense is not None, problem.outputs
    if K is None:
        if dense:
            return Vectors(x.copy(), old.copy(), u.copy(), prox)
        return Lines(sparse_lines(problem.d, x, old, u), prox)
    if dense:
        # One line per class, so that the loops run along a row of the data.
        x, old, u = (np.array(part.T, order="C") for part in (x, old, u))
        return ClassVectors(x, old, u, prox, np.zeros(K))
    lines = np.zeros((problem.d + 1, 3 * K + 1))
    lines[: problem.size, :-1] = np.hstack((x, old, u))
    return ClassLines(lines, prox, np.zeros(K))


def blocks_of(
    problem: Problem, prox: values.Prox, parts: tuple[Array, Array, Array], m: int, rows: int
) -> blocks.BlockVectors | blocks.BlockLines:
    """The same of (x, x_old, u), which move with m of so many rows at once."""
    from dualgap.kernels.blocks import BlockLines, BlockVectors
    from dualgap.kernels.points import Vectors

    if problem.design.rows().dense is None:
        return BlockLines(sparse_lines(problem.d, *parts, width=6), prox, m, rows)
    x, old, u = (part.copy() for part in parts)
    steps, drifts = np.zeros((2, x.size))
    return BlockVectors(Vectors(x, old, u, prox), steps, drifts, m, np.zeros(2, dtype=np.int64))


def sparse_lines(d: int, *columns: np.ndarray[Any, Any], width: int = 4) -> Array:
    """Lines of d coordinates and one more for an intercept, with these first columns."""
    lines = cache_lines(d + 1, width)
    for k, values in enumerate(columns):
        lines[: values.size, k] = values
    return lines


def columns_of(problem: Problem, point: Any) -> tuple[Array, Array, Array]:
    """x, x_old and u of the point, arrays of their own."""
    from dualgap.kernels.blocks import BlockVectors
    from dualgap.kernels.points import ClassVectors, Vectors

    parts: Any
    point = point.now if isinstance(point, BlockVectors) else point
    if isinstance(point, (Vectors, ClassVectors)):
        parts = (part.T for part in point[:3])
    elif problem.outputs is None:
        parts = point.values[: problem.size, :3].T
    else:
        parts = np.split(point.values[: problem.size, :-1], 3, axis=1)
    x, old, u = (np.ascontiguousarray(part) for part in parts)
    return x, old, u


def dual_of(y: Array, v: Array | None) -> values.Dual:
    """A copy of the dual point, which a kernel moves."""
    from dualgap.kernels.values import Dual

    v = np.zeros((0, *y.shape[1:])) if v is None else v.copy()
    step, drift = np.zeros((2, *y.shape[1:])) if y.ndim > 1 else np.zeros((2, 0))
    return Dual(y.copy(), v, step, drift)


def power_tables(tau: float, l2: float, steps: int) -> tuple[Array, Array]:
    """C_m and H_m of `regularizers.compiled_lazy` for m = 0..steps."""
    H = np.arange(steps + 1.0)
    if l2 == 0.0:
        H *= tau
        return np.ones(steps + 1), H
    H *= -np.log1p(tau * l2)
    small = int(np.count_nonzero(H > -1e-16))  # the first ones, for H falls
    C = np.exp(H)
    np.expm1(H, out=H)
    H /= -l2
    H[:small] = np.arange(float(small)) * tau
    return C, H
