"""`load`: a data set by its name or from a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import scipy.sparse as sp

from dualgap._names import lookup
from dualgap._types import Array
from dualgap.datasets._download import cache_folder, check_digest, download, sidecar
from dualgap.datasets._errors import DataError
from dualgap.datasets._streams import STDIN, name_of
from dualgap.datasets.archives import load_npz
from dualgap.datasets.folders import Folder, is_folder, open_folder
from dualgap.datasets.registry import NAMED_SETS, NamedSet
from dualgap.datasets.svmlight import load_svmlight
from dualgap.datasets.tables import Table, load_arff, read_arff, read_csv

COMPRESSIONS = ("", ".xz", ".bz2", ".gz")
FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".npz": "npz",
    ".arff": "arff",
}
"""By the ending of the file; anything else is svmlight."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Data and targets, and where they come from; ``A, b = load(...)`` takes them apart.

    Attributes
    ----------
    A : array, csr_array or Design of shape (n, d)
        The data.
    b : array of shape (n,)
        Targets or labels, as the file has them.
    name : str
        What the set is: its own name where another one stands in for it, or the file's.
    source : str
        The file it was read from.
    zero_based : bool or None
        Whether an svmlight file counts columns from 0; None for other files.
    feature_names : list of str or None
        The names of the columns of A, where the file has them.
    target_name : str or None
        The name of the target's column.
    target_column : int or None
        Its number in a table; None for other files.
    """

    A: Any
    b: Array
    name: str
    source: str
    zero_based: bool | None = None
    feature_names: list[str] | None = None
    target_name: str | None = None
    target_column: int | None = None

    def __iter__(self) -> Iterator[Any]:
        """A, then b."""
        return iter((self.A, self.b))

    def __repr__(self) -> str:
        """One line."""
        n, d = self.A.shape
        return f"Dataset({self.name!r}, {n} x {d}, from {self.source})"


def load(
    name_or_path: str | Path,
    *,
    data_folder: str | Path | None = None,
    allow_download: bool = True,
    format: str | None = None,
    n_features: int | None = None,
    zero_based: bool | None = None,
    target: str | int | None = None,
    header: bool | None = None,
    max_bytes: int | None = None,
) -> Dataset:
    """Load a named data set, or a file.

    Named sets are ``"cpuact"``, ``"cpusmall"``, ``"rcv1"``, ``"a9a"`` and ``"mushrooms"`` (labels
    1 and 2 become -1 and +1). They are looked for in the data folder, then in the cache, then at
    their public home; whichever file it is must have the rows, columns, non-zero values and range
    of targets that the set is known by. A download must match its published checksum where there
    is one; its own is kept beside it and held against the file at every later load. In a data
    folder that has no rcv1, the set ``rcv1_sub`` stands in for it, under that name.

    Parameters
    ----------
    name_or_path : str or Path
        One of the names, or a file (``"./a9a"`` if it is called like a set; ``"-"`` for standard
        input). Compression by gzip, bzip2 or xz is recognised. A folder of arrays is opened, as
        `dualgap.open` does it: the data stay on disk.
    data_folder : str or Path, optional
        Where named sets may lie; the environment variable DUALGAP_DATA by default.
    allow_download : bool
        Whether to ask the network for a named set that is not at hand.
    format : str, optional
        ``"svmlight"``, ``"csv"``, ``"npz"`` or ``"arff"``; by default from the ending, svmlight if
        it tells nothing.
    n_features, zero_based
        For svmlight files, as in `load_svmlight`.
    target : str or int, optional
        For CSV files, the column of the target, as in `load_csv`.
    header : bool, optional
        For CSV files, whether the first line names the columns, as in `load_csv`.
    max_bytes : int, optional
        Bytes that a compressed file may hold; by default 64 MiB, or 100 times its own size.

    Returns
    -------
    Dataset
    """
    text = str(name_or_path)
    if isinstance(name_or_path, str) and text in NAMED_SETS:
        for option, value in (("format", format), ("target", target), ("header", header)):
            if value is not None:
                raise DataError(f"{option} is for files; {text} is a known data set (./{text}).")
        return _named(NAMED_SETS[text], data_folder, allow_download)
    if is_folder(Path(text)):
        options = {"format": format, "n_features": n_features, "zero_based": zero_based}
        return of_folder(text, **options, target=target, header=header)
    kind = format_of(text, format)
    if kind != "svmlight" and (n_features is not None or zero_based is not None):
        raise DataError(f"n_features and zero_based are for svmlight files, not for {kind}.")
    if kind != "csv" and target is not None:
        raise DataError(f"target is for CSV files, not for {kind}.")
    if kind in ("csv", "arff"):
        return of_table(load_table(text, kind, header=header, max_bytes=max_bytes), target)
    check_at_hand(text, kind)
    if header is not None:
        raise DataError(f"header is for CSV files, not for {kind}.")
    source = name_of(text)
    if kind == "npz":
        A, b = load_npz(text, max_bytes=max_bytes)
        return Dataset(A, b, PurePath(source).name, source)
    A, b, based = load_svmlight(
        text, n_features=n_features, zero_based=zero_based, max_bytes=max_bytes
    )
    return Dataset(A, b, PurePath(source).name, source, based)


def of_folder(path: str, **options: Any) -> Dataset:
    """A folder of arrays, which takes no options: its manifest says what is in it."""
    refuse_options(path, **options)
    folder: Folder = open_folder(path)
    check_targets_alone(path, folder)
    return Dataset(
        folder.design,
        np.asarray(folder.b, dtype=np.float64),
        folder.path.resolve().name,
        path,
        feature_names=folder.columns,
        target_name=folder.manifest.target_name,
    )


def check_targets_alone(path: str, folder: Folder) -> None:
    """Whether a folder has targets, and neither weights nor an offset."""
    for name, vector in (("weights", folder.weights), ("offset", folder.offset)):
        if vector is not None:
            raise DataError(
                f"{path} has {name}, which have no place beside A and b; use dualgap.open."
            )
    if folder.b is None:
        raise DataError(f"{path} has no targets b.")


def refuse_options(path: str, **options: Any) -> None:
    """Options of files mean nothing for a folder."""
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise DataError(f"{given[0]} is for files; {path} is a folder of arrays.")


def check_at_hand(path: str, kind: str) -> None:
    """Raise unless there is something of this name to read."""
    if path != STDIN and not Path(path).exists():
        known = ", ".join(NAMED_SETS)
        raise DataError(f"{path!r} is neither a file nor a known data set ({known}).")
    if path == STDIN and kind == "npz":
        raise DataError("npz archives cannot be read from standard input; name a file.")


def load_table(
    path: str,
    kind: str,
    *,
    header: bool | None = None,
    max_bytes: int | None = None,
    least: int = 2,
) -> Table:
    """All columns of a CSV or an ARFF file, as in `read_csv`; the target may be among them."""
    check_at_hand(path, kind)
    if kind == "csv":
        return read_csv(path, header=header, max_bytes=max_bytes, least=least)
    if header is not None:
        raise DataError("header is for CSV files, not for arff.")
    return read_arff(path, max_bytes=max_bytes)


def of_table(table: Table, target: str | int | None = None) -> Dataset:
    """A table, taken apart."""
    column = table.column(target)
    A, names = table.without(column)
    return Dataset(
        A,
        np.ascontiguousarray(table.values[:, column]),
        PurePath(table.source).name,
        table.source,
        feature_names=names,
        target_name=None if table.names is None else table.names[column],
        target_column=column,
    )


def format_of(path: str, given: str | None = None) -> str:
    """The format of a file: as given, or by its ending."""
    if given is not None:
        known = {kind: kind for kind in ("svmlight", *FORMATS.values())}
        return lookup("format", given, known)
    endings = [ending.lower() for ending in PurePath(path).suffixes]
    while endings and endings[-1] in COMPRESSIONS:
        endings.pop()
    return FORMATS.get(endings[-1] if endings else "", "svmlight")


def _named(named: NamedSet, data_folder: str | Path | None, allow_download: bool) -> Dataset:
    folder = data_folder if data_folder is not None else os.environ.get("DUALGAP_DATA")
    if folder is not None:
        if not Path(folder).is_dir():
            raise DataError(f"the data folder {folder} is not a directory.")
        for candidate in (named, NAMED_SETS.get(named.stand_in or "")):
            found = candidate and _in_folder(candidate, Path(folder))
            if candidate and found:
                return _read(candidate, found, str(found), format_of(found.name))
    if named.url is None:
        raise DataError(f"{named.name} has no public home; put its file into the data folder.")
    kind = format_of(named.url)
    cached = cache_folder() / PurePath(named.url).name
    where = f"put its file into a folder and name that by DUALGAP_DATA, or get it from {named.url}"
    if not cached.exists():
        if not allow_download:
            raise DataError(f"{named.name} is not at hand; {where}.")
        try:
            download(
                named.url,
                cached,
                largest=named.largest,
                checksum=named.checksum,
                verify=lambda part: _verify(named, part, kind),
            )
        except DataError as error:
            raise DataError(f"{named.name} is not at hand; {where}. Tried: {error}") from None
    note = sidecar(cached)
    if not note.exists():
        raise DataError(f"{cached} has no checksum beside it; delete it to download it again.")
    check_digest(cached, note.read_text(), f"{cached} (delete it to download it again)")
    return _read(named, cached, str(cached), kind)


def _in_folder(named: NamedSet, folder: Path) -> Path | None:
    endings = [e + c for e in (".svm", "", ".txt", ".libsvm") for c in COMPRESSIONS]
    candidates = [folder / f"{named.stem}{ending}" for ending in endings]
    return next((path for path in candidates if path.is_file()), None)


def _verify(named: NamedSet, part: Path, kind: str) -> None:
    try:
        _read(named, part, "it", kind)
    except DataError as error:
        raise DataError(f"what {named.url} sent is no {named.name}: {error}") from None


def _read(named: NamedSet, path: Path, source: str, kind: str) -> Dataset:
    """Read the file of a named set, and refuse it if it is not that set."""
    content = named.content
    if kind == "arff":
        table, b = load_arff(path)
        A, zero_based = sp.csr_array(table), None
    else:
        A, b, zero_based = load_svmlight(path, n_features=content.columns, zero_based=False)
    found = (A.shape, A.count_nonzero(), (float(b.min()), float(b.max())))
    entries = found[1] if content.entries is None else content.entries
    expected = ((content.rows, content.columns), entries, content.targets)
    if found != expected or (content.two_labels and np.unique(b).size != 2):
        raise DataError(
            f"{source} is no {named.name}: shape, non-zero values and range of targets are "
            f"{found}, not {expected}."
        )
    if content.two_labels:
        b = np.where(b == content.targets[0], -1.0, 1.0)
    return Dataset(A, b, named.name, source, zero_based)
