"""Is this tree slower than that one? python -m benchmarks gate BASE_REF [--fits] [--record].

BASE_REF is checked out into a temporary git worktree. The cases of `gate_cases` are measured in
fresh processes, of base, head and base once more in turn, head being the working tree as it is; the
least processor time of each side counts. With --fits the cases are default fits on the real data
sets instead (`gate_fits`). The second base shows what the same code differs by on this machine:
head is to be judged beside it. Cases with a ratio beyond the limit, 1.15 or --limit, are measured
again before they count. Exits 1 if one of head stays beyond.

With --record the table is also written to benchmarks/history/VERSION.md (with --fits to
VERSION-fits.md), VERSION being that of pyproject.toml: one file for each release, which says what
was measured and with which libraries, so that releases can be compared later. It names the commit
of head, and is therefore written only if what was measured is what that commit holds.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from benchmarks.data_sets import folder as data_folder

ROOT = Path(__file__).resolve().parents[1]
CASES = Path(__file__).with_name("gate_cases.py")
FITS = Path(__file__).with_name("gate_fits.py")
HISTORY = Path(__file__).with_name("history")
"""The folder of recorded tables, one file for each release."""
LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn")
"""The libraries whose versions a recorded table names, because their speed is part of ours."""
ROUNDS = 4
"""How often each side is measured: the best of four processes varies by a few per cent."""
MORE_ROUNDS = 8
"""How often a case beyond the limit is measured again before it counts as slower."""


class Seconds(NamedTuple):
    """The best of one case; infinite where the tree cannot run it."""

    base: float
    """Seconds that the commit takes to which the working tree is compared."""
    head: float
    """Seconds that the working tree takes."""
    again: float
    """Seconds that base takes in runs of its own, which are measured as those of head are."""

    @property
    def comparable(self) -> bool:
        """Whether base could run it."""
        return math.isfinite(self.base)

    @property
    def ratio(self) -> float:
        """Head over base."""
        return self.head / self.base

    @property
    def spread(self) -> float:
        """Base over base: 1 but for what the machine does."""
        return self.again / self.base

    def beyond(self, limit: float) -> bool:
        """Whether one of the ratios is, and the case worth another look."""
        return self.comparable and max(self.ratio, self.spread, 1.0 / self.spread) > limit


NEVER = Seconds(math.inf, math.inf, math.inf)


def run_in(
    tree: Path, cache: Path, wanted: list[str], *, whole: bool, cases: Path = CASES
) -> dict[str, float]:
    """Best seconds of the wanted cases, of all if none is named, with the package of this tree.

    Where it cannot run a case they are infinite, unless it has to run the ``whole`` of them.
    """
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = {
        **os.environ,
        **one,
        "PYTHONPATH": os.pathsep.join((str(tree / "src"), str(ROOT))),
        "NUMBA_CACHE_DIR": str(cache),
    }
    # -P: the folder of that file is no place to import from
    command = [sys.executable, "-P", str(cases), *wanted]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"the measurements fail in {tree}:\n{done.stderr}")
    out = json.loads(done.stdout)
    where = Path(out["where"])
    if not where.is_relative_to(tree.resolve()):
        sys.exit(f"expected the package of {tree}, but {where} was imported.")
    if whole and None in out["best"].values():
        sys.exit(f"cases fail in {tree}:\n{done.stderr}")
    return {name: math.inf if best is None else best for name, best in out["best"].items()}


def compare(
    base: Path, head: Path, cache: Path, limit: float, cases: Path = CASES
) -> dict[str, Seconds]:
    """Best seconds of base, head and base; what is beyond the limit gets more rounds."""
    best: dict[str, Seconds] = {}
    sides = ("base", "head", "again")
    homes = {"base": (base, cache / "base"), "head": (head, cache / "head")}
    homes["again"] = homes["base"]
    for side in ("base", "head"):  # compiles, which leaves a process slower than others
        run_in(*homes[side], [], whole=side == "head", cases=cases)
    for turn in range(ROUNDS + MORE_ROUNDS):
        suspects = [name for name, seconds in best.items() if seconds.beyond(limit)]
        if turn >= ROUNDS and not suspects:
            break
        wanted = suspects if turn >= ROUNDS else []
        shift = turn % len(sides)  # no side is always the first
        for side in sides[shift:] + sides[:shift]:
            found = run_in(*homes[side], wanted, whole=side == "head", cases=cases)
            for name, seconds in found.items():
                known = best.get(name, NEVER)
                best[name] = known._replace(**{side: min(getattr(known, side), seconds)})
    return best


def mean_ratio(ratios: list[float]) -> float:
    """The geometric mean."""
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios))


def table(best: dict[str, Seconds], limit: float) -> list[str]:
    """A line for each case, the geometric means, and the worst."""
    lines = [f"  {'':44s} {'base':>9s} {'head':>9s} {'':2s} {'head/base':>9s} {'base/base':>9s}"]
    for name, seconds in best.items():
        if not seconds.comparable:
            lines.append(f"  {name:44s} {'-':>9s} {1e3 * seconds.head:9.2f} ms  base cannot run it")
            continue
        mark = f"  beyond {limit:g}" if seconds.ratio > limit else ""
        lines.append(
            f"  {name:44s} {1e3 * seconds.base:9.2f} {1e3 * seconds.head:9.2f} ms "
            f"{seconds.ratio:9.3f} {seconds.spread:9.3f}{mark}"
        )
    known = [seconds for seconds in best.values() if seconds.comparable]
    if known:
        both = ([s.ratio for s in known], [s.spread for s in known])
        for what, of in (
            ("geometric mean", mean_ratio),
            ("median", statistics.median),
            ("largest", max),
            ("smallest", min),
        ):
            one, other = map(of, both)
            lines.append(f"  {what:44s} {'':9s} {'':9s}    {one:9.3f} {other:9.3f}")
    return lines


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


def release() -> str:
    """The version in pyproject.toml, which is that of the working tree, installed or not."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])


