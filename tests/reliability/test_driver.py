"""How a solve ends, what a callback sees, what trace, result and live line say."""

from __future__ import annotations

import io
import pickle
import re
import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import dualgap
from dualgap import Status
from dualgap.adaptation import Rule
from dualgap.driver.progress import Line
from dualgap.trace import COLUMNS

from .problems import ADAPTIVE, ALGORITHMS, LOSSES, labels, regression, targets

A, B = regression()
SIGNS = labels(B)
RIDGE = dualgap.Problem(A, B, l2=0.1)

every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)


# ---- how it ends ----


@every_algorithm
def test_converged(algorithm):
    result = RIDGE.solve(algorithm=algorithm, tol=1e-7)
    assert result.status is Status.CONVERGED
    assert result.certificate.certified
    assert result.certificate.relative_gap <= 1e-7
    assert len(result.trace) > 5  # and not at once


def test_stationary_but_not_certified(monkeypatch):
    """A problem that is too large for any certificate: as if side 1 were."""
    problem = dualgap.Problem(A, SIGNS, loss="logistic")
    certified = problem.solve()
    assert certified.status is Status.CONVERGED
    monkeypatch.setattr("dualgap.dual_points.feasible.GRAM_LIMIT", 1)
    for limit in ("GRAM_LIMIT", "DENSE_LIMIT"):
        monkeypatch.setattr(f"dualgap.spans.span.{limit}", 1)
    result = dualgap.Problem(A, SIGNS, loss="logistic").solve()
    assert result.status is Status.STATIONARY
    assert not result.certificate.certified and result.certificate.reason
    assert result.certificate.kind == "gap_in_box"
    assert result.certificate.dual == -np.inf
    assert result.certificate.box.shape == (A.shape[1],) and (result.certificate.box > 0.0).all()
    assert result.certificate.primal == pytest.approx(certified.certificate.primal, rel=1e-5)


@every_algorithm
def test_pass_limit(algorithm):
    result = RIDGE.solve(algorithm=algorithm, max_passes=4)
    assert result.status is Status.PASS_LIMIT
    assert result.state.t == 4
    assert 1e-6 < result.certificate.relative_gap < np.inf


def test_pass_limit_counts_the_passes_of_this_call():
    first = RIDGE.solve(max_passes=3, tol=1e-12, algorithm="ada-bpd")
    second = RIDGE.solve(max_passes=3, tol=1e-12, state=first.state, algorithm=first.algorithm)
    assert second.state.t == 6


@every_algorithm
def test_time_limit(algorithm):
    result = RIDGE.solve(algorithm=algorithm, max_time=0)
    assert result.status is Status.TIME_LIMIT
    assert result.state.t == 0
    assert result.certificate.certified


@every_algorithm
def test_stopped_by_the_callback(algorithm):
    result = RIDGE.solve(algorithm=algorithm, callback=lambda seen: seen.passes >= 3)
    assert result.status is Status.CALLBACK
    assert result.state.t == 3


@pytest.mark.parametrize("answer", [None, False, 1, "stop", np.False_, [True]], ids=repr)
def test_only_true_stops(answer):
    assert RIDGE.solve(callback=lambda _: answer).status is Status.CONVERGED


def test_the_true_of_a_comparison_of_arrays_stops_too():
    assert RIDGE.solve(callback=lambda _: np.True_).status is Status.CALLBACK


@pytest.mark.parametrize("when", [1, 2, 6])
@every_algorithm
def test_interrupted(algorithm, when):
    points = []

    def interrupt(seen):
        points.append((seen.primal, seen.x.copy()))
        if len(points) == when:
            raise KeyboardInterrupt

    try:
        result = RIDGE.solve(algorithm=algorithm, callback=interrupt)
    except KeyboardInterrupt:  # which would end pytest
        pytest.fail("the interrupt went through solve")
    assert result.status is Status.INTERRUPTED
    best = min(points, key=lambda point: point[0])
    assert np.array_equal(result.x, best[1])
    assert result.certificate.primal == pytest.approx(best[0])
    resumed = RIDGE.solve(algorithm=algorithm, state=result.state)
    assert resumed.status is Status.CONVERGED


def test_other_errors_of_the_callback_are_the_callers():
    class Mine(Exception):
        pass

    def fail(_):
        raise Mine("my own")

    with pytest.raises(Mine, match="my own"):
        RIDGE.solve(callback=fail)


