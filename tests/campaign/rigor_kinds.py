"""Problems against proofs: every loss with every regulariser, and attacks on what rounding hides.

Small, n up to 25 and d up to 8: columns from 1e-8 to 1e8, collinear down to 1e-11, weights from
1e-6 to 1e6, offsets, float32. The attacks bring points of their own (`POINTS`).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.certificate.cases import LOSSES, Case
from tests.certificate.checker import STEEP

from .bounded import BoundedCase
from .draws import any_loss, case, chance, strength, targets, unit_columns

LOSSES_OF_ALL = (*LOSSES, "multinomial", *STEEP)
Point = tuple[str, np.ndarray, np.ndarray | None]
"""A label, x and y; the intercept of a problem with points of its own is 0."""

REGULARISERS = (
    "l2", "l1", "elastic net", "l2 + c", "l1 + c", "elastic net + c", "none", "none + c",
    "zero weights l2", "zero weights l1 + c", "wide weights", "non-negative", "box",
)  # fmt: skip


def counts(rng: np.random.Generator, A: np.ndarray, loss: str) -> np.ndarray:
    """Counts, some of them 0, or amounts above 0, around the exponential of a linear model."""
    z = unit_columns(A) @ rng.standard_normal(A.shape[1])
    mean = np.exp(np.clip(z, -3.0, 4.0)) * 10.0 ** rng.integers(-1, 2)
    if loss == "poisson":
        return rng.poisson(mean).astype(float)
    return rng.gamma(2.0, mean / 2.0) + 1e-6


def weights(rng: np.random.Generator, n: int) -> np.ndarray | None:
    """None, or from 1e-6 to 1e6, or some of them 0."""
    how = rng.random()
    if how < 0.6:
        return None
    w = 10.0 ** rng.uniform(-6, 6, n)
    if how > 0.9:
        w[rng.random(n) < 0.3] = 0.0
        w[0] = 1.0
    return w


def penalised(rng: np.random.Generator, name: str, n: int, d: int) -> dict[str, Any]:
    """Arguments of a `Case` for a regulariser by name; bounds make it a `BoundedCase`."""
    out: dict[str, Any] = {"fit_intercept": name.endswith("+ c"), "penalty_weights": None}
    has_l1 = "l1" in name or "elastic" in name
    has_l2 = "l2" in name or "elastic" in name
    if name in ("wide weights", "non-negative", "box"):
        has_l1, has_l2 = chance(rng, 0.5), chance(rng, 0.6)
        has_l2 = has_l2 or (name == "wide weights" and not has_l1)
        out["fit_intercept"] = chance(rng, 0.3)
    out |= {"l1": has_l1 * strength(rng, n), "l2": has_l2 * strength(rng, n)}
    if name == "wide weights":
        out["penalty_weights"] = 10.0 ** rng.uniform(-3, 3, d)
    if name.startswith("zero"):
        p = rng.uniform(0.5, 2.0, d) * (rng.random(d) < 0.6)
        p[0] = 1.0
        out["penalty_weights"] = p
    if name == "non-negative":
        out |= {"lower": 0.0, "upper": np.inf}
    if name == "box":
        out |= box(rng, d)
    return out


def box(rng: np.random.Generator, d: int) -> dict[str, Any]:
    """Two numbers, or ends by coordinate, some of them missing; 0 need not be inside."""
    if chance(rng, 0.4):
        end = float(10.0 ** rng.integers(-2, 2))
        return {"lower": -end, "upper": end}
    middle = rng.choice([0.0, 1.0], d) * rng.standard_normal(d)
    half = 10.0 ** rng.uniform(-2, 1, d)
    lower, upper = middle - half, middle + half
    lower[rng.random(d) < 0.2] = -np.inf
    upper[rng.random(d) < 0.2] = np.inf
    return {"lower": lower, "upper": upper}


def problem(rng: np.random.Generator, A: np.ndarray, **fixed: Any) -> Case:
    """A loss, a regulariser, weights and an offset on these data."""
    n, d = A.shape
    loss = fixed.pop("loss", None) or any_loss(rng, n, LOSSES_OF_ALL)
    given = penalised(rng, str(rng.choice(REGULARISERS)), n, d)
    b = counts(rng, A, loss) if loss in STEEP else targets(rng, A, loss)
    if "sample_weight" not in fixed:
        fixed["sample_weight"] = weights(rng, n)
    ends = {name: given.pop(name) for name in ("lower", "upper") if name in given}
    made = case(rng, A, loss=loss, b=b, **{**given, **fixed})
    return BoundedCase(**vars_of(made), **ends) if ends else made


def vars_of(made: Case) -> dict[str, Any]:
    """The fields of a case, none of them copied."""
    return {name: getattr(made, name) for name in made.__dataclass_fields__}


def _normal(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((int(rng.integers(1, 26)), int(rng.integers(1, 9))))


def moderate(rng: np.random.Generator) -> Case:
    """Gaussian data, or small integers."""
    A = _normal(rng)
    return problem(rng, np.round(2 * A) if chance(rng, 0.3) else A)


def column_scales(rng: np.random.Generator) -> Case:
    """Columns in units from 1e-8 to 1e8."""
    A = _normal(rng)
    return problem(rng, A * 10.0 ** rng.uniform(-8, 8, A.shape[1]))


def close_columns(rng: np.random.Generator) -> Case:
    """A column that is another one plus 1e-1 to 1e-11 of noise, or some integers times others."""
    n, d = int(rng.integers(2, 26)), int(rng.integers(2, 9))
    A = rng.standard_normal((n, d))
    if chance(rng, 0.25):
        A = np.round(4 * A)
        A[:, -1] = A[:, :-1] @ rng.integers(-2, 3, d - 1)
    else:
        A[:, -1] = A[:, 0] + 10.0 ** rng.uniform(-11, -1) * rng.standard_normal(n)
    return problem(rng, A)


def far_offsets(rng: np.random.Generator) -> Case:
    """Offsets of up to 1e3, or of 30 where there are exponentials; weights as they come."""
    A = _normal(rng)
    loss = any_loss(rng, len(A), LOSSES_OF_ALL)
    if loss == "multinomial":
        return problem(rng, A, loss=loss)
    most = 1.5 if loss in STEEP or "logistic" in loss else 3.0
    return problem(
        rng, A, loss=loss, offset=10.0 ** rng.uniform(0, most) * rng.standard_normal(len(A))
    )


def halves(rng: np.random.Generator) -> Case:
    """float32 data."""
    A = _normal(rng)
    return problem(rng, (A * 10.0 ** rng.uniform(-4, 4, A.shape[1])).astype(np.float32))


def several_classes(rng: np.random.Generator) -> Case:
    """Classes with weights, and l1 in most of the regularisers."""
    A = rng.standard_normal((int(rng.integers(4, 26)), int(rng.integers(1, 6))))
    return problem(rng, A, loss="multinomial", sample_weight=10.0 ** rng.uniform(-3, 3, len(A)))


# ---- attacks ----


def cancelled_predictions(rng: np.random.Generator) -> Case:
    """Large products that cancel in z where y is 0 or nearly: an error of z is all there is."""
    n = int(rng.integers(1, 4))
    s = rng.choice([2.0**20, 1e8, 2.0**40])
    A = np.column_stack((np.full(n, s), rng.choice([1.0, 0.5, 3.0], n), np.full(n, -s)))
    b = np.zeros(n) if chance(rng, 0.5) else rng.standard_normal(n)
    l2 = float(10.0 ** rng.uniform(-25, -3))
    return Case(A, b, str(rng.choice(["squared", "huber"])), l2=l2)


def of_cancelled(rng: np.random.Generator, of: Case) -> list[Point]:
    far = float(of.A[0, 0]) * rng.choice([1.0, 3.0])
    x = np.array([far, rng.choice([0.5, 0.1]), far])
    return [("where products cancel", x, None), ("the same, y = 0", x, np.zeros(len(of.A)))]


def far_twins(rng: np.random.Generator) -> Case:
    """A column twice, and targets that are A x in floats for coefficients of 2^60."""
    n = int(rng.integers(3, 21))
    a = rng.standard_normal(n)
    A = np.column_stack((a, a))
    l2 = 0.0 if chance(rng, 0.5) else float(10.0 ** rng.uniform(-40, -20))
    return Case(A, A @ TWINS, str(rng.choice(["squared", "huber"])), l2=l2)


TWINS = np.array([2.0**60, 1024.0 - 2.0**60])


def of_twins(rng: np.random.Generator, of: Case) -> list[Point]:
    return [("twins at 2^60", TWINS, None), ("the same, y = 0", TWINS, np.zeros(len(of.A)))]


def metres_and_feet(rng: np.random.Generator) -> Case:
    """One length in two units, to rounding, and nothing or hardly anything to choose by."""
    n = int(rng.integers(4, 26))
    m = rng.standard_normal(n) * rng.choice([1.0, 100.0])
    A = np.column_stack((m, m * rng.choice([3.28084, 1.609344, 1.8])))
    if chance(rng, 0.4):
        A = np.column_stack((A, rng.standard_normal(n)))
    loss = str(rng.choice(["squared", "squared", "huber", "logistic", "poisson", "squared_hinge"]))
    b = counts(rng, A, loss) if loss in STEEP else targets(rng, A, loss)
    p = None
    if A.shape[1] == 3 and chance(rng, 0.5):
        p = np.array([0.0, 0.0, 1.0])
    l2 = 0.0 if p is None else float(10.0 ** rng.uniform(-4, 0))
    return Case(A, b, loss, l2=l2, penalty_weights=p, fit_intercept=chance(rng, 0.3))


def rounded_ridge(rng: np.random.Generator) -> Case:
    """One row and one column, whose x* is no float: all of the distance is rounding."""
    A, b = rng.standard_normal((1, 1)), rng.standard_normal(1)
    return Case(A, b, l2=float(10.0 ** rng.uniform(-3, 2)))


def of_ridge(rng: np.random.Generator, of: Case) -> list[Point]:
    a, b = float(of.A[0, 0]), float(of.b[0])
    x = np.array([a * b / (a * a + of.l2)])
    return [("x* rounded", x, None), ("x* and y rounded", x, a * x - b)]


KINDS = {
    function.__name__: (function, share)
    for function, share in (
        (moderate, 4),
        (column_scales, 3),
        (close_columns, 3),
        (far_offsets, 2),
        (halves, 2),
        (several_classes, 1.5),
        (cancelled_predictions, 1),
        (far_twins, 0.7),
        (metres_and_feet, 1.2),
        (rounded_ridge, 0.7),
    )
}
POINTS: dict[str, Callable[[np.random.Generator, Case], list[Point]]] = {
    "cancelled_predictions": of_cancelled,
    "far_twins": of_twins,
    "rounded_ridge": of_ridge,
}
