"""Data that stay on disk: folders of plain ``.npy`` arrays with one manifest."""

from dualgap.datasets.folders.building import RowFiles, write_folder
from dualgap.datasets.folders.manifest import NAME, Manifest, is_folder
from dualgap.datasets.folders.opening import Folder, open_folder
from dualgap.datasets.folders.predictions import write_predictions
from dualgap.datasets.folders.writing import check_target, making

__all__ = [
    "NAME",
    "Folder",
    "Manifest",
    "RowFiles",
    "check_target",
    "is_folder",
    "making",
    "open_folder",
    "write_folder",
    "write_predictions",
]
