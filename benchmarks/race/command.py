"""python -m benchmarks race: the arguments and the order of things."""

from __future__ import annotations

import argparse
import platform
import sys
from dataclasses import asdict
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.race import problems, report
from benchmarks.race.measure import CLOCKS, RUN_FOR, Limits
from benchmarks.race.peers import LIBRARIES
from benchmarks.race.pool import Worker
from benchmarks.race.profile import draw
from benchmarks.race.reference import reference
from benchmarks.race.store import Store

OURS = "dualgap"
NEAR = 1.5
"""Peers within this of the best one are in the playoff."""
LEAST_PATIENCE = 0.2
"""Seconds that a call may always take before its contestant is given up."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Our solvers against their peers.")
    parser.add_argument(
        "--problems", nargs="+", metavar="PATTERN", help="SET or SET/UNITS/LOSS/STRENGTH, with *"
    )
    parser.add_argument("--lambdas", nargs="+", metavar="S", help="n l2, such as 1e-2")
    parser.add_argument("--peers", nargs="+", choices=LIBRARIES[1:], metavar="LIBRARY",
                        help=f"of {', '.join(LIBRARIES[1:])}; all by default")  # fmt: skip
    parser.add_argument("--ours", choices=("auto", "all", "none"), default="auto")
    parser.add_argument("--quick", action="store_true", help="a small selection of problems")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for each contestant")
    parser.add_argument("--patience", type=float, default=10.0,
                        help="give up a peer whose call takes so many times the best")  # fmt: skip
    parser.add_argument("--clock", choices=tuple(CLOCKS), default="wall",
                        help="cpu: processor time, where others use the machine")  # fmt: skip
    parser.add_argument("--python", action="append", default=[], metavar="PATH",
                        help="another Python, for libraries this one lacks")  # fmt: skip
    parser.add_argument("--again", nargs="+", default=[], metavar="PATTERN",
                        help="measure these contestants anew, such as 'dualgap/*'")  # fmt: skip
    parser.add_argument("--playoff", type=int, default=5, metavar="ROUNDS",
                        help="ours and the nearest peers once more, in turn, so often")  # fmt: skip
    parser.add_argument("--out", type=Path, default=Path("race.json"), metavar="JSON")
    parser.add_argument("--list", action="store_true", help="the names of the problems, and end")
    options = parser.parse_args()
    if options.quick and not options.problems:
        options.problems = list(problems.QUICK)
    return options


def main() -> None:
    options = arguments()
    chosen = list(problems.select(options.problems, options.lambdas))
    if not chosen:
        sys.exit("no problem matches --problems and --lambdas; see --list for the names.")
    if options.list:
        print("\n".join(chosen))
        return
    store = Store(options.out)
    workers = _workers(options, store)
    try:
        for name in chosen:
            _race(name, workers, options, store)
    finally:
        for worker in workers:
            worker.end()
    print("\n" + report.text(store.problems))
    if picture := draw(store.problems, options.out.with_suffix(".png")):
        print(f"performance profile: {picture}")


def _workers(options: argparse.Namespace, store: Store) -> list[Worker]:
    wanted = [lib for lib in LIBRARIES[1:] if not options.peers or lib in options.peers]
    if options.ours != "none":
        wanted.insert(0, OURS)
    out = []
    for library in wanted:
        worker = Worker(library, [sys.executable, *options.python])
        if worker.absent:
            print(f"{library}: skipped, {worker.absent}")
        else:
            store.content["versions"][library] = worker.version
            out.append(worker)
    store.content["versions"]["python"] = platform.python_version()
    return out


def _race(name: str, workers: list[Worker], options: argparse.Namespace, store: Store) -> None:
    """Everybody on one problem, but for what is stored already."""
    task = problems.make(name)
    entry = store.problems.setdefault(name, {"contestants": {}})
    if "reference" not in entry:
        entry |= {"n": task.n, "d": task.d, "nnz": task.nnz, "l1": task.l1, "l2": task.l2}
        entry["primal_at_zero"] = task.primal_at_zero
        with threadpool_limits(1):
            entry["reference"] = asdict(reference(task))
        bound = entry["reference"]["gap"] / (task.primal_at_zero - entry["reference"]["primal"])
        print(f"{name}: P* is known to {bound:.1e} of P(0) - P*", flush=True)
    results = entry["contestants"]
    for worker in workers:
        for method in worker.names(task):
            label = f"{worker.library}/{method}"
            ours = worker.library == OURS
            if ours and options.ours == "auto" and method != "auto":
                continue
            if label in results and not any(fnmatch(label, p) for p in options.again):
                continue
            best = report.best_peer(entry)[1]
            patience = max(LEAST_PATIENCE, options.patience * best)
            limits = Limits(
                report.optimum(entry),
                options.limit,
                options.limit if ours else patience,
                options.clock,
            )
            rungs, note = worker.run(method, limits)
            entry.pop("playoff", None)
            results[label] = {"rungs": rungs, "note": note, "clock": options.clock}
            store.save()
            print(f"  {label:32s} {report.line(entry, label)}", flush=True)
    if options.playoff and not entry.get("playoff"):
        playoff(entry, {worker.library: worker for worker in workers}, options)
        store.save()


def playoff(entry: dict[str, Any], workers: dict[str, Worker], options: Any) -> None:
    """Ours and the nearest peers in turn: a machine that is slow for a while is slow for all."""
    close = NEAR * report.best_peer(entry)[1]
    chosen = [
        label
        for label in sorted(entry["contestants"], key=lambda label: report.seconds(entry, label))
        if label == report.OURS
        or (not label.startswith(OURS) and report.seconds(entry, label) <= close)
    ]
    rungs = {}
    for label in chosen:
        rung = report.winning_rung(entry, label, report.COUNTS)
        clock = entry["contestants"][label].get("clock", "wall")
        if rung is not None and label.partition("/")[0] in workers and clock == options.clock:
            rungs[label] = rung
    times = dict.fromkeys(rungs, float("inf"))
    for _ in range(options.playoff):
        for label, rung in rungs.items():
            library, _, method = label.partition("/")
            runs = max(1, min(3, int(RUN_FOR / max(rung["seconds"], 1e-9))))
            again = workers[library].repeat(method, rung["knob"], options.clock, runs)
            times[label] = min(times[label], again)
    for label, seconds in times.items():
        if seconds < float("inf"):  # what came before was measured at other moments
            rungs[label]["seconds"] = seconds
    entry["playoff"] = options.playoff
    peer, theirs = report.best_peer(entry)
    ours = report.seconds(entry, report.OURS)
    print(f"  playoff: ours {1e3 * ours:.2f} ms, {peer} {1e3 * theirs:.2f} ms", flush=True)
