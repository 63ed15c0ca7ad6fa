"""The demonstration: ``python -m dualgap [--plot PICTURE.png]``.

Fits scikit-learn's embedded diabetes and breast cancer data with and without regularisation, prints
each certificate, checks it again from scratch, and draws how the gap fell if asked to.
"""

from __future__ import annotations

import argparse
from typing import Any

import dualgap


def problems() -> dict[str, tuple[Any, Any, dict[str, Any]]]:
    """Name, data and arguments of each fit."""
    from sklearn.datasets import load_breast_cancer, load_diabetes

    A, b = load_diabetes(return_X_y=True)
    C, labels = load_breast_cancer(return_X_y=True)
    C = (C - C.mean(axis=0)) / C.std(axis=0)
    return {
        "ridge": (A, b, {"l2": 1e-3}),
        "least squares": (A, b, {}),
        "elastic net": (A, b, {"l1": 0.5, "l2": 1e-3}),
        "logistic": (C, labels, {"loss": "logistic", "l2": 1e-2}),
        "smooth svm": (C, labels, {"loss": "smoothed_hinge", "l2": 1e-2}),
    }


def main() -> int:
    """Fit, certify, check again; the exit code is 0 if all is well."""
    parser = argparse.ArgumentParser(prog="python -m dualgap", description="A demonstration.")
    parser.add_argument("--plot", metavar="PICTURE", help="draw the convergence to this file")
    options = parser.parse_args()
    print("min (1/n) sum_i phi_i(a_i'x + c) + l1 |x|_1 + (l2/2) |x|^2, certified to 1e-6\n")
    print(
        f"{'problem':14s} {'rows x cols':>11s} {'algorithm':>9s} {'passes':>7s} {'seconds':>8s} "
        f"{'objective':>13s} {'P - P* at most':>14s} {'relative':>9s}  checked again"
    )
    results = {}
    for name, (A, b, arguments) in problems().items():
        result = dualgap.solve(A, b, fit_intercept=True, max_passes=20000, **arguments)
        again = dualgap.certify(
            A, b, result.x, result.y, intercept=result.intercept, fit_intercept=True, **arguments
        )
        certificate = result.certificate
        verdict = "yes" if again == certificate and result.status.converged else str(result.status)
        print(
            f"{name:14s} {f'{A.shape[0]} x {A.shape[1]}':>11s} {result.algorithm:>9s} "
            f"{result.passes:7.0f} {result.seconds:8.3f} {certificate.primal:13.6g} "
            f"{certificate.gap:14.2e} {certificate.relative_gap:9.1e}  {verdict}"
        )
        results[name] = (result, verdict)
    if options.plot:
        _draw(options.plot, {name: result for name, (result, _) in results.items()})
        print(f"\ndrawn: {options.plot}")
    return 0 if all(verdict == "yes" for _, verdict in results.values()) else 3


def _draw(path: str, results: dict[str, dualgap.Result]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        2,
        len(results),
        sharex="col",
        figsize=(3.2 * len(results), 5.2),
        height_ratios=(3, 2),
        layout="constrained",
    )
    for column, (name, result) in enumerate(results.items()):
        result.trace.plot(axes[:, column])
        axes[0, column].set_title(f"{name} ({result.algorithm})", fontsize=10)
        if column:
            for axis in axes[:, column]:
                axis.set_ylabel("")
            axes[0, column].get_legend().remove()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    raise SystemExit(main())
