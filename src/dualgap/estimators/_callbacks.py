"""scikit-learn's callbacks, behind a thin shim.

A fit is one task, and every check of the solver is a subtask of it. A callback whose
``on_fit_task_end`` returns True stops the run, as with any callback of `solve`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from sklearn.callback import CallbackSupportMixin
from sklearn.callback import with_callbacks as managed

Fit = TypeVar("Fit", bound=Callable[..., Any])

__all__ = ["CallbackSupportMixin", "Tasks", "with_callbacks"]


def with_callbacks(fit: Fit) -> Fit:
    """Tear callbacks down after fit, whether it succeeds or not."""
    return cast(Fit, managed(fit))


class Tasks:
    """The tasks of one fit, as scikit-learn's callbacks see them.

    Parameters
    ----------
    estimator : estimator
        Whose fit it is.
    X, y, sample_weight
        What it is fitted to.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
        self.estimator = estimator
        self.data: dict[str, Any] = {"X": X, "y": y}
        if sample_weight is not None:
            self.data["metadata"] = {"sample_weight": sample_weight}
        self.context = None
        if getattr(estimator, "_skl_callbacks", None):
            self.context = estimator._init_callback_context(max_subtasks=None)
            self.context.call_on_fit_task_begin(estimator=estimator, **self.data)

    @property
    def watched(self) -> bool:
        """Whether anybody listens."""
        return self.context is not None

    def check(self, attributes: Callable[[], dict[str, Any]]) -> bool:
        """One check of the solver; True to stop."""
        if self.context is None:
            return False
        task = self.context.subcontext(task_name="check")
        task.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        stop = task.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes=attributes, **self.data
        )
        return bool(stop)

    def end(self) -> None:
        """The fit is done, and the estimator's attributes are set."""
        if self.context is not None:
            self.context.call_on_fit_task_end(
                estimator=self.estimator, reconstruction_attributes={}, **self.data
            )
