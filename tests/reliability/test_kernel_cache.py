"""Compiled kernels are kept on disk: a second process compiles nothing."""

import os
import subprocess
import sys

SOLVE = """
import numpy as np, scipy.sparse as sp
import dualgap
from dualgap.kernels import spdc

rng = np.random.default_rng(0)
A = rng.standard_normal((30, 4))
b = np.where(A[:, 0] > 0, 1.0, -1.0)
for data in (A, sp.csr_array(A)):
    for algorithm in ("spdc", "adf-spdc"):
        dualgap.solve(data, b, loss="logistic", l2=0.1, algorithm=algorithm)
for kind in ("cache_misses", "cache_hits"):
    counts = [getattr(k.stats, kind) for k in (spdc.spdc_dense, spdc.spdc_csr)]
    print(sum(sum(count.values()) for count in counts))
"""


def misses_and_hits(cache):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    out = subprocess.run(
        [sys.executable, "-c", SOLVE], env=environment, capture_output=True, text=True, check=True
    )
    return tuple(int(v) for v in out.stdout.split())


def test_a_second_process_compiles_nothing(tmp_path):
    assert misses_and_hits(tmp_path) == (2, 0)
    assert misses_and_hits(tmp_path) == (0, 2)


def test_an_edited_source_file_changes_the_key_of_the_cache(tmp_path, monkeypatch):
    from dualgap import _jit

    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("x = 1\n")
    monkeypatch.setattr(_jit, "SOURCES", tmp_path)
    before = _jit.sources_digest()
    assert _jit.sources_digest() == before
    (tmp_path / "b.py").write_text("x = 2\n")
    assert _jit.sources_digest() != before
