"""The losses by name; a new one is a new class here."""

from __future__ import annotations

from dualgap._names import lookup
from dualgap.losses.contract import Loss, MarginLoss, RegressionLoss, check_contract, no_loss
from dualgap.losses.gamma import Gamma
from dualgap.losses.hinges import SmoothedHinge, SquaredHinge
from dualgap.losses.huber import Huber
from dualgap.losses.logistic import Logistic, StrongLogistic
from dualgap.losses.multinomial import Multinomial
from dualgap.losses.poisson import Poisson
from dualgap.losses.squared import Squared

LOSSES: dict[str, type[Loss]] = {
    cls.name: cls
    for cls in (
        Squared,
        Logistic,
        SmoothedHinge,
        SquaredHinge,
        Huber,
        StrongLogistic,
        Multinomial,
        Poisson,
        Gamma,
    )
}

__all__ = [
    "LOSSES",
    "Gamma",
    "Huber",
    "Logistic",
    "Loss",
    "MarginLoss",
    "Multinomial",
    "Poisson",
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
        if type(loss) not in LOSSES.values():
            check_contract(loss)
        return loss
    if isinstance(loss, str):
        return lookup("loss", loss, LOSSES)()
    raise TypeError(no_loss(loss))
