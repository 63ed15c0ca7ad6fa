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


def failure_of(generated: Generated, what: str, label: str) -> Failure:
    """The call that was convicted, to be repeated."""
    claim = next(claim for claim in all_claims(generated) if claim.label == label)
    return Failure(generated.case, Call.of(claim), what)


def write_findings(
    rows: list[dict[str, Any]], seed: int, out: Path, most: int = 1
) -> Iterator[Path]:
    """Shrink up to ``most`` of each sort and kind; what is written already stays."""
    seen: Counter[tuple[str, str, str]] = Counter()
    for row in rows:
        for what in sorted({c["what"] for c in row["convictions"]}):
            sort = row["family"], row["kind"], what
            if seen[sort] >= most:
                continue
            seen[sort] += 1
            name = f"{out.stem}-{what.replace(', ', '-').replace(' ', '-')}"
            path = out.with_name(f"{name}-{row['kind']}-{row['index']}.py")
            if path.exists():
                continue
            label = next(c["label"] for c in row["convictions"] if c["what"] == what)
            failure = failure_of(generate(row["family"], seed, row["index"]), what, label)
            if failure.repeated()[1] is None:
                continue  # not the same twice, as a timeout may be
            small = shrink(failure, OF_TIMEOUTS if what == "timeout" else TRIES)
            path.write_text(write_script(small))
            yield path
