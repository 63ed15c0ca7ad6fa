"""Laws of the losses of one prediction: each runs for every such loss in LOSSES, and for other
options of some.
"""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualgap.losses import LOSSES, Huber, Logistic, SmoothedHinge, Squared, StrongLogistic
from dualgap.losses.contract import MarginLoss, RegressionLoss
from dualgap.losses.logistic import solve_margin

EPS = np.finfo(float).eps
CASES = [
    *(cls() for cls in LOSSES.values() if not cls.is_vector),
    SmoothedHinge(width=0.1),
    SmoothedHinge(width=5.0),
    Huber(threshold=0.25),
    StrongLogistic(strength=1e-3),
    StrongLogistic(strength=3.0),
]
each_loss = pytest.mark.parametrize("loss", CASES, ids=repr)
each_smooth_loss = pytest.mark.parametrize(
    "loss", [case for case in CASES if case.gamma is not None], ids=repr
)
each_steep_loss = pytest.mark.parametrize(
    "loss", [case for case in CASES if case.gamma is None], ids=repr
)
each_loss_with_prox = pytest.mark.parametrize(
    "loss", [case for case in CASES if case.has_dual_prox], ids=repr
)
each_margin_loss = pytest.mark.parametrize(
    "loss", [case for case in CASES if isinstance(case, MarginLoss)], ids=repr
)
each_step = pytest.mark.parametrize("s", [1e-3, 0.1, 1.0, 7.0, 1e3])

PREDICTIONS = np.concatenate([np.linspace(-8.0, 8.0, 161), [-40.0, -20.0, -11.3, 11.3, 20.0, 40.0]])


def targets(loss):
    """Targets that the loss accepts: real ones, counts, positive ones, or else labels."""
    for some in ([-2.5, -0.3, 0.0, 1.7], [-1.0, 1.0], [0.0, 0.3, 1.0, 40.0], [0.1, 1.0, 7.0]):
        try:
            return loss.targets(np.array(some), len(some))
        except ValueError:
            continue
    raise AssertionError(loss)


def steepness(loss, z, b):
    """A bound on phi'' near z: 1/gamma, or the loss's own."""
    if loss.gamma is not None:
        return np.full(np.shape(z), 1.0 / loss.gamma)
    return loss.hess_bound(z - 0.01, z + 0.01, b)


def predictions(loss, z=PREDICTIONS):
    """Every prediction with every target: z, b."""
    z, b = np.meshgrid(z, targets(loss))
    return z.ravel(), b.ravel()


def dual_points(loss):
    """Points of the domain (an interval with 0 and every phi'(z) in it), ends included: y, b."""
    z, b = predictions(loss, np.linspace(-8.0, 8.0, 17))
    slope = loss.grad(z, b)
    ends = [np.where(np.isfinite(end), end, 0.0) for end in loss.domain(b)]
    parts = [t * slope for t in (0.0, 0.3, 0.7, 1.0)] + ends
    return np.concatenate(parts), np.tile(b, len(parts))


def size(loss, z, y, b):
    """The magnitudes that meet in phi(z) + phi*(y) - y z, phi*(y) = y v - phi(v) among them."""
    v = loss.conj_grad(y, b)
    return 1.0 + abs(loss.value(z, b)) + abs(loss.conj(y, b)) + abs(y * z) + abs(y * v)


# ---- value, gradient, Hessian ----

FORMULAS = {
    "squared": lambda loss, z, b: (z - b) ** 2 / 2,
    "logistic": lambda loss, z, b: mp.log1p(mp.exp(-b * z)),
    "smoothed_hinge": lambda loss, z, b: _smoothed_hinge(1 - b * z, mp.mpf(loss.width)),
    "squared_hinge": lambda loss, z, b: max(0, 1 - b * z) ** 2 / 2,
    "huber": lambda loss, z, b: _huber(abs(z - b), mp.mpf(loss.threshold)),
    "strong_logistic": lambda loss, z, b: (
        mp.log1p(mp.exp(-b * z)) + mp.mpf(loss.strength) * z**2 / 2
    ),
    "poisson": lambda loss, z, b: mp.exp(z) - b * z + (b * mp.log(b) - b if b else 0),
    "gamma": lambda loss, z, b: z + b * mp.exp(-z) - (1 + mp.log(b)),
}


