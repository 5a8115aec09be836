"""Ops that create or move elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from .writer import INT64, NoForm, Writer, dtype_of, number_of, rule, shape_of, values_of


@rule("const")
def const(w: Writer, op: Any) -> str:
    (array,) = op.evaluate()
    return w.constant(array)


@rule("dim")
def dim(w: Writer, op: Any) -> str:
    found = w.size(values_of(op, "of")[0])
    return w.cast(w.one("Reshape", found, w.ints()), dtype_of(op.results[0]))


@rule("iota")
def iota(w: Writer, op: Any) -> str:
    sizes, along, kind = shape_of(op.results[0]), number_of(op, "dim"), dtype_of(op.results[0])
    n = sizes[along]
    if isinstance(n, int):
        row = w.constant(np.arange(n).astype(kind))
    else:
        end = w.one("Reshape", w.size(n), w.ints())
        row = w.one("Range", w.constant(np.int64(0)), end, w.constant(np.int64(1)))
        row = row if kind == INT64 else w.cast(row, kind)
    if len(sizes) == 1:
        return row
    return w.one("Expand", w.reshape(row, [n if d == along else 1 for d in range(len(sizes))]), w.shape(sizes))


@rule("reshape")
def reshape(w: Writer, op: Any, x: str) -> str:
    return w.reshape(x, shape_of(op.results[0]))


@rule("transpose")
def transpose(w: Writer, op: Any, x: str) -> str:
    return w.transpose(x, values_of(op, "perm"))


@rule("broadcast")
def broadcast(w: Writer, op: Any, x: str) -> str:
    dims, sizes = values_of(op, "dims"), shape_of(op.results[0])
    before = shape_of(op.operands[0])
    order = sorted(range(len(dims)), key=dims.__getitem__)
    x = w.transpose(x, order)
    placed: list[Any] = [1] * len(sizes)
    for k in order:
        placed[dims[k]] = before[k]
    if placed != [before[k] for k in order]:
        x = w.reshape(x, placed)
    return x if placed == list(sizes) else w.one("Expand", x, w.shape(sizes))


@rule("slice")
def slice_(w: Writer, op: Any, x: str) -> str:
    start, stop, step = (values_of(op, name) for name in ("start", "stop", "step"))
    sizes = shape_of(op.operands[0])
    axes = [d for d in range(len(sizes)) if (start[d], stop[d], step[d]) != (0, sizes[d], 1)]
    if not axes:
        return x
    return w.one(
        "Slice", x, w.shape([start[d] for d in axes]), w.shape([stop[d] for d in axes]), w.ints(*axes),
        w.shape([step[d] for d in axes]),
    )  # fmt: skip


@rule("concat")
def concat(w: Writer, op: Any, *xs: str) -> str:
    return w.one("Concat", *xs, axis=number_of(op, "dim"))


@rule("interleave")
def interleave(w: Writer, op: Any, *xs: str) -> str:
    axis = w.ints(len(shape_of(op.operands[0])))
    return w.one("Concat", *[w.one("Unsqueeze", x, axis) for x in xs], axis=-1)


@rule("reverse")
def reverse(w: Writer, op: Any, x: str) -> str:
    dims = values_of(op, "dims")
    if not dims:
        return x
    n = len(dims)
    return w.one("Slice", x, w.ints(*[-1] * n), w.ints(*[np.iinfo(np.int64).min] * n), w.ints(*dims), w.ints(*[-1] * n))


@rule("pad")
def pad(w: Writer, op: Any, x: str, fill: str) -> str:
    low, high, between = (values_of(op, name) for name in ("low", "high", "interior"))
    return padded(w, op.operands[0], x, fill, low, high, between)


def padded(w: Writer, v: Any, x: str, fill: str, low: Any, high: Any, between: Any) -> str:
    """An array with elements before, after and between its own; negative numbers before and after take elements away."""
    sizes = list(shape_of(v))
    rank = len(sizes)
    for d, n in enumerate(between):
        if n and sizes[d] != 0:
            if not isinstance(sizes[d], int):
                raise NoForm("between the elements of a dim of symbolic size has no form in ONNX")
            parted = w.reshape(x, [*sizes[: d + 1], 1, *sizes[d + 1 :]])
            parted = w.pad(parted, [0] * (rank + 1), [n if k == d + 1 else 0 for k in range(rank + 1)], fill)
            joined = sizes[d] * (n + 1)
            x = w.slice(w.reshape(parted, [*sizes[:d], joined, *sizes[d + 1 :]]), d, 0, joined - n)
            sizes[d] = joined - n
    return w.pad(x, low, high, fill)
