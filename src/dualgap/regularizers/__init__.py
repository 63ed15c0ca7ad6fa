"""Separable regularisers with strengths per coordinate."""

from dualgap.regularizers.box import Box
from dualgap.regularizers.contract import Bounded, Regularizer
from dualgap.regularizers.elastic_net import ElasticNet
from dualgap.regularizers.lazy import advance
from dualgap.regularizers.non_negative import NonNegative

REGULARIZERS: dict[str, type[Regularizer]] = {
    cls.__name__: cls for cls in (ElasticNet, NonNegative, Box)
}
"""Those that a file can hold."""

__all__ = [
    "REGULARIZERS",
    "Bounded",
    "Box",
    "ElasticNet",
    "NonNegative",
    "Regularizer",
    "advance",
]
