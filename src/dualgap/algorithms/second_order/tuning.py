"""The tuning values of Newton's methods: none changes what is true, all change what it costs.

Costs are in passes (a product with A and one with its transpose), in sweeps (one visit of every
coordinate) or in multiplications; no rule reads a clock, so that the same data get the same run.
`docs/decisions/0005-portfolio.md` has the measurements that are named here.
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
    least: float = 1e-8
    """An m that is not 0 is at least this share of the mean of phi'': less would be rounding."""
    most_growth: float = 1e3
    """From one system to the next m grows at most by this factor, however short the step was."""
    first_floor: float = 1e-3
    """The first m of working sets, which need one: H is singular on rows with phi'' = 0."""
    least_floor: float = 1e-6
    """The least m of working sets, for the same reason."""


@dataclass(frozen=True)
class Systems:
    """When a system H d = -g is solved, and by what (`newton_system`, `orthant`)."""

    chunk: int = 25
    """The products with H that one step of the driver makes at most; between steps it can stop."""
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
    most_products: int = 100
    """The most products with H for one system where working sets or prox-newton solve it.

    Their supports change from step to step, so that a system is not worth more.
    """
    flat: float = 1e-15
    """A direction p is flat where p'Hp is this share of the same sum for the diagonal of H.

    It is the rounding of that sum: a step along p would be noise.
    """
    nothing: float = 1e-19
    """A predicted gain below this share of P counts as none: P cannot show it."""
    without_dual: float = 1e3
    """The exact Newton step is taken as it is while its gain is this many times the gap wanted.

    Only the last steps are worth the products that make a dual point of them.
    """
    coarsest_goal: float = 1e-4
    """In that comparison a ``tol`` above this counts as this, so that early steps are cheap."""
    smooth_from: float = 30.0
    """Residuals are mixed for the dual point once |r|^2/(2 l2) is within this factor of the goal.

    Earlier a mix costs three vector operations a product and serves nobody.
    """
    second_dual: float = 0.1
    """After a step that gained more than this share of P only one dual point is evaluated."""
    most_rise: float = 1e-10
    """A step after which P has risen by more than this share of itself is taken back."""


@dataclass(frozen=True)
class Factors:
    """When Newton's method factorises H (`newton_system`)."""

    at_once: float = 5.0
    """A factorisation that costs no more passes than this is made without waiting.

    Conjugate gradients would take as many for a system or two.
    """
    near: float = 3e-2
    """After a gain of at most this share of P the factor of the last system still serves."""
    left_out: float = 0.1
    """The rows left out of H carry at most this share of its trace, but in the last systems."""
    narrow_after: int = 1
    """The float32 copy of the data is made after so many products, for it costs about 1.4."""
    narrow_price: float = 0.5
    """The Gram matrix of the float32 copy costs this share of one of the data, as measured."""
    narrow_products: int = 12
    """A factor of the float32 copy with which a system takes so many is made anew from the data."""


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
    too_many: float = 2.0
    """Other zeros are dropped if the set is this many times as large as what is kept."""


@dataclass(frozen=True)
class Grams:
    """When H of a working set is formed, and what is done with it (`restricted`, `known_gram`)."""

    largest_side: int = 2000
    """The largest side of H (32 MB)."""
    newton_side: float = 1.5
    """That limit is this times as large where every Newton step needs an H of its own."""
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
    loose: float = 1e-5
    """While these sets grow, each is solved to this share of the first gain."""
    last_growth: float = 0.1
    """A set that grows by no more than this share of its size is taken for the last."""


@dataclass(frozen=True)
class Descent:
    """Coordinate descent and factorisations in turns, on a matrix H (`gram_descent`)."""

    rounds: int = 50
    """The most turns, and between bounds the most factorisations of one turn."""
    factor_entries: int = 100_000
    """Sweeps read so many entries of H in the time of the smallest factorisation."""
    factor_sweeps: float = 50.0
    """A factorisation counts as so many sweeps, which is what it spares at least."""
    visit: int = 16
    """A visit of a coordinate costs as much as so many multiplications, beside those with H."""
    ridge: float = 1e-11
    """This share of its diagonal is added to H before it is factorised.

    Where columns are equal the step is long then, along what H does not see, and ends at a zero.
    """
    shorter: int = 3
    """A step of conjugate gradients across zeros is tried at so many lengths, each a quarter."""
    further: float = 0.3
    """Conjugate gradients aim at this share of the goal of descent: they converge faster."""


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
    least_sweeps: int = 3
    """Descent on a class may take so many sweeps, whatever they cost."""
    most_passes: float = 10.0
    """Descent on all classes may cost as many multiplications as so many passes."""
    enters: float = 0.7
    """Without these matrices a zero is let in if it promises this share of what the best one does.
    """
    growth: float = 0.3
    """At once are let in so many, as a share of the coordinates that are not 0."""


DAMPING, SYSTEMS, FACTORS = Damping(), Systems(), Factors()
SETS, GRAMS, DESCENT, CLASSES = Sets(), Grams(), Descent(), Classes()
