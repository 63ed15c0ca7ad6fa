"""Objects from outside the package: every algorithm serves them, certified, or refuses them.

The objects are those of the examples, written with public names only. What serves is written down
here by hand, from what each object lacks; that a certificate is true is held against a run of
another algorithm to 1e-12, and against P from the formulas alone.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import dualgap
from dualgap.algorithms import ALGORITHMS, Algorithm, Start, first_point
from dualgap.designs import Design, as_design
from dualgap.losses import Loss, as_loss
from dualgap.regularizers import ElasticNet, Regularizer
from tests.laws.test_reduce import Elsewhere
from tests.reliability.from_examples import load

Counts = load("poisson_loss").Counts
SmoothQuantile = load("quantile_loss").SmoothQuantile
Positive, CompiledPositive = load("non_negative").Positive, load("non_negative").CompiledPositive
ProximalGradient = load("proximal_gradient").ProximalGradient
RowBlocksOnDisk = load("row_blocks_on_disk").RowBlocksOnDisk
write_blocks = load("row_blocks_on_disk").write_blocks

RNG = np.random.default_rng(3)
A = RNG.standard_normal((120, 5))
LINEAR = A @ np.array([0.5, -0.4, 0.3, 0.0, 0.1])
NUMBERS = LINEAR + 0.3 * RNG.standard_normal(120)
LABELS = np.where(NUMBERS > 0.0, 1.0, -1.0)
COUNTED = RNG.poisson(np.exp(LINEAR)).astype(float)

OURS = ProximalGradient()
EVERY = [*ALGORITHMS, OURS]
BATCH = {"df-bpd", "adf-bpd", "agd"}
DUAL_PROX = {"bpd", "opt-bpd", "ada-bpd"}
SECOND_ORDER = {"newton", "prox-newton", "working-set"}
OWN = {OURS.name}


class Counting(Design):
    """A matrix that counts who reads it, with all that an algorithm may ask for."""

    def __init__(self, A):
        self.kept, self.shape, self.reads = as_design(A), A.shape, 0

    def matvec(self, x):
        self.reads += 1
        return self.kept.matvec(x)

    def rmatvec(self, r):
        self.reads += 1
        return self.kept.rmatvec(r)

    def blocks(self, rows):
        self.reads += 1
        return self.kept.blocks(rows)

    def rows(self):
        self.reads += 1
        return self.kept.rows()


class CountingBlocks(RowBlocksOnDisk):
    """The example's design, which counts."""

    reads = 0

    def blocks(self, rows):
        self.reads += 1
        return super().blocks(rows)


@dataclass(frozen=True)
class Case:
    """A problem with an object from outside."""

    b: np.ndarray
    options: dict
    served_by: set
    named: str
    """What a refusal names."""
    reference: dict
    """The same problem for the algorithm that finds the optimum."""
    on_disk: bool = False


CASES = {
    "counts": Case(
        COUNTED, {"loss": Counts(), "l2": 0.05}, SECOND_ORDER | OWN, "loss='counts'",
        {"algorithm": "newton"},
    ),
    "counts with l1": Case(
        COUNTED, {"loss": Counts(), "l1": 0.05, "fit_intercept": True},
        {"prox-newton", "working-set"} | OWN, "loss='counts'|l1=0.05", {"algorithm": "working-set"},
    ),
    "quantiles": Case(
        NUMBERS, {"loss": SmoothQuantile(0.8, 0.2), "l2": 0.05, "fit_intercept": True},
        BATCH | SECOND_ORDER | OWN, "loss='smooth_quantile'", {"algorithm": "newton"},
    ),
    "quantiles with l1": Case(
        NUMBERS, {"loss": SmoothQuantile(0.8, 0.2), "l1": 0.02},
        BATCH | {"prox-newton", "working-set"} | OWN, "loss='smooth_quantile'|l1=0.02",
        {"algorithm": "working-set"},
    ),
    "positive": Case(
        NUMBERS, {"regularizer": Positive(0.02)}, BATCH | DUAL_PROX | OWN, "Positive(0.02)",
        {"regularizer": CompiledPositive(0.02), "algorithm": "working-set"},
    ),
    "compiled positive": Case(
        NUMBERS, {"regularizer": CompiledPositive(0.02)}, BATCH | DUAL_PROX | {"working-set"} | OWN,
        "CompiledPositive(0.02)", {"algorithm": "working-set"},
    ),
    "positive quantiles": Case(
        NUMBERS, {"loss": SmoothQuantile(0.8, 0.2), "regularizer": Positive(0.02)}, BATCH | OWN,
        "Positive(0.02)|loss='smooth_quantile'",
        {"regularizer": CompiledPositive(0.02), "algorithm": "working-set"},
    ),
    "positive counts": Case(
        COUNTED, {"loss": Counts(), "regularizer": Positive(0.02)}, OWN,
        "Positive(0.02)|loss='counts'",
        {"regularizer": CompiledPositive(0.02), "algorithm": "working-set"},
    ),
    "on disk": Case(
        LABELS, {"loss": "logistic", "l2": 0.05}, BATCH | DUAL_PROX | SECOND_ORDER | OWN,
        "the design CountingBlocks", {"algorithm": "newton"}, on_disk=True,
    ),
}  # fmt: skip


