"""Numbers that provably enclose others: rounding with a direction, exponentials, products.

What a certificate rests on. Everything here holds for IEEE double precision, rounding to nearest
and gradual underflow (`arithmetic_is_ieee` tests it), and trusts no function of the C library but
the square root, which IEEE 754 asks to be rounded correctly.
"""
