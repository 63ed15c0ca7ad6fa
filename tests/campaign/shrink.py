"""A failure made smaller while it still fails: fewer rows and columns, plainer numbers."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .calls import Failure

PLAIN: tuple[tuple[str, Any], ...] = (
    ("offset", None),
    ("sample_weight", None),
    ("penalty_weights", None),
    ("fit_intercept", False),
    ("l1", 0.0),
    ("l2", 0.0),
    ("parameter", 1.0),
)


def shrink(failure: Failure, tries: int = 150) -> Failure:
    """The smallest found within so many tries, each a call and a judgement."""
    changed = True
    while changed:
        changed = False
        for smaller in _smaller(failure):
            if tries == 0:
                return failure
            tries -= 1
            if _fails(smaller):
                failure, changed = smaller, True
                break
    return failure


def _fails(failure: Failure) -> bool:
    try:
        return failure.repeated()[1] is not None
    except (ValueError, ArithmeticError, IndexError):  # no problem at all any more
        return False


def _smaller(failure: Failure) -> Iterator[Failure]:
    yield from _fewer(failure)
    yield from _plainer(failure)
    yield from _rounder(failure)


def _parts(size: int) -> Iterator[np.ndarray]:
    """What to keep: either half, then all but an eighth, then all but one."""
    every = np.arange(size)
    for share in (2, 8, size):
        if size < max(share, 2):
            continue
        for part in np.array_split(every, share):
            yield np.setdiff1d(every, part)
        if share == size:
            return


def _fewer(failure: Failure) -> Iterator[Failure]:
    case, call = failure.case, failure.call
    n, d = case.shape
    for rows in _parts(n):
        kept = {"A": case.A[rows], "b": np.asarray(case.b)[rows]}
        for name in ("sample_weight", "offset"):
            if getattr(case, name) is not None:
                kept[name] = np.asarray(getattr(case, name))[rows]
        if case.loss == "multinomial" and set(kept["b"]) != set(case.b):
            continue  # a class without rows makes another sort of problem
        yield replace(failure, case=replace(case, **kept), call=call.keep(rows=rows))
    for columns in _parts(d):
        kept = {"A": case.A[:, columns]}
        if case.penalty_weights is not None:
            kept["penalty_weights"] = np.asarray(case.penalty_weights)[columns]
        for name in ("lower", "upper"):
            if np.ndim(getattr(case, name, None)):
                kept[name] = np.asarray(getattr(case, name))[columns]
        yield replace(failure, case=replace(case, **kept), call=call.keep(columns=columns))


def _plainer(failure: Failure) -> Iterator[Failure]:
    case = failure.case
    for name, value in PLAIN:
        if getattr(case, name) is value or np.array_equal(getattr(case, name), value):
            continue
        if name == "fit_intercept" and failure.call.x is not None:
            call = replace(failure.call, c=0.0)
            yield replace(failure, case=replace(case, fit_intercept=False), call=call)
        else:
            yield replace(failure, case=replace(case, **{name: value}))
    dense = case.A.toarray() if sp.issparse(case.A) else np.ascontiguousarray(case.A)
    if sp.issparse(case.A) or dense.dtype != float or not case.A.flags.c_contiguous:
        yield replace(failure, case=replace(case, A=dense.astype(float)))


def rounded(values: Any, digits: int) -> np.ndarray:
    """To so many significant digits, through decimal text: 0 stays 0, 1e-300 too."""
    values = np.asarray(values, dtype=float)
    return np.array([float(f"{v:.{digits - 1}e}") for v in values.ravel()]).reshape(values.shape)


def _rounder(failure: Failure) -> Iterator[Failure]:
    """Arrays and numbers with few digits, A as a whole before its columns."""
    case = failure.case
    for digits in (1, 3):
        for name in ("A", "b", "sample_weight", "offset", "penalty_weights"):
            value = getattr(case, name)
            if value is None or sp.issparse(value) or np.asarray(value).dtype != float:
                continue
            changed = rounded(value, digits)
            if not np.array_equal(changed, value) and _digits(value) > digits:
                yield replace(failure, case=replace(case, **{name: changed}))
        for name in ("l1", "l2", "parameter"):
            value = getattr(case, name)
            if (changed := float(rounded(value, digits))) != value and _digits(value) > digits:
                yield replace(failure, case=replace(case, **{name: changed}))
        call = failure.call
        if call.x is not None and _digits(call.x) > digits:
            yield replace(failure, call=replace(call, x=rounded(call.x, digits)))
        if call.y is not None and _digits(call.y) > digits:
            yield replace(failure, call=replace(call, y=rounded(call.y, digits)))


def _digits(values: Any) -> int:
    """Significant digits of the longest of the numbers."""
    texts = (f"{v!r}".lower().split("e")[0] for v in np.asarray(values, float).ravel().tolist())
    return max((len(t.strip("-").replace(".", "").strip("0")) for t in texts), default=0)
