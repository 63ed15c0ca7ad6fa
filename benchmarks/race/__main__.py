"""python -m benchmarks.race is python -m benchmarks race."""

from benchmarks.race import main

main()
