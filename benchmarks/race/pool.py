"""The workers: one process per library, ended and begun again when a call does not end."""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import threading
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    ),
    "1",
)
FIRST_CALL = 120.0
"""Seconds granted to importing, converting and compiling."""
SLOW_MACHINE = 3.0
"""How much longer than its limit a call may take before its process is ended."""


class Worker:
    """A library in a process of its own, in the first of the given Pythons that has it."""

    def __init__(self, library: str, pythons: list[str]) -> None:
        self.library, self.pythons = library, pythons
        self.version, self.absent = "", ""
        self._process: subprocess.Popen | None = None
        self._task: Any = None
        for python in pythons:
            self.python = python
            if self._begin():
                return

    def names(self, task) -> list[str]:
        """The library's contestants for this task."""
        self._task = task
        if self._process is None:
            self._begin()
        return self._ask("task", task)

    def run(self, name: str, limits) -> tuple[list[dict], str]:
        """The rungs of one contestant, and how it ended."""
        if self._process is None:
            self._begin()
            self._ask("task", self._task)
        rungs: dict[str, dict] = {}
        try:
            self._send("run", name, limits)
            wait = FIRST_CALL + limits.seconds
            while True:
                kind, content = self._answers.get(timeout=wait)
                if kind == "done":
                    return list(rungs.values()), content
                if kind == "end":
                    note = "its process died"
                    break
                rungs[content["knob"]] = content
                wait = SLOW_MACHINE * limits.seconds + 10.0
        except queue.Empty:
            note = "a call took too long and was ended"
        self.end()
        return list(rungs.values()), note

    def repeat(self, name: str, knob: str, clock: str, runs: int) -> float:
        """The best of some more runs of a rung; inf if it fails."""
        if self._process is None:
            self._begin()
            self._ask("task", self._task)
        return self._ask("repeat", name, knob, clock, runs) or float("inf")

    def end(self) -> None:
        """Stop the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _begin(self) -> bool:
        self._process = subprocess.Popen(
            [self.python, "-m", "benchmarks.race.worker", self.library],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env={**os.environ, **ONE_THREAD},
        )
        self._answers: queue.Queue = queue.Queue()
        threading.Thread(
            target=_listen, args=(self._process.stdout, self._answers), daemon=True
        ).start()
        kind, content = self._answer()
        if kind != "ready":
            self.absent = str(content) or "its process died"
            self.end()
            return False
        self.version, self.absent = content, ""
        return True

    def _send(self, *message) -> None:
        assert self._process is not None and self._process.stdin is not None
        pickle.dump(message, self._process.stdin, protocol=4)
        self._process.stdin.flush()

    def _ask(self, *message) -> Any:
        self._send(*message)
        kind, content = self._answer()
        if kind == "end":
            self.end()
            return []
        return content

    def _answer(self) -> tuple[str, Any]:
        try:
            return self._answers.get(timeout=FIRST_CALL)
        except queue.Empty:
            return "end", "its process does not answer"


def _listen(stream, answers: queue.Queue) -> None:
    while True:
        try:
            answers.put(pickle.load(stream))
        except (EOFError, pickle.UnpicklingError):
            answers.put(("end", ""))
            return
