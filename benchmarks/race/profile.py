"""The performance profile of Dolan and More: the share of problems within a factor of the best."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.race import report

SHOWN = 7
"""Contestants drawn, ours first."""
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999")
"""Okabe and Ito's, told apart by colour-blind readers too; the dashes say it again."""
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 3)), (0, (3, 3)))


def factors(problems: dict[str, Any]) -> dict[str, np.ndarray]:
    """For each contestant, its time over the best on each problem (inf where it has none)."""
    labels = sorted({label for entry in problems.values() for label in entry["contestants"]})
    times = np.array(
        [[report.seconds(entry, label) for entry in problems.values()] for label in labels]
    ).reshape(len(labels), len(problems))
    solved = np.isfinite(times).any(axis=0)
    times = times[:, solved]
    return dict(zip(labels, times / times.min(axis=0, initial=math.inf), strict=True))


def draw(problems: dict[str, Any], path: Path, largest: float = 10.0) -> Path | None:
    """Draw ours and the peers with the most area under their curves; None without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        print("no performance profile: matplotlib is not installed.")
        return None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    by_label = factors(problems)
    if not by_label:
        return None

    def area(label: str) -> float:
        return float(np.clip(np.log(largest) - np.log(by_label[label]), 0.0, None).sum())

    peers = [label for label in by_label if not label.startswith("dualgap/")]
    ours = [label for label in by_label if label == report.OURS]
    shown = ours + sorted(peers, key=area, reverse=True)[:SHOWN]
    figure, axes = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
    count = len(next(iter(by_label.values())))
    for label, colour, dash in zip(shown, COLOURS[not ours :], DASHES[not ours :], strict=False):
        reached = np.sort(by_label[label][by_label[label] <= largest])
        steps = np.concatenate(([1.0], reached, [largest]))
        shares = np.concatenate(([0.0], np.arange(1, reached.size + 1), [reached.size])) / count
        width = 2.5 if label == report.OURS else 1.5
        axes.step(
            steps, shares, where="post", color=colour, linestyle=dash, linewidth=width, label=label
        )
    axes.set(
        xscale="log",
        xlim=(1.0, largest),
        ylim=(0.0, 1.02),
        xlabel="time over the best time of all contestants",
        ylabel=f"share of the {count} problems",
        title=f"Time to relative suboptimality {report.COUNTS:g}, one thread",
    )
    ticks = [tick for tick in (1, 2, 3, 5, 10) if tick <= largest]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return path
