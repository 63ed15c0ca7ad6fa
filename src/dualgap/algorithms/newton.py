"""Inexact Newton: for smooth problems (no l1) where first-order methods take too many passes.

    1.  H = A' diag(q phi''(z)) A + diag(l2),   g = A'Q phi'(z) + l2 x
    2.  d ~ -H^(-1) g  by conjugate gradients, preconditioned
    3.  x+ = x + t d,  t from a line search on P (z + t A d costs nothing new)

What it shares with the primal-dual methods: the same products, the same dual point, the same
certificate. With r = -g - H d left by line 2 the point y+ = phi'(z) + phi''(z) (A d), which is
the dual step of a primal-dual method linearised at z, has A'Qy+ = -l2 (x + d) - r: its gap is what
the curvature changes along d, and |r|^2/(2 l2). So the last system is solved until that is within
tol, and no separate effort is made for the dual.

Squared loss: one system is all there is, and x moves with the conjugate gradients.

The preconditioner is diagonal, until the conjugate gradients have cost as many passes as a
factorisation would (`factorised.cost`); then H is factorised where the run stands. So the cost is
at most twice that of the better choice, known only in hindsight. A factor serves later systems
too, until they have in turn cost as much.

Where phi'' is no guide (far from the solution, at a kink, on rows that are classified with
confidence while l2 is small), a full step overshoots. Then phi'' is raised by a share m of its
bound 1/gamma, in line 1 and in y+: the step is held back in the predictions, whatever the units of
the columns, and with m = 1 no line search is needed (the model majorises P). m grows while the
line search has to shorten steps and falls while the model predicts P well.

Rows whose phi'' is negligible are left out of H until the last systems: they carry a tenth of its
trace at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dualgap import factorised
from dualgap._arrays import dot, per_row
from dualgap._types import Array
from dualgap.algorithms._base import Algorithm, Start
from dualgap.algorithms._batch import conjugate_at, first_state, with_dual
from dualgap.designs._base import Between
from dualgap.feasible import repair_is_free
from dualgap.problem import Problem
from dualgap.schedules import Steps
from dualgap.state import State

CHUNK = 25
"""Products with H in one step of the driver, at most."""
STALLED = 0.5
"""Nash and Sofer's test: the model gains less than this share of its mean gain so far."""
FORCING = 0.25
"""And |r|^2, in the preconditioner's norm, has fallen to this share."""
SOLVED = 1e-3
"""Or to this."""
FAR = 1e3
"""Times tol: with a gain of that, no thought is given to the dual point."""
ROUGH = 1e-4
"""Or more than this, for a larger tol."""
NEGLIGIBLE = 0.1
"""Share of the trace of the data's part of H that rows left out may carry."""
WORTH_IT = 0.6
"""Rows are left out if fewer than this share of them are left."""
FIRST_DAMPING = 1e-2
"""Of m, for losses with kinks in their slope."""
LEAST_DAMPING = 1e-8
"""Of m over the mean of phi'', where m is not 0."""
MOST_RISE = 1e3
"""Of m from one system to the next."""
AT_ONCE = 4.0
"""A factorisation that costs no more passes than this is made without waiting."""
FLAT = 1e-15
"""Curvature along a direction over that of its coordinates one by one: below this, rounding."""
NOTHING = 1e-19
"""Of P: a predicted gain below this is none."""
LONGER = 0.2
"""A step goes on if P falls at its end by more than this share of the slope at its beginning."""
FEWER = 8
"""A run starts on this fraction of the rows,"""
ROWS_EACH = 10
"""if there are as many for every unknown,"""
CLOSE_ON_FEW = 1e-3
"""until P there falls by no more than this share of it,"""
MOST_STEPS_ON_FEW = 30
"""or for as many steps."""


