"""What the second-order algorithms share: a base, a start, and the contract of a local model.

An algorithm minimises, in the place of P, a model of it near a point x. With the gradient
u = A'Q phi'(z) of the mean loss there it is

    m(t) = u'(t - x) + (1/2)(t - x)'H(t - x) + g(t),    H = A'WA,   W = diag(q (phi'' + m/gamma))

It renews the model where it stands, restricts it to the coordinates that matter, minimises it, and
finds by a line search how far to go. What is left to choose is which form of H costs less:

    H by                    renewed by            a product             minimised by
    products with the data  nothing               a pass                conjugate gradients
    columns, gathered       a reading of them     a reading of them     sweeps, conjugate gradients
    itself, a matrix        its Gram matrix       side^2                sweeps, Cholesky factors
    one matrix for a class  a Gram matrix each    K side^2              the same, class by class

All costs are in passes over the data: a product with A and one with A'. What is done on matrices
beside the data is counted in multiplications, of which a pass has twice as many as A has entries.

Whatever the contract names has the size of the coordinates, and none of it that of the rows: a
model of data that are read in chunks can be had from sums over these (P, u and the H of some
coordinates, in one reading), with nothing kept for a row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from dualgap._types import Array, Places
from dualgap.algorithms.contract import Algorithm
from dualgap.algorithms.points import first_point, first_x
from dualgap.problem import Problem
from dualgap.state import State


@dataclass(frozen=True)
class SecondOrder(Algorithm):
    """Base of the algorithms that take Newton steps."""

    is_second_order: ClassVar[bool] = True
    patience: ClassVar[int] = 1


def first_state(name: str, problem: Problem, x0: Array | None) -> State:
    """The state at x0, or where nothing is known, with y = phi'(z)."""
    x = first_x(problem) if x0 is None else x0
    return first_point(name, problem, x, None)[0]


class LocalModel(ABC):
    """H at a point, in one of its forms, with a way to the minimiser of m."""

    sweep: float = 0.0
    """The passes of a product with H, or of a visit of every coordinate."""

    @property
    def price(self) -> float:
        """What forming H, or a factor of it, costs in passes; infinity where it cannot be had."""
        return 0.0

    def renew(self) -> float:
        """Form at the present point what this form of H keeps; the passes that were made for it."""
        return 0.0

    @abstractmethod
    def product(self, p: Array) -> Array:
        """H p."""

    @abstractmethod
    def diagonal(self) -> Array:
        """The diagonal of H, or what stands for it."""

    def restrict(self, some: Places) -> LocalModel:
        """The same while all coordinates but some stay where they are; not all forms need it."""
        raise NotImplementedError

    @abstractmethod
    def minimise(self, goal: float) -> tuple[Array, float]:
        """A t that nearly minimises m, and the sweeps or products that it took.

        What is left to gain is about ``goal``, in units of P.
        """
