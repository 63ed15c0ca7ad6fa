"""Logistic regression: two classes, or several (multinomial); l2, l1, both or none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dualgap._types import Array
from dualgap.api import Problem
from dualgap.estimators import _parameters as check
from dualgap.estimators._base import (
    DEFAULT_PASSES,
    Certified,
    Solution,
    dense_rows,
    tasks_of,
)
from dualgap.estimators._callbacks import Tasks, with_callbacks
from dualgap.estimators._classes import (
    Labels,
    at_least_two,
    class_weights,
    encode,
    with_constant,
)
from dualgap.estimators._data import product
from dualgap.estimators._documentation import documented
from dualgap.estimators._linear import LinearClassifier
from dualgap.estimators._solvers import fits_multinomial
from dualgap.estimators._spread import Spread, probabilities, spread, targets_of, weighted
from dualgap.estimators._spread import encode as encode_spread
from dualgap.estimators._stopping import BestScore
from dualgap.losses import Multinomial
from dualgap.trace import Snapshot

PENALTIES = ("l1", "l2", "elasticnet", None, "deprecated")

UNSEEN = -50.0
"""The intercept of a class without weight, where the best is minus infinity: e^-50 < 2e-22."""


@documented
class LogisticRegression(LinearClassifier, Certified):
    """Logistic regression, certified.

    Minimises ``C sum_i w_i loss_i + l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2``, as scikit-learn's
    `LogisticRegression` does; the loss is ``log(1 + exp(-y_i (x_i'w + c)))`` with two classes and
    the multinomial ``log sum_k exp(z_ik) - z_iy``, ``z_ik = x_i'w_k + c_k``, with more. w_i is the
    sample weight times the class weight. ``certificate_`` bounds the distance to the optimum of
    this objective divided by C W, where W is the sum of the w_i (for C=inf: the mean loss).

    Parameters
    ----------
    penalty : {"l1", "l2", "elasticnet", None}, optional
        Another way to say what ``l1_ratio`` and ``C`` say: ``"l2"`` is ``l1_ratio=0``, ``"l1"`` is
        ``l1_ratio=1``, ``"elasticnet"`` takes ``l1_ratio``, None is ``C=np.inf``. Leave it out.
    C : float, default=1.0
        Inverse strength of the penalty, > 0; inf is no penalty.
    l1_ratio : float, default=0.0
        Share of the l1 penalty, in [0, 1].
    {dual tol}
    fit_intercept : bool, default=True
        Whether there is an intercept; it is not penalised (but see ``solver="liblinear"``).
    intercept_scaling : float, default=1
        Only for ``solver="liblinear"``: the value of the constant feature.
    class_weight : dict or "balanced", default=None
        Weights of the classes; ``"balanced"`` gives every class the same total weight.
    {random_state}
    solver : str or dualgap algorithm, default="auto"
        ``"auto"`` or an algorithm of `dualgap.solve`. With more than two classes: ``"auto"``,
        ``"df-bpd"``, ``"adf-bpd"``, ``"agd"``, ``"df-spdc"``, ``"opt-df-spdc"``, ``"adf-spdc"``,
        ``"dualgap-saga"``, ``"svrg"``. Every solver takes every penalty. scikit-learn's names
        ``"lbfgs"``, ``"newton-cg"``, ``"newton-cholesky"``, ``"sag"``, ``"saga"`` are taken for
        ``"auto"``; ``"liblinear"`` too, with its objective: two classes, and an intercept that is
        penalised as the coefficient of a constant feature.
    {max_iter verbose warm_start}
    n_jobs : int, default=None
        No effect.
    {early_stopping validation_fraction n_iter_no_change keep_run}

    Attributes
    ----------
    {classes_}
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The coefficients w.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercept c. With several classes they sum to 0, which the objective leaves open.
    n_iter_ : ndarray of shape (1,)
        Passes over the data, set-up apart.
    certificate_ : Certificate
        The bound on the distance to the optimum.
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        The dual point, which together with ``coef_`` proves the certificate.
    {solver_ status_ trace_ features}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dualgap import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(l1_ratio=0.5).fit(X, y)
    >>> model.coef_.shape
    (3, 4)
    """

    least_iterations = 0

    def __init__(
        self,
        penalty: Any = "deprecated",
        *,
        C: float = 1.0,
        l1_ratio: Any = 0.0,
        dual: bool = False,
        tol: float = 1e-6,
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        random_state: Any = None,
        solver: Any = "auto",
        max_iter: int = DEFAULT_PASSES,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        keep_run: bool = False,
    ) -> None:
        self._take(locals())

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LogisticRegression:
        """Fit the model.

        Parameters
        ----------
        {X labels sample_weight}

        Returns
        -------
        self
        """
        self._check_options()
        check.flags(self, "dual")
        check.real(self, "intercept_scaling", open_low=True)
        C, ratio = penalty_of(self)
        data = spread(self, X, y, sample_weight)
        if data is not None:
            return self._fit_spread(data, C, ratio)
        X, y, weights = self._data(X, y, sample_weight)
        labels = encode(y)
        self.classes_ = labels.classes
        tasks = tasks_of(self, X, y, weights)
        at_least_two(labels, weights)
        by_class = class_weights(self.class_weight, labels, y, weights)
        stop, codes = None, labels.codes
        if self.early_stopping:
            (X, codes, weights), held = self._hold_back(X, codes, weights, stratify=codes)
            stop = BestScore(_accuracy(held, self.intercept_scaling), self.n_iter_no_change)
        if by_class is not None:
            weights = by_class[codes] * (1.0 if weights is None else weights)
        self._remember(X, codes, weights)
        labels = Labels(self.classes_, codes)
        seen = classes_to_fit(self, labels, weights)
        problem = logistic_problem(self, X, labels, weights, seen, C=C, ratio=ratio)
        solution = self._solve(
            problem,
            watch=self._watch(tasks, seen),
            stop=stop,
        )
        solution = centred(solution).rounded(X.dtype)
        self.coef_, self.intercept_ = self._rows(solution.x, solution.intercept, X.dtype, seen)
        self.dual_coef_ = solution.y
        self.n_iter_ = np.array([solution.passes], dtype=np.int32)
        self._keep([solution])
        tasks.end()
        return self

    def _fit_spread(self, data: Spread, C: float, ratio: float) -> LogisticRegression:
        """Fit to data of dask, which stay where they are."""
        with data.X.in_use():
            found = encode_spread(data)
            self.classes_, K = found.classes, found.classes.size
            counted = Labels(found.classes, np.arange(K))
            at_least_two(counted, found.totals)
            by_class = class_weights(self.class_weight, counted, found.classes, found.totals)
            totals = found.totals if by_class is None else found.totals * by_class
            seen = classes_to_fit(self, counted, totals)
            signs = K == 2
            problem = logistic_problem(
                self,
                data.X,
                counted,
                weighted(data, found, by_class),
                seen,
                C=C,
                ratio=ratio,
                targets=found.codes.map_blocks(targets_of, seen, signs, dtype=float),
                total=float(totals.sum()),
            )
            self._check_checkpoint(np.arange(2))
            solution = centred(self._solve(problem))
        self.coef_, self.intercept_ = self._rows(solution.x, solution.intercept, float, seen)
        self.dual_coef_ = solution.y
        self.n_iter_ = np.array([solution.passes], dtype=np.int32)
        self._keep([solution])
        return self

    def _watch(self, tasks: Tasks, seen: Any) -> Any:
        """What tells scikit-learn's callbacks of each check, if there are any."""
        if not tasks.watched:
            return None

        def attributes(snapshot: Snapshot) -> dict[str, Any]:
            x, intercept = np.array(snapshot.x), snapshot.intercept
            coef, intercept = self._rows(x, intercept, np.float64, seen)
            return {"coef_": coef, "intercept_": intercept}

        return lambda snapshot: tasks.check(lambda: attributes(snapshot))

    def _rows(self, x: Array, intercept: Any, dtype: Any, seen: Any) -> tuple[Array, Array]:
        """coef_ and intercept_ from the solver's point for the classes seen."""
        if penalises_intercept(self):
            x, intercept = x[:-1], self.intercept_scaling * x[-1]
        rows = np.ascontiguousarray(np.atleast_2d(x.T), dtype=dtype)
        intercepts = np.atleast_1d(np.asarray(intercept, dtype=dtype))
        K = self.classes_.size
        if K == 2 or seen.size == K:
            return rows, intercepts
        every, constants = np.zeros((K, rows.shape[1]), dtype), np.full(K, UNSEEN, dtype)
        every[seen], constants[seen] = rows, intercepts
        return every, constants

    def _last_point(self, part: int) -> Array | None:
        """All classes are one problem; a penalised intercept is a coefficient of it."""
        rows, intercepts = dense_rows(self.coef_), np.atleast_1d(self.intercept_)
        below = np.broadcast_to(intercepts, len(rows))[:, None]
        if penalises_intercept(self):
            below = np.hstack((below / self.intercept_scaling, np.zeros_like(below)))
        x = np.hstack((rows, below)).T
        return x if x.shape[1] > 1 else x[:, 0]

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, in the order of ``classes_``.

        Parameters
        ----------
        {X}

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        return probabilities(self.decision_function(X))

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        {X}

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
        """
        return np.log(self.predict_proba(X))

    def __sklearn_tags__(self) -> Any:
        """Some solvers are for two classes only."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.solver != "liblinear" and fits_multinomial(
            self.solver
        )
        return tags


def penalises_intercept(owner: Any) -> bool:
    """Whether the intercept is the coefficient of a constant feature, as liblinear has it."""
    return bool(owner.fit_intercept and owner.solver == "liblinear")


def penalty_of(owner: Any) -> tuple[float, float]:
    """(C, l1_ratio) from ``penalty``, ``C`` and ``l1_ratio``."""
    if owner.penalty is not None:
        check.choice(owner, "penalty", PENALTIES)
    C = check.real(owner, "C", open_low=True, infinite=True)
    ratio = 0.0 if owner.l1_ratio is None else check.real(owner, "l1_ratio", high=1.0)
    if owner.penalty is None:
        return np.inf, 0.0
    if owner.penalty == "elasticnet" and owner.l1_ratio is None:
        raise ValueError("l1_ratio must be specified when penalty is elasticnet.")
    return C, {"l1": 1.0, "l2": 0.0}.get(owner.penalty, ratio)


def classes_to_fit(owner: Any, labels: Labels, weights: Array | None) -> Any:
    """The numbers of the classes with weight, if that is not all.

    A class without weight has no best intercept: the smaller the better. In the limit it is as if
    it was not there, its coefficients are 0 and its probability is 0 (see `UNSEEN`).
    """
    K = labels.classes.size
    if K == 2 or not owner.fit_intercept or owner.solver == "liblinear":
        return np.arange(K)
    return np.unique(labels.codes if weights is None else labels.codes[weights > 0])


def logistic_problem(
    owner: Any,
    X: Any,
    labels: Labels,
    weights: Any,
    seen: Any,
    *,
    C: float,
    ratio: float,
    targets: Any = None,
    total: float | None = None,
) -> Problem:
    """C sum w_i loss_i + r(w) is C W times P with l1 = ratio/(C W), l2 = (1 - ratio)/(C W).

    ``targets`` and W, ``total``, follow from labels and weights where these are in memory.
    """
    K = labels.classes.size
    penalised = penalises_intercept(owner)
    if owner.solver == "liblinear":
        if K > 2:
            raise ValueError(
                "The 'liblinear' solver does not support multiclass classification (n_classes >= "
                "3). Only binary classification is supported. Choose another solver, for instance "
                "'auto', or wrap the estimator in a OneVsRestClassifier."
            )
        if np.isinf(C):
            raise ValueError(
                "C=np.inf as well as penalty=None is not supported for the liblinear solver, whose "
                "objective penalises the intercept; choose another solver, for instance 'auto'."
            )
    if targets is None:
        targets = targets_of(labels.codes, seen, K == 2)
    if total is None:
        total = check.total_weight(weights, X.shape[0])
    strength = 0.0 if np.isinf(C) else 1.0 / (C * total)
    return Problem(
        with_constant(X, owner.intercept_scaling) if penalised else X,
        targets,
        loss=Multinomial(classes=seen.size) if K > 2 else "logistic",
        l1=ratio * strength,
        l2=(1.0 - ratio) * strength,
        fit_intercept=bool(owner.fit_intercept and not penalised),
        sample_weight=weights,
    )


def centred(solution: Solution) -> Solution:
    """Of the equally good points with several classes, the one that scikit-learn's solvers give.

    Adding a constant to all intercepts changes nothing; nor, without penalty, to all
    coefficients of a feature.
    """
    problem = solution.problem
    if problem.outputs is None:
        return solution
    x, intercept = solution.x, solution.intercept
    if problem.fit_intercept:
        intercept = intercept - intercept.mean()
    if problem.l1 == 0 and problem.l2 == 0:
        x = x - x.mean(axis=1, keepdims=True)
    return replace(solution, x=x, intercept=intercept)


def _accuracy(held: tuple[Any, Any, Array | None], scaling: float) -> Any:
    """Share of the held-back rows that are classified right, as a function of (x, intercept)."""
    X, codes, weights = held

    def score(x: Array, intercept: Any) -> float:
        # liblinear's constant feature is not in the rows that were held back.
        constant = x.shape[0] > X.shape[1]
        z = product(X, x[: X.shape[1]]) + (scaling * x[-1] if constant else intercept)
        best = z.argmax(axis=1) if z.ndim == 2 else z > 0
        return float(np.average(best == codes, weights=weights))

    return score
