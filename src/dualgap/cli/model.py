"""A fitted model as JSON: numbers and names, to be inspected and loaded, never executed."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

import dualgap
from dualgap import _validation as check
from dualgap._files import replacing
from dualgap._types import Array
from dualgap.cli.common import to_json
from dualgap.cli.dual import slopes_fields, slopes_from
from dualgap.cli.fingerprints import fingerprint, mark_of
from dualgap.cli.targets import takes_labels
from dualgap.datasets import Dataset
from dualgap.designs import as_design
from dualgap.losses import LOSSES, Loss, Multinomial
from dualgap.streamed.sums import Slopes

FORMAT, VERSION = "dualgap model", 3
READABLE = (1, 2, VERSION)
"""Version 1 had no names of columns, and up to version 2 the dual point was an array."""
OBJECTIVE = "(1/n) sum_i phi(a_i'x + c; b_i) + l1 |x|_1 + (l2/2) |x|^2"


@dataclass(frozen=True, eq=False)
class Model:
    """A primal and a dual point, and the objective that they are held to be optimal for."""

    loss: Loss
    l1: float
    l2: float
    fit_intercept: bool
    tol: float
    labels: list[float] | None
    """What stands for -1, +1 (or 0, ..., K-1); None for a regression."""
    zero_based: bool | None
    """Whether the fitted svmlight file counted columns from 0; None if it was none."""
    feature_names: list[str] | None
    """Of the columns of the fitted table, in the order of x; None if it had none."""
    target_name: str | None
    """Of the column that was the target."""
    target_column: int | None
    """Its number in the fitted table; None if that was none."""
    fingerprint: str
    """Of the data: to tell other data, not to prove anything."""
    x: Array
    intercept: float | Array
    rows: int
    """Of the data."""
    y: Array | None
    """The dual point;"""
    slopes: Slopes | None = None
    """or what stands for it, where the fit has not held the rows of the data."""

    @property
    def n_features(self) -> int:
        """Columns of the data."""
        return int(self.x.shape[0])

    @property
    def objective(self) -> dict[str, Any]:
        """The arguments of `dualgap.Problem`."""
        return {
            "loss": self.loss,
            "l1": self.l1,
            "l2": self.l2,
            "fit_intercept": self.fit_intercept,
        }

    def objective_fields(self) -> dict[str, Any]:
        """The objective, for JSON."""
        return {
            "formula": OBJECTIVE,
            "loss": self.loss.name,
            "loss_parameter": self.loss.parameter if has_parameter(self.loss) else None,
            "l1": self.l1,
            "l2": self.l2,
            "fit_intercept": self.fit_intercept,
        }

    def scores(self, A: Any) -> Array:
        """A x + c; data that are not real and finite are refused."""
        return np.asarray(as_design(A).matvec(self.x) + self.intercept)

    def predict(self, A: Any) -> Array:
        """Predicted targets: scores (means, where the loss has a link), or labels."""
        scores = self.scores(A)
        if self.labels is None:
            return self.loss.mean(scores)
        at = scores.argmax(axis=1) if scores.ndim == 2 else (scores >= 0).astype(int)
        labels: Array = np.asarray(self.labels, dtype=float)
        return np.take(labels, at)

    def to_json(self, result: dualgap.Result | None = None) -> str:
        """The file's content; with a result, it also says how the point was found."""
        content: dict[str, Any] = {
            "format": FORMAT,
            "format_version": VERSION,
            "dualgap_version": dualgap.__version__,
            "objective": self.objective_fields(),
            "tol": self.tol,
            "rows": self.rows,
            "features": self.n_features,
            "labels": self.labels,
            "zero_based": self.zero_based,
            "feature_names": self.feature_names,
            "target_name": self.target_name,
            "target_column": self.target_column,
            "data_fingerprint": self.fingerprint,
        }
        if result is not None:
            content["found_by"] = {
                "algorithm": result.algorithm,
                "status": result.status.name.lower(),
                "passes": result.passes,
                "primal": result.certificate.primal,
                "gap": result.certificate.gap,
                "relative_gap": result.certificate.relative_gap,
            }
        content["intercept"] = np.asarray(self.intercept).tolist()
        content["x"] = self.x.tolist()
        content["y"] = None if self.y is None else self.y.tolist()
        content["dual_point"] = None if self.slopes is None else slopes_fields(self.slopes)
        return to_json(content, indent=1)

    def save(self, path: Path, result: dualgap.Result | None = None) -> None:
        """Write the file, wholly or not at all."""
        with replacing(path) as part:
            part.write_text(self.to_json(result) + "\n", encoding="utf-8")


