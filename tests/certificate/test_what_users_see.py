"""The certificate as users see it: proved digits, reasons, and what is refused."""

import ctypes
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap import Status
from dualgap.certificate import certifying, proof

RNG = np.random.default_rng(3)
A = RNG.standard_normal((60, 8))
X = np.array([1.0, -2.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0])
B = A @ X + 0.1 * RNG.standard_normal(60)
SIGNS = np.where(A @ X + RNG.standard_normal(60) > 0, 1.0, -1.0)


# ---- digits ----


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber", "squared_hinge"])
@pytest.mark.parametrize("l1", [0.0, 0.02])
def test_coefficients_are_known_to_their_error(loss, l1):
    """Each coefficient of a much better solution is within the error of a loose one."""
    b = B if loss in ("squared", "huber") else SIGNS
    given = {"loss": loss, "l1": l1, "l2": 0.05}
    loose = dualgap.solve(A, b, tol=1e-3, algorithm="adf-bpd", **given)
    tight = dualgap.solve(A, b, tol=1e-13, **given)
    error = loose.certificate.coef_error
    assert error.shape == loose.x.shape and np.isfinite(error).all()
    assert (np.abs(loose.x - tight.x) <= error + tight.certificate.coef_error).all()
    assert (error <= loose.certificate.distance * (1 + 1e-12)).all()


def test_without_l2_nothing_is_said_of_single_coefficients():
    certificate = dualgap.solve(A, B, l1=0.02).certificate
    known = np.isfinite(certificate.coef_error)
    assert (known == certificate.support).all()  # but of those that are proved to be 0


@pytest.mark.parametrize("l2", [0.0, 0.01])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_zeros_are_proved(loss, l2):
    b = B if loss == "squared" else SIGNS
    result = dualgap.solve(A, b, loss=loss, l1=0.05, l2=l2, tol=1e-10)
    zero = result.certificate.support
    assert zero.dtype == bool and zero.any() and not zero.all()
    assert (result.x[zero] == 0.0).all()
    assert (result.certificate.coef_error[zero] == 0.0).all()


def test_poisson_has_no_gamma_and_proves_no_zeros():
    counts = RNG.poisson(1.0, 60)
    certificate = dualgap.solve(A, counts, loss="poisson", l1=0.3).certificate
    assert certificate.certified and not certificate.support.any()


def test_classes_have_digits_of_their_own():
    labels = RNG.integers(0, 3, 60)
    certificate = dualgap.solve(A, labels, loss="multinomial", l1=0.01, l2=0.1).certificate
    assert certificate.coef_error.shape == certificate.support.shape == (8, 3)


# ---- what is not proved says why ----


def test_a_thread_that_flushes_to_zero_proves_nothing():
    """Another library may have set the processor's flags; a child process does so here."""
    code = """
        import ctypes, sys
        import numpy as np
        import dualgap
        x = dualgap.solve([[1.0], [2.0]], [1.0, 3.0], l2=0.1).x
        try:
            libm = ctypes.CDLL("libm.so.6")
            env = (ctypes.c_uint32 * 8)()
            assert libm.fegetenv(env) == 0
            env[7] |= 0x8040  # flush to zero, and take what is denormal for 0
            assert libm.fesetenv(env) == 0
        except (OSError, AttributeError):
            sys.exit(77)
        if 2.0**-1022 * float(np.float64(0.5)) != 0.0:
            sys.exit(77)
        certificate = dualgap.certify([[1.0], [2.0]], [1.0, 3.0], x, l2=0.1)
        assert not certificate.certified, certificate
        assert certificate.kind == "float" and "underflow" in certificate.reason, certificate
    """
    if sys.platform != "linux" or not hasattr(ctypes, "CDLL"):
        pytest.skip("the flags are set by way of Linux's libm")
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True)
    if done.returncode == 77:
        pytest.skip("this processor's flags cannot be set that way")
    assert done.returncode == 0, done.stderr.decode()


def test_rounding_that_is_not_to_nearest_is_noticed(monkeypatch):
    monkeypatch.setattr(certifying, "arithmetic_is_ieee", lambda: False)
    result = dualgap.solve(A, B, l2=0.1)
    assert result.status is Status.ESTIMATED
    assert result.certificate.kind == "float" and not result.certificate.certified
    assert "round to nearest" in result.certificate.reason


