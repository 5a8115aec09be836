"""Small models for tests, written with ONNX's own helpers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def value(name: str, shape: Sequence[Any] | None, dtype: int = FLOAT) -> Any:
    """An input or output; a name as a size is symbolic."""
    return helper.make_tensor_value_info(name, dtype, shape)


def node(op: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    """A node; names of values are words of a string, `_` is one that is left out."""
    names = [["" if n == "_" else n for n in words.split()] for words in (inputs, outputs)]
    return helper.make_node(op, *names, **attributes)


def model(
    nodes: Sequence[Any],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    weights: Mapping[str, Any] | None = None,
    opset: int = 21,
) -> bytes:
    """The bytes of a model of one graph."""
    constants = [numpy_helper.from_array(np.asarray(x), name) for name, x in (weights or {}).items()]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10).SerializeToString()
