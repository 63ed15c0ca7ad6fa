"""Problems in files: what `Problem.dump` writes and `Problem.load` reads.

A zip archive with ``arguments.json`` and an ``.npy`` member for each array, so that numpy reads it
as an npz, too. Nothing in it is ever executed: no pickle. Members are stored, not compressed: a
file that came with a bug report takes no more memory than it is long.
"""

from __future__ import annotations

import os
import platform
import zipfile
from collections.abc import Callable
from dataclasses import asdict, fields, is_dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy.sparse as sp

from dualgap._archives import UNREADABLE, Members, Values, write_members
from dualgap._files import check_writable, replacing
from dualgap.designs import DenseDesign, SparseDesign
from dualgap.losses import LOSSES, Loss
from dualgap.regularizers import REGULARIZERS, Regularizer

if TYPE_CHECKING:
    from dualgap.problem import Problem

FORMAT = "dualgap problem"
VERSION = 1
WITH_REGULARIZER = 2
"""The version of a problem that names its regulariser: readers of version 1 would leave it out."""
ARGUMENTS = "arguments.json"
OPTIONAL = ("penalty_weights", "sample_weight", "offset")
"""Arrays that a problem may do without."""
SPARSE = {cls.__name__: cls for cls in (sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix)}
INDICES = (np.dtype(np.int32), np.dtype(np.int64))
P = TypeVar("P", bound="Problem")


# ---- writing ----


def dump(problem: Problem, path: str | os.PathLike[str]) -> None:
    """Write the problem, wholly or not at all."""
    target = Path(path)
    check_writable("path", target)
    if LOSSES.get(problem.loss.name) is not type(problem.loss):
        raise TypeError(
            f"loss={problem.loss!r} is not one of dualgap's ({', '.join(LOSSES)}); a file cannot "
            "hold the code of another."
        )
    given = problem.given
    if given is not None and REGULARIZERS.get(type(given).__name__) is not type(given):
        raise TypeError(
            f"regularizer={given!r} is not one of dualgap's ({', '.join(REGULARIZERS)}); a file "
            "cannot hold the code of another."
        )
    data, arrays = _matrix(problem.base)
    arrays["b"] = problem.b
    if (problem.penalty_weights != 1.0).any():
        arrays["penalty_weights"] = problem.penalty_weights
    for name in ("sample_weight", "offset"):
        if (values := getattr(problem, name)) is not None:
            arrays[name] = values
    arguments: dict[str, Any] = {
        "format": FORMAT,
        "format_version": VERSION if given is None else WITH_REGULARIZER,
        "written_by": {
            "python": platform.python_version(),
            **{name: metadata.version(name) for name in ("dualgap", "numpy", "scipy", "numba")},
        },
        "A": data,
        "loss": {"name": problem.loss.name, **asdict(problem.loss)},
        "l1": problem.l1,
        "l2": problem.l2,
        "fit_intercept": problem.fit_intercept,
    }
    if given is not None:
        names = _parts(type(given))
        arguments["regularizer"] = {"name": type(given).__name__, "parts": names}
        for name in names:
            arrays[f"regularizer_{name}"] = np.asarray(getattr(given, name))
    with replacing(target) as part:
        write_members(part, ARGUMENTS, arguments, arrays)


def _parts(kind: type[Regularizer]) -> list[str]:
    """The names of what it is made of."""
    assert is_dataclass(kind)
    return [field.name for field in fields(kind) if field.init]


def _matrix(base: Any) -> tuple[dict[str, Any], dict[str, Values]]:
    """How the data are stored, and their arrays as they lie in memory."""
    if isinstance(base, SparseDesign):
        A = base.A
        kind = f"{A.format}_{'array' if isinstance(A, sp.sparray) else 'matrix'}"
        parts = {"data": A.data, "indices": A.indices, "indptr": A.indptr}
        return {"kind": kind, "shape": list(base.shape)}, parts
    if isinstance(base, DenseDesign):
        return {"kind": "dense"}, {"A": base.A}
    raise TypeError(
        f"the data of this problem are a {type(base).__name__}, which no file can hold; dump the "
        "problem that was made from an array or a sparse matrix."
    )


