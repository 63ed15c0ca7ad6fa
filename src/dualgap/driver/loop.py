"""The loop of solve: it runs any algorithm, keeps the best points, judges when to stop.

Nothing here changes an iterate: checks, callbacks, clocks and limits only decide whether there is a
next one. The iterates of 100 passes are bitwise those of two runs of 50 joined by ``state``.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from dualgap._arrays import dot
from dualgap._types import Array
from dualgap.algorithms.contract import NOTHING_SHOWN, Algorithm, Shown
from dualgap.certificate import Estimate, estimated_pair
from dualgap.compiled.clock import clock
from dualgap.driver.course import Attempts, put_back
from dualgap.driver.keeping import Earlier, Keeper
from dualgap.driver.progress import Progress, Silent
from dualgap.driver.proving import Proof, Prover
from dualgap.dual_points.feasible import needs_factorisation, repair_is_free
from dualgap.dual_points.refinement import is_refinable, newton_dual, refined
from dualgap.limits import Limits, OutOfTime
from dualgap.objective.separability import has_direction, one_class, separates
from dualgap.preconditioners.contract import Preconditioner
from dualgap.problem import Problem
from dualgap.result import Result, Setup
from dualgap.state import Incumbent, State, replace
from dualgap.status import Status
from dualgap.trace import Recorder, Snapshot, Trace

NOTHING = float(np.finfo(float).tiny)
"""A tol of this asks for what float64 can give; estimators mean it by tol=0."""
SETTLED = 1e-14
"""A step that moves x by no more than this share of |x| leaves it where it is."""
STUCK = 20
"""After this times the algorithm's patience without a smaller gap, rounding is suspected."""
TIE = 4.0 * float(np.finfo(float).eps)
"""Values of P that differ by no more than this share are alike."""

SWEPT_TOO_LONG = (
    "sweeps over small matrices have taken ten times as long as max_passes passes; columns that "
    "nearly depend on each other may be the reason."
)
"""The note of a run that ended because work on small matrices had cost what it may."""


