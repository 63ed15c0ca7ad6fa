"""Folders whose rows are not held: fits by readings, with the answers of fits in memory."""

from __future__ import annotations

import numpy as np
import pytest

import dualgap
from tests.folders.data import A, B, S, W, folder


@pytest.mark.parametrize("rows", [A, S], ids=["dense", "sparse"])
@pytest.mark.parametrize("weights", [None, W], ids=["no weights", "weights"])
@pytest.mark.parametrize(
    ("b", "given"),
    [
        (B, {"l2": 1e-2}),
        (B, {"l1": 1e-2, "fit_intercept": True}),
        (B, {"loss": "logistic", "l2": 1e-3, "fit_intercept": True}),
        (B, {"loss": "logistic", "l1": 1e-3, "l2": 1e-3}),
    ],
    ids=["ridge", "lasso", "logistic", "logistic, elastic net"],
)
def test_the_fit_is_that_of_data_in_memory(rows, weights, b, given, tmp_path):
    folder(tmp_path / "f", rows, b, weights)
    opened = dualgap.open(tmp_path / "f", holds_rows=False)
    got = dualgap.solve(opened, tol=1e-9, **given)
    best = dualgap.solve(rows, b, sample_weight=weights, tol=1e-12, **given)
    assert got.status is dualgap.Status.CONVERGED and got.certificate.certified
    assert got.certificate.primal - best.certificate.primal <= got.certificate.gap + 1e-12
    assert got.certificate.dual <= best.certificate.primal * (1.0 + 1e-12)
    np.testing.assert_allclose(got.x, best.x, atol=1e-4)


@pytest.mark.parametrize("name", ["A", "b"])
def test_y_is_refused_when_a_file_was_written_to_and_not_when_it_was_replaced(name, tmp_path):
    """A fit reads the files that it has opened; others of their names are others."""
    path = folder(tmp_path / "f", A, B).path
    result = dualgap.solve(dualgap.open(path, holds_rows=False), l2=1e-2)
    y, file = result.y, path / f"{name}.npy"
    file.rename(tmp_path / "old")
    file.write_bytes((tmp_path / "old").read_bytes())
    assert np.array_equal(result.y, y)
    with (tmp_path / "old").open("r+b") as handle:
        handle.seek(128)
        handle.write(np.array([5.0]).tobytes())
    with pytest.raises(ValueError, match="have changed"):
        result.y  # noqa: B018


def test_what_needs_rows_says_so_by_name(tmp_path):
    folder(tmp_path / "f", A, B)
    opened = dualgap.open(tmp_path / "f", holds_rows=False)
    with pytest.raises(ValueError, match=r"adf-bpd.*newton"):
        dualgap.solve(opened, l2=1e-2, algorithm="adf-bpd")
    with pytest.raises((TypeError, ValueError), match="holds_rows"):
        dualgap.open(tmp_path / "f", holds_rows="no")