# ---- reading ----


def load(make: Callable[..., P], path: str | os.PathLike[str]) -> P:
    """Read a problem; anything that is not as `dump` writes it is refused."""
    from dualgap.datasets import DataError

    source = Path(path)
    if not source.exists():
        raise DataError(f"path={source}: there is no such file.")
    if not source.is_file():
        raise DataError(f"path={source} is no file.")
    try:
        with zipfile.ZipFile(source) as archive:
            members = Members(archive, source.stat().st_size, "`Problem.dump`")
            return _read(make, members)
    except OSError as error:
        raise DataError(f"path={source} cannot be read: {error.strerror or error}.") from None
    except UNREADABLE as error:
        reason = str(error) or type(error).__name__
        if isinstance(error, KeyError):
            reason = f"{error} is missing"
        raise DataError(
            f"path={source} is no dualgap problem, or a damaged one: {reason}"
        ) from None


def _read(make: Callable[..., P], members: Members) -> P:
    content = members.text(ARGUMENTS, FORMAT)
    if content.get("format_version") not in (VERSION, WITH_REGULARIZER):
        raise ValueError(
            f"its format_version is {content.get('format_version')!r}; this dualgap reads "
            f"{VERSION} and {WITH_REGULARIZER}."
        )
    arrays = {name: members.array(name) for name in OPTIONAL if f"{name}.npy" in members.names}
    return make(
        _read_matrix(content["A"], members),
        members.array("b"),
        loss=_read_loss(content["loss"]),
        l1=content["l1"],
        l2=content["l2"],
        regularizer=_read_regularizer(content.get("regularizer"), members),
        fit_intercept=content["fit_intercept"],
        **arrays,
    )


def _read_loss(content: dict[str, Any]) -> Loss:
    options = dict(content)
    name = options.pop("name")
    if name not in LOSSES:
        raise ValueError(f"the loss {name!r} is unknown; known are {', '.join(LOSSES)}.")
    return LOSSES[name](**options)


def _read_regularizer(content: dict[str, Any] | None, members: Members) -> Regularizer | None:
    if content is None:
        return None
    name = content["name"]
    if name not in REGULARIZERS:
        known = ", ".join(REGULARIZERS)
        raise ValueError(f"the regulariser {name!r} is unknown; known are {known}.")
    kind = REGULARIZERS[name]
    if content["parts"] != _parts(kind):
        raise ValueError(f"the regulariser {name} is said to be made of {content['parts']}.")
    return kind(**{part: members.array(f"regularizer_{part}") for part in content["parts"]})


def _read_matrix(content: dict[str, Any], members: Members) -> Any:
    kind = content["kind"]
    if kind == "dense":
        return members.array("A")
    if kind not in SPARSE:
        raise ValueError(f"A is of the unknown kind {kind!r}.")
    rows, columns = content["shape"]
    if not (isinstance(rows, int) and isinstance(columns, int) and min(rows, columns) > 0):
        raise ValueError(f"A has the shape {content['shape']}.")
    data, indices, indptr = (members.array(name) for name in ("data", "indices", "indptr"))
    if indices.dtype not in INDICES or indptr.dtype != indices.dtype:
        raise ValueError(f"A has indices of dtype {indices.dtype} and indptr of {indptr.dtype}.")
    if indptr.shape != ((rows if kind.startswith("csr") else columns) + 1,):
        raise ValueError(f"indptr has shape {indptr.shape} and A {content['shape']}.")
    # On arrays of their own: scipy would narrow the indices, and kernels tell them apart.
    A = SPARSE[kind]((rows, columns), dtype=data.dtype)
    A.data, A.indices, A.indptr = data, indices, indptr
    A.check_format(full_check=True)
    return A
