"""Compiled inner loops of the randomised algorithms.

The plain-Python transcriptions in the tests are their oracles. State arrays are passed in and
updated in place; nothing is allocated inside; index streams come from outside.
"""
