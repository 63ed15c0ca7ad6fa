"""Sections of the report that are mostly tables."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from dualgap.experiments import contenders
from dualgap.experiments.claims import LEVEL
from dualgap.experiments.contenders import DEFAULT
from dualgap.experiments.curves import TARGETS, Curve
from dualgap.experiments.markup import count, power, strength_over_n, table
from dualgap.experiments.plan import Panel

if TYPE_CHECKING:
    from dualgap.experiments.report import Report


def oracle_table(report: Report) -> str:
    """Passes of the adaptive methods against those of the method that is given mu."""
    groups = (
        (
            "batch",
            contenders.OPT_BPD,
            (contenders.BPD, contenders.ADA_BPD, contenders.ADA_BPD_CURVATURE),
        ),
        (
            "randomised",
            contenders.OPT_DF_SPDC,
            (contenders.DF_SPDC, contenders.ADF_SPDC, contenders.ADF_SPDC_CURVATURE),
        ),
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
                cells.append(count(mine, panel.limit) + ratio)
            rows.append((escape(contender.label), *cells))
        header = [f"{p.data.name}<br>{strength_over_n(p.strength)}" for p, _ in shown]
        out.append(table((title, *header), rows))
    return "\n".join(out)


def seconds_table(report: Report) -> str:
    """Seconds over those of the fastest."""
    everyone = dict.fromkeys(c for row in report.timings.values() for c in row)
    rows = []
    for contender in everyone:
        cells = []
        for row in report.timings.values():
            seconds = row.get(contender, math.inf)
            reached = math.isfinite(seconds)
            cells.append(f"{seconds / min(row.values()):.2f}" if reached else "–")
        rows.append((escape(contender.label), *cells))
    fastest = [min(row.values()) for row in report.timings.values()]
    shown = [f"{seconds:.3g}" if math.isfinite(seconds) else "–" for seconds in fastest]
    rows.append(("<em>seconds of the fastest</em>", *shown))
    header = [f"{name}<br>{strength_over_n(s)}" for name, s in report.timings]
    return table(("", *header), rows)


def passes_tables(report: Report) -> str:
    """Passes and seconds to every target, panel by panel."""
    header = (
        "algorithm",
        "steps",
        *(f"passes to {power(t)}" for t in TARGETS),
        *(f"seconds to {power(t)}" for t in TARGETS),
    )
    tables = []
    for panel, curves in report.drawn:
        rows = [_row(panel, c.label, steps, value) for (c, steps), value in curves.items()]
        title = f"Figure {panel.figure}: {panel.title}, at most {panel.limit} passes"
        tables.append(f"<details><summary>{escape(title)}</summary>{table(header, rows)}</details>")
    return (
        "<h2>Passes and seconds</h2>\n<p>Medians over the seeds, in brackets the least and the "
        "most. These seconds were taken with all cores busy and a look at P after every pass; the "
        "wall-clock part above is the fair comparison.</p>\n" + "\n".join(tables)
    )


def _row(panel: Panel, label: str, steps: str, value: Curve) -> tuple[str, ...]:
    passes, seconds = [], []
    for target in TARGETS:
        low, high = value.spread(target)
        ends = f" [{count(low, panel.limit)}, {count(high, panel.limit)}]" if low < high else ""
        passes.append(count(value.passes_to(target), panel.limit) + ends)
        taken = value.seconds_to(target)
        seconds.append(f"{taken:.3g}" if math.isfinite(taken) else "–")
    return (escape(label), steps, *passes, *seconds)


def problem_tables(report: Report) -> str:
    """The data sets, their constants, the problems and their optima."""
    data_rows = []
    for data, c in report.constants.items():
        data_rows.append(
            (
                data.name,
                data.loss,
                f"{c['n']}",
                f"{c['d']}",
                f"{100 * c['density']:.3g} %",
                f"{c['R']:.4g}",
                f"{c['L']:.4g}",
                f"{c['mu']:.3g}",
                f"{c['L'] ** 2 / c['n']:.3g}",
                f"{c['mu'] ** 2 / c['n']:.3g}",
            )
        )
    rows, worst = [], 0.0
    for (data, strength), r in report.references.items():
        c = report.constants[data]
        certified = r.floor * (r.start - r.optimum) / r.optimum
        worst = max(worst, certified)
        lam = strength / c["n"]
        # What the theorems call strong convexity: the data count where delta = 1.
        m = lam + (c["mu"] ** 2 / c["n"] if data.loss == "squared" else 0.0)
        rows.append(
            (
                data.name,
                f"{strength_over_n(strength)}",
                f"{(c['L'] ** 2 / c['n'] / c['gamma'] + lam) / m:.3g}",
                f"{c['R'] ** 2 / (c['gamma'] * c['n'] * m):.3g}",
                f"{r.start:.6g}",
                f"{r.optimum:.12g}",
                f"{certified:.1e}",
                r.kind,
                f"{r.disagreement:.1e}",
                f"{r.floor:.1e}",
            )
        )
    first = ("", "loss", "n", "d", "density", "R", "L", "μ", "L²/n", "μ²/n")
    second = (
        "",
        "λ",
        "κ",
        "κ<sub>n</sub>",
        "P(0)",
        "P*",
        "certified to, over P*",
        "certificate",
        "L-BFGS above it",
        "floor of the curves",
    )
    return f"""<h2>What was run</h2>
{table(first, data_rows)}
<p>R = max |a<sub>i</sub>|, L = |A|, μ<sup>2</sup> the least eigenvalue of A'A. Rows are divided by
max |a<sub>i</sub>| as in the paper. The columns of cpuact differ by six orders of magnitude in raw
units and are mapped to [-1, 1] first, as LIBSVM does in its scaled files. The paper prints the
covariances of the synthetic sets with a plus in the exponent, which is no covariance; a minus is
meant.</p>
{table(second, rows)}
<p>κ = (L²/(γn) + λ)/(λ + δμ²/n); the randomised methods feel κ<sub>n</sub> = R²/(γn(λ + δμ²/n)):
their passes grow with its square root (non-accelerated ones: with itself).</p>
<p>Reference optima by Newton's method; <code>dualgap.certify</code> then bounds how far they are
from P*, whoever found them: at most {worst:.1e} P*. L-BFGS, started from 0, is a second opinion:
how far above the optimum it ends, over P(0) - P*. The bounds include the rounding of P. No curve is
drawn below the floor, which is the same bound over P(0) - P*.</p>"""


def how_counted(report: Report) -> str:
    """What a pass, a level and a seed are."""
    return f"""<h2>How things were counted</h2>
<ul>
<li>Vertical axis: (P(x) - P*)/(P(0) - P*). Targets are levels of it, reached at the first look at
or below them; runs end at 10<sup>-10</sup>.</li>
<li>A pass is n visits of rows by the iterations. A batch iteration is one. SVRG and Katyusha have
an inner loop of m = 2n and a full gradient: three passes, after which P is known. The other
randomised methods are looked at after every pass, and the look is not counted.</li>
<li>Steps: SVRG 0.1/L<sub>c</sub>, SAGA 1/(3L<sub>c</sub>), Katyusha as in its paper, SPDC 1/(2R)
(Zhang &amp; Xiao 2015) by default and Theorem 2's 1/(4R) in thin lines, DF-SPDC Theorem 4's
1/(4R), Ada-SPDC and ADF-SPDC 1/R under a monitor by default and 1/(4R) in thin lines.</li>
<li>Robust rule: T = 10, 0.95, 1.5. Where a comparison cannot be settled because a method does not
get to 10<sup>-6</sup> within its limit, both are compared at the lowest level that both reach; the
lists above say so.</li>
<li>Seeds 0 to {report.seeds - 1} choose the rows that are visited; the data are the same.</li>
</ul>"""
