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
    from dualgap.algorithms.primal_dual.sampling import Rows, Sampler
    from dualgap.kernels import values
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


def visited(problem: Problem, s: State, sampler: Sampler, stream: Rows, rule: int) -> Visited:
    """One step for each row of the stream; ``rule`` is one of `kernels.values`."""
    from dualgap.kernels import values

    own, rows = s.own, rows_of(problem)
    sigma, theta = own.steps.sigma, own.steps.theta
    if rule in (values.SLOPE, values.SNAPSHOT):
        sigma, theta = math.inf, 0.0
    steps = values.Steps(sigma, theta, rule)
    targets, prox = targets_of(problem, sampler), prox_of(problem, own.steps.tau, stream.size)
    old = s.x if theta == 0.0 or own.xt is None else own.xt
    dual = dual_of(s.y, own.v)
    point: Any
    if problem.outputs is None:
        from dualgap.kernels.spdc import spdc

        point = point_of(problem, s.x, old, s.u)
        spdc(rows, stream, targets, loss_of(problem), prox, steps, point, dual)
        x, old, u = columns_of(point, problem.size)
    else:
        from dualgap.kernels.multinomial import multinomial

        point = class_point_of(problem, s.x, old, s.u)
        multinomial(rows, stream, targets, prox, steps, point, dual)
        x, old, u = class_columns_of(point, problem.size)
    return Visited(x, old, u, dual.y, dual.v)


def rows_of(problem: Problem) -> values.Dense | values.Sparse:
    """The data."""
    from dualgap.kernels.values import Dense, Sparse

    rows = problem.design.rows()
    constant = float(rows.constant)
    if rows.dense is not None:
        return Dense(rows.dense, constant)
    return Sparse(rows.data, rows.indices, rows.indptr, constant)


def targets_of(problem: Problem, sampler: Sampler) -> values.Targets:
    """What belongs to the rows: one entry each, if all have the same; sparse rows gain by that."""
    from dualgap.kernels.values import Targets

    offset, few = problem.offset, problem.n
    if problem.outputs is not None:
        offset = np.zeros((0, problem.outputs)) if offset is None else offset
    elif offset is None:
        few = 1 if problem.uniform and sampler.even else few
        offset = np.zeros(few)
    return Targets(problem.b, offset, problem.q[:few], sampler.ratio[:few])


def every_target(problem: Problem, ratio: Array) -> values.Targets:
    """The same with an entry for every row."""
    from dualgap.kernels.values import Targets

    offset = np.zeros(problem.n) if problem.offset is None else problem.offset
    return Targets(problem.b, offset, problem.q, ratio)


def threshold_of(g: ElasticNet) -> values.Threshold:
    """How x follows from w in dual coordinate ascent."""
    from dualgap.kernels.values import Threshold

    few = 1 if (g.l2 == g.l2[0]).all() and (g.l1 == g.l1[0]).all() else g.l2.size
    return Threshold(g.l1[:few], 1.0 / g.l2[:few], g.has_l1)


def loss_of(problem: Problem) -> values.Loss:
    """The loss; `Needs.compiled_loss` has refused those without a code."""
    from dualgap.kernels.values import Loss

    return Loss(problem.loss.code, float(problem.loss.parameter))


def prox_of(problem: Problem, tau: float, steps: int) -> values.Prox:
    """The prox of tau g, for up to so many steps at once."""
    g, d = problem.elastic_net, problem.d
    l1, l2 = np.zeros(d + 1), np.zeros(d + 1)
    l1[: problem.size], l2[: problem.size] = g.l1.reshape(-1), g.l2.reshape(-1)
    return prox_with(tau, l1, l2, steps, dense=problem.design.rows().dense is not None)


def prox_with(tau: float, l1: Array, l2: Array, steps: int, *, dense: bool) -> values.Prox:
    """The same, of strengths of the coordinates; the last are those of an intercept."""
    from dualgap.kernels.values import Prox

    has_l1 = bool((l1 > 0.0).any())
    if not dense:
        return Prox(tau, l1, l2, has_l1, NONE, *power_tables(tau, l2[:-1], steps))
    shrink = 1.0 / (1.0 + tau * l2)
    if not has_l1 and (shrink[:-1] == shrink[0]).all():
        shrink = shrink[:1]
    return Prox(tau, l1, l2, has_l1, shrink, NONE, NONE)


def point_of(
    problem: Problem, x: Array, old: Array, u: Array, width: int = 4
) -> values.Vectors | values.Lines:
    """Copies of the point, which a kernel moves; of sparse rows lines of so many numbers."""
    from dualgap.kernels.values import Lines, Vectors

    if problem.design.rows().dense is not None:
        return Vectors(x.copy(), old.copy(), u.copy())
    return Lines(sparse_lines(problem.d, x, old, u, width=width))


def sparse_lines(d: int, *columns: Array, width: int = 4) -> Array:
    """Lines of d coordinates and one more for an intercept, with these first columns."""
    lines = cache_lines(d + 1, width)
    for k, values in enumerate(columns):
        lines[: values.size, k] = values
    return lines


def columns_of(point: values.Vectors | values.Lines, size: int) -> tuple[Array, Array, Array]:
    """x, x_old and u of the point, arrays of their own."""
    from dualgap.kernels.values import Vectors

    if isinstance(point, Vectors):
        return point
    x, old, u = (np.ascontiguousarray(point.values[:size, k]) for k in range(3))
    return x, old, u


def class_point_of(
    problem: Problem, x: Array, old: Array, u: Array
) -> values.Vectors | values.ClassLines:
    """The same for several predictions per row."""
    from dualgap.kernels.values import ClassLines, Vectors

    if problem.design.rows().dense is not None:
        # One line per class, so that the loops run along a row of the data.
        return Vectors(*(np.array(part.T, order="C") for part in (x, old, u)))
    lines = np.zeros((problem.d + 1, 3, x.shape[1]))
    for place, part in enumerate((x, old, u)):
        lines[: problem.size, place] = part
    return ClassLines(lines, np.zeros(problem.d + 1, dtype=np.int64))


def class_columns_of(
    point: values.Vectors | values.ClassLines, size: int
) -> tuple[Array, Array, Array]:
    """As `columns_of`, of `class_point_of`."""
    from dualgap.kernels.values import Vectors

    if isinstance(point, Vectors):
        x, old, u = (np.ascontiguousarray(part.T) for part in point)
    else:
        x, old, u = (np.ascontiguousarray(point.values[:size, k]) for k in range(3))
    return x, old, u


def dual_of(y: Array, v: Array | None) -> values.Dual:
    """A copy of the dual point, which a kernel moves."""
    from dualgap.kernels.values import Dual

    room = np.zeros((3, *y.shape[1:])) if y.ndim > 1 else np.zeros((3, 0))
    v = np.zeros((0, *y.shape[1:])) if v is None else v.copy()
    return Dual(y.copy(), v, room[0], room[1], room[2])


def power_tables(tau: float, l2: Array, steps: int) -> tuple[Array, Array]:
    """C_m and H_m of `regularizers.lazy` for m = 0..steps, if one l2 serves all; else C = (-1,)."""
    if (l2 != l2[0]).any():
        return np.array([-1.0]), np.zeros(1)
    m = np.arange(steps + 1.0)
    q = m * np.log1p(tau * l2[0])
    if l2[0] == 0.0:
        return np.ones(steps + 1), m * tau
    H = np.where(q < 1e-16, m * tau, -np.expm1(-q) / l2[0])
    return np.exp(-q), H
