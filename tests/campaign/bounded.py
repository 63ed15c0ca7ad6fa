"""Cases with bounds on x: `NonNegative` and `Box` in the words of their user."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap import regularizers
from tests.certificate.cases import Case


@dataclass(frozen=True)
class BoundedCase(Case):
    """lower <= x <= upper, numbers or one for each coefficient; no penalty weights."""

    lower: Any = -np.inf
    upper: Any = np.inf

    @property
    def is_non_negative(self) -> bool:
        return not np.any(self.lower) and bool(np.all(np.isposinf(self.upper)))

    @property
    def arguments(self) -> dict[str, Any]:
        out = super().arguments
        for name in ("l1", "l2", "penalty_weights"):
            del out[name]
        if self.is_non_negative:
            out["regularizer"] = regularizers.NonNegative(l1=self.l1, l2=self.l2)
        else:
            out["regularizer"] = regularizers.Box(self.lower, self.upper, self.l1, self.l2)
        return out
