"""What a pass of the compiled kernels costs, in units of A @ x plus A.T @ y; and the cold start.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.kernels

One thread, one run, the best of several rounds taken in turn. A pass is timed inside the driver's
step, without its check product.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

import dualgap
from benchmarks.data_sets import load
from dualgap import algorithms as alg

ROUNDS = 8

COLD = """
import time
import numpy as np
import dualgap
dualgap.solve
A = np.random.default_rng(0).standard_normal((30, 4))
b = np.where(A[:, 0] > 0, 1.0, -1.0)
began = time.perf_counter()
dualgap.solve(A, b, loss="logistic", l2=0.1, algorithm="adf-spdc")
print(time.perf_counter() - began)
"""


def seconds(action) -> float:
    """Of one call."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def stepper(problem: dualgap.Problem, algorithm: alg.Algorithm, passes: int = 4):
    """One pass: a step of many passes less a step of one, over the difference."""
    many, one = replace(algorithm, check_every=passes), replace(algorithm, check_every=1)
    state = many.start(problem, None, None).state
    for warm in (many, one):
        warm.step(problem, state)

    def action() -> float:
        long = seconds(lambda: many.step(problem, state))
        return (long - seconds(lambda: one.step(problem, state))) / (passes - 1)

    return action


def table(title: str, A, problems: dict[str, tuple[dualgap.Problem, alg.Algorithm]]) -> None:
    """Ratios to the bare pair of products."""
    x, y = np.ones(A.shape[1]), np.ones(A.shape[0])
    steps = {name: stepper(*pair) for name, pair in problems.items()}
    best = dict.fromkeys(("bare", *steps), np.inf)
    for _ in range(ROUNDS):
        best["bare"] = min(best["bare"], seconds(lambda: (A @ x, A.T @ y)))
        for name, action in steps.items():
            best[name] = min(best[name], action())
    print(f"{title}: A @ x plus A.T @ y takes {1e3 * best['bare']:.2f} ms")
    for name in steps:
        ratio = best[name] / best["bare"]
        print(f"  {name:28s} {1e3 * best[name]:7.2f} ms a pass, ratio {ratio:5.2f}", flush=True)


def scikit_learn_saga(A, b, l2: float) -> float:
    """Seconds of a pass of scikit-learn's saga (10 passes less 5, over 5)."""
    from sklearn.linear_model import LogisticRegression

    def fit(passes: int) -> float:
        model = LogisticRegression(
            C=1 / (l2 * len(b)), solver="saga", max_iter=passes, tol=0.0, fit_intercept=False
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return min(seconds(lambda: model.fit(A, b)) for _ in range(3))

    return (fit(25) - fit(5)) / 20


def cold_start() -> None:
    """First solve of a process: kernels compiled, and kernels from the cache."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        runs = [
            float(subprocess.check_output([sys.executable, "-c", COLD], env=environment))
            for _ in range(3)
        ]
    print(f"cold start: first solve {runs[0]:.2f} s, second process {min(runs[1:]):.2f} s")


def main() -> None:
    A, b = dualgap.datasets.synthetic1()
    n, narrow = len(b), A.astype(np.float32)
    l2 = 1e-2 / n
    ridge, small = dualgap.Problem(A, b, l2=l2), dualgap.Problem(narrow, b, l2=l2)
    net = dualgap.Problem(A, b, l2=l2, l1=1e-4)
    table(
        "synthetic1, dense 5000 x 3000",
        A,
        {
            "df-spdc": (ridge, alg.DFSPDC()),
            "df-spdc, float32": (small, alg.DFSPDC()),
            "df-spdc, elastic net": (net, alg.DFSPDC()),
            "df-spdc, blocks of 4": (ridge, alg.DFSPDC(batch=4)),
            "df-spdc, blocks of 8": (ridge, alg.DFSPDC(batch=8)),
            "saga": (ridge, alg.SAGA()),
            "svrg": (ridge, alg.SVRG()),
        },
    )
    rcv1 = load("rcv1_sub")
    if rcv1 is None:
        print("rcv1_sub: skipped, the data folder is absent")
    else:
        S, labels = rcv1
        l2 = 1e-2 / len(labels)
        logistic = dualgap.Problem(S, labels, loss="logistic", l2=l2)
        sparse_net = dualgap.Problem(S, labels, loss="logistic", l2=l2, l1=1e-6)
        table(
            "rcv1_sub, CSR",
            sp.csr_array(S),
            {
                "df-spdc": (logistic, alg.DFSPDC()),
                "spdc (dual prox)": (logistic, alg.SPDC()),
                "df-spdc, elastic net": (sparse_net, alg.DFSPDC()),
                "df-spdc, blocks of 4": (logistic, alg.DFSPDC(batch=4)),
                "saga": (logistic, alg.SAGA()),
                "svrg": (logistic, alg.SVRG()),
                "katyusha": (logistic, alg.Katyusha()),
            },
        )
        theirs = 1e3 * scikit_learn_saga(S, labels, l2)
        print(f"  scikit-learn's saga          {theirs:7.2f} ms a pass")
    cold_start()


if __name__ == "__main__":
    main()
