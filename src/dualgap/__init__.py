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
        checks,
        datasets,
        designs,
        enclosures,
        estimators,
        experiments,
        losses,
        preconditioners,
        regularizers,
    )
    from dualgap.api import Problem, certify, solve
    from dualgap.certificate import Certificate
    from dualgap.checks import check_design, check_loss, check_regularizer
    from dualgap.datasets import open
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
    "Problem": "dualgap.api",
    "Result": "dualgap.result",
    "Status": "dualgap.status",
    "certify": "dualgap.api",
    "open": "dualgap.datasets",
    "check_design": "dualgap.checks",
    "check_loss": "dualgap.checks",
    "check_regularizer": "dualgap.checks",
    "path": "dualgap.paths",
    "solve": "dualgap.api",
    **dict.fromkeys(_ESTIMATORS, "dualgap.estimators"),
}
_MODULES = (
    "adaptation",
    "algorithms",
    "checks",
    "datasets",
    "designs",
    "enclosures",
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
    "check_design",
    "check_loss",
    "check_regularizer",
    "checks",
    "datasets",
    "designs",
    "enclosures",
    "estimators",
    "experiments",
    "losses",
    "open",
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
