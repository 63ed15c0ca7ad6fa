"""scikit-learn's own tests of its linear models, run against ours.

usage: python -m tests.estimators.substitution [MODULE ...] [PYTEST ARGUMENTS]

The test modules are read from the installed scikit-learn. While they are imported, the names of our
estimators in ``sklearn.linear_model`` mean ours. A test counts if one of our estimators was fitted
in it. What fails is printed with the reason from `reasons`; a failure without one is an error.
"""

from __future__ import annotations

import functools
import sys
from collections import Counter
from typing import Any

import pytest
import sklearn.linear_model

import dualgap
from tests.estimators.reasons import REASONS

MODULES = ("test_ridge", "test_logistic", "test_coordinate_descent", "test_huber")
NAMES = (
    "ElasticNet",
    "ElasticNetCV",
    "HuberRegressor",
    "Lasso",
    "LassoCV",
    "LogisticRegression",
    "LogisticRegressionCV",
    "Ridge",
    "RidgeCV",
)


class Substitute:
    """A pytest plugin: our classes under scikit-learn's names, and a record of what happened."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.outcomes: dict[str, str] = {}
        self.errors: dict[str, str] = {}
        self.current = ""
        self.modules: dict[str, str] = {}

    def pytest_configure(self, config: Any) -> None:
        """Substitute before any test module is imported."""
        for name in NAMES:
            cls = getattr(dualgap, name)
            cls.fit = self._noted(cls.fit)
            setattr(sklearn.linear_model, name, cls)

    def _noted(self, fit: Any) -> Any:
        @functools.wraps(fit)
        def noted(*args: Any, **kwargs: Any) -> Any:
            self.used.add(self.current)
            return fit(*args, **kwargs)

        return noted

    def pytest_runtest_setup(self, item: Any) -> None:
        """The test that fits from now on belong to."""
        self.current = item.nodeid
        self.modules[item.nodeid] = item.module.__name__.split(".")[-1]

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep the outcome of the call."""
        if report.when == "call" or report.failed:
            self.outcomes[report.nodeid] = report.outcome
            if report.failed:
                print(f"failed: {report.nodeid.split('::')[-1]}", file=sys.stderr, flush=True)
                crash = getattr(report.longrepr, "reprcrash", None)
                message = crash.message if crash else str(report.longrepr)
                self.errors[report.nodeid] = " ".join(message.split())[:300]


def function_of(nodeid: str) -> str:
    """test_x of a/b.py::test_x[parameters]."""
    return nodeid.split("::")[-1].split("[")[0]


def main(arguments: list[str]) -> int:
    plugin = Substitute()
    chosen = [word for word in arguments if word in MODULES] or list(MODULES)
    arguments = [word for word in arguments if word not in MODULES]
    modules = [f"sklearn.linear_model.tests.{name}" for name in chosen]
    common = ["-p", "no:cacheprovider", "-p", "no:terminal"]
    pytest.main([*common, "-c", "/dev/null", "--pyargs", *modules, *arguments], plugins=[plugin])
    counted = {k: v for k, v in plugin.outcomes.items() if k in plugin.used and v != "skipped"}
    for module in chosen:
        mine = [v for k, v in counted.items() if plugin.modules[k] == module]
        if mine:
            share = mine.count("passed") / len(mine)
            print(f"{module}: {mine.count('passed')} of {len(mine)} pass ({share:.1%})")
    failed = [k for k, v in counted.items() if v == "failed"]
    unexplained = 0
    for name, count in Counter(function_of(k) for k in failed).items():
        reason = REASONS.get(name)
        unexplained += reason is None
        print(f"\n{name} ({count} failed): {reason or 'NO REASON GIVEN'}")
        if reason is None:
            seen = Counter(plugin.errors[k] for k in failed if function_of(k) == name)
            for error, times in seen.most_common(3):
                print(f"    {times} x {error}")
    if chosen == list(MODULES) and not arguments:
        for name in sorted(REASONS.keys() - {function_of(k) for k in failed}):
            print(f"\n{name}: has a reason, and no failure")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
