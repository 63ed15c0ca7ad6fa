"""Bad input is refused before any work, by a sentence that names argument, value and remedy."""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.adaptation import RULES, Curvature, Robust, Simple
from dualgap.algorithms import AdaBPD
from dualgap.designs import DenseDesign, SparseDesign
from dualgap.losses import LOSSES as LOSS_TABLE
from dualgap.losses import Huber, SmoothedHinge, StrongLogistic
from dualgap.preconditioners import PRECONDITIONERS

from .problems import ADAPTIVE, ALGORITHMS, labels, regression

A, B = regression(12, 3)
SIGNS = labels(B)
VERBS = ("matvec", "rmatvec", "gram", "row_norms_sq", "column_norms_sq", "blocks")
INFINITE = (np.nan, np.inf, -np.inf)
VECTORS = {"b": 12, "sample_weight": 12, "offset": 12, "penalty_weights": 3, "x0": 3, "y0": 12}
MARGIN_LOSSES = ("logistic", "smoothed_hinge", "squared_hinge", "strong_logistic")


@contextlib.contextmanager
def no_work() -> Iterator[None]:
    """Any touch of the data beyond reading them for the check is an AssertionError."""

    def work(*_: Any, **__: Any) -> None:
        raise AssertionError("work began before the arguments were checked")

    with contextlib.ExitStack() as stack:
        for design in (DenseDesign, SparseDesign):
            stack.enter_context(mock.patch.multiple(design, **dict.fromkeys(VERBS, work)))
        yield


def refused(call: Callable[[], Any], *words: str, error: Any = (ValueError, TypeError)) -> str:
    """The message with which a call is refused; all the words must be in it."""
    with no_work(), pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    missing = [word for word in words if word not in message]
    assert not missing, f"{missing} not in {message!r}"
    return message


def spoiled(values: np.ndarray, at: Any, value: Any) -> np.ndarray:
    copy = values.copy()
    copy[at] = value
    return copy


# ---- the data ----


@pytest.mark.parametrize("value", INFINITE)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "container",
    [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_matrix, sp.coo_array, pd.DataFrame],
)
def test_infinite_entry_of_A(container, dtype, value):
    data = container(spoiled(A.astype(dtype), (1, 2), value))
    refused(lambda: dualgap.Problem(data, B), f"A[1, 2] = {value}", "impute")


@pytest.mark.parametrize("value", INFINITE)
@pytest.mark.parametrize(("argument", "length"), VECTORS.items())
def test_infinite_entry_of_a_vector(argument, length, value):
    arguments = {"b": B, argument: spoiled(np.ones(length), 1, value)}
    refused(lambda: dualgap.solve(A, **arguments), f"{argument}[1] = {value}")


@pytest.mark.parametrize("argument", ["x0", "y0", "penalty_weights"])
def test_the_remedy_for_other_vectors_is_not_to_drop_data(argument):
    values = spoiled(np.ones(12 if argument == "y0" else 3), 1, np.nan)
    message = refused(lambda: dualgap.solve(A, B, **{argument: values}))
    assert "Drop" not in message


@pytest.mark.parametrize("value", INFINITE)
def test_infinite_point_to_certify(value):
    x, y = np.ones(3), np.ones(12)
    refused(lambda: dualgap.certify(A, B, spoiled(x, 1, value)), f"x[1] = {value}")
    refused(lambda: dualgap.certify(A, B, x, spoiled(y, 1, value)), f"y[1] = {value}")
    refused(
        lambda: dualgap.certify(A, B, x, intercept=value), f"intercept must be finite, got {value}"
    )


@pytest.mark.parametrize("shape", [(0, 3), (12, 0), (0, 0)])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, pd.DataFrame])
def test_empty_A(container, shape):
    data = container(np.empty(shape))
    refused(
        lambda: dualgap.Problem(data, np.empty(shape[0])), f"A is empty: shape {shape}", "one row"
    )


def test_empty_list():
    refused(lambda: dualgap.Problem([], []), "A must have two dimensions", "(0,)")
    refused(lambda: dualgap.Problem(A, []), "b has shape (0,)", "expected (12,)")


@pytest.mark.parametrize("data", [np.ones(12), pd.Series(np.ones(12))])
def test_one_dimensional_A(data):
    refused(
        lambda: dualgap.Problem(data, B), "A must have two dimensions", "(12,)", "reshape(-1, 1)"
    )