@dataclass(frozen=True)
class Newton(Algorithm):
    """Inexact Newton with preconditioned conjugate gradients.

    Parameters
    ----------
    tol : float
        The relative gap that the last system is solved for; `solve` fills in its own.
    """

    tol: float = 1e-6

    name: ClassVar[str] = "newton"
    patience: ClassVar[int] = 1

    def aiming_at(self, tol: float) -> Newton:
        """The last system is solved for this gap."""
        return replace(self, tol=tol)

    def steps(self, problem: Problem, Lam: float, Delta: float, boldness: float = 1.0) -> Steps:
        """There are none to choose."""
        return Steps(1.0, 1.0, 0.0)

    def start(self, problem: Problem, x0: Array | None, y0: Array | None) -> Start:
        """x0 or 0, and y = phi'(z) there (y0 plays no part)."""
        if problem.regularizer.has_l1:
            raise ValueError(
                f"algorithm='newton' needs a smooth regulariser, but l1={problem.l1:g}; use "
                "'working-set', 'ada-bpd' or 'auto'."
            )
        x = from_few_rows(self, problem) if x0 is None else x0
        # Only where D = -inf along the iterates are estimates made, which rest on Lam.
        Lam = 1.0 if repair_is_free(problem) else problem.constants.trace
        s = first_state(self, problem, x, None, Lam=Lam, Delta=0.0)
        damping = 0.0 if _is_smooth(problem) else FIRST_DAMPING
        memory = {"grad": _gradient(problem, s.x, s.u), "slope": s.y, "spent": 0.0,
                  "damping": damping, "hess": curvature(problem, s.z, s.y)}  # fmt: skip
        return Start(replace(s, memory=memory))

    def inherit(self, problem: Problem, s: State, earlier: State) -> State:
        """The factor, and the passes that go towards the next one."""
        factor, spent = earlier.memory.get("factor"), earlier.memory["spent"]
        if factor is not None:
            factor = factor.with_strengths(problem.regularizer.l2)
        return replace(s, memory={**s.memory, "factor": factor, "spent": spent})

    def step(self, problem: Problem, s: State) -> State:
        """Some products with H; when the system is solved (squared loss: at once), a move."""
        if s.memory.get("drifted", False):
            s = _anew(problem, s)
        solver = _System(problem, s, self.tol)
        solver.iterate()
        s = replace(s, passes=s.passes + solver.passes, memory=solver.memory())
        if problem.loss.is_quadratic:
            return _move_exactly(problem, s, solver)
        return _move(problem, s, solver) if solver.solved else replace(s, t=s.t + 1)


def from_few_rows(algorithm: Algorithm, problem: Problem) -> Array:
    """Where to start: about the solution on some of the rows, found in the same way; or 0.

    Rows of which there are many more than unknowns resemble each other: what a share of them says
    is right up to size/rows, so that the whole data are needed for the last steps only.
    """
    rows = problem.n // FEWER
    if problem.loss.is_quadratic or rows < ROWS_EACH * math.prod(problem.shape):
        return problem.zeros()
    drawn = np.zeros(problem.n, dtype=bool)
    drawn[np.random.default_rng(0).permutation(problem.n)[:rows]] = True
    few = problem.take(drawn)
    s = algorithm.start(few, None, None).state
    for _ in range(MOST_STEPS_ON_FEW):
        before = s.primal
        s = algorithm.step(few, s)
        if before - s.primal <= CLOSE_ON_FEW * s.primal and s.memory.get("system") is None:
            break
    problem.constants.passes += (few.constants.passes + s.passes) * rows / problem.n
    return s.x


