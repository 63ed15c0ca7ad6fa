"""docs/a_fit.md names the functions of a fit in the order in which they are first called."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap

ROOT = Path(dualgap.__file__).parent
PAGE = Path(__file__).resolve().parents[2] / "docs" / "a_fit.md"
ROW = re.compile(r"^\| `([\w/]+\.py)` \| `([\w.]+)` \|", re.MULTILINE)


@pytest.mark.skipif(sys.gettrace() is not None, reason="another tool traces calls")
def test_the_functions_are_called_in_this_order():
    rng = np.random.default_rng(0)
    A = sp.random_array((400, 100), density=0.1, rng=rng, format="csr")
    b = np.sign(A @ np.where(np.arange(100) < 5, 3.0, 0.0) + rng.standard_normal(400))
    called: dict[tuple[str, str], None] = {}

    def look(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(ROOT):
            called[path.relative_to(ROOT).as_posix(), frame.f_code.co_qualname] = None

    dualgap.solve(A, b, loss="logistic", l1=1e-3)  # kernels are compiled, or loaded, unobserved
    before = sys.getprofile()
    sys.setprofile(look)
    try:
        result = dualgap.solve(A, b, loss="logistic", l1=1e-3)
    finally:
        sys.setprofile(before)
    assert result.status.converged
    named = ROW.findall(PAGE.read_text())
    assert len(named) > 20
    assert [pair for pair in named if pair not in called] == []
    assert [pair for pair in called if pair in named] == named
