"""The report: run what is missing, judge the claims, draw, write."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib

from dualgap import _validation as check
from dualgap.experiments import contenders as who
from dualgap.experiments import store
from dualgap.experiments.claims import LEVEL, SETTINGS, Claim, judge_all
from dualgap.experiments.contenders import DEFAULT, Contender
from dualgap.experiments.curves import Curve, curve
from dualgap.experiments.figures import figure, pyplot, speed_figure
from dualgap.experiments.page import page
from dualgap.experiments.plan import FULL, QUICK, Panel, Plan, panels
from dualgap.experiments.problems import DataSet
from dualgap.experiments.reference import Reference
from dualgap.experiments.runs import ConstantsTask, ReferenceTask, RunTask, Task, finish, work
from dualgap.experiments.tables import write_tables

SHORT = 2.0
"""Runs shorter than this many seconds are timed three times."""


@dataclass(frozen=True)
class Report:
    """What was found, and where it is written.

    Attributes
    ----------
    out : Path
        The folder: ``report.html``, ``figure*.png`` and ``.svg``, ``curves/*.csv``, tables.
    plan : Plan
        Sizes and limits.
    seeds : int
        Runs of each randomised algorithm.
    absent : list of str
        Data sets that were not at hand; their panels are left out.
    constants : dict
        n, d, density, R, L, mu of each data set.
    references : dict
        The optimum of each (data set, lambda n).
    drawn : list
        Each panel with its curves by (contender, steps).
    runs : dict
        The runs of each (panel, contender, steps), one for each seed.
    claims : list of Claim
        Each claim in each setting.
    timings : dict
        Seconds to 1e-6 of (data name, lambda n) by contender, alone on the machine.
    """

    out: Path
    plan: Plan
    seeds: int
    absent: list[str]
    constants: dict[DataSet, dict[str, Any]]
    references: dict[tuple[DataSet, float], Reference]
    drawn: list[tuple[Panel, dict[tuple[Contender, str], Curve]]]
    runs: dict[tuple[Panel, Contender, str], list[dict[str, Any]]]
    claims: list[Claim]
    timings: dict[tuple[str, float], dict[Contender, float]]

    @property
    def html(self) -> Path:
        """The page."""
        return self.out / "report.html"

    def __str__(self) -> str:
        """The verdicts, one line for each claim."""
        lines = [f"{'claim':5s}  {'as in the paper':24s}{'default steps':24s}curvature rule"]
        for letter in dict.fromkeys(c.letter for c in self.claims):
            cells = []
            for setting in SETTINGS:
                found = next(c for c in self.claims if c.letter == letter and c.setting is setting)
                true, total = found.counts
                cells.append(f"{found.verdict} ({true}/{total})".ljust(24))
            lines.append(f"({letter})    {''.join(cells)}".rstrip())
        lines += [f"left out: {name}, not in the data folder" for name in self.absent]
        return "\n".join([*lines, f"report: {self.html}"])


def run(
    out: Path,
    *,
    quick: bool = False,
    data_folder: Path | None = None,
    seeds: int = 5,
    resume: bool = True,
    progress: bool = True,
) -> Report:
    """Reproduce Figures 1 to 3 of the paper, judge its claims, write a report.

    Parameters
    ----------
    out : Path
        Folder to write to; made if it is not there.
    quick : bool
        Smaller data: about a minute on two cores instead of twenty.
    data_folder : Path, optional
        Where ``cpuact.svm.xz`` and ``rcv1_sub.svm.xz`` lie; by default the folder named by the
        environment variable DUALGAP_DATA. Panels of absent sets are left out.
    seeds : int
        Runs of each randomised algorithm; the figures show their median and spread.
    resume : bool
        Use the finished runs in ``out/runs`` (of this version of the package, with the same
        parameters); otherwise they are deleted first.
    progress : bool
        Show a bar, if rich is installed and standard error is a terminal.

    Returns
    -------
    Report
    """
    plan = QUICK if check.flag("quick", quick) else FULL
    return run_plan(
        plan,
        Path(out),
        data_folder=data_folder,
        seeds=seeds,
        resume=resume,
        progress=progress,
        workers=joblib.cpu_count(),
    )


def run_plan(
    plan: Plan,
    out: Path,
    *,
    data_folder: Path | None,
    seeds: int,
    resume: bool,
    progress: bool,
    workers: int,
) -> Report:
    """`run` at any size."""
    seeds = check.integer("seeds", seeds)
    pyplot()  # if it is missing, say so now
    shown, absent = panels(plan, data_folder)
    folder = out / "runs"
    if out.exists() and not out.is_dir():
        raise ValueError(f"out={str(out)!r} is a file; name a folder to write the report to.")
    if not check.flag("resume", resume):
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)

    with _bar(check.flag("progress", progress)) as advance:
        sets = list(dict.fromkeys(p.data for p in shown))
        pairs = sorted({(p.data, p.strength) for p in shown}, key=lambda q: (q[0].name, q[1]))
        first: list[Task] = [ConstantsTask(data) for data in sets]
        first += [ReferenceTask(*pair) for pair in pairs]
        advance("constants and optima", first, finish(first, folder, workers))
        constants = {d: _stored(folder, ConstantsTask(d)) for d in sets}
        references = {q: Reference(**_stored(folder, ReferenceTask(*q))) for q in pairs}

        tasks = {
            (p, c, steps): [
                RunTask(p.data, p.strength, c, steps, seed, p.limit,
                        constants[p.data]["mu"] if c.algorithm in who.ORACLES else 0.0,
                        references[p.data, p.strength])
                for seed in range(seeds if c.is_random else 1)
            ]
            for p in shown
            for c in (*p.lines, *p.oracles)
            for steps in (c.step_sizes if c in p.lines else (DEFAULT,))
        }  # fmt: skip
        # Workers keep the problem they have: those that share one come one after the other.
        second = sorted(
            (t for group in tasks.values() for t in group), key=lambda t: (t.data.name, t.strength)
        )
        advance("runs", second, finish(second, folder, workers))
        runs = {k: [_stored(folder, t) for t in group] for k, group in tasks.items()}
        curves = {
            (p, c, s): curve(group, references[p.data, p.strength], p.limit)
            for (p, c, s), group in runs.items()
        }
        timed = list(_timed_tasks(shown, tasks, curves, plan))
        advance("timing, one at a time", timed, _alone(timed, folder))

    drawn = [(p, {(c, s): value for (q, c, s), value in curves.items() if q is p}) for p in shown]
    by_name = {
        (p.data.name, p.strength, c, s): value
        for (p, c, s), value in curves.items()
        if p.figure < 4
    }
    report = Report(
        out=out,
        plan=plan,
        seeds=seeds,
        absent=absent,
        constants=constants,
        references=references,
        drawn=drawn,
        runs=runs,
        claims=judge_all(lambda *k: by_name.get(k)),
        timings=_timings(timed, folder, references),
    )
    _write(report)
    return report


def _stored(folder: Path, task: Task) -> dict[str, Any]:
    piece = store.fetch(folder, task.key)
    if piece is None:
        raise RuntimeError(f"A finished run has vanished from {str(folder)!r}; run again.")
    return piece


def _timed_tasks(
    shown: list[Panel],
    tasks: dict[tuple[Panel, Contender, str], list[RunTask]],
    curves: dict[tuple[Panel, Contender, str], Curve],
    plan: Plan,
) -> Iterator[RunTask]:
    """What is worth timing: default steps, and only what gets to 1e-6."""
    for p in shown:
        if p.figure not in (2, 3):
            continue
        some = tasks[p, who.SAGA, DEFAULT][0]
        limit = max(plan.batch_passes)
        for c in (who.AG, who.ADA_BPD_CURVATURE if p.figure == 2 else who.ADF_BPD_CURVATURE):
            yield RunTask(
                p.data, p.strength, c, DEFAULT, 0, limit, 0.0, some.reference, LEVEL, timed=True
            )
        for c in p.lines:
            seconds = curves[p, c, DEFAULT].seconds_to(LEVEL)
            if seconds < float("inf"):
                for seed in range(3 if seconds < SHORT else 1):
                    yield RunTask(
                        p.data, p.strength, c, DEFAULT, seed, p.limit + 4, 0.0, some.reference,
                        LEVEL, timed=True,
                    )  # fmt: skip


def _alone(tasks: Sequence[RunTask], folder: Path) -> Iterator[None]:
    """One after the other in this process, each after a few passes that load its kernels."""
    for task in tasks:
        if store.fetch(folder, task.key) is None:
            task.warm_up()
            work(task, folder)
        yield None


def _timings(
    timed: list[RunTask], folder: Path, references: dict[tuple[DataSet, float], Reference]
) -> dict[tuple[str, float], dict[Contender, float]]:
    out: dict[tuple[str, float], dict[Contender, float]] = {}
    for data, strength in dict.fromkeys((t.data, t.strength) for t in timed):
        row = out.setdefault((data.name, strength), {})
        mine = [t for t in timed if t.data == data and t.strength == strength]
        for c in dict.fromkeys(t.contender for t in mine):
            group = [_stored(folder, t) for t in mine if t.contender == c]
            row[c] = curve(group, references[data, strength], 0.0).seconds_to(LEVEL)
    return out


def _write(report: Report) -> None:
    pictures = {}
    for number in (1, 2, 3, 4):
        shown = [(p, c) for p, c in report.drawn if p.figure == number]
        pictures[f"figure{number}"] = figure(shown)
    ratios: dict[str, dict[tuple[str, float], float]] = {}
    for where, row in report.timings.items():
        best = min(row.values())
        if best < float("inf"):
            for c, seconds in row.items():
                ratios.setdefault(c.label, {})[where] = seconds / best
    pictures["seconds"] = speed_figure(ratios)
    for name, forms in pictures.items():
        for form, content in forms.items():
            store.write_bytes(report.out / f"{name}.{form}", content)
    write_tables(report)
    store.write_text(report.html, page(report, {k: v["png"] for k, v in pictures.items()}))


@contextmanager
def _bar(wanted: bool) -> Iterator[Any]:
    """A function (title, tasks, steps) that runs the steps, under a bar if it can be seen."""

    def silent(title: str, tasks: Sequence[Task], steps: Iterator[None]) -> None:
        for _ in steps:
            pass

    console = None
    if wanted:
        try:
            from rich.console import Console

            console = Console(stderr=True)
        except ImportError:
            pass
    if console is None or not console.is_terminal:
        yield silent
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description:24s}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bars:

        def visible(title: str, tasks: Sequence[Task], steps: Iterator[None]) -> None:
            for _ in bars.track(steps, total=len(tasks), description=title):
                pass

        yield visible
