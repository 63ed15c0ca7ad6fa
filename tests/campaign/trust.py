"""The page of trust: docs/trust.md, written from the records of campaigns and never by hand.

What it counts stands in it as a comment in JSON, so that the next run adds up on it.
"""

import json
import re
from pathlib import Path
from typing import Any

from .counting import added, quantile, sum_up, total

PAGE = Path(__file__).parents[2] / "docs" / "trust.md"
MARK = re.compile(r"<!-- campaign: (.*) -->")

HEAD = """# What certificates are worth

This page is written by `python -m tests.campaign --trust FILE...` from the records of the runs
below; no figure in it was typed. A certificate is *wrong* if anything in it is refuted:
`P(x) - P(x')` above its `gap` for some x', its `dual` above `P(x')`, a `coef_error` below the
distance to the optimum, a `support` that no optimum has. P is computed in balls of 400 bits, which
contain the real number; x' is a point polished with a hundred digits. Whatever x' is, P(x') is at
least P*, so that a conviction of a gap or a dual is a proof; one of the other two rests on how
near x' is to the optimum, which Newton's method says. An acquittal is as good as x' is: it was the
optimum, as far as a gap could tell, on all but {unsettled} of the problems.

| | |
|---|---|
| problems | {problems} |
| certificates judged | {certificates} |
| of them proved bounds | {proved} |
| **wrong** | **{wrong}** |
| problems proved to have no minimiser | {without} |
"""

ASSUMED = """
## What is assumed

- The data are the floats that they are: A, b, weights, offset and strengths are read as exact real
  numbers, and `l1 p_j`, `w_i/W` are the real product and quotient. float32 data are those float32
  numbers.
- Arithmetic is IEEE 754 double precision, rounded to nearest, with gradual underflow.
- Inner products are conventional: each product is formed and they are added up in some order,
  fused or not. A fast matrix product in the manner of Strassen is not covered.
- The program, the interpreter and the processor do what they are said to do.
"""


def number(value: int) -> str:
    """Digits in groups of three."""
    return f"{value:,}".replace(",", " ")


def ratio(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:.0e}".replace("e+0", "e").replace("e+", "e")


def share(count: int, of: int) -> str:
    return f"{100.0 * count / of:.2f} %" if of else "0.00 %"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def page(runs: list[dict[str, Any]]) -> str:
    """All of the page, from what was counted."""
    sums = total(runs)
    parts = [
        HEAD.format(
            **{
                name: number(sums[name])
                for name in ("problems", "certificates", "proved", "wrong", "unsettled")
            },
            without=number(sums["no minimiser"]),
        )
    ]
    if sums["convictions"]:
        rows = [[what, number(count)] for what, count in sorted(sums["convictions"].items())]
        parts.append("\nThe judge's convictions, those of runs and traces included:\n")
        parts.append(table(["conviction", "calls"], rows) + "\n")
    parts += [_kinds(sums), _tightness(sums), ASSUMED, _runs(runs)]
    data = json.dumps({"runs": runs}, separators=(",", ":"), sort_keys=True)
    return "".join(parts) + f"\n<!-- campaign: {data.replace('--', '-&#45;')} -->\n"


def _kinds(sums: dict[str, Any]) -> str:
    count = sums["certificates"]
    rows = [
        [f"`{kind}`", number(some), share(some, count)]
        for kind, some in sorted(sums["kinds"].items(), key=lambda pair: -pair[1])
    ]
    out = "\n## Kinds, and where nothing is proved\n\n" + table(
        ["kind", "certificates", "share"], rows
    )
    left = count - sums["proved"]
    out += f"\n\nNothing is proved by {number(left)} of them ({share(left, count)}). "
    out += "The reasons given:\n\n"
    reasons = sorted(sums["reasons"].items(), key=lambda pair: -pair[1])
    rows = [
        [reason.replace("|", "\\|"), number(some), share(some, count)] for reason, some in reasons
    ]
    return out + (table(["reason", "certificates", "share"], rows) if rows else "none.") + "\n"


def _tightness(sums: dict[str, Any]) -> str:
    groups: dict[str, dict[str, dict[str, int]]] = {"loss": {}, "penalty": {}}
    for name, bins in sums["tightness"].items():
        for axis, key in zip(groups, name.split(" | "), strict=True):
            merged = groups[axis].setdefault(key, {})
            for at, some in bins.items():
                merged[at] = merged.get(at, 0) + some
    out = """
## What a proof costs

The proved bound over the largest of: the gap that plain float64 shows, the true P(x) - P*, and what
float64 can show at all, 1e-13 P (1e-11 P for logistic and multinomial). 1.0 stands for 1 and less;
values are the upper ends of bins of a tenth of a factor of ten.
"""
    out += f"The gap in float64 was known for {number(sums['with a float gap'])} of them; for the\n"
    out += "others the denominator is smaller than it should be, and the ratio larger.\n"
    for axis, some in groups.items():
        rows = [
            [
                name,
                number(sum(bins.values())),
                ratio(quantile(bins, 0.5)),
                ratio(quantile(bins, 0.99)),
            ]
            for name, bins in sorted(some.items())
        ]
        out += "\n" + table([axis, "certificates", "median", "99 %"], rows) + "\n"
    return out


def _runs(runs: list[dict[str, Any]]) -> str:
    out = "\n## How it was run\n\n"
    out += "Each is repeated by its command, problem by problem; see `tests/campaign`.\n\n"
    for run in runs:
        out += f"- `python -m tests.campaign --family {run['family']} --problems {run['problems']} "
        out += f"--seed {run['seed']}`, dualgap {', '.join(run['versions'])}\n"
    return out


def runs_of(text: str) -> list[dict[str, Any]]:
    """What a page was written from; nothing if it says nothing."""
    found = MARK.search(text)
    return json.loads(found[1].replace("-&#45;", "--"))["runs"] if found else []


def write_page(files: list[Path], path: Path = PAGE, *, anew: bool = False) -> None:
    """Add these runs to the page; ``anew`` forgets the runs that it had."""
    before = runs_of(path.read_text()) if path.exists() and not anew else []
    path.write_text(page(added(before, [run for file in files for run in sum_up(file)])))