def _smoothed_hinge(short, h):
    if short <= 0:
        return mp.mpf(0)
    return short - h / 2 if short >= h else short**2 / (2 * h)


def _huber(r, e):
    return r**2 / 2 if r <= e else e * r - e**2 / 2


def test_every_loss_has_its_formula_here():
    assert set(FORMULAS) == {name for name, cls in LOSSES.items() if not cls.is_vector}


@each_loss
def test_value_is_the_formula(loss):
    z, b = predictions(loss)
    with mp.workdps(40):
        exact = [FORMULAS[loss.name](loss, mp.mpf(p), mp.mpf(t)) for p, t in zip(z, b, strict=True)]
    exact = np.array([float(e) for e in exact])
    # phi = c (z - b)^2 loses eps (|z| + |b|) in z - b, which phi' turns into an error of phi.
    error = 8 * EPS * (exact + (abs(z) + abs(b) + 1.0) * abs(loss.grad(z, b)))
    assert (abs(loss.value(z, b) - exact) <= error).all()


@each_loss
def test_value_at_zero_is_that_of_every_target(loss):
    if loss.value_at_zero is not None:
        b = targets(loss)
        assert (loss.value(np.zeros_like(b), b) == loss.value_at_zero).all()


def test_some_loss_knows_its_value_at_zero():
    assert Logistic().value_at_zero is not None


@each_loss
def test_grad_is_the_derivative_of_value(loss):
    z, b = predictions(loss)
    z = z.astype(np.longdouble)
    eps = float(np.finfo(np.longdouble).eps)
    h = eps ** (1 / 3)
    difference = (loss.value(z + h, b) - loss.value(z - h, b)) / (2 * h)
    # h^2 of truncation (at a kink of phi': h times the jump of phi''), eps/h of rounding.
    bend = abs(loss.hess(z + h, b) - loss.hess(z - h, b))
    steep = steepness(loss, z, b)
    error = h * bend + 4 * h * h * steep + 4 * eps / h * (1 + loss.value(z, b))
    assert (abs(loss.grad(z, b) - difference) <= error).all()


@each_loss
def test_hess_beside_the_gradient(loss):
    z, b = predictions(loss)
    beside = loss.hess_beside(z, b, loss.grad(z, b))
    np.testing.assert_allclose(beside, loss.hess(z, b), rtol=1e-12, atol=4 * np.finfo(float).eps)


@each_loss
def test_hess_is_the_derivative_of_grad(loss):
    z, b = predictions(loss)
    wide = z.astype(np.longdouble)
    eps = float(np.finfo(np.longdouble).eps)
    h = eps ** (1 / 3)
    below, above = loss.grad(wide - h, b), loss.grad(wide + h, b)
    here, curvature = loss.grad(wide, b), loss.hess(z, b)
    left, right = (here - below) / h, (above - here) / h
    # One-sided differences err by h |phi'''|/2, and by eps/h of the gradient in rounding.
    steep = steepness(loss, wide, b)
    error = h * steep + 4 * eps / h * (1 + abs(here) + abs(b) + abs(wide) * steep)
    kink = abs(left - right) > 1e-3 * steep + error
    assert kink.mean() < 0.05
    smooth = ~kink
    assert (abs(curvature - (left + right) / 2) <= error)[smooth].all()
    # At a kink: one of the two derivatives.
    one = np.minimum(abs(curvature - left), abs(curvature - right))
    assert (one <= error)[kink].all()


