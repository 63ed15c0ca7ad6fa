"""scikit-learn's estimator checks: every estimator and penalty, and a solver of each family.

The whole grid, every penalty with every solver, is run by ``python -m tests.estimators.full_grid``.
"""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import dualgap
from tests.estimators.grid import PASSES, cross_validated, penalties, prepared

# The checks provoke warnings of their own (no convergence, columns as targets).
pytestmark = pytest.mark.filterwarnings("ignore")

FAMILIES = ("adf-bpd", "ada-spdc", "liblinear")


@parametrize_with_checks([*penalties(), *cross_validated()[:-1]])
def test_penalties(estimator, check):
    check(prepared(estimator, check))


@parametrize_with_checks(
    [dualgap.LogisticRegression(solver=solver, max_iter=PASSES) for solver in FAMILIES]
)
def test_solvers(estimator, check):
    check(prepared(estimator, check))
