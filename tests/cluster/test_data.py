"""What is taken for data, where they go, and what is said of them."""

from __future__ import annotations

import logging

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.designs import DaskDesign
from tests.cluster.test_fits import SPARSE, assert_same_bits, in_blocks, lazy
from tests.streamed.data import TARGETS, A, D, N

pytest.importorskip("distributed", reason="fits on a cluster need the extra dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
SIGNS = TARGETS["logistic"]
PROBLEM = {"loss": "logistic", "l2": 1e-3, "fit_intercept": True}
FRAME = pd.DataFrame(A, columns=[f"x{j}" for j in range(D)]).assign(y=SIGNS, w=np.abs(A[:, 0]))


def test_small_data_are_gathered_and_the_result_says_so(client):
    result = dualgap.solve(lazy(A), lazy(SIGNS), **PROBLEM)
    assert any("were gathered into memory" in note for note in result.notes)
    np.testing.assert_array_equal(result.x, dualgap.solve(A, SIGNS, **PROBLEM).x)
    sparse = dualgap.solve(lazy(SPARSE), lazy(SIGNS), **PROBLEM)
    np.testing.assert_array_equal(sparse.x, dualgap.solve(SPARSE, SIGNS, **PROBLEM).x)


def test_data_stay_where_they_are_if_they_are_not_to_be_gathered(client):
    import dask

    opened = dualgap.open(lazy(A), lazy(SIGNS), gather=False)
    ours = dualgap.solve(opened, **PROBLEM)
    assert ours.rounds and not any("gathered" in note for note in ours.notes)
    assert_same_bits(ours, dualgap.solve(in_blocks(A, opened.design), SIGNS, **PROBLEM))
    with dask.config.set({"dualgap.gather": False, "dualgap.round-timeout": 60}):
        again = dualgap.solve(lazy(A), lazy(SIGNS), **PROBLEM)
    assert_same_bits(again, ours)
    certificate = dualgap.certify(opened, x=ours.x, **{**PROBLEM, "intercept": ours.intercept})
    assert certificate.certified
    with pytest.raises(TypeError, match="gather"):
        dualgap.open(lazy(A), lazy(SIGNS), gather="no")


def test_blocks_that_the_cluster_has_made_already_are_used(client):
    """What `persist` gives is futures, and a graph that leaves nothing to do."""
    import dask

    opened = dualgap.open(lazy(A), lazy(SIGNS), client=client, gather=False)
    ours = dualgap.solve(opened, **PROBLEM)
    kept, signs = dask.persist(lazy(A), lazy(SIGNS))
    for X, y in ((kept, signs), (kept, SIGNS), (lazy(A), signs), (2.0 * kept - kept, 1.0 * signs)):
        again = dualgap.solve(dualgap.open(X, y, client=client, gather=False), **PROBLEM)
        assert_same_bits(again, ours)
    np.testing.assert_array_equal(kept.compute(), A)  # they are the user's still
    sparse = dualgap.open(lazy(SPARSE), lazy(SIGNS), client=client, gather=False)
    found = dualgap.open(lazy(SPARSE).persist(), lazy(SIGNS), client=client, gather=False)
    assert_same_bits(dualgap.solve(found, **PROBLEM), dualgap.solve(sparse, **PROBLEM))
    # the fixture asserts that no task is left
    del kept, signs, X, y, opened, again, found


def test_threads_do_without_a_cluster():
    opened = dualgap.open(lazy(A), lazy(SIGNS), gather=False)
    ours = dualgap.solve(opened, n_threads=2, **PROBLEM)
    assert_same_bits(ours, dualgap.solve(in_blocks(A, opened.design), SIGNS, **PROBLEM))
    assert ours.rounds == 0 and ours.y.shape == (N,)


def test_the_dual_point_is_made_when_it_is_computed(client):
    opened = dualgap.open(lazy(A), lazy(SIGNS, (240,)), gather=False)
    for problem in (PROBLEM, {"loss": "multinomial", "l2": 1e-2}):
        b = SIGNS if problem is PROBLEM else TARGETS["multinomial"]
        ours = dualgap.solve(opened.design, lazy(b), **problem)
        theirs = dualgap.solve(in_blocks(A, opened.design), b, **problem)
        assert isinstance(ours.y, da.Array) and ours.y.shape == theirs.y.shape
        np.testing.assert_array_equal(ours.y.compute(), theirs.y)


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of pandas, to dask
def test_data_frames_and_parquet_files(client, tmp_path):
    frame = dd.from_pandas(FRAME, npartitions=4)
    frame.to_parquet(tmp_path / "files")
    X = FRAME.drop(columns=["y", "w"])
    best = dualgap.solve(X, FRAME.y, sample_weight=FRAME.w, tol=1e-9, **PROBLEM)
    for data in (frame, str(tmp_path / "files" / "*.parquet"), tmp_path / "files"):
        for gather in (True, False):
            opened = dualgap.open(data, target="y", sample_weight="w", gather=gather)
            assert opened.columns == list(X.columns)
            found = dualgap.solve(opened, tol=1e-9, **PROBLEM)
            np.testing.assert_allclose(found.x, best.x, atol=1e-4)
    with pytest.raises(dualgap.datasets.DataError, match="no column 'z'"):
        dualgap.open(frame, target="z")
    with pytest.raises(dualgap.datasets.DataError, match="target"):
        dualgap.open(tmp_path / "files")


def test_a_column_of_many_files_is_cut_where_the_others_are(client, tmp_path):
    """dask by itself reads several small files at once if few columns are asked for."""
    for k, rows in enumerate(np.array_split(np.arange(N), 5)):
        FRAME.iloc[rows].to_parquet(tmp_path / f"{k}.parquet", index=False)
    data = dualgap.open(tmp_path, target="y", sample_weight="w", client=client, gather=False)
    assert data.shape == (N, D)
    ours = dualgap.solve(data, **PROBLEM)
    kept = in_blocks(A, data.design)
    assert_same_bits(ours, dualgap.solve(kept, SIGNS, sample_weight=FRAME["w"], **PROBLEM))


def test_rows_are_counted_once_where_nobody_knows_them(client, caplog):
    frame = dd.from_pandas(FRAME, npartitions=4)
    with caplog.at_level(logging.INFO, logger="dualgap"):
        opened = dualgap.open(frame[frame.x0 > -1.0], target="y", gather=False)
    assert "rows of 4 blocks are counted" in caplog.text
    kept = FRAME[FRAME.x0 > -1.0]
    assert opened.shape == (len(kept), D + 1)
    result = dualgap.solve(opened, **PROBLEM)
    blocks = in_blocks(kept.drop(columns=["y"]).to_numpy(), opened.design)
    assert_same_bits(result, dualgap.solve(blocks, kept.y.to_numpy(), **PROBLEM))


def test_empty_partitions_are_left_out(client, caplog):
    frame = dd.from_pandas(FRAME, npartitions=4)

    def late(part):
        return part[part.index >= 100]

    with caplog.at_level(logging.INFO, logger="dualgap"):
        opened = dualgap.open(frame.map_partitions(late), target="y", gather=False)
    assert "have no rows" in caplog.text
    result = dualgap.solve(opened, **PROBLEM)
    kept = FRAME[100:]
    blocks = in_blocks(kept.drop(columns=["y"]).to_numpy(), opened.design)
    assert_same_bits(result, dualgap.solve(blocks, kept.y.to_numpy(), **PROBLEM))


def test_chunks_along_columns_are_joined(client, caplog):
    with caplog.at_level(logging.INFO, logger="dualgap"):
        opened = dualgap.open(da.from_array(A, chunks=(100, 3)), lazy(SIGNS), gather=False)
    assert "joined" in caplog.text
    result = dualgap.solve(opened, **PROBLEM)
    assert_same_bits(result, dualgap.solve(in_blocks(A, opened.design), SIGNS, **PROBLEM))


@pytest.mark.parametrize("values", [A, SPARSE], ids=["dense", "sparse"])
def test_workers_read_folders(values, client, tmp_path):
    w = np.abs(A[:, 0])
    dualgap.datasets.write_folder(tmp_path / "f", [(values, SIGNS, w)])
    ours = dualgap.solve(dualgap.open(tmp_path / "f", client=client), **PROBLEM)
    theirs = dualgap.solve(dualgap.open(tmp_path / "f", holds_rows=False), **PROBLEM)
    assert_same_bits(ours, theirs)
    assert ours.rounds


def test_numbers_of_other_types_are_the_same_numbers(client):
    whole = np.round(10.0 * A).astype(np.int16)
    for values in (whole, whole.astype(np.float32)):
        opened = dualgap.open(lazy(values), lazy(SIGNS > 0), gather=False)
        ours = dualgap.solve(opened, **PROBLEM)
        theirs = dualgap.solve(in_blocks(whole.astype(float), opened.design), SIGNS, **PROBLEM)
        assert_same_bits(ours, theirs)


# ---- bad input ----


def fails(A_, b, said, error=(ValueError, TypeError), **problem):
    with pytest.raises(error, match=said):
        dualgap.solve(dualgap.open(A_, b, gather=False), **{**PROBLEM, **problem})


def test_entries_that_are_not_finite_are_named_by_block_and_row(client):
    bad = A.copy()
    bad[135, 3] = np.nan
    fails(lazy(bad), lazy(SIGNS), r"column 3.*row 135 \(row 5 of block 2\)")
    sparse = SPARSE.copy()
    k = sparse.indptr[75]
    sparse.data[k] = np.inf
    fails(lazy(sparse), lazy(SIGNS), r"row 75 \(row 5 of block 1\)")


def test_vectors_are_checked_where_they_are(client):
    b = SIGNS.copy()
    b[135] = np.nan
    fails(lazy(A), lazy(b), r"block 2: in the rows from 130 on: b is not finite: b\[5\] = nan")
    fails(lazy(A), lazy(np.where(SIGNS > 0, 0.0, 2.0)), "2 distinct values")
    fails(lazy(A), lazy(SIGNS[:200], (100, 100)), r"b has shape \(200,\); expected \(240,\)")
    fails(lazy(A), lazy(SIGNS.astype(str)), "dtype")
    with pytest.raises(ValueError, match="sample_weight must not be negative"):
        weights = lazy(np.where(np.arange(N) == 100, -1.0, 1.0))
        dualgap.solve(dualgap.open(lazy(A), lazy(SIGNS), sample_weight=weights, gather=False))


def test_blocks_are_what_dask_says(client):
    """What is wrong with them is only seen by who reads them."""

    def narrow(block, block_info=None):
        return block[:, :-1] if block_info[0]["chunk-location"][0] == 3 else block

    wrong = lazy(A).map_blocks(narrow, dtype=float)
    fails(wrong, lazy(SIGNS), r"block 3 of A has shape \(40, 6\), and \(40, 7\) was promised")
    objects = lazy(A).map_blocks(lambda block: block.astype(object), dtype=float)
    fails(objects, lazy(SIGNS), "block 0 of A has .* dtype object")
    fails(lazy(A.astype(str)), lazy(SIGNS), "A has dtype")
    fails(lazy(A).reshape(-1), lazy(SIGNS), "two dimensions")


def test_columns_that_are_no_numbers_are_named(client):
    for column, said in (
        (pd.Categorical(np.where(SIGNS > 0, "a", "b")), "'c' of A has categories.*get_dummies"),
        (np.where(SIGNS > 0, "a", "b"), "'c' of A has dtype"),
    ):
        frame = dd.from_pandas(FRAME.assign(c=column), npartitions=3)
        with pytest.raises(TypeError, match=said):
            dualgap.open(frame, target="y")


def test_other_collections_are_refused():
    import dask

    with pytest.raises(TypeError, match="dask array or data frame"):
        dualgap.solve(dask.delayed(A), SIGNS)


def test_workers_with_other_versions_are_named(client, monkeypatch):
    from dualgap.designs import remote

    ours = tuple((name, "0" if name == "numpy" else there) for name, there in remote.versions())
    monkeypatch.setattr(remote, "versions", lambda: ours)
    fails(lazy(A), lazy(SIGNS), r"worker tcp://.* has numpy .* and not 0", remote.OtherVersions)


def test_the_extra_is_named(monkeypatch):
    import importlib.util

    from dualgap.datasets import clusters

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"dualgap\[dask\]"):
        clusters.open_spread("folder/*.parquet", target="y")


def test_the_blocks_of_a_design_can_be_looked_at(client):
    design = DaskDesign(lazy(SPARSE), client=client)
    rows = [block for _, block in design.blocks(50)]
    np.testing.assert_array_equal(np.concatenate(rows), SPARSE.toarray())
    np.testing.assert_allclose(design.matvec(np.ones(D)), SPARSE @ np.ones(D))
    assert sp.issparse(next(design.chunks(0)).sparse)
    with design.in_use():
        pass
