"""Compiled kernels are loaded before any clock runs."""

import warnings

import dualgap

from .draws import ALL_LOSSES
from .examine import ALGORITHMS
from .problems import generate


def warm_up() -> None:
    """A small problem with every loss, dense and sparse, through `auto` and every algorithm."""
    seen = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for index in range(400):
            case = generate("old", 12345, index).case
            layout = type(case.A), case.A.dtype.name, bool(case.l1)
            if (case.loss, *layout) in seen:
                continue
            names = ["auto"] if case.loss in ALL_LOSSES else []
            if not any(key[1:] == layout for key in seen):
                names += ALGORITHMS
            seen.add((case.loss, *layout))
            for name in names:
                try:
                    dualgap.solve(case.A, case.b, algorithm=name, max_passes=3, **case.arguments)
                except (ValueError, TypeError):
                    continue
