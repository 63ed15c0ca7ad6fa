"""The claims of the paper's figures, and verdicts computed from the curves.

Everything is said in two words, both about passes to a relative gap of 1e-6 (median over seeds):

    alike:   the larger number is at most 1.5 times the smaller one
    beats:   at most 0.8 times the other's

"Fastest" and "between" mean "not beaten". A claim is a list of such comparisons: it holds if all
are true, is contradicted if none is, and else holds in part. If a method does not get to 1e-6
within its limit and that alone does not settle the matter, the two are compared at the lowest
level that both reach, and the comparison says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from dualgap.experiments import contenders
from dualgap.experiments.contenders import DEFAULT, THEOREM, Contender
from dualgap.experiments.curves import Curve
from dualgap.experiments.problems import STRENGTHS

LEVEL = 1e-6
ALIKE = 1.5
BEATS = 0.8

Kind = Literal["alike", "beats", "unbeaten"]
Verdict = Literal["holds", "holds in part", "contradicted", "not run"]


@dataclass(frozen=True)
class Setting:
    """With which steps and which rule a claim is looked at."""

    name: str
    steps: str
    curvature: bool

    def pick(self, contender: Contender) -> tuple[Contender, str]:
        """Who stands for the paper's contender, and with which steps.

        The paper takes each algorithm's steps from its own paper: SPDC's are those of Zhang & Xiao
        (2015), our default, not Theorem 2's.
        """
        if self.curvature:
            contender = contenders.OURS_FOR.get(contender, contender)
        steps = self.steps if self.steps in contender.step_sizes else DEFAULT
        return contender, DEFAULT if contender is contenders.SPDC else steps


PAPER = Setting("as in the paper: theorem steps, robust rule", THEOREM, False)
BOLD = Setting("our default steps, robust rule", DEFAULT, False)
OURS = Setting("our default steps, curvature rule", DEFAULT, True)
SETTINGS = (PAPER, BOLD, OURS)


@dataclass(frozen=True)
class Comparison:
    """One atom of a claim.

    Attributes
    ----------
    where : str
        The problem.
    first, second : str
        Who is compared.
    kind : str
        What is claimed of the first against the second.
    passes : (float, float)
        To ``level``; inf if it was not reached.
    level : float
        1e-6, or the lowest level that both reached.
    true : bool
        The outcome.
    arrivals, limits : (float, float)
        Passes to 1e-6, and how many were allowed.
    """

    where: str
    first: str
    second: str
    kind: Kind
    passes: tuple[float, float]
    level: float
    true: bool
    arrivals: tuple[float, float]
    limits: tuple[float, float]


@dataclass(frozen=True)
class Claim:
    """A claim in one setting."""

    letter: str
    statement: str
    setting: Setting
    comparisons: tuple[Comparison, ...]

    @property
    def counts(self) -> tuple[int, int]:
        """True comparisons, and all of them."""
        return sum(c.true for c in self.comparisons), len(self.comparisons)

    @property
    def verdict(self) -> Verdict:
        """All, some or none."""
        true, total = self.counts
        if total == 0:
            return "not run"
        return "holds" if true == total else "holds in part" if true else "contradicted"


def alike(a: float, b: float) -> bool:
    """Within 1.5 times of each other."""
    return max(a, b) <= ALIKE * min(a, b)


def beats(a: float, b: float) -> bool:
    """At most 0.8 times."""
    return a <= BEATS * b


def decide(kind: Kind, first: Curve, second: Curve) -> tuple[bool, float, tuple[float, float]]:
    """The outcome, the level it was taken at, and the passes of both to it."""
    if kind == "unbeaten":
        true, level, (b, a) = decide("beats", second, first)
        return not true, level, (a, b)
    a, b = first.passes_to(LEVEL), second.passes_to(LEVEL)
    # One that did not arrive needs more than its limit: often that says enough.
    low = (min(a, first.limit), min(b, second.limit))
    arrived = (math.isfinite(a), math.isfinite(b))
    judge = beats if kind == "beats" else alike
    if all(arrived):
        return judge(a, b), LEVEL, (a, b)
    if arrived[0]:  # b > its limit
        settled = beats(a, low[1]) if kind == "beats" else low[1] > ALIKE * a
        outcome = kind == "beats"
    elif arrived[1]:  # a > its limit
        settled = low[0] > BEATS * b if kind == "beats" else low[0] > ALIKE * b
        outcome = False
    else:
        settled = outcome = False
    if settled:
        return outcome, LEVEL, (a, b)
    level = max(first.best, second.best)
    a, b = first.passes_to(level), second.passes_to(level)
    return judge(a, b), level, (a, b)


Lookup = Callable[[str, float, Contender, str], Curve | None]
"""The curve of (data, lambda n, contender, steps); None if it was not run."""


@dataclass(frozen=True)
class Bench:
    """Makes comparisons in one setting."""

    curves: Lookup
    setting: Setting

    def compare(
        self, kind: Kind, data: str, strength: float, first: Contender, second: Contender
    ) -> Iterator[Comparison]:
        """One comparison; none if the data are absent."""
        one, two = self.setting.pick(first), self.setting.pick(second)
        a, b = self.curves(data, strength, *one), self.curves(data, strength, *two)
        if a is None or b is None:
            return
        true, level, passes = decide(kind, a, b)
        where = f"{data}, {strength:g}/n"
        arrivals = (a.passes_to(LEVEL), b.passes_to(LEVEL))
        yield Comparison(
            where, one[0].label, two[0].label, kind, passes, level, true, arrivals,
            (a.limit, b.limit),
        )  # fmt: skip

    def each(
        self,
        kind: Kind,
        data: str,
        strength: float,
        firsts: Iterable[Contender],
        seconds: tuple[Contender, ...],
    ) -> Iterator[Comparison]:
        """Every first against every second."""
        for first in firsts:
            for second in seconds:
                yield from self.compare(kind, data, strength, first, second)


PLAIN = (contenders.SVRG, contenders.SAGA)
NOT_ADAPTIVE = (contenders.KATYUSHA, contenders.SPDC, contenders.DF_SPDC)
ADAPTIVE = (contenders.ADA_SPDC, contenders.ADF_SPDC)
EVERYONE = (*PLAIN, *NOT_ADAPTIVE, *ADAPTIVE)


def claim_a(bench: Bench) -> Iterator[Comparison]:
    """Primal AG and BPD with the same lambda behave alike (Figure 1)."""
    for s in STRENGTHS:
        yield from bench.compare("alike", "synthetic1", s, contenders.AG, contenders.BPD)


def claim_b(bench: Bench) -> Iterator[Comparison]:
    """Opt-BPD is fastest, Ada-BPD lies between it and BPD (Figure 1)."""
    for s in STRENGTHS:
        others = (contenders.AG, contenders.BPD, contenders.ADA_BPD)
        yield from bench.each("unbeaten", "synthetic1", s, (contenders.OPT_BPD,), others)
        yield from bench.compare("unbeaten", "synthetic1", s, contenders.ADA_BPD, contenders.BPD)


def claim_c(bench: Bench) -> Iterator[Comparison]:
    """At λ = 1/n all randomised methods are alike (Figure 2)."""
    for data in ("synthetic1", "cpuact"):
        for first, second in combinations(EVERYONE, 2):
            yield from bench.compare("alike", data, 1.0, first, second)


def claim_d(bench: Bench) -> Iterator[Comparison]:
    """At 10⁻²/n the accelerated methods beat SVRG and SAGA on synthetic1 (Figure 2)."""
    yield from bench.each("beats", "synthetic1", 1e-2, (*NOT_ADAPTIVE, *ADAPTIVE), PLAIN)


def claim_e(bench: Bench) -> Iterator[Comparison]:
    """At 10⁻⁴/n on synthetic1 SVRG, SAGA beat Katyusha, SPDC, DF-SPDC; ADF-SPDC beats all five."""
    yield from bench.each("beats", "synthetic1", 1e-4, PLAIN, NOT_ADAPTIVE)
    # Ada-SPDC, the same method with the dual prox, is not a line of the paper's figure.
    others = (*PLAIN, *NOT_ADAPTIVE)
    yield from bench.each("beats", "synthetic1", 1e-4, (contenders.ADF_SPDC,), others)


def claim_f(bench: Bench) -> Iterator[Comparison]:
    """On the logistic problems the accelerated methods beat SVRG and SAGA (Figure 3)."""
    for data in ("synthetic2", "rcv1_sub"):
        for s in STRENGTHS:
            yield from bench.each("beats", data, s, (*NOT_ADAPTIVE, *ADAPTIVE), PLAIN)


CLAIMS = {"a": claim_a, "b": claim_b, "c": claim_c, "d": claim_d, "e": claim_e, "f": claim_f}


def judge_all(curves: Lookup) -> list[Claim]:
    """Each claim in each setting, the paper's own first."""
    return [
        Claim(letter, (make.__doc__ or "").strip(), setting, tuple(make(Bench(curves, setting))))
        for letter, make in CLAIMS.items()
        for setting in SETTINGS
    ]
