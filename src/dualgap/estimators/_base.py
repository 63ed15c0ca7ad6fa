"""What all estimators share: a certified solve, warm starts, and what is shown of the certificate.

An estimator turns its parameters into a `Problem`, solves it and keeps coefficients, dual point and
certificate. The mathematics is all below; nothing here touches an iterate.
"""

from __future__ import annotations

import html
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import joblib
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from dualgap._types import Array
from dualgap.algorithms import Algorithm
from dualgap.api import Problem
from dualgap.certificate import Certificate
from dualgap.estimators import _parameters as check
from dualgap.estimators._callbacks import CallbackSupportMixin, Tasks
from dualgap.estimators._checkpoints import Kept
from dualgap.estimators._data import FLOATS, validated
from dualgap.estimators._saving import Saved
from dualgap.estimators._solvers import algorithm_for, kind_of
from dualgap.estimators._stopping import BestScore, Held, hold_back
from dualgap.paths import joined
from dualgap.regularizers import NonNegative
from dualgap.state import State
from dualgap.status import Status
from dualgap.trace import Snapshot, Trace

DEFAULT_PASSES = 10_000
"""Default of max_iter: generous, for a run that stops there is not certified."""


FLAGS = ("fit_intercept", "warm_start", "early_stopping", "keep_run", "positive", "copy_X")
"""Parameters that are True or False, wherever they are."""


@dataclass(frozen=True, eq=False)
class Solution:
    """What one solve gave: the point, and how far it is from the optimum."""

    problem: Problem
    x: Array
    intercept: Any
    y: Array
    certificate: Certificate
    status: Status
    trace: Trace
    passes: int
    algorithm: str = ""

    def rounded(self, dtype: Any) -> Solution:
        """In the precision of the data; the certificate is that of the rounded point."""
        if dtype != np.float32:
            return self
        x, intercept = self.x.astype(dtype), np.asarray(self.intercept, dtype)
        exact = np.asarray(intercept, np.float64)
        certificate = self.problem.certify(
            x.astype(np.float64), self.y, intercept=exact if exact.ndim else float(exact)
        )
        return replace(self, x=x, intercept=intercept[()], certificate=certificate)


class Ended(Protocol):
    """How a solve, or several in one, ended."""

    @property
    def algorithm(self) -> str:
        """The name of what was run."""

    @property
    def status(self) -> Status:
        """Why it ended."""

    @property
    def trace(self) -> Trace:
        """What happened at every check."""


class Memory(NamedTuple):
    """What a warm start goes on from."""

    identity: tuple[Any, ...]
    state: State
    x: Array
    """With the intercept below it."""
    y: Array


