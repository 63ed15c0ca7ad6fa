"""What algorithms declare that they need is what they are refused for; the table says the same."""

from pathlib import Path

import numpy as np
import pytest

import dualgap
from dualgap.algorithms import ALGORITHMS, SPDC
from dualgap.algorithms.needs import Needs, missing, refuse, serving
from dualgap.algorithms.table import table

A = np.random.default_rng(0).standard_normal((30, 3))
B = A.sum(axis=1)
CASES = {
    "squared": ({"b": B, "l2": 0.1}, set()),
    "free intercept": ({"b": B, "l2": 0.1, "fit_intercept": True}, {"l2_everywhere"}),
    "l1": ({"b": B, "l1": 0.1}, {"no_l1", "l2_everywhere"}),
    "poisson": ({"b": np.abs(np.round(B)), "loss": "poisson", "l2": 0.1},
                {"gamma", "dual_prox", "compiled_loss"}),
    "multinomial": ({"b": np.arange(30) % 3, "loss": "multinomial", "l2": 0.1},
                    {"dual_prox", "scalar_loss"}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_refused_for_what_is_declared_and_for_nothing_else(name, case):
    options, absent = CASES[case]
    problem = dualgap.Problem(A, **options)
    algorithm = ALGORITHMS[name]()
    lacks = [need for need in absent if getattr(algorithm.requires, need)]
    sentences = missing(algorithm, problem)
    assert len(sentences) == len(lacks)
    assert (name in serving(problem)) == (not lacks)
    if not lacks:
        problem.solve(algorithm=name, max_passes=5)
        return
    with pytest.raises(ValueError) as refused:
        problem.solve(algorithm=name)
    assert str(refused.value) == sentences[0]
    for sentence in sentences:  # what it offers can be run
        offered = {other for other in ALGORITHMS if f"'{other}'" in sentence} - {name}
        assert offered and offered <= set(serving(problem)), sentence


def test_every_need_is_somebodys():
    for need in ("gamma", "dual_prox", "compiled_loss", "scalar_loss", "no_l1", "l2_everywhere"):
        assert any(getattr(cls.requires, need) for cls in ALGORITHMS.values())
    assert Needs() in [cls.requires for cls in ALGORITHMS.values()]


def test_options_count():
    problem = dualgap.Problem(A, np.arange(30) % 3, loss="multinomial", l2=0.1)
    assert any(s.startswith("batch=4 has no kernel") for s in missing(SPDC(batch=4), problem))
    with pytest.raises(ValueError, match="needs the dual prox"):
        refuse(SPDC(), problem)


def test_the_table_in_the_documentation_is_up_to_date():
    page = Path(__file__).parents[2] / "docs" / "algorithms_table.md"
    assert page.read_text() == table(), "run python -m dualgap.algorithms.table > docs/..."