def committed_head() -> str:
    """The commit of the working tree; ends the program if what is measured differs from it."""
    measured = ("pyproject.toml", "src", "benchmarks", ":!benchmarks/history")
    if changed := git("status", "--porcelain", "--", *measured):
        sys.exit(f"--record names the commit of head; commit these changes first:\n{changed}")
    return git("rev-parse", "HEAD")


def record(folder: Path, name: str, title: str, head: str, lines: list[str]) -> Path:
    """Write a table and what it was measured with; neither dates nor the machine are named."""
    libraries = ", ".join(f"{library} {version(library)}" for library in LIBRARIES)
    text = [
        f"# {name}: {title}",
        "",
        f"- Head is commit {head[:12]}.",
        f"- Measured with Python {platform.python_version()}, {libraries}.",
        "- Seconds are the least processor time of one thread; `benchmarks/gate.py` says how.",
        "",
        "```text",
        *lines,
        "```",
    ]
    folder.mkdir(exist_ok=True)
    file = folder / f"{name}.md"
    file.write_text("\n".join(text) + "\n")
    return file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", metavar="BASE_REF", help="such as main, HEAD~1 or a commit")
    parser.add_argument("--limit", type=float, default=1.15, help="largest ratio allowed")
    parser.add_argument("--fits", action="store_true", help="default fits on the real data sets")
    parser.add_argument(
        "--record", action="store_true", help="write the table to benchmarks/history/VERSION.md"
    )
    options = parser.parse_args()
    if options.fits and data_folder() is None:
        sys.exit("--fits needs the real data sets: name their folder in DUALGAP_DATA.")
    head = committed_head() if options.record else ""  # before minutes of measuring
    commit = git("rev-parse", "--verify", "--end-of-options", options.base + "^{commit}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))  # after cleaning up
    with tempfile.TemporaryDirectory() as temporary:
        base = Path(temporary) / "base"
        git("worktree", "add", "--detach", str(base), commit)
        try:
            cases = FITS if options.fits else CASES
            best = compare(base, ROOT, Path(temporary) / "caches", options.limit, cases)
        finally:
            git("worktree", "remove", "--force", str(base))
    title = f"head over {options.base} ({commit[:9]}), and that base over itself"
    lines = table(best, options.limit)
    print(title)
    print("\n".join(lines))
    if options.record:
        name = release() + ("-fits" if options.fits else "")
        print(f"recorded in {record(HISTORY, name, title, head, lines)}")
    slow = [case for case, seconds in best.items() if seconds.ratio > options.limit]
    if slow:
        sys.exit(f"slower: {', '.join(slow)}")


if __name__ == "__main__":
    main()
