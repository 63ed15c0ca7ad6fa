"""Public implementations of SAGA and SVRG, those that are installed: l2-regularised logistic.

Each entry makes a function of the number of passes. A pass of SAGA is n steps; one of SVRG n steps
and a full gradient. Models are without intercept, on one thread, and stop only at that number.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

Fit = Callable[[int], object]


def scikit_learn_saga(A, b, l2: float, Lc: float) -> Fit:
    """scikit-learn's, with its own step size."""
    from sklearn.linear_model import LogisticRegression

    def fit(passes: int) -> None:
        model = LogisticRegression(
            C=1 / (l2 * len(b)), solver="saga", max_iter=passes, tol=0.0, fit_intercept=False
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(A, b)

    return fit


def tick_solver(name: str):
    """tick's; its proximal step is lazy on sparse rows."""

    def make(A, b, l2: float, Lc: float) -> Fit:
        import tick.solver
        from tick.linear_model import ModelLogReg
        from tick.prox import ProxL2Sq

        data = sp.csr_matrix(A) if sp.issparse(A) else A
        model = ModelLogReg(fit_intercept=False).fit(data, b)

        def fit(passes: int) -> None:
            solver = getattr(tick.solver, name)(
                step=1 / (3 * Lc), max_iter=passes, tol=0.0, verbose=False, seed=0,
                record_every=10**6,
            )  # fmt: skip
            solver.set_model(model).set_prox(ProxL2Sq(l2)).solve(np.zeros(A.shape[1]))

        return fit

    return make


def cyanure_svrg(A, b, l2: float, Lc: float) -> Fit:
    """Cyanure's; a step renews the snapshot with probability 1/n."""
    from cyanure.estimators import Classifier

    data = sp.csr_matrix(A) if sp.issparse(A) else A

    def fit(passes: int) -> None:
        model = Classifier(
            loss="logistic", penalty="l2", lambda_1=l2, solver="svrg", max_iter=passes, tol=1e-300,
            duality_gap_interval=10**6, n_threads=1, fit_intercept=False, verbose=False, safe=False,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(data, b)

    return fit


PEERS = {
    "saga": {
        "scikit-learn": ("sklearn", scikit_learn_saga),
        "tick": ("tick", tick_solver("SAGA")),
    },
    "svrg": {
        "tick": ("tick", tick_solver("SVRG")),
        "cyanure": ("cyanure", cyanure_svrg),
    },
}


def installed(method: str) -> dict[str, Callable[..., Fit]]:
    """The peers for a method that can be imported; a sentence about each other one."""
    found = {}
    for name, (module, make) in PEERS[method].items():
        if importlib.util.find_spec(module) is None:
            print(f"  {method} of {name}: skipped, it is not installed")
        else:
            found[name] = make
    return found
