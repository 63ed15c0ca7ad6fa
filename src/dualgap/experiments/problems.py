"""The problems of the paper's Section 5: which data, how scaled, with which lambda.

    P(x) = (1/n) sum_i phi_i(a_i'x) + (lambda/2)|x|^2,   lambda = strength/n

Rows are divided by max_i |a_i|, so that R = 1, as in the paper. The columns of cpuact, which differ
by six orders of magnitude, are mapped to [-1, 1] first, as LIBSVM does in its scaled files.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from dualgap._types import Array, Data
from dualgap.api import Problem
from dualgap.datasets import synthetic1, synthetic2
from dualgap.datasets.svmlight import load_svmlight

LOSSES = {
    "synthetic1": "squared",
    "cpuact": "squared",
    "synthetic2": "logistic",
    "rcv1_sub": "logistic",
}
STRENGTHS = (1.0, 1e-2, 1e-4)
"""lambda n."""


@dataclass(frozen=True)
class DataSet:
    """A data set at the size it is used in.

    Attributes
    ----------
    name : str
        One of `LOSSES`.
    n, d : int
        Size of a synthetic set; of a file the number of rows drawn from it (0: all of them).
    checksum : str
        SHA-256 of the file; empty for synthetic sets.
    path : str
        The file; where it lies plays no part in what comes out.
    """

    name: str
    n: int
    d: int = 0
    checksum: str = ""
    path: str = field(default="", compare=False)

    @property
    def loss(self) -> str:
        """The paper's loss for it."""
        return LOSSES[self.name]


def data_home(data_folder: Path | None) -> Path | None:
    """The folder of the real data sets: the given one, or that of DUALGAP_DATA, or None."""
    given = data_folder if data_folder is not None else os.environ.get("DUALGAP_DATA")
    if not given:
        return None
    home = Path(given)
    if not home.is_dir():
        origin = "data_folder" if data_folder is not None else "DUALGAP_DATA"
        raise ValueError(f"{origin}={str(home)!r} is not a folder; name one that holds the sets.")
    return home


def real_set(name: str, rows: int, home: Path | None) -> DataSet | None:
    """The set in the file NAME.svm.xz of the folder, or None if it is not there."""
    path = None if home is None else home / f"{name}.svm.xz"
    if path is None or not path.is_file():
        return None
    checksum = hashlib.sha256(path.read_bytes()).hexdigest()
    return DataSet(name, rows, checksum=checksum, path=str(path))


@lru_cache(maxsize=1)
def load(data: DataSet) -> tuple[Data, Array]:
    """A, with max |a_i| = 1, and b."""
    if data.name == "synthetic1":
        return synthetic1(data.n, data.d)
    if data.name == "synthetic2":
        return synthetic2(data.n, data.d)
    A, b, _ = load_svmlight(data.path)
    if data.n and data.n < len(b):
        rows = np.sort(np.random.default_rng(0).choice(len(b), data.n, replace=False))
        A, b = A[rows], b[rows]
        A = A[:, np.unique(A.indices)]
    if data.name == "cpuact":
        dense = A.toarray()
        low, high = dense.min(axis=0), dense.max(axis=0)
        dense = 2.0 * (dense - low) / (high - low) - 1.0
        return dense / np.sqrt((dense * dense).sum(axis=1).max()), b
    longest = np.sqrt(A.multiply(A).sum(axis=1).max())
    return sp.csr_array(A / longest), b


@lru_cache(maxsize=2)
def problem(data: DataSet, strength: float) -> Problem:
    """The problem with lambda = strength/n; kept, so that its constants are computed once."""
    return fresh_problem(data, strength)


def fresh_problem(data: DataSet, strength: float) -> Problem:
    """The same, knowing none of its constants yet."""
    A, b = load(data)
    return Problem(A, b, loss=data.loss, l2=strength / len(b))
