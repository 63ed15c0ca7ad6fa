"""The command line: ``dualgap fit | predict | certify | convert | check | demo | paper``."""

from __future__ import annotations

import sys

NEEDED = ("typer", "rich")


def main() -> None:
    """Run the command line; exit codes: 0 converged, 3 not converged, 2 bad usage or input."""
    try:
        from dualgap.cli.app import app

        app()
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        message = f'dualgap: the command line needs {error.name}: pip install "dualgap[cli]"'
        print(message, file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:  # while modules were loaded
        sys.exit(130)