@each_loss
@pytest.mark.parametrize("n", [1, 511, 512, 513, 5000])
@pytest.mark.parametrize("size", [1e-2, 1.0, 30.0, 1e3])
def test_total_is_the_sum_of_the_values(loss, n, size):
    rng = np.random.default_rng(n)
    b = rng.choice(targets(loss), n)
    if isinstance(loss, RegressionLoss):
        b = np.where(b > 0.0, 1.0, -1.0)
    z = size * rng.standard_normal(n)
    if loss.gamma is None:
        z = np.clip(z, -700.0, 700.0)
    for easy in (z, b * (5.0 + abs(z))):  # losses of any size, and all of them tiny
        exact = math.fsum(loss.value(easy, b))
        grad = loss.grad(easy, b)
        together, its_grad = loss.total_grad(easy, b)
        for total in (loss.total(easy, b), loss.total(easy, b, grad), together):
            # At worst eps a row, where the mean is above 1e-3.
            np.testing.assert_allclose(total, exact, rtol=1e-12, atol=0)
        np.testing.assert_allclose(its_grad, grad, rtol=4 * EPS, atol=0)


@each_loss
def test_value_grad_is_value_and_grad(loss):
    z, b = predictions(loss)
    value, grad = loss.value_grad(z, b)
    # Two routes through one exponential: a few roundings apart.
    np.testing.assert_allclose(value, loss.value(z, b), rtol=4 * EPS, atol=0)
    np.testing.assert_allclose(grad, loss.grad(z, b), rtol=4 * EPS, atol=0)


# ---- the constants ----


@each_smooth_loss
def test_smoothness_and_strong_convexity_bound_every_secant_of_grad(loss):
    for b in targets(loss):
        z = PREDICTIONS
        dz = z[:, None] - z
        slope = loss.grad(z, np.full_like(z, b))
        secant = (slope[:, None] - slope)[dz != 0] / dz[dz != 0]
        # Gradients of size |z|/gamma, differences of at least 0.1: 1e3 roundings.
        slack = 1e3 * EPS * (1 + 40 / loss.gamma)
        assert secant.max() <= 1 / loss.gamma + slack
        assert secant.min() >= loss.delta - slack


@each_steep_loss
def test_hess_bound_is_the_largest_hess_of_an_interval(loss):
    z, b = predictions(loss)
    for r in (0.0, 1e-9, 0.3, 4.0):
        bound = loss.hess_bound(z - r, z + r, b)
        seen = np.max([loss.hess(z + t * r, b) for t in np.linspace(-1, 1, 11)], axis=0)
        assert (bound >= seen * (1 - 8 * EPS)).all()
        assert (bound <= seen * (1 + 64 * EPS)).all()


@each_steep_loss
def test_steep_losses_are_self_concordant_if_they_say_so(loss):
    assert loss.is_self_concordant
    z, b = predictions(loss, np.linspace(-8.0, 8.0, 161))
    for h in (1e-3, 0.1, 2.0):
        assert (abs(np.log(loss.hess(z + h, b) / loss.hess(z, b))) <= h * (1 + 1e-9)).all()


@each_smooth_loss
def test_the_constants_are_attained(loss):
    # Understating the smoothness would break the theorems, overstating it would waste them.
    z, b = predictions(loss, np.linspace(-12.0, 12.0, 6001))
    z = z.reshape(targets(loss).size, -1)
    slope = loss.grad(z, b.reshape(z.shape))
    secant = np.diff(slope, axis=1) / np.diff(z, axis=1)
    # A step of 0.004 next to the steepest point misses 1/gamma by O(0.004^2), and the flattest
    # by that or, for logistic tails at |z| = 12, by exp(-12).
    assert secant.max() >= (1 - 1e-4) / loss.gamma
    assert secant.min() <= loss.delta + 1e-4 / loss.gamma


# ---- the conjugate ----


