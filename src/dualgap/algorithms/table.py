"""The table of algorithms and their needs: `python -m dualgap.algorithms.table`."""

from __future__ import annotations

from dualgap.algorithms import ALGORITHMS

COLUMNS = {
    "gamma": "loss with a gamma",
    "dual_prox": "dual prox",
    "compiled_loss": "compiled loss",
    "scalar_loss": "one prediction a row",
    "rows": "rows one by one",
    "no_l1": "no l1",
    "l2_everywhere": "l2 on every coordinate",
    "held_rows": "rows that are held",
}
"""Headings of the table in the documentation."""
REGULARIZERS = {
    "prox": "any",
    "bounds": "elastic net, with or without bounds",
    "strengths": "elastic net",
}
"""The words of the table for each value of `Needs.regularizer`: which regularisers are served."""
HEADER = """\
# What each algorithm needs

Made by `python -m dualgap.algorithms.table`. An algorithm that needs what a problem lacks refuses
it before any work, with a sentence that says what is missing and which algorithms serve.
"""


def table() -> str:
    """The algorithms and their needs, in Markdown."""
    head = ["algorithm", *COLUMNS.values(), "regulariser"]
    rows = [head, ["---"] * len(head)]
    for name, cls in ALGORITHMS.items():
        marks = ["needed" if getattr(cls.requires, need) else "" for need in COLUMNS]
        rows.append([f"`{name}`", *marks, REGULARIZERS[cls.requires.regularizer]])
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return HEADER + "\n" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")
