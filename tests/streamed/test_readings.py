"""What is read, what is held, and what is said of data whose rows are not held."""

from __future__ import annotations

import gc
import pickle
import tracemalloc

import numpy as np
import pytest

import dualgap
from dualgap.designs.files import FileArray
from dualgap.status import Status

from .data import TARGETS, A, N, Streamed, given

SIGNS = TARGETS["logistic"]


def readings(loss, penalty, extra="plain"):
    design = Streamed(A)
    before = design.ledger.readings
    result = dualgap.solve(design, TARGETS[loss], **given(loss, penalty, extra))
    assert result.status.converged
    assert result.readings == design.ledger.readings - before
    return result.readings


@pytest.mark.parametrize("extra", ["plain", "intercept", "weights"])
def test_few_readings_are_enough(extra):
    """One reading is a quadratic that is P itself; another one proves what was made of it."""
    for penalty in ("l2", "l1", "elastic net", "none"):
        assert readings("squared", penalty, extra) == 2
    for penalty in ("l2", "little l2", "l1", "elastic net"):
        assert readings("logistic", penalty, extra) <= 9


def peak(n, **problem):
    """The most bytes that a fit on n rows has in use at once; rows are made while they are read."""

    class Made(Streamed):
        def __init__(self):
            self.shape = (n, 5)
            self.cuts = dualgap.designs.Cuts((0, n), 500)

        def blocks(self, rows):
            for start in range(0, n, rows):
                stop = min(start + rows, n)
                rng = np.random.default_rng(start)
                yield slice(start, stop), rng.standard_normal((stop - start, 5)) + 0.5

    b = np.ones(n)
    b[::3] = -1.0
    dualgap.solve(Made(), b, **problem)  # kernels are loaded
    gc.collect()
    tracemalloc.start()
    result = dualgap.solve(Made(), b, **problem)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.status.converged
    return most


@pytest.mark.slow
@pytest.mark.parametrize(
    "problem",
    [
        {"l2": 1e-3},
        {"loss": "logistic", "l2": 1e-3, "fit_intercept": True},
        {"loss": "logistic", "l1": 1e-2},
        {"loss": "logistic"},
        {"loss": "poisson", "l2": 1e-2},
    ],
    ids=["ridge", "logistic", "l1", "free", "poisson"],
)
def test_nothing_of_the_length_of_the_data_is_held(problem):
    """An array of n floats would be 16 times as many bytes as all that the smaller fit takes."""
    if problem.get("loss") == "poisson":
        problem = {**problem, "loss": dualgap.losses.Huber(threshold=0.5)}
    small, large = peak(70_000, **problem), peak(280_000, **problem)
    assert large <= small + 8 * 70_000


def test_y_is_read_when_it_is_asked_for():
    design = Streamed(A)
    result = dualgap.solve(design, SIGNS, loss="logistic", l2=1e-2)
    before = design.ledger.readings
    y = result.y
    assert design.ledger.readings == before + 1.0
    np.testing.assert_allclose(y, -SIGNS / (1.0 + np.exp(SIGNS * (A @ result.x))), rtol=1e-9)
    assert result.state.z.size == 0
    copy = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(copy.x, result.x)
    with pytest.raises(ValueError, match="does not hold them"):
        copy.y  # noqa: B018


def test_y_is_refused_if_the_data_have_changed(tmp_path):
    for name, values in (("A", A), ("b", SIGNS)):
        np.save(tmp_path / f"{name}.npy", values)

    class Mapped(Streamed):
        @property
        def fingerprint(self):
            found = (tmp_path / "A.npy").stat()
            return f"{found.st_size}, {found.st_mtime_ns}"

    def fit():
        b = np.load(tmp_path / "b.npy", mmap_mode="r")
        data = np.load(tmp_path / "A.npy", mmap_mode="r")
        return dualgap.solve(Mapped(data), b, loss="logistic", l2=1e-2)

    result = fit()
    assert result.y.shape == (N,)
    np.save(tmp_path / "b.npy", np.append(SIGNS, 1.0))
    with pytest.raises(ValueError, match="have changed"):
        result.y  # noqa: B018
    np.save(tmp_path / "b.npy", SIGNS)
    result = fit()
    np.save(tmp_path / "A.npy", np.vstack((A, A)))
    with pytest.raises(ValueError, match="have changed"):
        result.y  # noqa: B018


def test_targets_in_a_map_are_not_copied(tmp_path):
    np.save(tmp_path / "b.npy", (SIGNS + 1.0) / 2.0)
    b = np.load(tmp_path / "b.npy", mmap_mode="r")
    problem = dualgap.Problem(Streamed(A), b, loss="logistic", l2=1e-2)
    source = problem.streamed.targets.source
    assert isinstance(source, FileArray) and source.path == tmp_path / "b.npy"
    np.testing.assert_array_equal(problem.b[10:20], SIGNS[10:20])
    with pytest.raises(TypeError, match="a piece at a time"):
        np.asarray(problem.b)


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson", "multinomial"])
def test_a_run_goes_on_from_its_state(loss):
    b, problem = TARGETS[loss], given(loss, "little l2", "intercept")
    whole = dualgap.solve(Streamed(A), b, **problem)
    part = dualgap.solve(Streamed(A), b, max_passes=1.0, **problem)
    rest = dualgap.solve(Streamed(A), b, state=part.state, **problem)
    np.testing.assert_array_equal(whole.x, rest.x)
    with pytest.raises(ValueError, match="another problem"):
        dualgap.solve(Streamed(2.0 * A), b, state=part.state, **problem)