class _System:
    """Line 2: H d = -g by conjugate gradients, picked up where the last step left it."""

    def __init__(self, problem: Problem, s: State, tol: float) -> None:
        self.problem, self.s = problem, s
        kept: Mapping[str, Any] = s.memory.get("system") or {}
        self.fresh = not kept
        self.damping = float(s.memory["damping"])
        self.rows = _rows_that_count(problem, s) if self.fresh else kept["rows"]
        self.d = kept.get("d", np.zeros_like(s.x))
        self.Ad = kept.get("Ad", np.zeros_like(s.z))
        self.r = kept.get("r", -s.memory["grad"])
        self.p, self.rho, self.rho0 = kept.get("p"), kept.get("rho", 0.0), kept.get("rho0", 0.0)
        self.gain, self.count = kept.get("gain", 0.0), kept.get("count", 0)
        self.base = kept.get("base", (s.x, s.z, s.primal))
        self.factor = s.memory.get("factor")
        self.factorised_here = kept.get("factorised_here", False)
        self.spent = float(s.memory["spent"])
        self.tol, self.passes, self.solved = tol, 0.0, False
        self.left_is_known = True
        self.l2 = _l2(problem)

    def memory(self) -> dict[str, Any]:
        """What the state keeps of it."""
        system = None if self.solved else {
            "rows": self.rows, "d": self.d, "Ad": self.Ad, "r": self.r, "p": self.p,
            "rho": self.rho, "rho0": self.rho0, "gain": self.gain, "count": self.count,
            "base": self.base, "factorised_here": self.factorised_here,
        }  # fmt: skip
        spent = {"spent": self.spent, "factor": self.factor}
        return {**self.s.memory, **spent, "system": system}

    def iterate(self) -> None:
        """Conjugate gradients, until solved or for CHUNK products."""
        problem = self.problem
        share, product = self._hessian()
        self._consider_factorising()
        Ap = None
        if self.p is None:
            Ap = self._point()
            self.rho0 = self.rho
        # Nothing to gain but rounding, which a singular H would blow up. (With l2 there may be:
        # for D, which divides by it.)
        nothing = 0.0 if problem.regularizer.has_l2 else NOTHING * problem.scale(self.base[2])
        if not self.rho > nothing:
            self.solved = True
        elif self._is_newton_step():
            self.d, self.gain, self.rho = self.p, 0.5 * self.rho, 0.0
            if Ap is None:
                Ap = problem.design.matvec(self.d)
                self._pay(0.5)
            self.Ad, self.solved, self.left_is_known = Ap, True, False
        # The iterates do not depend on where the chunks end.
        done, most = 0, min(CHUNK, max(1.0, self.s.budget - self.s.passes - 1.0))
        while not self.solved and done < most:
            assert self.p is not None
            Ap, Hp = product(self.p)
            Hp = Hp + self.l2 * self.p
            self._pay(share)
            curvature = dot(self.p, Hp)
            if not curvature > FLAT * dot(self.units * self.p, self.p):
                self.solved = True  # a flat direction, or the end of precision
                break
            a = self.rho / curvature
            self.d = self.d + a * self.p
            if self.rows is None:
                self.Ad = self.Ad + a * Ap
            self.r = self.r - a * Hp
            gained = 0.5 * a * self.rho
            self.gain += gained
            self.count += 1
            done += 1
            search = self._precondition(self.r)
            rho = dot(self.r, search)
            self.solved = self._enough(gained, rho)
            self.p = search + (rho / self.rho) * self.p
            self.rho = rho
            if not self.solved and self._consider_factorising():
                self._point()
        if self.solved and self.rows is not None:
            self.Ad = problem.design.matvec(self.d)
            self._pay(0.5)

    def _hessian(self) -> tuple[float, Callable[[Array], tuple[Array, Array]]]:
        """The share of the rows in H, and the map p -> A p, A'Q phi'' A p."""
        problem, hess = self.problem, self.s.memory["hess"]
        design = problem.design
        if problem.loss.is_vector:
            apply, q = curvature_map(problem, hess, self.damping), problem.q
            return 1.0, lambda p: design.sweep(p, lambda at, D: per_row(q[at], D) * apply(at, D))
        w = self._row_weights()
        if self.rows is None:
            return 1.0, lambda p: design.weighted_sweep(p, w)
        some, w = design.take(self.rows), w[self.rows]
        share = some.shape[0] / problem.n
        self.passes += share
        return share, lambda p: some.weighted_sweep(p, w)

    def _row_weights(self) -> Array:
        """The diagonal of Q (phi'' + m/gamma)."""
        problem = self.problem
        return np.asarray(
            problem.q * (self.s.memory["hess"] + self.damping / problem.loss.gamma)
        )

    def _is_newton_step(self) -> bool:
        """Whether the first direction is H^(-1) r already, and what is left of r does not matter.

        Near the end it does: the dual point is made of it.
        """
        if self.count or not self.factorised_here or self.problem.loss.is_quadratic:
            return False
        assert self.factor is not None
        target = min(self.tol, ROUGH) * self.problem.scale(self.base[2])
        return bool(self.factor.is_exact and self.rho > FAR * target)

    def _pay(self, passes: float) -> None:
        self.passes += passes
        self.spent += passes

    def _consider_factorising(self) -> bool:
        """Factorise H here if conjugate gradients have cost as much by now."""
        problem = self.problem
        if self.factorised_here or problem.loss.is_vector:
            return False
        l2 = problem.regularizer.l2
        if self.factor is not None and problem.loss.is_quadratic:  # it is H's already
            return False
        known = None if self.factor is None else self.factor.outer
        price = factorised.cost(problem.design, l2, outer_known=known is not None)
        if self.spent < price and price > AT_ONCE:
            return False
        w = self._row_weights()
        constants = problem.constants
        norms = None if constants.is_uneven else constants.row_norms_sq
        self.factor = factorised.HessianFactor(problem.design, w, l2, outer=known, norms=norms)
        self.factorised_here, self.spent = True, 0.0
        self.passes += 1.0
        return True

    def _point(self) -> Array | None:
        """The first direction p, or the first after a change of preconditioner; A p if known."""
        problem, s, Ap = self.problem, self.s, None
        self.p = None
        if self.factorised_here and not self.count and problem.offset is None:
            assert self.factor is not None
            step = self.factor.newton_step(self.r, problem.q * s.memory["slope"], s.z)
            if step is not None:
                self.p, Ap = step
                self._pay(0.5)
        if self.p is None:
            self.p = self._precondition(self.r)
        self.rho = dot(self.r, self.p)
        return Ap

    def _precondition(self, r: Array) -> Array:
        if self.factor is not None:
            self._pay(self.factor.passes)
            return np.asarray(self.factor.solve(r))
        # The diagonal serves where columns come in units of their own. With columns of one unit
        # (words, pixels) it would blow up the rare ones.
        return np.asarray(r / self.units) if self.problem.constants.is_uneven else r

    @cached_property
    def units(self) -> Array:
        """The diagonal of H, or near it: phi'' is replaced by its mean."""
        squares = self.problem.column_norms**2
        squares = squares if self.s.x.ndim == 1 else squares[:, None]
        level = self.s.memory.get("level", 1.0 / self.problem.loss.gamma)
        diagonal = squares * level + self.l2
        return np.where(diagonal > 0.0, diagonal, 1.0)

    def _enough(self, gained: float, rho: float) -> bool:
        """Whether d is good enough: as a step, or, where it is the last step, as a dual point."""
        if not rho > 1e-26 * self.rho0 or self.count >= self.r.size + CHUNK:
            return True
        loss = self.problem.loss
        target = self.tol * self.problem.scale(self.base[2] - self.gain)
        stalled = gained * self.count <= STALLED * self.gain and rho <= FORCING * self.rho0
        stalled = stalled or rho <= SOLVED * self.rho0
        if not loss.is_quadratic and (self.gain > target or self.rows is not None):
            return bool(stalled)
        # The gap at the dual point of this system has |r|^2/(2 l2) in it.
        l2 = self.problem.regularizer.l2
        free = self.problem.regularizer.strong_convexity == 0.0
        over = np.divide(self.r, l2, out=np.zeros_like(self.r), where=l2 > 0)
        left = max(0.5 * dot(over, self.r), rho if free else 0.0)
        return bool(left <= 0.2 * target and rho <= 1e-2 * self.rho0)