@pytest.mark.parametrize("data", [5.0, np.ones((2, 3, 4))])
def test_A_without_two_dimensions(data):
    refused(lambda: dualgap.Problem(data, B), "A must have two dimensions", str(np.shape(data)))


@pytest.mark.parametrize("argument", ["A", "b"])
def test_ragged_lists(argument):
    arguments = {"A": A, "b": B, argument: [[1.0, 2.0], [3.0]]}
    message = refused(lambda: dualgap.Problem(**arguments))
    assert re.match(rf"{argument}\b", message), f"{message!r} does not name {argument}"


@pytest.mark.parametrize(("argument", "expected"), VECTORS.items())
@pytest.mark.parametrize("shape", [(5,), (), (12, 2)])
def test_shapes_that_disagree(argument, expected, shape):
    arguments = {"b": B, argument: np.ones(shape)}
    words = (f"{argument} has shape {shape}", f"expected ({expected},)", "one value per")
    refused(lambda: dualgap.solve(A, **arguments), *words)


def test_x0_with_an_intercept_may_be_one_longer_but_not_two():
    problem = dualgap.Problem(A, B, l2=0.1, fit_intercept=True)
    refused(lambda: problem.solve(x0=np.ones(5)), "x0 has shape (5,)", "expected (3,)")
    assert problem.solve(x0=np.ones(4)).status.converged


DTYPES = [object, complex, np.complex64, str, "datetime64[s]"]
if np.dtype(np.longdouble).itemsize > 8:
    DTYPES.append(np.longdouble)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("argument", ["A", "b", "sample_weight", "offset", "x0"])
def test_dtypes_that_are_not_real_numbers(argument, dtype):
    shape = {"A": (12, 3), "x0": (3,)}.get(argument, (12,))
    values = np.ones(shape, dtype=int).astype(dtype)
    arguments = {"A": A, "b": B, argument: values}
    refused(lambda: dualgap.solve(**arguments), argument, str(values.dtype), error=TypeError)


@pytest.mark.parametrize("dtype", [t for t in DTYPES if t in (complex, np.longdouble)])
def test_sparse_dtypes_that_are_not_float64(dtype):
    data = sp.csr_array(A.astype(dtype))
    refused(lambda: dualgap.Problem(data, B), "A ", str(data.dtype), error=TypeError)


def test_data_frame_with_text():
    frame = pd.DataFrame({"height": [1.0, 2.0], "name": ["a", "b"]})
    refused(lambda: dualgap.Problem(frame, [1.0, 2.0]), "A has dtype object", "convert")


@pytest.mark.parametrize("argument", ["A", "b"])
def test_masked_entries_are_not_taken_for_data(argument):
    values = {"A": A, "b": B}[argument]
    masked = np.ma.masked_array(values, mask=values > 1.0)
    refused(lambda: dualgap.Problem(**{"A": A, "b": B, argument: masked}), argument, "mask")


@pytest.mark.parametrize("loss", MARGIN_LOSSES)
@pytest.mark.parametrize("seen", [[0, 1, 2], [1, 2], [1.5, 2.5], [-1, 0, 1]])
def test_labels_other_than_two(loss, seen):
    b = np.resize(seen, 12)
    words = (f"b has {len(seen)} distinct values", f"{seen[-1]:g}", loss, "-1 and +1", "Map")
    refused(lambda: dualgap.Problem(A, b, loss=loss), *words, error=ValueError)


@pytest.mark.parametrize("loss", MARGIN_LOSSES)
def test_labels_that_are_text(loss):
    b = ["yes", "no"] * 6
    refused(lambda: dualgap.Problem(A, b, loss=loss), "b has dtype <U3", "convert", error=TypeError)


@pytest.mark.parametrize("argument", ["sample_weight", "penalty_weights"])
def test_negative_weights(argument):
    weights = spoiled(np.ones(12 if argument == "sample_weight" else 3), 2, -1.5)
    refused(lambda: dualgap.Problem(A, B, **{argument: weights}), f"{argument}[2] = -1.5", "Use 0")


def test_a_penalty_weight_of_0_does_not_leave_the_column_out():
    weights = spoiled(np.ones(3), 2, -1.5)
    message = refused(lambda: dualgap.Problem(A, B, penalty_weights=weights))
    assert "leave that column of A out" not in message


