"""Losses from outside: served by every algorithm whose needs they meet, refused by the others."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

import dualgap
from dualgap import Status
from dualgap.algorithms import ALGORITHMS
from tests.certificate.cases import Case
from tests.certificate.honesty import reference

from .losses import Counts, PseudoHuber, SmoothQuantile, WithProx

RNG = np.random.default_rng(0)
A = RNG.standard_normal((80, 5))
Z = A @ np.array([0.5, -0.5, 0.3, 0.0, 0.0])
COUNTS = RNG.poisson(np.exp(Z + 0.5)) * 1.0
REALS = Z + RNG.standard_normal(80)
LOSSES = {
    "counts": (Counts(), COUNTS),
    "quantile": (SmoothQuantile(level=0.7, width=0.3), REALS),
    "with prox": (WithProx(level=0.7, width=0.3), REALS),
    "pseudo huber": (PseudoHuber(), REALS),
}
SERVED = {
    "counts": {"newton", "working-set", "prox-newton"},
    "quantile": {"newton", "working-set", "prox-newton", "df-bpd", "adf-bpd", "agd"},
    "with prox": {"newton", "working-set", "prox-newton", "df-bpd", "adf-bpd", "agd", "bpd",
                  "opt-bpd", "ada-bpd"},
    "pseudo huber": {"newton", "working-set", "prox-newton", "df-bpd", "adf-bpd", "agd"},
}  # fmt: skip
each_loss = pytest.mark.parametrize("name", LOSSES)
PENALTIES = ({"l2": 0.1}, {"l1": 0.02}, {"l1": 0.02, "l2": 0.01}, {})


def least(loss, b, *, l1=0.0, l2=0.0, fit_intercept=False):
    """The minimum, by scipy on x = p - m with p, m >= 0."""
    d = A.shape[1]

    def value_and_gradient(v):
        x, c = v[:d] - v[d : 2 * d], v[-1] * fit_intercept
        z = A @ x + c
        y = loss.grad(z, b) / len(b)
        smooth = A.T @ y + l2 * x
        value = loss.value(z, b).mean() + l1 * v[:-1].sum() + 0.5 * l2 * x @ x
        return value, np.concatenate((smooth + l1, l1 - smooth, [y.sum() * fit_intercept]))

    found = scipy.optimize.minimize(
        value_and_gradient, np.zeros(2 * d + 1), jac=True, method="L-BFGS-B",
        bounds=[(0, None)] * (2 * d) + [(None, None)],
        options={"maxiter": 5000, "ftol": 1e-16, "gtol": 1e-12, "maxfun": 50000},
    )  # fmt: skip
    return found.fun


def done(loss):
    """How a run ends that has arrived: what has no enclosures is not proved."""
    return Status.CONVERGED if loss.has_enclosures else Status.ESTIMATED


@each_loss
def test_the_laws_hold(name):
    dualgap.check_loss(LOSSES[name][0])


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
@each_loss
def test_every_algorithm_that_serves_certifies_the_same_minimum(name, penalty, fit_intercept):
    loss, b = LOSSES[name]
    reference = least(loss, b, fit_intercept=fit_intercept, **penalty)
    for algorithm in SERVED[name]:
        if algorithm == "newton" and "l1" in penalty:
            continue
        result = dualgap.solve(
            A, b, loss=loss, algorithm=algorithm, fit_intercept=fit_intercept, tol=1e-7,
            max_passes=20000, **penalty,
        )  # fmt: skip
        assert result.status is done(loss), (algorithm, result)
        assert result.certificate.relative_gap <= 1e-7
        assert result.certificate.dual <= reference * (1 + 1e-12)
        assert result.certificate.primal - reference <= result.certificate.gap + 1e-9 * reference
        assert result.certificate.primal >= reference * (1 - 1e-6)


@each_loss
def test_auto_chooses_one_that_serves(name):
    loss, b = LOSSES[name]
    for penalty in PENALTIES:
        result = dualgap.solve(A, b, loss=loss, **penalty)
        assert result.algorithm in SERVED[name]
        assert result.status is done(loss)


@each_loss
def test_the_others_refuse_before_any_work_and_say_who_serves(name):
    loss, b = LOSSES[name]
    problem = dualgap.Problem(A, b, loss=loss, l2=0.1)
    for algorithm in set(ALGORITHMS) - SERVED[name]:
        with pytest.raises(ValueError, match=rf"algorithm='{algorithm}' .*{loss.name}") as refused:
            problem.solve(algorithm=algorithm)
        said = str(refused.value)
        offered = {other for other in ALGORITHMS if f"'{other}'" in said} - {algorithm}
        assert offered and offered <= SERVED[name], said
    assert problem.base.ledger.passes == 0.0


def test_the_sentences_say_what_is_missing():
    def said(name, algorithm):
        loss, b = LOSSES[name]
        with pytest.raises(ValueError) as refused:
            dualgap.solve(A, b, loss=loss, l2=0.1, algorithm=algorithm)
        return str(refused.value)

    assert "a bound on phi'', and loss='counts' has none (its gamma is None)" in said(
        "counts", "saga"
    )
    assert "needs the dual prox, which loss='smooth_quantile'" in said("quantile", "bpd")
    assert "use algorithm='df-bpd'" in said("quantile", "bpd")
    assert "runs compiled kernels, which do not know loss='with_prox'" in said("with prox", "sdca")


def test_options_of_primal_dual_methods_are_refused_without_a_gamma():
    with pytest.raises(ValueError, match=r"adapt='robust' is for the primal-dual methods.*counts"):
        dualgap.solve(A, COUNTS, loss=Counts(), l2=0.1, adapt="robust")


@pytest.mark.parametrize("precondition", ["diagonal", "whiten", "rows", "low-rank"])
def test_changes_of_variables_that_rest_on_gamma_refuse(precondition):
    with pytest.raises(ValueError, match=rf"precondition='{precondition}' rests on.*counts"):
        dualgap.solve(A, COUNTS, loss=Counts(), l2=0.1, precondition=precondition)


def test_the_users_poisson_is_the_packages():
    for more in ({"l2": 0.1}, {"l1": 0.05, "fit_intercept": True}):
        ours = dualgap.solve(A, COUNTS, loss="poisson", tol=1e-10, **more)
        theirs = dualgap.solve(A, COUNTS, loss=Counts(), tol=1e-10, **more)
        np.testing.assert_allclose(theirs.x, ours.x, atol=2e-5)
        assert theirs.certificate.primal == pytest.approx(ours.certificate.primal, rel=1e-9)


def test_weights_offset_and_sparse_data():
    loss = SmoothQuantile()
    w = np.arange(80) % 3 * 1.0
    offset = np.linspace(-1.0, 1.0, 80)
    kept = w > 0
    options = {"loss": loss, "l2": 0.05, "fit_intercept": True, "tol": 1e-9}
    whole = dualgap.solve(sp.csr_array(A), REALS, sample_weight=w, offset=offset, **options)
    part = dualgap.solve(
        A[kept], REALS[kept], sample_weight=w[kept], offset=offset[kept], **options
    )
    np.testing.assert_allclose(whole.x, part.x, atol=1e-4)


# ---- what is not a loss ----


def test_a_missing_method_is_named_with_who_needs_it():
    @dataclass(frozen=True)
    class Half(dualgap.losses.Loss):
        gamma: ClassVar[float] = 1.0

        def value(self, z, b):
            return 0.5 * (z - b) ** 2

        def grad(self, z, b):
            return z - b

        def hess(self, z, b):
            return np.ones_like(z)

        def conj_grad(self, y, b):
            return y + b

    words = r"Half does not define conj\(y, b\) \(the certificate needs phi\*\(y\)\)"
    with pytest.raises(TypeError, match=words):
        dualgap.solve(A, REALS, loss=Half(), l2=0.1)
    with pytest.raises(TypeError, match=words):
        dualgap.check_loss(Half())
    with pytest.raises(TypeError, match=words):
        Half().conj(REALS, REALS)


def test_without_gamma_and_hess_bound():
    @dataclass(frozen=True)
    class Steep(Counts):
        hess_bound = dualgap.losses.Loss.hess_bound

    with pytest.raises(TypeError, match=r"Steep does not define hess_bound\(low, high, b\)"):
        dualgap.solve(A, COUNTS, loss=Steep(), l2=0.1)


def test_an_object_that_is_no_loss():
    class Duck:
        def value(self, z, b):
            return z

    with pytest.raises(TypeError, match=r"derives from dualgap\.losses\.Loss"):
        dualgap.solve(A, REALS, loss=Duck())
    with pytest.raises(TypeError, match=r"derives from dualgap\.losses\.Loss"):
        dualgap.check_loss(Duck())


def test_a_name_from_the_class():
    assert Counts().name == "counts"
    assert SmoothQuantile().name == "smooth_quantile"
    assert WithProx().has_dual_prox and not SmoothQuantile().has_dual_prox


# ---- formulas that lose digits ----


@pytest.mark.parametrize("seed", range(40))
def test_what_plain_formulas_lose_is_in_the_certificate(seed):
    """e^z - b z + b log b - b at counts of up to 1e8, held against extended precision."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 12)), int(rng.integers(1, 4))
    A = rng.standard_normal((n, d))
    b = np.round(10.0 ** rng.uniform(0.0, 8.0) * np.exp(A @ rng.standard_normal(d)))
    l1, l2 = float(seed % 3 > 1) * 0.3, float(seed % 3 > 0) * 10.0 ** rng.uniform(-6.0, 1.0)
    case = Case(A, b, "poisson", l1=l1, l2=l2, fit_intercept=bool(seed % 2))
    options = {"l1": l1, "l2": l2, "fit_intercept": case.fit_intercept}
    found = dualgap.solve(A, b, loss="poisson", tol=1e-14, **options)
    best = reference(case).better(found.x, found.intercept)
    for t in (0.0, 1e-9, 1e-6, 1e-3):
        x = best.x + t * rng.standard_normal(d)
        got = dualgap.certify(A, b, x, loss=Counts(), intercept=best.c, **options)
        if got.certified:
            short = float(case.checker.primal(x, best.c) - best.primal) - got.gap
            assert short <= 0.0
            assert got.dual <= float(best.primal) * (1.0 + 1e-15)
