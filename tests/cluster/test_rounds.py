"""The graph of a round, without a cluster: the same additions in the same order."""

from __future__ import annotations

import numpy as np
import pytest

from dualgap.designs import remote
from dualgap.designs.cuts import added_by_tree
from dualgap.designs.rounds import FAN, tree
from dualgap.streamed.folds import Labels, Range


@pytest.mark.parametrize("parts", [*range(1, 40), 63, 64, 65, 100, 257])
def test_sums_are_added_in_the_order_of_the_tree(parts):
    """Numbers of very different sizes, of which another order has other digits."""
    rng = np.random.default_rng(parts)
    sums = [(float(v),) for v in rng.standard_normal(parts) * 10.0 ** rng.integers(0, 12, parts)]
    graph = {("part", k): value for k, value in enumerate(sums)}
    root = tree(graph, list(graph), "add")
    tasks = [key for key in graph if key[0] == "add"]
    assert len(tasks) <= (parts - 1) / (FAN - 1) + np.log(parts + 1)

    def value(key):
        function, *needs = graph[key] if key[0] == "add" else (lambda v: v, graph[key])
        return function(*[value(k) if key[0] == "add" else k for k in needs])

    assert value(root) == added_by_tree(sums)


@pytest.mark.parametrize("side", [1, 2, 7, 50])
def test_a_symmetric_matrix_is_its_triangle(side):
    M = np.random.default_rng(side).standard_normal((side, side))
    M = M + M.T
    found = (remote.Triangle.of(M) + remote.Triangle.of(M)).matrix()
    np.testing.assert_array_equal(np.tril(found), np.tril(M + M))
    assert remote.Triangle.of(M).values.size == side * (side + 1) // 2


@pytest.mark.parametrize("kinds", [2, 5, 40])
@pytest.mark.parametrize("weighted", [False, True])
def test_labels_of_pieces_are_those_of_all(kinds, weighted):
    rng = np.random.default_rng(kinds)
    b = rng.integers(0, kinds, 500).astype(float)
    w = rng.integers(0, 3, 500).astype(float) if weighted else None
    found = Labels.of(b[:200], None if w is None else w[:200])
    found = found + Labels.of(b[200:], None if w is None else w[200:])
    values, at = np.unique(b, return_inverse=True)
    np.testing.assert_array_equal(found.values, values)
    np.testing.assert_array_equal(found.weights, np.bincount(at, w))
    both = Range.of(b[:200]) + Range.of(b[200:]) + Range()
    assert (both.low, both.high) == (b.min(), b.max())
