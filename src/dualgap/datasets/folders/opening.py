"""`open_folder`: a folder of arrays as data that stay on disk."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dualgap._validation import flag
from dualgap.datasets.folders.arrays import file_array
from dualgap.datasets.folders.checking import check_folder
from dualgap.datasets.folders.manifest import Manifest, read_manifest
from dualgap.designs.blocks import BlockDesign
from dualgap.designs.dask import on_cluster, options
from dualgap.designs.observations import Observations
from dualgap.designs.sources import DenseSource, SparseSource


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Folder(Observations):
    """A folder of arrays, as `dualgap.open` gives it.

    Its rows stay on disk, and are read chunk by chunk; targets, weights and offsets are read when
    they are asked for, a slice of them or ``np.asarray(folder.b)``.

    Attributes
    ----------
    path : Path
    manifest : Manifest
        What its ``manifest.json`` says.
    """

    path: Path
    manifest: Manifest

    def __repr__(self) -> str:
        """One line."""
        n, d = self.shape
        return f"Folder({str(self.path)!r}, {n} x {d}{', sparse' * self.manifest.is_sparse})"

    def check(self) -> None:
        """Read everything: sums must be those of the manifest, and all numbers finite.

        Raises
        ------
        dualgap.datasets.DataError
            With the array, the chunk and the row of what is wrong first.
        """
        check_folder(self.path, self.manifest)


def open_folder(
    path: str | os.PathLike[str],
    *,
    holds_rows: bool | None = None,
    client: Any = None,
    round_timeout: float | None = None,
) -> Folder:
    """Open a folder of arrays that `dualgap.datasets.convert` or `write_folder` has made.

    The manifest must fit the files: their names, sizes, types and shapes are looked at here, the
    numbers in them are not. `Folder.check` reads these, too.

    Parameters
    ----------
    path : str or Path
        The folder.
    holds_rows : bool, optional
        Whether a fit may hold arrays with an entry for each row in memory, such as predictions and
        dual points. With False it is made by readings of the data alone, by `newton` or
        `working-set`, and its memory does not grow with the number of rows; ``result.y`` reads the
        data again when it is asked for. By default each problem, and each call of `solve`, decides:
        rows are held where these arrays take no more than half of the memory there is
        (``memory_limit``), or where the algorithm needs them; ``result.notes`` says so.
    client : distributed.Client, optional
        Whose workers read the folder, at the same path.
    round_timeout : float, optional
        As for `DaskDesign`.

    Returns
    -------
    Folder
        To be given to `solve`, `Problem`, `certify`, `path` and estimators in the place of A and b.

    Raises
    ------
    dualgap.datasets.DataError
        A ValueError that names the file and the field at fault.
    """
    folder = Path(path)
    manifest = read_manifest(folder)
    arrays = {name: file_array(folder, entry) for name, entry in manifest.arrays.items()}
    shape, source = (manifest.rows, manifest.columns), None
    if manifest.is_sparse:
        data, indices, indptr = (arrays[name] for name in ("data", "indices", "indptr"))
        source = SparseSource(data, indices, indptr, shape)
    title = f"the folder {str(folder)!r}"
    design = BlockDesign.over(
        DenseSource(arrays["A"]) if source is None else source,
        rows_per_chunk=manifest.rows_per_chunk,
        title=title,
    )
    design.holds_rows = None if holds_rows is None else flag("holds_rows", holds_rows)
    b, weights, offset = (arrays.get(name) for name in ("b", "weights", "offset"))
    there = None
    if client is not None:
        there = on_cluster(design, str(folder), options(client, False, round_timeout))
        b, weights, offset = there.vectors(b, weights, offset)
    return Folder(
        design=design if there is None else there,
        b=b,
        weights=weights,
        offset=offset,
        columns=manifest.column_names,
        classes=manifest.classes,
        path=folder,
        manifest=manifest,
    )
