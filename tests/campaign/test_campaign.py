"""The campaign itself: numbered problems, a file to go on from, failures made small."""

import argparse
import decimal
import json
import runpy
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from tests.certificate.cases import Case
from tests.certificate.checker import STEEP

from . import __main__ as command
from . import calls, runs, workers
from .bounded import BoundedCase
from .calls import Call, Failure
from .decimals import Objective
from .draws import ALL_LOSSES
from .examine import attacked
from .problems import FAMILIES, generate, position
from .records import Records, origin, summary
from .replay import replayed
from .rigor_kinds import POINTS
from .script import write_script
from .shrink import shrink
from .tightness import penalty_of


def content(case: Case) -> list[Any]:
    """All of a case, as text and bytes."""
    A = case.A.toarray() if sp.issparse(case.A) else np.asarray(case.A)
    rest = [getattr(case, f.name) for f in fields(case) if f.name != "A"]
    return [A.dtype.str, A.tobytes(), type(case.A).__name__] + [
        v.tobytes() if isinstance(v, np.ndarray) else repr(v) for v in rest
    ]


# ---- problems ----


@pytest.mark.parametrize("family", FAMILIES)
def test_a_number_is_a_problem(family: str) -> None:
    """The same number gives the same problem, another number or seed another one."""
    first = content(generate(family, 3, 17).case)
    assert content(generate(family, 3, 17).case) == first
    assert content(generate(family, 3, 18).case) != first
    assert content(generate(family, 4, 17).case) != first


def test_every_kind_and_loss_occurs() -> None:
    for family, kinds in FAMILIES.items():
        some = [generate(family, 0, index) for index in range(300)]
        assert {one.kind for one in some} == set(kinds)
        steep = STEEP if family == "rigor" else ()
        assert {one.case.loss for one in some} == {*ALL_LOSSES, *steep}
        assert {(bool(one.case.l1), bool(one.case.l2)) for one in some} == {
            (a, b) for a in (False, True) for b in (False, True)
        }
        assert all(np.isfinite(np.asarray(one.case.b)).all() for one in some)


def test_proofs_meet_every_loss_with_every_regulariser() -> None:
    """All sorts of penalties for all losses, bounds, float32, weights over ten decades."""
    some = [generate("rigor", 0, index).case for index in range(1500)]
    losses = {case.loss for case in some}
    seen = {(case.loss, penalty_of(case)) for case in some}
    names = {name for _, name in seen}
    assert len(losses) == 9 and len(names) >= 12
    common = ("l2", "l1", "elastic net + intercept", "none", "non-negative", "box")
    assert {(loss, name) for loss in losses for name in common} <= seen
    assert max(case.shape[0] for case in some) == 25 and max(case.shape[1] for case in some) == 8
    assert any(case.A.dtype == np.float32 for case in some)
    weights = [case.sample_weight for case in some if case.sample_weight is not None]
    positive = np.concatenate([w[w > 0] for w in weights])
    assert positive.max() / positive.min() > 1e10


def test_attacks_bring_their_points() -> None:
    """Products that cancel, twins at 2^60 and x* rounded are certified, and judged."""
    found = {}
    for index in range(300):
        generated = generate("rigor", 0, index)
        if generated.kind in POINTS and generated.kind not in found:
            found[generated.kind] = attacked(generated)
    assert set(found) == set(POINTS)
    assert all(claim.has_point and not claim.faults for some in found.values() for claim in some)


def test_the_families_take_turns() -> None:
    assert [position("all", at) for at in range(4)] == [
        ("old", 0), ("new", 0), ("rigor", 0), ("old", 1)
    ]  # fmt: skip
    assert position("new", 5) == ("new", 5)


# ---- the file ----


def options(path: Path | None, problems: int) -> argparse.Namespace:
    return argparse.Namespace(
        problems=problems, seed=5, family="old", out=path, jobs=1, shrink=0
    )  # fmt: skip


def test_a_campaign_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Also after a line that was cut short, which is examined again."""
    asked = []
    examined = workers.examined

    def counted(problem: tuple[str, int, int]) -> dict:
        asked.append(problem[2])
        return examined(problem)

    monkeypatch.setattr(workers, "examined", counted)
    monkeypatch.setattr(workers, "warm_up", lambda: None)
    path = tmp_path / "out.jsonl"
    command.campaign(options(path, 2))
    whole = path.read_text()
    path.write_text(whole[:-20])
    command.campaign(options(path, 3))
    assert asked == [0, 1, 1, 2]
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert rows[0] == {"seed": 5, **origin()}
    assert [row["index"] for row in rows[1:]] == [0, 1, 2]
    assert "old kinds" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="belongs to seed 5, not to 6"):
        Records(path, 6)


def row(index: int, status: str, minimiser: str, *whats: str) -> dict[str, Any]:
    run = {"algorithm": "auto", "status": status, "slow": False}
    convictions = [{"what": what, "label": "auto", "details": ""} for what in whats]
    return {
        "family": "old", "index": index, "kind": "plain", "loss": "squared", "runs": [run],
        "minimiser": minimiser, "settled": True, "seconds": 0.1, "convictions": convictions,
    }  # fmt: skip


def test_the_share_counts_what_is_proved() -> None:
    """A NO_MINIMISER counts if it was proved; what was refused was no run."""
    rows = [
        row(0, "CONVERGED", ""),
        row(1, "NO_MINIMISER", "none"),
        row(2, "NO_MINIMISER", "exists or unknown"),
        row(3, "PASS_LIMIT", "", "false gap, gross", "false dual", "last row"),
        row(4, "REFUSED", ""),
    ]
    shown = summary(rows)
    assert "auto: 2 of 4 runs CONVERGED or a proved NO_MINIMISER (50.00 %)" in shown
    assert "false certificates: 1" in shown, "both things were said by one certificate"
    assert "last row: 1 calls on 1 problems (plain 1); indices 3" in shown


# ---- failures made small ----


@pytest.fixture
def belittled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that shows a thousandth of every gap."""
    right = dualgap.certify

    def wrong(*args: Any, **given: Any) -> Any:
        certificate = right(*args, **given)
        return replace(certificate, gap=1e-3 * certificate.gap)

    monkeypatch.setattr(runs.dualgap, "certify", wrong)


