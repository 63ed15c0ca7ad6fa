"""From rungs to times, ratios and a table. Nothing here measures."""

from __future__ import annotations

import math
from typing import Any

from benchmarks.race.measure import TARGETS

OURS = "dualgap/auto"
SHORT = 5e-3
"""Below this best time, differences count and not ratios."""
COUNTS = TARGETS[1]
WRONG = 1e-3
"""Who cannot get below this solves something else."""


def optimum(entry: dict[str, Any]) -> float:
    """P*: the least value seen."""
    values = [entry["reference"]["primal"]]
    for result in entry["contestants"].values():
        values += [rung["primal"] for rung in result["rungs"]]
    return min(v for v in values if v is not None and math.isfinite(v))


def suboptimality(entry: dict[str, Any], rung: dict[str, Any]) -> float:
    """(P - P*)/(P(0) - P*)."""
    least = optimum(entry)
    return (rung["primal"] - least) / (entry["primal_at_zero"] - least)


def winning_rung(entry: dict[str, Any], label: str, target: float) -> dict[str, Any] | None:
    """The fastest call of a contestant that meets the target."""
    rungs = entry["contestants"].get(label, {}).get("rungs", [])
    good = [rung for rung in rungs if suboptimality(entry, rung) <= target]
    return min(good, key=lambda rung: rung["seconds"], default=None)


def seconds(entry: dict[str, Any], label: str, target: float = COUNTS) -> float:
    """Time to the target, inf if it was not met."""
    rung = winning_rung(entry, label, target)
    return math.inf if rung is None else rung["seconds"]


def best_peer(entry: dict[str, Any], target: float = COUNTS) -> tuple[str, float]:
    """The fastest that is not ours."""
    peers = [label for label in entry["contestants"] if not label.startswith("dualgap/")]
    times = {label: seconds(entry, label, target) for label in peers}
    label = min(times, key=lambda name: times[name], default="")
    return (label, times[label]) if label and math.isfinite(times[label]) else ("none", math.inf)


def line(entry: dict[str, Any], label: str) -> str:
    """One contestant on one problem: its three times, and what is to be said."""
    cells = [f"{1e3 * seconds(entry, label, target):9.2f}" for target in TARGETS]
    return " ".join(cells) + " ms" + _remark(entry, label)


def _remark(entry: dict[str, Any], label: str) -> str:
    result = entry["contestants"][label]
    parts = [result["note"]] if result["note"] else []
    if result["rungs"]:
        floor = min(suboptimality(entry, rung) for rung in result["rungs"])
        if floor > WRONG and not result["note"]:
            parts.append("DOES NOT SOLVE THIS OBJECTIVE")
        if floor > TARGETS[-1]:
            parts.append(f"floor {floor:.1e}")
    return f"  ({'; '.join(parts)})" if parts else ""


def rows(problems: dict[str, Any]) -> list[dict[str, Any]]:
    """Ours over the best peer, problem by problem."""
    out = []
    for name, entry in problems.items():
        peer, theirs = best_peer(entry)
        ours = seconds(entry, OURS)
        rung = winning_rung(entry, OURS, COUNTS)
        own = [label for label in entry["contestants"] if label.startswith("dualgap/")]
        best_own = min(own, key=lambda label: seconds(entry, label), default=OURS)
        out.append(
            {
                "problem": name,
                "ours": ours,
                "member": rung["extra"].get("algorithm", "") if rung else "",
                "peer": peer,
                "theirs": theirs,
                "ratio": _ratio(ours, theirs),
                "best own": best_own,
                "hindsight": _ratio(ours, seconds(entry, best_own)),
            }
        )
    return out


def _ratio(ours: float, theirs: float) -> float:
    if math.isinf(theirs):
        return math.nan if math.isinf(ours) else 0.0
    return ours / theirs


def text(problems: dict[str, Any]) -> str:
    """The table and what it comes to."""
    table = rows(problems)
    lines = [
        f"time to (P - P*)/(P(0) - P*) <= {COUNTS:g}, in ms",
        f"{'problem':40s} {'ours':>9s} {'best peer':>9s} {'ratio':>6s}  member -- peer",
    ]
    for row in table:
        lines.append(
            f"{row['problem']:40s} {1e3 * row['ours']:9.2f} {1e3 * row['theirs']:9.2f} "
            f"{row['ratio']:6.2f}  {row['member']} -- {row['peer']}"
        )
    raced = [
        row for row in table if row["problem"] and OURS in problems[row["problem"]]["contestants"]
    ]
    return "\n".join(lines + _summary(raced) + _clocks(problems) + _caught(problems))


def _summary(table: list[dict[str, Any]]) -> list[str]:
    long = [row for row in table if row["theirs"] > SHORT]
    short = [row for row in table if row["theirs"] <= SHORT]
    lines = []
    met = [row["ratio"] for row in long if 0.0 < row["ratio"] < math.inf]
    if long:
        wins = sum(row["ratio"] <= 1.0 for row in long)
        worst = max(long, key=lambda row: math.inf if math.isnan(row["ratio"]) else row["ratio"])
        mean = math.exp(sum(map(math.log, met)) / len(met)) if met else math.nan
        missed = len(long) - len(met)
        lines += [
            f"best peer above {1e3 * SHORT:g} ms, {len(long)} problems: "
            f"geometric mean of the ratios {mean:.2f}"
            + (f" (without {missed} where one side has no time)" if missed else ""),
            f"  at most 1.0 on {wins} of {len(long)} ({100 * wins / len(long):.0f} %); "
            f"worst {worst['ratio']:.2f}, {worst['problem']}",
        ]
    if short:
        worst = max(short, key=lambda row: row["ours"] - row["theirs"])
        within = sum(row["ours"] - row["theirs"] <= SHORT for row in short)
        more = 1e3 * (worst["ours"] - worst["theirs"])
        lines += [
            f"best peer up to {1e3 * SHORT:g} ms, {len(short)} problems: at most "
            f"{1e3 * SHORT:g} ms more on {within}; worst {more:+.2f} ms, {worst['problem']}"
        ]
    if hindsight := [row for row in table if row["best own"] != OURS]:
        worst = max(hindsight, key=lambda row: row["hindsight"])
        lines.append(
            f"auto over our best algorithm in hindsight: worst {worst['hindsight']:.2f}, "
            f"{worst['problem']} ({worst['best own']})"
        )
    members: dict[str, int] = {}
    for row in table:
        members[row["member"] or "none"] = members.get(row["member"] or "none", 0) + 1
    shown = ", ".join(f"{name} {count}" for name, count in sorted(members.items()))
    return ["", *lines, *([f"members run by auto: {shown}"] if table else [])]


def _clocks(problems: dict[str, Any]) -> list[str]:
    """Times of different clocks are no ratios."""
    clocks = {
        result.get("clock", "wall")
        for entry in problems.values()
        for result in entry["contestants"].values()
    }
    if clocks == {"wall"}:
        return []
    mixed = " MIXED: measure one side --again" if len(clocks) > 1 else ""
    return [f"clock: {' and '.join(sorted(clocks))}{mixed}"]


def _caught(problems: dict[str, Any]) -> list[str]:
    """Peers that end, but not near P*."""
    found: dict[str, list[str]] = {}
    for name, entry in problems.items():
        for label in entry["contestants"]:
            if "DOES NOT SOLVE" in _remark(entry, label):
                found.setdefault(label, []).append(name)
    return [f"does not approach P*: {label} on {', '.join(on)}" for label, on in found.items()]
