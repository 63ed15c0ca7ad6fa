"""A problem from a file of `Problem.dump`, as the campaign takes it."""

from pathlib import Path

import dualgap
from tests.certificate.cases import Case

from .problems import Generated


def case_of(problem: dualgap.Problem) -> Case:
    """The problem in the words of its user."""
    loss = problem.loss
    if loss.name == "multinomial" and problem.outputs != int(problem.b.max()) + 1:
        raise SystemExit(
            f"the problem has {problem.outputs} classes, of which the last do not occur in b: it "
            "has no minimiser with an intercept, and the judge does not know it without."
        )
    if problem.given is not None:
        raise SystemExit("the judge takes l1, l2 and penalty weights from a file, no regulariser.")
    parameter = getattr(loss, "parameter", 1.0) if loss.name != "multinomial" else 1.0
    return Case(
        problem.base.A,
        problem.b.astype(int) if loss.name == "multinomial" else problem.b,
        loss.name,
        parameter=float(parameter),
        l1=problem.l1,
        l2=problem.l2,
        penalty_weights=problem.penalty_weights,
        sample_weight=problem.sample_weight,
        offset=problem.offset,
        fit_intercept=problem.fit_intercept,
    )


def replayed(path: Path) -> Generated:
    """The problem in this file, as if it had been generated."""
    return Generated("file", 0, 0, path.name, case_of(dualgap.Problem.load(path)))
