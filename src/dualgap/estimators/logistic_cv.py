"""Logistic regression with C and the l1 share chosen by cross-validation."""

from __future__ import annotations

import numbers
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils.metadata_routing import process_routing

from dualgap._types import Array
from dualgap.estimators import _parameters as check
from dualgap.estimators._base import DEFAULT_PASSES
from dualgap.estimators._classes import Labels, at_least_two, class_weights, encode
from dualgap.estimators._documentation import documented
from dualgap.estimators._folds import (
    FITTED,
    Fold,
    Sample,
    Scoring,
    Walked,
    folds_of,
    in_parallel,
    refuse_metadata,
    router,
    routing_enabled,
    solve_options,
    split_params,
    walk_along,
    warn_of,
)
from dualgap.estimators._solvers import Kind
from dualgap.estimators.logistic import (
    PENALTIES,
    LogisticRegression,
    classes_to_fit,
    logistic_problem,
    penalises_intercept,
)
from dualgap.estimators.regression_cv import strengths
from dualgap.paths import MOST_POINTS


@documented
class LogisticRegressionCV(LogisticRegression):
    """Logistic regression with C and l1_ratio chosen by cross-validation; all certified.

    The objective is that of `LogisticRegression`. On every fold a path over C, from strong to weak
    regularisation, is solved for every l1_ratio, each point started at the one before and
    certified; the best pair is fitted to all data.

    Parameters
    ----------
    Cs : int or array-like, default=10
        Values of C to try, or how many between 1e-4 and 1e4.
    l1_ratios : array-like of float in [0, 1], default=None
        Shares of the l1 penalty to try; None is 0.
    {fit_intercept cv dual}
    penalty : {"l1", "l2", "elasticnet"}, optional
        Another way to say what ``l1_ratios`` says. Leave it out.
    scoring : str, callable or None, default=None
        What to maximise; None is the accuracy.
    solver : str or dualgap algorithm, default="auto"
        As in `LogisticRegression`.
    {tol max_iter}
    class_weight : dict or "balanced", default=None
        As in `LogisticRegression`; ``"balanced"`` is computed from all rows.
    {n_jobs verbose}
    refit : bool, default=True
        Fit the best pair to all data; else the coefficients of the best points of the folds
        are averaged, and there is no certificate.
    intercept_scaling : float, default=1
        Only for ``solver="liblinear"``.
    {random_state}
    use_legacy_attributes : bool, default=True
        Which of scikit-learn's two forms the attributes have; see there.
    {keep_run}

    Attributes
    ----------
    Cs_ : ndarray of shape (n_cs,)
        The values of C.
    l1_ratios_ : ndarray of shape (n_l1_ratios,)
        The values of l1_ratio.
    C_, l1_ratio_, scores_, coefs_paths_, n_iter_
        As in scikit-learn, in the form that ``use_legacy_attributes`` says.
    gap_path_ : ndarray of shape (n_folds, n_l1_ratios, n_cs)
        The certified relative gap of every fit.
    classes_, coef_, intercept_, certificate_, certificates_, dual_coef_, status_, trace_
        Of the last fit, as in `LogisticRegression`.
    {features}
    """

    _several_runs: ClassVar[str] = "fits many strengths on every fold"

    early_stopping = False
    warm_start = False

    needs_blocks = True

    def __init__(
        self,
        *,
        Cs: Any = 10,
        l1_ratios: Any = None,
        fit_intercept: bool = True,
        cv: Any = None,
        dual: bool = False,
        penalty: Any = "deprecated",
        scoring: Any = None,
        solver: Any = "auto",
        tol: float = 1e-6,
        max_iter: int = DEFAULT_PASSES,
        class_weight: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        refit: bool = True,
        intercept_scaling: float = 1.0,
        random_state: Any = None,
        use_legacy_attributes: bool = True,
        keep_run: bool = False,
    ) -> None:
        self._take(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> LogisticRegressionCV:
        """Choose C and l1_ratio by cross-validation and fit.

        Parameters
        ----------
        {X labels sample_weight}
        {routed}

        Returns
        -------
        self
        """
        refuse_metadata(self, "fit", params)
        self._check_options()
        check.flags(self, "dual", "refit", "use_legacy_attributes")
        check.real(self, "intercept_scaling", open_low=True)
        ratios = self._ratios()
        Cs = self._grid()
        X, y, weights = self._data(X, y, sample_weight)
        labels = encode(y)
        self.classes_ = labels.classes
        at_least_two(labels, weights)
        by_class = class_weights(self.class_weight, labels, y, weights)
        routed = split_params(self, sample_weight, params)
        splits = {} if routed is None else routed.splitter.split
        folds = folds_of(self, X, y, splits, classifier=True)
        scored: dict[str, Any] = {} if routed is None else routed.scorer.score
        if routed is None and weights is not None:
            scored = {"sample_weight": weights}
        total = weights
        if by_class is not None:
            total = by_class[labels.codes] * (1.0 if weights is None else weights)
        data = Sample(X.tocsr() if hasattr(X, "tocsr") else X, y, total)
        free = self.fit_intercept and not penalises_intercept(self)
        kind = Kind(max(ratios) > 0.0, max(ratios) < 1.0 and not free, labels.classes.size > 2)
        options = solve_options(self, kind)
        shared = (data, labels, Scoring(self._scorer(), scored), self, Cs, options)
        jobs = [(*shared, fold, ratio) for fold in folds for ratio in ratios]
        done = in_parallel(self, _fold_scores, jobs)
        shape = (len(folds), len(ratios), len(Cs))
        scores = np.reshape([d[0] for d in done], shape)
        paths = np.reshape([d[1] for d in done], (*shape, -1, np.shape(done[0][1])[-1]))
        walks = [d[2] for d in done]
        self.gap_path_ = np.reshape([w.gaps for w in walks], shape)
        passes = np.ceil(np.reshape([w.passes for w in walks], shape)).astype(np.int32)
        self.Cs_ = Cs
        self.l1_ratios_ = np.asarray(ratios)
        best_C, best_ratio = self._choose(scores, paths, ratios)
        if self.refit:
            self._refit(X, y, weights, by_class, best_C, best_ratio)
        self._shape_attributes(scores, paths, passes, best_C, best_ratio)
        warn_of(self, walks)
        return self

    # ---- the grid ----

    def _ratios(self) -> list[float]:
        check.choice(self, "penalty", [p for p in PENALTIES if p is not None])
        if self.penalty in ("l1", "l2"):
            return [1.0 if self.penalty == "l1" else 0.0]
        if self.l1_ratios is None:
            if self.penalty == "elasticnet":
                raise ValueError(
                    "l1_ratios must be an array-like of numbers between 0 and 1; got "
                    "(l1_ratios=None)"
                )
            return [0.0]
        ratios = list(np.atleast_1d(self.l1_ratios))
        if not ratios or not all(check.is_between(r, 0.0, 1.0) for r in ratios):
            raise ValueError(
                "l1_ratios must be an array-like of numbers between 0 and 1; got "
                f"(l1_ratios={self.l1_ratios!r})"
            )
        return [float(r) for r in ratios]

    def _grid(self) -> Array:
        if isinstance(self.Cs, numbers.Integral) and not isinstance(self.Cs, bool):
            return np.logspace(-4, 4, check.integer(self, "Cs", low=1, high=MOST_POINTS))
        return strengths("Cs", self.Cs, zero=False)

    # ---- the choice ----

    def _choose(self, scores: Array, paths: Array, ratios: list[float]) -> tuple[float, float]:
        """The best pair; without refit, the coefficients too."""
        if self.refit:
            # C by C as scikit-learn goes through them, which decides between equals.
            summed = scores.sum(axis=0).T
            at = np.unravel_index(int(np.argmax(summed)), summed.shape)
            return float(self.Cs_[at[0]]), ratios[at[1]]
        flat = np.swapaxes(scores, 1, 2).reshape(scores.shape[0], -1)
        c, r = np.unravel_index(flat.argmax(axis=1), (len(self.Cs_), len(ratios)))
        mean = np.mean([paths[f, r[f], c[f]] for f in range(len(scores))], axis=0)
        d = self.n_features_in_
        self.coef_ = mean[:, :d]
        self.intercept_ = mean[:, d] if self.fit_intercept else np.zeros(len(mean))
        return float(np.mean(self.Cs_[c])), float(np.mean(np.asarray(ratios)[r]))

    def _refit(
        self, X: Any, y: Any, weights: Array | None, by_class: Any, C: float, ratio: float
    ) -> None:
        weighed = None if by_class is None else dict(zip(self.classes_, by_class, strict=True))
        model = LogisticRegression(
            C=C,
            l1_ratio=ratio,
            fit_intercept=self.fit_intercept,
            intercept_scaling=self.intercept_scaling,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            class_weight=weighed,
            random_state=self.random_state,
            verbose=self.verbose,
        ).fit(X, y, sample_weight=weights)
        for name in FITTED:
            setattr(self, name, getattr(model, name))

    def _shape_attributes(
        self, scores: Array, paths: Array, passes: Any, C: float, ratio: float
    ) -> None:
        """scores (folds, ratios, Cs) and paths (folds, ratios, Cs, classes, dof), as asked for."""
        if not self.use_legacy_attributes:
            self.C_: Any = C
            self.l1_ratio_: Any = ratio
            self.scores_: Any = scores
            self.coefs_paths_: Any = paths
            self.n_iter_: Any = passes
            return
        K = paths.shape[3]
        labels = self.classes_[1:] if K == 1 else self.classes_
        scores, passes = np.swapaxes(scores, 1, 2), np.swapaxes(passes, 1, 2)[None]
        by_class = np.moveaxis(np.swapaxes(paths, 1, 2), 3, 0)
        if self.l1_ratios is None:
            scores, passes, by_class = scores[:, :, 0], passes[:, :, :, 0], by_class[:, :, :, 0]
        self.C_, self.l1_ratio_ = np.full(K, C), np.full(K, ratio)
        self.scores_ = dict.fromkeys(labels, scores)
        self.coefs_paths_ = dict(zip(labels, by_class, strict=True))
        self.n_iter_ = passes

    # ---- scores and routing ----

    def _scorer(self) -> Any:
        if not (self.scoring is None or isinstance(self.scoring, str) or callable(self.scoring)):
            raise check.refuse(self, "scoring", "a str, a callable or None")
        return get_scorer("accuracy" if self.scoring is None else self.scoring)

    def score(  # type: ignore[override]
        self, X: Any, y: Any, *, sample_weight: Any = None, **score_params: Any
    ) -> float:
        """The score that ``scoring`` says, on these data.

        Parameters
        ----------
        {X}
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.
        **score_params
            For the scorer, with scikit-learn's metadata routing.

        Returns
        -------
        score : float
        """
        refuse_metadata(self, "score", score_params)
        if sample_weight is not None:
            score_params["sample_weight"] = sample_weight
        if routing_enabled():
            score_params = process_routing(self, "score", **score_params).scorer.score
        return float(self._scorer()(self, X, y, **score_params))

    def get_metadata_routing(self) -> Any:
        """Where metadata go: to the splitter and the scorer.

        Returns
        -------
        MetadataRouter
        """
        return router(self, splitter=check_cv(self.cv), scorer=self._scorer(), scores=True)


def _fold_scores(
    data: Sample,
    labels: Labels,
    scoring: Scoring,
    owner: LogisticRegressionCV,
    Cs: Array,
    options: dict[str, Any],
    fold: Fold,
    ratio: float,
) -> tuple[Array, Array, Walked]:
    """Scores on the test rows and coefficients, for each C, from strong to weak regularisation."""
    train = data.at(fold.train)
    part = Labels(labels.classes, labels.codes[fold.train])
    seen = classes_to_fit(owner, part, train.weights)
    problem = logistic_problem(owner, train.X, part, train.weights, seen, C=1.0, ratio=0.0)
    order = np.argsort(Cs, kind="stable")
    unit = 1.0 / check.total_weight(train.weights, len(fold.train))
    grid = [(ratio * unit / C, (1.0 - ratio) * unit / C) for C in Cs[order]]
    walked = walk_along(problem, grid, options)
    scores, paths = [], []
    for at in np.argsort(order):  # as the Cs were given
        model = LogisticRegression()
        model.classes_, model.n_features_in_ = labels.classes, data.X.shape[1]
        intercept = walked.intercepts[at]
        if problem.outputs is not None:
            intercept = intercept - np.mean(intercept)
        coef, intercept = owner._rows(walked.x[at], intercept, np.float64, seen)
        model.coef_, model.intercept_ = coef, intercept
        scores.append(scoring.score(model, data, fold.test))
        columns = (coef, intercept[:, None]) if owner.fit_intercept else (coef,)
        paths.append(np.hstack(columns))
    backwards = np.argsort(order)
    walked = Walked(*[[values[k] for k in backwards] for values in walked])
    return np.array(scores), np.stack(paths), walked
