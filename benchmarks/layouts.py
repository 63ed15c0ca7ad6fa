"""Which layout of data and state makes a pass of SPDC cheap? In units of A @ x plus A.T @ y.

    python -m benchmarks layouts [--rounds 20] [--no-passes]

Small kernels of one method (DF-SPDC, logistic, l2) that differ in one thing each; then what a
fixed order of the rows costs in passes. One thread, one run, least seconds of several rounds.
docs/decisions/0003-kernel-layouts.md has what was decided.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

import dualgap
from benchmarks.data_sets import load
from benchmarks.randomised import data, median_passes
from benchmarks.timing import best_of
from dualgap import algorithms as alg
from dualgap._arrays import cache_lines
from dualgap.algorithms.primal_dual.marshalling import power_tables
from dualgap.compiled.jit import inlined, kernel, prefetch

TAU, SIGMA, THETA = 0.5, 0.01, 0.9
"""Steps do not matter to the clock."""


@inlined
def fetch_row(data, indices, start, stop):
    """Ask for a sparse row that is needed next: rows in random order come late otherwise."""
    for p in range(start, stop, 8):
        prefetch(data, p)
        prefetch(indices, p)


@inlined
def dual_step(v, y, b, k, z):
    """v_k <- (v_k + sigma z)/(1 + sigma), y_k <- phi'(v_k); how far y_k moved."""
    v[k] = (v[k] + SIGMA * z) / (1.0 + SIGMA)
    new = -b[k] / (1.0 + math.exp(b[k] * v[k]))
    move = new - y[k]
    y[k] = new
    return move


# ---- sparse: a coordinate is brought up to date when a row touches it ----


@kernel
def in_lines(data, indices, indptr, rows, b, y, v, state, C, H, ahead):
    """x, x_old, u and the time of the last update of a coordinate side by side."""
    for t in range(rows.size):
        k = rows[t]
        if ahead and t + 1 < rows.size:
            following = rows[t + 1]
            fetch_row(data, indices, indptr[following], indptr[following + 1])
            prefetch(v, following)
            prefetch(y, following)
        z = 0.0
        for p in range(indptr[k], indptr[k + 1]):
            j = np.uintp(indices[p])
            x, old = state[j, 0], state[j, 1]
            lag = t - int(state[j, 3])
            if lag > 0:
                u = state[j, 2]
                old = C[lag - 1] * x - H[lag - 1] * u
                x = C[1] * (old - TAU * u)
                state[j, 0] = x
            z += data[p] * (x + THETA * (x - old))
        move = dual_step(v, y, b, k, z)
        drift = move / b.size
        for p in range(indptr[k], indptr[k + 1]):
            j = np.uintp(indices[p])
            x, u = state[j, 0], state[j, 2]
            state[j, 0] = C[1] * (x - TAU * (u + move * data[p]))
            state[j, 1] = x
            state[j, 2] = u + drift * data[p]
            state[j, 3] = t + 1


@kernel
def in_arrays(data, indices, indptr, rows, b, y, v, x, old, u, last, C, H, ahead):
    """The same with four arrays."""
    for t in range(rows.size):
        k = rows[t]
        if ahead and t + 1 < rows.size:
            following = rows[t + 1]
            fetch_row(data, indices, indptr[following], indptr[following + 1])
            prefetch(v, following)
            prefetch(y, following)
        z = 0.0
        for p in range(indptr[k], indptr[k + 1]):
            j = np.uintp(indices[p])
            xj, oj = x[j], old[j]
            lag = t - last[j]
            if lag > 0:
                oj = C[lag - 1] * xj - H[lag - 1] * u[j]
                xj = C[1] * (oj - TAU * u[j])
                x[j] = xj
            z += data[p] * (xj + THETA * (xj - oj))
        move = dual_step(v, y, b, k, z)
        drift = move / b.size
        for p in range(indptr[k], indptr[k + 1]):
            j = np.uintp(indices[p])
            xj, uj = x[j], u[j]
            x[j] = C[1] * (xj - TAU * (uj + move * data[p]))
            old[j] = xj
            u[j] = uj + drift * data[p]
            last[j] = t + 1


# ---- dense: every step moves every coordinate ----


