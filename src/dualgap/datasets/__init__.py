"""Data to try things with: the paper's synthetic sets, files, and named sets."""

from dualgap.datasets._errors import DataError
from dualgap.datasets.archives import load_npz
from dualgap.datasets.loading import Dataset, load
from dualgap.datasets.svmlight import load_svmlight
from dualgap.datasets.synthetic import synthetic1, synthetic2
from dualgap.datasets.tables import load_csv

__all__ = [
    "DataError",
    "Dataset",
    "load",
    "load_csv",
    "load_npz",
    "load_svmlight",
    "synthetic1",
    "synthetic2",
]
