"""The forms of H on a working set S: a matrix that sweeps read, or the columns themselves.

A Gram matrix goes on to the next step of a run, where the set has grown, or, unless the loss is
quadratic, where phi'' has changed only a little. Where H is too large to be formed, sweeps over the
columns find the signs, and may take hundreds for the rest, which is a linear system in the
coordinates that are not 0 (`linalg.orthant`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dualgap._types import Array, Mask, Places
from dualgap.algorithms.second_order import tuning
from dualgap.algorithms.second_order.base import LocalModel
from dualgap.designs import Columns
from dualgap.limits import current
from dualgap.linalg.hessian_factor import MATRICES
from dualgap.linalg.known_gram import KnownGram
from dualgap.linalg.line_search import Trial, first_that_falls
from dualgap.linalg.orthant import Inverse, Ray, solve_on_orthant
from dualgap.linalg.penalised import Penalty, descend
from dualgap.memory import spares
from dualgap.problem import Problem
from dualgap.regularizers import Box

Prepare = Callable[[Mask], Inverse]
"""What makes a preconditioner for the coordinates that are free."""


def penalty_of(problem: Problem) -> Penalty:
    """The regulariser of all coordinates."""
    g = problem.bounded_net
    return Penalty(g.l1, g.l2, (g.lower, g.upper) if isinstance(g, Box) else None)


def may_form(problem: Problem, columns: Columns) -> bool:
    """Whether factorisations of H cost less than conjugate gradients with the columns."""
    rules, side = tuning.GRAMS, columns.at.size
    support = min(side, problem.n)  # about, at most: that of l1 is no larger than the rows are many
    cheap = support <= rules.small_side or support**3 <= rules.factor_price * columns.nonzeros
    fits = spares(8.0 * MATRICES * side * side)
    return cheap and fits and side <= rules.largest_side


class GramModel(LocalModel):
    """H as a matrix that is at hand, at a point x with the gradient u."""

    def __init__(self, H: Array, u: Array, x: Array, penalty: Penalty) -> None:
        self.H, self.u, self.x, self.penalty = H, u, x, penalty

    def product(self, p: Array) -> Array:
        """H p."""
        return np.asarray(self.H @ p)

    def diagonal(self) -> Array:
        """The diagonal of H."""
        return self.H.diagonal()

    def restrict(self, some: Places) -> GramModel:
        """The rows and columns of these coordinates; the lower triangle of H is enough."""
        from dualgap.linalg.compiled_gram import symmetric_part

        H = np.empty((some.size, some.size))
        symmetric_part(self.H, some, H)
        return GramModel(H, self.u[some], self.x[some], self.penalty.at(some))

    def minimise(self, goal: float) -> tuple[Array, float]:
        """By descent and factorisations."""
        return descend(self.H, self.u, self.x, self.penalty, goal)

    def minimiser(self, share: float) -> Array:
        """The t where at most this share is left of what a coordinate alone gains at x."""
        return self.minimise(share * self.penalty.largest_gain(self.H.diagonal(), self.u, self.x))[
            0
        ]


class GramOfSet(GramModel):
    """H = A_S' diag(w) A_S as a matrix: formed, or one that is known and grows with the set.

    A sweep over the columns amounts to ``reading`` passes over the data.
    """

    def __init__(
        self, columns: Columns, w: Array, u: Array, x: Array, penalty: Penalty,
        known: KnownGram | None, reading: float,
    ) -> None:  # fmt: skip
        super().__init__(np.empty((0, 0)), u, x, penalty)
        self.columns, self.w, self.known, self.reading = columns, w, known, reading
        self.is_new = False
        """Whether H is that of the weights at hand."""

    @property
    def price(self) -> float:
        """The passes that it takes to bring H up to date, as sweeps over the columns count."""
        known = 0 if self.known is None else self.known.at.size
        sweeps = self.columns.gram_sweeps * (1.0 - (known / self.columns.at.size) ** 2)
        return sweeps * self.reading

    def renew(self) -> float:
        """Form H, or let the known one grow; either reads the columns once."""
        columns, known, spent = self.columns, self.known, 0.0
        if known is None or not np.array_equal(known.at, columns.at):
            known, spent = None if known is None else known.grown(columns), 0.5 * self.reading
        if known is None:
            known, self.is_new = KnownGram(columns.at, self.w, columns.gram(self.w)), True
        self.known, self.H = known, known.H
        return spent


class ColumnModel(LocalModel):
    """H = B' diag(w) B by products with the columns B, at a point x that moves on.

    B'v is the gradient of the model there: v is carried along, in place. h is the diagonal of H,
    if it is known, and a sweep over the columns amounts to ``sweep`` passes over the data.
    """

    def __init__(
        self, columns: Columns, w: Array, v: Array, x: Array, penalty: Penalty,
        h: Array | None = None, sweep: float = 1.0,
    ) -> None:  # fmt: skip
        self.columns, self.w, self.v, self.x, self.penalty = columns, w, v, x, penalty
        self.h, self.sweep = h, sweep
        few = tuning.GRAMS.columns_sweeps
        self.most = few if penalty.ends is None else 4.0 * few  # for nothing takes over there
        """The sweeps after which something else takes over."""
        self.is_last_resort = penalty.ends is None
        """Whether that is not another form of H, but conjugate gradients."""

    @property
    def price(self) -> float:
        """The passes for the diagonal, if it is not known: a reading of the columns."""
        return 0.5 * self.sweep if self.h is None else 0.0

    def renew(self) -> float:
        """Find the diagonal of H."""
        spent = self.price
        if self.h is None:
            self.h = self.columns.norms_sq(self.w)
        return spent

    def waits_for(self, sweeps: float) -> None:
        """Another form of H takes over once it costs no more than the sweeps did."""
        self.most, self.is_last_resort = max(sweeps, tuning.GRAMS.columns_sweeps), False

    def product(self, p: Array) -> Array:
        """H p."""
        return self.columns.rmatvec(self.w * self.columns.matvec(p))

    def diagonal(self) -> Array:
        """The diagonal of H."""
        assert self.h is not None
        return self.h

    def minimise(self, goal: float) -> tuple[Array, float]:
        """Sweeps, and conjugate gradients once they hardly change signs."""
        before = np.sign(self.x)
        count, worst = self.swept(self.most, goal)
        changed = np.count_nonzero(np.sign(self.x) != before)
        settled = changed <= tuning.GRAMS.sign_changes * before.size
        if worst > goal and settled and self.is_last_resort and not current().cut:
            count += self.finish(goal)[1]
        return self.x, count

    def swept(self, most: float, goal: float) -> tuple[float, float]:
        """Move x by so many sweeps at most; how many there were, and what is held against goal."""
        x, (l1, l2, ends) = self.x.copy(), self.penalty
        count, worst = self.columns.sweeps(
            self.w, self.v, x, self.diagonal(), l1, l2, most, goal, bounds=ends
        )
        self.x = x
        return count, worst

    def finish(self, goal: float, prepare: Prepare | None = None) -> tuple[Array, float]:
        """An x with a lower m, nearly its minimiser on the support; and the products.

        ``prepare`` makes of F, as a mask, an `Inverse` for it; without it that of the diagonal is
        taken.
        """
        x, penalty, total = self.x, self.penalty, self.diagonal() + self.penalty.l2
        free, u = penalty.has_slope(x) & (total > 0.0), self.columns.rmatvec(self.v)
        unit = np.divide(1.0, total, out=np.zeros_like(total), where=free)
        aim = goal * total[free]
        run, count = solve_on_orthant(
            lambda p: self.product(p) + penalty.l2 * p,
            np.where(free, penalty.downhill(u, x), 0.0), free,
            (lambda r: unit * r) if prepare is None else prepare(free),
            lambda run, _: bool((run.r[free] ** 2 <= aim).all()),
            tuning.SYSTEMS.most_products, 2.0 * self.columns.nonzeros,
        )  # fmt: skip
        ray = Ray(x, run.d, np.sign(x), penalty.l1)

        def look(t: float) -> Trial:
            new = ray.at(t)
            image = self.columns.matvec(new - x)
            change = float(u @ (new - x)) + 0.5 * float(image @ (self.w * image))
            return Trial(change + penalty.change(x, new), 0.0, (new, image))

        found = first_that_falls(look, ray.lengths, 0.0)
        if found is not None:
            self.x, image = found[1].point
            self.v += self.w * image
        return self.x, float(count + 1)
