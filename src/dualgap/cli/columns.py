"""Which columns of a file a model's coefficients belong to: by name, or by place if asked to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dualgap._types import Array
from dualgap.cli.model import Model
from dualgap.datasets import load
from dualgap.datasets.folders import is_folder, open_folder
from dualgap.datasets.loading import format_of, load_table, refuse_options
from dualgap.datasets.registry import NAMED_SETS
from dualgap.datasets.tables import Table

SHOWN = 5
"""Names that a message lists."""


@dataclass(frozen=True)
class Reading:
    """How a file is to be read: the options of `predict` and `certify`."""

    format: str | None
    target: str | None
    header: bool | None
    by_position: bool
    max_bytes: int | None
    data_folder: Path | None
    only_rows: bool = False
    """Whether targets and weights of a folder do not matter."""


@dataclass(frozen=True, eq=False)
class Aligned:
    """Data whose columns are in the order of a model's coefficients."""

    A: Any
    b: Array | None
    """None where a table has no target."""
    source: str
    notes: list[str]
    """What users should know about how the columns were found."""


def load_for(model: Model, file: str, how: Reading) -> Aligned:
    """Read a file as the one that the model was fitted on, its columns put in order."""
    if is_folder(Path(file)):
        return _of_folder(model, file, how)
    kind = format_of(file, how.format)
    if kind in ("csv", "arff") and file not in NAMED_SETS:
        return _of_table(model, file, kind, how)
    given: dict[str, Any] = {"format": how.format, "target": how.target, "header": how.header}
    if kind == "svmlight":
        given |= {"n_features": model.n_features, "zero_based": model.zero_based}
    data = load(file, max_bytes=how.max_bytes, data_folder=how.data_folder, **given)
    if model.feature_names is not None and not how.by_position:
        raise ValueError(_nameless(model, data.source))
    if data.A.shape[1] != model.n_features:
        raise ValueError(another_width(data.source, data.A.shape[1], model))
    return Aligned(data.A, data.b, data.source, [])


def _of_folder(model: Model, file: str, how: Reading) -> Aligned:
    """Data on disk, whose columns must be the model's in its order."""
    options: dict[str, Any] = {"format": how.format, "target": how.target, "header": how.header}
    A: Any
    b: Array | None
    if how.only_rows:
        refuse_options(file, **options)
        folder = open_folder(file)
        if folder.offset is not None:
            raise ValueError(f"{file} has offset, which has no place beside A; use dualgap.open.")
        A, b, names = folder.design, None, folder.columns
    else:
        data = load(file, **options)
        A, b, names = data.A, data.b, data.feature_names
    if not how.by_position and names != model.feature_names:
        raise ValueError(other_columns(model, file, names or []))
    if A.shape[1] != model.n_features:
        raise ValueError(another_width(file, A.shape[1], model))
    return Aligned(A, b, file, [])


def other_columns(model: Model, file: str, names: list[str]) -> str:
    """The sentence on a folder whose columns are not the model's."""
    known = model.feature_names or []
    differences = [
        f"it {what} {_listed(some)}"
        for what, some in (
            ("lacks", [name for name in known if name not in names]),
            ("also has", [name for name in names if name not in known]),
        )
        if some
    ]
    return (
        f"the columns of {file} are not those that the model was fitted on, in their order: "
        f"{'; '.join(differences) or 'the order differs'}. A category has a column for each value "
        "that occurs in the file: convert one in which the same values occur, or, if only names or "
        "their order are wrong, say --by-position."
    )


def _of_table(model: Model, file: str, kind: str, how: Reading) -> Aligned:
    if kind != "csv" and how.target is not None:
        raise ValueError(f"target is for CSV files, not for {kind}.")
    table = load_table(file, kind, header=how.header, max_bytes=how.max_bytes, least=1)
    notes: list[str] = []
    if model.feature_names is None or how.by_position:
        features, target, notes = _by_place(model, table, how)
    else:
        features, target = _by_name(model, table, how)
    b = None if target is None else np.ascontiguousarray(table.values[:, target])
    return Aligned(table.take(features), b, table.source, notes)


def _by_name(model: Model, table: Table, how: Reading) -> tuple[list[int], int | None]:
    """The columns that are called like the model's, and the target's."""
    assert model.feature_names is not None
    if table.names is None:
        raise ValueError(_nameless(model, table.source))
    place = {name: k for k, name in enumerate(table.names)}
    missing = [name for name in model.feature_names if name not in place]
    if missing:
        raise ValueError(
            f"{table.source} has no column {_listed(missing)}, which the model needs; it has "
            f"{_listed(table.names)}."
        )
    features = [place[name] for name in model.feature_names]
    target = place.get(model.target_name or "") if how.target is None else table.column(how.target)
    if target in features:
        raise ValueError(f"target={how.target!r} is a feature of the model, not its target.")
    known = {*features, target}
    unknown = [name for name, k in place.items() if k not in known]
    if unknown:
        raise ValueError(
            f"{table.source} has the column {_listed(unknown)}, which the model does not know. "
            "Leave it out, or say --target if it is the target."
        )
    return features, target


def _by_place(model: Model, table: Table, how: Reading) -> tuple[list[int], int | None, list[str]]:
    """The columns in their order; the target is where it was in the fitted table."""
    width, d = table.values.shape[1], model.n_features
    notes = []
    if table.names is not None and not how.by_position:
        notes.append(
            f"the model has no names of columns; those of {table.source} are taken in their order"
        )
    wanted: str | int | None = how.target
    if wanted is None and model.target_name in (table.names or ()):
        wanted = model.target_name
    if width == d and wanted is None:
        notes.append(
            f"{table.source} has {d} columns, as many as the model has features: it is taken to "
            "have no target"
        )
        return list(range(width)), None, notes
    if width != d + 1:
        raise ValueError(another_width(table.source, width - 1, model))
    target = table.column(model.target_column if wanted is None else wanted)
    return [k for k in range(width) if k != target], target, notes


def another_width(source: str, columns: int, model: Model) -> str:
    """The sentence on data of another width than the model's."""
    return f"{source} has {columns} columns of data; the model takes {model.n_features}."


def _nameless(model: Model, source: str) -> str:
    assert model.feature_names is not None
    return (
        f"{source} has no names of columns, and the model knows its own by name "
        f"({_listed(model.feature_names)}). Give a CSV file with a header, or say --by-position if "
        "the columns are in the order of the fit."
    )


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")
