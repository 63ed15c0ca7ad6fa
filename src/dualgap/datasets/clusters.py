"""`open` for data that are spread out: of dask, in Parquet files, or in folders on a cluster."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

from dualgap.datasets._errors import DataError
from dualgap.datasets.folders.manifest import NAME
from dualgap.designs.collections import is_dask
from dualgap.designs.dask import options
from dualgap.designs.observations import Observations
from dualgap.designs.taking import observed


def is_spread(data: Any) -> bool:
    """Whether these are data of dask, or the name of Parquet files."""
    if not isinstance(data, str | os.PathLike):
        return True
    name = str(data)
    if "*" in name or name.endswith((".parquet", ".pq")):
        return True
    folder = Path(name)
    return folder.is_dir() and not (folder / NAME).exists() and any(folder.glob("*.parquet"))


def require_dask(distributed: bool = False) -> None:
    """Say which extra is missing, if one is."""
    for name in ("dask", "distributed") if distributed else ("dask",):
        if importlib.util.find_spec(name) is None:
            raise ImportError(
                f"{name} is not installed, which data on a cluster need: pip install "
                "'dualgap[dask]'."
            )


def parquet(files: str) -> Any:
    """Parquet files as a data frame of dask, whose columns all have the same partitions.

    By itself dask reads as many files at once as the columns that are asked for let it, so that a
    column for itself is cut elsewhere than all of them.
    """
    import dask.dataframe

    return dask.dataframe.read_parquet(files).map_partitions(_as_it_is)


def _as_it_is(frame: Any) -> Any:
    """What dask knows nothing of: whoever wants a column of it needs all that was read."""
    return frame


def open_spread(
    data: Any,
    b: Any = None,
    *,
    target: str | None = None,
    sample_weight: Any = None,
    offset: Any = None,
    client: Any = None,
    gather: Any = None,
    round_timeout: Any = None,
) -> Observations:
    """Observations of dask collections, or of Parquet files; see `dualgap.open`."""
    require_dask()
    if isinstance(data, str | os.PathLike):
        if target is None and b is None:
            raise DataError("Parquet files need target='...', the name of the column that is b.")
        data = parquet(str(data))
    if not is_dask(data):
        raise TypeError(
            f"{type(data).__name__} is neither a path nor a collection of dask; data in memory "
            "are given to solve as they are."
        )
    names = None
    if hasattr(data, "columns"):
        taken = [name for name in (target, sample_weight, offset) if isinstance(name, str)]
        absent = [name for name in taken if name not in data.columns]
        if absent:
            raise DataError(f"there is no column {absent[0]!r}; there are {list(data.columns)}.")
        frame, data = data, data.drop(columns=taken) if taken else data
        b = frame[target] if target is not None else b
        sample_weight, offset = (
            frame[given] if isinstance(given, str) else given for given in (sample_weight, offset)
        )
        names = [str(name) for name in data.columns]
    asked = options(client, gather, round_timeout)
    design, b, weights, offset = observed(data, b, sample_weight, offset, asked)
    return Observations(design, b, weights, offset, names)
