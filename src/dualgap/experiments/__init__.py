"""The experiments of the paper, reproduced: ``dualgap.experiments.run(out)``."""

from dualgap.experiments.report import Report, run

__all__ = ["Report", "run"]
