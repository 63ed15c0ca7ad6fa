"""Commands on a cluster: one that is made for the command, or one that is there."""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dualgap._types import Array
from dualgap.cli.columns import Aligned, Reading, another_width, load_for, other_columns
from dualgap.cli.model import Model
from dualgap.cli.targets import MOST_LABELS, encode, labels_of, takes_labels, targets
from dualgap.datasets import Dataset, load
from dualgap.datasets.clusters import is_spread, open_spread, require_dask
from dualgap.datasets.folders import Folder, is_folder, open_folder
from dualgap.datasets.loading import check_targets_alone, refuse_options
from dualgap.designs.cluster import RoundFailed
from dualgap.designs.pieces import Pieces
from dualgap.designs.remote import OtherVersions
from dualgap.losses import Loss

SECONDS = 20.0
"""For which a scheduler is waited for."""
MOST_WORKERS = 1024


class Cluster:
    """What was asked for: so many workers, or a scheduler, or neither.

    Parameters
    ----------
    workers : int, optional
        Processes of a cluster that the command starts and closes.
    scheduler : str, optional
        The address of a cluster that is there.
    """

    def __init__(self, workers: int | None, scheduler: str | None) -> None:
        self.workers, self.scheduler = workers, scheduler

    @property
    def is_asked_for(self) -> bool:
        """Whether there is one."""
        return self.workers is not None or self.scheduler is not None

    def check(self, file: str, threads: int | None = None, **options: Any) -> None:
        """Before any work: whether the options go together, and with the data.

        Parameters
        ----------
        file : str
            The data.
        threads : int, optional
            Those of this process, which has no part in the work.
        options
            Those of files that are read here.
        """
        if not self.is_asked_for:
            if is_spread(file):
                raise ValueError(
                    f"{file}: Parquet files are read by the workers of a cluster; say --workers 2 "
                    "or --scheduler, or make a folder of them by `dualgap convert`."
                )
            return
        if self.workers is not None and self.scheduler is not None:
            raise ValueError("--workers and --scheduler exclude each other; say one of them.")
        if self.workers is not None and not 1 <= self.workers <= MOST_WORKERS:
            raise ValueError(f"--workers={self.workers}: from 1 to {MOST_WORKERS} are possible.")
        known = r"(tcp|tls|ws|wss|ucx)://\S+"
        if self.scheduler is not None and not re.fullmatch(known, self.scheduler):
            raise ValueError(
                f"--scheduler={self.scheduler!r} is no address such as tcp://127.0.0.1:8786."
            )
        if threads is not None:
            raise ValueError("--threads is for work in this process; on a cluster say --workers.")
        given = [name for name, value in options.items() if value is not None]
        if given:
            name = given[0].replace("_", "-")
            raise ValueError(f"--{name} is for files that are read here, not on a cluster.")
        if not (is_folder(Path(file)) or is_spread(file)):
            raise ValueError(
                f"{file} is neither Parquet nor a folder, which workers could read; make a folder "
                "of it by `dualgap convert`."
            )
        require_dask(distributed=True)

    @contextmanager
    def client(self) -> Iterator[Any]:
        """The client; a cluster that is made here is closed at the end."""
        from distributed import Client, LocalCluster

        try:
            if self.scheduler is not None:
                with Client(self.scheduler, timeout=SECONDS, set_as_default=False) as client:
                    yield client
                return
            with (
                LocalCluster(
                    n_workers=self.workers, threads_per_worker=1, processes=True,
                    dashboard_address=None, silence_logs=logging.CRITICAL,
                ) as cluster,
                Client(cluster, set_as_default=False) as client,
            ):  # fmt: skip
                yield client
        except (RoundFailed, OtherVersions) as error:
            raise OSError(str(error)) from error