@each_loss
def test_domain_holds_0_and_every_slope(loss):
    huge = np.array([1e300, 1e150, 1e16, 800.0, 40.0])  # where an exponential has no end
    z, b = predictions(loss, np.concatenate([PREDICTIONS, huge, -huge]))
    low, high = loss.domain(b)
    slope = loss.grad(z, b)
    assert (low <= 0).all() and (high >= 0).all()
    assert (low <= slope).all() and (slope <= high).all()
    assert np.isfinite(slope).all()


@each_loss
def test_conj_is_finite_on_the_domain(loss):
    y, b = dual_points(loss)
    assert np.isfinite(loss.conj(y, b)).all()
    assert np.isfinite(loss.conj_grad(y, b)).all()


@each_loss
def test_conj_is_the_largest_y_z_minus_phi(loss):
    y, b = dual_points(loss)
    # |phi'(z)| >= |y| within this range, but for the ends of the domain of logistic loss, where
    # the supremum is a limit and what is left of it at 2000 is exp(-2000).
    low, high = np.full(y.shape, -2000.0), np.full(y.shape, 2000.0)

    def concave(z):
        with np.errstate(over="ignore"):
            return y * z - loss.value(z, b)

    for _ in range(120):  # ternary search: (2/3)^120 * 4000 < 1e-17
        third = (high - low) / 3
        left, right = low + third, high - third
        up = concave(left) < concave(right)
        low, high = np.where(up, left, low), np.where(up, high, right)
    z = (low + high) / 2
    # At the maximum an error in z does not count: only the rounding of the terms does.
    assert (abs(concave(z) - loss.conj(y, b)) <= 8 * EPS * size(loss, z, y, b)).all()


@each_loss
def test_fenchel_young(loss):
    y, b = dual_points(loss)
    for z in PREDICTIONS:
        z = np.full(y.shape, z)
        gap = loss.value(z, b) + loss.conj(y, b) - y * z
        rounding = 8 * EPS * size(loss, z, y, b)
        assert (gap >= -rounding).all()
        # phi* is gamma-strongly convex.
        if loss.gamma is not None:
            assert (gap >= loss.gamma / 2 * (y - loss.grad(z, b)) ** 2 - rounding).all()


@each_loss
def test_fenchel_young_is_an_equality_at_the_slope(loss):
    z, b = predictions(loss)
    y = loss.grad(z, b)
    gap = loss.value(z, b) + loss.conj(y, b) - y * z
    assert (abs(gap) <= 8 * EPS * size(loss, z, y, b)).all()


@each_loss
def test_fenchel_gap_is_the_sum_of_its_terms_and_never_negative(loss):
    y, b = dual_points(loss)
    for z in PREDICTIONS:
        z = np.full(y.shape, z)
        gap = loss.fenchel_gap(z, y, b)
        plain = loss.value(z, b) + loss.conj(y, b) - y * z
        assert (gap >= 0).all()
        assert (abs(gap - plain) <= 8 * EPS * size(loss, z, y, b)).all()


@each_loss
def test_fenchel_gap_vanishes_at_the_slope(loss):
    z, b = predictions(loss)
    y = loss.grad(z, b)
    assert (loss.fenchel_gap(z, y, b) <= 8 * EPS * size(loss, z, y, b)).all()


@each_loss
def test_conj_grad_inverts_grad(loss):
    y, b = dual_points(loss)
    # y = phi'(v) exactly asks for a v of more digits: v is known to eps |v|, so phi'(v) to
    # eps |v| phi''(v), and the ends of a domain are approached to one rounding.
    v = loss.conj_grad(y, b)
    error = 4 * EPS * (1 + abs(y) + abs(b) + abs(v) * loss.hess(v, b))
    assert (abs(loss.grad(v, b) - y) <= error).all()


# ---- the dual prox ----


def prox_inputs(loss):
    return predictions(loss, np.concatenate([np.linspace(-4.0, 4.0, 41), [-300.0, -25.0, 30.0]]))


