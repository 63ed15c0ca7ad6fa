"""An algorithm of one's own: proximal gradient steps, whose lengths it finds by itself.

With the gradient u = A'Qy, y = phi'(A x), of the mean loss f, and a step tau,

    x+ <- prox_{tau g}(x - tau u)

and tau is halved until  <A x+ - A x, Q (y+ - y)> <= |x+ - x|^2/(2 tau). As f is convex, it follows
that f(x+) <= f(x) + <u, x+ - x> + |x+ - x|^2/(2 tau), so that P never rises. The test takes
differences of points and not of values, which rounding would spoil near the optimum.

No bound on phi'' is asked for, and nothing of g but its prox: it serves every loss with every
regulariser, those of other users among them.

Run it with ``python examples/proximal_gradient.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from non_negative import Positive
from poisson_loss import Counts, counts
from quantile_loss import SmoothQuantile, prices

import dualgap
from dualgap.algorithms import (
    NO_ADVICE,
    Advice,
    Algorithm,
    Needs,
    Problem,
    Shown,
    Start,
    State,
    first_point,
    replace,
    with_dual,
)

LONGER = 1.25
"""A step is tried with so many times the length of the last one."""
HALVINGS = 60
"""Even where rounding decides, a step ends."""


@dataclass(frozen=True, eq=False)
class ProximalGradientState:
    """What no other algorithm knows: the length of the last step."""

    tau: float


@dataclass(frozen=True)
class ProximalGradient(Algorithm):
    """Proximal gradient steps with a search for their length.

    Parameters
    ----------
    first : float
        The length that is tried first.
    """

    first: float = 1.0

    requires: ClassVar[Needs] = Needs(regularizer="prox")

    def start(
        self,
        problem: Problem,
        x0: np.ndarray | None,
        y0: np.ndarray | None,
        advice: Advice = NO_ADVICE,
    ) -> Start:
        """From x0, or 0, with y = phi'(z); y0 plays no part."""
        x = problem.zeros() if x0 is None else x0
        state, _ = first_point(self.name, problem, x, None)
        return Start(replace(state, own=ProximalGradientState(self.first)))

    def step(self, problem: Problem, s: State) -> State:
        """One iteration: a product with A for each length tried, and one with A'."""
        g, tau, tried = problem.regularizer, s.own.tau * LONGER, 0
        while True:
            x = g.prox(s.x - tau * s.u, tau)
            z = problem.predict(x)
            loss, y = problem.mean_loss_grad(z)
            tried += 1
            bends = problem.inner(y - s.y, z - s.z)  # nan or inf after a step too far
            if bends <= np.vdot(x - s.x, x - s.x) / (2.0 * tau) or tried > HALVINGS:
                break
            tau *= 0.5
        new = replace(
            s, t=s.t + 1, passes=s.passes + 0.5 * (tried + 1), x=x, y=y, z=z,
            u=problem.adjoint(y), primal=loss + g.value(x), own=ProximalGradientState(tau),
        )  # fmt: skip
        return with_dual(problem, new)

    def shown(self, s: State) -> Shown:
        """The trace shows the lengths of the steps."""
        return Shown(tau=s.own.tau)


def main() -> None:
    """Run it on shipped and on other users' losses and regularisers; interrupt it, and go on."""
    algorithm = ProximalGradient()
    A, b = prices()
    for options in (
        {"loss": "squared", "l1": 0.1},
        {"loss": "logistic", "l2": 0.1},
        {"loss": SmoothQuantile(0.9), "regularizer": Positive(0.01)},
        {"loss": Counts(), "regularizer": Positive(0.01)},
    ):
        rows, targets = counts() if isinstance(options["loss"], Counts) else (A, b)
        if options["loss"] == "logistic":
            targets = np.sign(targets - np.median(targets) + 1e-9)
        result = dualgap.solve(rows, targets, algorithm=algorithm, max_passes=5000, **options)
        certificate = dualgap.certify(rows, targets, result.x, result.y, **options)
        print(f"{options}: {result.status.name}, P(x) - P* <= {certificate.gap:.2g}")
    whole = dualgap.solve(A, b, l1=0.1, algorithm=algorithm, tol=1e-12)
    half = dualgap.solve(A, b, l1=0.1, algorithm=algorithm, tol=1e-12, max_passes=10)
    rest = dualgap.solve(A, b, l1=0.1, algorithm=algorithm, tol=1e-12, state=half.state)
    print("in two parts, the same bits:", np.array_equal(whole.x, rest.x))


if __name__ == "__main__":
    main()
