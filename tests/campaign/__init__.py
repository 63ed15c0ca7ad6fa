"""A campaign of generated problems: every certificate is held against extended precision.

`python -m tests.campaign --problems N --seed S`; see `__main__` for the options.
"""
