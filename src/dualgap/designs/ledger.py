"""What was done with the data: kept where they lie, by the verbs that read them.

Two things are counted. *Readings* are what was really read, whoever asked for it: an algorithm, its
set-up, a check of the data or a certificate. *Passes* are the paper's unit for what the verbs were
asked to do, however they did it: the two products of an iteration, with A and with A', are one.
Algorithms count the passes of their steps themselves, and schedules and limits rest on those; what
the set-up has cost is a difference of two looks at the ledger.
"""

from __future__ import annotations

import threading

from dualgap._types import Array

_LOCK = threading.Lock()
"""Threads that carry out tasks enter what they read in one ledger."""

PRODUCT = 0.5
"""Passes of a product with A, or with A'."""
NORMS = 1.0
"""Passes of the squared lengths of rows, or columns, where they were not known.

A Gram matrix has as many passes as its side.
"""


class Ledger:
    """Rows of the data that were read, a part of a row by its part, and the passes of the verbs.

    One ledger belongs to the data. Designs that are made of other designs have that of their base;
    copies of some rows, or of all in other units, enter what is read of them in the same one.

    Parameters
    ----------
    n : int
        Rows of the data: so many are one reading.
    rows : float
        Rows that were read already.

    Attributes
    ----------
    rows : float
    rounds : int
        Rounds of messages with the workers of a cluster, whatever they were about.
    passes : float
        Of products, norms and Gram matrices. Copies, and work on copied columns or by kernels on
        single rows, have none here.
    """

    __slots__ = ("n", "passes", "rounds", "rows")

    def __init__(self, n: int, rows: float = 0.0) -> None:
        self.n, self.rows, self.passes, self.rounds = n, float(rows), 0.0, 0

    @property
    def readings(self) -> float:
        """How often all the data have been read so far."""
        return self.rows / self.n

    def enter(self, rows: float) -> None:
        """So many rows were read, by whichever thread."""
        with _LOCK:
            self.rows += rows

    def __repr__(self) -> str:
        """One line."""
        return f"Ledger(n={self.n}, readings={self.readings:g}, passes={self.passes:g})"


def products(x: Array) -> float:
    """The passes of a product with x: a matrix counts once for each of its columns."""
    return PRODUCT if x.ndim == 1 else PRODUCT * x.shape[1]
