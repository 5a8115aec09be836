"""Graph ops as StableHLO: a row for each, by its name without `graph.`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, i1, i32, i64

from ...api.dtypes import numpy_dtype, tensor_type
from ...api.programs import enumerated, structured
from . import factorizations
from .writing import Writer, element_of, flag, ints, number, shape_of

Rule = Callable[[Writer, Any], Any]
"""From the writer and the graph op to its results."""

RENAMED = {
    "neg": "negate", "abs": "abs", "not": "not", "popcount": "popcnt", "clz": "count_leading_zeros", "floor": "floor",
    "ceil": "ceil", "rint": "round_nearest_even", "exp": "exponential", "expm1": "exponential_minus_one", "log": "log",
    "expm1_slope": "exponential", "log1p": "log_plus_one", "sqrt": "sqrt", "rsqrt": "rsqrt", "sin": "sine", "cos": "cosine",
    "tan": "tan", "tanh": "tanh", "sign": "sign", "erf": "chlo.erf", "erfc": "chlo.erfc", "erf_inv": "chlo.erf_inv",
    "add": "add", "sub": "subtract", "mul": "multiply", "pow": "power", "max": "maximum", "min": "minimum", "and": "and",
    "or": "or", "xor": "xor", "shl": "shift_left", "atan2": "atan2", "complex": "complex", "real": "real", "imag": "imag",
    "convert": "convert", "bitcast": "bitcast_convert", "reshape": "reshape",
}  # fmt: skip
"""Ops that have another name alone."""

MONOIDS = {"add": "add", "mul": "multiply", "max": "maximum", "min": "minimum", "and": "and", "or": "or"}


def _values(op: Any, name: str) -> tuple[int, ...]:
    found = op.properties.get(name)
    return () if found is None else tuple(found.get_values())


def _word(op: Any, name: str) -> str:
    return op.properties[name].data


def _number(op: Any, name: str) -> int:
    return op.properties[name].value.data


def identity(kind: str, element: Any) -> Any:
    """The neutral element of a monoid."""
    dtype = numpy_dtype(element)
    if kind in ("add", "or"):
        return np.zeros((), dtype)
    if kind in ("mul", "and"):
        return np.array(-1 if kind == "and" and dtype.kind == "i" else 1, dtype)
    if dtype.kind == "b":
        return np.array(kind == "min")
    if dtype.kind in "iu":
        return np.array(np.iinfo(dtype).min if kind == "max" else np.iinfo(dtype).max, dtype)
    return np.array(-np.inf if kind == "max" else np.inf).astype(dtype)


def renamed(w: Writer, op: Any) -> Any:
    """An op of the same operands and results."""
    return [w.one(RENAMED[op.name[6:]], list(op.operands), op.results[0].type)]


def _const(w: Writer, op: Any) -> Any:
    return w.op("constant", (), [op.results[0].type], value=op.properties["value"])


def _iota(w: Writer, op: Any) -> Any:
    return [w.iota(shape_of(op.results[0]), _number(op, "dim"), element_of(op.results[0]))]


def _over_nonzero(name: str, otherwise: str) -> Rule:
    """A division; of integers 0 (or the dividend) where the divisor is 0, which StableHLO leaves open."""

    def rule(w: Writer, op: Any) -> Any:
        x, y = op.operands
        if numpy_dtype(element_of(x)).kind in "fc":
            return [w.one(name, [x, y])]
        zero = w.full(0, y)
        is_zero = w.compare("EQ", y, zero)
        return [w.select(is_zero, w.full(0, x), w.one(name, [x, w.select(is_zero, w.full(1, y), y)]))]

    rule.__doc__ = f"`{name}`, {otherwise}"
    return rule


def _shr(w: Writer, op: Any) -> Any:
    unsigned = numpy_dtype(element_of(op.operands[0])).kind == "u"
    return [w.one("shift_right_logical" if unsigned else "shift_right_arithmetic", list(op.operands))]


def _atan(w: Writer, op: Any) -> Any:
    x = op.operands[0]
    return [w.one("atan2", [x, w.full(1, x)])]


def _gauss(w: Writer, op: Any) -> Any:
    x = op.operands[0]
    return [w.one("exponential", [w.one("negate", [w.one("multiply", [x, x])])])]


def _sech2(w: Writer, op: Any) -> Any:
    # 4 / (e^x + e^-x)^2, which is exact where tanh has saturated
    x = op.operands[0]
    e = w.one("exponential", [w.one("negate", [w.one("abs", [x])])])
    square = w.one("multiply", [e, e])
    sum = w.one("add", [w.full(1, x), square])
    return [w.one("divide", [w.one("multiply", [w.full(4, x), square]), w.one("multiply", [sum, sum])])]


def _cmp(w: Writer, op: Any) -> Any:
    return [w.compare(_word(op, "predicate").upper(), *op.operands)]


def _select(w: Writer, op: Any) -> Any:
    return [w.select(*op.operands)]


def _transpose(w: Writer, op: Any) -> Any:
    return [w.transpose(op.operands[0], _values(op, "perm"))]


def _broadcast(w: Writer, op: Any) -> Any:
    return [w.broadcast(op.operands[0], _values(op, "dims"), shape_of(op.results[0]))]


def _slice(w: Writer, op: Any) -> Any:
    return [w.slice(op.operands[0], *(_values(op, name) for name in ("start", "stop", "step")))]


def _concat(w: Writer, op: Any) -> Any:
    return [w.concatenate(list(op.operands), _number(op, "dim"))]


def _pad(w: Writer, op: Any) -> Any:
    names = {"edge_padding_low": "low", "edge_padding_high": "high", "interior_padding": "interior"}
    props = {theirs: ints(_values(op, ours)) for theirs, ours in names.items()}
    return [w.one("pad", list(op.operands), op.results[0].type, **props)]


def _reverse(w: Writer, op: Any) -> Any:
    return [w.one("reverse", list(op.operands), dimensions=ints(_values(op, "dims")))]


def _reduce(w: Writer, op: Any) -> Any:
    x, kind = op.operands[0], _word(op, "kind")
    init = w.constant(identity(kind, element_of(x)), element_of(x))
    return [w.reduce(x, init, MONOIDS[kind], _values(op, "dims"))]


def _arg(kind: str) -> Rule:
    def rule(w: Writer, op: Any) -> Any:
        x, dim = op.operands[0], _number(op, "dim")
        element = element_of(x)
        index = w.iota(shape_of(x), dim, i64)
        inits = [w.constant(identity(kind, element), element), w.constant(np.int64(0), i64)]
        scalars = [tensor_type(e, ()) for e in (element, i64, element, i64)]

        def body(w: Writer, a: Any, i: Any, b: Any, j: Any) -> Any:
            better = w.compare("GT" if kind == "max" else "LT", a, b)
            if numpy_dtype(element).kind == "f":  # NaN is beyond all
                better = w.one("or", [better, w.compare("NE", a, a)])
            same = w.one("and", [w.compare("EQ", a, b), w.compare("LT", i, j)])
            return [w.select(better, a, b), w.select(w.one("or", [better, same]), i, j)]

        types = [tensor_type(element, shape_of(op.results[0])), op.results[0].type]
        found = w.op("reduce", [x, index, *inits], types, [w.region(scalars, body)], dimensions=ints([dim]))
        return [found[1]]

    return rule


def _dot(w: Writer, op: Any) -> Any:
    names = {"batch": "batching_dimensions", "contract": "contracting_dimensions"}
    parts = [
        f"{side}_{theirs} = {list(dims)}"
        for ours, theirs in names.items()
        for side in ("lhs", "rhs")
        if (dims := _values(op, f"{side}_{ours}"))
    ]
    numbers = structured("stablehlo.dot", ", ".join(parts))
    return [w.one("dot_general", list(op.operands), op.results[0].type, dot_dimension_numbers=numbers)]


def _pairs(low: Sequence[int], high: Sequence[int]) -> Any:
    rows = [n for pair in zip(low, high, strict=True) for n in pair]
    return DenseIntOrFPElementsAttr.from_list(TensorType(i64, [len(low), 2]), rows)


def _conv(w: Writer, op: Any) -> Any:
    stride = _values(op, "stride")
    n = len(stride)
    specs = []
    for name, letters in (("x_dims", "bf"), ("w_dims", "oi"), ("y_dims", "bf")):
        dims = _values(op, name) or tuple(range(n + 2))
        labels = [""] * (n + 2)
        for label, d in zip([*letters, *map(str, range(n))], dims, strict=True):
            labels[d] = label
        specs.append(f"[{', '.join(labels)}]")
    ones = (1,) * n
    props = {
        "dimension_numbers": structured("stablehlo.conv", f"{specs[0]}x{specs[1]}->{specs[2]}"),
        "window_strides": ints(stride),
        "padding": _pairs(_values(op, "low"), _values(op, "high")),
        "lhs_dilation": ints(_values(op, "base_dilation") or ones),
        "rhs_dilation": ints(_values(op, "dilation") or ones),
        "feature_group_count": number(_number(op, "groups")),
        "batch_group_count": number(1),
    }
    return [w.one("convolution", list(op.operands), op.results[0].type, **props)]


def _windows(w: Writer, x: Any, kind: str, type: Any, window: Any, stride: Any, low: Any, high: Any, dilation: Any) -> Any:
    element = element_of(x)
    init = w.constant(identity(kind, element), element)
    props = {
        "window_dimensions": ints(window),
        "window_strides": ints(stride),
        "window_dilations": ints(dilation),
        "padding": _pairs(low, high),
    }
    return w.op("reduce_window", [x, init], [type], [w.combining(element, MONOIDS[kind])], **props)[0]


def _reduce_window(w: Writer, op: Any) -> Any:
    rows = [_values(op, name) for name in ("window", "stride", "low", "high", "dilation")]
    return [_windows(w, op.operands[0], _word(op, "kind"), op.results[0].type, *rows)]


def _recurrence(w: Writer, op: Any) -> Any:
    factor, term = op.operands
    dim, is_reverse = _number(op, "dim"), _word(op, "direction") == "reverse"
    shape, element = shape_of(term), element_of(term)
    if 0 in shape:
        return [term]
    sizes = [1 if d == dim else n for d, n in enumerate(shape)]
    row = tensor_type(element, sizes)
    zeros = w.broadcast(w.constant(0, element), (), sizes)
    start = [w.constant(np.int64(0), i64), zeros, term, factor, term]

    def body(w: Writer, k: Any, before: Any, y: Any, factor: Any, term: Any) -> Any:
        zero, one = w.constant(np.int64(0), i64), w.constant(np.int64(1), i64)
        at = w.one("subtract", [w.constant(np.int64(shape[dim] - 1), i64), k]) if is_reverse else k
        offsets = [at if d == dim else zero for d in range(len(shape))]
        a, t = (w.one("dynamic_slice", [x, *offsets], row, slice_sizes=ints(sizes)) for x in (factor, term))
        found = w.one("add", [w.one("multiply", [a, before]), t])
        return [w.one("add", [k, one]), found, w.one("dynamic_update_slice", [y, found, *offsets]), factor, term]

    types = [v.type for v in start]
    test = w.region(types, lambda w, k, *_: [w.compare("LT", k, w.constant(np.int64(shape[dim]), i64))])
    return [w.op("while", start, types, [test, w.region(types, body)])[2]]


def _extremes(w: Writer, op: Any, carried: Sequence[Any]) -> Sequence[Any]:
    """Elements of arrays where each window of the first operand has its first extreme; -1 and 0 for a window without one.

    The first of these arrays are the indices of elements.
    """
    x, kind = op.operands[0], _word(op, "kind")
    window, stride, low, high, dilation = (_values(op, name) for name in ("window", "stride", "low", "high", "dilation"))
    arrays = [x, *carried]
    elements = [element_of(v) for v in arrays]
    inits = [w.constant(identity(kind, elements[0]), elements[0]), w.constant(np.int64(-1), i64)]
    inits += [w.constant(0, element) for element in elements[2:]]
    scalars = [tensor_type(element, ()) for element in elements]

    def body(w: Writer, *given: Any) -> Any:
        one, two = given[: len(arrays)], given[len(arrays) :]
        beyond = w.compare("GT" if kind == "max" else "LT", one[0], two[0])
        nan, other = (w.compare("NE", v[0], v[0]) for v in (one, two))
        beyond = w.one("or", [beyond, w.one("and", [nan, w.one("not", [other])])])
        equal = w.one("or", [w.compare("EQ", one[0], two[0]), w.one("and", [nan, other])])
        is_first = w.one("or", [beyond, w.one("and", [equal, w.compare("LT", one[1], two[1])])])
        return [w.select(is_first, a, b) for a, b in zip(one, two, strict=True)]

    n = [(size + a + b - (k - 1) * d - 1) // s + 1
         for size, a, b, k, d, s in zip(shape_of(x), low, high, window, dilation, stride, strict=True)]  # fmt: skip
    props = {
        "window_dimensions": ints(window),
        "window_strides": ints(stride),
        "window_dilations": ints(dilation),
        "padding": _pairs(low, high),
    }
    types = [tensor_type(element, n) for element in elements]
    return list(w.op("reduce_window", [*arrays, *inits], types, [w.region([*scalars, *scalars], body)], **props))


def _element_numbers(w: Writer, x: Any) -> Any:
    return w.reshape(w.iota((prod(shape_of(x)),), 0, i64), shape_of(x))


def _window_pick(w: Writer, op: Any) -> Any:
    x, t = op.operands
    return [_extremes(w, op, [_element_numbers(w, x), t])[2]]


def _window_put(w: Writer, op: Any) -> Any:
    x, t = op.operands
    shape, element = shape_of(x), element_of(t)
    index = _extremes(w, op, [_element_numbers(w, x)])[1]
    count = prod(shape_of(t))
    flat = w.broadcast(w.constant(0, element), (), (prod(shape),))
    text = "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
    props = {
        "scatter_dimension_numbers": structured("stablehlo.scatter", text),
        "indices_are_sorted": flag(False),
        "unique_indices": flag(False),
    }
    # an index of -1 is outside: its element is dropped
    operands = [flat, w.reshape(index, (count, 1)), w.reshape(t, (count,))]
    return [w.reshape(w.op("scatter", operands, [flat.type], [w.combining(element, "add")], **props)[0], shape)]


def _scan(w: Writer, op: Any) -> Any:
    x, dim, kind = op.operands[0], _number(op, "dim"), _word(op, "kind")
    shape = shape_of(x)
    n = shape[dim]
    if not n:
        return [x]
    ones = [1] * len(shape)
    low, high, window = [0] * len(shape), [0] * len(shape), list(ones)
    window[dim] = n
    exclusive = int(_word(op, "bound") == "exclusive")
    sides = (n - 1 + exclusive, -exclusive)
    low[dim], high[dim] = sides if _word(op, "direction") == "forward" else sides[::-1]
    return [_windows(w, x, kind, op.results[0].type, window, ones, low, high, ones)]


def _indices(w: Writer, op: Any, first: int) -> tuple[Any, dict[str, Any]]:
    """Index vectors, and what a gather and a scatter say of their dims."""
    at, batch, window = (_values(op, name) for name in ("at", "batch", "window"))
    starts = list(op.operands[first:])
    shape = shape_of(starts[0])
    vectors = w.concatenate([w.reshape(s, (*shape, 1)) for s in starts], len(shape))
    x = op.operands[0]
    sizes = [1 if d in batch else (window[at.index(d)] if window else 1) if d in at else n for d, n in enumerate(shape_of(x))]
    dropped = [] if window else sorted(at)
    kept = [d for d in range(len(sizes)) if d not in batch and d not in dropped]
    points = len(shape)
    facts = {
        "sizes": sizes,
        "dropped": dropped,
        "window": list(range(points, points + len(kept))),
        "at": list(at),
        "batch": list(batch),
        "of_indices": list(range(len(batch))),
        "vector": points,
    }
    return vectors, facts


def _gather(w: Writer, op: Any) -> Any:
    vectors, f = _indices(w, op, 1)
    text = (
        f"offset_dims = {f['window']}, collapsed_slice_dims = {f['dropped']}, operand_batching_dims = {f['batch']}, "
        f"start_indices_batching_dims = {f['of_indices']}, start_index_map = {f['at']}, index_vector_dim = {f['vector']}"
    )
    numbers = structured("stablehlo.gather", text)
    props = {"dimension_numbers": numbers, "slice_sizes": ints(f["sizes"]), "indices_are_sorted": flag(False)}
    return [w.one("gather", [op.operands[0], vectors], op.results[0].type, **props)]


def _scatter(w: Writer, op: Any) -> Any:
    vectors, f = _indices(w, op, 2)
    kind = _word(op, "kind")
    text = (
        f"update_window_dims = {f['window']}, inserted_window_dims = {f['dropped']}, input_batching_dims = {f['batch']}, "
        f"scatter_indices_batching_dims = {f['of_indices']}, scatter_dims_to_operand_dims = {f['at']}, "
        f"index_vector_dim = {f['vector']}"
    )
    scalar = tensor_type(element_of(op.operands[0]), ())
    if kind == "set":
        body = w.region([scalar, scalar], lambda w, a, b: [b])
    else:
        body = w.combining(element_of(op.operands[0]), MONOIDS[kind])
    props = {
        "scatter_dimension_numbers": structured("stablehlo.scatter", text),
        "indices_are_sorted": flag(False),
        "unique_indices": flag(False),
    }
    return w.op("scatter", [op.operands[0], vectors, op.operands[1]], [op.results[0].type], [body], **props)


def _sorted(w: Writer, arrays: Sequence[Any], keys: int) -> Any:
    """A stable sort along the last dim, NaN last, zeros of either sign equal."""
    scalars = [tensor_type(element_of(x), ()) for x in arrays for _ in range(2)]

    def body(w: Writer, *given: Any) -> Any:
        found = None
        for k in reversed(range(keys)):
            a, b = (_sort_key(w, v) for v in given[2 * k : 2 * k + 2])
            less = w.compare("LT", a, b, total=True)
            found = less if found is None else w.one("or", [less, w.one("and", [w.compare("EQ", a, b, total=True), found])])
        return [found]

    props = {"dimension": number(len(shape_of(arrays[0])) - 1), "is_stable": flag(True)}
    return w.op("sort", arrays, [x.type for x in arrays], [w.region(scalars, body)], **props)


def _sort_key(w: Writer, v: Any) -> Any:
    if numpy_dtype(element_of(v)).kind != "f":
        return v
    zero = w.full(0, v)
    v = w.select(w.compare("EQ", v, zero), zero, v)
    return w.select(w.compare("NE", v, v), w.full(np.nan, v), v)


def _sort(w: Writer, op: Any) -> Any:
    return list(_sorted(w, list(op.operands), _number(op, "keys")))


def _argsort(w: Writer, op: Any) -> Any:
    shape = shape_of(op.operands[0])
    places = w.iota(shape, len(shape) - 1, i64)
    return [_sorted(w, [*op.operands, places], len(op.operands))[-1]]


def _top_k(w: Writer, op: Any) -> Any:
    values = op.results[0].type
    indices = tensor_type(i32, tuple(values.get_shape()))
    found = w.op("chlo.top_k", list(op.operands), [values, indices], k=number(_number(op, "k")))
    return [found[0], w.convert(found[1], i64)]


def _fft(w: Writer, op: Any) -> Any:
    x, dim = op.operands[0], _number(op, "dim")
    rank, n = len(shape_of(x)), shape_of(x)[dim]
    order = [*(d for d in range(rank) if d != dim), dim]
    moved = w.transpose(x, order)
    inverse = _word(op, "direction") == "inverse"
    kind = enumerated("stablehlo.fft_type", "IFFT" if inverse else "FFT")
    y = w.one("fft", [moved], fft_type=kind, fft_length=ints([n]))
    if inverse:  # which is not scaled here
        y = w.one("multiply", [y, w.full(n, y)])
    return [w.transpose(y, [order.index(d) for d in range(rank)])]


def _as_pairs(w: Writer, op: Any) -> Any:
    z = op.operands[0]
    shape = shape_of(z)
    part = tensor_type(element_of(op.results[0]), shape)
    parts = [w.reshape(w.one(name, [z], part), (*shape, 1)) for name in ("real", "imag")]
    return [w.concatenate(parts, len(shape))]


def _from_pairs(w: Writer, op: Any) -> Any:
    x = op.operands[0]
    shape = shape_of(x)[:-1]
    parts = []
    for k in range(2):
        row = w.slice(x, [0] * len(shape) + [k], [*shape, k + 1])
        parts.append(w.reshape(row, shape))
    return [w.one("complex", parts, op.results[0].type)]


def _interleave(w: Writer, op: Any) -> Any:
    shape = shape_of(op.operands[0])
    return [w.concatenate([w.reshape(x, (*shape, 1)) for x in op.operands], len(shape))]


_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def _threefry(w: Writer, op: Any) -> Any:
    k0, k1, x, y = op.operands
    keys = [k0, k1, w.one("xor", [w.one("xor", [k0, k1]), w.full(0x1BD11BDA, k0)])]
    x, y = w.one("add", [x, k0]), w.one("add", [y, k1])
    for block in range(5):
        for by in _ROTATIONS[block % 2]:
            x = w.one("add", [x, y])
            up, down = w.one("shift_left", [y, w.full(by, y)]), w.one("shift_right_logical", [y, w.full(32 - by, y)])
            y = w.one("xor", [x, w.one("or", [up, down])])
        x = w.one("add", [x, keys[(block + 1) % 3]])
        y = w.one("add", [w.one("add", [y, keys[(block + 2) % 3]]), w.full(block + 1, y)])
    word = _word(op, "word")
    return [x if word == "first" else y if word == "second" else w.one("xor", [x, y])]


def _names(op: Any, name: str) -> Any:
    found = op.properties[name]
    return found.root_reference.data if hasattr(found, "root_reference") else [each.root_reference.data for each in found]


def _call(w: Writer, op: Any) -> Any:
    return list(w.call(_names(op, "callee"), list(op.operands), [r.type for r in op.results]))


def _case(w: Writer, op: Any) -> Any:
    index, *arguments = op.operands
    types, branches = [r.type for r in op.results], _names(op, "branches")
    if element_of(index) == i1:
        index = w.convert(index, i32)
    else:  # one past the end is the last here and there; below 0 it is the first here
        low = w.constant(np.int64(0), i64)
        high = w.constant(np.int64(len(branches) - 1), i64)
        index = w.convert(w.one("minimum", [w.one("maximum", [index, low]), high]), i32)
    regions = [w.region((), lambda w, name=name: w.call(name, arguments, types)) for name in branches]
    return list(w.op("case", [index], types, regions))


def _segments(op: Any) -> list[list[Any]]:
    sizes, found, at = _values(op, "operandSegmentSizes"), [], 0
    for size in sizes:
        found.append(list(op.operands[at : at + size]))
        at += size
    return found


def _while(w: Writer, op: Any) -> Any:
    consts, carried = _segments(op)
    types = [x.type for x in carried]
    test = w.region(types, lambda w, *xs: w.call(_names(op, "condition"), [*consts, *xs], [tensor_type(i1, ())]))
    body = w.region(types, lambda w, *xs: w.call(_names(op, "callee"), [*consts, *xs], types))
    return list(w.op("while", carried, types, [test, body]))


def _for(w: Writer, op: Any) -> Any:
    segments = _segments(op)
    consts, carried, stacks = segments[-3:]
    trips = _number(op, "trips")
    index = tensor_type(i64, ())
    count = w.constant(np.int64(trips), i64) if trips >= 0 else segments[0][0]
    outs = [r.type for r in op.results[len(carried) :]]
    buffers = [w.broadcast(w.constant(0, t.element_type), (), tuple(t.get_shape())) for t in outs]
    start = [w.constant(np.int64(0), i64), count, *carried, *buffers]
    types = [v.type for v in start]
    reverse = "reverse" in op.properties

    def body(w: Writer, i: Any, n: Any, *values: Any) -> Any:
        one = w.constant(np.int64(1), i64)
        zero = w.constant(np.int64(0), i64)
        k = w.one("subtract", [w.one("subtract", [n, one]), i]) if reverse else i
        state, held = values[: len(carried)], values[len(carried) :]
        rows = []
        for stack in stacks:
            sizes = shape_of(stack)[1:]
            row = w.one(
                "dynamic_slice",
                [stack, k, *[zero] * len(sizes)],
                tensor_type(element_of(stack), (1, *sizes)),
                slice_sizes=ints((1, *sizes)),
            )
            rows.append(w.reshape(row, sizes))
        slices = [tensor_type(t.element_type, tuple(t.get_shape())[1:]) for t in outs]
        found = list(w.call(_names(op, "callee"), [k, *consts, *state, *rows], [*types[2 : 2 + len(carried)], *slices]))
        stored = []
        for buffer, row in zip(held, found[len(carried) :], strict=True):
            wide = w.reshape(row, (1, *shape_of(row)))
            stored.append(w.one("dynamic_update_slice", [buffer, wide, k, *[zero] * len(shape_of(row))]))
        return [w.one("add", [i, one]), n, *found[: len(carried)], *stored]

    test = w.region(types, lambda w, i, n, *_: [w.compare("LT", i, n)])
    assert start[0].type == index
    return list(w.op("while", start, types, [test, w.region(types, body)]))[2:]


def _after(w: Writer, op: Any) -> Any:
    return list(w.op("optimization_barrier", list(op.operands), [v.type for v in op.operands]))[:1]


RULES: dict[str, Rule] = {
    **dict.fromkeys(RENAMED, renamed),
    "const": _const,
    "iota": _iota,
    "div": _over_nonzero("divide", "0 over 0"),
    "rem": _over_nonzero("remainder", "0 over 0"),
    "shr": _shr,
    "atan": _atan,
    "gauss": _gauss,
    "sech2": _sech2,
    "cmp": _cmp,
    "select": _select,
    "transpose": _transpose,
    "broadcast": _broadcast,
    "slice": _slice,
    "concat": _concat,
    "pad": _pad,
    "reverse": _reverse,
    "reduce": _reduce,
    "argmax": _arg("max"),
    "argmin": _arg("min"),
    "dot": _dot,
    "conv": _conv,
    "reduce_window": _reduce_window,
    "scan": _scan,
    "recurrence": _recurrence,
    "window_pick": _window_pick,
    "window_put": _window_put,
    "gather": _gather,
    "scatter": _scatter,
    "sort": _sort,
    "argsort": _argsort,
    "top_k": _top_k,
    "fft": _fft,
    "as_pairs": _as_pairs,
    "from_pairs": _from_pairs,
    "interleave": _interleave,
    "threefry2x32": _threefry,
    "call": _call,
    "case": _case,
    "while": _while,
    "for": _for,
    "after": _after,
    "cholesky": factorizations.cholesky,
    "triangular_solve": factorizations.triangular_solve,
    "lu": factorizations.lu,
    "permutation": factorizations.permutation,
    "householder": factorizations.householder,
    "householder_product": factorizations.householder_product,
    "eigh": factorizations.eigh,
    "square_svd": factorizations.square_svd,
    "schur": factorizations.schur,
    "eig": factorizations.eig,
}
"""The translation of each op that has one."""