def name_of(algorithm):
    return algorithm if isinstance(algorithm, str) else algorithm.name


def design_of(case, folder):
    if not case.on_disk:
        return Counting(A)
    write_blocks(A, folder, rows=50)
    return CountingBlocks(folder)


def primal(case, x, c):
    """P, from the formulas and the array."""
    options = case.options
    loss = as_loss(options.get("loss", "squared"))
    g = options.get("regularizer") or ElasticNet(options.get("l1", 0.0), options.get("l2", 0.0))
    return float(np.mean(loss.value(A @ x + c, case.b))) + g.value(x)


@pytest.fixture(scope="module")
def optima():
    """P at points whose certified gap is 1e-12."""
    out = {}
    for label, case in CASES.items():
        result = dualgap.solve(A, case.b, tol=1e-12, **{**case.options, **case.reference})
        assert result.certificate.certified
        assert result.certificate.gap <= 1e-11 * result.certificate.primal
        out[label] = result.certificate.primal
    return out


@pytest.mark.parametrize("algorithm", EVERY, ids=name_of)
@pytest.mark.parametrize("label", CASES)
def test_served_and_certified_or_refused_before_any_work(label, algorithm, optima, tmp_path):
    case, name = CASES[label], name_of(algorithm)
    design = design_of(case, tmp_path)
    if name not in case.served_by:
        with pytest.raises(ValueError, match=r"^algorithm=") as caught:
            dualgap.solve(design, case.b, algorithm=algorithm, **case.options)
        sentence = str(caught.value)
        assert f"algorithm={name!r}" in sentence
        assert any(word in sentence for word in case.named.split("|")), sentence
        assert design.reads == 0
        recommended = {other for other in ALGORITHMS if f"'{other}'" in sentence} - {name}
        assert recommended <= case.served_by
        assert recommended or "no algorithm" in sentence or "none serves" in sentence
        return
    result = dualgap.solve(
        design, case.b, algorithm=algorithm, tol=1e-6, max_passes=5000, **case.options
    )
    assert result.status.converged
    bound = result.certificate
    assert bound.certified and bound.gap <= 1e-6 * bound.primal
    above = primal(case, result.x, result.intercept) - optima[label]
    assert above <= bound.gap + 1e-12 * bound.primal
    again = dualgap.certify(
        A, case.b, result.x, result.y, intercept=result.intercept, **case.options
    )
    assert above <= again.gap + 1e-12 * again.primal
    assert again.gap <= 1e-6 * again.primal


@pytest.mark.parametrize("label", CASES)
def test_auto_takes_what_serves_or_says_that_nothing_does(label, tmp_path):
    case = CASES[label]
    design = design_of(case, tmp_path)
    if case.served_by == OWN:
        with pytest.raises(ValueError, match="no algorithm serves"):
            dualgap.solve(design, case.b, **case.options)
        assert design.reads == 0
    else:
        result = dualgap.solve(design, case.b, **case.options)
        assert result.status.converged and result.algorithm in case.served_by


# ---- through pickle ----


