"""svmlight text into a folder: rows are written as soon as they are read."""

from __future__ import annotations

import numpy as np

from dualgap import _validation as check
from dualgap.datasets._errors import DataError
from dualgap.datasets._streams import name_of, open_bytes
from dualgap.datasets.folders import RowFiles
from dualgap.datasets.svmlight import LARGEST_INT32, Reader

SWEPT_AT_ONCE = 1 << 20
"""Places of entries that are counted anew at a time."""


def convert_svmlight(
    path: str,
    files: RowFiles,
    n_features: int | None,
    zero_based: bool | None,
    max_bytes: int | None,
) -> None:
    """Write all rows, and complete the folder."""
    if n_features is not None:
        check.integer("n_features", n_features)
    if zero_based is not None:
        zero_based = check.flag("zero_based", zero_based)
    with open_bytes(path, max_bytes) as stream:
        reader = _Writing(name_of(path), n_features, zero_based, files)
        reader.run(stream)
    columns, starts_at_zero = reader.width(files.rows, reader.written)
    if starts_at_zero:
        reader.count_from_zero()
    files.finish(columns)


class _Writing(Reader):
    """A reader that keeps no row.

    Whether columns are numbered from 0 is known in the end. They are written as if from 1, as most
    files have them; of the others the places are raised by one, in the file that was written.
    """

    def __init__(
        self, name: str, n_features: int | None, zero_based: bool | None, files: RowFiles
    ) -> None:
        super().__init__(name, n_features, zero_based)
        self.files, self.written = files, 0

    def after_block(self) -> None:
        """Write what was read, and make room for the next rows."""
        k, state = self.kernel, self.state
        rows, entries = int(state[k.ROWS]), int(state[k.ENTRIES])
        if self.indices.dtype != np.int32 and state[k.LARGEST] > LARGEST_INT32:
            raise DataError(
                f"{self.name}, line {self.line}: column {int(state[k.LARGEST])}; a folder has at "
                f"most {LARGEST_INT32} columns. Number (hash) the features into fewer columns."
            )
        if rows:
            indices = self.indices[:entries] - 1
            self.files.append_sparse(self.values[:entries], indices, self.row_ends[:rows])
            self.files.append_vector("b", self.targets[:rows])
        self.written += entries
        state[k.ROWS] = state[k.ENTRIES] = 0

    def count_from_zero(self) -> None:
        """Raise all places by one."""
        file = self.files.files["indices"]
        places = file.reopen()
        for start in range(0, len(places), SWEPT_AT_ONCE):
            places[start : start + SWEPT_AT_ONCE] += 1
        places.flush()
        file.resum()
