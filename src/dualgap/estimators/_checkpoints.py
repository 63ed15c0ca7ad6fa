"""Fits that are kept in files: where and how often, and which fits can be."""

from __future__ import annotations

import os
from typing import Any, ClassVar, Self

import numpy as np

from dualgap.driver.keeping import EVERY, check_keeping


class Kept:
    """Base of the estimators: a fit may be kept in a file, if it is a single run."""

    _several_runs: ClassVar[str] = ""
    """Why a fit is more than a run, where it always is."""
    _checkpoint: tuple[Any, ...] | None = None

    def set_checkpoint(
        self,
        checkpoint: str | os.PathLike[str] | None,
        *,
        checkpoint_every: float | str = EVERY,
        resume: bool = False,
    ) -> Self:
        """Keep the fits that follow in a file, so that another process can go on with them.

        Copies made by ``sklearn.base.clone`` are not kept: one file is for one run.

        Parameters
        ----------
        checkpoint, checkpoint_every, resume
            As in `dualgap.solve`; None for no file.

        Returns
        -------
        The estimator.
        """
        if checkpoint is not None and self._several_runs:
            raise ValueError(
                f"{type(self).__name__} {self._several_runs}, and a checkpoint is of a single run."
            )
        check_keeping(checkpoint, checkpoint_every, resume)
        self._checkpoint = None
        if checkpoint is not None:
            self._checkpoint = (checkpoint, checkpoint_every, resume)
        return self

    def _check_checkpoint(self, y: Any) -> None:
        """Before a fit to these targets: refuse one that a checkpoint cannot keep."""
        if self._checkpoint is None:
            return
        if getattr(self, "early_stopping", False):
            raise ValueError(
                "early_stopping=True compares scores that a checkpoint does not hold; leave one of "
                "the two out."
            )
        runs = self._runs(y)
        if runs > 1:
            raise ValueError(
                f"this fit of {type(self).__name__} is {runs} runs, one for each target or class, "
                "and a checkpoint is of a single run. Fit them one by one."
            )

    def _runs(self, y: Any) -> int:
        """How many problems a fit to these targets solves."""
        return 1 if np.ndim(y) < 2 else int(np.shape(y)[1])

    def _checkpoint_options(self) -> dict[str, Any]:
        """What `Problem.solve` is told."""
        names = ("checkpoint", "checkpoint_every", "resume")
        return {} if self._checkpoint is None else dict(zip(names, self._checkpoint, strict=True))
