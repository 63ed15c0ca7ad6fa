"""Problems with classes, and the objective written out once more in extended precision."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

import dualgap

LD = np.longdouble
PENALTIES = {"none": (0.0, 0.0), "l2": (0.0, 0.02), "l1": (0.02, 0.0), "elastic_net": (0.01, 0.03)}
FORMATS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "float32": lambda A: A.astype(np.float32),
    "float32 F": lambda A: np.asfortranarray(A, dtype=np.float32),
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "csr float32": lambda A: sp.csr_array(A.astype(np.float32)),
}


def classes(n=60, d=4, K=3, seed=0, density=1.0):
    """Data that float32 holds exactly, and classes that no x separates."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d)).astype(np.float32).astype(float)
    A[rng.random((n, d)) > density] = 0.0
    b = (A @ rng.standard_normal((d, K)) + 2.0 * rng.gumbel(size=(n, K))).argmax(axis=1)
    b[:K] = np.arange(K)
    return A, b


@dataclass
class Case:
    A: np.ndarray
    b: np.ndarray
    K: int
    l1: float
    l2: float
    fit_intercept: bool = False
    sample_weight: Any = None
    penalty_weights: Any = None
    offset: Any = None

    @property
    def arguments(self):
        keep = ("l1", "l2", "fit_intercept", "sample_weight", "penalty_weights", "offset")
        return {"loss": "multinomial"} | {name: getattr(self, name) for name in keep}

    def problem(self, form="C"):
        return dualgap.Problem(FORMATS[form](self.A), self.b, **self.arguments)

    def primal(self, x, intercept=0.0):
        """P, in longdouble and with the sums written out."""
        n, d = self.A.shape
        w = np.ones(n) if self.sample_weight is None else np.asarray(self.sample_weight)
        p = np.ones(d) if self.penalty_weights is None else np.asarray(self.penalty_weights)
        x = np.asarray(x, dtype=LD)
        z = self.A.astype(LD) @ x + np.asarray(intercept, dtype=LD)
        if self.offset is not None:
            z = z + self.offset
        top = z.max(axis=1)
        loss = top + np.log(np.exp(z - top[:, None]).sum(axis=1)) - z[np.arange(n), self.b]
        q = w.astype(LD) / w.astype(LD).sum()
        penalty = self.l1 * abs(x) + self.l2 / LD(2) * x * x
        return (q * loss).sum() + (p[:, None] * penalty).sum()


def case(penalty, *, fit_intercept=False, weights=False, offset=False, seed=0, **size):
    A, b = classes(seed=seed, **size)
    rng = np.random.default_rng(seed + 1000)
    K = b.max() + 1
    sample_weight = rng.uniform(0.2, 3.0, len(b)) if weights else None
    penalty_weights = rng.uniform(0.5, 2.0, A.shape[1]) if weights else None
    if weights:
        sample_weight[K + 1 :: 7] = 0.0
    return Case(
        A, b, K, *PENALTIES[penalty], fit_intercept, sample_weight, penalty_weights,
        rng.standard_normal((len(b), K)) if offset else None,
    )  # fmt: skip
