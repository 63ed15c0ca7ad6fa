"""Run a benchmark by name: python -m benchmarks NAME [ARGUMENTS]."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks

NOT_BENCHMARKS = {
    "__main__",
    "benchopt",
    "cluster_fits",
    "data_sets",
    "folder_data",
    "gate_cases",
    "gate_fits",
}


def main() -> None:
    found = {module.name for module in pkgutil.iter_modules(benchmarks.__path__)}
    known = sorted(found - NOT_BENCHMARKS)
    name, *arguments = sys.argv[1:] or ["--help"]
    if name not in known:
        print(f"usage: python -m benchmarks NAME [ARGUMENTS]\n\nNAME: {', '.join(known)}")
        sys.exit(0 if name in ("-h", "--help") else 2)
    sys.argv = [f"python -m benchmarks {name}", *arguments]
    importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
