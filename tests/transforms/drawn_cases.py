"""Random functions of one op each: shapes (sizes 0 and 1 too), dims, strides, paddings, windows and layouts are drawn."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "dialects"))
from graphs import Case
from lamina.dialects.types import f64
from rule_draws_contract import Product
from sketches import Sketch

SIZES = (0, 1, 1, 2, 2, 3, 3, 4)
FILLED = (1, 2, 2, 3, 3, 4)


def _case(
    shapes: Sequence[Sequence[int]], build: Callable[..., Any], domain: tuple[float, float] = (-1.5, 1.5), *fixed: Any
) -> Case:
    return Case("drawn", tuple(map(tuple, shapes)), build, domain, fixed)


def _reshape(d: Sketch) -> Case:
    shape = d.shape(sizes=SIZES)
    target = d.regrouped(shape)
    return _case([shape], lambda b, x: b.reshape(x, target))


def _transpose(d: Sketch) -> Case:
    shape = d.shape(0, 4, SIZES)
    perm = d.perm(len(shape))
    return _case([shape], lambda b, x: b.transpose(x, perm=perm))


def _broadcast(d: Sketch) -> Case:
    small, dims, shape = d.stretched(SIZES)
    return _case([small], lambda b, x: b.broadcast(x, dims, shape))


def _slice(d: Sketch) -> Case:
    shape = d.shape(sizes=(0, 1, 3, 5, 6))
    props = d.sliced(shape)
    return _case([shape], lambda b, x: b.slice(x, **props))


def _concat(d: Sketch) -> Case:
    shape = list(d.shape(1, 3, SIZES))
    dim = d.random.randrange(len(shape))
    parts = [[*shape[:dim], d.one(SIZES), *shape[dim + 1 :]] for _ in range(d.one((1, 2, 2, 3)))]
    return _case(parts, lambda b, *x: b.concat(*x, dim=dim))


def _pad(d: Sketch) -> Case:
    while True:
        shape = d.shape(sizes=(0, 1, 2, 3, 5))
        rows = [[d.one(amounts) for _ in shape] for amounts in ((-2, -1, 0, 1, 2), (-3, -1, 0, 1), (0, 0, 1, 2))]
        if all(n + a + b + max(0, n - 1) * i >= 0 for n, a, b, i in zip(shape, *rows, strict=True)):
            low, high, interior = rows
            break
    return _case([shape, ()], lambda b, x, v: b.pad(x, v, low=low, high=high, interior=interior))


def _reverse(d: Sketch) -> Case:
    shape = d.shape(sizes=SIZES)
    dims = d.some(range(len(shape)))
    return _case([shape], lambda b, x: b.reverse(x, dims=dims))


def _reduce(d: Sketch) -> Case:
    kind = d.one(("add", "mul", "max", "min"))
    shape = d.shape(0, 3, SIZES if kind in ("add", "mul") else FILLED)
    dims = d.some(range(len(shape)))
    d.random.shuffle(dims)
    return _case([shape], lambda b, x: b.reduce(x, kind=kind, dims=dims), (0.3, 1.5))


def _arg(d: Sketch) -> Case:
    shape = d.shape(1, 3, FILLED)
    dim, name = d.random.randrange(len(shape)), d.one(("argmax", "argmin"))
    return _case(
        [shape], lambda b, x: b.mul(b.reduce(x, kind="add", dims=(dim,)), b.convert(getattr(b, name)(x, dim=dim), f64))
    )


def _dot(d: Sketch) -> Case:
    p = Product(d, sizes=SIZES)
    return _case(p.shapes, lambda b, x, y: b.dot(x, y, **p.props))


def _places(d: Sketch) -> tuple[tuple[int, ...], dict[str, Any], list[np.ndarray], tuple[int, ...]]:
    """Operand shape, properties, index arrays and the shape of all places, of a gather or scatter."""
    shape = d.shape(1, 4, (1, 2, 3, 4))
    roles = list(range(len(shape)))
    d.random.shuffle(roles)
    n_at = d.random.randint(1, len(shape))
    at = roles[:n_at]
    batch = roles[n_at : n_at + d.random.randint(0, len(shape) - n_at)] if d.rarely(0.5) else []
    window = [d.random.randint(1, shape[k]) for k in at] if d.rarely(0.4) else []
    points = (*(shape[k] for k in batch), *d.shape(0, 2, (0, 1, 2, 3)))
    rng = np.random.default_rng(d.random.randrange(1 << 30))
    kind = d.one((np.int32, np.int64))
    indices = [rng.integers(-2, shape[k] + 2, points).astype(kind) for k in at]
    kept = [k for k in range(len(shape)) if k not in batch and (window or k not in at)]
    extent = [window[at.index(k)] if k in at else shape[k] for k in kept]
    return shape, {"at": at, "window": window, "batch": batch}, indices, (*points, *extent)


def _gather(d: Sketch) -> Case:
    shape, props, indices, _ = _places(d)
    return _case([shape], lambda b, x, *i: b.gather(x, *i, **props), (-1.5, 1.5), *indices)


def _scatter(d: Sketch) -> Case:
    shape, props, indices, places = _places(d)
    kind = d.one(("set", "add", "max", "min", "mul"))
    known = np.random.default_rng(d.random.randrange(1 << 30))
    form = d.one(("both", "both", "operand", "updates"))  # what it is differentiated by
    if form == "operand":
        given = known.uniform(-1.5, 1.5, places)
        return _case([shape], lambda b, x, u, *i: b.scatter(x, u, *i, kind=kind, **props), (-1.5, 1.5), given, *indices)
    if form == "updates":
        given = known.uniform(-1.5, 1.5, shape)
        return _case([places], lambda b, u, x, *i: b.scatter(x, u, *i, kind=kind, **props), (-1.5, 1.5), given, *indices)
    return _case([shape, places], lambda b, x, u, *i: b.scatter(x, u, *i, kind=kind, **props), (-1.5, 1.5), *indices)


def _embedding(d: Sketch) -> Case:
    ids = np.random.default_rng(d.random.randrange(1 << 30)).integers(-2, 5, d.shape(0, 2, SIZES))
    return _case([(d.one((1, 2, 3)), d.one(SIZES))], lambda b, x, i: b.embedding(i, x), (-1.5, 1.5), ids)


def _scan(d: Sketch) -> Case:
    shape = d.shape(1, 3, FILLED)
    kind = d.one(("add", "mul", "max", "min"))
    dim, direction = d.random.randrange(len(shape)), d.one(("forward", "reverse"))
    bound = d.one(("inclusive", "exclusive")) if kind in ("add", "mul") else "inclusive"
    return _case([shape], lambda b, x: b.scan(x, kind=kind, dim=dim, direction=direction, bound=bound), (-1.5, 1.5))


def _sort(d: Sketch) -> Case:
    shape = d.shape(1, 3, FILLED)
    keys, k = d.one((1, 2)), d.one((0, 1))
    return _case([shape, shape], lambda b, x, y: b.sort(x, y, keys=keys)[k])


def _top_k(d: Sketch) -> Case:
    shape = d.shape(1, 3, FILLED)
    k = d.random.randrange(shape[-1] + 1)
    return _case([shape], lambda b, x: b.top_k(x, k=k)[0])


def _recurrence(d: Sketch) -> Case:
    shape = d.shape(1, 3, SIZES)
    dim, direction = d.random.randrange(len(shape)), d.one(("forward", "reverse"))
    return _case([shape, shape], lambda b, x, y: b.recurrence(x, y, dim=dim, direction=direction))


def _span(size: int, by: int) -> int:
    return (size - 1) * by + 1 if size else 0


def _conv(d: Sketch) -> Case:
    spatial, groups = d.one((1, 1, 2)), d.one((1, 1, 2, 3))
    rank = spatial + 2
    draw: Callable[[Sequence[int]], list[int]] = lambda options: [d.one(options) for _ in range(spatial)]  # noqa: E731
    while True:
        window, sizes = draw((1, 2, 3)), draw((1, 2, 4, 5))
        props = {"stride": draw((1, 1, 2, 3)), "dilation": draw((1, 1, 2)), "base_dilation": draw((1, 1, 2))}
        props |= {"low": draw((-1, 0, 1, 2)), "high": draw((-1, 0, 1, 2))}
        rows = zip(sizes, props["base_dilation"], props["low"], props["high"], strict=True)
        if all(_span(n, by) + low + high >= 0 for n, by, low, high in rows):
            break
    x = [d.one((0, 1, 1, 2, 2)), groups * d.one((0, 1, 1, 2, 2)), *sizes]
    w = [groups * d.one((0, 1, 1, 2, 2)), x[1] // groups, *window]
    orders = [d.perm(rank) if d.rarely(0.6) else tuple(range(rank)) for _ in range(3)]
    props |= dict(zip(("x_dims", "w_dims", "y_dims"), orders, strict=True)) | {"groups": groups}
    shapes = [[sizes[order.index(k)] for k in range(rank)] for sizes, order in zip((x, w), orders, strict=False)]
    return _case(shapes, lambda b, x, w: b.conv(x, w, **props))


def _slide(d: Sketch) -> tuple[tuple[int, ...], dict[str, Any], tuple[int, ...]]:
    """Operand shape, properties and result shape of windows."""
    while True:
        shape = d.shape(1, 3, (1, 2, 3, 4, 5))
        rows = {
            "window": (1, 1, 2, 3),
            "stride": (1, 1, 2, 3),
            "low": (-1, 0, 0, 1),
            "high": (-1, 0, 0, 1),
            "dilation": (1, 1, 2),
        }
        props = {name: [d.one(options) for _ in shape] for name, options in rows.items()}
        padded = [n + a + b for n, a, b in zip(shape, props["low"], props["high"], strict=True)]
        if all(n >= 0 for n in padded) and math.prod(props["window"]) <= 6:
            spans = [_span(n, by) for n, by in zip(props["window"], props["dilation"], strict=True)]
            points = [max(0, (n - m) // s + 1) for n, m, s in zip(padded, spans, props["stride"], strict=True)]
            return shape, props, tuple(points)


def _reduce_window(d: Sketch) -> Case:
    shape, props, _ = _slide(d)
    kind = d.one(("add", "add", "mul", "max", "min"))
    if kind in ("max", "min"):  # a window in the padding alone is infinite
        props |= {name: [0] * len(shape) for name in ("low", "high")}
    return _case([shape], lambda b, x: b.reduce_window(x, kind=kind, **props), (0.3, 1.5))


def _window_pick(d: Sketch) -> Case:
    shape, props, _ = _slide(d)
    kind = d.one(("max", "min"))
    return _case([shape, shape], lambda b, x, y: b.window_pick(x, y, kind=kind, **props), (0.3, 1.5))


def _window_put(d: Sketch) -> Case:
    shape, props, points = _slide(d)
    kind = d.one(("max", "min"))
    return _case([shape, points], lambda b, x, y: b.window_put(x, y, kind=kind, **props), (0.3, 1.5))


def _along(name: str, **more: float) -> Callable[[Sketch], Case]:
    def draw(d: Sketch) -> Case:
        shape = d.shape(1, 3, FILLED)
        dims = d.some(range(len(shape)), 1)
        return _case([shape], lambda b, x: getattr(b, name)(x, dims=dims, **more))

    return draw


def _var(d: Sketch) -> Case:
    shape = d.shape(1, 3, (2, 3, 4))
    dims, correction = d.some(range(len(shape)), 1), d.one((0, 1))
    return _case([shape], lambda b, x: b.var(x, dims=dims, correction=correction))


def _batch_norm(d: Sketch) -> Case:
    shape = d.shape(1, 3, FILLED)
    dim = d.random.randrange(len(shape))
    channels = [(shape[dim],)] * 4
    return _case([shape, *channels], lambda b, x, m, v, *more: b.batch_norm(x, m, b.mul(v, v), *more, dim=dim, epsilon=0.5))


def _cross_entropy(d: Sketch) -> Case:
    shape = d.shape(2, 2, FILLED)
    labels = np.random.default_rng(d.random.randrange(1 << 30)).integers(-1, shape[-1] + 1, shape[:-1])
    return _case([shape], lambda b, x, y: b.cross_entropy(x, y), (-1.5, 1.5), labels)


def _attention(d: Sketch) -> Case:
    outer = d.shape(0, 2, (1, 2))
    groups, repeated = d.one((1, 2)), d.one((1, 2))
    queries, keys, depth, width = (d.one((1, 2, 3)) for _ in range(4))
    heads = groups * repeated
    shapes: list[Any] = [(*outer, heads, queries, depth), (*outer, groups, keys, depth), (*outer, groups, keys, width)]
    mask, scale = d.one(("none", "causal")), d.one((0.5, 1.0))
    fixed: list[Any] = []
    if d.rarely(0.6):
        bias = [d.one((1, n)) for n in (*outer, heads, queries, keys)]
        if d.rarely(0.5):
            shapes.append(bias)
        else:
            fixed.append(np.random.default_rng(d.random.randrange(1 << 30)).integers(0, 3, bias) > 0)
    return _case(shapes, lambda b, *x: b.attention(*x, mask=mask, scale=scale), (-1.5, 1.5), *fixed)


def _elementwise(d: Sketch) -> Case:
    """Both operands given, or one of them known or the other one."""
    shape = d.shape(sizes=SIZES)
    name = d.one(("add", "sub", "mul", "div", "rem", "pow", "atan2", "max", "min"))
    form = d.one(("both", "both", "left", "right", "self"))
    op: Callable[[Any], Callable[..., Any]] = lambda b: getattr(b, name)  # noqa: E731
    if form == "both":
        return _case([shape, shape], lambda b, x, y: op(b)(x, y), (0.4, 2.0))
    if form == "self":
        return _case([shape], lambda b, x: op(b)(x, b.exp(x)), (0.4, 2.0))
    fixed = np.random.default_rng(d.random.randrange(1 << 30)).uniform(0.4, 2.0, shape)
    if form == "left":
        return _case([shape], lambda b, x, y: op(b)(x, y), (0.4, 2.0), fixed)
    return _case([shape], lambda b, x, y: op(b)(y, x), (0.4, 2.0), fixed)


def _select(d: Sketch) -> Case:
    shape = d.shape(sizes=SIZES)
    choice = np.random.default_rng(d.random.randrange(1 << 30)).integers(0, 2, shape).astype(bool)
    if d.rarely(0.5):
        other = np.random.default_rng(3).uniform(size=shape)
        return _case([shape], lambda b, x, c, y: b.select(c, y, x), (-1.5, 1.5), choice, other)
    return _case([shape, shape], lambda b, x, y, c: b.select(c, x, y), (-1.5, 1.5), choice)


CASE_DRAWS: dict[str, Callable[[Sketch], Case]] = {
    "elementwise": _elementwise,
    "select": _select,
    "reshape": _reshape,
    "transpose": _transpose,
    "broadcast": _broadcast,
    "slice": _slice,
    "concat": _concat,
    "pad": _pad,
    "reverse": _reverse,
    "reduce": _reduce,
    "arg": _arg,
    "dot": _dot,
    "gather": _gather,
    "scatter": _scatter,
    "embedding": _embedding,
    "scan": _scan,
    "recurrence": _recurrence,
    "sort": _sort,
    "top_k": _top_k,
    "conv": _conv,
    "reduce_window": _reduce_window,
    "window_pick": _window_pick,
    "window_put": _window_put,
    "softmax": _along("softmax"),
    "log_softmax": _along("log_softmax"),
    "logsumexp": _along("logsumexp"),
    "mean": _along("mean"),
    "layer_norm": _along("layer_norm", epsilon=0.1),
    "rms_norm": _along("rms_norm", epsilon=0.1),
    "var": _var,
    "batch_norm": _batch_norm,
    "cross_entropy": _cross_entropy,
    "attention": _attention,
}
