"""Certificates: a float estimate of the gap, which steers runs, and the proof at their end.

`value` is what users see, `proof` the theorem (with `rows`, `feasibility` and, for squared loss,
`quadratic`), `boxed` a bound inside a box where the theorem does not apply, `certifying` the order
of work, `estimate` the float gap. `by_readings` and `chunks` do the same for data whose rows are
not held.
"""

from __future__ import annotations

from dualgap.certificate.by_readings import certificate_by_readings
from dualgap.certificate.certifying import proved_pair
from dualgap.certificate.estimate import Estimate, estimate_at, estimated_gap, estimated_pair
from dualgap.certificate.point import certify_point
from dualgap.certificate.value import ASSUMPTIONS, Certificate

__all__ = [
    "ASSUMPTIONS",
    "Certificate",
    "Estimate",
    "certificate_by_readings",
    "certify_point",
    "estimate_at",
    "estimated_gap",
    "estimated_pair",
    "proved_pair",
]
