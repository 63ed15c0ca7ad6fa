"""Predictions of data on disk, which go to the disk: a chunk at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dualgap.datasets._errors import DataError
from dualgap.datasets.folders.manifest import NAME
from dualgap.datasets.folders.writing import ArrayFile, making, write_json
from dualgap.designs import Design, Observations, as_design

FORMAT, VERSION = "dualgap predictions", 1
ARRAY = "predictions"


def write_predictions(
    folder: str | os.PathLike[str], predict: Callable[[Any], Any], data: Any
) -> Path:
    """Write the predictions of a model into a folder, a chunk of rows at a time.

    No more than a chunk is held. The folder has an array, ``predictions.npy``, which
    ``numpy.load(file, mmap_mode="r")`` gives, and ``manifest.json`` with its shape, dtype and
    sha256. It stands there when it is complete, and not before.

    Parameters
    ----------
    folder : str or Path
        The folder to make. What is there already is never replaced.
    predict : callable
        From some rows, as an array or a CSR matrix, to an entry, or several, for each: a method of
        a fitted model such as ``model.predict`` or ``model.predict_proba``.
    data : Folder, design, array or matrix
        The rows. An offset that belongs to them is not added.

    Returns
    -------
    Path
        That of the folder.

    Raises
    ------
    dualgap.datasets.DataError
        Where there is something of this name, or the chunks have predictions of different forms.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgap
    >>> A, b = np.eye(3), np.array([1.0, 2.0, 3.0])
    >>> model = dualgap.Ridge(alpha=1e-9).fit(A, b)
    >>> where = dualgap.datasets.write_predictions("made", model.predict, A)  # doctest: +SKIP
    >>> np.load(where / "predictions.npy").shape  # doctest: +SKIP
    (3,)
    """
    design = data.design if isinstance(data, Observations) else as_design(data)
    target = Path(folder)
    with making(target, overwrite=False) as part:
        file: ArrayFile | None = None
        try:
            for start, found in _by_chunks(predict, design):
                if file is None:
                    file = ArrayFile(part, ARRAY, found.dtype, found.shape[1:])
                file.append(_fitting(file, start, found))
            assert file is not None
            entry = file.entry()
        finally:
            if file is not None:
                file.close()
        content = {"format": FORMAT, "format_version": VERSION, "array": entry.to_json()}
        write_json(part / NAME, json.dumps(content, indent=1) + "\n")
    return target


def _by_chunks(
    predict: Callable[[Any], Any], design: Design
) -> Iterator[tuple[int, np.ndarray[Any, Any]]]:
    """The first row of each chunk, and the predictions of its rows."""
    for part in range(design.cuts.partitions):
        for chunk in design.chunks(part):
            found = np.asarray(predict(chunk.dense() if chunk.sparse is None else chunk.sparse))
            if found.shape[:1] != (chunk.shape[0],):
                raise DataError(
                    f"predict gave an array of shape {found.shape} for {chunk.shape[0]} rows."
                )
            yield chunk.rows.start, _plain(found)


def _plain(found: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Numbers or text: objects, which are labels as a rule, become text."""
    return found.astype(str) if found.dtype.kind == "O" else found


def _fitting(file: ArrayFile, start: int, found: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """As the file has them."""
    if found.shape[1:] != file.tail or not np.can_cast(found.dtype, file.dtype, "safe"):
        raise DataError(
            f"the predictions from row {start} on are of {found.dtype} in shape {found.shape[1:]}, "
            f"and those before of {file.dtype} in shape {file.tail}. Predict numbers of one kind, "
            "such as the places of labels among model.classes_."
        )
    return found
