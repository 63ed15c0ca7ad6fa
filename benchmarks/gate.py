"""Is this tree slower than that one? python -m benchmarks gate BASE_REF [--limit 1.25].

BASE_REF is checked out into a temporary git worktree. A few short measurements are taken in fresh
processes, of base and head in turn, head being the working tree as it is; the least processor time
of each side counts. Ratios beyond the limit are measured again before they count. Exits 1 if one
stays beyond.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 3
RUNS = 5
"""Calls of each measurement in a process; the best counts."""


def measurements() -> dict:
    """Short whole solves over what the package does; plain arguments, so that old bases run too."""
    import numpy as np
    import scipy.sparse as sp

    import dualgap

    rng = np.random.default_rng(0)
    A, b = dualgap.datasets.synthetic1(800, 300)
    labels = np.where(b > 0, 1.0, -1.0)
    S = sp.random_array((4000, 2000), density=0.01, format="csr", rng=rng)
    signs = np.where(S @ rng.standard_normal(2000) > 0, 1.0, -1.0)
    n = len(b)
    l1 = 0.05 * float(np.abs(A.T @ b).max()) / n
    long, short = 1e-2 / n, 1e-2 / len(signs)
    return {
        "ridge": lambda: dualgap.solve(A, b, l2=long),
        "elastic net": lambda: dualgap.solve(A, b, l1=l1, l2=long),
        "logistic": lambda: dualgap.solve(A, labels, loss="logistic", l2=long),
        "logistic, sparse": lambda: dualgap.solve(S, signs, loss="logistic", l2=short),
        "logistic, sparse, adf-spdc": lambda: dualgap.solve(
            S, signs, loss="logistic", l2=short, algorithm="adf-spdc"
        ),
        "ridge, 30 x 5": lambda: dualgap.solve(A[:30, :5], b[:30], l2=0.1),
    }


def measure() -> None:
    """In a process of its own: print the best seconds of each measurement as JSON."""
    import dualgap

    out: dict[str, float | str] = {"where": str(Path(dualgap.__file__).resolve())}
    for name, action in measurements().items():
        action()  # compiles
        times = []
        for _ in range(RUNS):
            began = time.process_time()  # one thread: the time others take is not in it
            action()
            times.append(time.process_time() - began)
        out[name] = min(times)
    print(json.dumps(out))


def run_in(tree: Path, cache: Path) -> dict[str, float]:
    """Measure the package of this tree."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = {
        **os.environ,
        **one,
        "PYTHONPATH": str(tree / "src"),
        "NUMBA_CACHE_DIR": str(cache),
    }
    # -P: the folder of this file is no place to import from
    command = [sys.executable, "-P", __file__, "--measure"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"the measurements fail in {tree}:\n{done.stderr}")
    out = json.loads(done.stdout)
    where = Path(out.pop("where"))
    if not where.is_relative_to(tree.resolve()):
        sys.exit(f"expected the package of {tree}, but {where} was imported.")
    return out


def compare(base: Path, head: Path, cache: Path, limit: float) -> dict[str, tuple[float, float]]:
    """Best seconds of base and head; what is beyond the limit gets twice the rounds more."""
    best: dict[str, tuple[float, float]] = {}
    for turn in range(3 * ROUNDS):
        if turn >= ROUNDS and all(new <= limit * old for old, new in best.values()):
            break
        old, new = run_in(base, cache / "base"), run_in(head, cache / "head")
        for name in new:
            so_far = best.get(name, (float("inf"), float("inf")))
            best[name] = (min(so_far[0], old[name]), min(so_far[1], new[name]))
    return best


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", metavar="BASE_REF", help="such as main, HEAD~1 or a commit")
    parser.add_argument("--limit", type=float, default=1.25, help="largest ratio allowed")
    options = parser.parse_args()
    commit = git("rev-parse", "--verify", "--end-of-options", options.base + "^{commit}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))  # after cleaning up
    with tempfile.TemporaryDirectory() as name:
        base = Path(name) / "base"
        git("worktree", "add", "--detach", str(base), commit)
        try:
            best = compare(base, ROOT, Path(name), options.limit)
        finally:
            git("worktree", "remove", "--force", str(base))
    print(f"head over {options.base} ({commit[:9]})")
    slow = []
    for measurement, (old, new) in best.items():
        mark = ""
        if new > options.limit * old:
            slow.append(measurement)
            mark = f"  beyond {options.limit:g}"
        print(f"  {measurement:28s} {1e3 * old:9.2f} {1e3 * new:9.2f} ms {new / old:6.2f}{mark}")
    if slow:
        sys.exit(f"slower: {', '.join(slow)}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--measure"]:
        measure()
    else:
        main()
