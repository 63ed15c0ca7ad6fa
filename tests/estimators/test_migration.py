"""The examples of the migration page run, and their assertions hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "migration.md"


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_examples():
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    after = [block for block in blocks if "from dualgap import" in block]
    assert len(after) == 6  # the page's opening and five examples
    assert sum("assert " in block for block in after) == 5
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
