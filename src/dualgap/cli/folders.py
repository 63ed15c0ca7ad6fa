"""The commands on folders of arrays: `convert` makes one, `check` reads all of one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import dualgap
from dualgap.cli.common import command, to_json
from dualgap.cli.options import AsJson, Header, MaxBytes
from dualgap.datasets import Folder
from dualgap.datasets.folders import open_folder


def convert(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="svmlight, CSV, Parquet or npz file; '-' for standard input.",
        ),
    ],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder to make.")],
    *,
    format: Annotated[
        str | None,
        typer.Option(help="svmlight, csv, parquet or npz; by default from the file's ending."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Tables: name or number of the target's column; the last.")
    ] = None,
    weights: Annotated[
        str | None, typer.Option(help="Tables: name or number of a column of weights.")
    ] = None,
    offset: Annotated[
        str | None, typer.Option(help="Tables: name or number of a column of offsets.")
    ] = None,
    category: Annotated[
        list[str] | None,
        typer.Option(help="Tables: a column of which each value becomes a column; repeatable."),
    ] = None,
    header: Header = None,
    features: Annotated[
        int | None, typer.Option(help="svmlight: number of columns.", min=1)
    ] = None,
    max_bytes: MaxBytes = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a folder of this name.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Convert a file, in one pass, into a folder whose data are used where they lie on disk."""
    with command():
        made = dualgap.datasets.convert(
            source,
            folder,
            format=format,
            target=target,
            weights=weights,
            offset=offset,
            categories=category or (),
            header=header,
            n_features=features,
            max_bytes=max_bytes,
            overwrite=overwrite,
        )
        print(to_json(_folder_fields(made)) if as_json else _folder_line(made))


def check(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder of arrays.")],
    as_json: AsJson = False,
) -> None:
    """Read all of a folder: its checksums must be right, and its numbers finite."""
    with command():
        opened = open_folder(folder)
        opened.check()
        print(to_json(_folder_fields(opened)) if as_json else f"{_folder_line(opened)}: sound")


def _folder_line(folder: Folder) -> str:
    n, d = folder.shape
    kind = f", {folder.design.nonzeros} entries" if folder.manifest.is_sparse else ""
    return f"{folder.path}: {n} rows, {d} columns{kind}"


def _folder_fields(folder: Folder) -> dict[str, Any]:
    n, d = folder.shape
    return {
        "folder": str(folder.path),
        "rows": n,
        "columns": d,
        "entries": folder.design.nonzeros,
        "sparse": folder.manifest.is_sparse,
        "arrays": list(folder.manifest.arrays),
        "classes": folder.classes,
    }
