"""Scripts for what a campaign has found: the first of each sort of conviction and each kind."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .calls import Call, Failure
from .examine import all_claims
from .problems import Generated, generate
from .script import write_script
from .shrink import shrink

TRIES = 150
OF_TIMEOUTS = 12
"""Each try takes as long as the limit on a call."""


def write_findings(
    rows: list[dict[str, Any]], seed: int, out: Path, most: int = 1
) -> Iterator[Path]:
    """Shrink up to ``most`` of each sort and kind; what is written already stays."""
    seen: Counter[tuple[str, str, str]] = Counter()
    for row in rows:
        wanted = {}
        for c in row["convictions"]:
            sort = row["family"], row["kind"], c["what"]
            if c["what"] not in wanted and seen[sort] < most:
                seen[sort] += 1
                wanted[c["what"]] = c["label"]
        if wanted:
            generated = generate(row["family"], seed, row["index"])
            yield from write_scripts(generated, wanted, out)


def write_scripts(generated: Generated, wanted: dict[str, str], out: Path) -> Iterator[Path]:
    """A script for each sort of conviction, by the label of the call, next to ``out``."""
    paths = {what: _path(generated, what, out) for what in wanted}
    missing = [what for what, path in paths.items() if not path.exists()]
    claims = {claim.label: claim for claim in all_claims(generated)} if missing else {}
    for what in missing:
        failure = Failure(generated.case, Call.of(claims[wanted[what]]), what)
        if failure.repeated()[1] is None:
            continue  # not the same twice, as a timeout may be
        small = shrink(failure, OF_TIMEOUTS if what == "timeout" else TRIES)
        paths[what].write_text(write_script(small))
        yield paths[what]


def _path(generated: Generated, what: str, out: Path) -> Path:
    name = f"{out.stem}-{what.replace(',', '').replace(' ', '-')}"
    return out.with_name(f"{name}-{generated.kind}-{generated.index}.py")
