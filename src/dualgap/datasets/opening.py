"""`open`: data that are used where they are, on disk or on a cluster."""

from __future__ import annotations

import os
from typing import Any

from dualgap.datasets.clusters import is_spread, open_spread, require_dask
from dualgap.datasets.folders.opening import open_folder
from dualgap.designs.observations import Observations


def open(
    data: str | os.PathLike[str] | Any,
    b: Any = None,
    *,
    holds_rows: bool | None = None,
    target: str | None = None,
    sample_weight: Any = None,
    offset: Any = None,
    client: Any = None,
    gather: bool | str | None = None,
    round_timeout: float | None = None,
) -> Observations:
    """Open data that stay where they are: on disk, or on a Dask cluster.

    Of a folder of arrays, the manifest must fit the files: their names, sizes, types and shapes
    are looked at here, the numbers in them are not. `Folder.check` reads these, too.

    Parameters
    ----------
    data : str, Path, dask array or dask data frame
        A folder that `dualgap.datasets.convert` or `write_folder` has made; Parquet files, such as
        ``"folder/*.parquet"``; or a matrix of dask, with dense blocks or scipy matrices.
    b : array of shape (n,), optional
        Targets beside data of dask: a dask array or data frame's column in the same order.
    holds_rows : bool, optional
        Of folders: whether a fit may hold arrays with an entry for each row in memory, such as
        predictions and dual points. With False it is made by readings of the data alone, by
        `newton` or `working-set`, and its memory does not grow with the number of rows;
        ``result.y`` reads the data again when it is asked for. By default each problem, and each
        call of `solve`, decides: rows are held where these arrays take no more than half of the
        memory there is (``memory_limit``), or where the algorithm needs them; ``result.notes`` says
        so. On a cluster they are never held.
    target : str, optional
        Of Parquet files and data frames: the column that is b.
    sample_weight, offset : array of shape (n,) or str, optional
        Weights and offsets, or their column.
    client : distributed.Client, optional
        Whose workers do the work: of data of dask by default the client that this process has made
        last, or the threads of this process if there is none. With one workers read folders, which
        they find at the same path.
    gather : bool or "auto", optional
        Whether data of dask are brought into the memory of this process. ``"auto"``, the default,
        does so below 0.5 GB, where that is faster, and ``result.notes`` say it. Under ``dualgap``
        in ``dask.config`` there may be another default, called ``gather``.
    round_timeout : float, optional
        Seconds after which a round on a cluster is tried once more, and then given up; 600, or
        what ``round-timeout`` is there.

    Returns
    -------
    Observations
        To be given to `solve`, `Problem`, `certify`, `path` and estimators in the place of A and b.
        Of a folder it is a `Folder`.

    Raises
    ------
    dualgap.datasets.DataError
        A ValueError that names the file and the field at fault.
    """
    if is_spread(data):
        return open_spread(
            data,
            b,
            target=target,
            sample_weight=sample_weight,
            offset=offset,
            client=client,
            gather=gather,
            round_timeout=round_timeout,
        )
    given = {"b": b, "target": target, "sample_weight": sample_weight, "offset": offset}
    named = [name for name, value in given.items() if value is not None]
    if named:
        raise TypeError(f"{named[0]} is in the folder already; leave it out, or give it to solve.")
    if client is not None:
        require_dask(distributed=True)
    return open_folder(data, holds_rows=holds_rows, client=client, round_timeout=round_timeout)