def _move(problem: Problem, s: State, system: _System) -> State:
    """Line 3, and the better of two dual points."""
    d, Ad, hess = system.d, system.Ad, s.memory["hess"]
    t, primal, slope = _line_search(problem, s, d, Ad)
    x, z = s.x + t * d, s.z + t * Ad
    u = problem.adjoint(slope)
    memory = {**s.memory, "grad": _gradient(problem, x, u), "gain": system.gain, "slope": slope}
    memory["hess"] = curvature(problem, z, slope)
    memory["level"] = mean_curvature(problem, memory["hess"])
    memory["damping"] = next_damping(
        problem, system.damping, system.gain, t, s.primal - primal, memory["level"]
    )
    new = replace(
        s, t=s.t + 1, passes=s.passes + 0.5, x=x, z=z, zt=z, y=slope, u=u, primal=primal,
        memory=memory,
    )  # fmt: skip
    smooth = primal - problem.regularizer.value(x)
    new = with_dual(problem, new, conjugate_at(problem, z, slope, smooth))
    if t == 1.0 and system.rows is None and system.left_is_known:
        y = s.memory["slope"] + curvature_map(problem, hess, system.damping)(slice(None), Ad)
        if (problem.loss.into_domain(y, problem.b) == y).all():
            # A'Qy = -l2 (x + d) - r
            other = with_dual(problem, replace(new, y=y, u=-system.l2 * x - system.r))
            new = other if other.merit < new.merit else new
    return new


