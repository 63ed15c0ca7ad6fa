"""The results on disk: written after each contestant, taken up again by the next run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


class Store:
    """JSON: problems -> contestants -> rungs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.content: dict[str, Any] = {"versions": {}, "problems": {}}
        if path.exists():
            try:
                self.content = json.loads(path.read_text())
                self.content["problems"], self.content["versions"]
            except (ValueError, KeyError, TypeError) as error:
                raise SystemExit(
                    f"--out {path}: not a result of this command ({error}); "
                    "name another file or remove it."
                ) from None

    @property
    def problems(self) -> dict[str, Any]:
        return self.content["problems"]

    def save(self) -> None:
        """All of it or nothing."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_name(self.path.name + ".new")
        new.write_text(json.dumps(self.content, indent=1))
        os.replace(new, self.path)
