"""Write the examples anew into the pages of docs/extend that show them.

A page has a line ``<!-- examples/NAME.py -->``, a block of code after it, which is the whole file,
and a line ``<!-- end -->``.

Run it with ``python examples/refresh_guides.py``.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"<!-- (examples/\w+\.py) -->\n.*?<!-- end -->\n", re.DOTALL)


def refreshed(page: str) -> str:
    """The text of a page, with the files as they are now."""

    def block(match: re.Match[str]) -> str:
        name = match.group(1)
        code = (ROOT / name).read_text(encoding="utf-8")
        return f"<!-- {name} -->\n```python\n{code}```\n<!-- end -->\n"

    return BLOCK.sub(block, page)


def main() -> None:
    """Rewrite the pages that are behind."""
    for path in sorted((ROOT / "docs" / "extend").glob("*.md")):
        old = path.read_text(encoding="utf-8")
        new = refreshed(old)
        if new != old:
            path.write_text(new, encoding="utf-8", newline="\n")
            print("rewrote", path.relative_to(ROOT))


if __name__ == "__main__":
    main()