def _move_exactly(problem: Problem, s: State, system: _System) -> State:
    """Squared loss: x + d for the d at hand, for the model is P itself."""
    x, z = system.base[0] + system.d, system.base[1] + system.Ad
    y = problem.loss.grad(z, problem.b)
    u = np.asarray(-system.l2 * x - system.r)
    new = replace(
        s, t=s.t + 1, x=x, z=z, zt=z, y=y, u=u, primal=problem.primal(x, z),
        memory={**s.memory, "drifted": system.solved},
    )  # fmt: skip
    return with_dual(problem, new)


def _anew(problem: Problem, s: State) -> State:
    """What the recurrences carry drifts: go on from what the data say."""
    z = problem.predict(s.x)
    y = problem.loss.grad(z, problem.b)
    u = problem.adjoint(y)
    memory = {**s.memory, "grad": _gradient(problem, s.x, u), "slope": y, "drifted": False}
    return replace(
        s, z=z, zt=z, y=y, u=u, primal=problem.primal(s.x, z), passes=s.passes + 1.0, memory=memory
    )


def _line_search(problem: Problem, s: State, d: Array, Ad: Array) -> tuple[float, float, Array]:
    """t = 1, unless P rises there or still falls steeply; then near its lowest point.

    Also P and phi' there. Beyond 1 it is where the curvature falls along d, as it does on rows
    that are classified well.
    """
    slope = dot(s.memory["grad"], d)
    rounding = 1e-14 * abs(s.primal)

    def at(t: float) -> tuple[float, Array, bool, float]:
        """P, phi', whether P has fallen enough, and its derivative along d."""
        z = s.z + t * Ad
        smooth, slopes = problem.mean_loss_grad(z)
        x = s.x + t * d
        primal = smooth + problem.regularizer.value(x)
        rise = problem.inner(slopes, Ad) + dot(_l2(problem) * x, d)
        return primal, slopes, primal <= s.primal + 1e-4 * t * slope + rounding, rise

    primal, slopes, enough, rise = at(1.0)
    if enough and not (rise < LONGER * slope and _is_smooth(problem)):
        return 1.0, primal, slopes
    low, high = (1.0, math.inf) if enough else (0.0, 1.0)  # P falls at low and rises at high
    t = 2.0 if enough else 0.5
    for _ in range(60):
        primal, slopes, enough, rise = at(t)
        if enough and abs(rise) <= 0.1 * abs(slope):
            break
        low, high = (t, high) if rise < 0.0 else (low, t)
        if high == math.inf:
            t = 2.0 * t
        else:
            t = 0.5 * (low + high) if low > 0.0 else 0.25 * high
    return t, primal, slopes