@every_algorithm
def test_stalled_at_rounding(algorithm):
    result = RIDGE.solve(algorithm=algorithm, tol=1e-30)
    assert result.status is Status.ROUNDING
    assert 1e-30 < result.certificate.relative_gap < 1e-11


@pytest.mark.parametrize("algorithm", [*ADAPTIVE, "opt-bpd", "agd"])
@pytest.mark.parametrize("arguments", [{}, {"loss": "logistic"}], ids=str)
def test_stalled_at_rounding_without_a_regulariser(algorithm, arguments):
    b = targets(arguments.get("loss", "squared"), B)
    result = dualgap.solve(A, b, algorithm=algorithm, tol=1e-30, **arguments)
    assert result.status is Status.ROUNDING
    assert result.certificate.relative_gap < 1e-11


@every_algorithm
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_no_minimiser(algorithm, fit_intercept):
    data, b = regression(10, 30)
    arguments = {"loss": "logistic", "fit_intercept": fit_intercept, "algorithm": algorithm}
    result = dualgap.solve(data, labels(b), **arguments)
    assert result.status is Status.NO_MINIMISER
    margins = labels(b) * (data @ result.x + result.intercept)
    assert (margins > 0).all()  # the proof


def test_no_minimiser_where_the_intercept_alone_separates():
    ones = np.ones(len(B))
    result = dualgap.solve(A, ones, loss="logistic", l2=0.1, fit_intercept=True)
    assert result.status is Status.NO_MINIMISER
    assert dualgap.solve(A, ones, loss="logistic", l2=0.1).status is Status.CONVERGED


def test_every_status_is_a_sentence():
    for status in Status:
        sentence = str(status)
        assert re.fullmatch(r"[A-Z][^\n]{10,150}\.", sentence), sentence
        assert status.converged == (status is Status.CONVERGED)


# ---- what a callback sees ----


def test_the_callback_sees_read_only_arrays_that_stay():
    seen = []
    RIDGE.solve(callback=lambda snapshot: seen.append((snapshot, snapshot.x.copy())))
    for snapshot, x in seen:
        assert np.array_equal(snapshot.x, x)
        for array in (snapshot.x, snapshot.y):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1.0


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_callback_sees_the_rows_of_the_trace(loss, fit_intercept):
    seen = []
    problem = dualgap.Problem(A, targets(loss, B), loss=loss, l2=0.1, fit_intercept=fit_intercept)
    result = problem.solve(callback=lambda snapshot: seen.append(snapshot))
    for name in ("passes", "seconds", "primal", "strong_convexity"):
        assert [getattr(s, name) for s in seen] == getattr(result.trace, name)[:-1].tolist(), name
    for name in ("dual", "gap"):
        assert [getattr(s, name) for s in seen] == getattr(result.trace, name)[:-1].tolist()
    last = seen[-1]
    assert result.trace.gap[-1] == result.certificate.gap  # the last row is the certificate
    assert last.gap >= result.trace.gap[-1] * (1 - 1e-6) - 1e-13
    assert (last.x.shape, last.y.shape) == ((5,), (40,))
    assert problem.certify(last.x, intercept=last.intercept).primal == pytest.approx(last.primal)


def test_looking_on_changes_nothing():
    watched = RIDGE.solve(callback=lambda _: None, verbose=False)
    alone = RIDGE.solve()
    assert watched.x.tobytes() == alone.x.tobytes()


# ---- the trace ----

PROBLEMS = {
    "ridge": {"l2": 0.1},
    "lasso with intercept": {"l1": 0.1, "fit_intercept": True},
    "least squares": {},
    "logistic, none": {"loss": "logistic"},
    "logistic with intercept": {"loss": "logistic", "l2": 0.1, "fit_intercept": True},
    "huber": {"loss": "huber", "l1": 0.01},
}


