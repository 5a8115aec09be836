"""Ops that move elements or make arrays, and those on shapes: constants are moved by NumPy while the program is traced."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from ....api.sizes import Size
from ....library.numpy import namespace as lnp
from ..errors import OnnxError
from ..model import dtype_of
from ..nodes import Node, normalized, op, pairs
from ..values import dims, has_sizes, is_constant, known, lifted, namespace, operands, scalar, shape_array

FOLDED = 1 << 26
"""Largest constant that an op makes of a shape while the program is traced, in elements."""


@op("Shape")
def shape(node: Node, x: Any) -> Any:
    sizes = list(x.shape)
    return shape_array(sizes[slice(node.get("start", 0), node.get("end", None))])


@op("Size")
def size(node: Node, x: Any) -> Any:
    return shape_array([prod(x.shape)]).reshape(())


@op("Constant")
def constant(node: Node) -> Any:
    for name, dtype in (
        ("value_float", np.float32),
        ("value_floats", np.float32),
        ("value_int", np.int64),
        ("value_ints", np.int64),
    ):
        if name in node.attributes:
            return np.asarray(node.get(name), dtype)
    for name in ("value_string", "value_strings"):
        if name in node.attributes:
            return np.asarray(node.get(name), object)
    if "value" not in node.attributes and "sparse_value" not in node.attributes:
        raise OnnxError("Constant needs one attribute with its value")
    return node.get("sparse_value") if "sparse_value" in node.attributes else node.need("value")


@op("ConstantOfShape")
def constant_of_shape(node: Node, shape: Any) -> Any:
    value = np.asarray(node.get("value", np.zeros(1, np.float32))).reshape(-1)
    sizes = dims(shape, "the shape")
    if len(value) != 1:
        raise OnnxError(f"attribute 'value' needs one element, got {len(value)}")
    if known(*sizes) and prod(sizes) <= FOLDED:
        return np.full(sizes, value[0], value.dtype)
    return lnp.full(tuple(sizes), value[0], value.dtype)


def target_shape(x: Any, wanted: Sequence[Any], keep_zero: bool) -> tuple[Any, ...]:
    """The shape that Reshape asks for: 0 stands for the size of the same dim, -1 for what is left."""
    sizes = [x.shape[i] if known(n) and n == 0 and not keep_zero and i < len(x.shape) else n for i, n in enumerate(wanted)]
    if any(known(n) and n == 0 for n in wanted) and any(known(n) and n == -1 for n in wanted) and keep_zero:
        raise OnnxError(f"a shape with 0 and -1 is ambiguous with allowzero=1: {list(wanted)}")
    return tuple(sizes)


@op("Reshape")
def reshape(node: Node, x: Any, shape: Any = None) -> Any:
    wanted = node.need("shape") if shape is None else dims(shape, "the shape")
    return x.reshape(target_shape(x, wanted, bool(node.get("allowzero", 0))))


@op("Flatten")
def flatten(node: Node, x: Any) -> Any:
    axis = node.get("axis", 1)
    axis = axis if axis == x.ndim else axis % max(x.ndim, 1)
    return x.reshape((prod(x.shape[:axis]), prod(x.shape[axis:])))


def given_axes(node: Node, axes: Any) -> list[int] | None:
    """Axes of an attribute or an input."""
    return node.get("axes", None) if axes is None else dims(axes, "the axes")


@op("Squeeze")
def squeeze(node: Node, x: Any, axes: Any = None) -> Any:
    chosen = given_axes(node, axes)
    if chosen is None:
        chosen = [i for i, n in enumerate(x.shape) if known(n) and n == 1]
    dropped = {normalized(a, x.ndim) for a in chosen}
    if any(known(x.shape[a]) and x.shape[a] != 1 for a in dropped):
        raise OnnxError(f"dims {sorted(dropped)} of shape {list(x.shape)} are not all of size 1")
    return x.reshape(tuple(n for i, n in enumerate(x.shape) if i not in dropped))


@op("Unsqueeze")
def unsqueeze(node: Node, x: Any, axes: Any = None) -> Any:
    chosen = given_axes(node, axes) or []
    rank = x.ndim + len(chosen)
    added = {normalized(a, rank) for a in chosen}
    if len(added) < len(chosen):
        raise OnnxError(f"axes {chosen} name one twice")
    rest = iter(x.shape)
    return x.reshape(tuple(1 if i in added else next(rest) for i in range(rank)))


@op("Transpose")
def transpose(node: Node, x: Any) -> Any:
    return x.transpose(node.get("perm", list(range(x.ndim))[::-1])) if x.ndim else x


@op("Concat")
def concat(node: Node, *given: Any) -> Any:
    xp, *values = operands(*given)
    axis = normalized(node.get("axis", 1), values[0].ndim)
    return xp.concatenate(values, axis)


@op("Split")
def split(node: Node, x: Any, sizes: Any = None) -> Any:
    axis = normalized(node.get("axis", 0), x.ndim)
    parts = node.get("split", None) if sizes is None else dims(sizes, "the sizes")
    n = x.shape[axis]
    if parts is None:
        count = node.get("num_outputs", len(node.outputs))
        step = -(-n // count)
        parts = [step] * (count - 1) + [n - step * (count - 1)]
    ends = np.cumsum(np.asarray([0, *parts], object))
    if known(n, *parts) and (ends[-1] != n or min(parts, default=0) < 0):
        raise OnnxError(f"parts {parts} do not make up dim {axis} of size {n}")
    return tuple(x[(*[slice(None)] * axis, slice(int_or_size(a), int_or_size(b)))] for a, b in pairwise(ends))


def int_or_size(n: Any) -> Any:
    """A size, or a plain integer."""
    return n if isinstance(n, Size) else int(n)


FAR = 1 << 31


def slice_of(n: Any, start: Any, end: Any, step: int) -> slice:
    """The slice of a dim of size n, whose ends are clamped to it, a negative one after n is added."""
    if step == 0:
        raise OnnxError("a step of 0")
    if known(n, start, end):
        low, high = (0, n) if step > 0 else (-1, n - 1)
        start, end = (min(max(v + n if v < 0 else v, low), high) for v in (start, end))
        if step < 0:
            return slice(start, None, step) if end < 0 <= start else slice(start, end, step) if start >= 0 else slice(0, 0)
        return slice(start, max(start, end), step)
    far = [known(v) and abs(v) >= FAR - 1 for v in (start, end)]
    if step < 0:
        return slice(None if far[0] or (known(start) and start == -1) else start, None if far[1] else end, step)
    return slice(None if far[0] else start, None if far[1] else end, step)


@op("Slice")
def slice_(node: Node, x: Any, starts: Any = None, ends: Any = None, axes: Any = None, steps: Any = None) -> Any:
    first = node.need("starts") if starts is None else dims(starts, "the starts")
    last = node.need("ends") if ends is None else dims(ends, "the ends")
    chosen = given_axes(node, axes) or list(range(len(first)))
    by = [1] * len(first) if steps is None else dims(steps, "the steps")
    if not len(first) == len(last) == len(chosen) == len(by):
        raise OnnxError(f"starts, ends, axes and steps differ in number: {first}, {last}, {chosen}, {by}")
    index = [slice(None)] * x.ndim
    for start, end, axis, step in zip(first, last, chosen, by, strict=True):
        d = normalized(axis, x.ndim)
        index[d] = slice_of(x.shape[d], start, end, step)
    return x[tuple(index)]


def broadcast_target(given: Sequence[Any], wanted: Sequence[Any]) -> tuple[Any, ...]:
    """The shape that two shapes are broadcast to, in both directions."""
    rank = max(len(given), len(wanted))
    a, b = ([*[1] * (rank - len(s)), *s] for s in (given, wanted))
    return tuple(m if known(n) and n == 1 else n for n, m in zip(a, b, strict=True))


@op("Expand")
def expand(node: Node, x: Any, shape: Any) -> Any:
    target = broadcast_target(x.shape, dims(shape, "the shape"))
    if is_constant(x) and not has_sizes(x) and known(*target) and prod(target) <= FOLDED:
        return np.broadcast_to(x, target)
    return lnp.broadcast_to(lifted(x), target)


@op("Tile")
def tile(node: Node, x: Any, repeats: Any, axis: Any = None) -> Any:
    times = dims(repeats, "the repeats")
    if axis is not None:  # opset 1: one axis
        times = [times[0] if d == int(scalar(axis, "the axis")) else 1 for d in range(x.ndim)]
    return namespace(x).tile(x, tuple(times))


@op("Pad")
def pad(node: Node, x: Any, pads: Any = None, value: Any = None, axes: Any = None) -> Any:
    """Elements around an array, or fewer where a pad is negative."""
    amounts = pairs(node.get("pads", node.get("paddings", [])) if pads is None else dims(pads, "the pads"))
    chosen = list(range(x.ndim)) if axes is None else [normalized(a, x.ndim) for a in dims(axes, "the axes")]
    around = [(0, 0)] * x.ndim
    for d, pair in zip(chosen, amounts, strict=True):
        around[d] = pair
    value = node.get("value", 0.0) if value is None else value
    value = np.asarray(value, x.dtype) if not hasattr(value, "dtype") else value.reshape(())
    mode = node.get("mode", "constant")
    if mode != "constant":
        grown = namespace(x).pad(x, [tuple(max(p, 0) for p in pair) for pair in around], mode=mode)
    else:
        xp, x, value = operands(x, value)
        grown = xp.pad(x, [tuple(max(p, 0) if known(p) else p for p in pair) for pair in around], constant_values=value)
    cut = [slice(-min(b, 0) if known(b) else None, min(e, 0) or None if known(e) else None) for b, e in around]
    return grown[tuple(cut)] if any(known(p) and p < 0 for pair in around for p in pair) else grown


@op("Range")
def range_(node: Node, start: Any, limit: Any, delta: Any) -> Any:
    first, last, step = (scalar(v, "an end of the range") for v in (start, limit, delta))
    if known(first, last, step):
        dtype = np.asarray(start).dtype if not has_sizes(start) else np.dtype(np.int64)
        if step == 0:
            raise OnnxError("a range with step 0")
        count = max(int(np.ceil((last - first) / step)), 0)
        if count > FOLDED:
            return lnp.asarray(first, dtype) + lnp.arange(count).astype(dtype) * step
        return (first + np.arange(count) * step).astype(dtype)
    return lnp.arange(int_or_size(first), int_or_size(last), int_or_size(step), dtype=np.int64)


@op("EyeLike")
def eye_like(node: Node, x: Any) -> Any:
    dtype = dtype_of(node.get("dtype"), "the result") if "dtype" in node.attributes else x.dtype
    return lnp.eye(x.shape[0], x.shape[1], node.get("k", 0), dtype=dtype)


@op("Trilu")
def trilu(node: Node, x: Any, k: Any = None) -> Any:
    function = namespace(x).triu if node.get("upper", 1) else namespace(x).tril
    return function(x, 0 if k is None else int(scalar(k, "k")))


@op("DepthToSpace")
def depth_to_space(node: Node, x: Any) -> Any:
    b = node.need("blocksize")
    n, c, h, w = x.shape
    if node.get("mode", "DCR") == "DCR":
        return x.reshape((n, b, b, c // (b * b), h, w)).transpose((0, 3, 4, 1, 5, 2)).reshape((n, c // (b * b), h * b, w * b))
    return x.reshape((n, c // (b * b), b, b, h, w)).transpose((0, 1, 4, 2, 5, 3)).reshape((n, c // (b * b), h * b, w * b))


@op("SpaceToDepth")
def space_to_depth(node: Node, x: Any) -> Any:
    b = node.need("blocksize")
    n, c, h, w = x.shape
    parts = x.reshape((n, c, h // b, b, w // b, b))
    order = (0, 3, 5, 1, 2, 4) if node.get("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    return parts.transpose(order).reshape((n, c * b * b, h // b, w // b))
