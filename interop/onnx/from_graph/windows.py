"""Convolutions and reductions over windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .elementwise import FLOATS, is_bool
from .moves import padded
from .reductions import identity
from .writer import NoForm, Writer, dtype_of, number_of, rule, shape_of, values_of, word_of


@rule("conv")
def conv(w: Writer, op: Any, x: str, f: str) -> str:
    """`Conv`; of integers in floats of 64 bits where their sums fit."""
    stride = values_of(op, "stride")
    n = len(stride)
    if not n:
        raise NoForm("without spatial dims has no form in ONNX")
    ones = (1,) * n
    xs = op.operands[0]
    kind = dtype_of(op.results[0])
    x_dims, w_dims, y_dims = (values_of(op, name) or tuple(range(n + 2)) for name in ("x_dims", "w_dims", "y_dims"))
    low, high = values_of(op, "low"), values_of(op, "high")
    zero = w.scalar(0, xs)
    base = values_of(op, "base_dilation") or ones
    spatial = x_dims[2:]
    rank = n + 2
    pads = [[0] * rank, [0] * rank, [0] * rank]
    for k, d in enumerate(spatial):
        negative = low[k] < 0 or high[k] < 0 or base[k] > 1
        pads[0][d], pads[1][d], pads[2][d] = (low[k], high[k], base[k] - 1) if negative else (0, 0, 0)
    before, after = (
        [0 if a < 0 or b < 0 or c > 1 else n for n, a, b, c in zip(side, low, high, base, strict=True)] for side in (low, high)
    )
    if any(any(each) for each in pads):
        x = padded(w, xs, x, zero, *pads)
    x, f = w.transpose(x, x_dims), w.transpose(f, w_dims)
    wide = kind if kind.name in FLOATS else np.dtype(np.float64)
    if kind.name not in FLOATS:
        if kind.itemsize > 4:
            raise NoForm(f"of {kind.name} has no form in ONNX")
        x, f = w.cast(x, wide), w.cast(f, wide)
    made = w.one(
        "Conv", x, f, strides=list(stride), pads=[*before, *after], dilations=list(values_of(op, "dilation") or ones),
        group=number_of(op, "groups"),
    )  # fmt: skip
    made = made if wide == kind else w.cast(w.cast(made, np.int64), kind)
    return w.transpose(made, [y_dims.index(d) for d in range(rank)])


@rule("reduce_window")
def reduce_window(w: Writer, op: Any, x: str) -> str:
    """`MaxPool`, or a `Conv` with ones; dims without a window are collapsed into images."""
    v, kind = op.operands[0], word_of(op, "kind")
    window, stride, low, high, dilation = (values_of(op, name) for name in ("window", "stride", "low", "high", "dilation"))
    sizes, out = shape_of(v), shape_of(op.results[0])
    spatial = [d for d in range(len(sizes)) if (window[d], stride[d], low[d], high[d]) != (1, 1, 0, 0)]
    if not spatial:
        return x
    if is_bool(v):
        if kind not in ("or", "and", "max", "min"):
            raise NoForm(f"{kind} of booleans has no form in ONNX")
        kind = {"or": "max", "and": "min"}.get(kind, kind)
        held, wide, neutral = np.dtype(np.bool_), np.dtype(np.float32), np.asarray(kind == "min")
    else:
        if kind not in ("add", "max", "min"):
            raise NoForm(f"{kind} over windows has no form in ONNX")
        held, neutral = dtype_of(v), identity(kind, dtype_of(v))
        wide = held if held.name in FLOATS else np.dtype(np.float64)
        if held.kind in "iu" and held.itemsize > 4:
            raise NoForm(f"of {held.name} over windows has no form in ONNX")
    x = padded(w, v, x, w.constant(neutral), low, high, [0] * len(sizes))
    x = x if wide == held else w.cast(x, wide)
    images = [d for d in range(len(sizes)) if d not in spatial]
    order = [*images, *spatial]
    count: Any = 1
    for d in images:
        count = count * sizes[d]
    full = [sizes[d] + low[d] + high[d] for d in spatial]
    x = w.reshape(w.transpose(x, order), [count, 1, *full])
    shape, steps, apart = ([side[d] for d in spatial] for side in (window, stride, dilation))
    if kind == "add":
        made = w.one("Conv", x, w.constant(np.ones((1, 1, *shape), wide)), strides=steps, dilations=apart)
    else:
        x = x if kind == "max" else w.one("Neg", x)
        made = w.one("MaxPool", x, kernel_shape=shape, strides=steps, dilations=apart)
        made = made if kind == "max" else w.one("Neg", made)
    made = made if wide == held else w.cast(made, held)
    made = w.reshape(made, [out[d] for d in order])
    return w.transpose(made, [order.index(d) for d in range(len(sizes))])
