"""Cross-validation: paths on folds in parallel, metadata routing, and one warning for all."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Iterable, Sequence, Sized
from typing import Any, NamedTuple

import numpy as np
from sklearn import get_config
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed

from dualgap._types import Array
from dualgap.api import Problem
from dualgap.designs import Design
from dualgap.estimators._base import DEFAULT_PASSES
from dualgap.estimators._data import some_rows
from dualgap.estimators._parameters import refuse
from dualgap.estimators._solvers import Kind, algorithm_for
from dualgap.paths import walk

FITTED = (
    "coef_",
    "intercept_",
    "certificate_",
    "certificates_",
    "dual_coef_",
    "solver_",
    "status_",
    "trace_",
)
"""What a cross-validated estimator takes over from the model fitted in the end."""


class Fold(NamedTuple):
    """The rows of a fold, by their numbers."""

    train: Array
    test: Array


class Sample(NamedTuple):
    """Rows of the data, with targets and weights."""

    X: Any
    y: Any
    weights: Array | None

    def at(self, some: Array) -> Sample:
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[some]
        return Sample(some_rows(self.X, some), self.y[some], weights)


class Scoring(NamedTuple):
    """How predictions are scored, and what the scorer is told besides."""

    scorer: Any
    params: dict[str, Any]

    def score(self, model: Any, data: Sample, test: Array) -> Any:
        """The score of a fitted model on these rows."""
        n = data.X.shape[0]
        params = {k: v[test] if np.shape(v)[:1] == (n,) else v for k, v in self.params.items()}
        return self.scorer(model, some_rows(data.X, test), data.y[test], **params)


class Walked(NamedTuple):
    """A path on the rows of a fold: one entry for each point."""

    x: list[Array]
    intercepts: list[Any]
    gaps: list[float]
    """Certified relative gaps; inf where there is no certificate."""
    converged: list[bool]
    passes: list[float]


def solve_options(owner: Any, kind: Kind) -> dict[str, Any]:
    """What `Problem.solve` gets for every point."""
    return {
        "algorithm": algorithm_for(owner.solver, kind),
        "tol": max(float(owner.tol), float(np.finfo(float).tiny)),
        "max_passes": DEFAULT_PASSES if owner.max_iter is None else owner.max_iter,
        "random_state": owner._seed(),
    }


def walk_along(
    problem: Problem, strengths: Sequence[tuple[float, float]], options: dict[str, Any]
) -> Walked:
    """Solve for each (l1, l2), keeping what scores and reports need."""
    out = Walked([], [], [], [], [])
    for result in walk(problem, strengths, **options):
        out.x.append(result.x)
        out.intercepts.append(result.intercept)
        out.gaps.append(result.certificate.relative_gap)
        out.converged.append(result.status.converged)
        out.passes.append(result.passes)
    return out


def folds_of(
    owner: Any, X: Any, y: Any, params: dict[str, Any], *, classifier: bool = False
) -> list[Fold]:
    """The rows to fit and the rows to score, for every fold that ``cv`` stands for."""
    cv = owner.cv
    what = "an int of at least 2, a splitter, an iterable of (train, test) pairs, or None"
    if isinstance(cv, numbers.Integral):
        if isinstance(cv, bool) or cv < 2:
            raise refuse(owner, "cv", what)
    elif cv is not None and (isinstance(cv, str | bytes) or not hasattr(cv, "split")):
        cv = list(cv) if isinstance(cv, Iterable) else []
        if not cv or not all(isinstance(pair, Sized) and len(pair) == 2 for pair in cv):
            raise refuse(owner, "cv", what)
    on_disk = isinstance(X, Design)  # splitters count rows, and look at targets
    rows = np.broadcast_to(0.0, (X.shape[0], 1)) if on_disk else X
    splits = check_cv(cv, y, classifier=classifier).split(rows, y, **params)
    if on_disk:  # where rows are read in their order
        return [Fold(np.sort(train), np.sort(test)) for train, test in splits]
    return [Fold(train, test) for train, test in splits]


def in_parallel(owner: Any, function: Any, jobs: Sequence[tuple[Any, ...]]) -> list[Any]:
    """The function on each job, ``owner.n_jobs`` at a time."""
    return list(Parallel(n_jobs=owner.n_jobs)(delayed(function)(*job) for job in jobs))


def warn_of(owner: Any, walks: Sequence[Walked]) -> None:
    """One ConvergenceWarning for all points of all folds that are not certified to tol."""
    converged = np.concatenate([walked.converged for walked in walks])
    if converged.all():
        return
    worst = max(gap for walked in walks for gap in walked.gaps)
    warnings.warn(
        f"{type(owner).__name__}: {np.count_nonzero(~converged)} of {converged.size} fits in the "
        f"cross-validation are not certified to tol={owner.tol:g} (largest relative gap "
        f"{worst:.2g}). Likely cause: features on very different scales, or hardly any "
        f"regularisation. What to do: scale the features, raise max_iter (now {owner.max_iter}), "
        "or leave out the smallest strengths.",
        ConvergenceWarning,
        stacklevel=3,
    )


# ---- metadata routing ----


def routing_enabled() -> bool:
    """Whether scikit-learn's metadata routing is on."""
    return bool(get_config().get("enable_metadata_routing", False))


def refuse_metadata(owner: Any, method: str, params: dict[str, Any]) -> None:
    """Further keyword arguments mean something only with metadata routing."""
    if params and not routing_enabled():
        raise ValueError(
            f"Passing extra keyword arguments to {type(owner).__name__}.{method} is only supported "
            "if enable_metadata_routing=True, which you can set using `sklearn.set_config`. "
            f"Extra parameters passed are: {set(params)}"
        )


def split_params(owner: Any, sample_weight: Any, params: dict[str, Any]) -> Any:
    """What the splitter and the scorer get: ``.splitter.split`` and ``.scorer.score``."""
    if not routing_enabled():
        return None
    given = dict(params)
    if sample_weight is not None:
        given["sample_weight"] = sample_weight
    return process_routing(owner, "fit", **given)


def router(owner: Any, *, splitter: Any, scorer: Any = None, scores: bool = False) -> Any:
    """Which metadata go to the splitter, and to the scorer where there is one."""
    routes = MetadataRouter(owner=owner).add_self_request(owner)
    routes = routes.add(
        splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split")
    )
    if scorer is not None:
        mapping = MethodMapping().add(caller="fit", callee="score")
        if scores:
            mapping = mapping.add(caller="score", callee="score")
        routes = routes.add(scorer=scorer, method_mapping=mapping)
    return routes
