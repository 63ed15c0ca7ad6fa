"""What to paste into a bug report."""

from __future__ import annotations

import platform
import sys
from importlib import metadata

DEPENDENCIES = (
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "joblib",
    "threadpoolctl",
    "matplotlib",
    "rich",
    "typer",
)


def show_versions() -> None:
    """Print the versions of dualgap, Python and what dualgap stands on."""
    print(f"dualgap       {metadata.version('dualgap')}")
    print(f"python        {platform.python_version()} ({sys.platform}, {platform.machine()})")
    for name in DEPENDENCIES:
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            version = "not installed"
        print(f"{name:13s} {version}")