def test_sample_weights_that_are_all_zero():
    zeros = np.zeros(12)
    refused(
        lambda: dualgap.Problem(A, B, sample_weight=zeros), "sample_weight is 0", "at least one"
    )


# ---- numbers ----

NOT_NUMBERS = ["1", True, np.True_, [1.0], 1j, np.array([1.0])]
TOO_SMALL = {"l1": -1e-9, "l2": -1, "tol": 0.0, "max_passes": -1, "max_time": -0.5, "mu": -1.0}


@pytest.mark.parametrize("value", NOT_NUMBERS, ids=repr)
@pytest.mark.parametrize("argument", TOO_SMALL)
def test_what_is_not_a_number(argument, value):
    words = (f"{argument} must be a real number", repr(value))
    refused(lambda: dualgap.solve(A, B, **{argument: value}), *words, error=TypeError)


@pytest.mark.parametrize("argument", ["l1", "l2", "tol", "max_passes"])
def test_none_is_not_a_number(argument):
    words = (f"{argument} must be a real number", "None")
    refused(lambda: dualgap.solve(A, B, **{argument: None}), *words, error=TypeError)


@pytest.mark.parametrize(("argument", "value"), TOO_SMALL.items())
def test_numbers_that_are_too_small(argument, value):
    words = (f"{argument} must be ", f"got {value:g}")
    refused(lambda: dualgap.solve(A, B, **{argument: value}), *words, error=ValueError)


@pytest.mark.parametrize("argument", TOO_SMALL)
def test_nan(argument):
    words = (f"{argument} must be finite", "nan")
    refused(lambda: dualgap.solve(A, B, **{argument: np.nan}), *words, error=ValueError)


@pytest.mark.parametrize("argument", ["l1", "l2", "tol", "mu"])
def test_infinity(argument):
    words = (f"{argument} must be finite", "inf")
    refused(lambda: dualgap.solve(A, B, **{argument: np.inf}), *words, error=ValueError)


@pytest.mark.parametrize("argument", TOO_SMALL)
def test_integers_beyond_float64(argument):
    refused(lambda: dualgap.solve(A, B, **{argument: 10**400}), argument, error=ValueError)


@pytest.mark.parametrize("argument", ["l1", "l2"])
def test_strengths_beyond_range(argument):
    refused(lambda: dualgap.solve(A, B, **{argument: 1e200}), argument, "1e+200", "smaller")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_negative_mu(algorithm):
    words = ("mu must be", "got -1")
    refused(lambda: dualgap.solve(A, B, l2=0.1, algorithm=algorithm, mu=-1.0), *words)


@pytest.mark.parametrize("algorithm", ["bpd", "df-bpd", "ada-bpd", "adf-bpd", "agd"])
def test_mu_beyond_any_matrix(algorithm):
    """mu is at most L; a mu whose square overflows must not end as a fault of the package."""
    refused(lambda: dualgap.solve(A, B, l2=0.1, algorithm=algorithm, mu=1e200), "mu", "1e+200")


@pytest.mark.parametrize("algorithm", ADAPTIVE)
def test_mu_as_a_start_for_a_loss_without_delta(algorithm):
    call = partial(dualgap.solve, A, SIGNS, loss="logistic", algorithm=algorithm, mu=1.0)
    message = refused(call, "mu=1", "logistic", "start=")
    for name in re.findall(r"dualgap[\w.]*\.\w+", message):  # the remedy must exist
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), f"{name} does not exist"


# ---- names ----

NAMES = {
    "loss": ("logstic", "logistic", tuple(LOSS_TABLE)),
    "algorithm": ("ada_bdp", "ada-bpd", ("auto", *ALGORITHMS)),
    "adapt": ("curvatur", "curvature", tuple(RULES)),
    "schedule": ("theorm", "theorem", ("theorem",)),
    "precondition": ("nonne", "none", ("auto", "none", *PRECONDITIONERS)),
}


@pytest.mark.parametrize(("argument", "names"), NAMES.items(), ids=list(NAMES))
def test_unknown_names(argument, names):
    typo, near, known = names
    words = (f"{argument}={typo!r}", f"Did you mean {near!r}?", *map(repr, known))
    refused(lambda: dualgap.solve(A, B, **{argument: typo}), *words, error=ValueError)


