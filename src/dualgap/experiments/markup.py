"""Pieces of HTML: the style, tables, badges, numbers."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Sequence
from html import escape

from dualgap.experiments.claims import Claim

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.3rem; margin-top: 2.5rem; } h3 { font-size: 1.05rem; }
table { border-collapse: collapse; font-size: 0.88rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.6rem; border-bottom: 1px solid var(--line); text-align: right; }
th { background: var(--soft); vertical-align: bottom; }
th:first-child, td:first-child, .words td, .words th { text-align: left; vertical-align: top; }
.wide { overflow-x: auto; margin: 0.8rem 0; }
img { max-width: 100%; background: white; border-radius: 4px; }
figure { margin: 1.2rem 0; } figcaption { font-size: 0.9rem; }
.verdict { display: inline-block; padding: 0 0.5rem; border-radius: 1rem; border: 2px solid;
  white-space: nowrap; font-weight: 600; }
.holds { border-color: #009E73; } .in-part { border-color: #E69F00; }
.contradicted { border-color: #D55E00; } .not-run { border-color: #888; }
details { margin: 0.4rem 0; } summary { cursor: pointer; } code { font-size: 0.9em; }
.small { font-size: 0.85rem; }
"""


def image(name: str, png: bytes) -> str:
    """A picture that is part of the page."""
    data = base64.b64encode(png).decode("ascii")
    return f'<img alt="{escape(name)}" src="data:image/png;base64,{data}">'


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, words: bool = False) -> str:
    """A table; cells are HTML already. ``words`` sets them to the left."""
    head = "".join(f"<th>{cell}</th>" for cell in header)
    body = "\n".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>" for row in rows)
    kind = ' class="words"' if words else ""
    return (
        f'<div class="wide"><table{kind}><thead><tr>{head}</tr></thead>\n'
        f"<tbody>{body}</tbody></table></div>"
    )


def badge(claim: Claim) -> str:
    """A verdict and how many of its comparisons are true."""
    true, total = claim.counts
    style = {"holds": "holds", "holds in part": "in-part", "contradicted": "contradicted"}
    shown = f"{claim.verdict} {true}/{total}" if total else claim.verdict
    return f'<span class="verdict {style.get(claim.verdict, "not-run")}">{shown}</span>'


def count(passes: float, limit: float) -> str:
    """A number of passes, or that it is more than the limit."""
    return f"{passes:.0f}" if math.isfinite(passes) else f"&gt;&nbsp;{limit:.0f}"


def power(value: float) -> str:
    """A power of ten."""
    return f"10<sup>{math.log10(value):.0f}</sup>"


def strength_over_n(strength: float) -> str:
    """lambda, as the paper writes it."""
    return {1.0: "1/n", 0.0: "0"}.get(strength) or f"{power(strength)}/n"
