"""What is public changes only on purpose: every name and signature stands in public_names.txt."""

from __future__ import annotations

import ast
import difflib
import inspect
from pathlib import Path

import pytest

from tests.structure import snapshot


def difference(before: str, after: str) -> list[str]:
    """Lines that have gone and come."""
    return [
        line
        for line in difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
        if not line.startswith(("---", "+++", "@@"))
    ]


def test_the_public_surface_is_as_it_is_written_down():
    changed = difference(snapshot.FILE.read_text(encoding="utf-8"), snapshot.text())
    message = (
        "What is public has changed (docs/stability.md says how that is done):\n"
        + "\n".join(changed)
        + f"\nIf that is meant: {snapshot.COMMAND}"
    )
    assert not changed, message


def test_a_difference_is_shown_by_its_lines():
    before = "a\nb(x: int)\nc\n"
    assert difference(before, "a\nb(x: int, y: int = 0)\nc\nd\n") == [
        "-b(x: int)",
        "+b(x: int, y: int = 0)",
        "+d",
    ]
    assert difference(before, before) == []


def test_lines_are_sorted_and_told_once():
    """But for names of two modules, each of which is a name of its own."""
    lines = snapshot.lines()
    assert lines == sorted(set(lines))
    assert "dualgap.estimators.Ridge = dualgap.Ridge" in lines
    assert "dualgap.Status.NO_MINIMISER" in lines
    assert "dualgap.Path.converged: bool (property)" in lines
    assert "dualgap.losses.Huber(threshold: float = 1.35) <- dualgap.losses.RegressionLoss" in lines
    assert "dualgap.algorithms.ALGORITHMS['ada-bpd'] = AdaBPD" in lines


def test_how_signatures_are_written():
    """Annotations are the words of the source; what is not a word is refused."""

    def function(a: ast.AST | None, /, b=1.0, *rest: int, c: list[str] = (), **more) -> None:
        pass

    written = "(a: ast.AST | None, /, b = 1.0, *rest: int, c: list[str] = (), **more) -> None"
    assert snapshot.signature(function) == written
    with pytest.raises(TypeError, match="from __future__ import annotations"):
        snapshot.shown(list[int])


@pytest.mark.parametrize("module", snapshot.MODULES, ids=lambda m: m.__name__)
def test_what_a_public_module_defines_is_public_or_has_an_underscore(module):
    """Law: `__all__` holds every name that the module itself binds, but for what it imports."""
    bound = set()
    for node in ast.parse(Path(inspect.getfile(module)).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.add(node.name)
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        bound |= {n.id for t in targets if t for n in ast.walk(t) if isinstance(n, ast.Name)}
    assert not {name for name in bound if not name.startswith("_")} - set(module.__all__)
    assert len(set(module.__all__)) == len(module.__all__)
    assert not [name for name in module.__all__ if name.startswith("_")]
