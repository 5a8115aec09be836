"""Bodies of functions: those that a model defines, and those by which ONNX defines an op."""

from __future__ import annotations

from typing import Any

from .errors import OnnxError
from .model import _Reader, package
from .nodes import Graph, Node

DEEPEST = 100
"""Most calls of functions within functions."""


def body_of(function: Any, node: Node) -> Graph:
    """The nodes of a function, with the attributes of the node that calls it."""
    onnx = package()
    given = {a.name: a for a in node.proto.attribute}
    given |= {a.name: a for a in function.attribute_proto if a.name not in given}
    if onnx.defs.has(node.op, node.domain):
        schema = onnx.defs.get_schema(node.op, node.version, node.domain)
        given |= {n: a.default_value for n, a in schema.attributes.items() if n not in given and a.default_value.name}
    graph = onnx.GraphProto()
    graph.name = function.name
    for name in function.input:
        graph.input.add().name = name
    for name in function.output:
        graph.output.add().name = name
    graph.node.extend(function.node)
    _substitute(graph, given)
    opsets = {d.domain: int(d.version) for d in function.opset_import}
    opsets.setdefault("", node.version)
    reader = _Reader(onnx, None, None)
    reader.functions = dict(node.functions)
    return reader.graph(graph, opsets, set(), 1, partial=True)


def _substitute(graph: Any, given: dict[str, Any]) -> None:
    """Replace references to attributes by those attributes; one that is not given is left out."""
    for node in graph.node:
        kept = []
        for a in node.attribute:
            if a.ref_attr_name:
                if a.ref_attr_name not in given:
                    continue
                name = a.name
                a.CopyFrom(given[a.ref_attr_name])
                a.name = name
            elif a.HasField("g"):
                _substitute(a.g, given)
            for inner in a.graphs:
                _substitute(inner, given)
            held = type(a)()
            held.CopyFrom(a)
            kept.append(held)
        del node.attribute[:]
        node.attribute.extend(kept)


def check_calls(functions: Any) -> None:
    """Refuse functions that call themselves.

    Raises:
        OnnxError: one does.
    """
    calls = {key: {(n.domain, n.op_type) for n in f.node} & functions.keys() for key, f in functions.items()}
    state: dict[Any, int] = {}

    def visit(key: Any, depth: int) -> None:
        if depth > DEEPEST or state.get(key) == 1:
            raise OnnxError(f"function {key[1]!r} calls itself")
        if key not in state:
            state[key] = 1
            for inner in calls[key]:
                visit(inner, depth + 1)
            state[key] = 2

    for key in functions:
        visit(key, 0)