def has_parameter(loss: Loss) -> bool:
    """Whether the loss has an option that is a number (the classes of a multinomial are labels)."""
    return bool(fields(loss)) and not loss.is_vector


def make_loss(name: str, parameter: float | None) -> Loss:
    """The loss of this name, with its option."""
    loss = dualgap.losses.as_loss(name)
    if parameter is None:
        return loss
    if not has_parameter(loss):
        raise ValueError(f"loss_parameter={parameter:g}: the loss {loss.name!r} takes none.")
    make: Any = type(loss)
    made: Loss = make(parameter)
    return made


def make_model(
    data: Dataset, result: dualgap.Result, problem: dualgap.Problem, tol: float, labels: Any
) -> Model:
    """The model that a fit has found; without an array as long as data that were not held."""
    slopes = result.slopes
    mark = fingerprint(data.A, data.b) if slopes is None else mark_of(data.source)
    return Model(
        loss=problem.loss,
        l1=problem.l1,
        l2=problem.l2,
        fit_intercept=problem.fit_intercept,
        tol=tol,
        labels=labels,
        zero_based=data.zero_based,
        feature_names=data.feature_names,
        target_name=data.target_name,
        target_column=data.target_column,
        fingerprint=mark,
        x=result.x,
        intercept=result.intercept,
        rows=problem.n,
        y=result.y if slopes is None else None,
        slopes=slopes,
    )


