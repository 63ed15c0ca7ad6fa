"""What algorithms may ask of a regulariser, and what one that was given has to offer.

An algorithm declares one of three needs:

- ``"prox"``: the methods of `Regularizer`, which every regulariser has;
- ``"bounds"``: arrays l1, l2, lower and upper, which compiled coordinate steps read;
- ``"strengths"``: arrays l1 and l2 and no bounds, the elastic net, which kernels, Newton's systems
  and changes of variables that mix the coordinates are written for.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from dualgap._names import needed
from dualgap.regularizers.box import Box
from dualgap.regularizers.contract import NEEDED_BY, Regularizer
from dualgap.regularizers.elastic_net import ElasticNet
from dualgap.regularizers.strengths import given, padded
from dualgap.regularizers.wrappers import extended

Need = Literal["prox", "bounds", "strengths"]

WANTED: dict[str, str] = {
    "bounds": "a regulariser of the form l1 |x| + (l2/2) x^2 between bounds",
    "strengths": "the elastic net, l1 |x| + (l2/2) x^2 without bounds",
}
"""What an algorithm with this need asks of a regulariser, in words."""


def is_served(need: Need, g: Regularizer) -> bool:
    """Whether the regulariser of a problem meets the need."""
    if need == "prox" or g.has_strengths:
        return True
    return need == "bounds" and g.has_bounds


def check_type(g: Any) -> None:
    """A `Regularizer`, whose strengths are such; of another object, say what it lacks."""
    if isinstance(g, type) and issubclass(g, Regularizer):
        raise TypeError(f"regularizer is the class {g.__name__}; give a value, {g.__name__}(...).")
    if isinstance(g, ElasticNet):  # which takes arrays as they are, for those of a problem
        for name in ("l1", "l2"):
            given(name, getattr(g, name))
    if isinstance(g, Regularizer):
        return
    lacking = [name for name in NEEDED_BY if not hasattr(g, name)]
    what = (
        f" It lacks {needed(lacking, NEEDED_BY)}."
        if lacking and len(lacking) < len(NEEDED_BY)
        else ""
    )
    raise TypeError(
        f"regularizer must be a value of a subclass of dualgap.regularizers.Regularizer, got "
        f"{g!r}.{what}"
    )


def of_problem(penalty: Regularizer, d: int, *, free: int, by_class: bool) -> Regularizer:
    """The regulariser of x: that of d coefficients, and ``free`` coordinates after them.

    One that says of itself that it is an elastic net, or one with bounds, becomes that.
    """
    if isinstance(penalty, ElasticNet) and penalty.l1.shape == penalty.l2.shape == (d,):
        if not (free or by_class):
            return penalty
        return ElasticNet(padded(penalty.l1, free, by_class), padded(penalty.l2, free, by_class))
    form = penalty.compiled_form()
    if form is None:
        return extended(penalty, d, free=free, by_class=by_class)
    known: Regularizer = ElasticNet(form.l1, form.l2)
    if np.any(np.isfinite(form.lower)) or np.any(np.isfinite(form.upper)):
        known = Box(form.lower, form.upper, form.l1, form.l2)
    return extended(known, d, free=free, by_class=by_class)
