"""Laws of the elastic net: prox, conjugate, and k prox steps at once."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualgap.regularizers import ElasticNet, advance

EPS = np.finfo(float).eps

# One coordinate for each pair: none, lasso, ridge and elastic net side by side, so that every law
# is also the law of strengths per coordinate.
STRENGTHS = np.array(list(itertools.product([0.0, 0.3, 2.0], [0.0, 1e-3, 0.7, 50.0])))
L1, L2 = STRENGTHS.T
G = ElasticNet(L1, L2)
D = L1.size
each_tau = pytest.mark.parametrize("tau", [1e-3, 0.4, 1.0, 30.0])
VALUES = [-40.0, -3.0, -0.5, -0.1, 0.0, 1e-9, 0.2, 0.3, 1.1, 25.0]


def single(j):
    """The j-th coordinate on its own."""
    return ElasticNet(L1[j : j + 1], L2[j : j + 1])


def plain_value(x, l1, l2):
    return l1 * abs(x) + l2 / 2 * x * x


def test_value_is_the_sum_of_its_coordinates():
    x = np.linspace(-3.0, 2.0, D)
    expected = sum(plain_value(*c) for c in zip(x, L1, L2, strict=True))
    assert G.value(x) == pytest.approx(expected, rel=D * EPS, abs=0)
    for j in range(D):
        assert single(j).value(x[j : j + 1]) == pytest.approx(
            plain_value(x[j], L1[j], L2[j]), rel=4 * EPS, abs=0
        )


def test_what_the_strengths_say():
    np.testing.assert_array_equal(G.free, (L1 == 0) & (L2 == 0))
    np.testing.assert_array_equal(G.boxed, (L1 > 0) & (L2 == 0))
    assert G.has_free and G.has_boxed and G.has_l1 and G.has_l2
    assert G.strong_convexity == 0.0
    assert G.penalised_strength == 1e-3
    none = ElasticNet(np.zeros(3), np.zeros(3))
    assert none.free.all() and not (none.has_l1 or none.has_l2 or none.has_boxed)
    assert none.penalised_strength == none.strong_convexity == 0.0
    ridge = ElasticNet(np.zeros(3), np.array([2.0, 0.5, 1.0]))
    assert ridge.strong_convexity == ridge.penalised_strength == 0.5
    assert not (ridge.has_free or ridge.has_boxed)


# ---- prox ----


@each_tau
@pytest.mark.parametrize("v", VALUES)
def test_prox_minimises_its_definition(v, tau):
    """g + (. - v)^2/(2 tau) is (1/tau + l2)-strongly convex: it grows at least so fast from x."""
    x = G.prox(np.full(D, v), tau)

    def objective(x):
        return plain_value(x, L1, L2) + (x - v) ** 2 / (2 * tau)

    for other in (x + 1e-4, x - 1e-4, x + 0.3, x - 0.3, -x, np.zeros(D), np.full(D, v)):
        growth = (1 / tau + L2) / 2 * (other - x) ** 2
        rounding = 16 * EPS * (objective(x) + objective(other))
        # x itself is known to eps |v|, where the slope towards the other point is this.
        rounding += 4 * EPS * abs(v) * (1 / tau + L2) * abs(other - x)
        assert (objective(other) - objective(x) >= growth - rounding).all()


@each_tau
@pytest.mark.parametrize("v", VALUES)
def test_prox_does_not_depend_on_the_other_coordinates(v, tau):
    x = G.prox(np.full(D, v), tau)
    for j in range(D):
        np.testing.assert_array_equal(single(j).prox(np.array([v]), tau), x[j])


@each_tau
@pytest.mark.parametrize("v", VALUES)
def test_moreau(v, tau):
    """v = x + tau s with x = prox_{tau g}(v) and s = prox_{g*/tau}(v/tau), by its definition."""
    x = G.prox(np.full(D, v), tau)
    s = (v - x) / tau
    for j in range(D):
        g = single(j)

        def objective(s, g=g):
            return g.conj(np.array([s])) + tau / 2 * (s - v / tau) ** 2

        # Where l2 = 0 the conjugate is infinite beyond l1, and s may be beyond by a rounding.
        at = s[j] if L2[j] else float(np.clip(s[j], -L1[j], L1[j]))
        assert abs(at - s[j]) <= 4 * EPS * abs(v) / tau
        for other in (at + 1e-4, at - 1e-4, at + 0.3, at - 0.3, 0.0, v / tau):
            rounding = 32 * EPS * (objective(at) + tau * (abs(at) + abs(v / tau)) ** 2)
            assert objective(other) >= objective(at) + tau / 2 * (other - at) ** 2 - rounding


# ---- conjugate ----


@pytest.mark.parametrize("s", VALUES)
def test_conj_is_the_largest_s_x_minus_g(s):
    for l1, l2 in STRENGTHS:
        conj = ElasticNet(np.array([l1]), np.array([l2])).conj(np.array([s]))
        if l2 == 0 and abs(s) > l1:  # grows without bound
            assert conj == np.inf
            continue
        # |s| - l1 - l2 |x| < 0 beyond this.
        low, high = -abs(s) / l2 if l2 else -1.0, abs(s) / l2 if l2 else 1.0
        for _ in range(200):
            third = (high - low) / 3
            left, right = low + third, high - third
            if s * left - plain_value(left, l1, l2) < s * right - plain_value(right, l1, l2):
                low = left
            else:
                high = right
        x = (low + high) / 2
        largest = max(s * x - plain_value(x, l1, l2), 0.0)
        # At the maximum an error in x does not count: only the rounding of the terms does.
        assert abs(conj - largest) <= 8 * EPS * (abs(s * x) + plain_value(x, l1, l2))


def test_conj_sums_its_coordinates():
    s = np.where(L2 > 0, np.linspace(-5.0, 6.0, D), np.linspace(-1.0, 1.0, D) * L1)
    parts = [single(j).conj(s[j : j + 1]) for j in range(D)]
    assert G.conj(s) == pytest.approx(sum(parts), rel=D * EPS, abs=0)
    for j in np.flatnonzero(L2 == 0):  # one coordinate outside is enough
        outside = s.copy()
        outside[j] = np.nextafter(L1[j], np.inf)
        assert G.conj(outside) == np.inf
        outside[j] = -outside[j]
        assert G.conj(outside) == np.inf


def test_dual_x_attains_the_conjugate():
    s = np.where(L2 > 0, np.linspace(-5.0, 6.0, D), 0.5 * L1)
    x = G.dual_x(s)
    attained = s * x - plain_value(x, L1, L2)
    parts = np.array([single(j).conj(s[j : j + 1]) for j in range(D)])
    # s x and g(x) cancel down to g*(s).
    assert (abs(attained - parts) <= 8 * EPS * (abs(s * x) + plain_value(x, L1, L2))).all()


@pytest.mark.parametrize("x", VALUES)
@pytest.mark.parametrize("s", VALUES)
def test_fenchel_gap(x, s):
    """Per coordinate g(x) + g*(s) - s x, never negative."""
    s = np.where(L2 > 0, s, np.clip(s, -L1, L1))
    gap = G.fenchel_gap(np.full(D, x), s)
    conj = np.array([single(j).conj(s[j : j + 1]) for j in range(D)])
    plain = plain_value(x, L1, L2) + conj - s * x
    assert (gap >= 0).all()
    assert (abs(gap - plain) <= 8 * EPS * (plain_value(x, L1, L2) + conj + abs(s * x))).all()


@pytest.mark.parametrize("x", VALUES)
def test_fenchel_gap_vanishes_at_subgradients_and_only_there(x):
    # Where x = 0 the subgradients are an interval: its ends and its middle.
    for t in (-1.0, 0.0, 1.0):
        s = L1 * (np.sign(x) if x else t) + L2 * x
        gap = G.fenchel_gap(np.full(D, x), s)
        assert (gap <= 8 * EPS * (L1 * abs(x) + L2 * x * x)).all()
        # g* is 1/l2-smooth and no more: beyond a subgradient by e the gap is e^2/(2 l2).
        strong = L2 > 0
        further = s + np.where(s >= 0, 0.1, -0.1) * strong * np.where(abs(s) >= L1, 1, 0)
        beyond = strong & (further != s)
        gap = G.fenchel_gap(np.full(D, x), further)
        expected = 0.1**2 / (2 * L2[beyond])
        # s and x meet in x - S(s, l1)/l2, of size |s|/l2.
        rounding = 16 * EPS * (abs(s[beyond]) / L2[beyond] + abs(x)) * 0.1
        assert (abs(gap[beyond] - expected) <= rounding + 8 * EPS * expected).all()


# ---- k steps at once ----


def plain_steps(x, u, tau, l1, l2, k):
    """k prox steps, one by one, in extended precision; also the largest |x| on the way."""
    x, u, tau, l1, l2 = (np.asarray(a, dtype=np.longdouble) for a in (x, u, tau, l1, l2))
    before, largest = x, abs(x)
    for _ in range(k):
        before = x
        v = x - tau * u
        x = (v - np.clip(v, -tau * l1, tau * l1)) / (1 + tau * l2)
        largest = np.maximum(largest, abs(x))
    return x, before, largest


def assert_k_steps(x, u, tau, l1, l2, k):
    """`advance` against k plain steps for columns of cases, with the agreement of MATH.md."""
    both = np.array([advance(*case, k) for case in zip(x, u, tau, l1, l2, strict=True)])
    after, before, largest = plain_steps(x, u, tau, l1, l2, k)
    # 5e-16 per step, relative to what is on the way: |x|, and the tau u and tau l1 of each step.
    per_step = largest + np.asarray(tau) * (abs(np.asarray(u)) + np.asarray(l1))
    # Below 1e-308 numbers have fewer digits.
    error = 5e-16 * k * per_step + 1e-320
    assert (abs(both[:, 0] - after) <= error).all()
    assert (abs(both[:, 1] - before) <= error).all()


SKIPS = [1, 2, 3, 7, 50, 1000, 10_000]
L2S = [0.0, 5e-324, 1e-300, 1e-30, 1e-17, 1e-12, 1e-6, 1e-3, 0.1, 1.0, 30.0, 1e3]
POINTS = [0.0, 1e-12, 0.03, -0.4, 1.0, -7.0, 300.0]


@pytest.mark.parametrize("k", SKIPS)
@pytest.mark.parametrize("l1", [0.0, 0.2], ids=["without l1", "with l1"])
def test_k_steps_at_once_are_k_steps(l1, k):
    # u beyond l1 on either side, at it and within; steps short and long.
    slopes = [0.0, 0.05, -0.19, 0.2, -0.2, 0.21, 1.0, -3.0]
    cases = itertools.product(POINTS, slopes, [1e-4, 0.01, 1.0], [l1], L2S)
    assert_k_steps(*np.array(list(cases)).T, k)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    x=st.floats(-10, 10),
    u=st.floats(-2, 2),
    log_tau=st.floats(-4, 1),
    l1=st.just(0.0) | st.floats(1e-6, 2),
    l2=st.just(0.0) | st.floats(0, 1e3),
    k=st.integers(1, 300),
)
def test_k_steps_at_once_are_k_steps_anywhere(x, u, log_tau, l1, l2, k):
    assert_k_steps([x], [u], [10.0**log_tau], [l1], [l2], k)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    x=st.floats(-3, 3),
    u=st.floats(-1, 1),
    l1=st.sampled_from([0.0, 0.1]),
    l2=st.sampled_from([0.0, 1e-3, 0.5]),
    j=st.integers(1, 400),
    k=st.integers(1, 400),
)
def test_j_steps_and_then_k_steps_are_j_plus_k(x, u, l1, l2, j, k):
    tau = 0.05
    halfway, _ = advance(x, u, tau, l1, l2, j)
    # As above; rounding only.
    error = 5e-16 * (j + k) * (abs(x) + (j + k) * tau * (abs(u) + l1))
    for two, one in zip(
        advance(halfway, u, tau, l1, l2, k), advance(x, u, tau, l1, l2, j + k), strict=True
    ):
        assert abs(two - one) <= error


@pytest.mark.parametrize("k", [10**6, 10**12, 10**18])
@pytest.mark.parametrize("x", [0.0, 0.4, -1e3, 1e100])
@pytest.mark.parametrize(("u", "l1"), [(0.0, 0.0), (0.3, 0.0), (0.3, 0.5), (-0.8, 0.5)])
@pytest.mark.parametrize("l2", [1e-3, 1.0, 1e3])
def test_many_steps_end_at_the_fixed_point(x, u, l1, l2, k):
    # x = prox(x - tau u) asks for l1 sign(x) + l2 x + u = 0 with x != 0, or |u| <= l1 with x = 0.
    limit = -np.sign(u) * max(abs(u) - l1, 0.0) / l2
    # (1 + tau l2)^-k (x - limit) is left: less than 1e-400 |x| here.
    for value in advance(x, u, 1.0, l1, l2, k):
        assert value == pytest.approx(limit, rel=4 * EPS, abs=0)


@pytest.mark.parametrize("k", [10**9, 10**15])
@pytest.mark.parametrize("l2", [0.0, 5e-324])
def test_many_steps_without_shrinkage_go_straight(l2, k):
    u, tau, l1 = -0.75, 0.5, 0.25
    for value, steps in zip(advance(-8.0, u, tau, l1, l2, k), (k, k - 1), strict=True):
        # From -8 each step gains 0.5 (all exact): 0 after 16, and 0.25 a step from there.
        assert value == pytest.approx(0.25 * (steps - 16), rel=4 * EPS, abs=0)


@pytest.mark.parametrize("l1", [5e-324, 1e-310, 1e-300])
@pytest.mark.parametrize("l2", [0.0, 5e-324, 1.0])
def test_a_vanishing_l1_is_no_l1(l1, l2):
    without = advance(1.0, 0.0, 1e-3, 0.0, l2, 1000)
    with_l1 = advance(1.0, 0.0, 1e-3, l1, l2, 1000)
    assert with_l1 == pytest.approx(without, rel=5e-16 * 1000, abs=0)