def test_strengths_that_underflow_are_refused():
    given = {"l2": 1e-200, "penalty_weights": np.r_[1e-150, np.ones(7)]}
    certificate = dualgap.certify(A, B, X, **given)
    assert not certificate.certified and "below the normal range" in certificate.reason


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_points_that_are_not_finite_are_refused(bad):
    point = X.copy()
    point[0] = bad
    with pytest.raises(ValueError, match="x"):
        dualgap.certify(A, B, point, l2=0.1)
    with pytest.raises(ValueError, match="y"):
        dualgap.certify(A, B, X, np.full(60, bad), l2=0.1)
    data = A.copy()
    data[3, 2] = bad
    with pytest.raises(ValueError, match="A"):
        dualgap.certify(data, B, X, l2=0.1)


def test_metres_and_feet_end_in_a_box_or_without_a_bound():
    metres = np.column_stack((A[:, 0], 3.28084 * A[:, 0]))
    result = dualgap.solve(metres, B, tol=1e-9)
    certificate = result.certificate
    assert certificate.certified or result.status in (Status.STATIONARY, Status.ROUNDING)
    if not certificate.certified:
        assert certificate.kind in ("gap_in_box", "none") and certificate.reason
        assert certificate.dual == -np.inf


# ---- the whole is one certifier ----


@pytest.mark.parametrize("storage", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("l1", [0.0, 0.02])
def test_layouts_agree_and_can_be_checked_again(storage, dtype, l1):
    data = storage(A.astype(dtype))
    result = dualgap.solve(data, SIGNS, loss="logistic", l1=l1, l2=0.01, fit_intercept=True)
    given = {"loss": "logistic", "l1": l1, "l2": 0.01, "intercept": result.intercept}
    again = dualgap.certify(data, SIGNS, result.x, result.y, **given)
    assert result.status is Status.CONVERGED and again == result.certificate
    wide = dualgap.certify(A.astype(dtype).astype(np.float64), SIGNS, result.x, result.y, **given)
    assert wide.gap == pytest.approx(again.gap, rel=1e-6, abs=1e-14)


def test_a_path_is_proved_when_it_is_looked_at(monkeypatch):
    proofs = []
    plain = proof.bounds
    monkeypatch.setattr(
        certifying, "bounds", lambda *args, **given: (proofs.append(1), plain(*args, **given))[1]
    )
    path = dualgap.path(A, B, lambdas=10)
    before = len(proofs)
    assert path.converged and (path.relative_gaps <= 1e-6).all()
    assert all(certificate.certified for certificate in path.certificates)
    assert len(proofs) > before
    saved = pickle.loads(pickle.dumps(path))
    assert [c.gap for c in saved.certificates] == [c.gap for c in path.certificates]
    assert len(pickle.dumps(path)) < 60 * A.nbytes // 10


def test_a_point_of_another_solver_is_judged_sharply():
    """Without a y the bound is that of a Newton step: near the truth, where phi'(z) is far off."""
    best = dualgap.solve(A, SIGNS, loss="logistic", l2=1e-4, tol=1e-13)
    for far in (1e-1, 1e-2, 1e-3):
        x = best.x + far * RNG.standard_normal(8)
        got = dualgap.certify(A, SIGNS, x, loss="logistic", l2=1e-4)
        truth = got.primal - best.certificate.primal
        assert truth <= got.gap <= 1.5 * truth + 1e-12


def test_certify_needs_no_numba():
    code = """
        import sys

        class Hidden:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] in ("numba", "llvmlite"):
                    raise ImportError(name)

        sys.meta_path.insert(0, Hidden())
        import numpy as np, scipy.sparse as sp
        import dualgap
        rng = np.random.default_rng(0)
        A = rng.standard_normal((5000, 60))
        b = np.where(A[:, 0] > 0, 1.0, -1.0)
        for data in (A, sp.csr_array(A)):
            for given in ({"l2": 0.1}, {"l1": 0.1}, {"l2": 0.1, "loss": "logistic"}, {}):
                got = dualgap.certify(data, b, np.zeros(60), **given)
                assert got.certified, (given, got)
        assert "numba" not in sys.modules
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


def test_numbers_and_words_for_files():
    certificate = dualgap.solve(A, B, l2=0.1).certificate
    plain = certificate.plain()
    assert "coef_error" not in plain and plain["gap"] == certificate.gap
    assert not hasattr(certificate, "rounding")
