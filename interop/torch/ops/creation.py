"""Ops that make arrays, or change their element type."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....compat.jax.lax import namespace as lax
from ....library.numpy import namespace as lnp
from ..errors import UnsupportedOp
from ..nodes import Call, array, is_constant, op


@op("_to_copy", "to", "convert_element_type", "type_as")
def to(call: Call, x: Any, *args: Any, **kwargs: Any) -> Any:
    """A copy of another element type; floats become integers toward zero."""
    return array(x, call.dtype)


@op(
    "clone",
    "alias",
    "detach",
    "lift_fresh_copy",
    "lift_fresh",
    "contiguous",
    "alias_copy",
    "detach_copy",
    "resolve_conj",
    "resolve_neg",
)
def same(call: Call, x: Any, **kwargs: Any) -> Any:
    return x


@op("view.dtype")
def bits(call: Call, x: Any, dtype: Any) -> Any:
    """The same bits as elements of another type."""
    if np.dtype(x.dtype).itemsize != call.dtype.itemsize or bool in (x.dtype, call.dtype):
        raise UnsupportedOp(f"bits of {np.dtype(x.dtype).name} as {call.dtype.name} are not supported")
    return lax.bitcast_convert_type(x, call.dtype)


@op("view_as_complex", "view_as_real")
def pairs(call: Call, x: Any) -> Any:
    if call.op == "view_as_real":
        return lnp.stack([lnp.real(x), lnp.imag(x)], -1)
    return lax.complex(x[..., 0], x[..., 1])


@op("copy")
def copy(call: Call, x: Any, source: Any, non_blocking: bool = False) -> Any:
    return lnp.broadcast_to(array(source, call.dtype), x.shape)


@op(
    "fill",
    "full_like",
    "zeros_like",
    "ones_like",
    "empty_like",
    "new_zeros",
    "new_ones",
    "new_full",
    "new_empty",
    "new_empty_strided",
)
def fill(call: Call, x: Any, *args: Any, **kwargs: Any) -> Any:
    """An array of one number; memory that torch leaves as it is holds zeros."""
    shape, rest = (tuple(args[0]), args[1:]) if call.op.startswith("new_") else (x.shape, args)
    if call.op in ("fill", "full_like", "new_full"):
        value = array(rest[0] if rest else kwargs["fill_value" if "full" in call.op else "value"], call.dtype)
    else:
        value = np.asarray("ones" in call.op).astype(call.dtype)
    return lnp.broadcast_to(value, shape) if not is_constant(value) else lnp.full(shape, value[()], call.dtype)


@op("full", "zeros", "ones", "empty", "empty_strided", "empty_permuted", "scalar_tensor")
def full(call: Call, *args: Any, **kwargs: Any) -> Any:
    if call.op == "scalar_tensor":
        return array(args[0], call.dtype)
    value = array(args[1], call.dtype) if call.op == "full" else np.asarray(call.op == "ones").astype(call.dtype)
    shape = tuple(args[0])
    return lnp.full(shape, value[()], call.dtype) if is_constant(value) else lnp.broadcast_to(value, shape)


@op("arange", "iota")
def arange(call: Call, *args: Any, start: Any = None, step: Any = None, end: Any = None, **kwargs: Any) -> Any:
    if call.op == "iota":
        first, by = array(start or 0, call.dtype), array(1 if step is None else step, call.dtype)
        return lnp.arange(args[0], dtype=call.dtype) * by + first
    bounds = args if args else (start or 0, end)
    steps = (*bounds, step) if step is not None and len(bounds) < 3 else bounds
    return lnp.arange(*steps, dtype=call.dtype)


@op("linspace")
def linspace(call: Call, start: Any, end: Any, steps: int, **kwargs: Any) -> Any:
    return lnp.linspace(start, end, steps, dtype=call.dtype)


@op("eye")
def eye(call: Call, n: Any, m: Any = None, **kwargs: Any) -> Any:
    return lnp.eye(n, n if m is None else m, dtype=call.dtype)
