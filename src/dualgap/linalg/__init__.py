"""Linear algebra and searches along a line, each written once; nothing here knows a problem."""
