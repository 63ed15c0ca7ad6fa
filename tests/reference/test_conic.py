"""An interior-point solver for cone programs, clarabel, on the same problems.

    minimise sum_i q_i phi_i(z_i) + sum_j p_j (l1 |x_j| + (l2/2) x_j^2),   z = A x + c + offset

written as: min (1/2) v'Hv + f'v  subject to  h - G v in a product of cones.
"""

from dataclasses import dataclass, field
from typing import Any

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap import losses

LOSSES = {
    "squared": losses.Squared(),
    "huber": losses.Huber(threshold=0.8),
    "logistic": losses.Logistic(),
    "strong_logistic": losses.StrongLogistic(strength=0.2),
    "smoothed_hinge": losses.SmoothedHinge(width=0.5),
    "squared_hinge": losses.SquaredHinge(),
}
PENALTIES = {
    "none": {},
    "l2": {"l2": 0.1},
    "l1": {"l1": 0.05},
    "elastic_net": {"l1": 0.03, "l2": 0.05},
}


@dataclass
class Program:
    """A cone program that grows by variables and by constraints."""

    size: int = 0
    quadratic: list[tuple[int, float]] = field(default_factory=list)
    linear: list[tuple[int, float]] = field(default_factory=list)
    rows: list[tuple[dict[int, float], float]] = field(default_factory=list)
    cones: list[Any] = field(default_factory=list)

    def variables(self, count: int) -> range:
        self.size += count
        return range(self.size - count, self.size)

    def at_least(self, left: dict[int, float], right: float) -> None:
        """left'v >= right."""
        self.rows.append(({k: -a for k, a in left.items()}, -right))
        self.cones.append(clarabel.NonnegativeConeT(1))

    def exponential(self, triple: list[tuple[dict[int, float], float]]) -> None:
        """(e1, e2, e3), each coefficients'v + constant, with e2 exp(e1/e2) <= e3."""
        self.rows += [({k: -a for k, a in part.items()}, constant) for part, constant in triple]
        self.cones.append(clarabel.ExponentialConeT())

    def solve(self) -> np.ndarray:
        H, f = np.zeros(self.size), np.zeros(self.size)
        for k, value in self.quadratic:
            H[k] += value
        for k, value in self.linear:
            f[k] += value
        G = sp.lil_array((len(self.rows), self.size))
        for i, (row, _) in enumerate(self.rows):
            for k, value in row.items():
                G[i, k] = value
        h = np.array([right for _, right in self.rows])
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
        solver = clarabel.DefaultSolver(
            sp.csc_matrix(np.diag(H)), f, sp.csc_matrix(G), h, self.cones, settings
        )
        solution = solver.solve()
        assert "Solved" in str(solution.status)
        return np.array(solution.x)


def add_loss(p: Program, loss: losses.Loss, q: float, z: int, b: float) -> None:
    """q phi(v[z]; b) by its epigraph."""
    if loss.name == "squared":
        p.quadratic.append((z, q))
        p.linear.append((z, -q * b))
    elif loss.name == "huber":  # min over u of u^2/2 + e |z - b - u|
        u, t = p.variables(2)
        p.quadratic.append((u, q))
        p.linear.append((t, q * loss.threshold))
        p.at_least({t: 1, z: -1, u: 1}, -b)
        p.at_least({t: 1, z: 1, u: -1}, b)
    elif loss.name in ("squared_hinge", "smoothed_hinge"):
        # s^2/(2h) + t with s, t >= 0 and s + t >= 1 - b z; the squared hinge has no t, and h = 1
        s, t = p.variables(2)
        width = 1.0 if loss.name == "squared_hinge" else loss.width
        p.quadratic.append((s, q / width))
        p.linear.append((t, q))
        p.at_least({s: 1}, 0.0)
        p.at_least({t: 1}, 0.0)
        p.at_least({s: 1, z: b} if loss.name == "squared_hinge" else {s: 1, t: 1, z: b}, 1.0)
    else:  # t >= log(1 + exp(-b z)): exp(-t) + exp(-b z - t) <= 1
        t, one, other = p.variables(3)
        p.linear.append((t, q))
        p.exponential([({t: -1}, 0.0), ({}, 1.0), ({one: 1}, 0.0)])
        p.exponential([({t: -1, z: -b}, 0.0), ({}, 1.0), ({other: 1}, 0.0)])
        p.at_least({one: -1, other: -1}, -1.0)
        if loss.name == "strong_logistic":
            p.quadratic.append((z, q * loss.strength))


