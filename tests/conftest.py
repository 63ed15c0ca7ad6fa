"""Which tests are fast: one case of every test function, but for those marked ``slow``.

`pytest -m fast` is for the minutes between two commits. It runs each function of the suite on
one of its cases, so that whatever is tested at all is tested there; the other cases of the same
function differ in data, and only the whole suite runs them. The case is the one whose name has
the least hash: the same in every process and on every machine, and nobody's favourite. A test
is marked ``slow`` if one of its cases takes more than about 3 s of processor time, be it for
compiling kernels anew, for processes that it starts or for the thousands of problems it draws.
"""

from __future__ import annotations

import hashlib
from itertools import groupby

import pytest
from hypothesis import settings

# No timed assertions: an example may meet a kernel that has to be compiled first.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def function_of(item: pytest.Item) -> str:
    """The name of the test function, with its file and class, and without its case."""
    return item.nodeid.partition("[")[0]


def lot(item: pytest.Item) -> bytes:
    """What the cases of one function are drawn by."""
    return hashlib.sha256(item.nodeid.encode()).digest()


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    candidates = [item for item in items if item.get_closest_marker("slow") is None]
    for _, cases in groupby(sorted(candidates, key=function_of), key=function_of):
        min(cases, key=lot).add_marker("fast")
