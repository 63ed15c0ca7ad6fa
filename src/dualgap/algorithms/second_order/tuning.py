"""The tuning values of Newton's methods: none changes what is true, all change what it costs.

Costs are in passes (a product with A and one with its transpose), in sweeps (one visit of every
coordinate) or in multiplications; no rule reads a clock, so that the same data get the same run.
`python -m benchmarks tuning GROUP.FIELD` measures what half and twice of a value cost. Decision
0005 (`docs/decisions/0005-portfolio.md`) has the measurements by which rules were chosen that use
the values; 0013 has those of rules that were given up, and says which values small data do not
feel.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Damping:
    """The share m of the bound 1/gamma by which phi'' is raised (`curvature`)."""

    first: float = 1e-2
    """The first m of losses with kinks in their slope, and of losses without gamma at a given x0.

    Huber regression in columns of very different scales takes a third of the passes with it.
    """
    first_floor: float = 1e-3
    """The first m of working sets, which need one: H is singular on rows with phi'' = 0."""
    least: float = 1e-8
    """An m that is not 0 is at least this share of the mean of phi'': less would be rounding.

    That of working sets is at least as much of the bound.
    """
    most_growth: float = 1e3
    """From one system to the next m grows at most by this factor, however short the step was."""


@dataclass(frozen=True)
class Systems:
    """When a system H d = -g is solved, and by what (`newton_system`, `preconditioned`)."""

    chunk: int = 25
    """The products with H that one step of the driver makes at most; between steps it can stop.

    A factor of the float32 copy with which a system takes as many is made anew from the data.
    """
    solved: float = 1e-3
    """A system is solved when r'M^(-1)r has fallen to this share of its first value.

    More digits would go beyond what the quadratic model is worth.
    """
    forcing: float = 0.25
    """Nash and Sofer's test ends a system only once r'M^(-1)r is down to this share of its first.

    Without it the test ends systems whose first steps happen to gain little.
    """
    stalled: float = 0.5
    """That test holds when a step gains less than this share of the mean gain so far."""
    tiny: float = 1e-3
    """It does not hold where d gains less than this share of the gap that is wanted.

    P tells nothing of such a d any more, but D does, and most in columns of large entries.
    """
    most_products: int = 100
    """The most products with H for one system where working sets or prox-newton solve it.

    Their supports change from step to step, so that a system is not worth more.
    """
    nothing: float = 1e-19
    """A predicted gain below this share of P counts as none: P cannot show it."""
    gap_share: float = 0.9
    """With squared loss |r|^2/(2 l2) may be this share of the gap that is wanted: it is all of it.
    """
    smooth_from: float = 27.0
    """Residuals are mixed for the dual point once |r|^2/(2 l2) is within this factor of the goal.

    Earlier a mix costs three vector operations a product and serves nobody.
    """
    at_once: float = 5.0
    """A factorisation that costs no more passes than this is made without waiting.

    Conjugate gradients would take as many for a system or two.
    """
    trial_after: int = 10
    """So many products with H without its diagonal or a factor are worth a trial of the diagonal.

    The trial is half a pass, and most systems are solved by then.
    """
    diagonal_gains: float = 2.0
    """The diagonal is taken if its first step gains this many times what the other one did.

    On columns of unlike frequency (Zipf's law, more or less of it), where it takes between a tenth
    and a half of the products, it gains 2.5 to 12 times as much; on columns of one frequency 1.0.
    """
    near: float = 3e-2
    """After a gain of at most this share of P the factor of the last system still serves."""
    narrow_price: float = 0.5
    """The Gram matrix of the float32 copy costs this share of one of the data, as measured."""


@dataclass(frozen=True)
class Sets:
    """Which coordinates a working set has, and how well it is solved (`restricted`)."""

    growth: int = 64
    """A set grows by so many coordinates, or by the size of the support if that is more.

    Fewer would cost another product with A for each few, more would make descent slow. With H of
    all coordinates, where a set costs no product, it is twice as many; and that H is formed only
    if more than this many want to move.
    """
    all_of: int = 128
    """Of no more coordinates than this all are taken once a quarter is wanted: nothing to gather.
    """
    negligible: float = 1e-4
    """Coordinates that gain less than this share of what the best one does can wait."""
    enough: float = 1e-2
    """A set is solved when none of its coordinates gains more than this share of the best outside.
    """
    enough_by_columns: float = 1e-1
    """The share of ``enough`` where a sweep reads the columns, which is dear."""
    exact: float = 1e-12
    """A small set with squared loss is solved to this share of the first gain: it may be the last.
    """
    gap_share: float = 0.3
    """Sweeps over columns aim at this share of the gap that is wanted; the rest is for other sets.
    """
    rounds: int = 10
    """The most Newton steps on one set, or sets with H of all coordinates, in one step of a run.

    After these the driver is to see where the run stands.
    """
    near_zero: float = 0.7
    """A zero of an earlier set is kept in a new run if its gradient is above this share of l1."""


@dataclass(frozen=True)
class Grams:
    """When H of a working set is formed, and what is done with it (`set_models`)."""

    largest_side: int = 3000
    """The largest side of H (72 MB)."""
    cheap: float = 8.0
    """An H that costs no more than this many sweeps over the columns is formed without asking."""
    small_side: int = 500
    """A factor of an H of this side costs little beside anything else."""
    factor_price: float = 1000.0
    """A larger factor may take this many operations, side^3, for each entry of the columns.

    With more, conjugate gradients with the columns are the faster way.
    """
    worth_keeping: float = 0.3
    """An old H serves while steps with it reduce those of the coordinates to this share."""
    columns_sweeps: float = 5.0
    """A Newton step makes so many sweeps over the columns before something else takes over."""
    sign_changes: float = 0.2
    """Conjugate gradients take over if at most this share of the coordinates changed sign."""
    cheap_whole: float = 1e6
    """H of all coordinates is formed at once if it takes no more multiplications than this."""
    last_growth: float = 0.1
    """With it, a set that grows by no more than this share of its size is taken for the last."""


@dataclass(frozen=True)
class Classes:
    """Several predictions a row: their matrices, and which coordinates enter (`class_blocks`)."""

    largest_side: int = 1024
    """The largest side of the matrix of one class."""
    largest: int = 2**25
    """The most entries of all these matrices together (256 MB)."""
    largest_whole: int = 2048
    """The largest side of the matrix of all classes with their ties."""
    exact: float = 1e-4
    """Descent on the model ends when this share of the largest gain of a coordinate is left."""
    enters: float = 0.7
    """Without these matrices a zero is let in if it promises this share of what the best one does.
    """
    growth: float = 0.3
    """At once are let in so many, as a share of the coordinates that are not 0."""


DAMPING, SYSTEMS, SETS, GRAMS, CLASSES = Damping(), Systems(), Sets(), Grams(), Classes()