@every_algorithm
@pytest.mark.parametrize("arguments", PROBLEMS.values(), ids=list(PROBLEMS))
def test_trace(algorithm, arguments):
    b = targets(arguments.get("loss", "squared"), B)
    result = dualgap.solve(A, b, algorithm=algorithm, **arguments)
    trace = result.trace
    columns = trace.to_dict()
    assert tuple(columns) == COLUMNS
    assert len(trace) == result.state.t + 2  # the start, a row per iteration, the certificate
    for name, column in columns.items():
        assert column.shape == (len(trace),)
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 0.0
        assert column is getattr(trace, name)
    assert (np.diff(trace.passes[:-1]) >= 1).all() and trace.passes[-1] == result.passes
    assert (np.diff(trace.seconds) > 0).all()
    assert (trace.dual[1:-1] >= trace.dual[:-2]).all()
    assert np.array_equal(trace.gap[:-1], (trace.primal - trace.dual)[:-1])
    assert (trace.gap > 0).all()
    last = result.certificate
    assert (trace.primal[-1], trace.dual[-1], trace.gap[-1]) == (last.primal, last.dual, last.gap)
    assert (trace.primal >= trace.dual[-1] - 1e-12 * abs(trace.dual[-1])).all()
    assert trace.tol_gap == pytest.approx(1e-6 * result.certificate.primal)
    assert (trace.tau > 0).all()


def test_trace_to_pandas():
    trace = RIDGE.solve().trace
    frame = pd.DataFrame(trace.to_dict())
    assert list(frame) == list(COLUMNS)
    assert len(frame) == len(trace)
    assert frame["gap"].iloc[-1] == trace.gap[-1]


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ({"l2": 0.1}, {}),
        ({"l2": 0.1}, {"algorithm": "bpd"}),  # strong convexity 0: nothing to draw on a log axis
        ({"l2": 0.1}, {"max_passes": 0}),
        ({"loss": "logistic"}, {"max_passes": 3}),  # no gap yet
    ],
    ids=str,
)
def test_trace_plot(arguments, options):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    b = targets(arguments.get("loss", "squared"), B)
    trace = dualgap.solve(A, b, **arguments, **options).trace
    upper, lower = trace.plot()
    try:
        upper.figure.canvas.draw()
        assert upper.get_ylabel() and lower.get_ylabel()
        assert lower.get_xlabel() == "passes over the data"
        legend = [text.get_text() for text in upper.get_legend().get_texts()]
        assert {"certified gap", "tol"} <= set(legend)
        drawn = upper.lines[0].get_ydata()
        assert np.array_equal(drawn, trace.gap[np.isfinite(trace.gap) & (trace.gap > 0)])
        again = trace.plot(axes=(upper, lower))
        assert again[0] is upper and again[1] is lower
    finally:
        plt.close("all")


def test_trace_plot_without_matplotlib(monkeypatch):
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"matplotlib.*dualgap\[plot\]"):
        RIDGE.solve().trace.plot()


# ---- what is printed ----


def test_reprs_fit_a_screen():
    result = RIDGE.solve()
    shown = [RIDGE, result, result.trace, result.certificate, str(result.certificate)]
    for text in map(repr, shown):
        assert text.count("\n") < 10
        assert "array(" not in text and "object at 0x" not in text
    assert repr(RIDGE) == "Problem(40 x 5, loss='squared', l2=0.1)"
    assert str(Status.CONVERGED) in repr(result)
    assert str(result.certificate) in repr(result)
    assert all(note in repr(result) for note in result.notes)
    assert f"{len(result.trace)} rows" in repr(result.trace)
    assert f"{result.certificate.gap:.3g}" in str(result.certificate)


def test_the_passes_in_the_repr_add_up():
    """Set-up is a part of what it is said to be a part of."""
    result = dualgap.solve(*regression(200, 60), l2=10.0, algorithm="ada-bpd")
    assert result.setup.passes > result.passes  # set-up apart
    assert f"{result.setup.passes:g}" in repr(result)
    claim = re.search(r"([\d.]+) passes, .*of which set-up ([\d.]+) passes", repr(result))
    assert claim is None or float(claim[1]) >= float(claim[2])


def test_results_can_be_compared():
    """Whatever the answer is, it is an answer, and no complaint about the truth of arrays."""
    first, second = RIDGE.solve(), RIDGE.solve()
    assert (first == second) in (True, False)
    assert (first.state == second.state) in (True, False)


@every_algorithm
def test_problem_and_state_can_be_saved(algorithm):
    state = RIDGE.solve(algorithm=algorithm, max_passes=5).state
    problem, saved = pickle.loads(pickle.dumps((RIDGE, state)))
    here = RIDGE.solve(algorithm=algorithm, state=state)
    there = problem.solve(algorithm=algorithm, state=saved)
    assert here.status is Status.CONVERGED
    assert here.x.tobytes() == there.x.tobytes()