@pytest.mark.parametrize("label", CASES)
def test_tasks_sent_through_pickle_give_the_same_bits(label, tmp_path):
    case = CASES[label]
    write_blocks(A, tmp_path, rows=50)
    here = RowBlocksOnDisk(tmp_path)
    for algorithm in [*sorted(case.served_by - OWN), OURS]:
        options = {"algorithm": algorithm, "max_passes": 30, **case.options}
        one = dualgap.solve(here, case.b, **options)
        other = dualgap.solve(here.arranged(executor=Elsewhere()), case.b, **options)
        for name in ("x", "y"):
            assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), algorithm


@pytest.mark.parametrize("label", CASES)
def test_a_run_goes_on_bit_for_bit_from_a_state_that_was_pickled(label):
    case = CASES[label]
    options = {"algorithm": OURS, "tol": 1e-13, **case.options}
    whole = dualgap.solve(A, case.b, max_passes=40, **options)
    # as many passes in all, whatever the first half has left of its own
    half = dualgap.solve(A, case.b, max_passes=20, **options)
    state = pickle.loads(pickle.dumps(half.state))
    rest = dualgap.solve(A, case.b, max_passes=40 - half.state.passes, state=state, **options)
    assert whole.state.t == rest.state.t
    assert whole.x.tobytes() == rest.x.tobytes()
    assert whole.y.tobytes() == rest.y.tobytes()


# ---- laws that a user's object breaks ----


def test_a_grad_that_is_not_the_derivative_of_value_is_named():
    class Steep(Counts):
        def grad(self, z, b):
            return 2.0 * super().grad(z, b)

    with pytest.raises(dualgap.checks.LawError, match="grad is the derivative of value"):
        dualgap.check_loss(Steep())


def test_a_gamma_that_is_too_large_is_named():
    class TooSmooth(SmoothQuantile):
        gamma = 1.0

    with pytest.raises(dualgap.checks.LawError, match="phi is 1/gamma-smooth"):
        dualgap.check_loss(TooSmooth(0.5, 0.1))


def test_a_prox_that_is_none_is_named():
    class Far(Positive):
        def prox(self, v, tau):
            return np.maximum(v - 2.0 * tau * self.l1, 0.0)

    with pytest.raises(dualgap.checks.LawError, match="breaks the law 'prox'"):
        dualgap.check_regularizer(Far(0.1))


def test_products_that_do_not_belong_together_are_named(tmp_path):
    class Twice(RowBlocksOnDisk):
        def rmatvec(self, r):
            return 2.0 * super().rmatvec(r)

    write_blocks(A, tmp_path, rows=50)
    with pytest.raises(dualgap.checks.LawError, match="adjointness"):
        dualgap.check_design(Twice(tmp_path))


# ---- objects that lack a method ----


class NoConj(Loss):
    gamma = 1.0

    def value(self, z, b):
        return 0.5 * (z - b) ** 2

    def grad(self, z, b):
        return z - b

    def hess(self, z, b):
        return np.ones_like(z)

    def conj_grad(self, y, b):
        return b + y


class NoRegularizerConj(Regularizer):
    strong_convexity = 0.0
    value = prox = dual_interval = fenchel_gap = lambda self, *args: 0.0


class NoAdjoint(Design):
    shape = A.shape

    def matvec(self, x):
        return A @ x


class NoShape(Design):
    def matvec(self, x):
        return A @ x

    def rmatvec(self, r):
        return A.T @ r


class NoStep(Algorithm):
    def start(self, problem, x0, y0, advice=None):
        return Start(first_point(self.name, problem, x0, y0)[0])


class NoStart(Algorithm):
    def step(self, problem, s):
        return s


class StartsWithNothing(NoStep):
    def start(self, problem, x0, y0, advice=None):
        return None

    def step(self, problem, s):
        return s


class StepsToNothing(NoStep):
    def step(self, problem, s):
        return None


class StandsStill(NoStep):
    def step(self, problem, s):
        return s


class Verbs:
    """Something like a design, or a loss, that derives from neither."""

    shape, gamma = A.shape, 1.0

    def matvec(self, x):
        return A @ x

    def value(self, z, b):
        return z