class Run:
    """One call of solve, from the first iteration to the certificate.

    Parameters
    ----------
    user, inner : Problem
        The user's problem, and the same one in the variables of the run.
    algorithm : Algorithm
    conditioner : Preconditioner, optional
        What may ask for other variables while the run goes on.
    tol, max_passes : float
    began : float
        When the call of solve began.
    limits : Limits
        The limits on time and passes, which long loops inside of a step look at, too.
    callback : callable, optional
    keeper : Keeper, optional
        What keeps the run in a file.
    earlier : Earlier, optional
        Where another process has left it.
    readings : float
        The readings in the ledger when the run began, less those of other processes.
    """

    def __init__(
        self,
        user: Problem,
        inner: Problem,
        algorithm: Algorithm,
        conditioner: Preconditioner | None,
        *,
        tol: float,
        max_passes: float,
        began: float,
        limits: Limits,
        callback: Recorder | None,
        keeper: Keeper | None = None,
        earlier: Earlier | None = None,
        readings: float = 0.0,
    ) -> None:
        self.user, self.problem = user, inner
        self.algorithm, self.conditioner = algorithm, conditioner
        self.tol, self.max_passes, self.began, self.limits = tol, max_passes, began, limits
        self.callback, self.keeper, self.earlier = callback, keeper, earlier
        self.readings_before = readings
        self.first = 0.0
        """The passes of the state that the run began at; those of its limit count from there."""
        self.setup, self.notes = Setup(0.0, 0.0), list[str]()
        self.line: Progress = Silent()
        problem = inner
        self.asks_after_steps = conditioner is not None and conditioner.looks_at_steps
        self.free = repair_is_free(problem)
        """Whether iterations give dual points, and so a gap, without another product."""
        self.dear = needs_factorisation(problem)
        """Whether a dual point takes a factorisation."""
        side = math.prod(problem.shape)
        self.first_look = max(16.0, side) if self.dear else 16.0
        """The iteration of the first paid look at the gap for the sake of the trace."""
        self.attempts = Attempts(next_look=self.first_look)
        self.rows: list[tuple[float, ...]] = []
        self.improved: tuple[float, int] = (math.inf, 0)
        """The least gap, or its stand-in, and the iteration that found it."""
        self.fallen: tuple[float, int] = (math.inf, 0)
        """The least P, and the iteration that found it."""
        self.one_class = self._has_one_class()
        self.before: Array | None = None
        """x of the last step, where it is asked for."""
        self.found: tuple[Array, Array, Estimate] | None = None
        """What a paid check has found that `_adopt` has not looked at yet: x, y and the gap."""
        self.last: tuple[Array, Array, Estimate] | None = None
        """What the last paid check has found."""
        self.better: tuple[Array, Array, Estimate] | None = None
        """A point of the user's problem that no iteration made, its y and its gap in floats."""
        self.prover = self._prover()
        self.exhausted = False
        """Whether careful Newton steps have found nothing below P of the best x."""

    def to_the_end(
        self, s: State, setup: Setup, notes: list[str], status: Status | None = None
    ) -> Result:
        """Iterate until judged; with a status, which the set-up ended with, not at all."""
        s = self._begun(s, setup, notes)
        last = self.first + self.max_passes
        s = replace(s, budget=last)
        try:
            if status is None and self.earlier is None:
                status = self._record(s) or self._judge(s)
                s = self._adopt(s)
            while status is None:
                if self.keeper is not None:
                    self.keeper.look(self, s)
                if s.passes + self.algorithm.passes_per_step > last:
                    status = Status.PASS_LIMIT
                elif self.limits.time_is_up:
                    status = Status.TIME_LIMIT
                elif not self.asks_after_steps and (changed := self._changed(s)) is not None:
                    s = changed
                    # A dual point comes with the change, and often a better x.
                    status = self._record(s) or self._judge(s)
                    s = self._adopt(s)
                else:
                    before = s
                    s, status = self._stepped(s)
                    if _is_finite(s):  # then nobody needs the arrays of the state before
                        before = s
                    status = status or self._record(s) or self._judge(s)
                    if status is Status.DIVERGED:  # the x of a finite P may still be too large
                        s, status = self.algorithm.step_back(self.problem, before, s), None
                    s = self._adopt(s)
        except (KeyboardInterrupt, OutOfTime) as stop:
            status = status_of(stop)
        self.limits.lift()
        notes = self.notes if self.keeper is None else [*self.notes, *self.keeper.end(self)]
        if not self.rows:
            self.callback = None
            self._record(s)
        if status is Status.PASS_LIMIT and self.limits.beside_is_spent:
            notes = [*notes, SWEPT_TOO_LONG]
        return self._result(s, status, notes)

    def _begun(self, s: State, setup: Setup, notes: list[str]) -> State:
        """The first state of a run, or of one that another process has begun."""
        if self.earlier is not None:
            s = put_back(self, *self.earlier)
            self.setup = self.setup._replace(seconds=self.setup.seconds + setup.seconds)
            return s
        self.first, self.setup, self.notes = s.passes, setup, notes
        self.improved = self.fallen = (math.inf, s.t)
        self.limits.begin(self.problem, self.max_passes)
        return replace(s, incumbent=_better(s))

    def _stepped(self, s: State) -> tuple[State, Status | None]:
        """The next state; from one that is not finite the algorithm steps back.

        Of a step that a limit has cut short nothing is kept but the point, if it is the best.
        """
        self.limits.begin_step(s.budget - s.passes)
        new = self.algorithm.step(self.problem, s)
        counts = isinstance(new, State) and new.t > s.t
        if not (counts and (new.passes > s.passes or self.limits.cut)):
            raise TypeError(_no_step(self.algorithm, s, new))
        if not math.isfinite(new.primal):
            new = self.algorithm.step_back(self.problem, s, new)
        new = replace(new, incumbent=_better(new))
        if not self.limits.cut:
            return (self._in_better_variables(new) if self.asks_after_steps else new), None
        self.attempts.passes += new.passes - s.passes
        self._record(replace(new, passes=s.passes))
        up = self.limits.time_is_up
        return replace(s, incumbent=new.incumbent), Status.TIME_LIMIT if up else Status.PASS_LIMIT

    def _in_better_variables(self, s: State) -> State:
        """A step in other variables, where the last one has shown that they are needed."""
        changed = self._changed(s)
        if changed is None:
            return s
        new = self.algorithm.step(self.problem, changed)
        return replace(new, incumbent=_better(new))

    def _changed(self, s: State) -> State | None:
        """The run in other variables, where the preconditioner asks for them."""
        if self.conditioner is None:
            return None
        began, before = clock(), self.user.base.ledger.passes
        asked = self.conditioner.next_change(self.user, self.problem, self.algorithm, s)
        if asked is None:
            return None
        change, s = asked
        inner, then = change.inner(self.user), s

        def move(x: Array) -> Array:
            return change.to_inner(self.user, inner, self._to_user(then, x))

        s = replace(self.algorithm.restart(inner, s, move, change.advice()), change=change)
        self.problem = inner
        spent = self.user.base.ledger.passes - before
        self.setup = Setup(self.setup.passes + spent, self.setup.seconds + clock() - began)
        return replace(s, incumbent=_better(s))

    # ---- what takes the rows of the data ----

    def _prover(self) -> Prover:
        return Prover(self.user, self.tol)

    def _has_one_class(self) -> bool:
        return one_class(self.problem)

    def _separates(self, s: State) -> bool:
        return separates(self.problem, s.x, s.z)

    def _has_direction(self) -> bool:
        return has_direction(self.user)

    def _shown_y(self, y: Array) -> Array:
        """For a callback."""
        return _read_only(y)

    def _kept_y(self, y: Array) -> Array:
        """For the result."""
        return y.copy()

    def _shown(self, s: State) -> Shown:
        """What the algorithm shows of its steps; nothing before it has begun."""
        return self.algorithm.shown(s) if s.begun else NOTHING_SHOWN

    def _to_user(self, s: State, x: Array) -> Array:
        """x in the user's variables, the intercept last."""
        return x if s.change is None else s.change.to_user(self.user, self.problem, x)

    # ---- one check ----

    def _record(self, s: State) -> Status | None:
        best = s.incumbent
        dual, gap = -math.inf, math.inf  # where P(x) is too large for a float nothing is known
        if math.isfinite(s.primal):
            dual = min(
                best.dual, s.primal - TIE * abs(s.primal)
            )  # no gap is less than its rounding
            gap = s.primal - dual
        elapsed = time.perf_counter() - self.began
        passes = s.passes + s.check_passes + self.attempts.passes
        Delta, *steps, _ = self._shown(s)
        self.rows.append((passes, elapsed, s.primal, dual, gap, Delta, *steps))
        target = self.tol * self.problem.scale(best.primal)
        self.line.update(passes, s.primal, gap, Delta, elapsed, target)
        if self.callback is None:
            return None
        x, intercept = self.user.split(self._to_user(s, s.x))
        snapshot = Snapshot(
            passes, elapsed, s.primal, dual, gap, Delta,
            x=_read_only(x), intercept=intercept,
            y=self._shown_y(s.y if best.y is None else best.y),
        )  # fmt: skip
        answer = self.callback(snapshot)
        return Status.CALLBACK if isinstance(answer, bool | np.bool_) and answer else None

    def _judge(self, s: State) -> Status | None:
        """Whether to stop, and why."""
        if not _is_finite(s):
            return Status.DIVERGED
        if self.one_class or (s.t % self.algorithm.patience == 0 and self._separates(s)):
            return Status.NO_MINIMISER
        best = s.incumbent
        if best.lowest + TIE * abs(best.lowest) < self.fallen[0]:
            self.fallen = (best.lowest, s.t)
        if self.tol <= NOTHING:
            return self._judge_settled(s)
        target = self.tol * self.problem.scale(best.primal)
        gap = best.primal - best.dual
        if gap <= target and s.t >= self.attempts.next_confirmation:
            assert best.x is not None and best.y is not None
            if self.prover.proves(self._to_user(s, best.x), best.y):
                self.attempts.passes += 1
                return self._arrived(s)
            estimate = self._certify(s, best.x, best.y)
            if estimate.certified and estimate.gap <= target:
                ended = self.prover.failed()
                if ended is not None:
                    return ended
            elif _at_floor(estimate):
                return Status.ROUNDING
            self.attempts.next_confirmation = s.t + self.algorithm.patience
        elif not self.free:
            return self._judge_paid(s, target) or self._judge_stuck(s)
        return self._judge_rounding(s, gap) or self._judge_stuck(s)

    def _converged(self, s: State, point: tuple[Array, Array]) -> Status | None:
        """How a run ends whose float gap is within tol; None: it is not proved, and goes on."""
        return self._arrived(s) if self.prover.proves(*point) else self.prover.failed()

    def _arrived(self, s: State) -> Status:
        """How a run ends whose gap is within tol; a tiny P may mean that there is no minimiser."""
        return Status.NO_MINIMISER if self._separates(s) else self.prover.arrived()

    def _last_point(self, s: State) -> tuple[Array, Array]:
        """What `_certify` has looked at last."""
        assert self.last is not None
        return self._to_user(s, self.last[0]), self.last[1]

    def _judge_settled(self, s: State) -> Status | None:
        """For tol=0, which asks for all that float64 can give: whether x, too, stands still."""
        moved = s.x - self.before if self.before is not None else s.x
        self.before = s.x
        if dot(moved, moved) > SETTLED**2 * dot(s.x, s.x) or s.t < self.attempts.next_t:
            gap = s.incumbent.primal - s.incumbent.dual
            return self._judge_rounding(s, gap, times=10)
        self.attempts.next_t = s.t + self.algorithm.patience
        certificate = self._certify(s, s.x, s.incumbent.y if self.free else None)
        return (
            Status.ROUNDING if _at_floor(certificate) else self._judge_rounding(s, certificate.gap)
        )

    def _judge_rounding(self, s: State, gap: float, times: int = 1) -> Status | None:
        """Stop where a tiny gap no longer shrinks."""
        if gap < 0.99 * self.improved[0]:
            self.improved = (gap, s.t)
        at_floor = gap <= 1e-12 * self.problem.scale(s.incumbent.primal)
        return Status.ROUNDING if at_floor and self._is_stuck(s, times) else None

    def _is_stuck(self, s: State, times: int = 1) -> bool:
        return s.t - self.improved[1] >= times * STUCK * self.algorithm.patience

    def _stands_still(self, s: State) -> bool:
        """Whether a second-order method repeats itself: neither P nor the gap gets any smaller."""
        since = s.t - max(self.fallen[1], self.improved[1])
        return self.algorithm.is_second_order and since >= STUCK * self.algorithm.patience

    def _judge_stuck(self, s: State) -> Status | None:
        """Pay for a look where the gap no longer shrinks: rounding may be why, tiny or not."""
        still = self._stands_still(s)
        times = 1 if self.algorithm.is_second_order else 5
        if not (still or self._is_stuck(s, times * self.attempts.wait)):
            return None
        self.improved = (self.improved[0], s.t)
        self.attempts.wait *= 4
        before = self.better
        certificate = self._certify_harder(s)
        if certificate.gap <= self.tol * self.user.scale(certificate.primal):
            assert self.better is not None
            return self._converged(s, self.better[:2])
        if still and certificate.dual <= 0.0 and self._has_direction():
            return Status.NO_MINIMISER
        if self.exhausted and certificate.certified and not self.user.regularizer.has_l1:
            return Status.ROUNDING  # no Newton step lowers P, however exact
        if _at_floor(certificate):
            return Status.ROUNDING
        if not still or (before is not None and certificate.primal < 0.9 * before[2].primal):
            return None
        return Status.ROUNDING if certificate.certified else Status.STATIONARY

    def _judge_paid(self, s: State, target: float) -> Status | None:
        """Where D = -inf along the iterates: look at a cheap estimate, then pay for a check."""
        estimate = self.algorithm.estimated_gap(self.problem, s)
        # For the trace, and to learn how the estimate relates to the truth, look ever more seldom;
        # a factorisation costs about d/10 iterations, so then not before d, 2d, 4d, ... Squared
        # loss without regulariser: any dual point projects to P*, so look once, at the start.
        exact = self.dear and self.problem.loss.is_quadratic
        for_trace = self.attempts.passes == 0 if exact else s.t >= self.attempts.next_look
        if for_trace:
            growth = 2.0 if self.dear else 1.2
            self.attempts.next_look = max(s.t * growth, self.first_look)
        promising = estimate * self.attempts.factor <= target
        stuck = self._judge_rounding(s, estimate) is not None
        due = (promising or stuck) and s.t >= self.attempts.next_t
        if not (for_trace or due):
            return None
        certificate = self._certify(s, s.x, None)
        if certificate.certified:
            if certificate.gap <= target and s.t >= self.attempts.next_confirmation:
                self.attempts.next_confirmation = s.t + self.algorithm.patience
                return self._converged(s, self._last_point(s))
            if due and _at_floor(certificate):
                return Status.ROUNDING
            if estimate > 0:
                self.attempts.factor = max(certificate.gap / estimate, 1e-3)
            self.attempts.next_t = s.t + self.algorithm.patience
            return None
        if due:
            self.attempts.factor *= 5.0
            self.attempts.next_t = s.t + 2 * self.algorithm.patience
            return self._judge_uncertified(s, target)
        return None

    def _judge_uncertified(self, s: State, target: float) -> Status | None:
        """No bound could be had though it was due: go on while P falls, then say so."""
        self.attempts.failures += 1
        if self.attempts.failures % 4:
            return None
        certificate = self._certify_harder(s)
        if certificate.gap <= target:
            assert self.better is not None
            return self._converged(s, self.better[:2])
        before, self.attempts.lowest = self.attempts.lowest, s.incumbent.lowest
        if not before - s.incumbent.lowest <= 0.01 * target:
            return None
        return Status.NO_MINIMISER if self._has_direction() else Status.STATIONARY

    def _certify(self, s: State, x: Array | None, y: Array | None) -> Estimate:
        """A paid check, in floats: from the user's data, and counted."""
        assert x is not None
        self.attempts.passes += 1
        certificate, y = estimated_pair(self.user, self._to_user(s, x), y)
        self.found = self.last = (x, y, certificate)
        return certificate

    def _certify_harder(self, s: State) -> Estimate:
        """The best that can be said of the best x: at its y, at phi'(A x), at a Newton step's.

        A second-order method takes that step, too, as exactly as float64 allows.
        """
        assert s.incumbent.x is not None
        x = self._to_user(s, s.incumbent.x)
        found, y = estimated_pair(self.user, x, s.incumbent.y)
        earlier, self.better = self.better, (x, y, found)
        trials = [(x, None), (x, newton_dual(self.user, x, self.user.predict(x)))]
        if self.algorithm.is_second_order:
            nearest = x
            if earlier is not None and earlier[2].primal < found.primal:
                nearest = earlier[0]  # goes on from where careful steps ended the last time
            near = refined(self.user, nearest)
            self.exhausted = near is x and is_refinable(self.user, x)
            trials += [(near, None), (near, newton_dual(self.user, near, self.user.predict(near)))]
        for point, guess in trials:
            trial, y = estimated_pair(self.user, point, guess)
            self.attempts.passes += 1
            if trial.gap < found.gap or (trial.primal < found.primal and trial.gap == found.gap):
                found, self.better = trial, (point, y, trial)
        return found

    def _adopt(self, s: State) -> State:
        """Keep the lower bound that a paid check found: it holds for every later point too."""
        if self.found is None:
            return s
        _, y, certificate = self.found
        self.found = None
        if certificate.certified and certificate.dual > s.incumbent.dual:
            return replace(s, incumbent=replace(s.incumbent, dual=certificate.dual, y=y))
        return s

    def _elapsed(self) -> float:
        return time.perf_counter() - self.began

    @property
    def readings(self) -> float:
        """How often the run has read the data so far."""
        return self.user.base.ledger.readings - self.readings_before

    # ---- the end ----

    def _proved_end(self, s: State, status: Status) -> Proof:
        """The point to return, its y, and the proof; the gap in floats says which."""
        best, proof = s.incumbent, self.prover.last
        assert best.x is not None
        x, y = self._to_user(s, best.x), best.y
        if proof is not None and np.array_equal(proof[0], x) and self.prover.is_reached(proof[2]):
            return proof
        known = self.last is not None and self.last[0] is best.x and self.last[1] is y
        if known and self.last is not None and y is not None:
            estimate = self.last[2]
        else:
            estimate, y = estimated_pair(self.user, x, y)
        if self.better is not None and self.better[2].gap < estimate.gap:
            x, y, _ = self.better
        newton = self.algorithm.is_second_order and status is not Status.PASS_LIMIT
        return self.prover.end(x, y, newton=newton)

    def _result(self, s: State, status: Status, notes: list[str]) -> Result:
        problem = self.user
        x, y, certificate = self._proved_end(s, status)
        target = self.tol * problem.scale(certificate.primal)
        status = self.prover.status(status, certificate)
        # One more row, the certificate: of the best point, whatever the last iterate was.
        passes, elapsed = s.passes + s.check_passes + self.attempts.passes, self._elapsed()
        primal, dual, gap = certificate.primal, certificate.dual, certificate.gap
        self.rows.append((passes, elapsed, primal, dual, gap, *self.rows[-1][5:]))
        shown = self._shown(s)
        self.line.update(passes, primal, gap, shown.Delta, elapsed, target)
        coefficients, intercept = problem.split(x)
        return Result(
            x=coefficients.copy(),
            intercept=intercept,
            y=self._kept_y(y),
            certificate=certificate,
            status=status,
            trace=Trace(self.rows, shown.rollbacks, target),
            passes=passes,
            seconds=self._elapsed(),
            setup=self.setup,
            algorithm=self.algorithm.name,
            state=replace(s, budget=math.inf),  # the next call has its own
            notes=notes,
        )


