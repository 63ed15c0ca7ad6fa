"""Files of the version before are read, or refused by a sentence; `saving` says how they came."""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from pathlib import Path

import numpy as np
import pytest

import dualgap
from tests.reliability.saving import LABELS, NUMBERS, TABLE, TOL, A, problem

EARLIER = Path(__file__).with_name("earlier")


def content(name: str) -> bytes:
    return zlib.decompress(base64.decodebytes((EARLIER / f"{name}.txt").read_bytes()))


def test_files_are_text_and_short():
    for path in EARLIER.iterdir():
        assert path.read_text(encoding="ascii")
        assert path.stat().st_size < 4096, path.name


# ---- estimators ----


def check_ridge(model):
    """Certificate: recomputed from the data, and not taken from the file."""
    assert np.array_equal(model.predict(A), A @ model.coef_ + model.intercept_)
    bound = dualgap.certify(A, NUMBERS, model.coef_, l2=0.5 / 6, intercept=model.intercept_)
    assert bound.relative_gap <= TOL
    assert model.certificate_.relative_gap <= TOL
    assert model.status_ is dualgap.Status.CONVERGED
    with pytest.raises(AttributeError, match="without its run"):
        model.trace_  # noqa: B018
    assert np.allclose(model.fit(A, NUMBERS).predict(A), A @ model.coef_ + model.intercept_)


def test_a_pickled_ridge_predicts():
    check_ridge(pickle.loads(content("ridge_pickle")))


def test_a_ridge_of_skops_predicts():
    skops = pytest.importorskip("skops.io")
    data = content("ridge_skops")
    check_ridge(skops.loads(data, trusted=skops.get_untrusted_types(data=data)))


def test_a_pickled_logistic_regression_predicts():
    model = pickle.loads(content("logistic_pickle"))
    scores = A @ model.coef_[0] + model.intercept_[0]
    assert np.array_equal(model.predict(A), (scores > 0).astype(float))
    assert np.allclose(model.predict_proba(A)[:, 1], 1.0 / (1.0 + np.exp(-scores)))
    signs, strength = 2.0 * LABELS - 1.0, 1.0 / (2.0 * 6)
    bound = dualgap.certify(
        A, signs, model.coef_[0], loss="logistic", l2=strength, intercept=model.intercept_[0]
    )
    assert bound.relative_gap <= TOL


# ---- problems and models ----


def test_a_problem_file_is_read(tmp_path):
    """Equivalence: it is the problem that was written."""
    (tmp_path / "p.npz").write_bytes(content("problem_npz"))
    one, other = dualgap.Problem.load(tmp_path / "p.npz"), problem()
    assert repr(one) == repr(other)
    for name in ("b", "q", "penalty_weights", "sample_weight"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    assert np.array_equal(one.base.A, A)
    assert np.array_equal(one.solve().x, other.solve().x)


@pytest.fixture
def table(tmp_path):
    (tmp_path / "table.csv").write_text(TABLE)
    return tmp_path / "table.csv"


def run(*arguments):
    pytest.importorskip("typer")
    from tests.cli.runner import run

    return run(*arguments)


def test_a_model_file_is_certified_and_predicts(table):
    model = EARLIER / "model.json"
    done = run("certify", model, table)
    assert done.exit_code == 0, done.output
    assert "within the tolerance" in done.output
    x = json.loads(model.read_text())["x"]
    done = run("predict", model, table, "--scores")
    assert [float(v) for v in done.output.split()] == pytest.approx(A @ x)


def test_a_model_file_of_a_later_version_is_refused(table, tmp_path):
    later = json.loads((EARLIER / "model.json").read_text()) | {"format_version": 99}
    (tmp_path / "later.json").write_text(json.dumps(later))
    for command in ("certify", "predict"):
        done = run(command, tmp_path / "later.json", table)
        assert done.exit_code == 2
        assert "has format_version 99; this dualgap reads 1, 2 and 3." in " ".join(
            done.stderr.split()
        )


# ---- states ----


@pytest.mark.parametrize("name", ["state_pickle", "lasso_with_run_pickle"])
def test_a_state_without_a_version_is_refused(name):
    with pytest.raises(ValueError, match=r"of version 0 there.*pass it as x0\.$"):
        pickle.loads(content(name))
