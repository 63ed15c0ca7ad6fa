"""Separable regularisers with strengths per coordinate."""

from dualgap.regularizers.elastic_net import ElasticNet
from dualgap.regularizers.lazy import advance

__all__ = ["ElasticNet", "advance"]
