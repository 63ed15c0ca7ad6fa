"""Fits on data that stay on disk: python -m benchmarks disk [--rows 1e7] [--folder DIR].

The data are made by this command, some rows after the others: 100 columns whose Gram matrix has a
condition number of 1e5 or so, of which the targets are a model with noise. Every fit is a process
of its own that may have 0.5 GiB of private memory (RLIMIT_DATA; pages of mapped files are not
private), and prints readings of the data by the fit and by its certificate, the certified gap, the
most private memory, and seconds of the processor beside those of a plain sum of all entries.

With --sparse the data are 1e5 columns with 30 entries a row, drawn by Zipf's law.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import dualgap
from dualgap.designs import Chunk, Cuts, Design, SparseDesign
from dualgap.designs.dense import DenseRows

LIMIT = 1 << 29
"""Bytes of private memory that a fit may have."""
COLUMNS, SPARSE_COLUMNS, ENTRIES = 100, 100_000, 30
AT_ONCE = 20_000
"""Rows that are made together, and read together of sparse data."""
DENSE_ROWS = 2600


class Mapped(Design, counts=True):
    """Rows in mapped files, dense or sparse, which are not held."""

    holds_rows = False

    def __init__(self, folder: Path, share: float = 1.0) -> None:
        self.is_sparse = (folder / "indptr.npy").exists()
        names = ("data", "indices", "indptr") if self.is_sparse else ("A",)
        self.arrays = [np.load(folder / f"{name}.npy", mmap_mode="r") for name in names]
        n = int(share * (len(self.arrays[-1]) - self.is_sparse))
        self.shape = (n, SPARSE_COLUMNS if self.is_sparse else self.arrays[0].shape[1])
        self.cuts = Cuts((0, n), AT_ONCE if self.is_sparse else DENSE_ROWS)
        self.tasks: Counter[str] = Counter()

    def rows_at(self, at: slice) -> Design:
        if not self.is_sparse:
            return DenseRows(np.asarray(self.arrays[0][at]))
        data, indices, indptr = self.arrays
        ends = np.asarray(indptr[at.start : at.stop + 1])
        low, high = int(ends[0]), int(ends[-1])
        shape = (at.stop - at.start, self.shape[1])
        local = (ends - low).astype(np.int32)
        rows = sp.csr_array((data[low:high], indices[low:high], local), shape=shape)
        rows.has_canonical_format = True
        return SparseDesign(rows)

    def chunks(self, part: int) -> Any:
        for at in self.cuts.chunks(part):
            self.ledger.rows += at.stop - at.start
            yield Chunk(at, self.rows_at(at))

    def blocks(self, rows: int) -> Any:
        for start in range(0, self.shape[0], rows):
            at = slice(start, min(start + rows, self.shape[0]))
            self.ledger.rows += at.stop - at.start
            (block,) = (b for _, b in self.rows_at(at).blocks(rows))
            yield at, block

    def map_rows(self, task: Any, rows: Any, *args: Any) -> Any:
        self.tasks[task.__name__] += 1
        return super().map_rows(task, rows, *args)


def make(folder: Path, n: int, sparse: bool) -> None:
    """Write the data, unless they are there."""
    if (folder / "facts.json").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    d = SPARSE_COLUMNS if sparse else COLUMNS
    x = rng.standard_normal(d)
    targets, signs = (
        np.lib.format.open_memmap(folder / f"{name}.npy", "w+", float, (n,))
        for name in ("b", "labels")
    )
    write = make_sparse if sparse else make_dense
    for at, A in write(folder, n, rng):
        z = A @ x
        z *= 2.0 / (np.sqrt(ENTRIES) if sparse else np.sqrt(np.mean(z * z)))
        targets[at] = z + rng.standard_normal(len(z)) + 0.5
        signs[at] = np.sign(z + rng.logistic(size=len(z)) + 0.5)
    signs[signs == 0.0] = 1.0
    facts = {}
    for name, b in (("b", targets), ("labels", signs)):
        for centred in (False, True):
            r = np.asarray(b) - (float(np.mean(b)) if centred else 0.0)
            r *= 0.5 if name == "labels" else 1.0
            design = Mapped(folder)
            u = design.map_rows(adjoint, (r,))[1][0]
            facts[f"{name}, {'intercept' if centred else 'none'}"] = float(np.abs(u).max() / n)
    (folder / "facts.json").write_text(json.dumps(facts))


def adjoint(chunk: Chunk, rows: Any) -> Any:
    """A'r."""
    return (), (chunk.rmatvec(rows[0]),)


def make_dense(folder: Path, n: int, rng: Any) -> Any:
    """Columns in units from 1 to 100 that share a factor."""
    out = np.lib.format.open_memmap(folder / "A.npy", "w+", float, (n, COLUMNS))
    units = np.logspace(0.0, 2.0, COLUMNS)
    for start in range(0, n, AT_ONCE):
        at = slice(start, min(start + AT_ONCE, n))
        rows = at.stop - start
        out[at] = (rng.standard_normal((rows, COLUMNS)) + rng.standard_normal((rows, 1))) * units
        yield at, out[at] / units
    out.flush()


