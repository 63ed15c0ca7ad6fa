"""Data to try things with: the paper's synthetic sets, files, named sets, and data on disk."""

from dualgap.datasets._errors import DataError
from dualgap.datasets.archives import load_npz
from dualgap.datasets.conversion import convert
from dualgap.datasets.folders import Folder, write_folder, write_predictions
from dualgap.datasets.loading import Dataset, load
from dualgap.datasets.opening import open
from dualgap.datasets.svmlight import load_svmlight
from dualgap.datasets.synthetic import synthetic1, synthetic2
from dualgap.datasets.tables import load_csv

__all__ = [
    "DataError",
    "Dataset",
    "Folder",
    "convert",
    "load",
    "load_csv",
    "load_npz",
    "load_svmlight",
    "open",
    "synthetic1",
    "synthetic2",
    "write_folder",
    "write_predictions",
]