def planted() -> Failure:
    rng = np.random.default_rng(8)
    A = rng.standard_normal((12, 4))
    case = Case(
        sp.csr_array(A), A[:, 0] + rng.standard_normal(12), "huber", 0.7, l2=0.01,
        sample_weight=rng.uniform(1, 2, 12), offset=rng.standard_normal(12), fit_intercept=True,
    )  # fmt: skip
    return Failure(case, Call(x=rng.standard_normal(4), c=0.3), "false gap, gross")


def output_of(script: str, folder: Path, capsys: pytest.CaptureFixture) -> str:
    """What a script prints, whatever it does to the digits of decimals."""
    path = folder / "script.py"
    path.write_text(script)
    with decimal.localcontext():
        runpy.run_path(str(path))
    return capsys.readouterr().out


def test_a_failure_is_shrunk_and_written_down(
    belittled: None, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """A thousandth of a gap is false on one row and one column, without options."""
    failure = planted()
    assert failure.repeated()[1] is not None
    small = shrink(failure)
    assert small.case.shape == (1, 1)
    assert small.case.sample_weight is None and small.case.offset is None
    assert not sp.issparse(small.case.A)
    assert "P(x) - P* is at least" in output_of(write_script(small), tmp_path, capsys)


@pytest.mark.parametrize("loss", ["squared", *STEEP])
def test_bounds_are_shrunk_and_written_down(
    loss: str, belittled: None, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """A thousandth of a gap is false within a box, too, and of a Poisson or Gamma loss."""
    rng = np.random.default_rng(8)
    case = BoundedCase(
        rng.standard_normal((6, 3)), rng.uniform(1, 3, 6).round(), loss, l2=0.01,
        lower=np.array([-np.inf, 0.0, -1.0]), upper=np.array([np.inf, 2.0, np.inf]),
    )  # fmt: skip
    failure = Failure(case, Call(x=np.array([0.5, 0.25, -0.5])), "false gap, gross")
    assert failure.repeated()[1] is not None
    small = shrink(failure, tries=40)
    assert small.case.shape[1] < 3
    assert "P(x) - P* is at least" in output_of(write_script(small), tmp_path, capsys)


def test_what_does_not_fail_is_not_shrunk() -> None:
    assert planted().repeated()[1] is None


def test_a_run_is_repeated_with_its_options() -> None:
    claim = runs.solve(planted().case, "bpd", 1e-3, max_passes=7)
    assert Call.of(claim) == Call("bpd", 1e-3, 7)
    again = Call.of(claim).repeat(planted().case)
    assert (again.x == claim.x).all() and again.passes == claim.passes


@pytest.mark.parametrize("loss", ALL_LOSSES)
def test_the_script_computes_the_same_difference(
    loss: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    """What the script prints is what the judge found, for every loss."""
    case = next(
        one.case for one in (generate("old", 2, i) for i in range(200))
        if one.case.loss == loss and one.case.l2 and one.case.fit_intercept
    )  # fmt: skip
    x = np.full(Objective(replace(case, fit_intercept=False)).shape, 0.01)
    c = np.zeros(x.shape[1:]) if x.ndim > 1 else 0.0
    monkeypatch.setattr(
        calls, "certify",
        lambda *args: replace(runs.certify(*args), gap=0.0, certified=True, kind="gap"),
    )  # fmt: skip
    for what in ("false gap, gross", "false gap, fine"):
        failure = Failure(case, Call(x=x, c=c), what)
        found = failure.repeated()[1]
        if found is not None:
            break
    assert found is not None
    printed = output_of(write_script(failure), tmp_path, capsys)
    shown = float(printed.split("P(x) - P* is at least ")[1].split(";")[0])
    claimed = float(found.details.split("P(x) - P* >= ")[1].split(" ")[0])
    assert shown == pytest.approx(claimed, rel=1e-5)


# ---- problems from files ----


@pytest.mark.parametrize("index", [5, 20, 61])
def test_a_dumped_problem_is_the_same_problem(index: int, tmp_path: Path) -> None:
    """What `Problem.dump` wrote is judged as the generated problem is."""
    case = generate("old", 0, index).case
    path = tmp_path / "problem.npz"
    dualgap.Problem(case.A, case.b, **case.arguments).dump(path)
    back = replayed(path).case
    x = np.full(runs.solve(case, max_passes=1).x.shape, 0.25)
    first, second = (runs.certify(one, "", x, 0.0, None) for one in (case, back))
    assert (first.gap, first.primal, first.kind) == (second.gap, second.primal, second.kind)
    assert back.fit_intercept == case.fit_intercept
