"""What begins a run, steps it, shows it, keeps it in a file, and proves its end.

`solving` is one call of solve: it checks the arguments, and `beginning`, `loop` and `proving` do
what comes before the first step, the steps, and the proofs. `streamed` is the same where rows are
not held. `light` runs an algorithm without trace and proof for the points of a path, and `together`
solves ridge regressions with many targets.
"""
