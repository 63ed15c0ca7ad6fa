"""Poisson and Gamma regression beside glum and scikit-learn: python -m benchmarks counts.

200 000 x 100 rows with exposure, a ridge and an l1 penalty, the intercept free. Every solver is run
at the tolerances below; of each the least processor time, what its P is above the lower bound that
our certificate proves, and whether that is within the gap we ask for. Ours is the time of the fit
with its certificate. Packages that are not installed are left out (`pip install glum`).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.linear_model import GammaRegressor, PoissonRegressor

import dualgap
from benchmarks.timing import best_of

TOL = 1e-6
"""The relative gap asked of our solver, and what counts as the same optimum."""
TOLERANCES = {"glum": (1e-4, 1e-6, 1e-8), "scikit-learn": (1e-4, 1e-6, 1e-8)}
"""From the loosest on; the first whose P is within TOL of the bound is timed."""
Fit = Callable[[], tuple[Any, float]]


def data(n: int, d: int, family: str) -> tuple[Any, Any, Any]:
    """Rows, targets per exposure, exposure: a few strong columns, units of their own."""
    rng = np.random.default_rng(7)
    A = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1.0, 1.0, d)
    x = np.where(rng.random(d) < 0.3, rng.standard_normal(d), 0.0) / A.std(axis=0)
    exposure = rng.uniform(0.2, 2.0, n)
    rate = np.exp(0.3 * (A @ x) / np.sqrt(0.3 * d) - 1.0)
    if family == "poisson":
        return A, rng.poisson(exposure * rate) / exposure, exposure
    return A, rate * rng.gamma(2.0, 0.5, n), exposure


def ours(A: Any, b: Any, w: Any, family: str, l1: float, l2: float) -> Any:
    return dualgap.solve(
        A, b, loss=family, l1=l1, l2=l2, fit_intercept=True, sample_weight=w, tol=TOL
    )


def glum_fit(A: Any, b: Any, w: Any, family: str, l1: float, l2: float, tol: float) -> Fit:
    from glum import GeneralizedLinearRegressor

    alpha = l1 + l2
    model = GeneralizedLinearRegressor(
        family=family, link="log", alpha=alpha, l1_ratio=l1 / alpha, gradient_tol=tol, max_iter=1000
    )

    def fit() -> tuple[Any, float]:
        model.fit(A, b, sample_weight=w)
        return model.coef_, float(model.intercept_)

    return fit


def sklearn_fit(A: Any, b: Any, w: Any, family: str, l1: float, l2: float, tol: float) -> Fit:
    kind = PoissonRegressor if family == "poisson" else GammaRegressor
    model = kind(alpha=l2, tol=tol, max_iter=10_000)

    def fit() -> tuple[Any, float]:
        model.fit(A, b, sample_weight=w)
        return model.coef_, float(model.intercept_)

    return fit


def race(n: int, d: int, family: str, l1: float, l2: float, rounds: int) -> None:
    """One problem: our fit, and the first tolerance of each other with which it is as good."""
    A, b, w = data(n, d, family)
    arguments = (A, b, w, family, l1, l2)
    problem = dualgap.Problem(A, b, loss=family, l1=l1, l2=l2, fit_intercept=True, sample_weight=w)
    result = ours(*arguments)
    lower = result.certificate.dual
    print(f"{family}, {n} x {d}, l1={l1:g}, l2={l2:g}: {result.algorithm}, {result.status.name}")
    print(f"  dualgap       P - P* <= {result.certificate.gap / lower:.1e} of P*, certified")
    makers: dict[str, Callable[..., Fit]] = {"glum": glum_fit} if find_spec("glum") else {}
    if l1 == 0.0:
        makers["scikit-learn"] = sklearn_fit
    actions: dict[str, Callable[[], object]] = {"dualgap": lambda: ours(*arguments)}
    for name, make in makers.items():
        for tol in TOLERANCES[name]:
            fit = make(*arguments, tol)
            x, c = fit()
            above = (problem.certify(x, result.y, intercept=c).primal - lower) / lower
            print(f"  {name:13s} P above the bound by {above:.1e} of it at tol={tol:g}")
            if above <= TOL:
                break
        actions[name] = fit
    best = best_of(actions, rounds)
    for name, time in best.items():
        print(f"  {name:13s} {time:7.3f} s   {time / best['dualgap']:6.2f} times ours")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # others warn where they do not arrive, which is shown below
    for family in ("poisson", "gamma"):
        for l1, l2 in ((0.0, 1e-3), (3e-3, 0.0)):
            race(options.rows, options.columns, family, l1, l2, options.rounds)


if __name__ == "__main__":
    main()
