"""dualgap: linear models solved by primal-dual algorithms, each fit with a certificate.

Objective: (1/W) sum_i w_i phi_i(a_i'x + c + offset_i) + sum_j p_j (l1|x_j| + (l2/2)x_j^2).
"""

from __future__ import annotations

from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any

from dualgap._versions import show_versions

if TYPE_CHECKING:
    from dualgap import (
        adaptation,
        algorithms,
        datasets,
        estimators,
        experiments,
        losses,
        preconditioners,
        regularizers,
    )
    from dualgap.certificate import Certificate, certify
    from dualgap.checks import check_regularizer
    from dualgap.driver import solve
    from dualgap.estimators import (
        ElasticNet,
        ElasticNetCV,
        HuberRegressor,
        Lasso,
        LassoCV,
        LinearSVC,
        LogisticRegression,
        LogisticRegressionCV,
        Ridge,
        RidgeCV,
    )
    from dualgap.paths import Path, path
    from dualgap.problem import Problem
    from dualgap.result import Result
    from dualgap.status import Status

__version__ = metadata.version("dualgap")

_ESTIMATORS = (
    "ElasticNet",
    "ElasticNetCV",
    "HuberRegressor",
    "Lasso",
    "LassoCV",
    "LinearSVC",
    "LogisticRegression",
    "LogisticRegressionCV",
    "Ridge",
    "RidgeCV",
)
# Loaded when first used: `import dualgap` itself stays light.
_HOMES = {
    "Certificate": "dualgap.certificate",
    "Path": "dualgap.paths",
    "Problem": "dualgap.problem",
    "Result": "dualgap.result",
    "Status": "dualgap.status",
    "certify": "dualgap.certificate",
    "check_regularizer": "dualgap.checks",
    "path": "dualgap.paths",
    "solve": "dualgap.driver",
    **dict.fromkeys(_ESTIMATORS, "dualgap.estimators"),
}
_MODULES = (
    "adaptation",
    "algorithms",
    "datasets",
    "estimators",
    "experiments",
    "losses",
    "preconditioners",
    "regularizers",
)

__all__ = [
    "Certificate",
    "ElasticNet",
    "ElasticNetCV",
    "HuberRegressor",
    "Lasso",
    "LassoCV",
    "LinearSVC",
    "LogisticRegression",
    "LogisticRegressionCV",
    "Path",
    "Problem",
    "Result",
    "Ridge",
    "RidgeCV",
    "Status",
    "adaptation",
    "algorithms",
    "certify",
    "check_regularizer",
    "datasets",
    "estimators",
    "experiments",
    "losses",
    "path",
    "preconditioners",
    "regularizers",
    "show_versions",
    "solve",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"dualgap.{name}")
    raise AttributeError(f"module 'dualgap' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
