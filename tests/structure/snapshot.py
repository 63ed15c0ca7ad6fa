"""The public surface as text, one line a name: ``python -m tests.structure.snapshot`` writes it.

Annotations are the strings of the source, so that no version of Python or numpy prints them in its
own way. A class is followed by its members; those of a base that is public stand there and not
again, those of a base that is not stand with the class. A name that is there twice is written out
once.
"""

from __future__ import annotations

import enum
import inspect
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, ForwardRef

from typer.main import get_command

import dualgap
from dualgap.cli.app import app
from dualgap.result import Setup
from dualgap.trace import Snapshot, Trace

FILE = Path(__file__).with_name("public_names.txt")
COMMAND = "python -m tests.structure.snapshot"
MODULES = (dualgap, *(m for n in dualgap.__all__ if inspect.ismodule(m := getattr(dualgap, n))))
MET = (Setup, Snapshot, Trace)
"""What results hold and callbacks get: users meet these without importing them."""


def names() -> dict[str, Any]:
    """Everything public, shortest names first."""
    found = {f"{m.__name__}.{name}": getattr(m, name) for m in MODULES for name in m.__all__}
    found |= {f"{cls.__module__}.{cls.__name__}": cls for cls in MET}
    return dict(sorted(found.items(), key=lambda item: (item[0].count("."), item[0])))


def lines() -> list[str]:
    """The snapshot."""
    homes: dict[Any, str] = {}
    out: list[str] = []
    known = names()
    for name, thing in known.items():
        if inspect.isclass(thing) or inspect.isroutine(thing):
            homes.setdefault(thing, name)
    for name, thing in known.items():
        if isinstance(thing, ModuleType):
            out.append(f"{name}: module")
        elif isinstance(thing, dict):
            out += [f"{name}[{key!r}] = {kind.__name__}" for key, kind in thing.items()]
        elif not callable(thing):
            out.append(f"{name}: {type(thing).__name__}")
        elif homes[thing] != name:
            out.append(f"{name} = {homes[thing]}")
        elif inspect.isclass(thing):
            out += class_lines(name, thing, homes)
        else:
            out.append(f"{name}{signature(thing)}")
    wrong = [line for line in out if " at 0x" in line]
    assert not wrong, f"A default prints its address: {wrong}"
    return sorted(out)


def class_lines(name: str, cls: type, homes: dict[Any, str]) -> list[str]:
    """Of a class: how it is called, what public bases it has, its members."""
    public = [base for base in cls.__mro__[1:] if base in homes]
    own = [
        base
        for base in cls.__mro__
        if base.__module__.split(".")[0] == "dualgap"
        and not any(issubclass(other, base) for other in public)
    ]
    nearest = [b for b in public if not any(o is not b and issubclass(o, b) for o in public)]
    of = "".join(f" <- {homes[base]}" for base in nearest)
    if issubclass(cls, enum.Enum):
        members = [f"{name}.{member}" for member in cls.__members__]
        head, called = f"{name}: enum", set(cls.__members__)
    elif issubclass(cls, Exception):
        builtin = next(b.__name__ for b in cls.__mro__ if b.__module__ == "builtins")
        members, head, called = [], f"{name}: {builtin}", set()
    elif getattr(cls, "_is_protocol", False):
        members, head, called = [], f"{name}: protocol", set()
    else:
        members, head = [], f"{name}{signature(cls)}"
        called = set(inspect.signature(cls).parameters)
    seen = set(called)
    for base in own:
        for key, value in vars(base).items():
            if not key.startswith("_") and key not in seen and (text := member(value)) is not None:
                seen.add(key)
                members.append(f"{name}.{key}{text}")
        for key, annotation in inspect.get_annotations(base).items():
            if not key.startswith("_") and key not in seen:
                seen.add(key)
                members.append(f"{name}.{key}: {shown(annotation)}")
    return [head + of, *members]


def member(value: Any) -> str | None:
    """How a member is written; None for what only an annotation tells of, or is not ours."""
    if isinstance(value, property | cached_property):
        get = value.fget if isinstance(value, property) else value.func
        return f": {shown(get.__annotations__.get('return', 'Any'))} (property)"
    kind = ""
    if isinstance(value, classmethod | staticmethod):
        kind, value = f" ({type(value).__name__})", value.__func__
    if inspect.isfunction(value) and value.__module__.split(".")[0] == "dualgap":
        return f"{signature(value)}{kind}"
    return None


def signature(function: Any) -> str:
    """With annotations as in the source and defaults as they print."""
    known = inspect.signature(function)  # whose annotations stay strings
    parts, star = [], False
    parameters = list(known.parameters.values())
    for k, p in enumerate(parameters):
        if p.kind is p.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        text = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "") + p.name
        star = star or p.kind is p.VAR_POSITIONAL
        if p.annotation is not p.empty:
            text += f": {shown(p.annotation)}"
        if p.default is not p.empty:
            text += f" = {shown_default(p.default)}"
        parts.append(text)
        last = k + 1 == len(parameters) or parameters[k + 1].kind is not p.kind
        if p.kind is p.POSITIONAL_ONLY and last:
            parts.append("/")
    back = known.return_annotation
    of_class = inspect.isclass(function) or back is known.empty
    return f"({', '.join(parts)})" + ("" if of_class else f" -> {shown(back)}")


def shown(annotation: Any) -> str:
    """An annotation as the source has it."""
    if isinstance(annotation, str):
        return annotation
    if isinstance(annotation, ForwardRef):
        return annotation.__forward_arg__
    if inspect.isclass(annotation):
        return annotation.__name__
    raise TypeError(
        f"{annotation!r} is no text: its module needs `from __future__ import annotations`."
    )


def shown_default(value: Any) -> str:
    """A default; classes and functions by their name, numbers of numpy as Python's."""
    if inspect.isclass(value) or inspect.isfunction(value):
        return str(value.__name__)
    return repr(value.item() if hasattr(value, "item") else value)


def command_lines() -> list[str]:
    """The commands with their arguments and options."""
    main: Any = get_command(app)
    out = []
    for name, command in main.commands.items():
        out.append(f"$ dualgap {name}")
        for p in command.params:
            given = "/".join((*p.opts, *p.secondary_opts))
            spelled = p.name.upper() if p.param_type_name == "argument" else given
            out.append(f"$ dualgap {name} {spelled}")
    return sorted(out)


def text() -> str:
    """The content of the file."""
    return "\n".join([*command_lines(), *lines()]) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
    print(f"{FILE.name} is written.")