@pytest.mark.parametrize("argument", NAMES)
@pytest.mark.parametrize("name", ["", "zzzzzzzz"])
def test_names_near_to_nothing(argument, name):
    words = (f"{argument}={name!r} is not known", "Known: ")
    message = refused(lambda: dualgap.solve(A, B, **{argument: name}), *words, error=ValueError)
    assert "Did you mean" not in message


@pytest.mark.parametrize("argument", NAMES)
@pytest.mark.parametrize("value", [3, b"auto", Huber, True, ["auto"]], ids=repr)
def test_what_is_not_a_name(argument, value):
    words = (f"{argument} must be a name", repr(value))
    refused(lambda: dualgap.solve(A, B, **{argument: value}), *words, error=TypeError)


def test_names_in_capitals_mean_the_same():
    named = dualgap.solve(A, SIGNS, loss="LOGISTIC", l2=0.1, algorithm=" Auto ")
    assert named.algorithm == dualgap.solve(A, SIGNS, loss="logistic", l2=0.1).algorithm

    proved = dualgap.solve(A, B, l2=0.1, algorithm="ADF_BPD", schedule="Theorem")
    plain = dualgap.solve(A, B, l2=0.1, algorithm="adf-bpd", schedule="theorem")
    assert proved.trace.tau[0] == plain.trace.tau[0]


# ---- a loss without a dual prox ----


@dataclass(frozen=True)
class GradientOnly(Huber):
    """Huber's loss by another name, with its dual prox taken away."""

    name: ClassVar[str] = "gradient_only"
    has_dual_prox: ClassVar[bool] = False

    def prox_conj(self, v: Any, s: float, b: Any) -> Any:
        raise AssertionError("there is no dual prox")


@pytest.mark.parametrize(
    ("algorithm", "instead"), [("bpd", "df-bpd"), ("opt-bpd", "df-bpd"), ("ada-bpd", "adf-bpd")]
)
def test_a_loss_without_dual_prox_is_refused_where_it_is_needed(algorithm, instead):
    words = (f"algorithm={algorithm!r}", "dual prox", "gradient_only", f"use algorithm={instead!r}")
    call = partial(dualgap.solve, A, B, loss=GradientOnly(), l2=0.1, algorithm=algorithm)
    refused(call, *words, error=ValueError)


@pytest.mark.parametrize("algorithm", ["df-bpd", "adf-bpd", "agd", "auto"])
def test_a_loss_without_dual_prox_is_solved_where_it_is_not(algorithm):
    result = dualgap.solve(A, B, loss=GradientOnly(), l2=0.1, algorithm=algorithm)
    assert result.status.converged
    assert dualgap.certify(A, B, result.x, loss="huber", l2=0.1).relative_gap < 1e-5


# ---- other arguments of solve ----


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2"])
def test_n_threads(value):
    words = ("n_threads must be an integer of at least 1", repr(value))
    refused(lambda: dualgap.solve(A, B, n_threads=value), *words)


def test_numpy_integers_are_integers():
    rule = Curvature(period=np.int64(3))
    assert dualgap.solve(A, B, l2=0.1, n_threads=np.int64(1), adapt=rule).status.converged


@pytest.mark.parametrize(
    "value",
    [-1, 1.5, "1", True, np.random.RandomState(0)],
    ids=["negative", "float", "text", "bool", "RandomState"],
)
def test_random_state(value):
    refused(lambda: dualgap.solve(A, B, random_state=value), "random_state must", str(value))


@pytest.mark.parametrize("value", [3, "print"])
def test_callback_that_cannot_be_called(value):
    words = ("callback must be callable", repr(value))
    refused(lambda: dualgap.solve(A, B, callback=value), *words, error=TypeError)


def test_more_threads_than_any_machine_has():
    refused(lambda: dualgap.solve(A, B, n_threads=10**400), "n_threads must be at most 4096")


@pytest.mark.parametrize("value", ["loud", 1, 0, None, np.array([True, False])], ids=repr)
def test_verbose(value):
    words = ("verbose must be True or False", repr(value))
    refused(lambda: dualgap.solve(A, B, verbose=value), *words, error=TypeError)
    refused(lambda: dualgap.path(A, B, verbose=value), *words, error=TypeError)


@pytest.mark.parametrize("value", [1, "newton", True, {}, np.ones(3)], ids=repr)
def test_what_is_not_an_earlier_state(value):
    words = ("earlier must be the state of an earlier result", repr(value))
    refused(lambda: dualgap.solve(A, B, earlier=value), *words, error=TypeError)


