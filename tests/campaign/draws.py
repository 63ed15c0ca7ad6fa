"""What every generated problem draws: sizes, a loss, a regulariser, weights, offsets, storage."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from tests.certificate.cases import LOSSES, PENALTIES, Case, weights
from tests.certificate.checker import MARGIN

ALL_LOSSES = (*LOSSES, "multinomial")


def chance(rng: np.random.Generator, share: float) -> bool:
    return bool(rng.random() < share)


def size(rng: np.random.Generator, most: int, least: int = 1) -> int:
    """Between the two, the logarithm evenly spread: mostly small."""
    return int(np.exp(rng.uniform(np.log(least), np.log(most + 1))))


def strength(rng: np.random.Generator, n: int) -> float:
    """From strong over the classical c/n to tiny."""
    how = rng.integers(4)
    if how == 0:
        return float(10.0 ** rng.uniform(-1, 1))
    if how == 1:
        return float(10.0 ** rng.uniform(-4, -1))
    if how == 2:
        return float(10.0 ** rng.integers(-4, 1)) / n
    return float(10.0 ** rng.uniform(-10, -4))


def unit_columns(A: np.ndarray) -> np.ndarray:
    """The columns with the largest entry scaled to 1, to draw targets of moderate size from."""
    top = np.abs(A).max(axis=0)
    return A / np.where(top > 0, top, 1.0)


def scores(rng: np.random.Generator, A: np.ndarray, outputs: int) -> np.ndarray:
    """A noisy linear model on the columns, brought to one scale."""
    noise = 10.0 ** rng.uniform(-3, 0.5)
    truth = rng.standard_normal((A.shape[1], outputs))
    return unit_columns(A) @ truth + noise * rng.standard_normal((len(A), outputs))


def any_loss(rng: np.random.Generator, rows: int, losses: tuple[str, ...] = ALL_LOSSES) -> str:
    """A loss; a single row has no two classes."""
    loss = str(rng.choice(losses))
    return "logistic" if loss == "multinomial" and rows < 2 else loss


def targets(rng: np.random.Generator, A: np.ndarray, loss: str) -> np.ndarray:
    """Values, labels -1/+1 or 0/1, or classes, all of which occur."""
    n = len(A)
    if loss == "multinomial":
        classes = int(rng.integers(2, 5)) if n >= 4 else 2
        b = scores(rng, A, classes).argmax(axis=1)
        b[:classes] = np.arange(classes)
        return rng.permutation(b)
    z = scores(rng, A, 1)[:, 0]
    if loss not in MARGIN:
        return z * 10.0 ** rng.integers(-2, 3)
    labels = np.where(z > 0, 1.0, -1.0)
    return (labels + 1) / 2 if chance(rng, 0.2) and labels.max() > 0 else labels


def stored(rng: np.random.Generator, A: np.ndarray) -> Any:
    """C order, Fortran order or CSR."""
    how = rng.random()
    if how < 0.2:
        return sp.csr_array(A)
    return np.asfortranarray(A) if how < 0.3 else A


def case(
    rng: np.random.Generator,
    A: np.ndarray,
    *,
    losses: tuple[str, ...] = ALL_LOSSES,
    free: float = 0.25,
    intercept: float = 0.5,
    **fixed: Any,
) -> Case:
    """A problem on these data; ``fixed`` arguments of `Case` are taken as they are.

    ``free`` is the share of problems without regulariser, ``intercept`` that with an intercept.
    """
    n, d = A.shape
    loss = fixed.pop("loss", None) or any_loss(rng, n, losses)
    b = fixed.pop("b", None)
    b = targets(rng, A, loss) if b is None else b
    penalty = "none" if chance(rng, free) else str(rng.choice(["l2", "l2", "l1", "elastic_net"]))
    has_l1, has_l2 = PENALTIES[penalty]
    p = None
    if penalty != "none" and chance(rng, 0.3):
        p = weights(rng, d, "zeros" if chance(rng, 0.6) else "wide")
    w = weights(rng, n, str(rng.choice(["none", "none", "none", "zeros", "wide", "mild"])))
    outputs = (int(b.max()) + 1,) if loss == "multinomial" else ()
    drawn = {
        "parameter": float(10.0 ** rng.uniform(-1, 1)),
        "l1": has_l1 * strength(rng, n),
        "l2": has_l2 * strength(rng, n),
        "penalty_weights": p,
        "sample_weight": w,
        "offset": rng.standard_normal((n, *outputs)) if chance(rng, 0.2) else None,
        "fit_intercept": chance(rng, intercept),
    }
    return Case(stored(rng, A), b, loss, **{**drawn, **fixed})
