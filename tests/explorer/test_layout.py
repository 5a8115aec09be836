"""Layouts of random graphs: no overlap, edges lead downwards."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lamina.explorer.layout import layered

pytest.importorskip("networkx")

graphs = st.integers(0, 25).flatmap(
    lambda n: st.tuples(
        st.lists(st.tuples(st.floats(1, 200), st.floats(1, 50)), min_size=n, max_size=n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=3 * n) if n else st.just([]),
    )
)


@given(graphs)
def test_boxes_are_disjoint_and_edges_lead_down(graph: tuple[list[tuple[float, float]], list[tuple[int, int]]]) -> None:
    sizes, pairs = graph
    edges = [(min(a, b), max(a, b)) for a, b in pairs if a != b]
    boxes = layered(sizes, edges)
    assert [(box.width, box.height) for box in boxes] == sizes
    assert all(box.x >= -1e-6 and box.y >= 0 for box in boxes)
    for k, a in enumerate(boxes):
        for b in boxes[k + 1 :]:
            beside = a.x + a.width <= b.x + 1e-6 or b.x + b.width <= a.x + 1e-6
            assert beside or a.y + a.height <= b.y + 1e-6 or b.y + b.height <= a.y + 1e-6
    assert all(boxes[a].y + boxes[a].height <= boxes[b].y for a, b in edges)
