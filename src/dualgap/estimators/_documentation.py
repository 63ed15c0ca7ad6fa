"""What several estimators document alike, written once.

A docstring names what it shares on a line of its own, ``{tol max_iter verbose}``, and `documented`
puts the paragraphs there; defaults are those of the constructor.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any, TypeVar

Estimator = TypeVar("Estimator", bound=type)

PARAMETERS = {
    "alpha": ("float", "Strength of the penalty, >= 0."),
    "eps": ("float", "The smallest alpha over the largest, where ``alphas`` is a number."),
    "alphas": ("int or array-like", "Strengths to try, or how many."),
    "fit_intercept": ("bool", "Whether there is an intercept c; it is not penalised."),
    "copy_X": ("bool", "No effect: X is never written to."),
    "precompute": ("bool, str or array-like", "No effect: the solver decides what to precompute."),
    "selection": ('{"cyclic", "random"}', "No effect: the solver decides."),
    "dual": ("bool", "No effect: primal and dual are solved together."),
    "positive": ("bool", "Whether coefficients must be >= 0. (The intercept need not.)"),
    "max_iter": ("int", "Most passes over the data for each fit; None is 10 000."),
    "tol": (
        "float",
        "A fit ends when the certified gap is at most ``tol`` times the objective. 0 asks for\n"
        "what float64 can give.",
    ),
    "solver": (
        "str or dualgap algorithm",
        '``"auto"`` or an algorithm of `dualgap.solve`. scikit-learn\'s names ``"svd"``,\n'
        '``"cholesky"``, ``"lsqr"``, ``"sparse_cg"``, ``"sag"``, ``"saga"``, ``"lbfgs"`` are\n'
        'taken for ``"auto"``; our SAGA is ``"dualgap-saga"``.',
    ),
    "warm_start": (
        "bool",
        "Go on from the last fit. With the same data and parameters the run is continued exactly\n"
        "(primal and dual point, step sizes, adaptation); else it starts from the last points.",
    ),
    "random_state": (
        "int, RandomState instance or None",
        "Seed of randomised solvers, and of the early stopping split where there is one.",
    ),
    "verbose": ("int", "Show a live line; in cross-validation, of the last fit."),
    "n_jobs": ("int", "How many folds to work on at a time, as in joblib."),
    "cv": (
        "int, cross-validation generator or iterable",
        "As in scikit-learn; None is 5 folds, which are stratified for a classifier.",
    ),
    "early_stopping": (
        "bool",
        "Hold rows back and stop when the score on them (R^2, or the accuracy) no longer\n"
        "improves; the coefficients with the best score are kept, with their certificate.",
    ),
    "validation_fraction": ("float", "Share of the rows to hold back."),
    "n_iter_no_change": ("int", "Checks without improvement before an early stop."),
    "keep_run": (
        "bool",
        "Whether a saved model (pickle, joblib, another process) keeps ``dual_coef_``, ``trace_``\n"
        "and what a warm start goes on from exactly; else it has predictions and certificate.",
    ),
}
"""The parameters of constructors: their types, and what they do."""

ENTRIES = {
    "X": (
        "X : {array-like, sparse matrix} of shape (n_samples, n_features)",
        "A row for each sample.",
    ),
    "values": ("y : array-like of shape (n_samples,)", "The targets."),
    "columns": (
        "y : array-like of shape (n_samples,) or (n_samples, n_targets)",
        "The targets.",
    ),
    "labels": ("y : array-like of shape (n_samples,)", "The labels."),
    "sample_weight": (
        "sample_weight : float or array-like of shape (n_samples,), default=None",
        "Weights >= 0.",
    ),
    "routed": (
        "**params",
        "For the splitter and the scorer, with scikit-learn's metadata routing.",
    ),
    "coef_": (
        "coef_ : ndarray of shape (n_features,) or (n_targets, n_features)",
        "The coefficients w.",
    ),
    "intercept_": (
        "intercept_ : float or ndarray of shape (n_targets,)",
        "The intercept c; 0.0 if ``fit_intercept=False``.",
    ),
    "certificate_": (
        "certificate_ : Certificate",
        "The bound on the distance to the optimum; of several problems (targets, or classes) that\n"
        "of the one with the largest relative gap.",
    ),
    "certificates_": ("certificates_ : list of Certificate", "One for each problem."),
    "dual_coef_": (
        "dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_problems)",
        "The dual point, which together with ``coef_`` proves the certificate.",
    ),
    "solver_": ("solver_ : str", "The algorithm that was run."),
    "status_": ("status_ : Status", "How the solve ended; ``str(status_)`` is a sentence."),
    "trace_": ("trace_ : Trace", "What happened at every check."),
    "features": ("n_features_in_, feature_names_in_", "As in scikit-learn."),
    "classes_": ("classes_ : ndarray of shape (n_classes,)", "The labels."),
    "gap_path_": (
        "gap_path_ : ndarray of the shape of ``mse_path_``",
        "The certified relative gap of every fit.",
    ),
}
"""What methods take and fits leave behind, with the line that opens each paragraph."""

SHARED = re.compile(r"^( *)\{([\w ]+)\}$", re.MULTILINE)


def documented(cls: Estimator) -> Estimator:
    """Put what is shared into the docstrings of an estimator and its methods."""
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(cls).parameters.items()
        if parameter.default is not parameter.empty
    }
    for thing in (cls, *(value for value in vars(cls).values() if inspect.isfunction(value))):
        if thing.__doc__ is not None:  # as it is where Python leaves docstrings out
            thing.__doc__ = filled(thing.__doc__, defaults)
    return cls


def filled(text: str, defaults: Mapping[str, Any]) -> str:
    """The text with the paragraphs that it names."""

    def paragraphs(match: re.Match[str]) -> str:
        indent, names = match.groups()
        lines = [line for name in names.split() for line in _paragraph(name, defaults)]
        return "\n".join(indent + line for line in lines)

    return SHARED.sub(paragraphs, text)


def _paragraph(name: str, defaults: Mapping[str, Any]) -> list[str]:
    if name in ENTRIES:
        head, body = ENTRIES[name]
    else:
        kind, body = PARAMETERS[name]
        head = f"{name} : {kind}, default={_shown(defaults[name])}"
    return [head, *("    " + line for line in body.split("\n"))]


def _shown(value: Any) -> str:
    """A default as one writes it."""
    if isinstance(value, str):
        return f'"{value}"'
    return re.sub(r"e-0(\d)", r"e-\1", repr(value))