LACKING = {
    "an object as a loss": (lambda: {"loss": object()}, "derives from dualgap.losses.Loss"),
    "a loss by its methods": (
        lambda: {"loss": Verbs()},
        r"lacks grad\(z, b\) \(every method needs .*conj\(y, b\) \(the certificate needs",
    ),
    "a class as a loss": (lambda: {"loss": NoConj}, r"is a class; give a value, NoConj\(...\)"),
    "a loss without conj": (
        lambda: {"loss": NoConj()},
        r"NoConj does not define conj\(y, b\) \(the certificate needs",
    ),
    "an object as a regulariser": (
        lambda: {"regularizer": object()},
        "subclass of dualgap.regularizers.Regularizer",
    ),
    "a regulariser without conj": (
        lambda: {"regularizer": NoRegularizerConj()},
        "NoRegularizerConj lacks 'conj', needed by the dual value",
    ),
    "a design without rmatvec": (
        lambda: {"A": NoAdjoint()},
        "NoAdjoint has no rmatvec, which every algorithm needs",
    ),
    "a design without shape": (lambda: {"A": NoShape()}, r"shape of a design .* got None"),
    "a design by its methods": (
        lambda: {"A": Verbs()},
        r"Verbs does not derive from dualgap.designs.Design.*lacks rmatvec, which every algorithm",
    ),
    "a class as a design": (lambda: {"A": NoShape}, r"the class NoShape; give a value"),
    "an object as an algorithm": (
        lambda: {"algorithm": object()},
        "derives from dualgap.algorithms.Algorithm",
    ),
    "a class as an algorithm": (
        lambda: {"algorithm": ProximalGradient},
        r"is a class; give a value, ProximalGradient\(...\)",
    ),
    "an algorithm without step": (
        lambda: {"algorithm": NoStep()},
        "NoStep lacks 'step', needed by the driver",
    ),
    "an algorithm without start": (
        lambda: {"algorithm": NoStart()},
        "NoStart lacks 'start', needed by 'solve'",
    ),
    "a start that is none": (
        lambda: {"algorithm": StartsWithNothing()},
        "start of algorithm='starts-with-nothing' returned None; it should return a dualgap",
    ),
    "a step to nothing": (
        lambda: {"algorithm": StepsToNothing()},
        "step of algorithm='steps-to-nothing' returned None; it should return the next",
    ),
    "a step that counts nothing": (
        lambda: {"algorithm": StandsStill()},
        "step of algorithm='stands-still' went from t = 0 .* A step counts itself",
    ),
}


@pytest.mark.parametrize("label", LACKING)
def test_what_lacks_a_method_says_which_and_who_needs_it(label):
    make, sentence = LACKING[label]
    with pytest.raises(TypeError, match=sentence):
        dualgap.solve(**{"A": A, "b": NUMBERS, **make()})


def test_an_option_that_an_algorithm_of_ones_own_does_not_take_is_refused():
    with pytest.raises(ValueError, match=r"mu=1\.0 means nothing to algorithm='proximal-gradient'"):
        dualgap.solve(A, NUMBERS, algorithm=OURS, mu=1.0)


def test_a_state_of_another_algorithm_is_refused():
    state = dualgap.solve(A, NUMBERS, l2=0.1, algorithm="agd", max_passes=2).state
    with pytest.raises(ValueError, match="belongs to algorithm='agd', not to 'proximal-gradient'"):
        dualgap.solve(A, NUMBERS, l2=0.1, algorithm=OURS, state=state)


@pytest.mark.parametrize("precondition", ["none", "diagonal", "whiten", "low-rank"])
def test_an_algorithm_of_ones_own_runs_in_other_variables(precondition):
    result = dualgap.solve(
        A * [1.0, 30.0, 1.0, 0.1, 1.0], LABELS, loss="logistic", l2=0.05, fit_intercept=True,
        algorithm=OURS, precondition=precondition, max_passes=5000,
    )  # fmt: skip
    assert result.certificate.certified
    assert precondition == "none" or result.status.converged


def test_an_algorithm_of_ones_own_follows_a_path_and_takes_classes():
    points = dualgap.path(A, NUMBERS, lambdas=[0.3, 0.1], algorithm=OURS)
    assert points.converged
    classes = np.digitize(NUMBERS, [-0.3, 0.3])
    result = dualgap.solve(A, classes, loss="multinomial", l2=0.1, algorithm=OURS, max_passes=5000)
    assert result.status.converged and result.x.shape == (5, 3)
