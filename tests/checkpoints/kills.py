"""Kill `dualgap fit` at random moments, resume it each time, and compare with a fit left alone.

    python -m tests.checkpoints.kills --kills 50 [--algorithm newton] [--on-disk] [--folder SCRATCH]

Half of the kills fall anywhere in the life of a process, its start among them; the others while it
writes one checkpoint after the other. The model in the end is to be the same file to the last bit.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dualgap.checkpoints import files
from dualgap.datasets import convert

FITS = {
    "adf-bpd": ("--loss", "logistic", "--l2", "1e-5", "--fit-intercept"),
    "newton": ("--loss", "logistic", "--l2", "1e-9"),
    "working-set": ("--loss", "logistic", "--l1", "1e-3"),
    "adf-spdc": ("--loss", "logistic", "--l2", "1e-5"),
    "svrg": ("--loss", "smoothed_hinge", "--l2", "1e-5"),
    "ada-bpd": ("--loss", "smoothed_hinge", "--l1", "1e-4", "--l2", "1e-5"),
}
"""What is fitted, one after the other, until there were enough kills."""
LIMITS = ("--tol", "1e-12", "--max-passes", "400")


def write_data(folder: Path, n: int, d: int) -> Path:
    """Columns of many units, and labels that no hyperplane separates."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((n, d)) * np.logspace(-1.5, 0.0, d)
    b = np.sign(A @ rng.standard_normal(d) + rng.standard_normal(n))
    np.savez(folder / "data.npz", A=A, b=b)
    return folder / "data.npz"


def on_disk(data: Path) -> Path:
    """The same in a folder of arrays."""
    return convert(data, data.with_suffix("")).path


def start(data: Path, algorithm: str, out: Path, *more: str | Path) -> subprocess.Popen[bytes]:
    """A fit in a process of its own."""
    fit = [sys.executable, "-m", "dualgap", "fit", data, "--algorithm", algorithm]
    command = [*fit, *FITS[algorithm], *LIMITS, "--out", out, *more]
    return subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL)


def killed(
    data: Path, algorithm: str, folder: Path, rng: np.random.Generator, most: int
) -> Iterator[str]:
    """Kill a fit up to so often, and then let it end; yields what was killed when."""
    checkpoint, out = folder / f"{algorithm}.npz", folder / f"{algorithm}-resumed.json"
    kept = ("--checkpoint", checkpoint, "--checkpoint-every", "0 s", "--resume")
    life = 2.0
    for number in range(most):
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        began = time.monotonic()
        process = start(data, algorithm, out, *kept)
        if number % 2:
            time.sleep(rng.uniform(0.0, life))
        else:
            while process.poll() is None:
                if checkpoint.exists() and checkpoint.stat().st_mtime_ns > before:
                    life = time.monotonic() - began + 0.2
                    break
                time.sleep(0.005)
            time.sleep(rng.uniform(0.0, 0.3))
        if process.poll() is not None:
            assert process.returncode in (0, 3)
            break
        process.kill()
        process.wait()
        reached = "no checkpoint yet"
        if checkpoint.exists():
            trace = files.read(checkpoint).arrays["trace"]
            reached = f"{len(trace)} checks, {trace[-1, 0]:g} passes"
        parts = [path.name for path in folder.glob(".*.part")]
        assert len(parts) <= 1, parts
        yield f"{algorithm} killed after {time.monotonic() - began:.2f} s: {reached}"
    assert start(data, algorithm, out, *kept).wait() in (0, 3)


def same_end(data: Path, algorithm: str, folder: Path) -> bool:
    """Whether the model is that of a fit that nobody has killed."""
    alone = folder / f"{algorithm}-alone.json"
    assert start(data, algorithm, alone).wait() in (0, 3)
    return alone.read_bytes() == (folder / f"{algorithm}-resumed.json").read_bytes()


def main() -> int:
    """Count kills, and say whether all ends were the same."""
    parser = argparse.ArgumentParser(description="Kill fits, resume them, compare the models.")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument(
        "--algorithm", action="append", choices=FITS, help="repeatable; all of them"
    )
    parser.add_argument("--on-disk", action="store_true", help="fit a folder of arrays")
    parser.add_argument("--folder", type=Path, help="where to write; a temporary one by default")
    given = parser.parse_args()
    rng, kills, ends, differing = np.random.default_rng(given.seed), 0, 0, []
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        data = write_data(Path(name), given.rows, 50)
        data = on_disk(data) if given.on_disk else data
        fits = given.algorithm or [*FITS]
        while kills < given.kills:
            for algorithm in fits:
                folder = Path(tempfile.mkdtemp(dir=name))
                most = min(given.kills - kills, -(-given.kills // len(fits)))
                for line in killed(data, algorithm, folder, rng, most):
                    kills += 1
                    print(line, flush=True)
                ends += 1
                if not same_end(data, algorithm, folder):
                    differing.append(algorithm)
                if kills >= given.kills:
                    break
    verdict = f"differing: {', '.join(differing)}" if differing else "all the same to the last bit"
    print(f"{kills} kills, {ends} fits ended: {verdict}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
