"""The file of a campaign, one JSON line a problem, and the tables made of it."""

import json
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import dualgap

CERTIFIED = "CONVERGED", "NO_MINIMISER"


def origin() -> dict[str, str]:
    """The version of the package, and the commit if there is one to be had."""
    home = str(Path(__file__).parent)
    git = ["git", "-C", home, "describe", "--always", "--abbrev=12", "--dirty", "--exclude=*"]
    try:
        commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        commit = "unknown"
    return {"version": dualgap.__version__, "commit": commit}


class Records:
    """What has been examined; with a path it is kept there, and taken up again from there."""

    def __init__(self, path: Path | None, seed: int) -> None:
        self.path, self.seed = path, seed
        self.rows: dict[tuple[str, int], dict[str, Any]] = {}
        if path is None:
            return
        if path.exists():
            self._read()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._append({"seed": seed, **origin()})

    def _read(self) -> None:
        assert self.path is not None
        whole = self.path.read_text()
        kept = whole[: whole.rfind("\n") + 1]  # a line that was cut short is written again
        if kept != whole:
            self.path.write_text(kept)
        lines = [json.loads(line) for line in kept.splitlines()]
        if not lines or lines[0].get("seed") != self.seed:
            theirs = lines[0].get("seed") if lines else "unknown"
            raise SystemExit(
                f"--out {self.path} belongs to seed {theirs}, not to {self.seed}; name another "
                "file or the same seed."
            )
        heads = [line for line in lines if "family" not in line]
        for row in lines:
            if "family" in row:
                self.rows[row["family"], row["index"]] = row
        if heads[-1] != {"seed": self.seed, **origin()}:  # another version goes on with it
            self._append({"seed": self.seed, **origin()})

    def _append(self, row: dict[str, Any]) -> None:
        if self.path is not None:
            with self.path.open("a") as out:
                out.write(json.dumps(row) + "\n")

    def add(self, row: dict[str, Any]) -> None:
        self.rows[row["family"], row["index"]] = row
        self._append(row)

    def __contains__(self, problem: tuple[str, int]) -> bool:
        return problem in self.rows


def table(head: Iterable[str], rows: list[list[Any]]) -> str:
    """Columns flush right, but for the first."""
    cells = [[str(cell) for cell in row] for row in ([*head], *rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )


def summary(rows: list[dict[str, Any]]) -> str:
    """Counts of the runs of `auto` by kind and status, shares, convictions, slow runs."""
    parts = []
    for family in ("old", "new", "rigor"):
        chosen = [row for row in rows if row["family"] == family]
        if chosen:
            parts.append(_family(family, chosen))
    return "\n\n".join(parts)


def _family(family: str, rows: list[dict[str, Any]]) -> str:
    auto = [(row, run) for row in rows for run in row["runs"] if run["algorithm"] == "auto"]
    named = [run for row in rows for run in row["runs"] if run["algorithm"] != "auto"]
    statuses = sorted({run["status"] for _, run in auto}, key=lambda s: (s not in CERTIFIED, s))
    counts = Counter((row["kind"], run["status"]) for row, run in auto)
    guilty = Counter(row["kind"] for row in rows if row["convictions"])
    kinds = sorted({row["kind"] for row in rows})
    lines = [
        [kind, sum(row["kind"] == kind for row in rows)]
        + [counts[kind, status] or "." for status in statuses]
        + [guilty[kind] or "."]
        for kind in kinds
    ]
    total = ["all", len(rows)]
    total += [sum(counts[kind, status] for kind in kinds) for status in statuses]
    head = [f"{family} kinds", "problems", *statuses, "convicted"]
    out = [table(head, [*lines, [*total, sum(guilty.values())]])]
    good = sum(
        run["status"] == "CONVERGED"
        or (run["status"] == "NO_MINIMISER" and row["minimiser"] == "none")
        for row, run in auto
    )
    answered = [run for _, run in auto if run["status"] != "REFUSED"]
    share = 100.0 * good / max(len(answered), 1)
    out.append(
        f"auto: {good} of {len(answered)} runs CONVERGED or a proved NO_MINIMISER ({share:.2f} %)"
    )
    out.append(f"named algorithms: {dict(Counter(run['status'] for run in named).most_common())}")
    out.append(_certificates(rows))
    out.append(_convictions(rows))
    far = sum(row.get("far", 0) for row in rows)
    out.append(f"STATIONARY, which claims nothing, and further from P* than tol: {far}")
    unsettled = sum(not row["settled"] for row in rows)
    out.append(f"the judge found P* as well as it matters on all but {unsettled} problems")
    times = sorted(row["seconds"] for row in rows)
    slow = sum(run["slow"] for row in rows for run in row["runs"])
    out.append(
        f"{sum(times):.0f} s of computing, {1e3 * sum(times) / len(times):.0f} ms a problem in the "
        f"mean, {times[-1]:.1f} s at most; {slow} runs slow"
    )
    return "\n".join(out)


def wrong(row: dict[str, Any]) -> int:
    """Certificates of a problem with anything false in them, each counted once."""
    return len({c["label"] for c in row["convictions"] if c["what"].startswith("false ")})


def _certificates(rows: list[dict[str, Any]]) -> str:
    """How many were judged, by kind."""
    kinds = Counter(one["kind"] for row in rows for one in row.get("certificates", ()))
    shown = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    return f"certificates: {sum(kinds.values())} ({shown})"


def _convictions(rows: list[dict[str, Any]]) -> str:
    by_what: dict[str, list[tuple[int, str]]] = {}
    for row in rows:
        for c in row["convictions"]:
            by_what.setdefault(c["what"], []).append((row["index"], row["kind"]))
    lines = []
    for what, found in sorted(by_what.items()):
        problems = sorted({index for index, _ in found})
        kinds = Counter(kind for _, kind in set(found)).most_common()
        shown = ", ".join(map(str, problems[:12])) + (", ..." if len(problems) > 12 else "")
        lines.append(
            f"  {what}: {len(found)} calls on {len(problems)} problems "
            f"({', '.join(f'{kind} {count}' for kind, count in kinds)}); indices {shown}"
        )
    certificates = sum(wrong(row) for row in rows)
    return "\n".join([f"false certificates: {certificates}; convictions:", *(lines or ["  none"])])
