"""Evaluating a graph of torch: each call of an op by its function."""

from __future__ import annotations

import functools
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...api.dtypes import is_complex_dtype
from ...api.errors import LaminaError
from ...api.sizes import Size, ceil_quotient, greatest, least
from ...library.numpy import namespace as lnp
from .errors import TorchError, UnsupportedOp
from .nodes import HANDLERS, Call
from .tensors import as_numpy, numpy_dtype

Graph = Any
Node = Any


def run_graph(
    module: Any, inputs: Sequence[Any], known: Mapping[Node, Any] | None = None, outputs: Sequence[Node] | None = None
) -> list[Any]:
    """The outputs of a `torch.fx.GraphModule`, a flat list in which None stands for an output that is none.

    Args:
        module: the graph, of ATen's ops.
        inputs: the values of its placeholders.
        known: values of other nodes, which are not computed.
        outputs: other nodes whose values are returned instead.

    Raises:
        TorchError: with the node and the reason, a node cannot be computed, or the number of inputs is another one.
    """
    load_ops()
    values: dict[Node, Any] = dict(known or {})
    given = iter(inputs)
    for node in module.graph.nodes:
        if node in values:
            continue
        if node.op == "placeholder":
            try:
                values[node] = next(given)
            except StopIteration:
                raise TorchError(f"the graph needs more than {len(inputs)} inputs") from None
        elif node.op == "get_attr":
            values[node] = _attribute(module, node.target)
        elif node.op == "call_function":
            values[node] = run_node(node, values)
        elif node.op == "output":
            made = _resolved(node.args[0] if outputs is None else outputs, values)
            return list(made) if isinstance(made, list | tuple) else [made]
        else:
            raise UnsupportedOp(f"{where(node)}: nodes of kind {node.op} are not supported")
    return []


def _attribute(module: Any, name: str) -> Any:
    import torch

    value = operator.attrgetter(name)(module)
    return as_numpy(value) if isinstance(value, torch.Tensor) else value


def _resolved(x: Any, values: dict[Node, Any]) -> Any:
    """An argument with values instead of nodes."""
    if isinstance(x, list | tuple):
        return [_resolved(v, values) for v in x]
    if isinstance(x, slice):
        return slice(*[_resolved(v, values) for v in (x.start, x.stop, x.step)])
    return values[x] if hasattr(x, "op") and hasattr(x, "graph") else x


def run_node(node: Node, values: dict[Node, Any]) -> Any:
    """The value of a call.

    Raises:
        TorchError: with the node and the reason, whatever that is.
    """
    try:
        function = node_function(node)
        args = [_resolved(x, values) for x in node.args]
        kwargs = {k: _resolved(x, values) for k, x in node.kwargs.items()}
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)
    except LaminaError as error:
        if getattr(error, "node", None) is None:
            error.node = node  # pyright: ignore[reportAttributeAccessIssue]
            error.args = (f"{where(node)}: {error}",)
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
        raise TorchError(f"{where(node)}: {error}") from error


def where(node: Node) -> str:
    """A node as messages name it: its name, its op, and the line of the user that it comes from."""
    found = re.findall(r'File "([^"]+)", line (\d+)', node.meta.get("stack_trace") or "")
    line = f" at {found[-1][0]}:{found[-1][1]}" if found else ""
    return f"node {node.name} ({target_name(node.target)}{line})"


def target_name(target: Any) -> str:
    """The name of what a node calls, as `aten.add.Tensor`."""
    text = str(target)
    return text if "<" not in text else getattr(target, "__name__", text)


