"""What a pass of the compiled kernels costs, beside bare products and beside public peers.

    python -m benchmarks kernels [--rounds 8] [--no-start]

Passes in units of A @ x plus A.T @ y; SAGA and SVRG beside the public implementations that are
installed (scikit-learn, tick, cyanure); the multinomial kernel beside as many scalar ones; the cold
start. One thread, one run, float64 unless said. A pass is the time of a few passes less that of
fewer, over the difference, each the least of several rounds taken in turn.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

import dualgap
from benchmarks.data_sets import load
from benchmarks.peers import installed
from benchmarks.timing import Action, best_of
from dualgap import algorithms as alg

FEW, MANY = 1, 4
"""Passes of our runs."""
THEIR_FEW, THEIR_MANY = 3, 9
"""Passes of the peers', whose starts cost more."""

COLD = """
import time
import numpy as np
import dualgap
dualgap.solve
A = np.random.default_rng(0).standard_normal((30, 4))
b = np.where(A[:, 0] > 0, 1.0, -1.0)
began = time.process_time()
import numba
imported = time.process_time()
dualgap.solve(A, b, loss="logistic", l2=0.1, algorithm="adf-spdc")
print(imported - began, time.process_time() - imported)
"""


def visits(problem: dualgap.Problem, algorithm: alg.Algorithm, passes: int) -> Action:
    """So many passes, from the stream of rows to the new points, without a check."""
    several = replace(algorithm, check_every=passes)
    state = several.start(problem, None, None).state
    return lambda: several.visit(problem, state, several.stream(problem, state))


def outer_loops(problem: dualgap.Problem, passes: int) -> Action:
    """SVRG with a full gradient (and a check) after every n steps, as its peers have it."""
    svrg = alg.SVRG(check_every=1)
    start = svrg.start(problem, None, None).state

    def action() -> None:
        state = start
        for _ in range(passes):
            state = svrg.step(problem, state)

    return action


def table(title: str, A, problems: dict[str, tuple[dualgap.Problem, alg.Algorithm]], rounds: int):
    """Ratios to the bare pair of products."""
    x, y = np.ones(A.shape[1]), np.ones(A.shape[0])
    actions: dict[str, Action] = {"bare": lambda: (A @ x, A.T @ y)}
    for name, (problem, algorithm) in problems.items():
        for passes in (FEW, MANY):
            actions[f"{name} {passes}"] = visits(problem, algorithm, passes)
    best = best_of(actions, rounds)
    print(f"{title}: A @ x plus A.T @ y takes {1e3 * best['bare']:.2f} ms")
    for name in problems:
        cost = (best[f"{name} {MANY}"] - best[f"{name} {FEW}"]) / (MANY - FEW)
        ratio = cost / best["bare"]
        print(f"  {name:28s} {1e3 * cost:7.2f} ms a pass, ratio {ratio:5.2f}", flush=True)


def race(title: str, problem: dualgap.Problem, l2: float, rounds: int) -> None:
    """Our SAGA and SVRG beside those of the peers: logistic, l2."""
    print(f"{title}, beside public implementations")
    A, b = problem.design.A, problem.b
    Lc = problem.design.row_norms_sq().max() / problem.loss.gamma
    for method in ("saga", "svrg"):
        actions: dict[str, Action] = {}
        for passes in (FEW, MANY):
            ours = visits(problem, alg.SAGA(), passes)
            actions[f"dualgap {passes}"] = (
                ours if method == "saga" else outer_loops(problem, passes)
            )
        peers = installed(method)
        for name, make in peers.items():
            fit = make(A, b, l2, Lc)
            for passes in (THEIR_FEW, THEIR_MANY):
                actions[f"{name} {passes}"] = lambda fit=fit, passes=passes: fit(passes)
        best = best_of(actions, rounds)
        cost = {"dualgap": (best[f"dualgap {MANY}"] - best[f"dualgap {FEW}"]) / (MANY - FEW)}
        for name in peers:
            apart = best[f"{name} {THEIR_MANY}"] - best[f"{name} {THEIR_FEW}"]
            cost[name] = apart / (THEIR_MANY - THEIR_FEW)
        for name, least in cost.items():
            ratio = least / cost["dualgap"]
            print(f"  {method} of {name:20s} {1e3 * least:7.2f} ms a pass, ratio {ratio:5.2f}")


