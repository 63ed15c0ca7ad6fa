"""What estimators share in their documentation is put in, and says the constructor's defaults."""

from __future__ import annotations

import inspect
import re

import pytest

from dualgap import estimators
from dualgap.estimators._documentation import SHARED, documented, filled

ALL = [getattr(estimators, name) for name in estimators.__all__]


@pytest.mark.parametrize("cls", ALL)
def test_every_parameter_has_a_paragraph_with_its_default(cls):
    doc = inspect.getdoc(cls)
    section = doc[doc.index("Parameters\n") : doc.index("Attributes\n")]
    for name, parameter in inspect.signature(cls).parameters.items():
        (head,) = re.findall(rf"^{name} : (.*)$", section, re.MULTILINE)
        if "default=" in head:
            said = head.rsplit("default=", 1)[1]
            assert eval(said) == parameter.default, name


@pytest.mark.parametrize("cls", ALL)
def test_nothing_is_left_to_fill_in(cls):
    for thing in (cls, *(getattr(cls, name) for name in dir(cls) if not name.startswith("__"))):
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert not SHARED.search(inspect.getdoc(thing) or ""), thing
    assert "n_samples" in inspect.getdoc(cls.fit)


def test_paragraphs_keep_the_indent_of_their_line():
    text = filled("Title.\n\n    {tol n_jobs}\n    z : int", {"tol": 1e-06, "n_jobs": None})
    lines = text.split("\n")
    assert lines[2] == "    tol : float, default=1e-6"
    assert lines[3].startswith("        A fit ends")
    assert "    n_jobs : int, default=None" in lines and lines[-1] == "    z : int"
    assert (
        filled("{a set} of names that nobody shares", {}) == "{a set} of names that nobody shares"
    )


def test_classes_without_docstrings_are_left_alone():
    class Silent:
        def fit(self):
            pass

    assert documented(Silent).__doc__ is None
