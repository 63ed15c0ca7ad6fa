"""A failure as a script that needs numpy and dualgap alone, for a bug report."""

import pprint
import re
from typing import Any

import numpy as np
import scipy.sparse as sp

from tests.certificate.cases import PARAMETER

from .bounded import BoundedCase
from .calls import Failure
from .decimals import EXP

HEAD = '''"""{title}

{details}
"""

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, setcontext

import numpy as np

import dualgap

A = {A}
b = {b}
arguments = {arguments}
'''

SOLVE = """
limits = {{"tol": {tol!r}, "max_passes": {max_passes!r}}}
result = dualgap.solve(A, b, algorithm={algorithm!r}, **limits, **arguments)
print(result)
x, c, certificate = result.x, result.intercept, result.certificate
last = [float(getattr(result.trace, name)[-1]) for name in ("primal", "dual", "gap")]
print("least gap of the trace", result.trace.gap.min(), "last row", last, "of", certificate)
"""

CERTIFY = """
x, c, y = {x}, {c}, {y}
certificate = dualgap.certify(A, b, x, y, intercept=c, **arguments)
print(certificate)
"""

BETTER = """
# P at x and at a better point, with a hundred digits.
setcontext(Context(prec=100, Emin=MIN_EMIN, Emax=MAX_EMAX))
exact = np.vectorize(lambda v: Decimal(v), otypes=[object])
rows, weight = range(len(b)), exact(np.asarray({w}, dtype=float))


def P(x, c):
    z = exact(np.asarray({dense}, dtype=float)) @ x + c + exact(np.asarray({offset}, dtype=float))
    total = sum(weight[i] * phi(z[i], {b_of}) for i in rows) / sum(weight)
    p = exact(np.asarray({p}, dtype=float)).reshape(-1, *[1] * (x.ndim - 1))
    return total + (p * (Decimal({l1!r}) * abs(x) + Decimal({l2!r}) / 2 * x * x)).sum()


{phi}

better_x = {better_x}
better_c = {better_c}
off = P(exact(np.asarray(x)), exact(np.asarray(c))) - P(exact(better_x), exact(better_c))
print(f"P(x) - P* is at least {{off:.6e}}; the certified gap is {{certificate.gap:.6e}}")
"""

PHI = {
    "squared": "def phi(z, b):\n    return (z - b) ** 2 / 2",
    "huber": (
        "def phi(z, b, h=Decimal({h!r})):\n    r = abs(z - b)\n"
        "    return r * r / 2 if r <= h else h * (r - h / 2)"
    ),
    "squared_hinge": "def phi(z, b):\n    return max(1 - b * z, Decimal(0)) ** 2 / 2",
    "smoothed_hinge": (
        "def phi(z, b, h=Decimal({h!r})):\n    short = max(1 - b * z, Decimal(0))\n"
        "    return short - h / 2 if short >= h else short * short / (2 * h)"
    ),
    "logistic": (
        "def phi(z, b):\n    e = (-abs(z)).exp()\n"
        "    return max(-b * z, Decimal(0)) + (e - e * e / 2 if e < 1e-40 else (1 + e).ln())"
    ),
    "strong_logistic": (
        "def phi(z, b, h=Decimal({h!r})):\n"
        "    return max(-b * z, Decimal(0)) + (1 + (-abs(z)).exp()).ln() + h * z * z / 2"
    ),
    "poisson": ("def phi(z, b):\n    return z.exp() - (b * (z - b.ln() + 1) if b else 0)"),
    "gamma": "def phi(z, b):\n    t = b.ln() - z\n    return t.exp() - 1 - t",
    "multinomial": (
        "def phi(z, b):\n    top = max(z)\n"
        "    return top - z[b] + sum((v - top).exp() for v in z).ln()"
    ),
}


def text(value: Any) -> str:
    """Python for an array or a number."""
    if value is None or np.ndim(value) == 0:
        return repr(value.item() if isinstance(value, np.generic | np.ndarray) else value)
    if sp.issparse(value):
        raise TypeError("text of a sparse matrix: write it as a dense one")
    array = np.asarray(value)
    dtype = ", dtype=np.float32" if array.dtype == np.float32 else ""
    return f"np.array({pprint.pformat(array.tolist(), width=95, compact=True)}{dtype})"