def test_certificates_say_how_they_were_found():
    kinds = {
        "gap": dualgap.solve(A, B, l2=0.1),
        "gap_scaled_dual": dualgap.solve(A, B, l1=0.1),
        "gap_projected_dual": dualgap.solve(A, B, algorithm="ada-bpd"),
        "gap_in_box": dualgap.solve(A, SIGNS, loss="logistic", max_passes=0),
        "none": dualgap.solve(A, np.arange(len(B)) % 3, loss="multinomial", max_passes=0),
    }
    sentences = {str(result.certificate) for result in kinds.values()}
    assert [result.certificate.kind for result in kinds.values()] == list(kinds)
    assert len(sentences) == len(kinds)


@every_algorithm
@pytest.mark.parametrize("arguments", PROBLEMS.values(), ids=list(PROBLEMS))
def test_result_adds_up(algorithm, arguments):
    b = targets(arguments.get("loss", "squared"), B)
    problem = dualgap.Problem(A, b, **arguments)
    result = problem.solve(algorithm=algorithm)
    assert result.algorithm == algorithm
    assert result.setup.passes > 0  # constants of the data
    assert result.passes >= result.trace.passes[-1]
    assert result.passes >= result.state.t
    assert 0 < result.setup.seconds <= result.trace.seconds[0]
    assert result.trace.seconds[-1] <= result.seconds
    assert (result.x.shape, result.y.shape) == ((5,), (40,))
    assert problem.certify(result.x, result.y, intercept=result.intercept) == result.certificate
    assert problem.solve(algorithm=algorithm, max_passes=1).setup.passes <= result.setup.passes


@pytest.mark.parametrize("algorithm", ["bpd", "df-bpd", "agd"])
def test_note_where_no_theorem_gives_a_linear_rate(algorithm):
    assert RIDGE.solve(algorithm=algorithm).notes == []
    for strengths in ({"l1": 0.1}, {"l2": 0.1, "fit_intercept": True}):
        (note,) = dualgap.solve(A, B, algorithm=algorithm, **strengths).notes
        assert "O(1/t^2)" in note


def test_note_of_opt_bpd_where_the_loss_has_no_delta():
    assert RIDGE.solve(algorithm="opt-bpd").notes == []
    (note,) = dualgap.solve(A, SIGNS, loss="logistic", l2=0.01, algorithm="opt-bpd").notes
    assert "'logistic' has delta = 0" in note and "reference optimum" in note


def test_note_of_auto():
    assert RIDGE.solve().notes[0].startswith("auto chose newton: ")
    assert dualgap.solve(A, B, l1=0.1).notes[0].startswith("auto chose working-set: ")
    rows = sp.random_array(
        (1200, 6000), density=0.005, random_state=np.random.default_rng(2), format="csr"
    )
    labels = np.tile([-1.0, 1.0], 600)
    strong = dualgap.solve(rows, labels, loss="logistic", l2=1.0)
    assert strong.notes[0].startswith("auto chose sdca: ") and strong.status.converged


# ---- the live line ----


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def plain_environment(monkeypatch):
    """No variable of the caller's that makes rich take a pipe for a terminal or the reverse."""
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


@pytest.fixture
def without_rich(monkeypatch):
    for name in ("rich", "rich.console", "rich.live"):
        monkeypatch.setitem(sys.modules, name, None)


LINE = r"newton +\d+ passes  P [\d.e+-]+  gap +[\d.e+-]+  .* [\d.]+ s  left .*"


@pytest.mark.usefixtures("plain_environment")
@pytest.mark.parametrize("rich", [True, False])
def test_into_a_pipe_there_is_one_line(capsys, request, rich):
    if not rich:
        request.getfixturevalue("without_rich")
    RIDGE.solve(verbose=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(LINE + r"\n", err)


def test_nothing_is_printed_unless_asked(capsys):
    RIDGE.solve()
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("plain_environment", "without_rich")
def test_plain_terminal(monkeypatch):
    monkeypatch.setattr("dualgap.driver.progress.INTERVAL", 0.0)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "160")
    result = RIDGE.solve(verbose=True)
    shown = terminal.getvalue()
    assert shown.count("\n") == 1 and shown.endswith("\n")
    lines = shown.strip("\r\n").split("\r")
    assert len(lines) == len(result.trace) + 1  # each check, and the last one left standing
    assert all(re.match(LINE, line) for line in lines)


