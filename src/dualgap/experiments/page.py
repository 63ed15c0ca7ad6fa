"""The report as one HTML page that needs nothing but itself."""

from __future__ import annotations

import base64
import math
import platform
from collections.abc import Iterable, Sequence
from html import escape
from importlib import metadata
from typing import TYPE_CHECKING

import dualgap
from dualgap.experiments import contenders as who
from dualgap.experiments.claims import ALIKE, BEATS, LEVEL, SETTINGS, Claim
from dualgap.experiments.contenders import DEFAULT
from dualgap.experiments.curves import TARGETS, Curve
from dualgap.experiments.figures import CAPTIONS
from dualgap.experiments.plan import Panel

if TYPE_CHECKING:
    from dualgap.experiments.report import Report

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.3rem; margin-top: 2.5rem; } h3 { font-size: 1.05rem; }
table { border-collapse: collapse; font-size: 0.88rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.6rem; border-bottom: 1px solid var(--line); text-align: right; }
th { background: var(--soft); vertical-align: bottom; }
th:first-child, td:first-child, .words td, .words th { text-align: left; vertical-align: top; }
.wide { overflow-x: auto; margin: 0.8rem 0; }
img { max-width: 100%; background: white; border-radius: 4px; }
figure { margin: 1.2rem 0; } figcaption { font-size: 0.9rem; }
.verdict { display: inline-block; padding: 0 0.5rem; border-radius: 1rem; border: 2px solid;
  white-space: nowrap; font-weight: 600; }
