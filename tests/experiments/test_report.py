"""The whole command at the smallest size: what is written, and that it goes on where it stopped."""

import csv
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dualgap
from dualgap.experiments import contenders as who
from dualgap.experiments import report as rep
from dualgap.experiments import runs, store
from dualgap.experiments.plan import Plan
from dualgap.experiments.problems import DataSet, load
from dualgap.experiments.tables import write_tables

TINY = Plan(
    "tiny",
    synthetic1=(100, 30),
    synthetic2=(100, 10),
    cpuact=100,
    rcv1_sub=100,
    batch_passes=(20, 20, 20, 20),
    random_passes=(12, 12, 12, 12),
)


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch):
    monkeypatch.delenv("DUALGAP_DATA", raising=False)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DUALGAP_DATA", raising=False)
        found = rep.collect(TINY, tmp_path_factory.mktemp("report"), seeds=2)
        rep.write(found)
    return found


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_the_page_holds_all_pictures_and_asks_for_nothing_else(report):
    html = report.html.read_text("utf-8")
    assert len(re.findall(r'<img alt="[a-z0-9]+" src="data:image/png;base64,', html)) == 5
    assert not re.search(r"""(src|href)=["'](?!data:)""", html)
    assert "http" not in html
    assert "<script" not in html
    for name in ("figure1", "figure2", "figure3", "figure4", "seconds"):
        assert (report.out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (report.out / f"{name}.svg").read_bytes()[:1000]


@pytest.mark.slow
def test_absent_data_are_named_and_left_out(report):
    assert report.absent == ["cpuact", "rcv1_sub"]
    assert "Left out:</strong> cpuact, rcv1_sub" in report.html.read_text("utf-8")
    assert {p.data.name for p, _ in report.drawn} == {"synthetic1", "synthetic2"}
    assert "left out: cpuact" in str(report)


@pytest.mark.slow
def test_every_claim_has_a_verdict_in_every_setting(report):
    assert [c.letter for c in report.claims] == [x for x in "abcdef" for _ in range(3)]
    assert all(c.verdict != "not run" for c in report.claims)
    counted = rows(report.out / "comparisons.csv")
    assert len(counted) == sum(c.counts[1] for c in report.claims)
    assert sum(r["true"] == "True" for r in counted) == sum(c.counts[0] for c in report.claims)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("figure", "kind", "data", "contender", "seed", "strength"),
    [
        (1, "batch", "synthetic1", who.ADA_BPD, 0, 1e-2),
        (2, "randomised", "synthetic1", who.SVRG, 1, 1.0),
        (3, "randomised", "synthetic2", who.ADF_SPDC_CURVATURE, 1, 1e-4),
        (4, "randomised", "synthetic1", who.ADF_SPDC_CURVATURE, 0, 0.0),
    ],
)
def test_values_in_a_csv_are_those_that_certify_finds(
    report, figure, kind, data, contender, seed, strength
):
    panel = next(
        p
        for p, _ in report.drawn
        if (p.figure, p.data.name, p.strength) == (figure, data, strength) and contender in p.lines
    )
    path = report.out / "curves" / f"figure{figure}_{kind}_{data}_{strength:g}.csv"
    mine = [
        r
        for r in rows(path)
        if (r["algorithm"], r["steps"], r["seed"]) == (contender.label, "default", str(seed))
    ]
    optimum = next(
        r
        for r in rows(report.out / "optima.csv")
        if (r["data"], r["lambda_n"]) == (data, f"{strength:g}")
    )
    A, b = load(panel.data)
    problem = {"loss": panel.data.loss, "l2": strength / len(b)}
    points = []
    dualgap.solve(
        A, b, **problem, algorithm=contender.build("default", 0.0, every_pass=True),
        tol=1e-15, max_passes=panel.limit, callback=lambda s: points.append(s.x.copy()),
        random_state=seed if contender.is_random else None,
    )  # fmt: skip
    assert len(mine) == len(points) > 3
    best, start = float(optimum["optimum"]), float(optimum["P0"])
    for row, x in zip(mine, points, strict=True):
        certificate = dualgap.certify(A, b, x, **problem)
        assert float(row["primal"]) == pytest.approx(certificate.primal, rel=1e-12)
        gap = (certificate.primal - best) / (start - best)
        assert float(row["relative_gap"]) == pytest.approx(gap, rel=1e-9, abs=1e-12)
        # The optimum of the file lies where the certificate of any point says it must.
        assert certificate.dual - 1e-12 * start <= best <= certificate.primal + 1e-12 * start


