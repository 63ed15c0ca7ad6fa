"""The guides to extending the package show the examples as they are, and quote what is said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dualgap.algorithms.contract import NEEDED_BY as OF_ALGORITHMS
from dualgap.checks.design import NEEDED_BY as OF_DESIGNS
from dualgap.losses.contract import NEEDED_BY as OF_LOSSES
from dualgap.regularizers.contract import NEEDED_BY as OF_REGULARIZERS
from tests.reliability.from_examples import load

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "extend").glob("*.md"))
BLOCK = re.compile(r"<!-- (\S+) -->\n```python\n(.*?)```\n<!-- end -->\n", re.DOTALL)
SHOWN = {
    "README": [],
    "algorithm": ["proximal_gradient"],
    "design": ["row_blocks_on_disk"],
    "loss": ["poisson_loss", "quantile_loss"],
    "regularizer": ["non_negative"],
}
REQUIRED = {
    "algorithm": [*OF_ALGORITHMS],
    "design": ["shape", "blocks", "matvec", "rmatvec", *(v for v in OF_DESIGNS if v == "rows")],
    "loss": [*OF_LOSSES],
    "regularizer": [*OF_REGULARIZERS],
}


def text(path):
    return path.read_bytes().decode("utf-8")


def test_there_is_a_page_for_each():
    assert [page.stem for page in PAGES] == [*SHOWN]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_the_files_as_they_are(page):
    blocks = BLOCK.findall(text(page))
    assert [name for name, _ in blocks] == [f"examples/{name}.py" for name in SHOWN[page.stem]]
    for name, code in blocks:
        assert code == text(ROOT / name), (
            f"{page.name} does not show {name} as it is: run python examples/refresh_guides.py"
        )


def test_refreshing_finds_what_is_behind():
    refreshed = load("refresh_guides").refreshed
    page = text(ROOT / "docs" / "extend" / "loss.md")
    assert refreshed(page) == page
    behind = page.replace("class Counts(Loss):", "class Other(Loss):")
    assert behind != page and refreshed(behind) == page


@pytest.mark.parametrize("kind", REQUIRED)
def test_a_page_names_all_that_is_required(kind):
    page = text(ROOT / "docs" / "extend" / f"{kind}.md")
    assert [name for name in REQUIRED[kind] if f"`{name}" not in page] == []


@pytest.mark.parametrize("kind", [kind for kind, names in SHOWN.items() if names])
def test_refusals_that_a_page_quotes_are_those_that_the_examples_print(kind, capsys):
    quoted = re.findall(r"^> (.*)$", text(ROOT / "docs" / "extend" / f"{kind}.md"), re.MULTILINE)
    if not quoted:
        return
    for name in SHOWN[kind]:
        load(name).main()
    printed = capsys.readouterr().out
    assert [sentence for sentence in quoted if f"refused: {sentence}\n" not in printed] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", BLOCK.sub("", text(page))):
        assert (page.parent / target).exists(), target
