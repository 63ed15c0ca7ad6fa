"""scikit-learn's estimator checks on every estimator with every solver and penalty it accepts.

usage: python -m tests.estimators.full_grid [WORD ...]   (only what has all the WORDs in its repr)

The continuous integration runs a part of this grid (`test_checks.py`); this is all of it.
"""

from __future__ import annotations

import sys
import time
import unittest
import warnings

from sklearn.utils.estimator_checks import estimator_checks_generator

from tests.estimators.grid import everything, prepared


def failures(model: object) -> tuple[int, list[str]]:
    """How many checks there are, and what failed."""
    count, failed = 0, []
    for estimator, check in estimator_checks_generator(model):
        count += 1
        try:
            check(prepared(estimator, check))
        except unittest.SkipTest:
            continue
        except Exception as error:
            name = getattr(check, "func", check).__name__
            failed.append(f"{name}: {type(error).__name__}: {str(error).splitlines()[:3]}")
    return count, failed


def main(words: list[str]) -> int:
    warnings.simplefilter("ignore")
    total = bad = 0
    for model in everything():
        label = " ".join(repr(model).split())
        if not all(word in label for word in words):
            continue
        began = time.perf_counter()
        count, failed = failures(model)
        total, bad = total + count, bad + len(failed)
        seconds = time.perf_counter() - began
        print(f"{count - len(failed)}/{count} {seconds:5.1f} s  {label}", flush=True)
        for line in failed:
            print(f"      {line}", flush=True)
    print(f"{total - bad} of {total} checks pass")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
