"""What ``algorithm="auto"`` picks, and that it says why."""

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap

RNG = np.random.default_rng(2)
TALL = RNG.standard_normal((1200, 5))
WIDE = sp.random_array((1200, 6000), density=0.005, random_state=RNG, format="csr")
SIGNS = np.where(RNG.random(1200) < 0.5, 1.0, -1.0)
CLASSES = np.arange(1200) % 3
LONG = RNG.standard_normal((60, 2000)) / np.sqrt(2000)


@pytest.mark.parametrize(
    "A, b, arguments, chosen",
    [
        (TALL, TALL[:, 0], {"l2": 0.1}, "newton"),
        (TALL, TALL[:, 0], {}, "newton"),
        (TALL, SIGNS, {"loss": "logistic", "l2": 1.0}, "newton"),  # a factorisation is cheap
        (TALL, SIGNS, {"loss": "squared_hinge"}, "newton"),
        (WIDE, SIGNS, {"loss": "logistic", "l2": 1e-2}, "sdca"),
        (WIDE, SIGNS, {"loss": "logistic", "l2": 1e-6}, "newton"),  # kappa is above n
        (WIDE, SIGNS, {"loss": "logistic", "l2": 1e-2, "fit_intercept": True}, "newton"),
        (WIDE, SIGNS, {"l2": 1e-2}, "newton"),
        (LONG, SIGNS[:60], {"loss": "logistic", "l2": 0.1}, "sdca"),
        (LONG, SIGNS[:60], {"loss": "logistic", "l2": 1e-3}, "newton"),  # kappa is above n/3
        (TALL, SIGNS, {"loss": "logistic", "l1": 0.1}, "working-set"),
        (TALL, SIGNS, {"l1": 0.1, "l2": 0.1}, "working-set"),
        (TALL, CLASSES, {"loss": "multinomial", "l2": 0.1}, "newton"),
        (TALL, CLASSES, {"loss": "multinomial", "l1": 0.1}, "prox-newton"),
        (TALL, TALL[:, 0], {"l2": 0.1, "adapt": "robust"}, "ada-bpd"),
        (TALL, SIGNS, {"loss": "logistic", "l2": 0.1, "adapt": "simple"}, "adf-bpd"),
    ],
)
def test_the_rule(A, b, arguments, chosen):
    result = dualgap.solve(A, b, max_passes=30, **arguments)
    assert result.algorithm == chosen
    assert any(note.startswith(f"auto chose {chosen}: ") for note in result.notes)
    assert (result.x == dualgap.solve(A, b, max_passes=30, **arguments).x).all()
