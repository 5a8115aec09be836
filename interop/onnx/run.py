"""Evaluating a graph: each node by its function, or by the nodes of its function's body."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import NameLoc, NoneAttr, StringAttr

from ...api.errors import LaminaError
from ...api.sizes import Size
from ...api.tracing import current
from .errors import OnnxError, UnsupportedOp
from .model import package
from .nodes import HANDLERS, Graph, Node
from .values import settled


class Scope(dict[str, Any]):
    """Values by name; those of the enclosing graph are seen, too."""

    def __init__(self, outer: Scope | None = None):
        super().__init__()
        self.outer = outer
        self[""] = None

    def __missing__(self, name: str) -> Any:
        if self.outer is None:
            raise OnnxError(f"value {name!r} is not computed")
        return self.outer[name]


def run_graph(graph: Graph, inputs: Sequence[Any], outer: Scope | None = None) -> tuple[Any, ...]:
    """The outputs of a graph.

    Raises:
        OnnxError: the number of inputs is another one, or a node cannot be computed.
    """
    if len(inputs) != len(graph.inputs):
        raise OnnxError(f"graph {graph.name!r} has {len(graph.inputs)} inputs, got {len(inputs)}")
    scope = Scope(outer)
    scope.update(graph.constants)
    scope.update({spec.name: x for spec, x in zip(graph.inputs, inputs, strict=True)})
    run_nodes(graph.nodes, scope)
    return tuple([scope[spec.name] for spec in graph.outputs])


def run_nodes(nodes: Sequence[Node], scope: Scope) -> None:
    """Compute nodes in their order, into the scope."""
    for node in nodes:
        results = run_node(node, [scope[name] for name in node.inputs], scope)
        for name, value in zip(node.outputs, results, strict=False):
            if name:
                scope[name] = value


def run_node(node: Node, inputs: Sequence[Any], scope: Scope) -> Sequence[Any]:
    """The outputs of one node.

    Raises:
        OnnxError: with the node and the reason, whatever that is.
    """
    trace = current()
    before = None if trace is None else trace.builder.location
    try:
        function = node_function(node)
        if trace is not None:
            trace.builder.location = NameLoc(StringAttr(node.name or node.outputs[0]), NoneAttr())
        with np.errstate(all="ignore"):
            made = function(node, inputs, scope)
    except LaminaError as error:
        if getattr(error, "node", None) is None:
            error.node = node  # pyright: ignore[reportAttributeAccessIssue]
            error.args = (f"{node.where}: {error}",)
        raise
    except (
        ValueError,
        TypeError,
        IndexError,
        KeyError,
        AttributeError,
        ZeroDivisionError,
        OverflowError,
        np.exceptions.AxisError,
    ) as error:
        raise OnnxError(f"{node.where}: {error}") from error
    except MemoryError as error:
        raise OnnxError(f"{node.where} needs more memory than there is: {error}") from error
    finally:
        if trace is not None:
            trace.builder.location = before
    made = made if isinstance(made, tuple) else (made,)
    missing = [n for i, n in enumerate(node.outputs) if n and (i >= len(made) or made[i] is None)]
    if missing and node.op != "Identity":
        raise OnnxError(f"{node.where} does not compute {', '.join(missing)}")
    return [settled(x) for x in made]


def node_function(node: Node) -> Callable[[Node, Sequence[Any], Scope], Any]:
    """What computes a node: a function of the model, one of ours, or the body that ONNX itself defines for the op.

    Raises:
        UnsupportedOp: nothing does.
    """
    load_ops()
    local = node.functions.get((node.proto.domain, node.op))
    if local is not None:
        return lambda node, inputs, _: _call_function(node, local, inputs)
    handler = None if node.domain else HANDLERS.get(node.op)
    if handler is not None and handler.body:
        return lambda node, inputs, scope: handler.function(node, scope, *inputs)
    if handler is not None:
        return lambda node, inputs, _: handler.function(node, *inputs)
    if package().defs.has(node.op, node.domain):
        return lambda node, inputs, _: _call_function(node, _schema_function(node, inputs), inputs)
    raise UnsupportedOp(f"opset {node.version} of domain {node.domain!r} has no op {node.op}")


@functools.cache
def load_ops() -> None:
    """Fill the table of functions."""
    from . import ops

    ops.load()


def _schema_function(node: Node, inputs: Sequence[Any]) -> Any:
    """The body of an op that ONNX defines by other ops.

    Raises:
        UnsupportedOp: it has none.
    """
    onnx = package()
    try:
        schema = onnx.defs.get_schema(node.op, node.version, node.domain)
    except Exception:  # the package's class of this error is not public
        raise UnsupportedOp(f"opset {node.version} of domain {node.domain!r} has no op {node.op}") from None
    body = None
    if schema.has_context_dependent_function:
        types = [_type_proto(onnx, x).SerializeToString() for x in inputs]
        version = max((v for v in schema.context_dependent_function_opset_versions if v <= node.version), default=None)
        if version is not None:
            data = schema.get_context_dependent_function_with_opset_version(version, node.proto.SerializeToString(), types)
            body = data
    elif schema.has_function:
        version = max((v for v in schema.function_opset_versions if v <= node.version), default=None)
        if version is not None:
            body = schema.get_function_with_opset_version(version)
    if body is None:
        raise UnsupportedOp(f"op {node.op} is not supported")
    if isinstance(body, bytes):
        function = onnx.FunctionProto()
        function.ParseFromString(body)
        return function
    return body


def _type_proto(onnx: Any, x: Any) -> Any:
    if x is None:
        return onnx.TypeProto()
    if isinstance(x, list):
        inner = _type_proto(onnx, x[0]) if x else onnx.helper.make_tensor_type_proto(1, None)
        return onnx.helper.make_sequence_type_proto(inner)
    dtype = np.dtype(np.int64) if x.dtype == object else np.dtype(x.dtype)
    shape = [None if isinstance(n, Size) else int(n) for n in x.shape]
    return onnx.helper.make_tensor_type_proto(onnx.helper.np_dtype_to_tensor_dtype(dtype), shape)


def _call_function(node: Node, function: Any, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Evaluate the body of a function with the attributes of a node."""
    from .functions import body_of

    graph = body_of(function, node)
    scope = Scope()
    scope.update({spec.name: None for spec in (*graph.outputs, *graph.inputs)})
    scope.update({spec.name: x for spec, x in zip(graph.inputs, inputs, strict=False)})
    run_nodes(graph.nodes, scope)
    return tuple([scope[spec.name] for spec in graph.outputs])
