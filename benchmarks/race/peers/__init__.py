"""One module per library.

Each has ``contestants(task)``: what in the library solves this task, by name; calling a value
converts the data (not timed) and gives a `Contestant`. Importing a module whose library is not
installed raises ImportError.
"""

LIBRARIES = (
    "dualgap",
    "scikit_learn",
    "liblinear",
    "glum",
    "skglm",
    "celer",
    "cyanure",
    "snapml",
    "adelie",
    "lightning",
    "tick",
    "copt",
)
"""The quickest first on the whole: a contestant far behind the best so far is given up early."""