def ending(value: Any) -> str:
    """The same where numbers may be infinite."""
    return re.sub(r"(?<![\w.])(-?)inf\b", r"\1np.inf", text(value))


def _data(A: Any) -> tuple[str, str]:
    """The matrix as text, and an import that it needs."""
    if not sp.issparse(A):
        return text(A), ""
    return f"scipy.sparse.csr_array({text(A.toarray())})", "import scipy.sparse\n"


def write_script(failure: Failure) -> str:
    """The script, with the evidence in its docstring."""
    case, call = failure.case, failure.call
    claim, conviction = failure.repeated()
    assert conviction is not None, "only what fails is written down"
    A, extra = _data(case.A)
    given = {
        name: getattr(case, name)
        for name in ("l1", "l2", "penalty_weights", "sample_weight", "offset", "fit_intercept")
        if getattr(case, name) is not None and getattr(case, name) is not False
    }
    given = {name: value for name, value in given.items() if np.ndim(value) or value}
    loss = repr(case.loss)
    if case.loss in PARAMETER:
        loss = f"dualgap.losses.{PARAMETER[case.loss](case.parameter)!r}"
    bounds = ""
    if isinstance(case, BoundedCase):  # l1 and l2 belong to the regulariser
        bounds = ", ".join(
            f"{name}={ending(getattr(case, name))}" for name in ("lower", "upper", "l1", "l2")
        )
        given = {name: value for name, value in given.items() if name not in ("l1", "l2")}
    pairs = [f'    "loss": {loss},'] + [f'    "{k}": {text(v)},' for k, v in given.items()]
    if bounds:
        pairs.append(f'    "regularizer": dualgap.regularizers.Box({bounds}),')
    out = HEAD.format(
        title=f"{conviction.what}: {claim.label}",
        details=conviction.details,
        A=A,
        b=text(case.b),
        arguments="{\n" + "\n".join(pairs) + "\n}",
    )
    out = out.replace("import numpy as np\n", f"import numpy as np\n{extra}", 1)
    if call.x is None:
        out += SOLVE.format(algorithm=call.algorithm, tol=call.tol, max_passes=call.max_passes)
    else:
        out += CERTIFY.format(x=text(call.x), c=text(call.c), y=text(call.y))
    return out + (_evidence(failure, conviction.better) if conviction.better is not None else "")


def _evidence(failure: Failure, better: np.ndarray) -> str:
    case = failure.case
    n, d = case.shape
    numbers = _decimals(better)
    margin = case.loss in ("logistic", "strong_logistic", "smoothed_hinge", "squared_hinge")
    b_of = "int(b[i])" if case.loss == "multinomial" else "Decimal(float(b[i]))"
    if margin and not (np.asarray(case.b) < 0).any():
        b_of = "2 * int(b[i]) - 1"
    inside = numbers[:d]
    last = numbers[d] if case.fit_intercept else "0"
    return BETTER.format(
        w=text(case.sample_weight) if case.sample_weight is not None else f"np.ones({n})",
        offset=text(case.offset) if case.offset is not None else "0.0",
        p=text(case.penalty_weights) if case.penalty_weights is not None else f"np.ones({d})",
        l1=float(case.l1),
        l2=float(case.l2),
        b_of=b_of,
        phi=PHI[case.loss].format(h=float(case.parameter)),
        better_x=f"np.array({pprint.pformat(inside, width=95, compact=True)})",
        better_c=f"np.array({last!r})",
        dense="A.toarray()" if sp.issparse(case.A) else "A",
    )


def _decimals(values: np.ndarray) -> Any:
    """Decimals as text, in nested lists; sixty digits are enough to tell."""
    if values.ndim > 1:
        return [_decimals(row) for row in values]
    return [str(EXP.create_decimal(v).normalize(EXP)) for v in values]
