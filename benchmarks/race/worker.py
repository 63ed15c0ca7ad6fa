"""A process that runs one library's contestants: python -m benchmarks.race.worker LIBRARY.

Pickles come in on stdin, pickles go out on stdout. It is a process of its own so that a call that
does not end can be ended, and so that a library may live in another environment.
"""

from __future__ import annotations

import importlib
import os
import pickle
import sys
import traceback
import warnings

from benchmarks.race.measure import Limits, measure, repeat
from benchmarks.race.tasks import Task


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # libraries that print do not print into the answers
    warnings.simplefilter("ignore")

    def send(*message) -> None:
        pickle.dump(message, answers)
        answers.flush()

    try:
        library = importlib.import_module(f"benchmarks.race.peers.{sys.argv[1]}")
        send("ready", getattr(library, "VERSION", ""))
    except ImportError as error:
        send("absent", str(error))
        return
    task: Task
    while True:
        try:
            kind, *content = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        if kind == "task":
            (task,) = content
            contestants = library.contestants(task)
            ready: dict = {}
            send("names", list(contestants))
        elif kind == "repeat":
            name, *rung = content
            if name not in ready:
                ready[name] = contestants[name]()
                repeat(ready[name], *rung)  # off the clock
            send("seconds", repeat(ready[name], *rung))
        else:
            name, limits = content
            try:
                run(task, contestants[name], limits, send)
            except Exception as error:
                last = traceback.extract_tb(error.__traceback__)[-1]
                send("done", f"failed: {type(error).__name__}: {error} ({last.name})"[:300])


def run(task: Task, prepare, limits: Limits, send) -> None:
    """Measure one contestant, telling of each rung as it is measured."""
    contestant = prepare()
    note = measure(task, contestant, limits, lambda rung: send("rung", rung))
    send("done", note)


if __name__ == "__main__":
    main()
