"""The arguments of the kernels: small values, split by what they mean.

Tuples of arrays and numbers are all that compiled functions take, because the compiled code is then
kept on disk. The class of the rows decides at compile time how a row is walked
(`compiled.jit.by_kind`); every other value has the same type for both layouts.
`algorithms.primal_dual.marshalling` makes them of a problem and a state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from dualgap._types import Array

PROX, FREE, SLOPE, SNAPSHOT = range(4)
"""What y_k becomes when row k is visited (`Steps.rule`): the dual prox of Algorithm 5; the slope at
v_k, as in Algorithm 7; the slope at z, as in SAGA; it stays, and only x moves, as in SVRG."""


class Dense(NamedTuple):
    """Rows of a C-ordered matrix."""

    matrix: Any
    constant: float
    """The value of an appended constant column, 0 if there is none."""


class Sparse(NamedTuple):
    """Rows in the three arrays of CSR; or columns in those of CSC."""

    data: Any
    indices: Any
    indptr: Any
    constant: float
    """The value of an appended constant column, 0 if there is none."""


class Targets(NamedTuple):
    """What belongs to each row; where all rows share all but b, there is one entry of these."""

    b: Array
    offset: Array
    """Of several predictions per row (n, K), or (0, K) where there is none."""
    weight: Array
    """q_k."""
    ratio: Array
    """q_k/p_k."""


class Loss(NamedTuple):
    """phi, as `kernels.scalar` knows it."""

    code: int
    parameter: float


class Prox(NamedTuple):
    """The prox of tau g, one entry for each coordinate and, of sparse rows, for the intercept."""

    tau: float
    l1: Array
    l2: Array
    has_l1: bool
    shrink: Array
    """1/(1 + tau l2)."""
    C: Array
    """With H the tables for `scalar.advance`, or (-1,); of sparse rows only."""
    H: Array


class Threshold(NamedTuple):
    """x = S(w, l1)/l2; one entry of each where all coordinates share theirs."""

    l1: Array
    inverse_l2: Array
    has_l1: bool


class Steps(NamedTuple):
    """The numbers of an algorithm that are not those of the prox."""

    sigma: float
    theta: float
    rule: int
    """PROX, FREE, SLOPE or SNAPSHOT."""


class Vectors(NamedTuple):
    """The point, where rows are dense; (K, size) for K predictions per row."""

    x: Array
    old: Array
    """The x before the last step."""
    u: Array


class Lines(NamedTuple):
    """The point, where rows are sparse: what belongs to a coordinate lies side by side."""

    values: Array
    """(x, x_old, u, step of the last update) for each coordinate."""


class ClassLines(NamedTuple):
    """The point for K predictions per row, where rows are sparse."""

    values: Array
    """x, x_old and u of each coordinate, (d + 1, 3, K)."""
    last: Any
    """The step of its last update."""


class Mix(NamedTuple):
    """The numbers of Katyusha."""

    alpha: float
    t1: float
    t2: float
    keep: float


class Coupled(NamedTuple):
    """The points of Katyusha, where rows are dense."""

    x: Array
    zeta: Array
    eta: Array
    total: Array
    u: Array


class CoupledLines(NamedTuple):
    """The points of Katyusha, where rows are sparse."""

    values: Array
    """(zeta, eta, total, x, u, step of the last update, l1, number of its l2), each a line."""
    l2: Array
    """The different ones."""
    maps: Array
    """`katyusha.tables` of each l2."""


class Dual(NamedTuple):
    """The dual point, and room for what one step makes of it."""

    y: Array
    v: Array
    """Where the dual-free methods take the slope; empty if they do not."""
    z: Array
    """Room for K predictions."""
    step: Array
    """Room for how far x is moved by the rows of a block, or by K predictions."""
    drift: Array
    """The same of u."""
