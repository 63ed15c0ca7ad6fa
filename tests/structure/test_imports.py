"""The house: no cycle of imports, no private doors, a driver that names no algorithm."""

import ast
from collections.abc import Iterator
from pathlib import Path

import dualgap

SOURCES = Path(dualgap.__file__).parent
TOP = "dualgap"


def modules() -> dict[str, Path]:
    out = {}
    for path in SOURCES.rglob("*.py"):
        parts = (TOP, *path.relative_to(SOURCES).with_suffix("").parts)
        out[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return out


MODULES = modules()


def imported(tree: ast.AST, *, types: bool) -> Iterator[str]:
    """The package's own modules that a tree imports, lazily or not; ``types``: for types, too."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test) and not types:
            continue
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] == TOP)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == TOP:
            assert not node.level
            for a in node.names:
                whole = f"{node.module}.{a.name}"
                yield whole if whole in MODULES else str(node.module)
        yield from imported(node, types=types)


def edges(*, types: bool) -> dict[str, set[str]]:
    trees = {name: ast.parse(path.read_text()) for name, path in MODULES.items()}
    return {name: set(imported(tree, types=types)) - {name} for name, tree in trees.items()}


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    """A cycle of the graph, or nothing."""
    done: set[str] = set()

    def visit(name: str, way: list[str]) -> list[str]:
        if name in way:
            return [*way[way.index(name) :], name]
        if name in done:
            return []
        for other in sorted(graph.get(name, ())):
            if cycle := visit(other, [*way, name]):
                return cycle
        done.add(name)
        return []

    return next((c for name in sorted(graph) if (c := visit(name, []))), [])


def test_a_cycle_is_found() -> None:
    assert find_cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == ["a", "b", "c", "a"]
    assert find_cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_no_cycle_of_imports() -> None:
    assert find_cycle(edges(types=False)) == []


def test_no_private_module_is_imported_by_another_package() -> None:
    wrong = [
        f"{name} -> {other}"
        for name, others in edges(types=True).items()
        for other in others
        if other.count(".") > 1
        and other.split(".")[-1].startswith("_")
        and name.split(".")[:2] != other.split(".")[:2]
    ]
    assert wrong == []


def test_the_driver_names_no_algorithm_and_no_preconditioner() -> None:
    """But for their contracts; and so does what the driver imports of the package."""
    graph = edges(types=True)
    known = {
        m
        for m in graph["dualgap.driver.loop"]
        if m.split(".")[1] in ("algorithms", "preconditioners")
    }
    assert known == {"dualgap.algorithms.contract", "dualgap.preconditioners.contract"}


def test_a_problem_knows_nobody_who_solves_it() -> None:
    """Nothing that `problem` imports, however far, belongs to a room of algorithms."""
    graph, seen, waiting = edges(types=False), set(), ["dualgap.problem"]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += graph.get(name, ())
    rooms = {name.split(".")[1] for name in seen}
    assert not rooms & {"api", "driver", "algorithms", "preconditioners"}


def test_states_hold_no_mapping() -> None:
    """What an algorithm knows has a type of its own in which every field is named."""
    import numpy as np

    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((20, 4)), np.sign(rng.standard_normal(20))
    for name in dualgap.algorithms.ALGORITHMS:
        state = dualgap.solve(A, b, l2=0.1, loss="squared", algorithm=name, max_passes=3).state
        assert state.own is not None
        assert not [k for k, v in vars(state.own).items() if isinstance(v, dict)]
