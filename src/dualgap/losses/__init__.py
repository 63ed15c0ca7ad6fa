"""The losses by name; a new one is a new class here."""

from __future__ import annotations

from dualgap._names import lookup
from dualgap.losses.contract import Loss, MarginLoss, RegressionLoss
from dualgap.losses.hinges import SmoothedHinge, SquaredHinge
from dualgap.losses.huber import Huber
from dualgap.losses.logistic import Logistic, StrongLogistic
from dualgap.losses.multinomial import Multinomial
from dualgap.losses.squared import Squared

LOSSES: dict[str, type[Loss]] = {
    cls.name: cls
    for cls in (Squared, Logistic, SmoothedHinge, SquaredHinge, Huber, StrongLogistic, Multinomial)
}

__all__ = [
    "LOSSES",
    "Huber",
    "Logistic",
    "Loss",
    "MarginLoss",
    "Multinomial",
    "RegressionLoss",
    "SmoothedHinge",
    "Squared",
    "SquaredHinge",
    "StrongLogistic",
    "as_loss",
]


def as_loss(loss: str | Loss) -> Loss:
    """Turn a name into a loss with its default options; a loss stays itself."""
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str):
        return lookup("loss", loss, LOSSES)()
    raise TypeError(f"loss must be a name or a dualgap loss, got {loss!r}.")
