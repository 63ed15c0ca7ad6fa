"""The report as one HTML page that needs nothing but itself."""

from __future__ import annotations

import platform
from html import escape
from importlib import metadata
from typing import TYPE_CHECKING

import dualgap
from dualgap.experiments.claims import ALIKE, BEATS, LEVEL, SETTINGS, Claim, Comparison
from dualgap.experiments.figures import CAPTIONS
from dualgap.experiments.markup import STYLE, badge, count, image, power, table
from dualgap.experiments.sections import (
    how_counted,
    oracle_table,
    passes_tables,
    problem_tables,
    seconds_table,
)

if TYPE_CHECKING:
    from dualgap.experiments.report import Report

NOTES = {
    1: "The theorems' steps differ from the default only in a certified bound on L in place of a "
    "watched estimate: the thin lines lie under the solid ones.",
    2: "With the squared loss the dual-free step is the dual prox at another step size: Ada-SPDC "
    "and ADF-SPDC coincide, and so do SPDC with Theorem 2's steps and DF-SPDC.",
    3: "rcv1_sub holds other documents of the RCV1 corpus in the features of LIBSVM's rcv1: it "
    "stands in for rcv1.",
    4: "Where nothing is known of the strong convexity BPD and Primal AG run their "
    "O(1/t<sup>2</sup>) variants, SPDC and DF-SPDC constant steps.",
}


def page(report: Report, pictures: dict[str, bytes]) -> str:
    """The whole page; pictures are PNGs by name."""
    images = {name: image(name, content) for name, content in pictures.items()}
    parts = [
        _head(report),
        _verdicts(report),
        "<h2>The paper's figures</h2>",
        *(_figure(number, images) for number in (1, 2, 3)),
        _beyond(report, images),
        passes_tables(report),
        problem_tables(report),
        how_counted(report),
        _again(),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>dualgap: the paper reproduced</title><style>{STYLE}</style></head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _head(report: Report) -> str:
    names = ("numpy", "scipy", "numba", "scikit-learn", "matplotlib")
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in names)
    left_out = ""
    if report.absent:
        left_out = (
            f"<p><strong>Left out:</strong> {', '.join(report.absent)}: not found in the data "
            "folder. The panels are missing, and claims are judged without them.</p>"
        )
    return (
        "<h1>Exploiting strong convexity from data: the paper reproduced</h1>\n"
        "<p>Wang &amp; Xiao, ICML 2017, Figures 1 to 3, run with dualgap "
        f"{escape(dualgap.__version__)} ({escape(report.plan.name)}; {report.seeds} seeds of each "
        "randomised algorithm), with a verdict on each claim, computed from the curves.</p>\n"
        f'<p class="small">Python {platform.python_version()}, {escape(versions)}, '
        f"{escape(platform.machine())}.</p>{left_out}"
    )


def _verdicts(report: Report) -> str:
    by_letter: dict[str, list[Claim]] = {}
    for claim in report.claims:
        by_letter.setdefault(claim.letter, []).append(claim)
    rows = [
        (f"({letter})", escape(claims[0].statement), *(badge(c) for c in claims))
        for letter, claims in by_letter.items()
    ]
    header = ("", "claim", *(escape(s.name) for s in SETTINGS))
    details = "\n".join(_details(claims) for claims in by_letter.values())
    return f"""<h2>Verdicts</h2>
<p>The verdict is the first column: the paper's robust rule and the steps of each algorithm's own
paper. The others ask the same of our steps, and of our curvature rule in place of the robust one.
<em>Alike</em>: within {ALIKE:g} times in passes to {power(LEVEL)}; <em>beats</em>: at most
{BEATS:g} times. <em>Fastest</em> and <em>between</em> mean that nobody beats it on that side. A
claim is a list of comparisons: it holds if all are true, is contradicted if none is, else holds in
part; the fraction counts the true ones.</p>
{table(header, rows, words=True)}
{details}"""


def _details(claims: list[Claim]) -> str:
    """The numbers behind a claim, in each setting."""
    parts = []
    for claim in claims:
        numbers: dict[str, dict[str, str]] = {}
        for c in claim.comparisons:
            sides = zip((c.first, c.second), c.arrivals, c.limits, strict=True)
            for label, passes, limit in sides:
                numbers.setdefault(c.where, {})[label] = count(passes, limit)
        lines = "<br>".join(
            f"{escape(where)}: " + ", ".join(f"{escape(k)} {v}" for k, v in row.items())
            for where, row in numbers.items()
        )
        header = ("problem", "comparison", "passes", "at level", "")
        rows = [_comparison(c) for c in claim.comparisons]
        parts.append(
            f"<h3>{escape(claim.setting.name)}</h3><p>Passes to {power(LEVEL)}.<br>{lines}</p>"
            + table(header, rows, words=True)
        )
    return f"<details><summary>({claims[0].letter}) the numbers</summary>{''.join(parts)}</details>"


def _comparison(c: Comparison) -> tuple[str, ...]:
    passes = [count(p, limit) for p, limit in zip(c.passes, c.limits, strict=True)]
    return (
        escape(c.where),
        f"{escape(c.first)} <em>{c.kind}</em> {escape(c.second)}",
        " : ".join(passes),
        power(LEVEL) if c.level == LEVEL else f"{c.level:.1e}",
        "true" if c.true else "<strong>false</strong>",
    )


def _figure(number: int, images: dict[str, str]) -> str:
    return (
        f"<figure>{images[f'figure{number}']}<figcaption><strong>{CAPTIONS[number]}.</strong> "
        "Solid: our default steps, median over seeds, the band from the least to the largest; "
        "thin: the theorems' steps (dashed; dash-dotted for the curvature rule). "
        f"{NOTES[number]}</figcaption></figure>"
    )


def _beyond(report: Report, images: dict[str, str]) -> str:
    return f"""<h2>Beyond the paper</h2>
<h3>Adaptive against oracle</h3>
<p>Passes to {power(LEVEL)}, in brackets over those of the oracle, which is given μ. Default
steps.</p>
{oracle_table(report)}
<h3>No regulariser</h3>
{_figure(4, images)}
<h3>Wall-clock</h3>
<p>Seconds to {power(LEVEL)} over those of the fastest on the same problem: one run at a time, one
thread, default steps, set-up included, compiled code loaded beforehand; P is looked at as often as
the algorithm does by itself. A dash: not reached within the pass limit.</p>
<figure>{images["seconds"]}</figure>
{seconds_table(report)}"""


def _again() -> str:
    return """<h2>Run it again</h2>
<p><code>dualgap paper</code>, or <code>dualgap.experiments.run("report")</code>;
<code>quick=True</code> for smaller data. Finished runs are kept in <code>runs/</code>: what is
interrupted goes on from there. Beside this page: the figures as PNG and SVG, every curve in
<code>curves/</code>, and <code>passes.csv</code>, <code>seconds.csv</code>,
<code>comparisons.csv</code>, <code>optima.csv</code>.</p>"""