def make_sparse(folder: Path, n: int, rng: Any) -> Any:
    """ENTRIES values a row in columns drawn with probabilities that fall like 1/rank."""
    share = 1.0 / np.arange(1, SPARSE_COLUMNS + 1)
    ends = np.cumsum(share / share.sum())
    data, indices, indptr, used = [], [], [np.zeros(1, np.int64)], 0
    for start in range(0, n, AT_ONCE):
        rows = min(AT_ONCE, n - start)
        drawn = np.searchsorted(ends, rng.random(rows * ENTRIES)).astype(np.int32)
        starts = np.arange(0, rows * ENTRIES + 1, ENTRIES, dtype=np.int32)
        values = rng.standard_normal(rows * ENTRIES)
        drawn = np.minimum(drawn, SPARSE_COLUMNS - 1)
        A = sp.csr_array((values, drawn, starts), shape=(rows, SPARSE_COLUMNS))
        A.sum_duplicates()
        data.append(A.data), indices.append(A.indices.astype(np.int32))
        indptr.append(A.indptr[1:].astype(np.int64) + used)
        used += A.nnz
        yield slice(start, start + rows), A
    for name, parts in (("data", data), ("indices", indices), ("indptr", indptr)):
        np.save(folder / f"{name}.npy", np.concatenate(parts))


def cases(n: int, facts: dict[str, float], sparse: bool) -> dict[str, dict[str, Any]]:
    """What is fitted, by name."""
    out: dict[str, dict[str, Any]] = {}
    for c in ("none", "intercept"):
        free = {"fit_intercept": c == "intercept"}
        mark = ", intercept" if c == "intercept" else ""
        most, steep = facts[f"b, {c}"], facts[f"labels, {c}"]
        out[f"ridge 1/n{mark}"] = {"l2": 1.0 / n, **free}
        for share in (1.0, 1e-4):
            l2 = {"loss": "logistic", "l2": share / n, **free}
            out[f"logistic {share:g}/n{mark}"] = l2
        for share in (0.1, 0.01):
            out[f"lasso {share:g}{mark}"] = {"l1": share * most, **free}
        out[f"elastic net 0.05{mark}"] = {"l1": 0.05 * most, "l2": 1.0 / n, **free}
        out[f"logistic l1 0.1{mark}"] = {"loss": "logistic", "l1": 0.1 * steep, **free}
    return out


class Watch(threading.Thread):
    """The most private memory, looked at now and then."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = 0.0
        self.start()

    def run(self) -> None:
        while True:
            for line in Path("/proc/self/status").read_text().splitlines():
                if line.startswith("RssAnon"):
                    self.most = max(self.most, float(line.split()[1]) / 1024)
            time.sleep(0.02)


def fit(folder: Path, name: str, share: float) -> None:
    """One fit, in a process of its own, of the first rows."""
    facts = json.loads((folder / "facts.json").read_text())
    design = Mapped(folder, share)
    case = cases(design.shape[0], facts, design.is_sparse)[name]
    kind = "labels" if case.get("loss") == "logistic" else "b"
    b = np.load(folder / f"{kind}.npy", mmap_mode="r")[: design.shape[0]]
    began = time.process_time()
    for _, block in design.blocks(DENSE_ROWS) if not design.is_sparse else ():
        block.sum()
    plain = time.process_time() - began
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))
    watch = Watch()
    began = time.process_time()
    result = dualgap.solve(design, b, **case)
    seconds = time.process_time() - began
    proofs = design.tasks["prove_chunk"]
    print(json.dumps({
        "name": name, "status": result.status.name, "fit": sum(design.tasks.values()) - proofs,
        "proofs": proofs, "gap": result.certificate.relative_gap, "memory": watch.most,
        "seconds": seconds, "sum": 0.0 if design.is_sparse else plain,
        "support": int(np.count_nonzero(result.x)),
    }))  # fmt: skip


def main() -> None:
    """Make the data and fit all cases."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--folder", type=Path, default=Path("disk-data"))
    parser.add_argument("--sparse", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--share", type=float, default=1.0, help="of the rows that are made")
    parser.add_argument("--fit", default="")
    options = parser.parse_args()
    n = int(options.rows)
    folder = options.folder / f"{'sparse' if options.sparse else 'dense'}-{n}"
    if options.fit:
        fit(folder, options.fit, options.share)
        return
    make(folder, n, options.sparse)
    facts = json.loads((folder / "facts.json").read_text())
    print(
        "| fit | status | readings | of the certificate | gap | private MiB | CPU s | over a sum |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in cases(n, facts, options.sparse):
        if options.only not in name:
            continue
        command = [sys.executable, "-m", "benchmarks", "disk", "--rows", str(n), "--folder",
                   str(options.folder), "--share", str(options.share), "--fit", name]  # fmt: skip
        command += ["--sparse"] if options.sparse else []
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(f"| {name} | {done.stderr.strip().splitlines()[-1]} |", flush=True)
            continue
        r = json.loads(done.stdout.splitlines()[-1])
        over = f"{r['seconds'] / r['sum']:.1f}" if r["sum"] else ""
        print(f"| {name} | {r['status']} | {r['fit']} | {r['proofs']} | {r['gap']:.1e} | "
              f"{r['memory']:.0f} | {r['seconds']:.1f} | {over} |", flush=True)  # fmt: skip
