from __future__ import annotations


def page(report, pictures):
    return "<html></html>"
