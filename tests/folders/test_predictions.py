"""Predictions that go to a folder: those in memory, whole or not at all."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest
from sklearn.linear_model import Ridge as Other

import dualgap
from dualgap.datasets import DataError, write_predictions
from dualgap.designs import BlockDesign
from tests.folders.data import A, B, N, S, folder

NAMES = np.where(B > 0, "yes", "no")


def cut(design):
    return design.arranged(cuts=dualgap.designs.Cuts((0, 60, N), 20))


@pytest.mark.parametrize("matrix", [A, S], ids=["dense", "CSR"])
@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
@pytest.mark.parametrize("b", [B, NAMES, np.arange(N) % 3], ids=["numbers", "names", "classes"])
def test_the_array_is_what_the_model_says_of_all_rows(tmp_path, matrix, method, b):
    predict = getattr(dualgap.LogisticRegression().fit(matrix, b), method)
    data = cut(folder(tmp_path / "f", matrix).design)
    where = write_predictions(tmp_path / "p", predict, data)
    found, expected = np.load(where / "predictions.npy", mmap_mode="r"), predict(matrix)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    if found.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    else:
        assert np.array_equal(found, expected)
    said = json.loads((where / "manifest.json").read_text())
    assert said["format"] == "dualgap predictions" and said["array"]["shape"] == [*expected.shape]
    assert said["array"]["sha256"] == hashlib.sha256(np.ascontiguousarray(found)).hexdigest()
    assert sorted(path.name for path in where.iterdir()) == ["manifest.json", "predictions.npy"]


def test_any_model_and_any_rows(tmp_path):
    model = Other().fit(A, B)
    for k, data in enumerate((A, folder(tmp_path / "f"), BlockDesign(A, rows_per_chunk=9))):
        where = write_predictions(tmp_path / str(k), model.predict, data)
        np.testing.assert_allclose(np.load(where / "predictions.npy"), model.predict(A))


def test_nothing_is_replaced_and_nothing_is_left_of_what_failed(tmp_path):
    model, taken = dualgap.Ridge().fit(A, B), tmp_path / "taken"
    taken.mkdir()
    blocks = BlockDesign(A, rows_per_chunk=20)
    with pytest.raises(DataError, match="is there already"):
        write_predictions(taken, model.predict, blocks)
    made = {
        r"shape \(3,\) for 20 rows": [np.ones(20), np.ones(3)],
        r"from row 20 on are of float64 in shape \(2,\)": [np.ones((20, 1)), np.ones((20, 2))],
        "of one kind": [np.full(20, "no"), np.full(20, "maybe")],
        "is no number": [np.ones(20), ValueError("this is no number")],
    }
    for message, answers in made.items():

        def predict(rows, left=answers):
            answer = left.pop(0)
            if isinstance(answer, ValueError):
                raise answer
            return answer

        with pytest.raises(ValueError, match=message):
            write_predictions(tmp_path / "p", predict, BlockDesign(A[:140], rows_per_chunk=20))
        assert [path.name for path in tmp_path.iterdir()] == ["taken"]
    with pytest.raises(DataError, match="there is no directory"):
        write_predictions(tmp_path / "none" / "p", model.predict, blocks)
