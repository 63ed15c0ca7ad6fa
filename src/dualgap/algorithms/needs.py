"""What an algorithm needs of a problem, declared by its class, and sentences on what is missing.

This is the only place that refuses: the run asks it before any work, ``"auto"`` asks it before it
chooses, the estimators before they fit, and the table in the documentation is made of it
(`algorithms.table`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dualgap.regularizers import capabilities
from dualgap.regularizers.capabilities import WANTED, Need

if TYPE_CHECKING:
    from dualgap.algorithms.contract import Algorithm
    from dualgap.problem import Problem


KNOWN: dict[str, type[Algorithm]] = {}
"""The algorithms that sentences recommend, by name; `dualgap.algorithms` enters them."""


@dataclass(frozen=True)
class Needs:
    """What an algorithm needs; nothing by default.

    Parameters
    ----------
    gamma : bool
        A loss whose phi'' has a bound 1/gamma, which the steps rest on.
    dual_prox : bool
        A loss with a `prox_conj`.
    compiled_loss : bool
        A loss that the compiled kernels know.
    scalar_loss : bool
        A loss of one prediction a row, unless rows are not held and it does without them.
    rows : bool
        A design whose rows can be visited one after the other.
    no_l1 : bool
        A regulariser without an l1 part.
    l2_everywhere : bool
        l2 > 0 on every coordinate, so that there is no free intercept.
    held_rows : bool
        Arrays with an entry for each row, which data that do not hold their rows have none of
        (`Design.holds_rows`); every algorithm needs them that does not say that it does without.
    regularizer : str
        ``"strengths"``: the elastic net; ``"bounds"``: that, or one with bounds; ``"prox"``: any.
        See `regularizers.capabilities`.
    instead : str
        The algorithm that is the same but for the dual prox, where there is one.
    """

    gamma: bool = False
    dual_prox: bool = False
    compiled_loss: bool = False
    scalar_loss: bool = False
    rows: bool = False
    no_l1: bool = False
    l2_everywhere: bool = False
    held_rows: bool = True
    regularizer: Need = "strengths"
    instead: str = ""


def missing(algorithm: Algorithm, problem: Problem) -> list[str]:
    """Sentences on what the algorithm needs and the problem lacks; none if it can be run.

    Parameters
    ----------
    algorithm : Algorithm
        A value, with its options.
    problem : Problem
    """
    lacks = _Lacks(algorithm, problem)
    sentences = [getattr(lacks, name)() for name in _absent(algorithm.requires, problem)]
    loss = problem.loss
    batch = getattr(algorithm, "batch", 1)
    if batch > 1 and loss.is_vector:
        sentences.append(f"batch={batch} has no kernel for loss={loss.name!r}; use batch=1.")
    return sentences


def serves(algorithm: Algorithm, problem: Problem) -> bool:
    """Whether nothing is missing; no sentence is made."""
    vectors = getattr(algorithm, "batch", 1) > 1 and problem.loss.is_vector
    return not (vectors or _absent(algorithm.requires, problem))


def refuse(algorithm: Algorithm, problem: Problem) -> None:
    """Raise the first of the sentences, if there is one."""
    if not serves(algorithm, problem):
        raise ValueError(missing(algorithm, problem)[0])


def serving(problem: Problem, first: tuple[str, ...] = ()) -> list[str]:
    """Names of the algorithms that lack nothing here; those of ``first`` first."""
    order = [*first, *(name for name in KNOWN if name not in first)]
    return [name for name in order if not _absent(KNOWN[name].requires, problem)]


def is_served(problem: Problem) -> bool:
    """Whether some algorithm lacks nothing here."""
    return any(not _absent(cls.requires, problem) for cls in KNOWN.values())


def _absent(needs: Needs, problem: Problem) -> list[str]:
    """Fields of the needs that the problem does not meet."""
    loss, g = problem.loss, problem.regularizer
    if needs.held_rows and problem.streamed is not None:
        return ["held_rows"]
    if not capabilities.is_served(needs.regularizer, g):
        return ["regularizer"]
    scalar = needs.scalar_loss and (needs.held_rows or problem.streamed is None)
    absent = (
        ("gamma", needs.gamma and loss.gamma is None),
        ("dual_prox", needs.dual_prox and not loss.has_dual_prox),
        ("scalar_loss", scalar and loss.is_vector),
        ("compiled_loss", needs.compiled_loss and loss.code < 0),
        ("rows", needs.rows and not problem.base.offers_rows),
        ("no_l1", needs.no_l1 and g.has_l1),
        ("l2_everywhere", needs.l2_everywhere and not g.strong_convexity > 0.0),
    )
    return [name for name, is_absent in absent if is_absent]


class _Lacks:
    """The sentences, each with algorithms that serve."""

    def __init__(self, algorithm: Algorithm, problem: Problem) -> None:
        self.algorithm, self.problem = algorithm, problem
        self.named = f"algorithm={algorithm.name!r}"
        self.loss = f"loss={problem.loss.name!r}"

    def _use(self, *first: str) -> str:
        some = [repr(name) for name in serving(self.problem, first)[:3]]
        if not some:
            return f"of dualgap's own algorithms none serves {self.problem!r}"
        return f"use {', '.join(some)} or 'auto'"

    def regularizer(self) -> str:
        serve = ", ".join(map(repr, serving(self.problem)))
        wanted = WANTED[self.algorithm.requires.regularizer]
        return (
            f"{self.named} needs {wanted}, and regularizer={self.problem.given!r} is not of that "
            f"form; it is served by {serve or 'no algorithm with this loss'}."
        )

    def gamma(self) -> str:
        use = self._use("newton", "working-set", "prox-newton")
        how = ", which search along a line" if serving(self.problem) else ""
        return (
            f"{self.named} takes steps that rest on a bound on phi'', and {self.loss} has none "
            f"(its gamma is None); {use}{how}."
        )

    def dual_prox(self) -> str:
        instead = self.algorithm.requires.instead
        use = self._use("adf-bpd", "newton", "working-set", "prox-newton") + "."
        if instead in serving(self.problem):
            use = f"use algorithm={instead!r}, which needs only the gradient of the loss."
        return f"{self.named} needs the dual prox, which {self.loss} does not have; {use}"

    def scalar_loss(self) -> str:
        use = self._use("adf-spdc", "adf-bpd", "newton", "prox-newton")
        return f"{self.named} has no kernel for {self.loss}; {use}."

    def compiled_loss(self) -> str:
        use = self._use("adf-bpd", "newton", "working-set", "prox-newton")
        return f"{self.named} runs compiled kernels, which do not know {self.loss}; {use}."

    def rows(self) -> str:
        use = self._use("adf-bpd", "newton", "working-set", "prox-newton")
        return (
            f"{self.named} visits one row after the other, and {self.problem.base.title} has no "
            f"rows(); {use}."
        )

    def held_rows(self) -> str:
        design = type(self.problem.base).__name__
        use = self._use("newton", "working-set")
        return (
            f"{self.named} needs arrays with an entry for each row in memory, and the design "
            f"{design} does not hold its rows; {use}."
        )

    def no_l1(self) -> str:
        use = self._use("working-set", "prox-newton", "ada-bpd", "adf-bpd")
        return f"{self.named} needs a smooth regulariser, but {l1_part(self.problem)}; {use}."

    def l2_everywhere(self) -> str:
        use = self._use("adf-spdc", "newton", "adf-bpd", "working-set")
        return (
            f"{self.named} needs l2 > 0 on every coordinate, which {self.problem!r} does not have; "
            f"{use}."
        )


def l1_part(problem: Problem) -> str:
    """Where the l1 part of a problem comes from, in words."""
    if problem.given is None:
        return f"l1={problem.l1:g}"
    return f"regularizer={problem.given!r} has an l1 part"
