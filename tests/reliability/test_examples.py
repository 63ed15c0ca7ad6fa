"""The examples run, and do what they say."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import dualgap

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def on_disk():
    return load("row_blocks_on_disk")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "options",
    [
        {"loss": "logistic", "l2": 1e-3, "fit_intercept": True},
        {"l2": 1e-3},
        {"l1": 1e-2},
        {"loss": "logistic", "l2": 1e-3, "algorithm": "adf-bpd"},
    ],
    ids=["logistic", "ridge", "lasso", "adf-bpd"],
)
def test_row_blocks_on_disk(tmp_path, on_disk, dtype, options):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((500, 12)).astype(dtype)
    b = np.sign(A @ rng.standard_normal(12) + rng.standard_normal(500))
    on_disk.write_blocks(A, tmp_path, rows=77)
    design = on_disk.RowBlocksOnDisk(tmp_path)
    dualgap.check_design(design)
    one, other = dualgap.solve(design, b, **options), dualgap.solve(A, b, **options)
    assert one.status.converged and other.status.converged
    slack = one.certificate.rounding + other.certificate.rounding
    assert one.certificate.primal - other.certificate.primal <= one.certificate.gap + slack
    assert other.certificate.primal - one.certificate.primal <= other.certificate.gap + slack
    model = {name: option for name, option in options.items() if name != "algorithm"}
    again = dualgap.certify(design, b, one.x, one.y, intercept=one.intercept, **model)
    assert again.gap == pytest.approx(one.certificate.gap, rel=1e-3, abs=1e-12)
    assert one.readings > 0


def test_the_example_runs_and_uses_public_names_only(on_disk, capsys):
    on_disk.main()
    assert "the files were read" in capsys.readouterr().out
    text = (EXAMPLES / "row_blocks_on_disk.py").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if "import" in line and "dualgap" in line]
    assert lines == ["import dualgap", "from dualgap.designs import Design"]
