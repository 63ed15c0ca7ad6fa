"""A run on a cluster that was killed goes on from its file, and ends with the same bits."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dualgap
from dualgap.designs import DaskDesign
from tests.cluster.test_faults import PROBLEM
from tests.cluster.test_fits import SPARSE, lazy
from tests.streamed.data import TARGETS, A

distributed = pytest.importorskip("distributed", reason="fits on a cluster need the extra dask")
SIGNS = TARGETS["logistic"]
WEIGHTS = np.random.default_rng(5).integers(0, 3, len(A)).astype(float)
KILLED = """
import os, signal, sys
import distributed
import dualgap
from dualgap.designs import DaskDesign
from tests.cluster import test_checkpoints as here

def stop(snapshot, seen=[]):
    seen.append(snapshot)
    if len(seen) == 4:
        os.kill(os.getpid(), signal.SIGKILL)

with distributed.Client(sys.argv[1]) as client:
    here.run(client, here.MATRICES[sys.argv[2]], sys.argv[3], callback=stop)
"""
MATRICES = {"dense": A, "sparse": SPARSE}


def run(client, values, file, b=SIGNS, **options):
    design = DaskDesign(lazy(values), client=client)
    kept = {} if file is None else {"checkpoint": file, "checkpoint_every": 0.0, "resume": True}
    return dualgap.solve(design, lazy(b), sample_weight=lazy(WEIGHTS), **PROBLEM, **kept, **options)


@pytest.mark.parametrize("kind", MATRICES)
def test_a_killed_run_goes_on_with_the_same_bits(kind, client, processes, tmp_path):
    file = tmp_path / "run.npz"
    arguments = (processes.scheduler_address, kind, str(file))
    root = Path(__file__).parents[2]
    ended = subprocess.run([sys.executable, "-c", KILLED, *arguments], cwd=root, check=False)
    assert ended.returncode == -signal.SIGKILL and file.exists()
    expected = run(client, MATRICES[kind], None)
    found = run(client, MATRICES[kind], file)
    np.testing.assert_array_equal(found.x, expected.x)
    assert found.intercept == expected.intercept and found.passes == expected.passes
    for field in ("primal", "dual", "gap"):
        assert getattr(found.certificate, field) == getattr(expected.certificate, field)
    for other in ({"b": -SIGNS}, {"values": MATRICES[kind] * 2.0}):
        given = {"values": MATRICES[kind], **other}
        with pytest.raises(ValueError, match="not the same"):
            run(client, given.pop("values"), file, **given)
