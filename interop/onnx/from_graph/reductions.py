"""Reductions, cumulative ops, sorts and contractions."""

from __future__ import annotations

from typing import Any

import numpy as np

from .elementwise import FLOATS, is_bool, is_float
from .writer import NoForm, Writer, dtype_of, number_of, rule, shape_of, values_of, wider, word_of

REDUCTIONS = {"add": "ReduceSum", "mul": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin"}
SUMMED = ("int32", "int64", *FLOATS)
"""Types of sums and products."""
SORTED = ("int32", "int64", "float32", "float64")
BINARY = {"add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}


def identity(kind: str, dtype: Any) -> Any:
    """The neutral element of a monoid of numbers."""
    dtype = np.dtype(dtype)
    if kind in ("add", "mul"):
        return np.asarray(kind == "mul").astype(dtype)
    if dtype.kind in "iu":
        return np.asarray(np.iinfo(dtype).min if kind == "max" else np.iinfo(dtype).max, dtype)
    return np.asarray(-np.inf if kind == "max" else np.inf).astype(dtype)


@rule("reduce")
def reduce(w: Writer, op: Any, x: str) -> str:
    v, kind, dims = op.operands[0], word_of(op, "kind"), values_of(op, "dims")
    if not dims:
        return x
    axes = w.ints(*dims)
    if is_bool(v):
        name = {"or": "ReduceMax", "max": "ReduceMax", "and": "ReduceMin", "min": "ReduceMin"}.get(kind)
        if name is None:
            raise NoForm(f"{kind} of booleans has no form in ONNX")
        return w.cast(w.one(name, w.cast(x, np.int32), axes, keepdims=0), np.bool_)
    if kind not in REDUCTIONS:
        raise NoForm(f"{kind} of numbers has no form in ONNX")
    return w.within(x, dtype_of(v), SUMMED, lambda x: w.one(REDUCTIONS[kind], x, axes, keepdims=0))


@rule("argmax", "argmin")
def positions(w: Writer, op: Any, x: str) -> str:
    kind, dim = "ArgMax" if op.name == "graph.argmax" else "ArgMin", number_of(op, "dim")
    v = op.operands[0]
    if is_float(v):  # NaN is beyond all
        odd = w.one("IsNaN", x)
        beyond = np.inf if kind == "ArgMax" else -np.inf
        some = w.one("ReduceMax", w.cast(odd, np.int32), w.ints(dim), keepdims=0)
        first = w.one("ArgMax", w.cast(odd, np.int32), axis=dim, keepdims=0)
        plain = w.one(kind, w.one("Where", odd, w.scalar(beyond, v), x), axis=dim, keepdims=0)
        return w.one("Where", w.cast(some, np.bool_), first, plain)
    wide = np.int32 if is_bool(v) else wider(dtype_of(v), SUMMED)
    return w.one(kind, w.cast(x, wide), axis=dim, keepdims=0)


@rule("softmax", "log_softmax")
def softmax(w: Writer, op: Any, x: str) -> str:
    """Of one dim the op; of several the op on these, collapsed into one."""
    dims, sizes = list(values_of(op, "dims")), shape_of(op.operands[0])
    name = "Softmax" if op.name == "graph.softmax" else "LogSoftmax"
    if len(dims) == 1:
        return w.one(name, x, axis=dims[0])
    order = [*(d for d in range(len(sizes)) if d not in dims), *dims]
    kept = [sizes[d] for d in order[: len(sizes) - len(dims)]]
    count = 1
    for d in dims:
        count = count * sizes[d]
    made = w.one(name, w.reshape(w.transpose(x, order), [*kept, count]), axis=-1)
    return w.transpose(w.reshape(made, [sizes[d] for d in order]), [order.index(d) for d in range(len(sizes))])


@rule("scan")
def scan(w: Writer, op: Any, x: str) -> str:
    """`CumSum`; of other kinds as many shifts as the length has bits (Hillis and Steele)."""
    v, dim, kind = op.operands[0], number_of(op, "dim"), word_of(op, "kind")
    exclusive, backwards = word_of(op, "bound") == "exclusive", word_of(op, "direction") != "forward"
    if kind == "add":
        return w.within(
            x, dtype_of(v), ("int32", "int64", "float32", "float64"),
            lambda x: w.one("CumSum", x, w.constant(np.int64(dim)), exclusive=int(exclusive), reverse=int(backwards)),
        )  # fmt: skip
    n, rank = shape_of(v)[dim], len(shape_of(v))
    if not isinstance(n, int):
        raise NoForm("along a dim of symbolic size has no form in ONNX")
    logical = {"or": "Or", "and": "And", "max": "Or", "min": "And"} if is_bool(v) else {}
    if kind not in (logical or BINARY):
        raise NoForm(f"{kind} of {dtype_of(v).name} has no form in ONNX")
    neutral = np.asarray(logical[kind] == "And") if logical else identity(kind, dtype_of(v))
    fill = w.constant(neutral)

    def shifted(x: str, by: int) -> str:
        low, high = [0] * rank, [0] * rank
        low[dim], high[dim] = (-by, by) if backwards else (by, -by)
        return w.pad(x, low, high, fill)

    step = 1
    while step < n:
        x = w.one((logical or BINARY)[kind], x, shifted(x, step))
        step *= 2
    return shifted(x, 1) if exclusive and n else x


def _orderable(w: Writer, v: Any, x: str) -> tuple[str, Any]:
    kind = dtype_of(v)
    wide = np.dtype(np.int32) if kind.kind == "b" else wider(kind, SORTED)
    return (x if wide == kind else w.cast(x, wide)), wide


def _order(w: Writer, op: Any, names: Any, keys: int) -> str:
    """The positions of sorted rows along the last dim.

    `TopK` is stable, so several keys are sorted by one after the other, the last one first. NaN comes last: it is sorted as
    infinity, after a stable sort by whether a number is one.
    """
    n = shape_of(op.operands[0])[-1]
    length = w.size(n)
    places: str | None = None
    for k in reversed(range(keys)):
        v = op.operands[k]
        levels = [_orderable(w, v, names[k])[0]]
        if is_float(v):
            odd = w.one("IsNaN", names[k])
            cleared = w.one("Where", odd, w.scalar(np.inf, v), names[k])
            levels = [w.cast(odd, np.int32), _orderable(w, v, cleared)[0]]
        for key in reversed(levels):
            key = key if places is None else w.one("GatherElements", key, places, axis=-1)
            found = w.op("TopK", [key, length], 2, axis=-1, largest=0)[1]
            places = found if places is None else w.one("GatherElements", places, found, axis=-1)
    assert places is not None
    return places


@rule("sort")
def sort(w: Writer, op: Any, *xs: str) -> list[str]:
    if not shape_of(op.operands[0])[-1:]:
        return list(xs)
    places = _order(w, op, xs, number_of(op, "keys"))
    return [w.one("GatherElements", x, places, axis=-1) for x in xs]


@rule("argsort")
def argsort(w: Writer, op: Any, *xs: str) -> str:
    return _order(w, op, xs, len(xs))


@rule("top_k")
def top_k(w: Writer, op: Any, x: str) -> list[str]:
    v = op.operands[0]
    key, wide = _orderable(w, v, x)
    values, places = w.op("TopK", [key, w.ints(number_of(op, "k"))], 2, axis=-1)
    return [values if wide == dtype_of(v) else w.cast(values, dtype_of(v)), places]


@rule("dot")
def dot(w: Writer, op: Any, x: str, y: str) -> str:
    """`MatMul` of stacks of matrices, whose rows and columns are all the free dims."""
    names = ("lhs_batch", "rhs_batch", "lhs_contract", "rhs_contract")
    lhs_batch, rhs_batch, lhs_contract, rhs_contract = (values_of(op, name) for name in names)
    xs, ys = shape_of(op.operands[0]), shape_of(op.operands[1])
    rows = [d for d in range(len(xs)) if d not in lhs_batch and d not in lhs_contract]
    columns = [d for d in range(len(ys)) if d not in rhs_batch and d not in rhs_contract]
    batch = [xs[d] for d in lhs_batch]
    x = w.transpose(x, [*lhs_batch, *rows, *lhs_contract])
    y = w.transpose(y, [*rhs_batch, *rhs_contract, *columns])
    m, n, k = (_product(each) for each in ([xs[d] for d in rows], [ys[d] for d in columns], [xs[d] for d in lhs_contract]))
    x = x if len(rows) == len(lhs_contract) == 1 else w.reshape(x, [*batch, m, k])
    y = y if len(columns) == len(rhs_contract) == 1 else w.reshape(y, [*batch, k, n])
    kind = dtype_of(op.results[0])
    sources = dtype_of(op.operands[0])
    if sources.kind == "b":
        raise NoForm("of booleans has no form in ONNX")
    wide = sources if sources.name in SUMMED else wider(sources, SUMMED)
    x, y = (x, y) if wide == sources else (w.cast(x, wide), w.cast(y, wide))
    made = w.one("MatMul", x, y)
    made = made if wide == kind else w.cast(made, kind)
    sizes = [*batch, *[xs[d] for d in rows], *[ys[d] for d in columns]]
    return made if len(rows) == len(columns) == 1 else w.reshape(made, sizes)


def _product(sizes: Any) -> Any:
    total: Any = 1
    for n in sizes:
        total = total * n
    return total
