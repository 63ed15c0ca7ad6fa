"""The examples run, each in a process of its own, say what they should, and use public names."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import dualgap
from tests.reliability.from_examples import EXAMPLES, NAMES, imports, load

PUBLIC = {
    "dualgap",
    "dualgap.algorithms",
    "dualgap.checks",
    "dualgap.designs",
    "dualgap.enclosures",
    "dualgap.losses",
    "dualgap.regularizers",
}
REFUSED = r"refused: algorithm='{}' .*{}"
SAYS = {
    "non_negative": [
        r"Positive\(0.001\): ada-bpd, CONVERGED, P\(x\) - P\* <= \S+, least x 0, 2 zeros",
        r"CompiledPositive\(0.001\): working-set, CONVERGED",
        REFUSED.format("newton", r"Positive\(0.001\) is not of that form; it is served by 'bpd'"),
    ],
    "poisson_loss": [
        "check_loss found no law broken",
        r"newton: CONVERGED, P\(x\) - P\* <= ",
        r"working-set: CONVERGED, P\(x\) - P\* <= ",
        r"prox-newton: CONVERGED, P\(x\) - P\* <= ",
        REFUSED.format("adf-bpd", r"loss='counts' has none \(its gamma is None\); use 'newton'"),
        REFUSED.format("saga", r"loss='counts' has none \(its gamma is None\); use 'newton'"),
    ],
    "proximal_gradient": [
        r"'squared', 'l1': 0.1\}: CONVERGED",
        r"'logistic', 'l2': 0.1\}: CONVERGED",
        r"SmoothQuantile\(q=0.9, h=0.1\), 'regularizer': Positive\(0.01\)\}: CONVERGED",
        r"Counts\(\), 'regularizer': Positive\(0.01\)\}: CONVERGED",
        "in two parts, the same bits: True",
    ],
    "quantile_loss": [
        r"q = 0.1: newton, CONVERGED, 0.1\d of the rows below",
        r"q = 0.5: newton, CONVERGED, 0.5\d of the rows below",
        r"q = 0.9: newton, CONVERGED, 0.(8|9)\d of the rows below",
        "adf-bpd: CONVERGED",
        "agd: CONVERGED",
        "prox-newton: CONVERGED",
        REFUSED.format("bpd", "dual prox, which loss='smooth_quantile' does not have"),
        REFUSED.format("adf-spdc", "do not know loss='smooth_quantile'; use 'adf-bpd'"),
    ],
    "refresh_guides": [],
    "row_blocks_on_disk": [
        REFUSED.format("saga", r"the design RowBlocksOnDisk has no rows\(\); use 'adf-bpd'"),
        "from disk: newton: Converged",
        "certified anew:",
        "in memory: newton: Converged",
        r"the files were read \d+\.\d times",
    ],
}
"""What each prints, as patterns of lines in this order."""


def test_every_example_is_looked_at():
    assert list(SAYS) == NAMES


@pytest.mark.parametrize("name", [name for name in NAMES if SAYS[name]])
def test_an_example_runs_in_a_process_of_its_own(name, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py")],
        capture_output=True, text=True, cwd=tmp_path, env=os.environ, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    lines = iter(done.stdout.splitlines())
    for pattern in SAYS[name]:
        assert any(re.search(pattern, line) for line in lines), (pattern, done.stdout)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_imports_public_names_only(name):
    for module, what in imports((EXAMPLES / f"{name}.py").read_text(encoding="utf-8")):
        room = module.split(".")[0]
        if room == "dualgap":
            assert module in PUBLIC, module
            assert not what or what in importlib.import_module(module).__all__, what
        else:
            assert room in sys.stdlib_module_names or room in ("numpy", *NAMES), module
        assert not what.startswith("_") or room == "__future__"
        assert not any(part.startswith("_") for part in module.split(".")) or room == "__future__"


@pytest.mark.parametrize("name", NAMES)
def test_an_example_touches_nothing_private(name):
    """Neither ``thing._hidden`` nor a module of the package by way of an attribute."""
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert re.findall(r"\._[a-z]\w*", text) == []
    for attribute in re.findall(r"\bdualgap\.(\w+)\b(?!\.py)", text):
        assert attribute in dualgap.__all__, attribute


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
def test_row_blocks_on_disk(tmp_path, dtype, options):
    on_disk = load("row_blocks_on_disk")
    rng = np.random.default_rng(0)
    A = rng.standard_normal((500, 12)).astype(dtype)
    b = np.sign(A @ rng.standard_normal(12) + rng.standard_normal(500))
    on_disk.write_blocks(A, tmp_path, rows=77)
    design = on_disk.RowBlocksOnDisk(tmp_path)
    dualgap.check_design(design)
    one, other = dualgap.solve(design, b, **options), dualgap.solve(A, b, **options)
    assert one.status.converged and other.status.converged
    assert one.certificate.dual <= other.certificate.primal
    assert other.certificate.dual <= one.certificate.primal
    model = {name: option for name, option in options.items() if name != "algorithm"}
    again = dualgap.certify(design, b, one.x, one.y, intercept=one.intercept, **model)
    assert again.gap == pytest.approx(one.certificate.gap, rel=1e-3, abs=1e-12)
    assert one.readings > 0