def _is_finite(s: State) -> bool:
    """Whether P and x are."""
    return math.isfinite(s.primal) and math.isfinite(dot(s.x, s.x))


def status_of(stop: BaseException) -> Status:
    """How a run ends that the user or the clock has stopped."""
    return Status.TIME_LIMIT if isinstance(stop, OutOfTime) else Status.INTERRUPTED


def _no_step(algorithm: Algorithm, s: State, new: Any) -> str:
    """The sentence on what a step has returned, where limits could not end the run."""
    step_of = f"step of algorithm={algorithm.name!r}"
    if not isinstance(new, State):
        return f"{step_of} returned {new!r}; it should return the next dualgap.algorithms.State."
    return (
        f"{step_of} went from t = {s.t} and {s.passes:g} passes to t = {new.t} and {new.passes:g} "
        "passes. A step counts itself and the passes that it takes, by which limits end a run."
    )


def _at_floor(estimate: Estimate) -> bool:
    """Whether what the float gap leaves open may be rounding."""
    return estimate.certified and estimate.gap <= 4.0 * estimate.rounding


def _better(s: State) -> Incumbent:
    """The best primal and dual point, this state's among them."""
    best = s.incumbent
    if s.primal <= best.lowest + TIE * abs(best.lowest):
        best = replace(best, primal=s.primal, x=s.x, lowest=min(s.primal, best.lowest))
    if s.dual > best.dual:
        best = replace(best, dual=s.dual, y=s.y)
    return best


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view
