"""A case as the judge reads it: rows that weigh nothing left out, the intercept one more column."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tests.certificate.cases import Case
from tests.certificate.checker import MARGIN


@dataclass(frozen=True)
class Reading:
    """Floats, all of them the user's own numbers; no arithmetic has been done on any."""

    A: np.ndarray
    b: np.ndarray
    """Labels are -1 and +1, classes integers."""
    w: np.ndarray
    offset: np.ndarray | None
    p: np.ndarray
    """Penalty weights, 0 for the intercept."""
    lower: np.ndarray
    upper: np.ndarray
    l1: float
    l2: float
    h: float
    """The width, the threshold or the strength of a loss."""
    loss: str
    K: int | None
    """Classes, where x is a matrix."""
    columns: int
    fit_intercept: bool


def read(case: Case) -> Reading:
    A = case.A.toarray() if sp.issparse(case.A) else np.asarray(case.A)
    A, (n, d) = A.astype(float), A.shape
    w = _filled(case.sample_weight, n, 1.0)
    counts = w > 0
    b = np.asarray(case.b, dtype=float)
    if case.loss in MARGIN and not (b < 0).any():  # labels 0/1
        b = np.where(b > 0, 1.0, -1.0)
    K = int(b.max()) + 1 if case.loss == "multinomial" else None
    p, lower, upper = (
        _filled(given, d, otherwise)
        for given, otherwise in (
            (case.penalty_weights, 1.0),
            (getattr(case, "lower", None), -np.inf),
            (getattr(case, "upper", None), np.inf),
        )
    )
    if case.fit_intercept:
        A = np.column_stack((A, np.ones(n)))
        p, lower, upper = np.append(p, 0.0), np.append(lower, -np.inf), np.append(upper, np.inf)
    return Reading(
        A[counts],
        b[counts].astype(int) if K else b[counts],
        w[counts],
        None if case.offset is None else np.asarray(case.offset, dtype=float)[counts],
        p,
        lower,
        upper,
        float(case.l1),
        float(case.l2),
        float(case.parameter),
        case.loss,
        K,
        d,
        case.fit_intercept,
    )


def _filled(given: Any, size: int, otherwise: float) -> np.ndarray:
    value = otherwise if given is None else given
    return np.array(np.broadcast_to(np.asarray(value, dtype=float), (size,)))
