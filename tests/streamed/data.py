"""Data whose rows are not held, as small ones: dense and sparse, and problems on them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.sparse as sp

from dualgap.designs import Chunk, Cuts, Design, SparseDesign
from dualgap.designs.cuts import added_by_tree
from dualgap.designs.executors import joined, rows_of, sums_of

N, D = 240, 7
RNG = np.random.default_rng(5)
A = RNG.standard_normal((N, D)) * np.array([1.0, 3.0, 0.1, 1.0, 1.0, 2.0, 1.0])
Z = 0.5 * A @ RNG.standard_normal(D) + RNG.standard_normal(N)
COUNTS = RNG.poisson(np.exp(np.clip(Z, -3.0, 2.0))).astype(float)
TARGETS = {
    "squared": Z,
    "huber": Z,
    "logistic": np.sign(Z),
    "smoothed_hinge": np.sign(Z),
    "squared_hinge": (Z > 0.0).astype(float),
    "strong_logistic": np.sign(Z),
    "poisson": COUNTS,
    "gamma": np.exp(np.clip(Z, -3.0, 2.0)),
    "multinomial": np.digitize(Z, [-1.0, 1.0]).astype(float),
}
PENALTIES = {
    "none": {},
    "l2": {"l2": 1e-2},
    "little l2": {"l2": 1e-4 / N},
    "l1": {"l1": 2e-2},
    "elastic net": {"l1": 2e-2, "l2": 1e-2},
    "some free": {"l1": 2e-2, "l2": 1e-2, "penalty_weights": [0.0, 1.0, 1.0, 0.0, 1.0, 2.0, 1.0]},
}
EXTRAS = {
    "plain": {},
    "intercept": {"fit_intercept": True},
    "weights": {"sample_weight": RNG.integers(0, 3, N).astype(float)},
    "offset, intercept": {"offset": 0.3 * RNG.standard_normal(N), "fit_intercept": True},
}


def given(loss: str, penalty: str, extra: str) -> dict:
    """The arguments of a problem; offsets for each class where there are classes."""
    out = {"loss": loss, **PENALTIES[penalty], **EXTRAS[extra]}
    if loss == "multinomial" and "offset" in out:
        out["offset"] = np.stack([out["offset"], -out["offset"], 0.1 * out["offset"]], axis=1)
    return out


class Streamed(Design):
    """Rows that are read some at a time and not held."""

    holds_rows = False

    def __init__(self, A, rows=50, partitions=1):
        self.A, self.shape = A, A.shape
        self.cuts = Cuts.even(A.shape[0], partitions, rows)

    def blocks(self, rows):
        for start in range(0, self.shape[0], rows):
            at = slice(start, min(start + rows, self.shape[0]))
            yield at, np.array(self.A[at])


class StreamedSparse(Design, counts=True):
    """The same of compressed rows."""

    holds_rows = False
    is_sparse = True

    def __init__(self, A, rows=50):
        self.A, self.shape = sp.csr_array(A), A.shape
        self.cuts = Cuts((0, A.shape[0]), rows)

    def chunks(self, part):
        for at in self.cuts.chunks(part):
            self.ledger.rows += at.stop - at.start
            yield Chunk(at, SparseDesign(self.A[at]))

    def blocks(self, rows):
        for start in range(0, self.shape[0], rows):
            at = slice(start, min(start + rows, self.shape[0]))
            self.ledger.rows += at.stop - at.start
            yield at, self.A[at].toarray()


class Threads:
    """An executor of two threads."""

    def reduce(self, source, task, args):
        with ThreadPoolExecutor(2) as pool:
            parts = range(source.cuts.partitions)
            return added_by_tree(list(pool.map(lambda k: sums_of(source, k, task, args), parts)))

    def map_rows(self, source, task, rows, args):
        with ThreadPoolExecutor(2) as pool:
            parts = range(source.cuts.partitions)
            done = list(pool.map(lambda k: rows_of(source, k, task, rows, args), parts))
        return joined([made for made, _ in done]), added_by_tree([sums for _, sums in done])