@pytest.mark.parametrize("value", [1, "yes", None])
def test_fit_intercept(value):
    words = ("fit_intercept must be True or False", repr(value))
    refused(lambda: dualgap.solve(A, B, fit_intercept=value), *words, error=TypeError)


@pytest.mark.parametrize(
    ("loss", "b"), [("logistic", SIGNS), ("smoothed_hinge", SIGNS), ("huber", B)]
)
def test_y0_outside_the_domain(loss, b):
    y0 = spoiled(np.zeros(12), 4, 7.0)
    words = ("y0[4] = 7", "outside the domain", loss, "Start from")
    refused(lambda: dualgap.solve(A, b, loss=loss, y0=y0), *words, error=ValueError)


@pytest.mark.parametrize("algorithm", sorted(set(ALGORITHMS) - set(ADAPTIVE)))
def test_adapt_given_to_an_algorithm_that_does_not(algorithm):
    words = ("adapt=", "means nothing", f"algorithm={algorithm!r}", "takes mu, schedule")
    refused(lambda: dualgap.solve(A, B, algorithm=algorithm, adapt="robust"), *words)


@pytest.mark.parametrize(
    "call",
    [
        partial(dualgap.Problem(A, B).certify, np.ones(3), intercept=1.5),
        partial(dualgap.certify, A, B, np.ones(3), intercept=1.5, fit_intercept=False),
    ],
    ids=["Problem.certify", "certify"],
)
def test_an_intercept_where_there_is_none(call):
    refused(call, "intercept=1.5", "no intercept", "fit_intercept", error=ValueError)


@pytest.mark.parametrize("argument", ["tolerance", "alpha"])
def test_unknown_keyword(argument):
    refused(lambda: dualgap.solve(A, B, **{argument: 1}), argument, error=TypeError)


# ---- states ----


@pytest.fixture(scope="module")
def earlier() -> dualgap.Result:
    return dualgap.solve(A, B, l2=0.1, algorithm="ada-bpd", max_passes=6)


@pytest.mark.parametrize("algorithm", sorted({*ALGORITHMS} - {"ada-bpd"}))
def test_state_of_another_algorithm(earlier, algorithm):
    call = partial(dualgap.solve, A, B, l2=0.1, algorithm=algorithm, state=earlier.state)
    refused(call, "state belongs to algorithm='ada-bpd'", repr(algorithm), "same algorithm")


@pytest.mark.parametrize("other", [(A[:5], B[:5]), (A[:, :2], B)])
def test_state_of_a_problem_of_another_size(earlier, other):
    call = partial(dualgap.solve, *other, l2=0.1, algorithm="ada-bpd", state=earlier.state)
    refused(call, "state belongs to a problem with 12 rows and 3 coefficients", "Problem(")


@pytest.mark.parametrize(
    "other",
    [
        {"A": 2.0 * A[::-1], "b": B, "l2": 0.1},
        {"A": A, "b": 3.0 * B, "l2": 0.1},
        {"A": A, "b": B, "l2": 0.2},
        {"A": A, "b": SIGNS, "l2": 0.1, "loss": "squared_hinge"},
    ],
    ids=["A", "b", "l2", "loss"],
)
def test_state_of_another_problem_of_the_same_size(earlier, other):
    """Refused, or run to the right answer; never a thousand passes at the other one's optimum."""
    try:
        result = dualgap.solve(**other, algorithm="ada-bpd", state=earlier.state)
    except ValueError as error:
        assert "state" in str(error)
    else:
        assert result.status.converged


@pytest.mark.parametrize("before", RULES)
@pytest.mark.parametrize("after", RULES)
def test_state_of_another_rule(before, after):
    """Refused, or run to the right answer; no KeyError."""
    ridge = partial(dualgap.solve, A, B, l2=0.1, algorithm="ada-bpd", max_passes=60)
    state = ridge(adapt=before, max_passes=6).state
    try:
        result = ridge(adapt=after, state=state)
    except ValueError as error:
        assert "state" in str(error) and after in str(error)
    else:
        assert result.status.converged


@pytest.mark.parametrize("what", ["a state", {}, 3])
def test_what_is_not_a_state(what):
    words = ("state must be the state of an earlier result", type(what).__name__)
    refused(lambda: dualgap.solve(A, B, state=what), *words, error=TypeError)


