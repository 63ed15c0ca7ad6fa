"""How fast is a large svmlight file read, and with how much memory, next to scikit-learn's loader?

    python -m benchmarks loading [--megabytes 200] [--digits 6] [--folder SCRATCH]

Each loader reads the same file in a process of its own, after it has read a small one (imports,
compiled code). Memory is the rise of the largest resident set over the matrix that is returned.
The conversion into a folder that stays on disk has no such matrix: of private memory, which mapped
files do not count in, it may have no more than the limit.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

COLUMNS, PER_ROW = 50_000, 75  # like rcv1
SMALL = "1 1:0.5 3:2\n-1 2:1e-3\n"


def write(path: Path, size: int, digits: int) -> None:
    """A block of random rows, repeated until the file is as large as asked for."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(2000):
        columns = 1 + np.sort(rng.choice(COLUMNS, PER_ROW, replace=False))
        values = rng.standard_normal(PER_ROW)
        entries = " ".join(f"{j}:{v:.{digits}g}" for j, v in zip(columns, values, strict=True))
        rows.append(f"{rng.choice((-1, 1)):+d} {entries}\n")
    block = "".join(rows).encode()
    with path.open("wb") as file:
        for _ in range(max(1, round(size / len(block)))):
            file.write(block)


def load(name: str, path: str):
    """A and b by one of the loaders."""
    if name == "dualgap":
        from dualgap.datasets.svmlight import load_svmlight

        return load_svmlight(path)[:2]
    from sklearn.datasets import load_svmlight_file

    return load_svmlight_file(path)


def peak() -> int:
    """The largest resident set so far, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def measure(name: str, small: str, path: str) -> dict[str, float]:
    """What a process of its own does."""
    load(name, small)
    before, began, cpu = peak(), time.perf_counter(), time.process_time()
    A, b = load(name, path)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    kept = A.data.nbytes + A.indices.nbytes + A.indptr.nbytes + b.nbytes
    return {
        "seconds": seconds,
        "processor": cpu,
        "matrix": kept,
        "memory": (peak() - before) / kept,
        "sum": float(A.data.sum() + A.indices.astype(float).sum() + b.sum()),
    }


def conversion(paths: list[str], limit: int) -> dict[str, float]:
    """The same for a conversion, with a limit on private memory."""
    from dualgap.datasets import convert

    resource.setrlimit(resource.RLIMIT_DATA, (limit * 10**6, limit * 10**6))
    small, path = paths
    folder = Path(path).with_name("folder")
    convert(small, folder, overwrite=True)
    began, cpu = time.perf_counter(), time.process_time()
    made = convert(path, folder, overwrite=True)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
    private = 1024 * int(status["VmData"].split()[0])
    return {"seconds": seconds, "processor": cpu, "rows": made.shape[0], "private": private}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=200)
    parser.add_argument("--digits", type=int, default=6, help="significant digits of the values")
    parser.add_argument("--folder", help="where the file is made; a temporary folder by default")
    parser.add_argument("--limit", type=int, default=400, help="MB that a conversion may have")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        convert = options.measure[0] == "convert"
        found = conversion(options.measure[1:], options.limit) if convert else None
        print(json.dumps(found or measure(*options.measure)))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        small, large = Path(folder) / "small.svm", Path(folder) / "large.svm"
        small.write_text(SMALL)
        write(large, round(options.megabytes * 1e6), options.digits)
        megabytes = large.stat().st_size / 1e6
        found = {}
        for name in ("dualgap", "scikit-learn"):
            command = [sys.executable, "-m", "benchmarks.loading"]
            command += ["--measure", name, str(small), str(large)]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found[name] = got = json.loads(out)
            print(
                f"{name:12s} {got['seconds']:7.2f} s ({megabytes / got['seconds']:4.0f} MB/s), "
                f"peak memory {got['memory']:.2f} times the matrix of {got['matrix'] / 1e6:.0f} MB"
            )
        command = [sys.executable, "-m", "benchmarks.loading", f"--limit={options.limit}"]
        command += ["--measure", "convert", str(small), str(large)]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        got = json.loads(out)
        share = found["dualgap"]["processor"] / got["processor"]
        print(
            f"{'conversion':12s} {got['seconds']:7.2f} s ({megabytes / got['seconds']:4.0f} MB/s), "
            f"{got['private'] / 1e6:.0f} MB of private memory in the end, limit {options.limit}; "
            f"speed over our loader's, in processor time: {share:.2f}"
        )
    ours, theirs = found["dualgap"], found["scikit-learn"]
    assert ours["sum"] == theirs["sum"], "the loaders disagree"
    print(f"time over scikit-learn's: {ours['seconds'] / theirs['seconds']:.2f}")


if __name__ == "__main__":
    main()
