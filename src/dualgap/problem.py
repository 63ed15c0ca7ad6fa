"""The problem: design, targets, loss, regulariser, weights; the only home of 1/n.

    P(x, c) = sum_i q_i phi_i(z_i) + g(x),   z = A x + c + offset
    D(y)    = sum_i q_i (y_i offset_i - phi_i*(y_i)) - g*(-A'Qy)

with q_i = w_i / sum w and g(x) = sum_j p_j (l1 |x_j| + (l2/2) x_j^2), or any `Regularizer`. An
intercept is one more coordinate, free of penalty, whose column is constant: inside the package x
stands for (x, c/s) and A for (A, s 1), see `designs.intercept`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from dualgap import _validation as check
from dualgap._arrays import (
    by_pieces,
    is_one_piece,
    per_row,
    pieces,
    row_sums,
    total,
    weighted_sum,
)
from dualgap._types import Array, Data, Mask, Places
from dualgap.designs import LARGEST_SIDE, Columns, Design, InterceptDesign, as_design
from dualgap.designs.files import read_whole
from dualgap.designs.maps import MapDesign, is_large_map
from dualgap.designs.taking import taken_apart
from dualgap.designs.tasks import apart, product_pair, there_and_back
from dualgap.losses import Loss, as_loss
from dualgap.losses.tasks import loss_slope, slope_beside
from dualgap.memory import check_rows, current, row_vectors
from dualgap.objective.constants import SMALL_GRAM, Constants
from dualgap.objective.null_model import null_model, null_model_may_fit
from dualgap.regularizers import Box, ElasticNet, Regularizer
from dualgap.regularizers.capabilities import check_type, of_problem
from dualgap.spans.contract import Span
from dualgap.spans.span import span
from dualgap.streamed.null_model import mean_loss_at_zero
from dualgap.streamed.null_model import null_model as streamed_null_model
from dualgap.streamed.rows import Rows, rows_of

LARGEST_COEFFICIENT = 1e305


class Open(NamedTuple):
    """Data as they were given, of which a call decides whether their rows are held."""

    design: Design
    b: Any
    sample_weight: Any
    offset: Any


class Problem:
    """An empirical risk minimisation problem with linear predictions, as a value.

    min over x (and c) of
    (1/W) sum_i w_i phi_i(a_i'x + c + offset_i) + sum_j p_j (l1 |x_j| + (l2/2) x_j^2)

    `dualgap.Problem` is this value with the methods that users call; the parameters are there.
    """

    def __init__(
        self,
        A: Data,
        b: Any = None,
        *,
        loss: str | Loss = "squared",
        l1: float = 0.0,
        l2: float = 0.0,
        penalty_weights: Any = None,
        regularizer: Regularizer | None = None,
        fit_intercept: bool = False,
        sample_weight: Any = None,
        offset: Any = None,
    ) -> None:
        A, b, sample_weight, offset = taken_apart(A, b, sample_weight, offset)
        self.loss = as_loss(loss)
        self.l1 = check.real("l1", l1, low=0.0)
        self.l2 = check.real("l2", l2, low=0.0)
        self.fit_intercept = check.flag("fit_intercept", fit_intercept)
        self.given = regularizer
        """The regulariser as it was given; None where it is the elastic net of l1 and l2."""
        if regularizer is not None:
            check_type(regularizer)
            if self.l1 or self.l2 or penalty_weights is not None:
                raise ValueError(
                    "l1, l2 and penalty_weights are shorthand for the elastic net, and "
                    f"regularizer={regularizer!r} is given as well; give one or the other."
                )
        self.base = MapDesign(A, as_design) if is_large_map(A) else as_design(A)
        """A without the column of an intercept."""
        self.n, self.d = self.base.shape
        self.open: Open | None = None
        """The data as they were given, where they leave it open whether rows are held."""
        self._take(b, sample_weight, offset)
        weights = np.ones(self.d)
        if penalty_weights is not None:
            weights = check.nonnegative(
                "penalty_weights",
                penalty_weights,
                self.d,
                what="column of A",
                zero="to leave that column without penalty",
            )
        self.penalty_weights = weights
        self._regularize()
        self._arrange()

    def _arrange(self) -> None:
        """Put the column of an intercept beside the data, and begin to learn their constants."""
        if self.streamed is None:
            self.base = self.base.surveyed(self.q, gram=self.d <= SMALL_GRAM)
        scale, base = None if self.streamed is None else 1.0, self.base
        self.design = InterceptDesign(base, self.q, scale) if self.fit_intercept else base
        self.constants = Constants(self.design, self.q)

    def _take(self, b: Any, sample_weight: Any, offset: Any) -> None:
        """Check and keep what belongs to the rows: targets, weights and offset."""
        self.streamed: Rows | None = None
        """What belongs to the rows, where A does not hold them; `b` and the like are views then."""
        rows = None
        if self.base.holds_rows is None:
            self.open, outputs = Open(self.base, b, sample_weight, offset), None
            if self.loss.is_vector:
                rows = rows_of(self.loss, self.base, b, sample_weight, offset)
                outputs = self.loss.outputs(rows.labels)
            held = current().holds_easily(row_vectors(self.n, outputs))
            self.base = self.base.holding(held)
        if not self.base.holds_rows:
            self._view(rows or rows_of(self.loss, self.base, b, sample_weight, offset))
            return
        streams = self.base.streams
        b, sample_weight, offset = (read_whole(given) for given in (b, sample_weight, offset))
        targets = self.loss.targets(b, self.n)
        self.b = targets if streams else _writable(targets)
        self.outputs = self.loss.outputs(self.b)
        """K, the predictions per row, where the loss takes several; else None."""
        _check_entries(self.outputs, self.n, self.d)
        self.sample_weight = _weights(sample_weight, self.n)
        """w as it was given, before q = w/W was rounded; None where none was."""
        self.q = _shares(self.sample_weight, self.n, streams)
        same = self.sample_weight is None
        self.uniform = same or bool((self.q == self.q[0]).all())
        """All rows weigh the same."""
        self.idle: Mask | None = None if same or (self.q > 0.0).all() else self.q == 0.0
        """Rows without weight, where there are some: whatever their values are, inf too."""
        given = self.dual_point("offset", offset)
        self.offset = given if given is None or streams else _writable(given)

    def _view(self, rows: Rows) -> None:
        """Keep it where rows are not held: views that give a piece at a time."""
        self.streamed = rows
        self.outputs = self.loss.outputs(rows.labels) if self.loss.is_vector else None
        self.uniform, self.idle = rows.known.uniform, None
        self.b, self.sample_weight, self.q, self.offset = rows.views(self.n)

    def _forget(self, *names: str) -> None:
        """Drop what was found out before something changed."""
        for name in names:
            self.__dict__.pop(name, None)

    def holding(self, rows: bool) -> Self:
        """The same with its rows held in memory, or not; itself where that is so, or not open."""
        if self.open is None or rows == (self.streamed is None):
            return self
        other = copy.copy(self)
        other._forget("primal_at_zero", "null_model", "is_solved_by_null", "free_span")
        other.base = self.open.design.holding(rows)
        other._take(*self.open[1:])
        other._arrange()
        return other

    def held(self) -> Self:
        """The same with its rows held whatever a call would decide, for what needs them.

        Raises
        ------
        ValueError
            If there is no memory for it.
        """
        if self.open is None:
            return self
        check_rows(self.n, self.outputs, on_disk=True)
        other = copy.copy(self.holding(True))
        other.open = None
        return other

    def _regularize(self) -> None:
        """Keep g of the coefficients, and of x, where an intercept is one more that is free."""
        if self.given is not None:
            self._penalise(self.given)
            return
        l1_j, l2_j = self.l1 * self.penalty_weights, self.l2 * self.penalty_weights
        if max(l1_j.max(), l2_j.max()) > check.LARGEST:
            raise ValueError(
                f"l1={self.l1:g} and l2={self.l2:g} with these penalty_weights reach "
                f"{max(l1_j.max(), l2_j.max()):g}, more than {check.LARGEST:g}. Use smaller ones."
            )
        self._penalise(ElasticNet(l1_j, l2_j))

    def _penalise(self, penalty: Regularizer) -> None:
        """Keep a regulariser of the coefficients, and what follows from it for x."""
        self.penalty: Regularizer = penalty
        """That of the coefficients alone."""
        free, by_class = int(self.fit_intercept), self.outputs is not None
        self.regularizer = of_problem(penalty, self.d, free=free, by_class=by_class)
        """That of x, in which an intercept is one more coordinate."""

    @property
    def elastic_net(self) -> ElasticNet:
        """The regulariser of x with its strengths, for what is written for the elastic net only."""
        if not isinstance(self.regularizer, ElasticNet):
            raise TypeError(f"regularizer={self.given!r} has no strengths l1 and l2 to go by.")
        return self.regularizer

    @property
    def bounded_net(self) -> ElasticNet | Box:
        """The regulariser of x with strengths and bounds, for what is written for these only."""
        if not self.regularizer.has_strengths and isinstance(self.regularizer, Box):
            return self.regularizer
        return self.elastic_net

    def replace(
        self,
        *,
        b: Any = None,
        loss: str | Loss | None = None,
        l1: float | None = None,
        l2: float | None = None,
        regularizer: Regularizer | None = None,
    ) -> Self:
        """The same data with other targets, loss, strengths or regulariser.

        The data, the weights, and what was found out about them (constants) are shared, so that a
        path or many targets pay for them once.

        Parameters
        ----------
        b, loss, l1, l2, regularizer
            As in `Problem`; what is not given stays.
        """
        other = copy.copy(self)
        if loss is not None:
            other.loss = as_loss(loss)
        if b is not None or loss is not None:
            other._forget("primal_at_zero", "null_model", "is_solved_by_null")
            if self.open is not None and b is not None:
                other.open = self.open._replace(b=b)
            if self.streamed is None:
                targets = other.loss.targets(self.b if b is None else read_whole(b), self.n)
                other.b = _writable(targets)
                other.outputs = other.loss.outputs(other.b)
            else:
                given = self.streamed.targets.source if b is None else b
                weights, offset = self.streamed.weights, self.streamed.offset
                other._view(
                    rows_of(
                        other.loss,
                        self.base,
                        given,
                        weights and weights.source,
                        offset and offset.source,
                    )
                )
            if other.shape[1:] != self.shape[1:]:
                raise ValueError(
                    f"the other problem has outputs {other.outputs}, this one {self.outputs}; "
                    "make a new Problem."
                )
        if l1 is not None or l2 is not None:
            if self.given is not None or regularizer is not None:
                raise ValueError(
                    "l1 and l2 are shorthand for the elastic net, and this problem has regularizer="
                    f"{self.given if regularizer is None else regularizer!r}; replace that."
                )
            other.__dict__.pop("free_span", None)
            other.l1 = self.l1 if l1 is None else check.real("l1", l1, low=0.0)
            other.l2 = self.l2 if l2 is None else check.real("l2", l2, low=0.0)
            other._regularize()
        if regularizer is not None:
            check_type(regularizer)
            other.__dict__.pop("free_span", None)
            other.l1, other.l2, other.penalty_weights = 0.0, 0.0, np.ones(self.d)
            other.given = regularizer
            other._regularize()
        return other

    def with_strengths(self, l1: float, l2: float) -> Problem:
        """The same with these strengths of the elastic net, or of the regulariser given."""
        if self.given is None:
            return self.replace(l1=l1, l2=l2)
        return self.replace(regularizer=self.given.with_strengths(l1, l2))

    def in_variables(
        self,
        base: Design,
        penalty: Regularizer,
        *,
        intercept_scale: float | None = None,
    ) -> Self:
        """The same problem in other variables: the same rows, targets, loss, weights and offset.

        Parameters
        ----------
        base : Design
            A in the new variables, without the column of an intercept.
        penalty : Regularizer
            That of the new coordinates.
        intercept_scale : float, optional
            What suits as the constant column; see `InterceptDesign`.
        """
        inner = copy.copy(self)
        inner.__dict__.pop("free_span", None)
        inner.base, inner.d = base, base.shape[1]
        inner.design = base
        if self.fit_intercept:
            inner.design = InterceptDesign(base, self.q, intercept_scale)
        inner._penalise(penalty)
        inner.constants = Constants(inner.design, self.q)
        return inner

    def __repr__(self) -> str:
        """One line."""
        parts = [f"{self.n} x {self.d}", f"loss={self.loss.name!r}"]
        parts += [f"{k}={v:g}" for k, v in (("l1", self.l1), ("l2", self.l2)) if v]
        parts += [] if self.given is None else [f"regularizer={self.given!r}"]
        parts += ["fit_intercept=True"] if self.fit_intercept else []
        return f"Problem({', '.join(parts)})"

    def into_domain(self, x: Array) -> Array:
        """Coefficients, brought to the nearest ones at which the regulariser is finite."""
        if isinstance(self.regularizer, ElasticNet):
            return x
        if x.ndim == 1:
            return self.penalty.nearest(x)
        return np.stack([self.penalty.nearest(column) for column in x.T], axis=1)

    # ---- the mathematics: x stands for (x, c) ----

    @property
    def size(self) -> int:
        """Coordinates of x (rows, if x is a matrix), the intercept included."""
        return self.design.shape[1]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of x: (size,), or (size, K)."""
        return (self.size,) if self.outputs is None else (self.size, self.outputs)

    def zeros(self) -> Array:
        """The point x = 0."""
        return np.zeros(self.shape)

    def predict_zero(self) -> Array:
        """z at x = 0: the offset, or zeros."""
        return np.zeros((self.n, *self.shape[1:])) if self.offset is None else self.offset

    def predict(self, x: Array) -> Array:
        """z = A x + offset."""
        z = self.design.matvec(x)
        return z if self.offset is None else z + self.offset

    def adjoint(self, y: Array) -> Array:
        """u = A'Qy."""
        return self.design.rmatvec(per_row(self.q, y) * y)

    # Each of these is two products with data that have them, and one reading of data that stream.

    def predict_and_adjoint(self, x: Array, y: Array) -> tuple[Array, Array]:
        """z = A x + offset and u = A'Qy."""
        if not self.design.streams:
            return self.predict(x), self.adjoint(y)
        z, u = product_pair(self.design, (per_row(self.q, y) * y,), x, apart)
        return z if self.offset is None else z + self.offset, u

    def slope_at(self, x: Array) -> tuple[Array, Array, Array]:
        """z = A x + offset, y = phi'(z) and u = A'Qy, the gradient of the mean loss."""
        if not self.design.streams:
            z = self.predict(x)
            y = self.slopes(z)
            return z, y, self.adjoint(y)
        rows = (self.b, self.q) if self.offset is None else (self.b, self.q, self.offset)
        (z, y), (u,) = self.design.map_rows(there_and_back, rows, x, loss_slope, self.loss)
        return z if self.offset is None else z + self.offset, y, u

    def slope_after(self, d: Array, z: Array) -> tuple[Array, Array, Array]:
        """A d, y = phi'(z + A d) and u = A'Qy, for a step d from a point with predictions z."""
        if not self.design.streams:
            Ad = self.design.matvec(d)
            y = self.slopes(z + Ad)
            return Ad, y, self.adjoint(y)
        (Ad, y), (u,) = self.design.map_rows(
            there_and_back, (self.b, self.q, z), d, slope_beside, self.loss
        )
        return Ad, y, u

    def columns(self, at: Places) -> Columns:
        """The columns at these places, gathered; the last answer is kept for all who `replace`."""
        known = self.constants.gathered
        if known is None or not np.array_equal(known.at, at):
            known = self.constants.gathered = self.design.columns(at, known=known)
        return known

    def mean(self, values: Array) -> float:
        """sum_i q_i values_i; rows without weight play no part."""
        if self.uniform:
            return total(values) / self.n
        return weighted_sum(
            self.q, values if self.idle is None else np.where(self.idle, 0.0, values)
        )

    def mean_of(self, function: Callable[..., Array], *rows: Array) -> float:
        """sum_i q_i values_i with values = function(*rows), of some rows after the others.

        So what is made on the way is never as long as the data.
        """
        if is_one_piece(self.n):
            whole = self._sum_of(function(*rows), slice(0, self.n))
        else:
            cuts = pieces(self.n)
            sums = [self._sum_of(function(*(row[at] for row in rows)), at) for at in cuts]
            whole = total(np.array(sums))
        return whole / self.n if self.uniform else whole

    def _sum_of(self, values: Array, at: slice) -> float:
        """Of some rows: n sum q_i values_i where all weigh the same, else sum q_i values_i."""
        if self.uniform:
            return total(values)
        if self.idle is not None:
            values = np.where(self.idle[at], 0.0, values)
        return weighted_sum(self.q[at], values)

    def mismatch(self, z: Array, y: Array) -> float:
        """sum_i q_i (phi_i(z_i) + phi_i*(y_i) - y_i z_i), the loss's part of the gap."""
        return self.mean_of(self.loss.fenchel_gap, z, y, self.b)

    def inner(self, y: Array, z: Array) -> float:
        """sum_i q_i <y_i, z_i>."""
        return self.mean_of(lambda a, b: row_sums(a * b), y, z)

    def primal(self, x: Array, z: Array) -> float:
        """P(x) from z = A x + offset."""
        return self.mean_loss(z) + self.regularizer.value(x)

    def mean_loss(self, z: Array, grad: Array | None = None) -> float:
        """sum_i q_i phi_i(z_i); ``grad`` is phi'(z) if known."""
        if not self.uniform:
            return self.mean_of(self.loss.value, z, self.b)
        if is_one_piece(self.n):
            return self.loss.total(z, self.b, grad) / self.n
        sums = [
            self.loss.total(z[at], self.b[at], None if grad is None else grad[at])
            for at in pieces(self.n)
        ]
        return total(np.array(sums)) / self.n

    def mean_loss_grad(self, z: Array) -> tuple[float, Array]:
        """sum_i q_i phi_i(z_i), and phi'(z)."""
        if self.uniform:
            total, grad = self.loss.total_grad(z, self.b)
            return total / self.n, grad
        slopes = np.empty(z.shape)

        def both(z: Array, b: Array, out: Array) -> Array:
            value, out[...] = self.loss.value_grad(z, b)
            return value

        return self.mean_of(both, z, self.b, slopes), slopes

    def slopes(self, z: Array) -> Array:
        """phi'(z)."""
        return by_pieces(self.loss.grad, z, self.b)

    def conjugate_sum(self, y: Array) -> float:
        """sum_i q_i (phi_i*(y_i) - y_i offset_i)."""
        if self.offset is None:
            return self.mean_of(self.loss.conj, y, self.b)
        return self.mean_of(
            lambda y, b, offset: self.loss.conj(y, b) - row_sums(y * offset),
            y, self.b, self.offset,
        )  # fmt: skip

    def smoothness(self, Lam: float, z: Array) -> float:
        """The smoothness of the mean loss: Lam/gamma, or with the largest phi'' at z for 1/gamma.

        What stands in serves estimates that steps and looks are timed by, and nothing else.
        """
        gamma = self.loss.gamma
        if gamma is not None:
            return Lam / gamma
        largest = float(self.loss.hess(z, self.b).max(where=self.q > 0.0, initial=0.0))
        return Lam * min(max(largest, 1e-100), 1e100)

    @cached_property
    def primal_at_zero(self) -> float:
        """P(0)."""
        value = self.loss.value_at_zero if self.offset is None else None
        if value is None and self.streamed is not None:
            return mean_loss_at_zero(self.streamed, self.loss, self.outputs)
        return self.mean_loss(self.predict_zero()) if value is None else value

    @cached_property
    def null_model(self) -> tuple[float | Array, float]:
        """The intercept alone, at its best, and P0 = P there; 0 and P(0) without an intercept."""
        if self.fit_intercept and self.streamed is not None:
            return streamed_null_model(self.streamed, self.loss)
        return null_model(self) if self.fit_intercept else (0.0, self.primal_at_zero)

    @cached_property
    def is_solved_by_null(self) -> bool:
        """Whether the intercept alone has P = 0, which nothing is below."""
        if self.streamed is not None and (self.offset is not None or not self.streamed.is_constant):
            return False
        may_fit = self.streamed is not None or (self.fit_intercept and null_model_may_fit(self))
        return self.fit_intercept and may_fit and self.null_value == 0.0

    @property
    def null_value(self) -> float:
        """P0, what relative gaps are held against when P itself vanishes."""
        return self.null_model[1]

    def scale(self, primal: float) -> float:
        """max(P(x), 1e-12 P0): the unit of `tol`."""
        return 1e-12 * self.null_value if self.is_below_null(primal, 1e-12) else primal

    def is_below_null(self, primal: float, share: float) -> bool:
        """Whether P(x) < share P0; the null model is looked for only where P(0) leaves it open."""
        # P0 is found to a thousandth, and P0 <= P(0).
        if primal > 1.01 * share * self.primal_at_zero:
            return False
        return primal < share * self.null_value

    @property
    def column_means(self) -> Array:
        """A'q, which turns a shift of y into a shift of A'Qy."""
        return self.constants.column_means

    @property
    def column_norms(self) -> Array:
        """sqrt(sum_i q_i a_ij^2): A'Qy and A x are known to eps times these."""
        return self.constants.column_norms

    @cached_property
    def free_span(self) -> Span | None:
        """The span of the columns without penalty, factorised once; None if it cannot be known."""
        return self.weighted_span(None)

    def weighted_span(self, D: Array | None, idle: Mask | None = None) -> Span | None:
        """The same for dual points that move in proportion to D; ``idle`` rows stay at y_i = 0."""
        q = self.q if idle is None else np.where(idle, 0.0, self.q)
        return span(self.design, q, self.regularizer.free.reshape(-1), D, self.sample_weight)

    @property
    def intercept_scale(self) -> float:
        """The entry of the constant column that stands for an intercept, a power of two; or 1."""
        return self.design.scale if isinstance(self.design, InterceptDesign) else 1.0

    @property
    def free_intercept_only(self) -> bool:
        """The intercept is the only coordinate without penalty."""
        return self.fit_intercept and self.regularizer.only_last_is_free

    # ---- points ----

    def join(self, x: Any, intercept: Any = 0.0, *, argument: str = "x") -> Array:
        """Check x and put it together with the intercept."""
        if self.outputs is not None:
            return self._join_rows(x, intercept, argument)
        # Columns of 1e-200 have coefficients of 1e200.
        values = check.point(argument, x, self.d, what="column of A", most=LARGEST_COEFFICIENT)
        c = check.real("intercept", intercept)
        if isinstance(self.design, InterceptDesign):
            return np.append(values, c / self.design.scale)
        if c:
            raise ValueError(
                f"intercept={c:g}, but this problem has no intercept; use fit_intercept=True."
            )
        return values

    def _join_rows(self, x: Any, intercept: Any, argument: str) -> Array:
        assert self.outputs is not None
        values = check.matrix(argument, x, (self.d, self.outputs), what="column of A")
        c = np.zeros(self.outputs)
        if np.ndim(intercept) or check.real("intercept", intercept):
            c = check.point("intercept", intercept, self.outputs, what="class")
        if isinstance(self.design, InterceptDesign):
            return np.vstack((values, c / self.design.scale))
        if c.any():
            raise ValueError(
                f"intercept={c}, but this problem has no intercept; use fit_intercept=True."
            )
        return values

    def joined(self, x: Array, intercept: float | Array) -> Array:
        """`join` without its checks, for points that an algorithm made."""
        if not isinstance(self.design, InterceptDesign):
            return x
        last = np.reshape(np.asarray(intercept) / self.design.scale, (1, *x.shape[1:]))
        return np.concatenate((x, last))

    def split(self, x: Array) -> tuple[Array, float | Array]:
        """The coefficients and the intercept: the inverse of `join`."""
        if self.outputs is not None:
            if isinstance(self.design, InterceptDesign):
                return x[:-1], self.design.scale * x[-1]
            return x, np.zeros(self.outputs)
        if isinstance(self.design, InterceptDesign):
            return x[:-1], float(self.design.scale * x[-1])
        return x, 0.0

    def dual_point(self, argument: str, y: Any) -> Array | None:
        """Check the form of a dual point, or of anything with its shape (None stays None)."""
        if y is None:
            return None
        if self.outputs is not None:
            return check.matrix(argument, y, (self.n, self.outputs), what="row of A")
        return check.point(argument, y, self.n, what="row of A")


def _writable(array: Array) -> Array:
    """Compiled kernels take read-only arrays for another type, and would be compiled again."""
    return array if array.flags.writeable else array.copy()


def _check_entries(outputs: int | None, n: int, d: int) -> None:
    """Refuse points of more entries than the linear algebra libraries take, before any is made."""
    entries = max(n, d + 1) * (outputs or 1)
    if outputs is not None and entries > LARGEST_SIDE:
        raise ValueError(
            f"classes={outputs} with {n} rows and {d} columns make points of {entries} entries; at "
            f"most {LARGEST_SIDE} can be handled. Use fewer classes."
        )


def _weights(sample_weight: Any, n: int) -> Array | None:
    """The weights in an array of their own."""
    if sample_weight is None:
        return None
    w = check.nonnegative(
        "sample_weight", sample_weight, n, what="row", zero="to leave that row out"
    )
    if not w.any():
        raise ValueError("sample_weight is 0 on every row; at least one row must count.")
    return w.copy()  # q does not follow what the caller does to his array; nor may these


def _shares(weights: Array | None, n: int, streams: bool) -> Array:
    """q = w / sum w; of data that stream, one number stands for all where they are the same."""
    if weights is None:
        return np.broadcast_to(1.0 / n, (n,)) if streams else np.full(n, 1.0 / n)
    return np.asarray(weights / float(weights.sum()))