class Certified(CallbackSupportMixin, Kept, Saved):
    """Base of the estimators."""

    needs_blocks = False
    """Whether ``fit`` takes rows by their numbers, or appends a column."""
    least_iterations = 1
    """The smallest max_iter; scikit-learn allows 0 in some classes."""
    _precompute_names: tuple[str, ...] = ()
    """What ``precompute`` may be besides a flag and a matrix."""

    def _take(self, given: dict[str, Any]) -> None:
        """Keep the parameters of a constructor as they are, which says ``self._take(locals())``."""
        for name, value in given.items():
            if name != "self":
                setattr(self, name, value)

    def __sklearn_tags__(self) -> Any:
        """Sparse data are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ---- checks ----

    def _check_options(self) -> None:
        """Parameters that several estimators have, where they have them."""
        given = vars(self)
        check.real(self, "tol", low=0.0)
        if self.max_iter is not None:
            check.integer(self, "max_iter", low=self.least_iterations)
        check.flags(self, *(name for name in FLAGS if name in given))
        check.verbosity(self)
        if "random_state" in given:
            check.seed(self)
        if "n_jobs" in given:
            check.jobs(self)
        if "selection" in given:
            check.choice(self, "selection", ("cyclic", "random"))
            check.precomputed(self, *self._precompute_names)
        if not isinstance(self.solver, str | Algorithm):
            raise TypeError(f"solver must be a name or a dualgap algorithm, got {self.solver!r}.")
        if "validation_fraction" in given:
            fraction = check.real(self, "validation_fraction", low=0.0, high=1.0, open_low=True)
            if fraction == 1.0:
                raise check.refuse(self, "validation_fraction", "a float in the range (0.0, 1.0)")
            check.integer(self, "n_iter_no_change", low=1)

    def _data(
        self, X: Any, y: Any, sample_weight: Any, **options: Any
    ) -> tuple[Any, Any, Array | None]:
        """Data, targets and weights that can be fitted to; options as `validate_data` has them."""
        X, y = validated(self, X, y, accept_sparse=["csr", "csc"], dtype=FLOATS, **options)
        return X, y, check.sample_weights(sample_weight, X.shape[0])

    def _hold_back(
        self, X: Any, y: Any, weights: Array | None, *, stratify: Any = None
    ) -> tuple[Held, Held]:
        """Rows to fit and rows to score, for an early stop."""
        fraction, seed = self.validation_fraction, self.random_state
        return hold_back(X, y, weights, fraction=fraction, seed=seed, stratify=stratify)

    def _penalty(self, l1: float, l2: float) -> dict[str, Any]:
        """What `Problem` is told of the regulariser."""
        if self.positive:
            return {"regularizer": NonNegative(l1, l2)}
        return {"l1": l1, "l2": l2}

    # ---- solving ----

    def _remember(self, X: Any, y: Any, weights: Array | None) -> None:
        """Before a fit: what tells these data from others, if a warm start must know."""
        self._check_checkpoint(y)
        self.__dict__.pop("_data_key", None)
        if not self.warm_start:
            self.__dict__.pop("_memory", None)
            return
        self._data_key = joblib.hash((X, y, weights))
        self.__dict__.setdefault("_memory", {})

    def _solve(
        self,
        problem: Problem,
        *,
        part: int = 0,
        watch: Callable[[Snapshot], bool | None] | None = None,
        stop: BestScore | None = None,
    ) -> Solution:
        """Solve one problem, going on from an earlier fit where there is one.

        ``part`` numbers the problems of one fit (targets, classes).
        """
        algorithm = algorithm_for(self.solver, kind_of(problem))
        identity = (
            self.__dict__.get("_data_key"),
            (problem.l1, problem.l2, repr(problem.given), problem.loss, problem.fit_intercept),
            (algorithm, self.random_state if isinstance(self.random_state, int) else None),
        )
        options: dict[str, Any] = {}
        before = self._memory.get(part) if self.warm_start else None
        passed = 0.0
        if before is not None and before.identity == identity:
            options["state"] = before.state
            passed = before.state.passes
        elif before is not None:
            options = fitting(problem, before.x, before.y)
        elif self.warm_start and "coef_" in self.__dict__:  # saved, or fitted without warm_start
            options = fitting(problem, self._last_point(part), None)
        result = problem.solve(
            algorithm=algorithm,
            tol=max(float(self.tol), np.finfo(float).tiny),
            max_passes=DEFAULT_PASSES if self.max_iter is None else self.max_iter,
            random_state=self._seed(),
            callback=_all_of(watch, stop),
            verbose=bool(self.verbose),
            **options,
            **self._checkpoint_options(),
        )
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if self.warm_start:
            x = joined(result, fit_intercept=True)
            self._memory[part] = Memory(identity, result.state, x, result.y)
        solution = Solution(
            problem=problem,
            x=result.x,
            intercept=result.intercept,
            y=result.y,
            certificate=result.certificate,
            status=result.status,
            trace=result.trace,
            passes=max(1, math.ceil(result.state.passes - passed)),
            algorithm=result.algorithm,
        )
        return _best_scored(solution, stop)

    def _last_point(self, part: int) -> Array | None:
        """The coefficients of the last fit as a problem of this fit has them, intercept last."""
        rows, intercepts = dense_rows(self.coef_), np.atleast_1d(self.intercept_)
        if part >= len(rows):
            return None
        return np.append(rows[part], intercepts[part if part < len(intercepts) else 0])

    def _seed(self) -> int | None:
        if self.random_state is None or isinstance(self.random_state, int | np.integer):
            return None if self.random_state is None else int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))

    def _keep(self, solutions: Sequence[Solution]) -> None:
        """Certificate, status and trace: those of the solve that is furthest from done."""
        worst = max(solutions, key=lambda s: s.certificate.relative_gap)
        self._report(worst, worst.certificate, [s.certificate for s in solutions])
        self._warn(worst)

    def _report(
        self, how: Ended, certificate: Certificate, certificates: list[Certificate]
    ) -> None:
        """How the solve ended that is furthest from done, its certificate, and those of all."""
        self.__dict__.pop("_left_out", None)
        self.certificate_ = certificate
        self.certificates_ = certificates
        self.solver_ = how.algorithm
        self.status_ = how.status
        self.trace_ = how.trace

    def _warn(self, solution: Solution) -> None:
        """ConvergenceWarning, unless the gap is certified to tol or the user stopped the run."""
        fine = solution.status in (Status.CONVERGED, Status.CALLBACK)
        # tol=0 asks for what float64 can give, and that was reached.
        if fine or (solution.status is Status.ROUNDING and self.tol == 0):
            return
        warnings.warn(
            f"{type(self).__name__} is not certified to tol={self.tol:g}: {story(self, solution)}",
            ConvergenceWarning,
            stacklevel=3,
        )

    # ---- showing ----

    def plot_convergence(self, axes: Any = None) -> Any:
        """Draw the certified gap and the strong convexity found, against passes over the data.

        Parameters
        ----------
        axes : two matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        The two axes.
        """
        check_is_fitted(self)
        return self.trace_.plot(axes)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """What notebooks show: scikit-learn's diagram, and the certificate below it."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._certificate_html()
        return bundle

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._certificate_html()

    def _certificate_html(self) -> str:
        certificate = getattr(self, "certificate_", None)
        if certificate is None:
            return ""
        rows = "<br>".join(html.escape(str(line)) for line in (self.status_, certificate))
        return f'<div class="dualgap-certificate" style="font-family:monospace">{rows}</div>'