@contextmanager
def taken(
    file: str, cluster: Cluster, loss: Loss, how: dict[str, Any]
) -> Iterator[tuple[Dataset, list[float] | None, Any]]:
    """The data of a fit, the labels in them, and targets as the loss takes them.

    Parameters
    ----------
    file : str
    cluster : Cluster
        Where they are, as long as this lasts.
    loss : Loss
    how : dict
        Arguments of `load`.
    """
    if not cluster.is_asked_for:
        data = load(file, **how)
        labels = labels_of(loss, data.b)
        yield data, labels, targets(loss, labels, data.A, data.b)
        return
    with cluster.client() as client:
        data = load_there(file, how["target"], client)
        with data.A.in_use():
            labels = labels_there(loss, data)
            yield data, labels, targets_there(loss, labels, data.b)


@contextmanager
def aligned(model: Model, file: str, how: Reading, cluster: Cluster) -> Iterator[Aligned]:
    """The data that a model is held against, as long as this lasts.

    On a cluster they have the columns of the model, in the order of the model.
    """
    if not cluster.is_asked_for:
        yield load_for(model, file, how)
        return
    target = how.target if is_folder(Path(file)) else how.target or model.target_name
    with cluster.client() as client:
        data = load_there(file, target, client)
        if not how.by_position and data.feature_names != model.feature_names:
            raise ValueError(other_columns(model, file, data.feature_names or []))
        if data.A.shape[1] != model.n_features:
            raise ValueError(another_width(file, data.A.shape[1], model))
        with data.A.in_use():
            yield Aligned(data.A, data.b, data.source, [])


def load_there(file: str, target: str | None, client: Any) -> Dataset:
    """Data that the workers read, which are never gathered."""
    if is_folder(Path(file)):
        return _folder(file, target, client)
    if target is None:
        raise ValueError(f"{file}: Parquet files need --target, the name of the column that is b.")
    found = open_spread(file, target=target, client=client, gather=False)
    return Dataset(
        found.design, _pieces(found.b), Path(file).name, file, feature_names=found.columns,
        target_name=target,
    )  # fmt: skip


def _folder(file: str, target: str | None, client: Any) -> Dataset:
    refuse_options(file, target=target)
    folder: Folder = open_folder(file, client=client)
    check_targets_alone(file, folder)
    return Dataset(
        folder.design, _pieces(folder.b), folder.path.resolve().name, file,
        feature_names=folder.columns, target_name=folder.manifest.target_name,
    )  # fmt: skip


def _pieces(b: Any) -> Any:
    """Targets, which lie where the rows are."""
    assert isinstance(b, Pieces)
    return b


def coded(loss: Loss, labels: list[float] | None, data: Aligned) -> Any:
    """Targets as the loss takes them, wherever they lie."""
    if isinstance(data.b, Pieces):
        return targets_there(loss, labels, data.b)
    assert data.b is not None
    return targets(loss, labels, data.A, data.b)


def labels_there(loss: Loss, data: Dataset) -> list[float] | None:
    """The labels of a classification, which a round finds."""
    if not takes_labels(loss):
        return None
    found = data.A.executor.of_each(data.b, labels_of_piece)
    return labels_of(loss, np.unique(np.concatenate(found)))


def labels_of_piece(piece: Any, part: int) -> Array:
    """Those of a partition: some more than can be told apart, if there are more."""
    return np.unique(_numbers(piece))[: MOST_LABELS + 1]


def targets_there(loss: Loss, labels: list[float] | None, b: Any) -> Any:
    """Targets as the loss takes them, made where they lie."""
    if labels is None:
        return b
    name = f"dualgap-codes-{uuid.uuid4().hex[:12]}"
    keys = tuple((name, k) for k in range(len(b.pieces)))
    act = partial(encoded_piece, loss, labels)
    graph = {**b.graph, **{key: (act, b.pieces[key[1]]) for key in keys}}
    return Pieces(f"{b.name}, coded", b.shape, np.dtype(float), graph, keys, 8 * len(b))


def encoded_piece(loss: Loss, labels: list[float], piece: Any) -> Array:
    """The codes of a partition."""
    return encode(loss, labels, _numbers(piece))


def _numbers(piece: Any) -> Array:
    """A piece of a data frame, of an array or of a file."""
    values = piece.to_numpy() if hasattr(piece, "to_numpy") else piece[0 : len(piece)]
    return np.asarray(values, dtype=float)
