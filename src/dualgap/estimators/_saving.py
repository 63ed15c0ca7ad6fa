"""What is saved of a fitted estimator: prediction and certificate, and the run if it is asked for.

A dual point has an entry for each row of the training data, a trace one for each check, and the
state of a run several copies of both: a model that has been fitted to many rows would be saved with
something as long as they are, which no prediction needs. Copies within a process keep it all.
"""

from __future__ import annotations

import copy
from typing import Any

from sklearn.base import BaseEstimator

from dualgap.status import Status

RUN = ("dual_coef_", "trace_")
"""Attributes that tell of the run; a saved model is without them unless ``keep_run=True``."""
MEMORY = ("_memory", "_data_key")
"""What a warm start goes on from exactly; without it, it starts from the coefficients."""


class Saved(BaseEstimator):
    """Base of the estimators: how they are pickled, and copied."""

    keep_run: bool = False

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_checkpoint", None)  # which was for fits here
        if "status_" in state:  # by its name, for not every format knows enums
            state["status_"] = state["status_"].name
        if not self.keep_run:
            left_out = [name for name in RUN if name in state]
            if left_out:
                state["_left_out"] = left_out
            for name in (*RUN, *MEMORY):
                state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "status_" in state:
            state = {**state, "status_": Status[state["status_"]]}
        super().__setstate__(state)

    def __getattr__(self, name: str) -> Any:
        """Say why an attribute is missing that a fit has made."""
        kind = type(self).__name__
        if name in self.__dict__.get("_left_out", ()):
            raise AttributeError(
                f"this {kind} was saved without its run, and {name} with it; saved models keep it "
                f"if they are made with keep_run=True, and a new fit makes it again.",
                name=name,
                obj=self,
            )
        raise AttributeError(f"{kind!r} object has no attribute {name!r}", name=name, obj=self)

    # ---- copies in memory are whole ----

    def __copy__(self) -> Any:
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        other = type(self).__new__(type(self))
        memo[id(self)] = other
        other.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return other
