"""The real data sets, where they are at hand: a folder beside the clone or DUALGAP_DATA."""

from __future__ import annotations

import lzma
import os
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"


def folder() -> Path | None:
    """The data folder, or None."""
    path = Path(os.environ.get("DUALGAP_DATA", BESIDE))
    return path if path.is_dir() else None


def load(name: str):
    """A (CSR) and b of a data set in svmlight form, or None if the folder is absent."""
    home = folder()
    if home is None:
        return None
    with lzma.open(home / f"{name}.svm.xz", "rb") as file:
        A, b = load_svmlight_file(file)
    A.indices, A.indptr = A.indices.astype(np.int32), A.indptr.astype(np.int32)  # for all peers
    if name == "mushrooms":
        b = np.where(b == 1, -1.0, 1.0)
    return A, b
