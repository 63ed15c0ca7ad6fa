"""Files of any known format into folders of arrays, in one pass and with bounded memory."""

from dualgap.datasets.conversion.converting import convert

__all__ = ["convert"]
