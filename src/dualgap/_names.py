"""Names: what a name stands for, which names there are, and who needs what is missing."""

from __future__ import annotations

import difflib
from collections.abc import Container, Mapping
from typing import TypeVar

T = TypeVar("T")


def lookup(argument: str, name: str, table: Mapping[str, T]) -> T:
    """Return ``table[name]``, reading "-" and "_" alike.

    Parameters
    ----------
    argument : str
        The argument the name was given to, for the message.
    name : str
        The name.
    table : mapping
        The known names.

    Raises
    ------
    ValueError
        If there is no such name; the message lists the known ones and suggests the nearest.
    """
    if name in table:  # spelled as in the table, as it mostly is
        return table[name]
    plain = {key.replace("_", "-"): value for key, value in table.items()}
    key = name.strip().lower().replace("_", "-")
    if key in plain:
        return plain[key]
    near = difflib.get_close_matches(key, plain, n=1, cutoff=0.5)
    spelled = {k.replace("_", "-"): k for k in table}
    hint = f" Did you mean {spelled[near[0]]!r}?" if near else ""
    known = ", ".join(repr(k) for k in table)
    raise ValueError(f"{argument}={name!r} is not known.{hint} Known: {known}.")


def needed(lacking: Container[str], by: Mapping[str, str]) -> str:
    """What an object lacks, in the order of the table ``by``, which says who needs each."""
    return "; ".join(f"{name!r}, needed by {who}" for name, who in by.items() if name in lacking)
