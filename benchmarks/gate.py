"""Is this tree slower than that one? python -m benchmarks gate BASE_REF [--limit 1.15] [--fits].

BASE_REF is checked out into a temporary git worktree. The cases of `gate_cases` are measured in
fresh processes, of base, head and base once more in turn, head being the working tree as it is; the
least processor time of each side counts. With --fits the cases are default fits on the real data
sets instead (`gate_fits`). The second base shows what the same code differs by on this machine:
head is to be judged beside it. Cases with a ratio beyond the limit are measured again before they
count. Exits 1 if one of head stays beyond.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks.data_sets import folder

ROOT = Path(__file__).resolve().parents[1]
CASES = Path(__file__).with_name("gate_cases.py")
FITS = Path(__file__).with_name("gate_fits.py")
ROUNDS = 4
MORE_ROUNDS = 8
"""For cases beyond the limit."""


class Seconds(NamedTuple):
    """The best of one case; infinite where the tree cannot run it."""

    base: float
    head: float
    again: float
    """Of base, measured as head is."""

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", metavar="BASE_REF", help="such as main, HEAD~1 or a commit")
    parser.add_argument("--limit", type=float, default=1.15, help="largest ratio allowed")
    parser.add_argument("--fits", action="store_true", help="default fits on the real data sets")
    options = parser.parse_args()
    if options.fits and folder() is None:
        sys.exit("--fits needs the real data sets: name their folder in DUALGAP_DATA.")
    commit = git("rev-parse", "--verify", "--end-of-options", options.base + "^{commit}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))  # after cleaning up
    with tempfile.TemporaryDirectory() as name:
        base = Path(name) / "base"
        git("worktree", "add", "--detach", str(base), commit)
        try:
            best = compare(
                base, ROOT, Path(name) / "caches", options.limit, FITS if options.fits else CASES
            )
        finally:
            git("worktree", "remove", "--force", str(base))
    print(f"head over {options.base} ({commit[:9]}), and that base over itself")
    print("\n".join(table(best, options.limit)))
    slow = [case for case, seconds in best.items() if seconds.ratio > options.limit]
    if slow:
        sys.exit(f"slower: {', '.join(slow)}")


if __name__ == "__main__":
    main()