def _rows_that_count(problem: Problem, s: State) -> Any:
    """Which rows H is summed over: None for all."""
    if problem.loss.is_vector or problem.loss.is_quadratic or "gain" not in s.memory:
        return None
    if s.memory["gain"] <= 1e-3 * s.primal:  # near the end H is wanted whole
        return None
    if s.memory["factor"] is not None or problem.constants.is_uneven:  # a row's length says nothing
        return None
    damping = float(s.memory["damping"]) / problem.loss.gamma
    share = problem.q * (s.memory["hess"] + damping) * problem.constants.row_norms_sq
    order = np.argsort(share)
    dropped = int(np.searchsorted(np.cumsum(share[order]), NEGLIGIBLE * share.sum()))
    if problem.n - dropped > WORTH_IT * problem.n:
        return None
    rows = np.ones(problem.n, dtype=bool)
    rows[order[:dropped]] = False
    return rows


def _l2(problem: Problem) -> Any:
    common = problem.regularizer.common_l2
    return problem.regularizer.l2 if common is None else common


def _gradient(problem: Problem, x: Array, u: Array) -> Array:
    return np.asarray(u + _l2(problem) * x)


def curvature(problem: Problem, z: Array, slope: Array) -> Array:
    """phi''(z), from z and phi'(z); with several predictions what it is made of, softmax(z)."""
    if not problem.loss.is_vector:
        return problem.loss.hess_beside(z, problem.b, slope)
    p = slope.copy()  # the gradient of the multinomial loss is softmax(z) less e_b
    p[np.arange(problem.n), problem.b.astype(np.intp)] += 1.0
    return p


def mean_curvature(problem: Problem, hess: Array) -> float:
    """The mean of phi''(z), of its diagonal if it is a matrix."""
    return problem.mean(hess if hess.ndim == 1 else (hess * (1.0 - hess)).mean(axis=1))


def _is_smooth(problem: Problem) -> bool:
    """Whether phi'' is continuous."""
    loss = problem.loss
    return loss.is_quadratic or loss.is_self_concordant or loss.is_vector or loss.delta > 0.0


def next_damping(
    problem: Problem, damping: float, gain: float, t: float, fallen: float, level: float
) -> float:
    """The share m of 1/gamma for the next system: P fell at t, where the model gains ``gain``."""
    least = LEAST_DAMPING * max(level * problem.loss.gamma, LEAST_DAMPING)
    if not gain > 0.0:  # flat: nothing to solve with
        t = 0.0
    if t < 1.0:
        return float(min(max(damping, least) / max(t, 1.0 / MOST_RISE), 1.0))
    if fallen < 0.25 * gain:
        return damping
    if damping > least:
        return 0.1 * damping
    return 0.0 if _is_smooth(problem) else least


def curvature_map(problem: Problem, hess: Array, damping: float) -> Between:
    """The map D -> (phi''(z) + m/gamma) D, row by row; ``hess`` is what `curvature` gives."""
    least = damping / problem.loss.gamma
    if hess.ndim == 1:
        weights = hess + least
        return lambda at, D: weights[at] * D

    def apply(at: slice, D: Array) -> Array:
        pd = hess[at] * D
        return np.asarray(pd - hess[at] * pd.sum(axis=1)[:, None] + least * D)

    return apply