def classes(title: str, A, K: int, rounds: int) -> None:
    """A pass of df-spdc with K classes beside K passes with one prediction per row."""
    n = A.shape[0]
    labels = np.random.default_rng(0).integers(0, K, n)
    vector = dualgap.Problem(A, labels, loss="multinomial", l2=1e-2 / n)
    scalar = dualgap.Problem(A, np.where(labels == 0, 1.0, -1.0), loss="logistic", l2=1e-2 / n)
    best = best_of(
        {
            f"{name} {passes}": visits(problem, alg.DFSPDC(), passes)
            for name, problem in (("vector", vector), ("scalar", scalar))
            for passes in (FEW, MANY)
        },
        rounds,
    )
    one, many = (
        (best[f"{name} {MANY}"] - best[f"{name} {FEW}"]) / (MANY - FEW)
        for name in ("scalar", "vector")
    )
    print(
        f"{title}, df-spdc: {K} classes {1e3 * many:.2f} ms a pass, {K} scalar passes "
        f"{1e3 * K * one:.2f} ms, ratio {many / (K * one):.2f}",
        flush=True,
    )


def cold_start() -> None:
    """First solve of a process: kernels compiled, and kernels from the cache."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        runs = [
            [
                float(word)
                for word in subprocess.check_output(
                    [sys.executable, "-c", COLD], env=environment, text=True
                ).split()
            ]
            for _ in range(4)
        ]
    importing, loading = np.min(runs[1:], axis=0)
    print(
        f"cold start: import numba {importing:.2f} s; then the first solve {runs[0][1]:.2f} s, "
        f"kernels compiled, and {loading:.2f} s in a second process, kernels from the cache"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--no-start", action="store_true", help="leave out the cold start")
    options = parser.parse_args()
    with threadpool_limits(1):
        dense(options.rounds)
        sparse(options.rounds)
    if not options.no_start:
        cold_start()


def dense(rounds: int) -> None:
    """synthetic1; its signs as labels for the race."""
    A, b = dualgap.datasets.synthetic1()
    n = len(b)
    l2 = 1e-2 / n
    ridge = dualgap.Problem(A, b, l2=l2)
    small = dualgap.Problem(A.astype(np.float32), b, l2=l2)
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
        rounds,
    )
    logistic = dualgap.Problem(A, np.where(b > 0, 1.0, -1.0), loss="logistic", l2=l2)
    race("synthetic1", logistic, l2, rounds)
    classes("synthetic1", A, 10, max(rounds // 4, 2))


def sparse(rounds: int) -> None:
    """rcv1_sub, where it is at hand."""
    rcv1 = load("rcv1_sub")
    if rcv1 is None:
        print("rcv1_sub: skipped, the data folder is absent")
        return
    A, b = sp.csr_array(rcv1[0]), rcv1[1]
    l2 = 1e-2 / len(b)
    logistic = dualgap.Problem(A, b, loss="logistic", l2=l2)
    net = dualgap.Problem(A, b, loss="logistic", l2=l2, l1=1e-6)
    table(
        "rcv1_sub, CSR",
        A,
        {
            "df-spdc": (logistic, alg.DFSPDC()),
            "spdc (dual prox)": (logistic, alg.SPDC()),
            "df-spdc, elastic net": (net, alg.DFSPDC()),
            "df-spdc, blocks of 4": (logistic, alg.DFSPDC(batch=4)),
            "saga": (logistic, alg.SAGA()),
            "svrg": (logistic, alg.SVRG()),
            "katyusha": (logistic, alg.Katyusha()),
        },
        rounds,
    )
    race("rcv1_sub", logistic, l2, rounds)
    classes("rcv1_sub", A, 10, max(rounds // 4, 2))


if __name__ == "__main__":
    main()