def test_an_earlier_state_is_of_the_same_data(earlier):
    for other in ((A[:5], B[:5]), (A[:, :2], B)):
        words = ("earlier belongs to a problem with 12 rows and 3 coefficients", "the same data")
        refused(lambda other=other: dualgap.solve(*other, l2=0.1, earlier=earlier.state), *words)
    refused(lambda: dualgap.solve(A, B, earlier=earlier), "earlier must be", error=TypeError)
    assert dualgap.solve(A, B, l2=0.3, earlier=earlier.state).status.converged


def test_a_result_is_not_a_state(earlier):
    refused(lambda: dualgap.solve(A, B, state=earlier), "state must be", "Result", error=TypeError)


# ---- options of losses, rules and algorithms ----


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Robust(low=2), ("low=2", "high=1.5", "1")),
        (lambda: Robust(high=0.5), ("high=0.5", "1")),
        (lambda: Robust(low=0), ("low must be more than 0", "got 0")),
        (lambda: Robust(low="a"), ("low must be a real number", "'a'")),
        (lambda: Curvature(period=0), ("period must be an integer of at least 1", "got 0")),
        (lambda: Simple(period=1.5), ("period must be an integer", "got 1.5")),
        (lambda: Simple(period=True), ("period must be an integer", "got True")),
        (lambda: Curvature(start=0), ("start must be more than 0", "got 0")),
        (lambda: Curvature(start=np.nan), ("start must be finite", "got nan")),
        (lambda: Huber(threshold=0), ("threshold must be more than 0", "got 0")),
        (lambda: Huber(threshold="1"), ("threshold must be a real number", "'1'")),
        (lambda: SmoothedHinge(width=-1), ("width must be more than 0", "got -1")),
        (lambda: SmoothedHinge(width=np.inf), ("width must be finite", "got inf")),
        (lambda: StrongLogistic(strength=0), ("strength must be more than 0", "got 0")),
    ],
)
def test_options(make, words):
    refused(make, *words)


def test_a_rule_by_name_inside_an_algorithm():
    """Either it works or it is refused with a sentence; it is no AttributeError."""
    try:
        result = dualgap.solve(A, B, l2=0.1, algorithm=AdaBPD(adapt="robust"))
    except (TypeError, ValueError) as error:
        assert "adapt" in str(error)
    else:
        assert result.status.converged


def test_an_unknown_schedule_inside_an_algorithm():
    words = ("schedule='theorm'", "'theorem'")
    refused(lambda: dualgap.solve(A, B, algorithm=AdaBPD(schedule="theorm")), *words)


# ---- paths ----


@pytest.mark.parametrize("value", [1, 1.0, 2, 1e300])
def test_the_smallest_strength_is_less_than_the_largest(value):
    words = ("eps must be less than 1", f"got {value:g}", "the smallest lambda over the largest")
    refused(lambda: dualgap.path(A, B, eps=value), *words, error=ValueError)
    refused(lambda: dualgap.path(A, B, eps=value, lambdas=[1.0]), *words, error=ValueError)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"eps": 0}, ("eps must be more than 0",)),
        ({"eps": np.nan}, ("eps must be finite",)),
        ({"eps": "small"}, ("eps must be a real number", "'small'")),
        ({"lambdas": 0}, ("lambdas must be an integer of at least 1", "got 0")),
        ({"lambdas": 10**9}, ("lambdas must be at most 100000 points",)),
        ({"lambdas": 10**400}, ("lambdas must be at most 100000 points",)),
        ({"lambdas": []}, ("lambdas must be",)),
        ({"lambdas": [1.0, -1.0]}, ("lambdas[1] = -1",)),
        ({"l1_ratio": 2}, ("l1_ratio must be at most 1", "got 2")),
        ({"tol": np.nan}, ("tol must be finite",)),
        ({"max_passes": -1}, ("max_passes must be at least 0",)),
        ({"random_state": "x"}, ("random_state must be",)),
        ({"n_threads": 0}, ("n_threads must be",)),
        ({"callback": 3}, ("callback must be callable",)),
        ({"algorithm": np.ones(2)}, ("algorithm must be a name",)),
        ({"earlier": 1}, ("earlier",)),
        ({"state": 1}, ("state",)),
    ],
    ids=str,
)
def test_arguments_of_a_path(options, words):
    """Before the largest strength is looked for, which takes a pass over the data."""
    refused(lambda: dualgap.path(A, B, **options), *words)