# ---- starting points ----


def dense_rows(coef: Any) -> Array:
    """``coef_``, which may have been made sparse, with a row for each target or class."""
    return np.atleast_2d(coef.toarray() if hasattr(coef, "toarray") else coef)


def fitting(problem: Problem, x: Any, y: Any) -> dict[str, Any]:
    """x0 and y0 for `solve` where their shapes fit the problem: x with the intercept last."""
    options: dict[str, Any] = {}
    outputs = () if problem.outputs is None else (problem.outputs,)
    if x is not None and np.shape(x) == (problem.d + 1, *outputs) and np.isfinite(x).all():
        options["x0"] = x if problem.fit_intercept else x[:-1]
    if y is not None and np.shape(y) == (problem.n, *outputs):
        options["y0"] = problem.loss.into_domain(y, problem.b)
    return options


def _all_of(
    *callbacks: Callable[[Snapshot], bool | None] | None,
) -> Callable[[Snapshot], bool] | None:
    """One callback that calls all of them; any may stop the run."""
    given = [callback for callback in callbacks if callback is not None]
    if not given:
        return None
    return lambda snapshot: any([bool(callback(snapshot)) for callback in given])


def _best_scored(solution: Solution, stop: BestScore | None) -> Solution:
    """The point with the best validation score, certified as it is."""
    if stop is None or stop.snapshot is None:
        return solution
    at = stop.snapshot
    x, y = np.array(at.x), np.array(at.y)
    certificate = solution.problem.certify(x, y, intercept=at.intercept)
    return replace(
        solution,
        x=x,
        intercept=at.intercept,
        y=y,
        certificate=certificate,
        status=solution.status if solution.status is Status.CONVERGED else Status.CALLBACK,
    )


# ---- words ----


def story(owner: Any, solution: Solution) -> str:
    """The gap reached, the likely cause and what to do, in a few sentences."""
    certificate, status = solution.certificate, solution.status
    if status is Status.NO_MINIMISER:
        return f"{status.value} In scikit-learn's terms: choose a finite C or alpha > 0."
    if certificate.certified:
        gap = f"the certified relative gap is {certificate.relative_gap:.2g}"
    else:
        gap = "no bound on the distance to the optimum was found"
    if status is Status.ROUNDING:
        return (
            f"{gap}, which is as small as float64 can show here. Choose a larger tol, or tol=0 to "
            "say that this is what you want."
        )
    if status is Status.STATIONARY:
        return f"{gap}, though the gradient is at the level of tol. A little l2 makes one possible."
    cause, remedy = _cause(solution.problem)
    return (
        f"{gap} after {solution.passes} passes over the data. Likely cause: {cause}. "
        f"What to do: {remedy}, raise max_iter (now {owner.max_iter}), or accept a larger tol."
    )


def _cause(problem: Problem) -> tuple[str, str]:
    norms = problem.column_norms[: problem.d]
    norms = norms[norms > 0]
    if norms.size and norms.max() > 100.0 * norms.min():
        spread = norms.max() / norms.min()
        return (
            f"the features are on very different scales (by a factor of {spread:.1g})",
            "scale them, e.g. with sklearn.preprocessing.StandardScaler",
        )
    if max(problem.l1, problem.l2) < 1e-4 * float(np.max(norms, initial=0.0)) ** 2:
        return (
            "hardly any regularisation, on features that depend on each other",
            "regularise more",
        )
    return "the problem takes more passes than max_iter allows", "try another solver"


def tasks_of(owner: Any, X: Any, y: Any, weights: Array | None) -> Tasks:
    """The tasks that scikit-learn's callbacks are told of."""
    return Tasks(owner, X, y, weights)
