"""The report: run what is missing, judge the claims, draw, write."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib

from dualgap import _validation as check
from dualgap.experiments import contenders
from dualgap.experiments.bars import progress_bars
from dualgap.experiments.claims import SETTINGS, Claim, judge_all
from dualgap.experiments.contenders import DEFAULT, Contender
from dualgap.experiments.curves import Curve, curve, stored
from dualgap.experiments.figures import figure, pyplot, speed_figure
from dualgap.experiments.page import page
from dualgap.experiments.plan import FULL, QUICK, Panel, Plan, panels
from dualgap.experiments.problems import DataSet
from dualgap.experiments.reference import Reference
from dualgap.experiments.runs import ConstantsTask, ReferenceTask, RunTask, Task, finish
from dualgap.experiments.store import write_bytes, write_text
from dualgap.experiments.tables import write_tables
from dualgap.experiments.timing import Timings, one_at_a_time, timed_tasks, timings


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
        Seconds to 1e-6 by contender, of each (data name, lambda n).
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
    timings: Timings

    @property
    def html(self) -> Path:
        """The page."""
        return self.out / "report.html"

    def __str__(self) -> str:
        """The verdicts, one line for each claim."""
        lines = [f"{'claim':7s}{'as in the paper':24s}{'default steps':24s}curvature rule"]
        by_letter: dict[str, list[Claim]] = {}
        for claim in self.claims:
            by_letter.setdefault(claim.letter, []).append(claim)
        for letter, claims in by_letter.items():
            assert [c.setting for c in claims] == list(SETTINGS)
            cells = [f"{c.verdict} ({c.counts[0]}/{c.counts[1]})".ljust(24) for c in claims]
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
        Show bars, if rich is installed and standard error is a terminal.

    Returns
    -------
    Report
    """
    plan = QUICK if check.flag("quick", quick) else FULL
    pyplot()  # if it is missing, say so now
    report = collect(
        plan,
        Path(out),
        data_folder=data_folder,
        seeds=seeds,
        resume=resume,
        progress=progress,
        workers=joblib.cpu_count(),
    )
    write(report)
    return report


def collect(
    plan: Plan,
    out: Path,
    *,
    data_folder: Path | None = None,
    seeds: int = 5,
    resume: bool = True,
    progress: bool = False,
    workers: int = 1,
) -> Report:
    """Do what is not in the store yet and judge; `write` does the rest."""
    seeds = check.integer("seeds", seeds)
    resume, progress = check.flag("resume", resume), check.flag("progress", progress)
    shown, absent = panels(plan, data_folder)
    if out.exists() and not out.is_dir():
        raise ValueError(f"out={str(out)!r} is a file; name a folder to write the report to.")
    folder = out / "runs"
    if not resume:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)

    with progress_bars(progress) as follow:
        sets = list(dict.fromkeys(p.data for p in shown))
        pairs = list(dict.fromkeys((p.data, p.strength) for p in shown))
        first: list[Task] = [ConstantsTask(data) for data in sets]
        first += sorted((ReferenceTask(*q) for q in pairs), key=lambda t: t.data.name)
        follow("constants and optima", len(first), finish(first, folder, workers))
        constants = {data: stored(folder, ConstantsTask(data)) for data in sets}
        references = {q: Reference(**stored(folder, ReferenceTask(*q))) for q in pairs}

        tasks = {
            (p, c, steps): _seeds(p, c, steps, seeds, constants, references)
            for p in shown
            for c in (*p.lines, *p.oracles)
            for steps in (c.step_sizes if c in p.lines else (DEFAULT,))
        }
        # Workers keep the problem they have: those that share one come one after the other.
        second = [t for group in tasks.values() for t in group]
        second.sort(key=lambda t: (t.data.name, t.strength))
        follow("runs", len(second), finish(second, folder, workers))
        runs = {k: [stored(folder, t) for t in group] for k, group in tasks.items()}
        drawn: list[tuple[Panel, dict[tuple[Contender, str], Curve]]] = [(p, {}) for p in shown]
        for p, curves in drawn:
            for (q, c, steps), group in runs.items():
                if q is p:
                    curves[c, steps] = curve(group, references[p.data, p.strength], p.limit)

        timed = timed_tasks(drawn, references, plan)
        follow("timing, one at a time", len(timed), one_at_a_time(timed, folder))

    by_name = {
        (p.data.name, p.strength, c, steps): value
        for p, curves in drawn
        for (c, steps), value in curves.items()
    }
    return Report(
        out=out,
        plan=plan,
        seeds=seeds,
        absent=absent,
        constants=constants,
        references=references,
        drawn=drawn,
        runs=runs,
        claims=judge_all(lambda *k: by_name.get(k)),
        timings=timings(timed, folder),
    )


def _seeds(
    p: Panel,
    c: Contender,
    steps: str,
    seeds: int,
    constants: dict[DataSet, dict[str, Any]],
    references: dict[tuple[DataSet, float], Reference],
) -> list[RunTask]:
    """The runs of one line; a batch algorithm has but one."""
    mu = constants[p.data]["mu"] if c.algorithm in contenders.ORACLES else 0.0
    reference = references[p.data, p.strength]
    return [
        RunTask(p.data, p.strength, c, steps, seed, p.limit, mu, reference)
        for seed in range(seeds if c.is_random else 1)
    ]


def write(report: Report) -> None:
    """Draw the figures, write tables and page; each file whole or not at all."""
    pictures = {
        f"figure{number}": figure([(p, c) for p, c in report.drawn if p.figure == number])
        for number in (1, 2, 3, 4)
    }
    pictures["seconds"] = speed_figure(report.timings)
    for name, forms in pictures.items():
        for form, content in forms.items():
            write_bytes(report.out / f"{name}.{form}", content)
    write_tables(report)
    write_text(report.html, page(report, {k: v["png"] for k, v in pictures.items()}))
