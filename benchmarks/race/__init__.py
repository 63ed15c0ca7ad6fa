"""Our solvers against what users would pick instead: python -m benchmarks race [--quick].

Everybody minimises the same objective, without an intercept,

    P(x) = (1/n) sum_i phi_i(a_i'x) + l1 |x|_1 + (l2/2) |x|^2,

and what counts is the time of the fastest call whose answer has (P - P*)/(P(0) - P*) at most 1e-3,
1e-6, 1e-9. Each contestant is driven over its tolerance or its iterations. The rules:

- one thread; one untimed call first, so that nothing is compiled on the clock; best of several;
- at the end ours and the nearest peers run again, in turn: a slow moment is slow for all;
- contestants get the data in the form they like best, and that conversion is not timed;
- ours is timed as a whole: constants, factorisations, checks and the certificate are in it;
- P* comes from Newton's method, certified (`reference`), or from a better answer seen on the way;
- who does not approach P* is reported as not solving this objective (or not to this accuracy).
"""

from __future__ import annotations


def main() -> None:
    """Imported late: worker processes need this package, not the rest of it."""
    from benchmarks.race.command import main

    main()