@pytest.mark.usefixtures("plain_environment", "without_rich")
def test_the_line_fits_a_terminal(monkeypatch):
    """One that is wider wraps, and is then not written over but repeated."""
    monkeypatch.setattr("dualgap.driver.progress.INTERVAL", 0.0)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "80")
    RIDGE.solve(verbose=True)
    widest = max(terminal.getvalue().strip("\r\n").split("\r"), key=len)
    assert len(widest) <= 80
    assert re.match(r"newton +\d+ passes .*gap .*left", widest)


@pytest.mark.usefixtures("plain_environment")
def test_rich_terminal(monkeypatch):
    pytest.importorskip("rich")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "160")
    RIDGE.solve(verbose=True)
    assert sys.stderr is terminal  # rich has given it back
    assert "\x1b[" in terminal.getvalue()  # it drew
    shown = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", terminal.getvalue())
    assert re.search(LINE, shown)


@pytest.mark.usefixtures("plain_environment", "without_rich")
def test_the_line_is_left_standing_after_an_error(capsys):
    def fail(_):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        RIDGE.solve(verbose=True, callback=fail)
    assert re.fullmatch(LINE + r"\n", capsys.readouterr().err)


@pytest.mark.usefixtures("plain_environment", "without_rich")
def test_time_left(capsys):
    """A decade a second, and five decades to go."""
    line = Line("test")
    for second in range(6):
        line.update(second, 1.0, 10.0**-second, 0.1, float(second), 1e-10)
    line.close()
    assert capsys.readouterr().err.endswith("left ~5.0 s\n")


@pytest.mark.usefixtures("plain_environment", "without_rich")
@pytest.mark.parametrize(
    ("gaps", "left"),
    [
        ([1.0, 0.1], "left ?"),  # too early to say
        ([1.0] * 8, "left ?"),  # no progress
        ([np.inf] * 8, "left ?"),  # no gap yet
        ([0.1**k for k in range(12)], "left 0 s"),
    ],
)
def test_time_left_where_there_is_nothing_to_say(capsys, gaps, left):
    line = Line("test")
    for second, gap in enumerate(gaps):
        line.update(second, 1.0, gap, 0.1, float(second), 1e-10)
    line.close()
    assert capsys.readouterr().err.endswith(left + "\n")


# ---- the monitor ----


@dataclass(frozen=True)
class Liar(Rule):
    """Says the same absurd thing every time."""

    period: int = 4
    start: float | None = None
    lie: float = 1e300
    theta_one: bool = False
    name: ClassVar[str] = "liar"

    def begin(self, problem: dualgap.Problem, s: Any) -> None:
        return None

    def update(self, problem: dualgap.Problem, s: Any) -> tuple[float, None]:
        return self.lie, None


@pytest.mark.parametrize("algorithm", ADAPTIVE)
@pytest.mark.parametrize("theta_one", [False, True])
@pytest.mark.parametrize(
    "arguments", [a for a in PROBLEMS.values() if "l2" not in a], ids=lambda a: str(a)
)
def test_a_rule_that_lies_is_rolled_back(algorithm, theta_one, arguments):
    """No l2 softens the lie: the steps that it gives throw x far away."""
    b = targets(arguments.get("loss", "squared"), B)
    liar = Liar(lie=1e-10, theta_one=theta_one)
    result = dualgap.solve(A, b, algorithm=algorithm, adapt=liar, **arguments)
    assert result.status is Status.CONVERGED
    assert result.trace.rollbacks > 0
    assert f"rolled back {result.trace.rollbacks} times" in repr(result)


@pytest.mark.parametrize("algorithm", ADAPTIVE)
@pytest.mark.parametrize("lie", [1e6, 1e12, 1e300, np.inf, np.nan, 0.0, 1e-300])
@pytest.mark.parametrize("arguments", PROBLEMS.values(), ids=list(PROBLEMS))
def test_no_lie_keeps_a_run_from_its_end(algorithm, lie, arguments):
    b = targets(arguments.get("loss", "squared"), B)
    result = dualgap.solve(A, b, algorithm=algorithm, adapt=Liar(lie=lie), **arguments)
    assert result.status is Status.CONVERGED


@pytest.mark.parametrize("algorithm", ADAPTIVE)
@pytest.mark.parametrize("arguments", PROBLEMS.values(), ids=list(PROBLEMS))
def test_an_ordinary_run_is_not_rolled_back(algorithm, arguments):
    b = targets(arguments.get("loss", "squared"), B)
    result = dualgap.solve(A, b, algorithm=algorithm, tol=1e-9, **arguments)
    assert result.status is Status.CONVERGED
    assert result.trace.rollbacks == 0
