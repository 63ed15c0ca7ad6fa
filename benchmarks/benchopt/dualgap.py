"""dualgap as a solver of benchopt's benchmarks of ridge, lasso and l2 logistic regression.

Copy this file into the folder ``solvers`` of benchmark_ridge, benchmark_lasso or
benchmark_logreg_l2, then ``benchopt run . -s dualgap``. Their objectives are sums over the rows,

    sum_i (b_i - z_i)^2 / 2 + lmbd |x|^2 / 2,   sum_i (b_i - z_i)^2 / 2 + lmbd |x|_1,
    sum_i log(1 + exp(-b_i z_i)) + lmbd |x|^2 / 2,

n times ours, with z = Ax or Ax + c; their answer is x, with c appended where there is one.
"""

import numpy as np
from benchopt import BaseSolver
from benchopt.stopping_criterion import SufficientProgressCriterion

import dualgap

PROBLEMS = {
    "Ridge Regression": ("squared", "l2"),
    "Lasso Regression": ("squared", "l1"),
    "L2 Logistic Regression": ("logistic", "l2"),
}


class Solver(BaseSolver):
    """``run`` is called with ever smaller tolerances, which are certified relative gaps."""

    name = "dualgap"
    # One call may gain many decades, after which looser tolerances than that gain nothing.
    stopping_criterion = SufficientProgressCriterion(strategy="tolerance", patience=8)
    install_cmd = "conda"
    requirements = ["pip::dualgap"]  # noqa: RUF012
    parameters = {"algorithm": ["auto"]}  # noqa: RUF012
    references = (
        'J. Wang and L. Xiao, "Exploiting Strong Convexity from Data with Primal-Dual '
        'First-Order Algorithms", ICML 2017.',
    )

    def skip(self, **objective):
        if self._objective.name not in PROBLEMS:
            return True, f"{self._objective.name} is not one of {', '.join(PROBLEMS)}"
        return False, None

    def set_objective(self, X, y, lmbd, fit_intercept=False):
        loss, penalty = PROBLEMS[self._objective.name]
        self.arguments = {
            "loss": loss,
            penalty: lmbd / X.shape[0],
            "fit_intercept": bool(fit_intercept),
            "algorithm": self.algorithm,
            "max_passes": 10**6,
        }
        self.X, self.y = X, y

    def warm_up(self):
        self.run(1e-1)  # compiles

    @staticmethod
    def get_next(tolerance):
        return min(0.1, max(tolerance / 10.0, 1e-14))

    def run(self, tolerance):
        tolerance = min(tolerance, 1e3)  # it begins with 1e38
        self.result = dualgap.solve(self.X, self.y, tol=tolerance, **self.arguments)

    def get_result(self):
        x = self.result.x
        if self.arguments["fit_intercept"]:
            x = np.append(x, self.result.intercept)
        return {"beta": x}