@kernel
def two_loops(A, rows, b, y, v, x, old, u, shrink):
    """The dot product, then the update: a row is read twice."""
    for t in range(rows.size):
        k = rows[t]
        a = A[k]
        z = 0.0
        for j in range(x.size):
            z += a[j] * (x[j] + THETA * (x[j] - old[j]))
        move = dual_step(v, y, b, k, z)
        drift = move / b.size
        for j in range(x.size):
            xj = x[j]
            x[j] = (xj - TAU * (u[j] + move * a[j])) * shrink
            old[j] = xj
            u[j] += drift * a[j]


@kernel
def fused(A, rows, b, y, v, x, old, u, shrink):
    """The update of one step and the dot product of the next in one loop; x_old is stored."""
    z = 0.0
    for t in range(rows.size):
        k = rows[t]
        move = dual_step(v, y, b, k, z)
        drift = move / b.size
        a, following = A[k], A[rows[min(t + 1, rows.size - 1)]]
        z = 0.0
        for j in range(x.size):
            xj = x[j]
            w = (xj - TAU * (u[j] + move * a[j])) * shrink
            u[j] += drift * a[j]
            x[j] = w
            old[j] = xj
            z += following[j] * (w + THETA * (w - xj))


@kernel
def fused_in_registers(A, rows, b, y, v, x, u, shrink):
    """The same; x_old is only needed inside the loop, so it is not stored."""
    z = 0.0
    for t in range(rows.size):
        k = rows[t]
        move = dual_step(v, y, b, k, z)
        drift = move / b.size
        a, following = A[k], A[rows[min(t + 1, rows.size - 1)]]
        z = 0.0
        for j in range(x.size):
            xj = x[j]
            w = (xj - TAU * (u[j] + move * a[j])) * shrink
            u[j] += drift * a[j]
            x[j] = w
            z += following[j] * (w + THETA * (w - xj))


# ---- the comparisons ----


def zipf(n: int = 23749, d: int = 47236, per_row: int = 75) -> tuple[sp.csr_array, np.ndarray]:
    """A stand-in for rcv1_sub: columns as frequent as words, rows of norm 1."""
    rng = np.random.default_rng(0)
    frequency = 1.0 / np.arange(1.0, d + 1.0)
    edges = np.cumsum(frequency / frequency.sum())
    drawn = np.minimum(np.searchsorted(edges, rng.random((n, 2 * per_row))), d - 1)
    rows = [np.unique(line)[:per_row] for line in rng.permutation(d)[drawn]]
    sizes = np.array([row.size for row in rows])
    values = np.repeat(1.0 / np.sqrt(sizes), sizes)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    A = sp.csr_array((values, np.concatenate(rows).astype(np.int32), indptr), shape=(n, d))
    return A, np.where(rng.random(n) < 0.5, 1.0, -1.0)


def report(title: str, best: dict[str, float]) -> None:
    """Ratios to the bare pair of products."""
    bare = best.pop("bare")
    print(f"{title}: A @ x plus A.T @ y takes {1e3 * bare:.2f} ms")
    for name, least in best.items():
        print(f"  {name:50s} {1e3 * least:7.2f} ms, ratio {least / bare:5.2f}", flush=True)


def sparse_layouts(name: str, A: sp.csr_array, b: np.ndarray, rounds: int) -> None:
    """Lines against arrays, rows fetched ahead or not, rows in storage order or at random."""
    n, d = A.shape
    rng = np.random.default_rng(0)
    random, stored = rng.integers(0, n, n), np.arange(n)
    shuffled = sp.csr_array(A[rng.permutation(n)])
    C, H = power_tables(TAU, 1e-2 / n, n)
    lines, (x, old, u), last = cache_lines(d, 4), np.zeros((3, d)), np.zeros(d, dtype=np.int64)
    y, v = np.zeros(n), np.zeros(n)

    def lined(S, rows, ahead):
        def action():
            lines[:, 3] = 0.0
            in_lines(S.data, S.indices, S.indptr, rows, b, y, v, lines, C, H, ahead)

        return action

    def apart(S, rows, ahead):
        def action():
            last[:] = 0
            in_arrays(S.data, S.indices, S.indptr, rows, b, y, v, x, old, u, last, C, H, ahead)

        return action

    right, left = np.ones(d), np.ones(n)
    best = best_of(
        {
            "bare": lambda: (A @ right, A.T @ left),
            "four arrays, random rows": apart(A, random, False),
            "four arrays, random rows, next row fetched": apart(A, random, True),
            "lines, random rows": lined(A, random, False),
            "lines, random rows, next row fetched (kept)": lined(A, random, True),
            "lines, shuffled copy in storage order": lined(shuffled, stored, False),
            "lines, shuffled copy, next row fetched": lined(shuffled, stored, True),
        },
        rounds,
    )
    report(f"{name}, CSR {n} x {d}, {A.nnz} entries", best)