def by_bisection(loss, v, s, b):
    """phi'(z) at the root z of s z + phi'(z) = v: |z| <= |v - phi'(0)|/s as phi' increases."""
    reach = 1 + abs(v - loss.grad(np.zeros_like(v), b)) / s
    low, high = -reach, reach
    for _ in range(200):
        z = (low + high) / 2
        below = s * z + loss.grad(z, b) < v
        low, high = np.where(below, z, low), np.where(below, high, z)
    return z


@each_step
@each_loss_with_prox
def test_dual_prox_by_bisection(loss, s):
    v, b = prox_inputs(loss)
    z = by_bisection(loss, v, s, b)
    y = loss.prox_conj(v, s, b)
    # Both routes see v, b and z to eps; the prox does not enlarge errors.
    error = 16 * EPS * (1 + abs(v) + abs(b))
    assert (abs(y - loss.grad(z, b)) <= error).all()
    # Moreau: prox_{s phi*}(v) + s prox_{phi/s}(v/s) = v, and z is that second prox.
    assert (abs(y + s * z - v) <= error).all()


@each_step
@each_loss_with_prox
def test_dual_prox_law(loss, s):
    v, b = prox_inputs(loss)
    y = loss.prox_conj(v, s, b)
    # (v - y)/s enlarges the rounding of y by 1/s, and phi' that by 1/gamma.
    error = 16 * EPS * (1 + abs(v) + abs(b)) * (1 + 1 / (s * loss.gamma))
    assert (abs(y - loss.grad((v - y) / s, b)) <= error).all()


@each_step
@each_loss_with_prox
def test_dual_prox_minimises_its_definition(loss, s):
    """phi* + (. - v)^2/(2s) is (1/s + gamma)-strongly convex: it grows at least so fast from y."""
    points, b = dual_points(loss)
    low, high = loss.domain(b)
    for v in (-30.0, -2.0, -0.4, 0.0, 0.7, 3.0):

        def objective(y, v=v):
            return loss.conj(y, b) + (y - v) ** 2 / (2 * s)

        y = loss.prox_conj(np.full(b.shape, v), s, b)
        assert (low <= y).all() and (y <= high).all()
        for t in (1e-3, 0.1, 1.0):
            other = np.clip(y + t * (points - y), low, high)
            growth = (1 / s + loss.gamma) / 2 * (other - y) ** 2
            rounding = 16 * EPS * (abs(objective(y)) + abs(objective(other)))
            rounding += 16 * EPS * size(loss, np.zeros_like(other), other, b)
            assert (objective(other) - objective(y) >= growth - rounding).all()


# ---- targets and the start ----


@each_loss
def test_start_is_the_papers(loss):
    b = targets(loss)
    v = loss.start(b)
    y = loss.grad(v, b)
    low, high = loss.domain(b)
    assert ((low <= y) & (y <= high)).all()
    if isinstance(loss, RegressionLoss):
        np.testing.assert_array_equal(y, 0.0)
    elif isinstance(loss, MarginLoss):
        np.testing.assert_array_equal(v, 0.0)


def test_start_of_squared_and_logistic():
    b = np.array([-1.0, 1.0])
    np.testing.assert_array_equal(Squared().grad(Squared().start(b), b), [0.0, 0.0])
    np.testing.assert_array_equal(Logistic().start(b), [0.0, 0.0])
    np.testing.assert_array_equal(Logistic().grad(Logistic().start(b), b), -b / 2)


@each_margin_loss
@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.float32, float])
def test_labels_0_and_1_become_minus_1_and_1(loss, dtype):
    given = np.array([0, 1, 1, 0], dtype=dtype)
    np.testing.assert_array_equal(loss.targets(given, 4), [-1.0, 1.0, 1.0, -1.0])
    assert loss.targets(given, 4).dtype == np.float64


@each_margin_loss
def test_labels_minus_1_and_1_stay(loss):
    np.testing.assert_array_equal(loss.targets([-1, 1, -1], 3), [-1.0, 1.0, -1.0])
    np.testing.assert_array_equal(loss.targets([1, 1], 2), [1.0, 1.0])
    np.testing.assert_array_equal(loss.targets([0, 0], 2), [-1.0, -1.0])