def conic_solution(
    A: np.ndarray, b: np.ndarray, loss: losses.Loss, *, q: np.ndarray, offset: np.ndarray,
    penalty_weights: np.ndarray, fit_intercept: bool, l1: float = 0.0, l2: float = 0.0,
) -> tuple[np.ndarray, float]:  # fmt: skip
    n, d = A.shape
    p = Program()
    x, c, z = p.variables(d), p.variables(1)[0], p.variables(n)
    for j in range(d):
        p.quadratic.append((x[j], l2 * penalty_weights[j]))
        if l1:
            t = p.variables(1)[0]
            p.linear.append((t, l1 * penalty_weights[j]))
            p.at_least({t: 1, x[j]: 1}, 0.0)
            p.at_least({t: 1, x[j]: -1}, 0.0)
    p.rows.append(({c: 0.0 if fit_intercept else 1.0}, 0.0))
    p.cones.append(clarabel.ZeroConeT(1))
    for i in range(n):
        row = {z[i]: 1.0, c: -1.0} | {x[j]: -A[i, j] for j in range(d)}
        p.rows.append((row, offset[i]))
        p.cones.append(clarabel.ZeroConeT(1))
        add_loss(p, loss, q[i], z[i], b[i])
    v = p.solve()
    return v[:d], float(v[c]) if fit_intercept else 0.0


@pytest.mark.parametrize("fit_intercept", [False, True], ids=["", "intercept"])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("name", LOSSES)
def test_the_cone_program_has_the_same_value(name: str, penalty: str, fit_intercept: bool) -> None:
    loss = LOSSES[name]
    rng = np.random.default_rng(sorted(LOSSES).index(name))
    n, d = 25, 3
    A = rng.standard_normal((n, d))
    signal = A @ np.array([1.0, -0.5, 0.0]) + 0.3
    regression = name in ("squared", "huber")
    noisy = signal + (1.0 if regression else 2.0) * rng.standard_normal(n)
    b = noisy if regression else np.where(noisy > 0, 1.0, -1.0)
    weight, offset = rng.uniform(0.2, 2.0, n), 0.3 * rng.standard_normal(n)
    # a coordinate at a third of the penalty, and where there is l2 one that is free
    penalty_weights = np.array([1.0, 1.0 / 3.0, 0.0 if penalty == "l2" else 2.0])
    problem = {
        "loss": loss, "sample_weight": weight, "offset": offset,
        "penalty_weights": penalty_weights, "fit_intercept": fit_intercept, **PENALTIES[penalty],
    }  # fmt: skip
    x, c = conic_solution(
        A, b, loss, q=weight / weight.sum(), offset=offset, penalty_weights=penalty_weights,
        fit_intercept=fit_intercept, **PENALTIES[penalty],
    )  # fmt: skip
    theirs = dualgap.certify(A, b, x, intercept=c, **problem)
    ours = dualgap.solve(A, b, tol=1e-9, max_passes=5000, **problem)
    assert ours.status is dualgap.Status.CONVERGED
    assert abs(ours.certificate.primal - theirs.primal) <= ours.certificate.gap + 1e-7
    assert ours.certificate.dual <= theirs.primal + 1e-13
    assert theirs.certified
    assert theirs.gap <= 1e-5