def dense_layouts(name: str, A: np.ndarray, b: np.ndarray, rounds: int) -> None:
    """One loop a step or two, x_old stored or not, rows in storage order or at random."""
    n, d = A.shape
    rng = np.random.default_rng(0)
    random, stored = rng.integers(0, n, n), np.arange(n)
    x, old, u = np.zeros((3, d))
    y, v = np.zeros(n), np.zeros(n)
    shrink = 1.0 / (1.0 + TAU * 1e-2 / n)
    right, left = np.ones(d), np.ones(n)
    best = best_of(
        {
            "bare": lambda: (A @ right, A.T @ left),
            "two loops": lambda: two_loops(A, random, b, y, v, x, old, u, shrink),
            "one loop, x_old stored": lambda: fused(A, random, b, y, v, x, old, u, shrink),
            "one loop, x_old in registers (kept)": lambda: fused_in_registers(
                A, random, b, y, v, x, u, shrink
            ),
            "one loop, x_old in registers, storage order": lambda: fused_in_registers(
                A, stored, b, y, v, x, u, shrink
            ),
        },
        rounds,
    )
    report(f"{name}, dense {n} x {d}", best)


def blocks(name: str, A, b: np.ndarray, rounds: int) -> None:
    """The package's own kernels, one row or several a step (a visit of one pass)."""
    problem = dualgap.Problem(A, b, loss="logistic", l2=1e-2 / len(b))
    right, left = np.ones(A.shape[1]), np.ones(A.shape[0])
    actions = {"bare": lambda: (A @ right, A.T @ left)}
    for batch in (1, 4, 8):
        algorithm = alg.DFSPDC(batch=batch, check_every=1)
        state = algorithm.start(problem, None, None).state
        stream = algorithm.stream(problem, state)
        actions[f"df-spdc, {batch} rows a step"] = lambda a=algorithm, s=state, r=stream: a.visit(
            problem, s, r
        )
    report(f"{name}, the kernels of the package", best_of(actions, rounds))


@dataclass(frozen=True)
class OnceShuffled(alg.ADFSPDC):
    """ADF-SPDC that visits the rows in the same order in every pass."""

    def stream(self, problem, s):
        """The order, once for each pass."""
        return np.tile(np.random.default_rng(self.seed).permutation(problem.n), self.check_every)


def orders(name: str, limit: int = 400) -> None:
    """Passes of adf-spdc to relative suboptimality 1e-6 by the order of the rows, seeds 0 to 2."""
    A, b, loss = data(name)
    contenders = {
        "uniform": alg.ADFSPDC(check_every=1),
        "permuted": alg.ADFSPDC(check_every=1, sampling="permuted"),
        "once shuffled": OnceShuffled(check_every=1, sampling="permuted"),
    }
    for strength in (1.0, 1e-2):
        problem = dualgap.Problem(A, b, loss=loss, l2=strength / len(b))
        optimum = problem.solve(tol=1e-12, max_passes=20000).certificate.primal
        counts = [
            f"{order} {median_passes(problem, algorithm, optimum, 3, limit):.0f}"
            for order, algorithm in contenders.items()
        ]
        print(f"{name}, l2 = {strength:g}/n, passes: {', '.join(counts)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--no-passes", action="store_true", help="leave out the counts of passes")
    options = parser.parse_args()
    with threadpool_limits(1):
        rcv1 = load("rcv1_sub")
        if rcv1 is None:
            print("rcv1_sub: skipped, the data folder is absent; a made-up matrix of its size")
        name, (A, b) = ("made up", zipf()) if rcv1 is None else ("rcv1_sub", rcv1)
        A = sp.csr_array(A)
        sparse_layouts(name, A, b, options.rounds)
        blocks(name, A, b, options.rounds)
        A, b = dualgap.datasets.synthetic1()
        b = np.where(b > 0, 1.0, -1.0)
        dense_layouts("synthetic1", A, b, options.rounds)
        blocks("synthetic1", A, b, options.rounds)
        if not options.no_passes:
            for name in ["synthetic2"] if rcv1 is None else ["rcv1_sub", "synthetic2"]:
                orders(name)


if __name__ == "__main__":
    main()