@each_margin_loss
@pytest.mark.parametrize(
    ("labels", "named"),
    [
        ([1, 2], r"2 distinct values \(1, 2\)"),
        ([-1, 0, 1], r"\(-1, 0, 1\)"),
        ([0.5, 1.0], r"\(0.5, 1\)"),
        (range(9), r"9 distinct values \(0, 1, 2, 3, 4, \.\.\.\)"),
    ],
)
def test_other_labels_are_refused_by_name(loss, labels, named):
    with pytest.raises(ValueError, match=named):
        loss.targets(list(labels), len(labels))


@each_loss
def test_targets_are_not_written_to(loss):
    b = np.array([0.0, 1.0, 1.0]) if loss.name != "gamma" else np.array([2.0, 1.0, 1.0])
    before = b.copy()
    b.flags.writeable = False
    assert loss.targets(b, 3).shape == (3,)
    np.testing.assert_array_equal(b, before)


@pytest.mark.parametrize(
    ("name", "b", "words"),
    [
        ("poisson", [1.0, -2.0, 3.0], r"b\[1\] = -2 is negative.*counts, b >= 0.*Drop"),
        ("poisson", [1.0, np.nan], r"b is not finite: b\[1\]"),
        ("gamma", [1.0, 0.0], r"b\[1\] = 0 is not positive.*b > 0.*loss='poisson'"),
        ("gamma", [-1.0], r"b\[0\] = -1 is not positive"),
    ],
)
def test_targets_out_of_range_are_refused_by_name(name, b, words):
    with pytest.raises(ValueError, match=words):
        LOSSES[name]().targets(b, len(b))


@pytest.mark.parametrize("cls", [SmoothedHinge, Huber, StrongLogistic])
@pytest.mark.parametrize("option", [0.0, -1.0, np.inf, np.nan])
def test_options_must_be_positive(cls, option):
    with pytest.raises(ValueError, match=r"must be (more than 0|finite)"):
        cls(option)


# ---- logistic loss against high precision ----

TINY = 1e-320
"""A few of the smallest numbers there are: below 1e-308 nothing has 16 digits."""
MAGNITUDES = np.concatenate([10.0 ** np.arange(-300.0, 301.0, 25.0), np.geomspace(1e-3, 800, 60)])


@pytest.mark.parametrize("b", [-1.0, 1.0])
def test_logistic_is_right_for_every_magnitude(b):
    z = np.concatenate([MAGNITUDES, -MAGNITUDES, [0.0]])
    label = np.full_like(z, b)
    with mp.workdps(40):
        m = [mp.mpf(b) * mp.mpf(value) for value in z]
        # expit(-m) from whichever exponential is small: neither 1 + e nor 1 - p is formed.
        small = [mp.exp(-abs(k)) for k in m]
        p = [e / (1 + e) if k >= 0 else 1 / (1 + e) for k, e in zip(m, small, strict=True)]
        value = [mp.log1p(e) + max(-k, 0) for k, e in zip(m, small, strict=True)]
        value = np.array([float(v) for v in value])
        grad = np.array([-b * float(k) for k in p])
        hess = np.array([float(e / (1 + e) ** 2) for e in small])
    loss = Logistic()
    near = dict(rtol=4 * EPS, atol=TINY)
    np.testing.assert_allclose(loss.value(z, label), value, **near)
    np.testing.assert_allclose(loss.grad(z, label), grad, **near)
    np.testing.assert_allclose(loss.hess(z, label), hess, **near)
    np.testing.assert_allclose(loss.value_grad(z, label)[0], value, **near)
    np.testing.assert_allclose(loss.value_grad(z, label)[1], grad, **near)


