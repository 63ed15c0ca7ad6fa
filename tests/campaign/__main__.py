"""A campaign: `python -m tests.campaign --problems 20000 --seed 1 --jobs 2 --out campaign.jsonl`.

Run it again with the same file and it goes on where it stopped. The first problems of each sort of
conviction are shrunk to scripts next to that file. It ends with 1 if anything was convicted.
`python -m tests.campaign --trust FILE...` adds the runs in these files to docs/trust.md.
"""

import argparse
import os
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # before numpy: the problems are small, the processes many

from .examine import Examination, examine  # noqa: E402
from .findings import write_findings, write_scripts  # noqa: E402
from .problems import generate, position  # noqa: E402
from .records import Records, summary  # noqa: E402
from .replay import replayed  # noqa: E402
from .trust import PAGE, write_page  # noqa: E402
from .warm import warm_up  # noqa: E402
from .workers import results  # noqa: E402


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--problems", type=int, default=200, help="how many in all (200)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", choices=("old", "new", "rigor", "all"), default="all")
    parser.add_argument("--out", type=Path, help="JSON lines, taken up again if there are some")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--index", type=int, help="one problem, with all that was said of it")
    parser.add_argument("--replay", type=Path, help="a problem written by Problem.dump")
    parser.add_argument("--shrink", type=int, default=1, help="scripts for each sort and kind (1)")
    parser.add_argument("--trust", type=Path, nargs="+", help="files of runs: add to docs/trust.md")
    parser.add_argument("--anew", action="store_true", help="with --trust: forget earlier runs")
    return parser.parse_args()


def campaign(given: argparse.Namespace) -> int:
    records = Records(given.out, given.seed)
    places = [position(given.family, at) for at in range(given.problems)]
    todo = [
        (family, given.seed, index) for family, index in places if (family, index) not in records
    ]
    for count, row in enumerate(results(todo, given.jobs), 1):
        records.add(row)
        if count % 500 == 0:
            print(f"{count} of {len(todo)}", flush=True)
    rows = [records.rows[place] for place in places]
    print(summary(rows))
    if given.out is not None:
        for path in write_findings(rows, given.seed, given.out, given.shrink):
            print(f"shrunk to {path}", flush=True)
    return int(any(row["convictions"] for row in rows))


def show(examination: Examination, out: Path | None) -> int:
    """All that was said of one problem, and with ``out`` scripts for what was wrong."""
    case = examination.of.case
    print(examination.of.name)
    print(f"  {case.shape[0]} x {case.shape[1]}, {case.arguments}")
    for claim in examination.claims:
        said = f"{claim.status:12s} " if claim.status else ""
        print(
            f"  {claim.label}: {said}{claim.kind} gap {claim.gap:.6g} P {claim.primal:.6g} "
            f"({1e3 * claim.seconds:.0f} ms)"
        )
    verdict = examination.verdict
    settled = "settled" if verdict.settled else "not settled"
    print(f"  minimiser: {verdict.minimiser}; {settled} after {verdict.steps} steps of the judge")
    for c in verdict.convictions:
        print(f"  CONVICTED of {c.what!r} by {c.label!r}: {c.details}")
    if out is not None:
        wanted = {c.what: c.label for c in reversed(verdict.convictions)}
        for path in write_scripts(examination.of, wanted, out):
            print(f"shrunk to {path}", flush=True)
    return int(bool(verdict.convictions))


def main() -> int:
    given = arguments()
    if given.trust is not None:
        write_page(given.trust, anew=given.anew)
        print(f"written to {PAGE}")
        return 0
    if given.replay is not None:
        warm_up()
        return show(examine(replayed(given.replay)), given.out)
    if given.index is not None:
        warm_up()
        family, index = position(given.family, given.index)
        return show(examine(generate(family, given.seed, index)), given.out)
    return campaign(given)


if __name__ == "__main__":
    raise SystemExit(main())
