"""How often the data were read: kept where they lie, by the verbs that read them.

`passes` are the paper's unit, visits of rows by an algorithm over n; schedules and limits rest on
them. What is counted here is what was really read, whoever asked for it: an algorithm, its set-up,
a check of the data or a certificate.
"""

from __future__ import annotations


class Ledger:
    """Rows of the data that were read, a part of a row by its part.

    One ledger belongs to the data. Designs that are made of other designs have that of their base;
    copies of some rows, or of all in other units, enter what is read of them in the same one.

    Parameters
    ----------
    n : int
        Rows of the data: so many are one reading.
    rows : float
        Rows that were read already.
    """

    __slots__ = ("n", "rows")

    def __init__(self, n: int, rows: float = 0.0) -> None:
        self.n, self.rows = n, float(rows)

    @property
    def readings(self) -> float:
        """How often all the data have been read so far."""
        return self.rows / self.n

    def __repr__(self) -> str:
        """One line."""
        return f"Ledger(n={self.n}, readings={self.readings:g})"
