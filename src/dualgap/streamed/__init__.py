"""Data whose rows are not held: what is known of them are sums, found by readings.

A reading is one sweep over chunks of rows. Predictions, slopes and whatever else has an entry for
each row live inside of a chunk; what comes out has the size of x, or of a matrix of some of its
coordinates. `rows` has targets, weights and offsets, `sums` what one chunk gives, `reading` the
verbs that algorithms call, and `gap` the gap in floats that follows from sums.
"""
