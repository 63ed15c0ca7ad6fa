"""The package as a package: light to import, typed, documented."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
import zipfile
from importlib import metadata, resources
from pathlib import Path

import pytest

import dualgap
from dualgap import adaptation, algorithms, datasets, losses

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("sklearn", "matplotlib", "rich", "typer", "pandas", "numba")


def fresh(code: str) -> str:
    """What a new interpreter prints."""
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_import_is_light():
    loaded = f"import sys; print([m for m in {HEAVY} if m in sys.modules])"
    assert fresh(f"import dualgap; {loaded}").strip() == "[]"
    solve = "dualgap.solve([[1.0], [2.0]], [1.0, 3.0], l2=0.1)"
    assert fresh(f"import dualgap; {solve}; {loaded}").strip() == "[]"


@pytest.mark.slow
def test_every_name_resolves_first():
    """Each one in a package that was just imported, so that none relies on another."""
    code = """
import importlib, sys
names = importlib.import_module("dualgap").__all__
for name in names:
    for module in [m for m in sys.modules if m.split(".")[0] == "dualgap"]:
        del sys.modules[module]
    assert getattr(importlib.import_module("dualgap"), name) is not None
print(*names)
"""
    assert fresh(code).split() == dualgap.__all__


def test_star_import():
    assert "ok" in fresh("from dualgap import *; solve, Problem, certify, losses; print('ok')")


def test_dir_and_all():
    assert set(dualgap.__all__) <= set(dir(dualgap))
    assert all(hasattr(dualgap, name) for name in dir(dualgap))
    for module in (adaptation, algorithms, datasets, losses):
        assert all(hasattr(module, name) for name in module.__all__)


def test_version():
    assert dualgap.__version__ == metadata.version("dualgap")


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="'dualgap' has no attribute 'slove'"):
        dualgap.slove  # noqa: B018
    assert not hasattr(dualgap, "slove")


def test_show_versions(capsys):
    dualgap.show_versions()
    shown = capsys.readouterr().out
    lines = dict(line.split(maxsplit=1) for line in shown.splitlines())
    assert lines["dualgap"] == dualgap.__version__
    assert lines["numpy"] == metadata.version("numpy")
    assert {"python", "scipy", "scikit-learn", "threadpoolctl"} <= set(lines)
    assert {"matplotlib", "rich", "typer"} <= set(lines)


def test_show_versions_without_the_extras(capsys, monkeypatch):
    def version(name: str) -> str:
        if name in ("matplotlib", "rich"):
            raise metadata.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr("dualgap._versions.metadata.version", version)
    dualgap.show_versions()
    assert re.search(r"^rich +not installed$", capsys.readouterr().out, re.MULTILINE)


def test_typed():
    assert (resources.files("dualgap") / "py.typed").is_file()


def test_the_wheel_holds_the_package_and_nothing_else(tmp_path):
    pytest.importorskip("hatchling")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, check=True, capture_output=True, cwd=ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "dualgap/py.typed" in names
    source = ROOT / "src" / "dualgap"
    modules = {f"dualgap/{p.relative_to(source).as_posix()}" for p in source.rglob("*.py")}
    assert modules <= set(names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"dualgap"}


# ---- documentation ----


def public_things() -> list[tuple[str, object]]:
    things: dict[str, object] = {}
    for module in (dualgap, adaptation, algorithms, datasets, losses):
        for name in module.__all__:
            thing = getattr(module, name)
            if not isinstance(thing, dict):
                things[f"{module.__name__}.{name}"] = thing
    for label, thing in list(things.items()):
        if inspect.isclass(thing):
            for name, member in vars(thing).items():
                if not name.startswith("_") and (
                    inspect.isfunction(member) or isinstance(member, property)
                ):
                    things[f"{label}.{name}"] = member
    return list(things.items())


@pytest.mark.parametrize(("label", "thing"), public_things(), ids=[k for k, _ in public_things()])
def test_docstring(label, thing):
    doc = inspect.getdoc(thing)
    assert doc and doc.strip(), label
    if inspect.isclass(thing):  # not the signature that dataclass makes up
        assert not doc.startswith(f"{thing.__name__}("), label


@pytest.mark.parametrize(
    "function",
    [
        dualgap.solve,
        dualgap.path,
        dualgap.certify,
        dualgap.Problem,
        datasets.load,
        datasets.load_csv,
        datasets.load_svmlight,
    ],
)
def test_every_argument_is_documented(function):
    doc = inspect.getdoc(function)
    named = set(re.findall(r"^([\w, ]+?)(?: :.*)?$", doc, re.MULTILINE))
    documented = {name.strip() for line in named for name in line.split(",")}
    documented |= set(re.findall(r"\w+", "".join(line for line in named if "," in line)))
    assert set(inspect.signature(function).parameters) <= documented


def names_of(argument: str, doc: str) -> list[str]:
    """The quoted names in an argument's paragraph."""
    paragraph = re.search(rf"^{argument} :.*\n((?:    .*\n?)+)", doc, re.MULTILINE).group()
    return re.findall(r'"([\w-]+)"', paragraph)


def test_names_in_the_documentation_resolve():
    doc = inspect.getdoc(dualgap.solve)
    A, b = [[1.0], [2.0], [3.0]], [1.0, 0.0, 1.0]
    named = names_of("algorithm", doc)
    assert {"auto", *algorithms.ALGORITHMS} == set(named)
    assert all(dualgap.solve(A, b, l2=0.1, algorithm=name) for name in named)
    rules = names_of("adapt", doc)
    assert set(adaptation.RULES) == set(rules)
    assert all(dualgap.solve(A, b, l2=0.1, adapt=name) for name in rules)
    for name in names_of("precondition", doc):
        assert dualgap.solve(A, b, l2=0.1, precondition=name)
    assert names_of("schedule", doc) == ["theorem"]
    kinds = names_of("loss", inspect.getdoc(dualgap.Problem))
    assert set(losses.LOSSES) == set(kinds)
    for name in kinds:
        assert dualgap.solve(A, [1.0, 2.0, 1.0] if name == "gamma" else b, l2=0.1, loss=name)


def test_values_in_the_documentation_resolve():
    docs = [inspect.getdoc(thing) or "" for _, thing in public_things()]
    found = {name for doc in docs for name in re.findall(r"\bdualgap(?:\.\w+)+", doc)}
    assert "dualgap.losses.Huber" in found
    for name in found:
        module, _, attribute = name.rpartition(".")
        home = importlib.import_module(module)
        if not hasattr(home, attribute):
            importlib.import_module(name)