_OF_SIZES: dict[str, Callable[..., Any]] = {
    "sym_max": lambda x, y: greatest(x, y) if isinstance(x, Size) or isinstance(y, Size) else max(x, y),
    "sym_min": lambda x, y: least(x, y) if isinstance(x, Size) or isinstance(y, Size) else min(x, y),
    "sym_int": lambda x: x if isinstance(x, Size) else int(x),
    "sym_float": lambda x: x if isinstance(x, Size) else float(x),
    "sym_not": lambda x: not x,
    "sym_ite": lambda c, x, y: x if c else y,
    "sym_sum": sum,
    "floor": lambda x: x if isinstance(x, Size) else math.floor(x),
    "ceil": lambda x: x if isinstance(x, Size) else math.ceil(x),
    "trunc": lambda x: x if isinstance(x, Size) else math.trunc(x),
    "sqrt": math.sqrt,
    "ceil_quotient": ceil_quotient,
}
"""Functions of sizes that graphs call beside Python's operators."""

_IGNORED = {
    "sym_constrain_range", "sym_constrain_range_for_size", "_assert_scalar", "_assert_async", "_assert_tensor_metadata",
    "_functional_assert_async", "_functional_assert_scalar", "_linalg_check_errors", "check_size",
}  # fmt: skip
"""Checks: the declared bounds of sizes are checked at each call, and singular matrices have infinities and NaN as results."""


def node_function(node: Node) -> Callable[..., Any]:
    """What computes a call.

    Raises:
        UnsupportedOp: nothing does.
    """
    load_ops()
    target = node.target
    if hasattr(target, "_schema"):  # an overload of an op
        name, overload = target._schema.name.split("::")[1], target._overloadname
        if name in _IGNORED:
            return lambda *args, **kwargs: None
        handler = HANDLERS.get(f"{name}.{overload}") or HANDLERS.get(name)
        if handler is None or target.namespace not in ("aten", "prims"):
            raise UnsupportedOp(f"op {target_name(target)} is not supported")
        return functools.partial(_settled, handler, _call(node, name, overload))
    name = getattr(target, "__name__", "")
    if getattr(target, "__module__", "") in ("_operator", "math", "torch", "builtins") and (
        name in _OF_SIZES or hasattr(operator, name)
    ):
        return _OF_SIZES.get(name) or target
    if name == "with_effects":  # an op in the order that a token says
        effect = node.args[1]
        if getattr(effect, "__name__", "").partition(".")[0] not in _IGNORED:
            raise UnsupportedOp(f"op {target_name(effect)} is not supported")
        return lambda token, *args, **kwargs: (token, None)
    handler = HANDLERS.get(f"higher_order.{name}")
    if handler is None:
        raise UnsupportedOp(f"{target_name(target)} is not supported")
    return functools.partial(handler, _call(node, name, "default"))


def _call(node: Node, name: str, overload: str) -> Call:
    value = node.meta.get("val")
    several = value if isinstance(value, list | tuple) else (value,)
    dtypes = tuple(numpy_dtype(v.dtype) if hasattr(v, "dtype") else None for v in several)
    strides = {}
    for i, x in enumerate(node.args):
        found = x.meta.get("val") if hasattr(x, "meta") else None
        stride = getattr(found, "stride", None)
        if callable(stride):
            strides[i] = tuple(stride())  # pyright: ignore[reportArgumentType]
    return Call(name, overload, dtypes, strides)


def _settled(handler: Callable[..., Any], call: Call, *args: Any, **kwargs: Any) -> Any:
    """The results, of the element types that torch says."""
    made = handler(call, *args, **kwargs)
    if isinstance(made, tuple | list):
        dtypes = [*call.dtypes, *[None] * (len(made) - len(call.dtypes))]
        return tuple(x if x is None or d is None else _of_type(x, d) for x, d in zip(made, dtypes, strict=False))
    return made if not call.dtypes or call.dtypes[0] is None else _of_type(made, call.dtypes[0])


def _of_type(x: Any, dtype: Any) -> Any:
    if not hasattr(x, "dtype"):
        return lnp.asarray(x, dtype=dtype)
    if x.dtype == dtype:
        return x
    if is_complex_dtype(x.dtype) and not is_complex_dtype(dtype):
        raise UnsupportedOp(f"the result is of {np.dtype(x.dtype).name} where torch has {np.dtype(dtype).name}")
    return x.astype(dtype)


@functools.cache
def load_ops() -> None:
    """Fill the table of functions."""
    from . import ops

    ops.load()
