"""Measured contraction against the theorems, without a regulariser: python -m benchmarks rates.

lambda = 0, L/mu fixed, gamma delta from mu^2/L^2 to 1. Per iteration, V_t of Theorems 1 and 3 (a
squared distance to the saddle point) is multiplied by a rate; drawn is 1 - rate, three times:

    measured    BPD and DF-BPD with the theorems' steps, a line through log V_t
    promised    1 - theta of Theorem 1 (BPD) and of Theorem 3 (DF-BPD, k = 1/2)
    reference   sqrt(gamma delta) mu/L, the order of a fully accelerated method

The problem attains its constants. A'QA has eigenvalues spread from mu^2/n to L^2/n, and every one
comes twice: on rows where phi'' = delta and on rows where phi'' = 1/gamma. Were phi'' the same
everywhere, f would be better conditioned than gamma delta, and the comparison unfair. It is one
problem all the same, and its rate is that of late iterations; a theorem speaks of every problem
with these constants, from the first iteration on.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dualgap import Problem
from dualgap.algorithms import BPD, DFBPD, Algorithm
from dualgap.losses import Squared, StrongLogistic

KAPPA = 30.0
"""L/mu."""
POINTS = 9
FLAT = 40.0
"""Where logistic loss has no curvature left: phi''(40) = 4e-18 + k."""
FROM, TO = 1e-8, 1e-20
"""The part of log V_t that the line is fitted to, relative to V_0."""
SEED = 2017


@dataclass(frozen=True)
class Measured:
    """1 - rate, measured and promised, for one algorithm at one gamma delta."""

    conditioning: float
    algorithm: str
    measured: float
    promised: float
    iterations: int


def extreme_problem(conditioning: float) -> tuple[Problem, float]:
    """A problem with x* = 0 and this gamma delta, and the paper's mu.

    Rows come in pairs (a, offset o, label 1) and (a, offset -o, label -1), whose gradients cancel
    at x = 0. phi'' is k + 1/4 = 1/gamma there if o = 0, and k = delta if o is large.
    """
    rng = np.random.default_rng(SEED)
    eigenvalues = np.repeat(np.geomspace(KAPPA**-2, 1.0, 6), 2)
    d = eigenvalues.size
    n = 2 * d
    V = np.linalg.qr(rng.standard_normal((d, d)))[0]
    A = np.repeat(np.sqrt(0.5 * n * eigenvalues)[:, None] * V.T, 2, axis=0)
    mu = np.sqrt(n * eigenvalues.min())
    if conditioning == 1.0:
        return Problem(A, np.zeros(n), loss=Squared()), float(mu)
    side = np.tile([1.0, -1.0], d)
    offset = side * np.repeat(np.tile([0.0, FLAT], d // 2), 2)
    loss = StrongLogistic(strength=0.25 * conditioning / (1.0 - conditioning))
    return Problem(A, side, loss=loss, offset=offset), float(mu)


def measure(algorithm: Algorithm, problem: Problem, conditioning: float) -> Measured:
    """Run until V_t < 1e-20 V_0 and fit a line to log V_t."""
    x0 = np.random.default_rng(SEED).standard_normal(problem.size)
    x0 /= np.abs(problem.design.matvec(x0)).max()
    zero = np.zeros(problem.n) if problem.offset is None else problem.offset
    optimum = problem.loss.grad(zero, problem.b)
    s = algorithm.start(problem, x0, None).state
    theta = s.own.steps.rate
    primal, dual = 0.5 / s.own.steps.tau, 0.25 * problem.loss.gamma

    values = []
    while not values or values[-1] > TO * values[0]:
        off = s.y - optimum
        values.append(primal * float(s.x @ s.x) + dual * problem.mean(off * off))
        s = algorithm.step(problem, s)
    log = np.log(np.array(values) / values[0])
    t = np.arange(log.size)
    fitted = log < np.log(FROM)
    slope = np.polyfit(t[fitted], log[fitted], 1)[0]
    return Measured(
        conditioning, algorithm.name, float(-np.expm1(slope)), 1.0 - theta, len(values) - 1
    )


def sweep() -> list[Measured]:
    """All points."""
    rows = []
    for conditioning in np.geomspace(KAPPA**-2, 1.0, POINTS):
        conditioning = min(float(conditioning), 1.0)
        problem, mu = extreme_problem(conditioning)
        for algorithm in (BPD(mu=mu, schedule="theorem"), DFBPD(mu=mu, schedule="theorem")):
            rows.append(measure(algorithm, problem, conditioning))
            print(line(rows[-1]), flush=True)
    return rows


HEAD = (
    f"{'gamma delta':>11}  {'algorithm':9}  {'measured':>9}  {'promised':>9}  "
    f"{'reference':>9}  {'measured/promised':>17}  {'measured/reference':>18}  {'iterations':>10}"
)


def line(row: Measured) -> str:
    """One line of the table."""
    reference = accelerated(row.conditioning)
    return (
        f"{row.conditioning:11.4g}  {row.algorithm:9}  {row.measured:9.3g}  {row.promised:9.3g}  "
        f"{reference:9.3g}  {row.measured / row.promised:17.1f}  "
        f"{row.measured / reference:18.2f}  {row.iterations:10d}"
    )


def accelerated(conditioning: float) -> float:
    """sqrt(gamma delta) mu/L."""
    return float(np.sqrt(conditioning)) / KAPPA


def draw(rows: list[Measured], path: Path) -> None:
    """The picture; colours of Okabe & Ito, and solid against dashed for those who see none."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    blue, orange, grey = "#0072B2", "#D55E00", "#555555"
    style = {"font.size": 11, "axes.spines.top": False, "axes.spines.right": False}
    with plt.rc_context(style):
        figure, axes = plt.subplots(figsize=(9.5, 6.0), layout="constrained")
        for name, label, theorem, colour, marker, out, text in (
            ("bpd", "BPD", "Theorem 1", blue, "o", 1.45, 5),
            ("df-bpd", "DF-BPD", "Theorem 3", orange, "s", 1.2, -5),
        ):
            own = [r for r in rows if r.algorithm == name]
            x = [r.conditioning for r in own]
            measured, promised = [r.measured for r in own], [r.promised for r in own]
            axes.plot(x, measured, color=colour, marker=marker, linewidth=2, markersize=7)
            axes.plot(x, promised, color=colour, linewidth=2, linestyle=(0, (5, 2)))
            beyond = {"xytext": (42, 0), "textcoords": "offset points", "va": "center"}
            axes.annotate(f"{label}, measured", (x[-1], measured[-1]), color=colour, **beyond)
            axes.annotate(f"{theorem} promises", (x[-1], promised[-1]), color=colour, **beyond)
            # At both ends an arrow from the promise to the measurement, with their quotient.
            for end, at, shift in ((0, x[0] / out, -text), (-1, x[-1] * out, text)):
                low, high = promised[end], measured[end]
                arrow = {"arrowstyle": "->", "color": colour, "shrinkA": 0, "shrinkB": 0}
                axes.annotate("", (at, high), xytext=(at, low), arrowprops=arrow)
                axes.annotate(
                    f"{float(f'{high / low:.2g}'):,.0f}×", (at, low * (high / low) ** 0.4),
                    xytext=(shift, 0), textcoords="offset points",
                    ha="left" if shift > 0 else "right", va="center", color=colour,
                )  # fmt: skip
        x = np.geomspace(KAPPA**-2, 1.0, 50)
        axes.plot(x, [accelerated(g) for g in x], color="black", linewidth=1.4, linestyle=":")
        axes.annotate(
            r"fully accelerated: $\sqrt{\gamma\delta}\,\mu/L$", (x[20], accelerated(x[20])),
            xytext=(-60, 48), textcoords="offset points", color="black",
            arrowprops={"arrowstyle": "-", "color": grey, "linewidth": 0.8, "shrinkB": 2},
        )  # fmt: skip
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(KAPPA**-2 / 2.6, 1.6)
        axes.set_ylim(top=0.12)
        axes.grid(axis="y", color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.minorticks_off()
        axes.set_xticks(
            [KAPPA**-2, 1 / KAPPA, 1.0],
            [r"$\mu^2/L^2$" + f"\n{KAPPA**-2:.2g}", r"$\mu/L$" + f"\n{1 / KAPPA:.2g}", "1"],
        )
        axes.set_xlabel(r"conditioning of the loss, $\gamma\delta$")
        axes.set_ylabel("1 - rate (share of the squared distance\nremoved by one iteration)")
        figure.suptitle(
            "Strong convexity from data alone: practice beats the theorems",
            x=0.01, ha="left", fontsize=14,
        )  # fmt: skip
        axes.set_title(
            rf"$\lambda = 0$, $L/\mu = {KAPPA:g}$; $\phi''$ takes both its extremes, $\delta$ and "
            r"$1/\gamma$, at every eigenvalue; higher is faster",
            loc="left", fontsize=11, color=grey,
        )  # fmt: skip
        figure.savefig(path, dpi=150)
        plt.close(figure)


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", nargs="?", type=Path, default=Path("rates.png"))
    path = parser.parse_args().path
    print(f"lambda = 0, L/mu = {KAPPA:g}; 1 - rate of the squared distance per iteration")
    print(HEAD)
    rows = sweep()
    draw(rows, path)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
