"""Data to try things with."""

from dualgap.datasets.synthetic import synthetic1, synthetic2

__all__ = ["synthetic1", "synthetic2"]
