"""The command line, run in this process."""

from __future__ import annotations

from typing import Any

from typer.testing import CliRunner

from dualgap.cli.app import app

CONVERGED, BAD_INPUT, NOT_CONVERGED = 0, 2, 3


def run(*arguments: Any, stdin: bytes | None = None) -> Any:
    """Exit code, stdout and stderr of a command; what it did not expect to happen is raised."""
    done = CliRunner().invoke(app, [str(a) for a in arguments], input=stdin)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done