.holds { border-color: #009E73; } .in-part { border-color: #E69F00; }
.contradicted { border-color: #D55E00; } .not-run { border-color: #888; }
details { margin: 0.4rem 0; } summary { cursor: pointer; } code { font-size: 0.9em; }
.small { font-size: 0.85rem; }
"""


def page(report: Report, pictures: dict[str, bytes]) -> str:
    """The whole page; pictures are PNGs by name."""
    images = {name: _image(name, content) for name, content in pictures.items()}
    parts = [
        _head(report),
        _verdicts(report),
        "<h2>The paper's figures</h2>",
        *(_figure(n, images, report) for n in (1, 2, 3)),
        _beyond(report, images),
        _numbers(report),
        _problems(report),
        _method(report),
        _again(),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>dualgap: the paper reproduced</title><style>{STYLE}</style></head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


# ---- pieces of HTML ----


def _image(name: str, content: bytes) -> str:
    data = base64.b64encode(content).decode("ascii")
    return f'<img alt="{escape(name)}" src="data:image/png;base64,{data}">'


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """Cells are HTML already."""
    head = "".join(f"<th>{cell}</th>" for cell in header)
    body = "\n".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>" for row in rows)
    return (
        f'<div class="wide"><table class="{kind}"><thead><tr>{head}</tr></thead>\n'
        f"<tbody>{body}</tbody></table></div>"
    )


def _badge(claim: Claim) -> str:
    true, total = claim.counts
    style = {"holds": "holds", "holds in part": "in-part", "contradicted": "contradicted"}
    shown = f"{claim.verdict} {true}/{total}" if total else claim.verdict
    return f'<span class="verdict {style.get(claim.verdict, "not-run")}">{shown}</span>'


def _count(value: float, limit: float) -> str:
    return f"{value:.0f}" if math.isfinite(value) else f"&gt;&nbsp;{limit:.0f}"


def _power(value: float) -> str:
    return f"10<sup>{math.log10(value):.0f}</sup>"


def _strength(strength: float) -> str:
    return {1.0: "1/n", 0.0: "0"}.get(strength) or f"{_power(strength)}/n"


# ---- sections ----


def _head(report: Report) -> str:
    names = ("dualgap", "numpy", "scipy", "numba", "scikit-learn", "matplotlib")
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in names)
    left_out = ""
    if report.absent:
        left_out = (
            f"<p><strong>Left out:</strong> {', '.join(report.absent)}: not found in the data "
            "folder, so their panels are missing and claims about them are judged without.</p>"
        )
    return (
        "<h1>Exploiting strong convexity from data: the paper reproduced</h1>\n"
        "<p>Wang &amp; Xiao, ICML 2017, Figures 1 to 3, run with "
        f"dualgap {escape(dualgap.__version__)} ({escape(report.plan.name)}; {report.seeds} seeds "
        "of each randomised algorithm), with a verdict on each claim, computed from the curves."
        f'</p>\n<p class="small">Python {platform.python_version()}, {escape(versions)}, '
        f"{escape(platform.machine())}.</p>{left_out}"
    )


def _verdicts(report: Report) -> str:
    by_letter: dict[str, list[Claim]] = {}
    for claim in report.claims:
        by_letter.setdefault(claim.letter, []).append(claim)
    rows = [
        (f"({letter})", escape(claims[0].statement), *(_badge(c) for c in claims))
        for letter, claims in by_letter.items()
    ]
    names = [escape(s.name) for s in SETTINGS]
    details = "\n".join(_comparisons(claims) for claims in by_letter.values())
    return f"""<h2>Verdicts</h2>
<p>The verdict is the first column: the paper's robust rule and the steps of each algorithm's own
paper. The others ask the same of our steps, and of our curvature rule in place of the robust one.
<em>Alike</em>: within {ALIKE:g} times in passes to {_power(LEVEL)}; <em>beats</em>: at most {BEATS:g}
times. <em>Fastest</em> and <em>between</em> mean that nobody beats it on that side. A claim is a list of
comparisons: it holds if all are true, is contradicted if none is, else holds in part; the fraction
counts the true ones.</p>
{_table(("", "claim", *names), rows, "words")}
{details}"""


def _comparisons(claims: list[Claim]) -> str:
    parts = []
    for claim in claims:
        rows = [
            (
                escape(c.where),
                f"{escape(c.first)} <em>{c.kind}</em> {escape(c.second)}",
                f"{_plain(c.passes[0])} : {_plain(c.passes[1])}",
                "" if c.level == LEVEL else f"at {c.level:.1e}",
                "true" if c.true else "<strong>false</strong>",
            )
            for c in claim.comparisons
        ]
        if rows:
            head = ("problem", "comparison", "passes", "level", "")
            parts.append(f"<h3>{escape(claim.setting.name)}</h3>{_table(head, rows, 'words')}")
    return f"<details><summary>({claims[0].letter}) all comparisons</summary>{''.join(parts)}</details>"


def _plain(value: float) -> str:
    return f"{value:.0f}" if math.isfinite(value) else "not reached"


def _figure(number: int, images: dict[str, str], report: Report) -> str:
    notes = {
        1: "The theorems' steps differ from the default only in a certified bound on L in place of "
        "a watched estimate: the dashed lines lie under the solid ones.",
        2: "With the squared loss the dual-free step is the dual prox at another step size: "
        "Ada-SPDC and ADF-SPDC coincide, and so do SPDC with Theorem 2's steps and DF-SPDC.",
        3: "rcv1_sub holds other documents of the RCV1 corpus in the features of LIBSVM's rcv1: it "
        "stands in for rcv1.",
        4: "Where nothing is known of the strong convexity BPD and Primal AG run their "
        "O(1/t<sup>2</sup>) variants, SPDC and DF-SPDC constant steps.",
    }
    return (
        f"<figure>{images[f'figure{number}']}<figcaption><strong>{CAPTIONS[number]}.</strong> "
        "Solid: our default steps, median over seeds, the band from the least to the largest; thin: "
        f"the theorems' steps (dashed; dash-dotted for the curvature rule). {notes[number]}"
        "</figcaption></figure>"
    )


def _beyond(report: Report, images: dict[str, str]) -> str:
    return f"""<h2>Beyond the paper</h2>
<h3>Adaptive against oracle</h3>
<p>Passes to 10<sup>-6</sup>, in brackets over those of the oracle, which is given μ. Default steps.</p>
{_oracle_table(report)}
<h3>No regulariser</h3>
{_figure(4, images, report)}
<h3>Wall-clock</h3>
<p>Seconds to 10<sup>-6</sup> over those of the fastest on the same problem, each run alone, one thread,
default steps, set-up included, compiled code loaded beforehand; P is looked at as often as the
algorithm does by itself. Dashes: 10<sup>-6</sup> was not reached within the pass limit.</p>
<figure>{images["seconds"]}</figure>
{_seconds_table(report)}"""


def _oracle_table(report: Report) -> str:
    groups = (
        ("batch", who.OPT_BPD, (who.BPD, who.ADA_BPD, who.ADA_BPD_CURVATURE)),
        ("randomised", who.OPT_DF_SPDC, (who.DF_SPDC, who.ADF_SPDC, who.ADF_SPDC_CURVATURE)),
    )
    out = []
    for title, oracle, others in groups:
        shown = [(p, c) for p, c in report.drawn if (oracle, DEFAULT) in c]
        rows = []
        for contender in (oracle, *others):
            cells = []
            for panel, curves in shown:
                mine = curves[contender, DEFAULT].passes_to(LEVEL)
                best = curves[oracle, DEFAULT].passes_to(LEVEL)
                ratio = f" [{mine / best:.2f}]" if math.isfinite(mine + best) else ""
                cells.append(_count(mine, panel.limit) + ratio)
            rows.append((escape(contender.label), *cells))
        header = [f"{p.data.name}<br>{_strength(p.strength)}" for p, _ in shown]
        out.append(_table((title, *header), rows))
    return "\n".join(out)


def _seconds_table(report: Report) -> str:
    everyone = dict.fromkeys(c for row in report.timings.values() for c in row)
    rows = []
    for contender in everyone:
        cells = []
        for row in report.timings.values():
            seconds = row.get(contender, math.inf)
            best = min(row.values())
            cells.append(f"{seconds / best:.2f}" if math.isfinite(seconds) else "–")
        rows.append((escape(contender.label), *cells))
    fastest = [f"{min(row.values()):.3g}" for row in report.timings.values()]
    rows.append(("<em>seconds of the fastest</em>", *fastest))
    header = [f"{name}<br>{_strength(s)}" for name, s in report.timings]
    return _table(("", *header), rows)


def _numbers(report: Report) -> str:
    tables = []
    for panel, curves in report.drawn:
        rows = [_row(panel, c.label, steps, value) for (c, steps), value in curves.items()]
        header = ("algorithm", "steps")
        header += tuple(f"passes to {_power(t)}" for t in TARGETS)
        header += tuple(f"seconds to {_power(t)}" for t in TARGETS)
        title = f"Figure {panel.figure}: {panel.title}, at most {panel.limit} passes"
        tables.append(
            f"<details><summary>{escape(title)}</summary>{_table(header, rows)}</details>"
        )
    return (
        "<h2>Passes and seconds</h2>\n<p>Medians over the seeds, in brackets the least and the "
        "most. These seconds were taken with all cores busy and a look at P after every pass; the "
        "wall-clock part above is the fair comparison.</p>\n" + "\n".join(tables)
    )


def _row(panel: Panel, label: str, steps: str, value: Curve) -> tuple[str, ...]:
    passes = []
    for target in TARGETS:
        low, high = value.spread(target)
        spread = "" if low == high else f" [{_plain_range(low, high, panel.limit)}]"
        passes.append(_count(value.passes_to(target), panel.limit) + spread)
    seconds = []
    for target in TARGETS:
        taken = value.seconds_to(target)
        seconds.append(f"{taken:.3g}" if math.isfinite(taken) else "–")
    return (escape(label), steps, *passes, *seconds)


def _plain_range(low: float, high: float, limit: float) -> str:
    return f"{_count(low, limit)}, {_count(high, limit)}"


def _problems(report: Report) -> str:
    data_rows = []
    for data, c in report.constants.items():
        known = math.isfinite(c["mu"])
        data_rows.append(
            (
                data.name,
                data.loss,
                f"{c['n']}",
                f"{c['d']}",
                f"{100 * c['density']:.3g} %",
                f"{c['R']:.4g}",
                f"{c['L']:.4g}",
                f"{c['mu']:.3g}" if known else "not computed",
                f"{c['L'] ** 2 / c['n']:.3g}",
                f"{c['mu'] ** 2 / c['n']:.3g}" if known else "",
            )
        )
    rows = []
    for (data, strength), r in report.references.items():
        c = report.constants[data]
        lam = strength / c["n"]
        # Condition number of P as the theorems see it: with delta mu^2/n for the squared loss.
        inside = c["mu"] ** 2 / c["n"] if data.loss == "squared" else 0.0
        kappa = (c["L"] ** 2 / c["n"] / c["gamma"] + lam) / (lam + inside)
        rows.append(
            (
                data.name,
                _strength(strength),
                f"{lam:.3g}",
                f"{kappa:.3g}",
                f"{c['R'] ** 2 / (c['gamma'] * c['n'] * (lam + inside)):.3g}",
                f"{r.start:.6g}",
                f"{r.optimum:.12g}",
                f"{r.relative_bound:.1e}",
                r.kind,
                f"{r.disagreement:.1e}",
                f"{r.floor:.1e}",
            )
        )
    head = ("", "loss", "n", "d", "density", "R", "L", "μ", "L²/n", "μ²/n")
    second = (
        "", "λ", "λ", "κ", "κ/n, randomised", "P(0)", "P*", "certified to (relative)", "certificate",
        "L-BFGS above it", "floor of the curves",
    )  # fmt: skip
    return f"""<h2>What was run</h2>
{_table(head, data_rows)}
<p>R = max |a<sub>i</sub>|, L = |A|, μ<sup>2</sup> the least eigenvalue of A'A. Rows are divided by
max |a<sub>i</sub>| as in the paper. The columns of cpuact differ by six orders of magnitude in raw units
and are mapped to [-1, 1] first, as LIBSVM does in its scaled files. The paper prints the covariances of
the synthetic sets with a plus in the exponent, which is no covariance; a minus is meant.</p>
<p>κ = (L²/(γn) + λ)/(λ + δμ²/n) and, for the randomised methods, R²/(γn(λ + δμ²/n)) (passes grow with
its square root).</p>
{_table(second, rows)}
<p>Reference optima by Newton's method; <code>dualgap.certify</code> then bounds how far they are from
P*, whoever found them. L-BFGS, started from 0, is a second opinion: how far above the optimum it ends,
over P(0) - P*. No curve is drawn below the floor: what the bound and the rounding of P leave undecided.
</p>"""


def _method(report: Report) -> str:
    return f"""<h2>How things were counted</h2>
<ul>
<li>Vertical axis: (P(x) - P*)/(P(0) - P*). Targets are levels of it, reached at the first look at or
below them; runs end at 10<sup>-10</sup>.</li>
<li>A pass is n visits of rows by the iterations. A batch iteration is one. SVRG and Katyusha have an
inner loop of m = 2n and a full gradient: three passes, after which P is known. The other randomised
methods are looked at after every pass, and the look is not counted.</li>
<li>Steps: SVRG 0.1/L<sub>c</sub>, SAGA 1/(3L<sub>c</sub>), Katyusha as in its paper, SPDC 1/(2R) (Zhang
&amp; Xiao 2015) by default and Theorem 2's 1/(4R) in thin lines, DF-SPDC Theorem 4's 1/(4R), Ada-SPDC and
ADF-SPDC 1/R under a monitor by default and 1/(4R) in thin lines.</li>
<li>Robust rule: T = 10, 0.95, 1.5. Where a comparison of passes cannot be settled because neither method
(or only one, late) gets to 10<sup>-6</sup>, both are compared at the lowest level that both reach; the
lists above say so.</li>
<li>Seeds 0 to {report.seeds - 1} choose the rows that are visited; the data are the same.</li>
</ul>"""


def _again() -> str:
    return """<h2>Run it again</h2>
<p><code>dualgap paper</code>, or <code>dualgap.experiments.run("report")</code>;
<code>quick=True</code> for smaller data. Finished runs are kept in <code>runs/</code>: what is
interrupted goes on from there. Beside this page: the figures as PNG and SVG, every curve in
<code>curves/</code>, and <code>passes.csv</code>, <code>seconds.csv</code>, <code>comparisons.csv</code>,
<code>optima.csv</code>.</p>"""
