"""What runs of the campaign add up to: counts, and histograms from which quantiles are read.

Each run is summed up by itself, under the family, seed, version and commit that made it: the same
run given again takes the place of what was there, another one is added.
"""

import json
import math
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .records import wrong

BINS = 10
"""For each factor of ten of the tightness."""
KEY = "family", "seed", "version", "commit"

COUNTED = "problems", "proved", "wrong", "unsettled", "no minimiser", "with a float gap"


def bin_of(value: float) -> int:
    """0 up to 1; k for (10^((k-1)/BINS), 10^(k/BINS)]; what overflows is in the last one."""
    if value <= 1.0:
        return 0
    return math.ceil(round(BINS * math.log10(min(value, sys.float_info.max)), 9))


def quantile(bins: dict[str, int], share: float) -> float:
    """The upper end of the bin in which the quantile is; nan of nothing."""
    count, left = sum(bins.values()), math.ceil(share * sum(bins.values()))
    for at in sorted(bins, key=int):
        left -= bins[at]
        if left <= 0:
            return 10.0 ** (int(at) / BINS)
    return math.nan if not count else math.inf


def sum_up(path: Path) -> list[dict[str, Any]]:
    """The runs in a file, one for each family.

    The last version that had a part in it is the one that it goes by.
    """
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    heads = [line for line in lines if "family" not in line]
    if not heads:
        raise SystemExit(f"{path} is no file of a campaign: it names no seed.")
    rows = {(line["family"], line["index"]): line for line in lines if "family" in line}
    by = {name: heads[-1].get(name, "unknown") for name in KEY}
    by["versions"] = sorted({f"{h.get('version')} ({h.get('commit')})" for h in heads})
    families = sorted({family for family, _ in rows})
    return [
        {**by, **_counts(row for row in rows.values() if row["family"] == family), "family": family}
        for family in families
    ]


def _counts(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    kinds, reasons, whats = Counter(), Counter(), Counter()
    groups: dict[str, Counter[str]] = {}
    judged = Counter[str]()
    for row in rows:
        judged["problems"] += 1
        judged["wrong"] += wrong(row)
        judged["unsettled"] += not row["settled"]
        judged["no minimiser"] += row["minimiser"] == "none"
        whats.update(c["what"] for c in row["convictions"])
        group = f"{row['loss']} | {row.get('penalty', 'unknown')}"
        for one in row.get("certificates", ()):
            kinds[one["kind"]] += 1
            judged["proved"] += one["certified"]
            judged["with a float gap"] += one.get("float", False)
            if not one["certified"]:
                reasons[one.get("reason") or "no reason was given"] += 1
            elif one.get("tight") is not None:
                groups.setdefault(group, Counter())[str(bin_of(one["tight"]))] += 1
    return {
        "certificates": sum(kinds.values()),
        **{name: judged[name] for name in COUNTED},
        "kinds": dict(kinds),
        "reasons": dict(reasons),
        "convictions": dict(whats),
        "tightness": {group: dict(bins) for group, bins in sorted(groups.items())},
    }


def added(before: list[dict[str, Any]], more: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The runs of both; of the same run the later account."""
    runs = {tuple(run[name] for name in KEY): run for run in [*before, *more]}
    return [runs[key] for key in sorted(runs, key=str)]


def total(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The sum of all runs, number by number."""
    out: dict[str, Any] = {}
    for run in runs:
        for name, value in run.items():
            if name not in (*KEY, "versions"):
                out[name] = _plus(out.get(name), value)
    return out


def _plus(first: Any, second: Any) -> Any:
    if first is None:
        return second
    if not isinstance(second, dict):
        return first + second
    return {key: _plus(first.get(key), second.get(key, 0)) if key in second else first[key]
            for key in sorted({*first, *second})}  # fmt: skip