@pytest.mark.parametrize("b", [-1.0, 1.0])
def test_logistic_conjugate_is_right_up_to_the_ends(b):
    inside = np.concatenate([10.0 ** np.arange(-300.0, 0.0, 10.0), np.linspace(0.01, 0.99, 50)])
    p = np.concatenate([[0.0, 1.0], inside, 1 - 2.0 ** -np.arange(1.0, 54.0)])
    with mp.workdps(40):
        # (1 - p) log(1 - p) is -p for tiny p: 1 - p must not be rounded to 1.
        exact = [mp.mpf(k) * mp.log(k) if k else 0 for k in p]
        exact = [
            e + (1 - mp.mpf(k)) * mp.log1p(-k) if k < 1 else e
            for e, k in zip(exact, p, strict=True)
        ]
    exact = np.array([float(e) for e in exact])
    conj = Logistic().conj(-b * p, np.full_like(p, b))
    # To relative accuracy: where the data are nearly separated P itself is as small as p, and a
    # certificate is held against it.
    np.testing.assert_allclose(conj, exact, rtol=8 * EPS, atol=0)


# The root of F(t) = s t + expit(t) - k moves by |F|/(s + p (1 - p)), and p = expit(t) by p (1 - p)
# times that: never by more than the residual.
SIGMAS = 10.0 ** np.arange(-8.0, 8.5, 1.0)
PROX_INPUTS = np.concatenate(
    [10.0 ** np.arange(-300.0, 16.0, 5.0), np.linspace(0.0, 1.0, 41), np.geomspace(1.01, 1e4, 25)]
)


@pytest.mark.parametrize("guess", [None, 0.0, -3.0, 30.0, 1e6, -1e6])
@pytest.mark.parametrize("s", SIGMAS)
def test_dual_prox_residual(s, guess):
    k = np.concatenate([PROX_INPUTS, -PROX_INPUTS])
    t = solve_margin(k, s, None if guess is None else np.full_like(k, guess)).astype(np.longdouble)
    e = np.exp(-abs(t))
    residual = s * t + np.where(t >= 0, 1, e) / (1 + e) - k
    # 1e-14 max(1, |v|): the floor is eps |v|, as v itself is only known to that.
    assert (abs(residual) <= 1e-14 * np.maximum(1.0, abs(k))).all()


@settings(max_examples=500, deadline=None, derandomize=True)
@given(
    v=st.floats(-1e15, 1e15) | st.floats(-3.0, 3.0),
    log_s=st.floats(-8.0, 8.0),
    b=st.sampled_from([-1.0, 1.0]),
)
def test_dual_prox_against_high_precision(v, log_s, b):
    s = 10.0**log_s
    y = float(Logistic().prox_conj(np.array([v]), s, np.array([b]))[0])
    with mp.workdps(60):
        p, k, step = -mp.mpf(b) * mp.mpf(y), -mp.mpf(b) * mp.mpf(v), mp.mpf(s)

        def F(p):  # increases from -inf at p = 0 to inf at p = 1
            return step * mp.log(p / (1 - p)) + p - k

        # Where |v| is large either t is (p is at an end) or s is (t is insensitive): so also there
        # the root is closer than this.
        below, above = p - mp.mpf("1e-14"), p + mp.mpf("1e-14")
        assert below <= 0 or F(below) <= 0
        assert above >= 1 or F(above) >= 0


@each_step
@each_loss_with_prox
def test_a_guess_does_not_move_the_dual_prox(loss, s):
    if not loss.prox_is_iterative:
        pytest.skip("its dual prox is a formula")
    v, b = prox_inputs(loss)
    plain = loss.prox_conj(v, s, b)
    for guess in (0.0, 1.0, -30.0, 1e6):
        point, guessed = loss.prox_point(v, s, b, np.full_like(v, guess))
        np.testing.assert_array_equal(guessed, loss.grad(point, b))
        # Two points that both solve the equation to rounding.
        assert (abs(guessed - plain) <= 16 * EPS * (1 + abs(v) + abs(b))).all()
