"""Where the boxes of a graph stand: layers from top to bottom, in each layer an order with few crossings.

The method is Sugiyama's (K. Sugiyama, S. Tagawa, M. Toda, "Methods for Visual Understanding of Hierarchical System
Structures", 1981): layers by the longest path, orders by sweeps of barycenters, then positions near the mean of the neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import LaminaError

_SWEEPS = 6


@dataclass(frozen=True)
class Box:
    """A rectangle: its upper left corner and its size."""

    x: float
    y: float
    width: float
    height: float


def layered(
    sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]], gap: tuple[float, float] = (14, 26)
) -> list[Box]:
    """Positions of nodes of an acyclic graph.

    Args:
        sizes: width and height of each node.
        edges: pairs (from, to) of their numbers.
        gap: the distance between neighbours in a layer, and between layers.

    Returns:
        A box for each node; the drawing begins at (0, 0). The cost is about linear in nodes and edges.

    Raises:
        networkx.NetworkXUnfeasible: the edges have a cycle.

    >>> [box.y for box in layered([(10, 10)] * 3, [(0, 1), (1, 2), (0, 2)])]
    [0, 36, 72]
    """
    try:
        import networkx
    except ModuleNotFoundError as error:
        raise LaminaError("drawing graphs needs networkx: pip install 'lamina[plots]'") from error

    graph = networkx.DiGraph()
    graph.add_nodes_from(range(len(sizes)))
    graph.add_edges_from(edges)
    layers = [sorted(layer) for layer in networkx.topological_generations(graph)]
    above = {node: list(graph.predecessors(node)) for node in graph}
    below = {node: list(graph.successors(node)) for node in graph}
    _order(layers, above, below)
    center = _positions(layers, above, below, sizes, gap[0])
    left = min((center[node] - sizes[node][0] / 2 for node in center), default=0)
    boxes: dict[int, Box] = {}
    y: float = 0
    for layer in layers:
        height = max(sizes[node][1] for node in layer)
        for node in layer:
            width, own = sizes[node]
            boxes[node] = Box(center[node] - width / 2 - left, y + (height - own) / 2, width, own)
        y += height + gap[1]
    return [boxes[node] for node in range(len(sizes))]


def _order(layers: list[list[int]], above: Mapping[int, list[int]], below: Mapping[int, list[int]]) -> None:
    """Sort each layer by the mean rank of the neighbours in the layers before it, downwards and upwards in turn."""
    rank = {node: float(k) for layer in layers for k, node in enumerate(layer)}
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            neighbours = above if down else below
            key = {
                node: sum(rank[other] for other in neighbours[node]) / len(neighbours[node]) if neighbours[node] else rank[node]
                for node in layer
            }
            layer.sort(key=key.__getitem__)
            rank.update((node, float(k)) for k, node in enumerate(layer))


def _positions(
    layers: Sequence[Sequence[int]],
    above: Mapping[int, list[int]],
    below: Mapping[int, list[int]],
    sizes: Sequence[tuple[float, float]],
    gap: float,
) -> dict[int, float]:
    """The center of each node along its layer: near the mean of its neighbours, without an overlap."""
    center: dict[int, float] = {}
    for layer in layers:
        _pack(layer, {node: 0.0 for node in layer}, sizes, gap, center)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            neighbours = above if down else below
            wanted = {
                node: sum(center[o] for o in neighbours[node]) / len(neighbours[node]) if neighbours[node] else center[node]
                for node in layer
            }
            _pack(layer, wanted, sizes, gap, center)
    return center


def _pack(
    layer: Sequence[int],
    wanted: Mapping[int, float],
    sizes: Sequence[tuple[float, float]],
    gap: float,
    center: dict[int, float],
) -> None:
    """Place the nodes of a layer in their order, as a whole as near to where they should be as the order allows."""
    at: list[float] = []
    for k, node in enumerate(layer):
        least = at[-1] + (sizes[layer[k - 1]][0] + sizes[node][0]) / 2 + gap if at else wanted[node]
        at.append(max(least, wanted[node]))
    shift = sum(wanted[node] - x for node, x in zip(layer, at, strict=True)) / max(1, len(layer))
    center.update((node, x + shift) for node, x in zip(layer, at, strict=True))
