"""The objects of the examples, imported as a user's modules are, so that they pickle."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))


def load(name):
    """The module of an example."""
    if str(EXAMPLES) not in sys.path:
        sys.path.insert(0, str(EXAMPLES))
    return importlib.import_module(name)


def imports(text):
    """(module, name) of all that a source imports; the name is "" where it is the module itself."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (("." * node.level + (node.module or ""), a.name) for a in node.names)
