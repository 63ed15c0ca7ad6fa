"""The arguments of the kernels: small values, split by what they mean.

Tuples of arrays and numbers are all that compiled functions take, because the compiled code is then
kept on disk. The class of a value decides at compile time what is done with it
(`compiled.jit.by_kind`): that of the rows, how a row is walked; that of the point, what a visit
does to a coordinate; that of the loss, whether a row has one prediction or several.
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
    columns: int
    """How many there are without an appended one."""
    constant: float
    """The value of an appended constant column, 0 if there is none."""


class Targets(NamedTuple):
    """What belongs to each row; where all rows share all but b, there is one entry of these."""

    b: Array
    offset: Array
    """Of K predictions per row (n, K), or (1, K)."""
    weight: Array
    """q_k."""
    ratio: Array
    """q_k/p_k."""


class ScalarLoss(NamedTuple):
    """phi of one prediction per row, as `losses.compiled` knows it."""

    code: int
    parameter: float


class Softmax(NamedTuple):
    """The multinomial loss."""

    classes: int


class Prox(NamedTuple):
    """The prox of tau g, one entry for each coordinate and for the intercept."""

    tau: float
    l1: Array
    l2: Array
    shrink: Array
    """1/(1 + tau l2)."""
    has_l1: bool
    common_l1: float
    """With the next: l1 and 1/(1 + tau l2) where all but an intercept share both, else 0."""
    common: float
    C: Array
    """With H the tables of `compiled_lazy`, for sparse rows and a single l2; else empty."""
    H: Array


class Steps(NamedTuple):
    """The numbers of an algorithm that are not those of the prox."""

    sigma: Array
    """The dual step of each row, or a single entry."""
    theta: float
    rule: int
    """PROX, FREE, SLOPE or SNAPSHOT."""
    precision: float
    """An iterative dual prox ends when a step of it is at most this."""


class Dual(NamedTuple):
    """The dual point, and room for what one step makes of it."""

    y: Array
    v: Array
    """Where the dual-free methods take the slope; empty if they do not."""
    step: Array
    """Room for how far x is moved by K predictions."""
    drift: Array
    """The same of u."""
