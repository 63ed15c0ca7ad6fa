"""Fits on a cluster: the bits of blocks in memory with the same cuts, and the answer of any fit."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.designs import BlockDesign, DaskDesign
from tests.streamed.data import EXTRAS, TARGETS, A, given

pytest.importorskip("distributed", reason="fits on a cluster need the extra dask")
da = pytest.importorskip("dask.array")

SPARSE = sp.csr_array(np.where(np.abs(A) > 0.5, A, 0.0))
ROWS = (70, 60, 50, 40, 20)
"""Of blocks, uneven ones."""
CASES = [
    (loss, penalty, extra)
    for loss in ("squared", "huber", "logistic", "multinomial")
    for penalty in ("l2", "l1", "elastic net")
    for extra in EXTRAS
    if (loss, penalty) not in (("multinomial", "l1"), ("multinomial", "elastic net"))
]


def lazy(values, rows=ROWS):
    """The same in blocks of dask; sparse ones as CSR."""
    if sp.issparse(values):
        edges = np.cumsum((0, *rows))
        parts = [values[a:b] for a, b in pairwise(edges)]
        blocks = [da.from_array(part.toarray(), chunks=-1) for part in parts]
        return da.concatenate([block.map_blocks(sp.csr_array) for block in blocks])
    return da.from_array(values, chunks=(rows, *[-1] * (values.ndim - 1)))


def in_pieces(problem):
    """The arguments of a problem, of which those with a row for each row are dask's."""
    names = ("sample_weight", "offset")
    return {k: lazy(v, (100, 100, 40)) if k in names else v for k, v in problem.items()}


def in_blocks(values, design):
    """The same rows in memory, with the cuts of a design."""
    blocks = BlockDesign(values).arranged(cuts=design.cuts)
    blocks.holds_rows = False
    return blocks


def assert_same_bits(ours, theirs):
    np.testing.assert_array_equal(ours.x, theirs.x)
    np.testing.assert_array_equal(ours.intercept, theirs.intercept)
    for field in ("primal", "dual", "gap"):
        assert getattr(ours.certificate, field) == getattr(theirs.certificate, field)
    assert ours.status is theirs.status and ours.readings == theirs.readings


@pytest.mark.parametrize("values", [A, SPARSE], ids=["dense", "sparse"])
@pytest.mark.parametrize("case", CASES, ids=[", ".join(case) for case in CASES])
def test_a_cluster_gives_the_bits_of_blocks_in_memory(case, values, client):
    b, problem = TARGETS[case[0]], given(*case)
    design = DaskDesign(lazy(values), client=client)
    ours = dualgap.solve(design, lazy(b, (240,)), **in_pieces(problem))
    assert_same_bits(ours, dualgap.solve(in_blocks(values, design), b, n_threads=1, **problem))
    theirs = dualgap.solve(values, b, **problem)
    rounding = 1e-12 * abs(ours.certificate.primal)
    above = theirs.certificate.primal - ours.certificate.primal
    assert -ours.certificate.gap - rounding <= above <= theirs.certificate.gap + rounding
    assert ours.rounds >= ours.readings