def test_limits_interrupts_and_callbacks_end_a_run():
    problem = {"loss": "logistic", "l2": 1e-5, "fit_intercept": True}
    result = dualgap.solve(Streamed(A), SIGNS, max_passes=2, **problem)
    assert result.status is Status.PASS_LIMIT and result.certificate.certified
    result = dualgap.solve(Streamed(A), SIGNS, max_time=0.0, **problem)
    assert result.status is Status.TIME_LIMIT and result.certificate.certified
    seen = []

    def stop(snapshot):
        seen.append(snapshot)
        return len(seen) == 2

    result = dualgap.solve(Streamed(A), SIGNS, callback=stop, **problem)
    assert result.status is Status.CALLBACK
    assert seen[0].gap > seen[1].gap

    def interrupt(snapshot):
        raise KeyboardInterrupt

    result = dualgap.solve(Streamed(A), SIGNS, callback=interrupt, **problem)
    assert result.status is Status.INTERRUPTED and result.certificate.certified


def test_a_start_is_taken():
    problem = {"loss": "logistic", "l2": 1e-3}
    whole = dualgap.solve(Streamed(A), SIGNS, **problem)
    again = dualgap.solve(Streamed(A), SIGNS, x0=whole.x, **problem)
    assert again.readings <= 3 < whole.readings


@pytest.mark.parametrize("name", ["adf-bpd", "adf-spdc", "sdca", "prox-newton", "agd"])
def test_algorithms_that_hold_rows_say_what_to_use(name):
    with pytest.raises(ValueError, match=r"does not hold its rows; use 'newton'"):
        dualgap.solve(Streamed(A), TARGETS["squared"], l2=0.1, algorithm=name)


def test_what_has_an_entry_for_each_row_is_refused():
    with pytest.raises(ValueError, match="leave it out"):
        dualgap.solve(Streamed(A), SIGNS, loss="logistic", l2=0.1, y0=np.zeros(N))
    with pytest.raises(ValueError, match="precondition='whiten'"):
        dualgap.solve(Streamed(A), SIGNS, loss="logistic", l2=0.1, precondition="whiten")
    with pytest.raises(ValueError, match="leave it out"):
        dualgap.certify(Streamed(A), SIGNS, np.zeros(A.shape[1]), SIGNS, loss="logistic")


@pytest.mark.parametrize(
    ("b", "problem", "said"),
    [
        (np.where(np.arange(N) == 200, np.nan, SIGNS), {}, r"b\[200\] = nan"),
        (TARGETS["multinomial"], {"loss": "logistic"}, "3 distinct values"),
        (np.where(SIGNS > 0, 0.0, 2.0), {"loss": "multinomial"}, "class 1 is not"),
        (SIGNS[1:], {}, "expected"),
        (-np.ones(N), {"loss": "poisson"}, "takes counts"),
        (SIGNS, {"sample_weight": -np.ones(N)}, "must not be negative"),
        (SIGNS, {"sample_weight": np.zeros(N)}, "0 on every row"),
        (SIGNS, {"offset": np.full(N, np.inf)}, "offset is not finite"),
        (SIGNS.astype(str), {}, "dtype"),
    ],
)
def test_what_belongs_to_rows_is_checked(b, problem, said):
    with pytest.raises((ValueError, TypeError), match=said):
        dualgap.Problem(Streamed(A), b, l2=0.1, **problem)


def test_entries_that_are_not_finite_are_named():
    bad = A.copy()
    bad[100, 3] = np.nan
    with pytest.raises(ValueError, match="column 3"):
        dualgap.solve(Streamed(bad), SIGNS, loss="logistic", l2=0.1)


def test_one_class_has_no_minimiser():
    result = dualgap.solve(Streamed(A), np.ones(N), loss="logistic", l2=0.1, fit_intercept=True)
    assert result.status is Status.NO_MINIMISER


@pytest.mark.parametrize("loss", ["logistic", "multinomial"])
@pytest.mark.parametrize("intercept", [False, True])
def test_separated_classes_have_no_minimiser(loss, intercept):
    """As is proved by the exact signs of margins, chunk by chunk."""
    x = np.random.default_rng(3).standard_normal(A.shape[1])
    b = (A @ x > 0.0).astype(float)
    result = dualgap.solve(Streamed(A), b, loss=loss, fit_intercept=intercept)
    assert result.status is Status.NO_MINIMISER


def test_the_data_serve_problems_with_other_strengths_and_targets():
    design = Streamed(A)
    problem = dualgap.Problem(design, SIGNS, loss="logistic", l2=0.1)
    stored = dualgap.Problem(A, SIGNS, loss="logistic", l2=0.1)
    for change in ({"l2": 0.01}, {"l1": 0.02}, {"loss": "squared"}, {"b": -SIGNS}):
        ours, theirs = (p.replace(**change).solve(tol=1e-9) for p in (problem, stored))
        np.testing.assert_allclose(ours.x, theirs.x, atol=1e-4)
