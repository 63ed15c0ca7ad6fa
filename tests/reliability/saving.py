"""Files of every kind that dualgap writes, as text, for the versions after it to read.

``tests/reliability/earlier`` holds those of the version before states had a version (commit
6a40552). They were made with its sources in a folder OLD:

    PYTHONPATH=OLD/src python -m tests.reliability.saving tests/reliability/earlier

What is binary is there compressed by zlib, in base64.
"""

from __future__ import annotations

import base64
import pickle
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np

import dualgap

A = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 1.0], [0.0, 1.0], [4.0, 4.0], [1.0, 0.0]])
NUMBERS = np.array([1.0, 0.5, 2.0, -1.0, 3.0, 0.0])
LABELS = np.array([1.0, 0.0, 1.0, 0.0, 1.0, 0.0])
TABLE = "a,b,y\n" + "".join(f"{u:g},{v:g},{t:g}\n" for (u, v), t in zip(A, LABELS, strict=True))
TOL = 1e-6


def problem() -> dualgap.Problem:
    """With most of what a problem may have."""
    return dualgap.Problem(
        A, NUMBERS, loss="huber", l1=0.1, l2=0.2, fit_intercept=True, sample_weight=NUMBERS + 2.0
    )


def write(folder: Path) -> None:
    """A file of each kind, by the dualgap that is imported."""
    import skops.io
    from typer.testing import CliRunner

    from dualgap.cli.app import app

    def text(name: str, content: bytes) -> None:
        (folder / f"{name}.txt").write_bytes(base64.encodebytes(zlib.compress(content, 9)))

    ridge = dualgap.Ridge(alpha=0.5).fit(A, NUMBERS)
    text("ridge_pickle", pickle.dumps(ridge, 4))
    text("logistic_pickle", pickle.dumps(dualgap.LogisticRegression(C=2.0).fit(A, LABELS), 4))
    text("ridge_skops", skops.io.dumps(ridge))
    kept = dualgap.Lasso(0.1, warm_start=True, keep_run=True).fit(A, NUMBERS)
    text("lasso_with_run_pickle", pickle.dumps(kept, 4))
    text("state_pickle", pickle.dumps(problem().solve(algorithm="ada-bpd").state, 4))
    with tempfile.TemporaryDirectory() as scratch:
        problem().dump(Path(scratch) / "p.npz")
        text("problem_npz", (Path(scratch) / "p.npz").read_bytes())
        table = Path(scratch) / "table.csv"
        table.write_text(TABLE)
        arguments = ["fit", str(table), "--target", "y", "--loss", "logistic", "--l2", "0.01"]
        done = CliRunner().invoke(app, [*arguments, "--out", str(folder / "model.json")])
        assert done.exit_code == 0, done.output


if __name__ == "__main__":
    write(Path(sys.argv[1]))
