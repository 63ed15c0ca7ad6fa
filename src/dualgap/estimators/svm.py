"""Linear support vector classification, with a smooth hinge."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap._types import Array
from dualgap.api import Problem
from dualgap.estimators import _parameters as check
from dualgap.estimators._base import DEFAULT_PASSES, Certified, dense_rows, tasks_of
from dualgap.estimators._callbacks import Tasks, with_callbacks
from dualgap.estimators._classes import at_least_two, class_weights, encode, with_constant
from dualgap.estimators._data import product
from dualgap.estimators._documentation import documented
from dualgap.estimators._linear import LinearClassifier
from dualgap.estimators._stopping import BestScore
from dualgap.losses import SmoothedHinge, SquaredHinge
from dualgap.trace import Snapshot


@documented
class LinearSVC(LinearClassifier, Certified):
    """Linear support vector classification, certified.

    Minimises ``r(w) + C sum_i w_i loss(y_i x_i'w)`` as scikit-learn's `LinearSVC` does, where the
    intercept is the coefficient of a constant feature of value ``intercept_scaling`` and penalised
    like the others; r is ``|w|^2/2`` or ``|w|_1``, and with m = y_i x_i'w the loss is
    ``max(0, 1 - m)^2`` (squared hinge) or the smoothed hinge: 0 for m >= 1, 1 - m - h/2 for
    m <= 1 - h, ``(1 - m)^2/(2h)`` between. More than two classes: one against the rest.
    ``certificate_`` bounds the distance to the optimum of this objective divided by C W (2 C W for
    the squared hinge), where W is the sum of the weights w_i.

    Parameters
    ----------
    penalty : {"l1", "l2"}, default="l2"
        Which r is taken: ``|w|_1`` or ``|w|^2/2``.
    loss : str, SquaredHinge or SmoothedHinge, default="squared_hinge"
        ``"squared_hinge"``, ``"smoothed_hinge"`` with h = 1, or a value: as
        ``dualgap.losses.SmoothedHinge(width=0.1)``, nearer to the hinge. The hinge itself is not
        smooth and is refused.
    dual : "auto" or bool, default="auto"
        No effect: primal and dual are solved together.
    {tol}
    C : float, default=1.0
        Inverse strength of the penalty, > 0.
    multi_class : {"ovr"}, default="ovr"
        ``"crammer_singer"`` is refused.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    intercept_scaling : float, default=1
        The value of the constant feature: the larger, the less the intercept is penalised.
    class_weight : dict or "balanced", default=None
        Weights of the classes; with more than two they weigh the positive rows of each
        problem, as in scikit-learn.
    {verbose random_state max_iter solver warm_start early_stopping validation_fraction}
    {n_iter_no_change keep_run}

    Attributes
    ----------
    {classes_}
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The coefficients w.
    intercept_ : ndarray of shape (1,) or (n_classes,), or float
        ``intercept_scaling`` times the coefficient of the constant feature; 0.0 if
        ``fit_intercept=False``.
    n_iter_ : int
        Passes over the data, set-up apart; the most that a class took.
    {certificate_ certificates_ dual_coef_ solver_ status_ trace_ features}
    """

    least_iterations = 0
    needs_blocks = True

    def __init__(
        self,
        penalty: str = "l2",
        loss: Any = "squared_hinge",
        *,
        dual: Any = "auto",
        tol: float = 1e-6,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = DEFAULT_PASSES,
        solver: Any = "auto",
        warm_start: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        keep_run: bool = False,
    ) -> None:
        self._take(locals())

    def _runs(self, y: Any) -> int:
        """One for each class, unless there are two."""
        return 1 if self.classes_.size == 2 else int(self.classes_.size)

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVC:
        """Fit the model.

        Parameters
        ----------
        {X labels sample_weight}

        Returns
        -------
        self
        """
        self._check_options()
        check.choice(self, "penalty", ("l1", "l2"))
        check.real(self, "C", open_low=True)
        scaling = check.real(self, "intercept_scaling", open_low=True)
        if not (isinstance(self.dual, str) and self.dual == "auto"):
            check.flags(self, "dual")
        if isinstance(self.multi_class, str) and self.multi_class == "crammer_singer":
            raise ValueError(
                "multi_class='crammer_singer' is another objective, which LinearSVC of dualgap "
                "does not have; use multi_class='ovr', or scikit-learn's LinearSVC."
            )
        check.choice(self, "multi_class", ("ovr",))
        loss = self._loss()
        X, y, weights = self._data(X, y, sample_weight)
        labels = encode(y)
        self.classes_ = labels.classes
        tasks = tasks_of(self, X, y, weights)
        at_least_two(labels, weights)
        by_class = class_weights(self.class_weight, labels, y, weights)
        codes, held = labels.codes, None
        if self.early_stopping:
            (X, codes, weights), held = self._hold_back(X, codes, weights, stratify=codes)
        self._remember(X, codes, weights)
        rows = with_constant(X, scaling) if self.fit_intercept else X
        two, solutions = labels.classes.size == 2, []
        problem: Problem | None = None
        for k in [1] if two else range(labels.classes.size):
            problem = self._against_the_rest(rows, codes, k, weights, by_class, loss, problem)
            stop = None
            if held is not None:
                stop = BestScore(_accuracy(held, k, scaling), self.n_iter_no_change)
            watcher = self._watch(tasks) if tasks.watched and two else None
            solutions.append(self._solve(problem, part=k, watch=watcher, stop=stop))
        solutions = [solution.rounded(X.dtype) for solution in solutions]
        self.coef_, self.intercept_ = self._rows([s.x for s in solutions], X.dtype)
        if not self.fit_intercept:
            self.intercept_ = 0.0  # as scikit-learn has it
        self.dual_coef_ = solutions[0].y if two else np.stack([s.y for s in solutions], axis=1)
        self.n_iter_ = max(s.passes for s in solutions)
        self._keep(solutions)
        tasks.end()
        return self

    def _against_the_rest(
        self,
        rows: Any,
        codes: Any,
        k: int,
        weights: Array | None,
        by_class: Array | None,
        loss: SquaredHinge | SmoothedHinge,
        other: Problem | None,
    ) -> Problem:
        """The problem of class k; ``other`` is that of another class, if there is one."""
        positive = codes == k
        b = np.where(positive, 1.0, -1.0)
        if by_class is None and other is not None:
            return other.replace(b=b)
        if by_class is not None:  # liblinear weighs the rest only if it is a class
            rest = by_class[1 - k] if self.classes_.size == 2 else 1.0
            factor = np.where(positive, by_class[k], rest)
            weights = factor if weights is None else weights * factor
        strength = 1.0 / (float(self.C) * check.total_weight(weights, rows.shape[0]))
        if isinstance(loss, SquaredHinge):  # liblinear's has no 1/2
            strength /= 2.0
        l1, l2 = (strength, 0.0) if self.penalty == "l1" else (0.0, strength)
        return Problem(rows, b, loss=loss, l1=l1, l2=l2, sample_weight=weights)

    def _watch(self, tasks: Tasks) -> Any:
        """What tells scikit-learn's callbacks of each check."""

        def watch(snapshot: Snapshot) -> bool:
            def attributes() -> dict[str, Any]:
                coef, intercept = self._rows([np.array(snapshot.x)], np.float64)
                return {"coef_": coef, "intercept_": intercept}

            return tasks.check(attributes)

        return watch

    def _loss(self) -> SquaredHinge | SmoothedHinge:
        if isinstance(self.loss, SquaredHinge | SmoothedHinge):
            return self.loss
        if isinstance(self.loss, str) and self.loss == "hinge":
            raise ValueError(
                "loss='hinge' is not smooth, and LinearSVC of dualgap needs a smooth loss; use "
                "loss='squared_hinge', or a smoothed hinge as near as you like: "
                "loss=dualgap.losses.SmoothedHinge(width=0.1)."
            )
        if isinstance(self.loss, str):
            check.choice(self, "loss", ("squared_hinge", "smoothed_hinge"))
        else:
            what = "'squared_hinge', 'smoothed_hinge', or a value such as SmoothedHinge(width=0.1)"
            raise check.refuse(self, "loss", f"{what}; dualgap.solve takes every loss")
        return SquaredHinge() if self.loss == "squared_hinge" else SmoothedHinge()

    def _rows(self, points: list[Array], dtype: Any) -> tuple[Array, Any]:
        """coef_ and intercept_ from the solver's points."""
        x = np.stack(points)
        if not self.fit_intercept:
            return np.asarray(x, dtype), np.zeros(len(points), dtype)
        return np.asarray(x[:, :-1], dtype), np.asarray(self.intercept_scaling * x[:, -1], dtype)

    def _last_point(self, part: int) -> Array | None:
        """The intercept is a coefficient; with two classes part 1 is the only one."""
        point = super()._last_point(0 if len(dense_rows(self.coef_)) == 1 else part)
        if point is None or not self.fit_intercept:
            return point
        point[-1] /= self.intercept_scaling
        return np.append(point, 0.0)


def _accuracy(held: tuple[Any, Any, Array | None], k: int, scaling: float) -> Any:
    """Share of the held-back rows on the right side, as a function of x."""
    X, codes, weights = held

    def score(x: Array, intercept: Any) -> float:
        constant = scaling * x[-1] if x.size > X.shape[1] else 0.0
        right = (product(X, x[: X.shape[1]]) + constant > 0) == (codes == k)
        return float(np.average(right, weights=weights))

    return score
