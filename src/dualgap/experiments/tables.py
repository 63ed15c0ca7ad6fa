"""The numbers as files: CSV of every curve, of passes, of seconds, of the comparisons."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dualgap.experiments.contenders import BATCH
from dualgap.experiments.curves import TARGETS
from dualgap.experiments.store import write_text

if TYPE_CHECKING:
    from dualgap.experiments.report import Report


def write_tables(report: Report) -> None:
    """Write all of them."""
    out = report.out
    for panel, curves in report.drawn:
        kind = "batch" if panel.lines == BATCH else "randomised"
        name = f"figure{panel.figure}_{kind}_{panel.data.name}_{panel.strength:g}"
        rows = [
            (c.label, steps, seed, _plain(p), repr(primal), repr(float(gap)))
            for (c, steps), curve in curves.items()
            for seed, run in enumerate(report.runs[panel, c, steps])
            for p, primal, gap in zip(run["passes"], run["primal"], curve.gaps[seed], strict=False)
        ]
        header = ("algorithm", "steps", "seed", "passes", "primal", "relative_gap")
        _write(out / "curves" / f"{name}.csv", header, rows)
    targets = [f"to_{t:g}" for t in TARGETS]
    keys = ("figure", "data", "lambda_n", "algorithm", "steps")
    passes, seconds = [], []
    for panel, curves in report.drawn:
        for (c, steps), curve in curves.items():
            key = (panel.figure, panel.data.name, f"{panel.strength:g}", c.label, steps)
            passes.append((*key, *(_plain(curve.passes_to(t)) for t in TARGETS), panel.limit))
            seconds.append((*key, *(f"{curve.seconds_to(t):.4g}" for t in TARGETS)))
    _write(out / "passes.csv", (*keys, *targets, "limit"), passes)
    _write(out / "seconds.csv", (*keys, *targets), seconds)
    _write(
        out / "comparisons.csv",
        ("claim", "setting", "where", "first", "claimed", "second", "level", "passes_first",
         "passes_second", "true"),
        [
            (claim.letter, claim.setting.name, c.where, c.first, c.kind, c.second, f"{c.level:g}",
             _plain(c.passes[0]), _plain(c.passes[1]), c.true)
            for claim in report.claims
            for c in claim.comparisons
        ],
    )  # fmt: skip
    _write(
        out / "optima.csv",
        ("data", "lambda_n", "P0", "optimum", "certified_bound", "certificate", "lbfgs"),
        [
            (data.name, f"{strength:g}", repr(r.start), repr(r.optimum), repr(r.bound), r.kind,
             repr(r.second))
            for (data, strength), r in report.references.items()
        ],
    )  # fmt: skip


def _plain(value: float) -> str:
    return "inf" if math.isinf(value) else f"{value:g}"


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    write_text(path, text.getvalue())