@pytest.mark.slow
def test_passes_are_counted_by_iterations(report):
    for panel, curves in report.drawn:
        for (contender, _), curve in curves.items():
            step = 3 if contender in (who.SVRG, who.KATYUSHA) else 1
            np.testing.assert_array_equal(curve.passes, step * np.arange(len(curve.passes)))
            assert curve.passes[-1] <= panel.limit


def curve_files(out: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted((out / "curves").glob("*.csv"))}


@pytest.mark.slow
def test_a_killed_run_goes_on_and_gives_the_same_files(report, tmp_path, monkeypatch):
    done = []

    def dies(task, folder):
        if len(done) == 40:
            raise KeyboardInterrupt
        done.append(task.key)
        return original(task, folder)

    original = runs.work
    monkeypatch.setattr(runs, "work", dies)
    with pytest.raises(KeyboardInterrupt):
        rep.collect(TINY, tmp_path, seeds=2)
    kept = {p.name for p in (tmp_path / "runs").iterdir()}
    assert kept == {f"{key}.json" for key in done}
    # A file cut short by a dying disk counts for nothing.
    (tmp_path / "runs" / f"{done[-1]}.json").write_text('{"passes": [0.0')

    again = []
    monkeypatch.setattr(runs, "work", lambda t, f: (again.append(t.key), original(t, f))[1])
    continued = rep.collect(TINY, tmp_path, seeds=2)
    assert set(again).isdisjoint(done[:-1])
    assert done[-1] in again
    write_tables(continued)
    assert curve_files(tmp_path) == curve_files(report.out)
    for name in ("passes.csv", "comparisons.csv", "optima.csv"):
        assert (tmp_path / name).read_bytes() == (report.out / name).read_bytes()


@pytest.mark.slow
def test_workers_change_nothing(report, tmp_path):
    panel = next(p for p, _ in report.drawn if p.figure == 3)
    tasks = [
        runs.RunTask(panel.data, 1.0, c, "default", seed, 5, 0.0,
                     report.references[panel.data, 1.0])
        for c in (who.SAGA, who.ADF_SPDC_CURVATURE)
        for seed in range(2)
    ]  # fmt: skip
    found = []
    for workers in (1, 2):
        folder = tmp_path / str(workers)
        assert len(list(runs.finish(tasks, folder, workers))) == len(tasks)
        pieces = [store.fetch(folder, t.key) for t in tasks]
        found.append([{k: v for k, v in p.items() if k != "seconds"} for p in pieces])
    assert found[0] == found[1]


@pytest.mark.slow
def test_a_key_depends_on_what_is_run_and_not_on_where_the_file_lies(report):
    panel = next(p for p, _ in report.drawn if p.figure == 2)
    task = runs.RunTask(panel.data, 1.0, who.SAGA, "default", 0, 5, 0.0,
                        report.references[panel.data, 1.0])  # fmt: skip
    others = [
        replace(task, seed=1),
        replace(task, limit=6),
        replace(task, strength=0.0),
        replace(task, contender=who.SVRG),
        replace(task, steps="theorem"),
        replace(task, timed=True),
        replace(task, data=replace(panel.data, checksum="1")),
    ]
    assert len({t.key for t in (task, *others)}) == 1 + len(others)
    moved = replace(task, data=replace(panel.data, path="elsewhere"))
    assert moved.key == task.key


def test_bad_arguments_are_refused_before_any_work(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ValueError, match=r"out=.*is a file; name a folder"):
        rep.run(file)
    with pytest.raises(ValueError, match="seeds"):
        rep.run(tmp_path / "new", seeds=0)
    with pytest.raises(ValueError, match=r"data_folder=.*is not a folder"):
        rep.run(tmp_path / "new", data_folder=tmp_path / "nothing")
    assert not (tmp_path / "new").exists()


def test_real_files_are_drawn_from_and_scaled(tmp_path):
    import lzma

    rng = np.random.default_rng(0)
    lines = [f"{i % 2} 1:{rng.uniform(1, 1e6):.6g} 2:{rng.uniform(0, 1e-3):.6g}" for i in range(50)]
    path = tmp_path / "cpuact.svm.xz"
    with lzma.open(path, "wt") as file:
        file.write("\n".join(lines))
    A, b = load(DataSet("cpuact", 20, checksum="x", path=str(path)))
    assert A.shape == (20, 2)
    assert b.shape == (20,)
    # Columns fill [-1, 1], then the longest row has length 1.
    unscaled = A / np.abs(A).max()
    np.testing.assert_allclose(unscaled.min(axis=0), -1)
    np.testing.assert_allclose(unscaled.max(axis=0), 1)
    assert np.sqrt((A * A).sum(axis=1)).max() == pytest.approx(1)
