"""The pictures: the paper's panels in the paper's order, in colours that all eyes can tell apart.

Colours are those of Okabe & Ito; markers and line styles repeat what the colours say. Solid lines
with markers are our default steps (median over seeds, the band from the least to the largest), thin
dashed ones the theorems' steps (dash-dotted: with the curvature rule).
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap.experiments import contenders
from dualgap.experiments.contenders import THEOREM, Contender
from dualgap.experiments.curves import Curve
from dualgap.experiments.plan import Panel
from dualgap.experiments.problems import LOSSES, STRENGTHS

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#777777"


@dataclass(frozen=True)
class Style:
    """How a contender is drawn; the curvature rule has filled markers and a thicker line."""

    colour: str
    marker: str
    filled: bool = False


STYLES = {
    contenders.AG: Style(BLUE, "o"),
    contenders.BPD: Style(GREEN, "v"),
    contenders.OPT_BPD: Style(BLACK, "D"),
    contenders.ADA_BPD: Style(ORANGE, "s"),
    contenders.ADA_BPD_CURVATURE: Style(VERMILION, "*", True),
    contenders.SVRG: Style(SKY, "o"),
    contenders.SAGA: Style(BLUE, "X"),
    contenders.KATYUSHA: Style(ORANGE, "^"),
    contenders.SPDC: Style(GREEN, "v"),
    contenders.DF_SPDC: Style(BLACK, "D"),
    contenders.ADA_SPDC: Style(PURPLE, "s"),
    contenders.ADA_SPDC_CURVATURE: Style(PURPLE, "P", True),
    contenders.ADF_SPDC: Style(VERMILION, "p"),
    contenders.ADF_SPDC_CURVATURE: Style(VERMILION, "*", True),
    contenders.OPT_DF_SPDC: Style(GREY, "d"),
}
RC = {"font.size": 9, "axes.titlesize": 10, "svg.hashsalt": "dualgap", "svg.fonttype": "path"}
BOTTOM = 1e-10
"""Where the axes end."""

CAPTIONS = {
    1: "Batch algorithms, ridge regression (the paper's Figure 1)",
    2: "Randomised algorithms, ridge regression (the paper's Figure 2)",
    3: "Randomised algorithms, logistic regression (the paper's Figure 3)",
    4: "Beyond the paper: no regulariser, λ = 0, least squares",
}

Drawn = list[tuple[Panel, dict[tuple[Contender, str], Curve]]]


def pyplot() -> Any:
    """Import matplotlib, without a display, or say what to install."""
    try:
        import matplotlib
    except ImportError:
        raise ImportError(
            "The paper's figures are drawn with matplotlib; install the extra dualgap[plot]."
        ) from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def figure(drawn: Drawn) -> dict[str, bytes]:
    """One figure as PNG and SVG."""
    plt = pyplot()
    rows = max(1, -(-len(drawn) // 3))
    with plt.rc_context(RC):
        fig, axes = plt.subplots(
            rows, 3, figsize=(13.0, 3.9 * rows + 1.0), squeeze=False, layout="constrained"
        )
        for axis, (panel, curves) in zip(axes.flat, drawn, strict=False):
            _draw_panel(axis, panel, curves)
        for axis in axes.flat[len(drawn) :]:
            axis.set_axis_off()
        for row in axes:
            row[0].set_ylabel("Primal optimality gap\n(P(x) − P*) / (P(0) − P*)")
        _legend(fig, drawn)
        out = _files(fig)
        plt.close(fig)
    return out


def _draw_panel(axis: Any, panel: Panel, curves: dict[tuple[Contender, str], Curve]) -> None:
    for place, contender in enumerate(panel.lines):
        style = STYLES[contender]
        for steps in contender.step_sizes:
            c = curves[contender, steps]
            # Never below what the axes show, which is above the floor of the reference.
            middle = _visible(c.median)
            if steps == THEOREM:
                dashes = "-." if style.filled else "--"
                axis.semilogy(c.passes, middle, color=style.colour, linewidth=0.9, linestyle=dashes)
                continue
            low, high = c.gaps.min(axis=0), c.gaps.max(axis=0)
            axis.fill_between(
                c.passes, np.maximum(low, BOTTOM / 10), high, color=style.colour, alpha=0.18, lw=0
            )
            axis.semilogy(
                c.passes,
                middle,
                color=style.colour,
                linewidth=2.0 if style.filled else 1.4,
                marker=style.marker,
                markersize=7 if style.marker in "*P" else 5,
                markerfacecolor=style.colour if style.filled else "white",
                markevery=_marks(c, place),
                zorder=3 if style.filled else 2,
            )
    for level in (1e-3, 1e-6, 1e-9):
        axis.axhline(level, color="0.8", linewidth=0.7, zorder=0)
    kind = {4: ", batch" if panel.lines == contenders.BATCH else ", randomised"}.get(
        panel.figure, ""
    )
    axis.set_title(panel.title + kind)
    axis.set_xlabel("Number of passes")
    highest = max(float(c.median[np.isfinite(c.median)].max()) for c in curves.values())
    axis.set_ylim(BOTTOM, min(max(2.0, 1.5 * highest), 100.0))
    axis.set_xlim(0, _right(panel, curves))
    axis.set_yticks([10.0**-k for k in range(0, 11, 2)])
    axis.grid(axis="x", color="0.93")
    axis.set_axisbelow(True)


def _visible(gaps: Any) -> Any:
    """Up to the first look at which the run is off the axes, and no further."""
    below = np.flatnonzero(gaps <= BOTTOM)
    out = gaps.copy()
    if below.size:
        out[below[0] + 1 :] = np.nan
    return out


def _right(panel: Panel, curves: dict[tuple[Contender, str], Curve]) -> float:
    """The axes end where the last of the lines does."""
    ends = []
    for (contender, _), c in curves.items():
        if contender in panel.lines:
            below = np.flatnonzero(c.median <= BOTTOM)
            ends.append(float(c.passes[below[0]]) if below.size else panel.limit)
    return max(ends) * 1.02


def _marks(c: Curve, place: int) -> tuple[int, int]:
    """About a dozen markers on each line, at other places on each."""
    k = int(np.searchsorted(c.median[::-1], BOTTOM, side="right"))
    length = max(len(c.passes) - k, 1)
    every = max(1, length // 9)
    return (place * every // 9) % every, every


def _legend(fig: Any, drawn: Drawn) -> None:
    from matplotlib.lines import Line2D

    seen = dict.fromkeys(c for panel, _ in drawn for c in panel.lines)
    handles = [
        Line2D(
            [],
            [],
            color=STYLES[c].colour,
            marker=STYLES[c].marker,
            markersize=8 if STYLES[c].marker in "*P" else 6,
            markerfacecolor=STYLES[c].colour if STYLES[c].filled else "white",
            linewidth=2.0 if STYLES[c].filled else 1.4,
            label=c.label,
        )
        for c in seen
    ]
    thin: dict[str, Any] = {"color": GREY, "linewidth": 0.9}
    handles.append(Line2D([], [], linestyle="--", label="theorem steps", **thin))
    handles.append(Line2D([], [], linestyle="-.", label="theorem steps, curvature", **thin))
    fig.legend(handles=handles, loc="outside lower center", ncols=6, frameon=False, fontsize=10)


def speed_figure(timings: dict[tuple[str, float], dict[Contender, float]]) -> dict[str, bytes]:
    """Seconds to 1e-6 over those of the fastest: colours are data sets, shapes lambda."""
    plt = pyplot()
    rows: dict[str, dict[tuple[str, float], float]] = {}
    for where, seconds in timings.items():
        fastest = min(seconds.values())
        for c, value in seconds.items():
            if np.isfinite(value):
                rows.setdefault(c.label, {})[where] = value / fastest
    with plt.rc_context(RC):
        fig, axis = plt.subplots(figsize=(9.0, 0.4 * len(rows) + 1.4), layout="constrained")
        problems = list(timings)
        colours = dict(zip(LOSSES, (VERMILION, BLUE, GREEN, ORANGE), strict=True))
        shapes = dict(zip(STRENGTHS, "osD", strict=True))
        for k, problem in enumerate(problems):
            name, strength = problem
            shift = 0.5 * (k / max(len(problems) - 1, 1) - 0.5)  # so that none hides another
            at = [(r[problem], i + shift) for i, r in enumerate(rows.values()) if problem in r]
            axis.plot(
                [x for x, _ in at],
                [i for _, i in at],
                linestyle="",
                marker=shapes[strength],
                markersize=6,
                color=colours[name],
                markerfacecolor="white" if strength == 1.0 else colours[name],
                label=f"{name}, {strength:g}/n",
            )
        axis.set_xscale("log")
        axis.set_xticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
        axis.minorticks_off()
        axis.set_yticks(range(len(rows)), list(rows))
        axis.invert_yaxis()
        axis.set_xlabel("seconds to 10⁻⁶, over those of the fastest on the same problem")
        axis.grid(axis="both", color="0.92")
        axis.set_axisbelow(True)
        fig.legend(loc="outside right upper", frameon=False, fontsize=8)
        out = _files(fig)
        plt.close(fig)
    return out


def _files(fig: Any) -> dict[str, bytes]:
    """As PNG and as SVG; the same bytes every time."""
    out = {}
    for form, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
        buffer = io.BytesIO()
        fig.savefig(buffer, format=form, dpi=130, metadata=metadata)
        out[form] = buffer.getvalue()
    return out
