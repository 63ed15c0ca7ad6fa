"""Problems to be certified: generated ones, and a small fixed battery."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from dualgap import losses

from .checker import MARGIN, STEEP, Checker

LOSSES = ("squared", "logistic", "smoothed_hinge", "squared_hinge", "huber", "strong_logistic")
PENALTIES = {"none": (0, 0), "l2": (0, 1), "l1": (1, 0), "elastic_net": (1, 1)}
PARAMETER = {
    "smoothed_hinge": lambda v: losses.SmoothedHinge(width=v),
    "huber": lambda v: losses.Huber(threshold=v),
    "strong_logistic": lambda v: losses.StrongLogistic(strength=v),
}


@dataclass(frozen=True)
class Case:
    """A problem, said once for dualgap (`arguments`) and once for the checker."""

    A: Any
    b: np.ndarray
    loss: str = "squared"
    parameter: float = 1.0
    l1: float = 0.0
    l2: float = 0.0
    penalty_weights: Any = None
    sample_weight: Any = None
    offset: Any = None
    fit_intercept: bool = False

    @property
    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `dualgap.solve`, `dualgap.certify` and `dualgap.Problem`."""
        make = PARAMETER.get(self.loss)
        return {
            "loss": make(self.parameter) if make else self.loss,
            "l1": self.l1,
            "l2": self.l2,
            "penalty_weights": self.penalty_weights,
            "sample_weight": self.sample_weight,
            "offset": self.offset,
            "fit_intercept": self.fit_intercept,
        }

    @cached_property
    def checker(self) -> Checker:
        return Checker(**{name: getattr(self, name) for name in self.__dataclass_fields__})

    @property
    def shape(self) -> tuple[int, int]:
        return self.A.shape


def weights(rng: np.random.Generator, size: int, how: str) -> np.ndarray | None:
    """None, some zeros, or six orders of magnitude; never all zero."""
    if how == "none":
        return None
    w = 10.0 ** rng.uniform(-3, 3, size) if how == "wide" else rng.uniform(0.5, 2, size)
    if how == "zeros":
        w[rng.random(size) < 0.4] = 0.0
        w[rng.integers(size)] = 1.0
    return w


def matrix(rng: np.random.Generator, n: int, d: int, entries: str, defects: set[str]) -> np.ndarray:
    A = rng.standard_normal((n, d)) if entries == "normal" else rng.integers(-2, 3, (n, d)) * 1.0
    if "scales" in defects:
        A *= 10.0 ** rng.uniform(-3, 3, d)
    if "twins" in defects and d > 1:
        A[:, -1] = A[:, 0]
    if "zero_column" in defects:
        A[:, d // 2] = 0.0
    if "zero_row" in defects:
        A[n // 2] = 0.0
    return A


def build(
    seed: int,
    *,
    loss: str,
    penalty: str,
    n: int,
    d: int,
    entries: str = "normal",
    defects: Any = (),
    storage: str = "dense",
    dtype: str = "float64",
    sample_weight: str = "none",
    penalty_weights: str = "none",
    offset: bool = False,
    fit_intercept: bool = False,
) -> Case:
    """A problem from a seed and a few choices."""
    rng = np.random.default_rng(seed)
    A = matrix(rng, n, d, entries, set(defects)).astype(dtype)
    z = A @ rng.standard_normal(d) + rng.standard_normal(n)
    if loss in MARGIN:
        b = np.where(z + rng.standard_normal(n) > 0, 1.0, -1.0)
    elif loss in STEEP:
        mean = np.exp(np.clip(z, -3.0, 5.0))
        b = rng.poisson(mean) if loss == "poisson" else rng.gamma(2.0, mean / 2.0) + 1e-9
    else:
        b = z if entries == "normal" else np.round(z)
    has_l1, has_l2 = PENALTIES[penalty]
    return Case(
        sp.csr_array(A) if storage == "csr" else A,
        b.astype(float),
        loss,
        parameter=float(10.0 ** rng.uniform(-1, 1)),
        l1=has_l1 * float(10.0 ** rng.uniform(-4, 0)),
        l2=has_l2 * float(10.0 ** rng.uniform(-6, 1)),
        penalty_weights=weights(rng, d, penalty_weights) if penalty != "none" else None,
        sample_weight=weights(rng, n, sample_weight),
        offset=rng.standard_normal(n) if offset else None,
        fit_intercept=fit_intercept,
    )


def generated(loss: str, penalty: str) -> st.SearchStrategy[Case]:
    """Any small problem with this loss and this penalty."""
    return st.builds(
        build,
        st.integers(0, 2**32 - 1),
        loss=st.just(loss),
        penalty=st.just(penalty),
        n=st.integers(1, 9),
        d=st.integers(1, 5),
        entries=st.sampled_from(["normal", "integers"]),
        defects=st.sets(st.sampled_from(["scales", "twins", "zero_row", "zero_column"])),
        storage=st.sampled_from(["dense", "csr"]),
        dtype=st.sampled_from(["float64", "float32"]),
        sample_weight=st.sampled_from(["none", "zeros", "wide"]),
        penalty_weights=st.sampled_from(["none", "zeros", "wide"]),
        offset=st.booleans(),
        fit_intercept=st.booleans(),
    )


def battery() -> list[Case]:
    """Every loss with every penalty, with and without intercept, weights and offset alternating."""
    out = []
    for i, loss in enumerate(LOSSES):
        for j, penalty in enumerate(PENALTIES):
            for fit_intercept in (False, True):
                out.append(
                    build(
                        100 * i + 10 * j + fit_intercept,
                        loss=loss,
                        penalty=penalty,
                        n=12,
                        d=3,
                        sample_weight="wide" if (i + j) % 2 else "zeros",
                        offset=(i + j + fit_intercept) % 2 == 0,
                        fit_intercept=fit_intercept,
                    )
                )
    return out