def load_model(path: Path) -> Model:
    """Read a model file; anything that is not as `Model.to_json` writes it is refused."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except FileNotFoundError:
        raise ValueError(f"{path}: there is no such file.") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is no dualgap model: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path} is no dualgap model.")
    version = content.get("format_version")
    if isinstance(version, bool) or version not in READABLE:
        raise ValueError(
            f"{path} has format_version {_short(version)}; this dualgap reads "
            f"{', '.join(map(str, READABLE[:-1]))} and {VERSION}."
        )
    if version == 1:
        content |= dict.fromkeys(("feature_names", "target_name", "target_column"))
    if version < 3:
        content["dual_point"] = None
    try:
        return _checked(content)
    except KeyError as error:
        raise ValueError(f"{path} is no complete dualgap model: {error} is missing.") from None
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is no valid dualgap model: {error}") from None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _checked(content: dict[str, Any]) -> Model:
    objective = content["objective"]
    if not isinstance(objective, dict):
        raise ValueError(f"objective={_short(objective)} is no JSON object")
    name, parameter = objective["loss"], objective["loss_parameter"]
    if not isinstance(name, str) or name not in LOSSES:
        raise ValueError(f"the loss is unknown; known are {', '.join(LOSSES)}")
    loss = make_loss(name, None if parameter is None else _real("loss_parameter", parameter))
    labels = content["labels"]
    if labels is not None:
        coded = _array("labels", labels)
        labels = coded.tolist()
        if coded.ndim != 1 or sorted(set(labels)) != labels:
            raise ValueError("labels must be a list of ascending numbers")
        if len(labels) != 2 and not loss.is_vector:
            raise ValueError("labels must be two but for the loss multinomial")
    if takes_labels(loss) != (labels is not None):
        raise ValueError(f"labels={labels} do not go with the loss {loss.name!r}")
    x, y = _array("x", content["x"]), content["y"]
    y = None if y is None and content["dual_point"] is not None else _array("y", y)
    intercept = _array("intercept", content["intercept"])
    based = content["zero_based"]
    tail: tuple[int, ...] = ()
    if loss.is_vector and labels is not None:
        loss, tail = Multinomial(classes=len(labels)), (len(labels),)
    rows = _whole("rows", content["rows"], 1)
    features = _whole("features", content["features"], 1)
    for name, array, shape in (
        ("x", x, (features, *tail)),
        ("y", y, (rows, *tail)),
        ("intercept", intercept, tail),
    ):
        if array is not None and array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape}, not {_short(shape)}")
    free = _flag("fit_intercept", objective["fit_intercept"])
    if intercept.any() and not free:
        raise ValueError("fit_intercept=false, and there is an intercept")
    size = features + free
    slopes = None if y is not None else _slopes(content["dual_point"], (size, *tail))
    target, column = content["target_name"], content["target_column"]
    return Model(
        loss=loss,
        l1=_real("l1", objective["l1"], 0.0),
        l2=_real("l2", objective["l2"], 0.0),
        fit_intercept=free,
        tol=_real("tol", content["tol"], 0.0),
        labels=labels,
        zero_based=None if based is None else _flag("zero_based", based),
        feature_names=_names(content["feature_names"], features),
        target_name=None if target is None else _string("target_name", target),
        target_column=None if column is None else _whole("target_column", column, 0, features),
        fingerprint=_string("data_fingerprint", content["data_fingerprint"]),
        x=x,
        intercept=intercept if tail else float(intercept),
        rows=rows,
        y=y,
        slopes=slopes,
    )


def _slopes(content: Any, shape: tuple[int, ...]) -> Slopes:
    """What stands for y."""
    if not isinstance(content, dict):
        raise ValueError(f"dual_point={_short(content)} is no JSON object")
    bend = None if content["bend"] is None else _array("bend", content["bend"])
    damping = _real("damping", content["damping"], 0.0)
    at, factors = _array("at", content["at"]), _array("factors", content["factors"])
    return slopes_from(at, factors, bend, damping, shape)


def _short(value: Any) -> str:
    """A value as a message can show it."""
    try:
        text = repr(value)
    except ValueError:  # an integer of too many digits
        return "an integer of thousands of digits"
    return text if len(text) <= 40 else f"{text[:40]}..."


def _array(name: str, values: Any) -> Array:
    try:
        array = np.array(values)
    except ValueError:  # ragged
        array = np.array(None)
    if array.dtype.kind not in "if":
        raise ValueError(f"{name} is not an array of numbers")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} is not finite")
    # Beyond this predictions could overflow; no fit gives such numbers.
    check.scale(name, float(np.abs(array.astype(float)).max(initial=0.0)), smallest=0.0)
    return array.astype(float)


def _real(name: str, value: Any, low: float = -check.LARGEST) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name}={_short(value)} is not a number")
    if not low <= value <= check.LARGEST:  # an integer of any length can be compared
        raise ValueError(
            f"{name}={_short(value)} must be finite and at least {low:g}, at most {check.LARGEST:g}"
        )
    return float(value)


def _whole(name: str, value: Any, low: int, high: int | None = None) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise ValueError(f"{name}={_short(value)} is not an integer of at least {low}")
    if high is not None and value > high:
        raise ValueError(f"{name}={_short(value)} is more than {high}")
    return value


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{name}={_short(value)} must be true or false")
    return value


def _string(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name}={_short(value)} is not a string")
    return value


def _names(values: Any, count: int) -> list[str] | None:
    """A name for every column, no two alike."""
    if values is None:
        return None
    if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
        raise ValueError("feature_names is not a list of strings")
    if len(set(values)) != count or len(values) != count:
        raise ValueError(f"feature_names are not {count} different names")
    return values
