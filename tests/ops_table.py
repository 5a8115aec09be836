"""Every graph op in the cases worth testing: types, properties, the values it is tested on, and how exact it must be."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from lamina.dialects.element_types import TABLE, Kind
from lamina.dialects.graph import OPS
from lamina.dialects.graph.builder import dense
from lamina.dialects.types import numpy_dtype, tensor
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

ELEMENTS = {row.name: row.type for row in TABLE if not row.is_stored}
FLOATS = tuple(row.name for row in TABLE if row.kind is Kind.FLOAT and row.name in ELEMENTS)
INDICES = ("i32", "i64")
INTS = tuple(row.name for row in TABLE if row.kind in (Kind.SIGNED, Kind.UNSIGNED) and not row.is_stored)
NUMBERS = (*FLOATS, *INTS)
INTEGERS = (*INTS, "i1")
COMPLEX = ("c64", "c128")
"""As no type is called in MLIR: an x parts sizes."""
ELEMENTS = {name: type for name, type in ELEMENTS.items() if numpy_dtype(type).kind != "c"}
ALL = tuple(ELEMENTS)
ELEMENTS |= {row.dtype.name.replace("complex", "c"): row.type for row in TABLE if row.kind is Kind.COMPLEX}

Scale = Callable[..., Any]


@dataclass(frozen=True)
class Row:
    """One op on operands of given types.

    Attributes:
        op: name without `graph.`.
        operands: types as in `tensor<...>`, without the word: `2x3xf32`.
        props: properties, as `GraphBuilder` takes them.
        result: the declared type, for the ops whose result shape or dtype is not inferred.
        domain: normal inputs are drawn from here (integers too, when it is given).
        ulp: how far a float result may be from `evaluate`, in units in the last place.
        scale: of the operands, the magnitude at which such a unit is taken when the result is smaller (sums that cancel).
        edges: `all` values; `tame` leaves out the largest (a sum may overflow in one order and not in another); `simple` also
            leaves out what underflows in products; `none`.
        zeros: whether the sign of a zero is defined.
        prepare: makes the operands of what was drawn.
    """

    op: str
    operands: tuple[str, ...] = ()
    props: Mapping[str, Any] = field(default_factory=dict)
    result: str | None = None
    domain: tuple[float, float] | None = None
    ulp: float = 0
    scale: Scale | None = None
    edges: str = "all"
    zeros: bool = True
    prepare: Callable[..., Sequence[np.ndarray]] | None = None

    def __str__(self) -> str:
        props = (v if isinstance(v, str) else "_".join(map(str, v)) if isinstance(v, tuple) else v for v in self.props.values())
        words = [self.op, *(str(p) for p in props if isinstance(p, str | int)), *self.operands, self.result or ""]
        return "-".join(word for word in words if word != "")


def type_of(text: str) -> TensorType:
    """`2x3xf32` as a tensor type."""
    *shape, element = text.split("x")
    return tensor(ELEMENTS[element], [int(n) for n in shape])


def make_module(*rows: Row) -> ModuleOp:
    """`func.func @main` of the ops of rows: their operands one after the other, and so their results."""
    types = [type_of(text) for row in rows for text in row.operands]
    block = Block(arg_types=types)
    values, results = iter(block.args), []
    for row in rows:
        declared = None if row.result is None else (type_of(row.result),)
        op = OPS[row.op].make([next(values) for _ in row.operands], row.props, declared)
        block.add_op(op)
        results += op.results
    block.add_op(ReturnOp(*results))
    return ModuleOp([FuncOp("main", (types, [r.type for r in results]), Region(block))])


def op_of(row: Row) -> Any:
    """The op of a row."""
    return next(iter(make_module(row).body.block.first_op.body.block.ops))  # pyright: ignore


def make_text(row: Row) -> str:
    return str(make_module(row))


# --------------------------------------------------------------------------------------------------------------------
# Inputs


def edge_values(dtype: np.dtype, edges: str) -> np.ndarray:
    """Values where formulas go wrong."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        numbers = [0, 1, -1, 2, -2, 7, -33, limits.min, limits.min + 1, limits.max, limits.max - 1]
        return np.array([n for n in numbers if n >= limits.min], dtype)
    if dtype.kind == "c":
        parts = edge_values(np.empty(0, dtype).real.dtype, edges)
        return np.array([complex(x, y) for x in parts for y in parts[::-1]], dtype)
    limits = np.finfo(dtype)
    simple = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, math.inf, -math.inf, math.nan]
    tame = [2.5, -3.5, 0.1, limits.tiny, -limits.smallest_subnormal, limits.smallest_subnormal, 2.0**-20]
    large = [limits.max, limits.min, 2.0**31, -(2.0**31), 2.0**63, 1e10]
    return np.array(simple + (tame if edges != "simple" else []) + (large if edges == "all" else []), dtype)


def _normal(row: Row, dtype: np.dtype, shape: Sequence[int], rng: np.random.Generator) -> np.ndarray:
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind == "c":
        part = np.empty(0, dtype).real.dtype
        return np.asarray(_normal(row, part, shape, rng) + 1j * _normal(row, part, shape, rng), dtype)
    low, high = row.domain or (-4, 4) if dtype.kind == "f" else row.domain or (-100, 100)
    if dtype.kind in "iu":
        low = max(int(low), np.iinfo(dtype).min)
        return np.asarray(rng.integers(low, int(high), shape, endpoint=True), dtype)
    return np.asarray(rng.uniform(low, high, shape), dtype)


def inputs(row: Row, rng: np.random.Generator, kind: str) -> list[np.ndarray]:
    """Arguments of a row's @main: `normal` ones, or `edge` ones.

    Edges of elementwise ops meet in all combinations that there is room for; elsewhere they are strewn among normal values.
    """
    types = [type_of(text) for text in row.operands]
    dtypes, shapes = [numpy_dtype(t.element_type) for t in types], [t.get_shape() for t in types]
    arrays = [_normal(row, dtype, shape, rng) for dtype, shape in zip(dtypes, shapes, strict=True)]
    if row.prepare is not None:
        arrays = [np.asarray(a, dtype) for a, dtype in zip(row.prepare(*arrays), dtypes, strict=True)]
    if kind == "normal" or row.edges == "none":
        return arrays
    edges = [edge_values(dtype, row.edges) for dtype in dtypes]
    if OPS[row.op].batching == "elementwise":
        grids = [np.resize(rng.permutation(grid.ravel()), shapes[0]) for grid in edges]
        if math.prod(shapes[0]) >= math.prod(map(len, edges)):
            grids = [np.resize(grid, shapes[0]) for grid in np.meshgrid(*edges)]
        return [np.asarray(grid, dtype) for grid, dtype in zip(grids, dtypes, strict=True)]
    share = rng.choice([0.05, 0.5])
    return [
        np.asarray(np.where(rng.uniform(size=a.shape) < share, rng.choice(values, a.shape), a), a.dtype)
        for a, values in zip(arrays, edges, strict=True)
    ]


def _finite(x: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(x), np.abs(x), 0)


def _largest(*operands: np.ndarray) -> Any:
    """The largest finite magnitude of the first operand, at least 1."""
    return _finite(operands[0]).max(initial=1)


def _magnitudes(*operands: np.ndarray) -> Any:
    """The sum of the finite magnitudes of the first operand, at least 1."""
    return max(1, _finite(operands[0]).sum())


# --------------------------------------------------------------------------------------------------------------------
# Comparison


def unit(values: np.ndarray) -> np.ndarray:
    """The distance to the next float, in f64 (of f64 values near the largest one it is halved, not infinite)."""
    return np.spacing(np.abs(values)).astype(np.longdouble)


def check(got: np.ndarray, want: np.ndarray, row: Row, args: Sequence[np.ndarray]) -> None:
    """Equal dtypes and shapes, values within the row's ulp, NaN where NaN is wanted."""
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    if want.dtype.kind == "c":
        check_complex(got, want, row, args)
        return
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    with np.errstate(all="ignore"):
        magnitude = np.abs(want)
        if row.scale is not None:
            magnitude = np.maximum(magnitude, np.asarray(row.scale(*args), want.dtype))
        error = np.abs(got.astype(np.longdouble) - want) / unit(magnitude)
    close = same | (np.isfinite(got) & np.isfinite(want) & (error <= row.ulp))
    if row.zeros:
        close &= (got != 0) | (want != 0) | (np.signbit(got) == np.signbit(want))
    if close.all():
        return
    at = tuple(int(k) for k in np.argwhere(~close)[0])
    there = [a[at] for a in args if a.shape == want.shape]
    raise AssertionError(
        f"{(~close).sum()} of {close.size} differ, first at {at}: got {got[at]!r}, want {want[at]!r}, {error[at]:.3g} ulp"
        f" of {row.ulp}, operands {there}\n{make_text(row)}"
    )


def check_complex(got: np.ndarray, want: np.ndarray, row: Row, args: Sequence[np.ndarray]) -> None:
    """What is exact is so in both parts; else the distance in the plane counts, since parts may cancel."""
    if not row.ulp:
        for x, y in ((got.real, want.real), (got.imag, want.imag)):
            check(x, y, row, args)
        return
    magnitude = np.abs(want) if row.scale is None else np.maximum(np.abs(want), np.asarray(row.scale(*args), want.real.dtype))
    error = np.abs(got.astype(np.clongdouble) - want) / unit(magnitude)
    assert (error <= row.ulp).all(), f"{error.max():.3g} ulp of {row.ulp}\n{make_text(row)}"


# --------------------------------------------------------------------------------------------------------------------
# Rows

DEEP = "2x1x3x1x5x1x1x2x"
"""A shape of rank 8."""
SIZES = ("", "1x", "0x", "7x", "33x", "3x0x2x", DEEP)
"""Shapes of elementwise ops: scalars, none, less than a vector, vectors and a rest, several dims."""
PAIRS = "25x25x"
"""A shape with room for all pairs of edge values."""
TRIPLE = "2x3x7x"
APPROXIMATE = 6
"""Ulp between two implementations of an elementary function, each within a few of the truth."""
SUM = 24
"""Ulp between two orders of adding."""


def _elementwise(name: str, arity: int, elements: Sequence[str], pairs: str = PAIRS, **more: Any) -> Iterator[Row]:
    for element in elements:
        yield Row(name, (pairs + element,) * arity, **more)
    for size, element in zip(SIZES, itertools.cycle(elements), strict=False):
        yield Row(name, (size + element,) * arity, **more)


def _unary(names: Sequence[str], elements: Sequence[str], **more: Any) -> Iterator[Row]:
    for name in names:
        yield from _elementwise(name, 1, elements, "65x", **more)


def _binary(names: Sequence[str], elements: Sequence[str], **more: Any) -> Iterator[Row]:
    for name in names:
        yield from _elementwise(name, 2, elements, **more)


def _compare() -> Iterator[Row]:
    for predicate in ("eq", "ne", "lt", "le", "gt", "ge"):
        for element in ALL:
            yield Row("cmp", (PAIRS + element,) * 2, {"predicate": predicate}, domain=(-2, 2) if element in INTS else None)
        yield from (Row("cmp", (size + "f64",) * 2, {"predicate": predicate}, domain=(-2, 2)) for size in SIZES)


def _select() -> Iterator[Row]:
    for element in ALL:
        yield Row("select", ("65xi1", "65x" + element, "65x" + element))
    yield from (Row("select", (size + "i1", size + "f32", size + "f32")) for size in SIZES)


def _convert() -> Iterator[Row]:
    for source, target in itertools.product(ALL, ALL):
        yield Row("convert", ("65x" + source,), {}, "65x" + target)
    yield from (Row("convert", (size + "f64",), {}, size + "i32") for size in SIZES)


def _bits() -> Iterator[Row]:
    for name in ("shl", "shr"):
        yield from _binary((name,), INTS)
        for element in INTS:
            yield Row(name, ("35x" + element,) * 2, domain=(-3, 70), edges="none")
    yield from _unary(("popcount", "clz"), INTS)
    for word in ("first", "second", "xor"):
        for size in ("65x", *SIZES):
            yield Row("threefry2x32", (size + "ui32",) * 4, {"word": word}, domain=(0, 1 << 31))
    width = {element: 1 if element == "i1" else numpy_dtype(type).itemsize * 8 for element, type in ELEMENTS.items()}
    for source, target in itertools.product(ALL, ALL):
        if width[source] == width[target]:
            yield Row("bitcast", ("65x" + source,), {}, "65x" + target)
    yield from (Row("bitcast", (size + "f32",), {}, size + "ui32") for size in SIZES)


def _create() -> Iterator[Row]:
    for element in ALL:
        values = edge_values(numpy_dtype(ELEMENTS[element]), "all")
        splat = np.full((3, 5), values[-1])
        for array in (values, values[:1].reshape(()), splat, values[:0], np.tile(values, (9, 7))):
            shape = "".join(f"{n}x" for n in array.shape)
            yield Row("const", (), {"value": dense(array)}, shape + element)
    for element in NUMBERS:
        yield from (Row("iota", (), {"dim": 0}, size + element) for size in ("33x", "1x", "0x", "5x7x"))
        yield Row("iota", (), {"dim": 1}, "3x33x" + element)
        yield Row("iota", (), {"dim": 2}, "2x3x9x" + element)
        yield from (Row("dim", (), {"of": (size,)}, element) for size in (0, 1, 33))


def _shape() -> Iterator[Row]:
    for source, target in (("2x6x", "3x4x"), ("", "1x1x"), ("1x", ""), ("0x3x", "5x0x"), ("33x", "3x11x"), ("5x7x", "35x")):
        yield Row("reshape", (source + "f32",), {}, target + "f32")
    for x, perm in (("", ()), ("7x", (0,)), ("5x33x", (1, 0)), ("2x3x7x", (2, 0, 1)), ("2x3x7x", (0, 2, 1)), ("0x3x", (1, 0))):
        yield Row("transpose", (x + "f32",), {"perm": perm})
    yield Row("transpose", ("2x1x3x9xf64",), {"perm": (3, 1, 0, 2)})
    for x, dims, y in (
        ("", (), "33x"),
        ("", (), ""),
        ("", (), "2x3x"),
        ("7x", (1,), "5x7x"),
        ("7x", (0,), "7x33x"),
        ("1x", (0,), "9x"),
        ("5x1x", (0, 2), "5x2x33x"),
        ("1x", (0,), "0x"),
        ("0x", (1,), "3x0x"),
    ):
        yield Row("broadcast", (x + "f32",), {"dims": dims}, y + "f32")
    for x, start, stop, step in (
        ("", (), (), ()),
        ("33x", (0,), (33,), (1,)),
        ("33x", (1,), (32,), (3,)),
        ("33x", (5,), (5,), (1,)),
        ("5x9x", (1, 0), (5, 8), (2, 3)),
        ("2x3x40x", (0, 1, 3), (2, 3, 39), (1, 1, 1)),
        ("0x4x", (0, 1), (0, 3), (1, 1)),
    ):
        yield Row("slice", (x + "f32",), {"start": start, "stop": stop, "step": step})
    for parts, dim in (
        (("7x",), 0),
        (("7x", "33x"), 0),
        (("2x3x", "1x3x", "4x3x"), 0),
        (("2x3x", "2x0x", "2x33x"), 1),
        (("0x", "0x"), 0),
        (("2x3x5x", "2x1x5x"), 1),
    ):
        yield Row("concat", tuple(p + "f32" for p in parts), {"dim": dim})
    for x, low, high, interior in (
        ("", (), (), ()),
        ("7x", (1,), (2,), (0,)),
        ("33x", (0,), (0,), (0,)),
        ("7x", (3,), (1,), (2,)),
        ("7x", (-2,), (-1,), (0,)),
        ("7x", (-2,), (-3,), (2,)),
        ("3x4x", (-1, 1), (1, -2), (0, 0)),
        ("3x5x", (1, -2), (0, 3), (1, 2)),
        ("0x", (2,), (3,), (1,)),
        ("1x", (-1,), (0,), (5,)),
        ("3x", (-7,), (9,), (0,)),
    ):
        yield Row("pad", (x + "f32", "f32"), {"low": low, "high": high, "interior": interior})
    for x, dims in (("7x", (0,)), ("33x", (0,)), ("5x9x", (1,)), ("5x9x", (0, 1)), ("2x3x", ()), ("0x3x", (0,)), ("", ())):
        yield Row("reverse", (x + "f32",), {"dims": dims})
    for element in ("f64", "i32", "i64", "i1"):
        yield Row("reshape", ("2x6x" + element,), {}, "12x" + element)
        yield Row("transpose", ("5x9x" + element,), {"perm": (1, 0)})
        yield Row("broadcast", ("9x" + element,), {"dims": (1,)}, "3x9x" + element)
        yield Row("slice", ("33x" + element,), {"start": (2,), "stop": (31,), "step": (2,)})
        yield Row("concat", ("9x" + element, "7x" + element), {"dim": 0})
        yield Row("after", ("9x" + element, "0x3xf32", element))
        yield Row("pad", ("9x" + element, element), {"low": (1,), "high": (1,), "interior": (1,)})
        yield Row("reverse", ("33x" + element,), {"dims": (0,)})


def _sum_of_magnitudes(dims: tuple[int, ...]) -> Scale:
    return lambda x: np.add.reduce(_finite(x), axis=dims)


def _at_times(shapes: Sequence[Any], elements: Sequence[str], each: int = 3) -> Iterator[tuple[Any, str]]:
    """Each of the shapes with the next so many of the element types, which take turns; the first ones with all of them."""
    turns = itertools.cycle(elements)
    for k, shape in enumerate(shapes):
        for element in elements if k == 0 else dict.fromkeys(itertools.islice(turns, each)):
            yield shape, element


def _reduce() -> Iterator[Row]:
    shapes: tuple[tuple[str, tuple[int, ...]], ...] = (
        ("33x", (0,)),
        ("1x", (0,)),
        ("0x", (0,)),
        ("5x33x", (1,)),
        ("33x7x", (0,)),
        (TRIPLE, (0, 2)),
        (TRIPLE, (1,)),
        (TRIPLE, (0, 1, 2)),
        (TRIPLE, ()),
        ("0x3x", (0,)),
        ("0x3x", (1,)),
        ("", ()),
        ("1000x", (0,)),
    )
    for kind, elements, more in (
        ("add", NUMBERS, {"ulp": SUM, "edges": "tame"}),
        ("mul", NUMBERS, {"ulp": SUM, "edges": "simple", "domain": (0.9, 1.1)}),
        ("max", ALL, {}),
        ("min", ALL, {}),
        ("and", INTEGERS, {}),
        ("or", INTEGERS, {}),
    ):
        for (x, dims), element in _at_times(shapes, elements, 4):
            scale = {"scale": _sum_of_magnitudes(dims)} if kind == "add" and element in FLOATS else {}
            own = {**more, "domain": (-9, 9)} if element in INTS and kind == "mul" else {**more}
            if kind == "mul" and x == "1000x":
                own["ulp"] = 1000
            yield Row("reduce", (x + element,), {"kind": kind, "dims": dims}, zeros=False, **own, **scale)
    positions = (("33x", 0), ("1x", 0), ("5x33x", 1), ("33x7x", 0), (TRIPLE, 1), ("0x3x", 1))
    for name in ("argmax", "argmin"):
        for (x, dim), element in _at_times(positions, ALL):
            yield Row(name, (x + element,), {"dim": dim}, domain=(-3, 3) if element in INTS else None)


def _dot() -> Iterator[Row]:
    products = (
        ("5x7x", "7x33x", ((), (), (1,), (0,))),
        ("33x33x", "33x33x", ((), (), (1,), (0,))),
        ("7x5x", "33x7x", ((), (), (0,), (1,))),
        ("7x5x", "33x5x", ((), (), (1,), (1,))),
        ("7x", "7x", ((), (), (0,), (0,))),
        ("33x", "7x", ((), (), (), ())),
        ("", "", ((), (), (), ())),
        ("", "7x", ((), (), (), ())),
        ("5x33x", "33x", ((), (), (1,), (0,))),
        ("33x", "33x7x", ((), (), (0,), (0,))),
        ("3x2x5x", "3x5x9x", ((0,), (0,), (2,), (1,))),
        ("2x5x3x", "3x4x5x", ((1,), (2,), (2,), (0,))),
        ("2x4x3x", "4x3x2x", ((0, 1), (2, 0), (2,), (1,))),
        ("2x3x4x", "4x5x3x", ((), (), (1, 2), (2, 0))),
        ("7x", "7x", ((0,), (0,), (), ())),
        ("5x0x", "0x3x", ((), (), (1,), (0,))),
        ("0x4x", "4x3x", ((), (), (1,), (0,))),
        ("1x1x", "1x1x", ((), (), (1,), (0,))),
    )
    for (lhs, rhs, dims), element in _at_times(products, NUMBERS, 5):
        props = dict(zip(("lhs_batch", "rhs_batch", "lhs_contract", "rhs_contract"), dims, strict=True))
        row = Row("dot", (lhs + element, rhs + element), props, ulp=SUM, edges="simple", zeros=False)
        if element in INTS:
            yield row
            continue

        def scale(x: np.ndarray, y: np.ndarray, row: Row = row) -> np.ndarray:
            return op_of(row).evaluate(_finite(x), _finite(y))[0]

        yield Row("dot", row.operands, props, ulp=SUM, scale=scale, edges="simple", zeros=False)


def _index() -> Iterator[Row]:
    """Indices lie inside and outside: -2 is before the first element, 11 after the last."""
    places: tuple[tuple[str, tuple[str, ...], dict[str, Any], str], ...] = (
        ("9x4x", ("5x",), {"at": (0,)}, "5x4x"),
        ("9x33x", ("7x",), {"at": (0,)}, "7x33x"),
        ("9x", ("2x3x",), {"at": (0,)}, "2x3x"),
        ("5x9x", ("33x",), {"at": (1,)}, "33x5x"),
        ("9x4x2x", ("3x", "3x"), {"at": (2, 0)}, "3x4x"),
        ("9x4x", ("",), {"at": (0,)}, "4x"),
        ("9x4x", ("", ""), {"at": (0, 1), "window": (2, 3)}, "2x3x"),
        ("9x40x", ("3x",), {"at": (1,), "window": (33,)}, "3x9x33x"),
        ("9x4x", ("3x",), {"at": (0,), "window": (0,)}, "3x0x4x"),
        ("3x9x", ("3x7x",), {"at": (1,), "batch": (0,)}, "3x7x"),
        ("3x9x2x4x", ("4x3x5x",), {"at": (1,), "batch": (3, 0)}, "4x3x5x2x"),
        ("3x9x", ("3x2x",), {"at": (1,), "window": (4,), "batch": (0,)}, "3x2x4x"),
        ("9x4x", ("0x",), {"at": (0,)}, "0x4x"),
        ("9x64x", ("40x",), {"at": (0,)}, "40x64x"),
    )
    kinds = itertools.cycle(("set", "add", "mul", "max", "min"))
    for (x, indices, props, updates), element in itertools.product(places, ("f32", "i64")):
        ids = tuple(i + integer for i, integer in zip(indices, itertools.cycle(INDICES), strict=False))
        yield Row("gather", (x + element, *ids), props, domain=(-2, 11))
        for kind in (next(kinds), next(kinds)):
            more = {"kind": kind, **props}
            yield Row(
                "scatter", (x + element, updates + element, *ids), more, domain=(-2, 11), zeros=kind not in ("max", "min")
            )
    for element in ("f64", "i32", "i1"):
        yield Row("gather", ("9x4x" + element, "5xi32"), {"at": (0,)}, domain=(-2, 11))
        yield Row("scatter", ("9x4x" + element, "5x4x" + element, "5xi32"), {"kind": "set", "at": (0,)}, domain=(-2, 11))
    for ids, table in (("33x", "9x7x"), ("2x3x", "9x64x"), ("", "9x4x"), ("0x", "9x4x"), ("5x", "1x3x")):
        for element, integer in zip(("f32", "f64"), INDICES, strict=True):
            yield Row("embedding", (ids + integer, table + element), domain=(-2, 11))


def _scan() -> Iterator[Row]:
    ways = itertools.cycle(itertools.product(("forward", "reverse"), ("inclusive", "exclusive")))
    shapes = (
        ("33x", 0),
        ("1x", 0),
        ("0x", 0),
        ("5x33x", 1),
        ("33x7x", 0),
        ("17x64x", 0),
        (TRIPLE, 1),
        ("0x3x", 1),
        ("1000x", 0),
    )
    for kind, elements in (("add", NUMBERS), ("mul", NUMBERS), ("max", ALL), ("min", ALL)):
        for (x, dim), element in _at_times(shapes, elements):
            direction, bound = next(ways)
            props = {"kind": kind, "dim": dim, "direction": direction, "bound": bound}
            # more than 128 floats are added in blocks, for smaller errors: docs/semantics.md
            blocked: dict[str, Any] = {"ulp": SUM, "scale": _magnitudes} if kind == "add" and x == "1000x" else {}
            yield Row("scan", (x + element,), props, zeros=kind not in ("max", "min"), **blocked)
    for (x, dim), element in itertools.product(shapes, FLOATS):
        props = {"dim": dim, "direction": next(ways)[0]}
        more: dict[str, Any] = {"domain": (0.1, 0.9), "edges": "simple", "zeros": False}
        yield Row("recurrence", (x + element,) * 2, props, ulp=SUM, **more)


def _sort() -> Iterator[Row]:
    """Rows of no, one and few elements, as many as are sorted by ranks, one more, in blocks and in lanes; zeros and NaN too."""
    sizes = ("0x", "1x", "2x", "33x", "64x", "65x", "19x20x", "3x0x", "0x3x", "5x7x", "17x67x", "3x130x")
    for size, element in _at_times(sizes, ALL):
        yield Row("sort", (size + element,), {"keys": 1})
    for element in ("f32", "i16"):
        yield Row("sort", ("70000x" + element,), {"keys": 1})
    for size, (one, two) in itertools.product(
        ("33x", "4x90x"), (("i1", "f32"), ("i8", "f64"), ("f64", "ui16"), ("f32", "i64"))
    ):
        yield Row("sort", (size + one, size + two), {"keys": 1}, domain=(-2, 2))
        yield Row("sort", (size + one, size + two, size + "i64"), {"keys": 2}, domain=(-2, 2))
        yield Row("argsort", (size + one, size + two), domain=(-2, 2))
    for size, element in _at_times(("0x", "1x", "2x3x", "33x", "90x", "17x5x", "3x130x", "2x18x67x"), ALL):
        yield Row("argsort", (size + element,), domain=(-2, 2))
    for (size, k), element in _at_times((("7x", 3), ("1x", 1), ("5x", 0), ("0x", 0), ("3x70x", 70), ("5000x", 5)), ALL):
        yield Row("top_k", (size + element,), {"k": k})


def _positive(x: np.ndarray) -> Sequence[np.ndarray]:
    """Symmetric or Hermitian positive definite matrices."""
    n = x.shape[-1]
    return [np.matmul(x, np.conj(np.swapaxes(x, -1, -2))) / max(n, 1) + np.eye(n)]


def _graded(x: np.ndarray, *others: np.ndarray) -> Sequence[np.ndarray]:
    """Matrices with separated eigenvalues and singular values, and pivots below the diagonal."""
    rows, columns = x.shape[-2:]
    return [x / 16 + np.roll(np.diag(4.0 + np.arange(max(rows, columns)))[:rows, :columns], 1, -2), *others]


def _separated(x: np.ndarray, *others: np.ndarray) -> Sequence[np.ndarray]:
    """The same with the large elements on the diagonal."""
    n = x.shape[-1]
    return [x / 16 + np.diag(4.0 + np.arange(n))[: x.shape[-2]], *others]


def _hessenberg(x: np.ndarray) -> Sequence[np.ndarray]:
    """Matrices whose eigenvalues stay where they are found: in which order they come else depends on rounding."""
    n = x.shape[-1]
    return [np.triu(x / 64, -1) + np.diag(4.0 + np.arange(n))]


def _reflectors(x: np.ndarray) -> Sequence[np.ndarray]:
    """Columns of squared length 2 that begin on the diagonal."""
    v = np.tril(x / 64) + np.eye(*x.shape[-2:], dtype=x.dtype)
    return [v * np.sqrt(2 / np.sum(np.square(np.abs(v)), axis=-2, keepdims=True)).astype(v.dtype)]


def _planes_of_reflectors(x: np.ndarray, y: np.ndarray) -> Sequence[np.ndarray]:
    (v,) = _reflectors(x + 1j * y)
    return [np.ascontiguousarray(v.real), np.ascontiguousarray(v.imag)]


def _in_turn(k: int, size: str, *modes: str) -> Sequence[str]:
    """Modes of matrices: all of those of two sizes and of those that are tall or wide, of others one."""
    return modes if size in ("5x5x", "17x17x", "5x3x", "3x5x") else modes[k % 2 :][:1]


def _matrices() -> Iterator[Row]:
    """Stacks of none and of some matrices, of no, one and more elements, as many as a vector and one more, tall and wide."""
    square = ("5x5x", "0x0x", "1x1x", "2x2x", "17x17x", "3x4x4x", "0x3x3x", "2x0x0x", "2x3x6x6x", "1x2x1x1x2x1x3x3x")
    both = (*square, "5x3x", "3x5x", "2x17x4x", "2x1x6x", "0x4x", "4x0x")
    near: dict[str, Any] = {"ulp": SUM, "scale": lambda *x: 2 * _largest(*x), "edges": "none", "zeros": False}
    vectors = near | {"ulp": 8 * SUM}  # they move by the error of the matrix over the gap between two values
    for k, (size, element) in enumerate(_at_times(square, FLOATS, 1)):
        yield Row("cholesky", (size + element,), prepare=_positive, **near)
        yield Row("eigh", (size + element,), prepare=_separated, **vectors)
        for mode in _in_turn(k, size, "values", "vectors"):
            yield Row("square_svd", (size + element,), {"mode": mode}, prepare=_graded, **vectors)
        yield Row("det", (size + element,), prepare=_separated, **near | {"ulp": 4 * SUM})
    for element in FLOATS:
        yield Row("cholesky", ("2x5x5x" + element,), **near)  # not definite
    for element in COMPLEX:
        yield Row("cholesky", ("2x3x3x" + element,), prepare=_positive, **near)
        for op in ("lu", "householder", "det", "eigh"):
            yield Row(op, ("3x3x" + element,), prepare=_separated, **vectors)
        yield Row("square_svd", ("3x3x" + element,), {"mode": "vectors"}, prepare=_graded, **vectors)
        yield Row("householder_product", ("4x3x" + element,), {"columns": 4}, prepare=_reflectors, **near)
        for op in ("qr", "svd"):
            yield Row(op, ("3x2x" + element,), {"mode": "reduced"}, prepare=_graded, **vectors)
        part = ELEMENTS[element].element_type.name
        yield Row("pinv", ("3x2x" + element, part), prepare=lambda x, r: [*_graded(x), 0 * r], **near)
        yield Row("solve", ("3x3x" + element, "3x2x" + element), {"form": "transposed"}, prepare=_separated, **near)
        props = {"side": "upper", "form": "transposed", "diagonal": "given"}
        yield Row("triangular_solve", ("3x3x" + element, "3x2x" + element), props, prepare=_separated, **near)
    for k, (size, element) in enumerate(_at_times(square, FLOATS, 1)):
        for mode in _in_turn(k, size, "values", "vectors"):
            yield Row("eig", (size + element,), {"mode": mode}, prepare=_hessenberg, **vectors)
        for form in _in_turn(k, size, "triangular", "hessenberg"):
            yield Row("schur", (size + element,), {"form": form}, prepare=_hessenberg, **vectors)
    for form, element in itertools.product(("triangular", "hessenberg"), COMPLEX):
        yield Row(
            "schur",
            ("3x3x" + element,),
            {"form": form},
            prepare=lambda x: [np.triu(x / 64) + np.diag(4.0 + np.arange(3))],
            **vectors,
        )
    for form in ("triangular", "hessenberg"):
        yield Row("schur", ("3x3xf32",) * 2, {"form": form}, prepare=lambda x, y: [*_hessenberg(x), np.triu(y) / 16], **vectors)
    # a pair of complex eigenvalues, and one that is real
    turned = np.array([[1.0, -3, 0.5], [3, 1, 0.25], [0, 0.125, -4]])
    yield Row("eig", ("2x3x3xf64",), {"mode": "vectors"}, prepare=lambda x: [x / 64 + turned], **vectors)
    yield Row("schur", ("2x5x5xf64",), {"form": "hessenberg"}, prepare=_graded, **vectors)
    yield Row("eig", ("4x4xf32",) * 2, {"mode": "vectors"}, prepare=lambda x, y: [*_hessenberg(x), np.triu(y) / 16], **vectors)
    for op in ("lu", "householder", "eigh"):
        yield Row(op, ("3x3xf32",) * 2, prepare=lambda x, y: [*_separated(x), y / 16], **vectors)  # planes of complex matrices
    yield Row("square_svd", ("3x3xf32",) * 2, {"mode": "vectors"}, prepare=lambda x, y: [*_graded(x), y / 64], **vectors)
    yield Row("householder_product", ("3x2xf32",) * 2, {"columns": 2}, prepare=_planes_of_reflectors, **near)
    for k, (size, element) in enumerate(_at_times(both, FLOATS, 1)):
        yield Row("lu", (size + element,), prepare=_graded, **near)
        yield Row("householder", (size + element,), prepare=_graded, **near)
        rows, count = (int(n) for n in size.split("x")[-3:-1])
        if rows >= count:
            for columns in {rows, count}:
                yield Row("householder_product", (size + element,), {"columns": columns}, prepare=_reflectors, **near)
        for mode in _in_turn(k, size, "reduced", "complete"):
            yield Row("qr", (size + element,), {"mode": mode}, prepare=_graded, **near)
            # with a vector more than there are values it may be of either sign
            if mode == "reduced" or size in square:
                yield Row("svd", (size + element,), {"mode": mode}, prepare=_graded, **vectors)
        lead = "".join(f"{n}x" for n in size.split("x")[:-3])
        yield Row("pinv", (size + element, lead + element), prepare=lambda x, r: [*_graded(x), 0 * r], **near)
    ways = itertools.product(("lower", "upper"), ("plain", "transposed"), ("given", "unit"))
    for (side, form, diagonal), element in zip(ways, itertools.cycle((*FLOATS, *FLOATS[::-1])), strict=False):
        props = {"side": side, "form": form, "diagonal": diagonal}
        for a, y in (
            *(("5x5x", "5x3x"), ("2x17x17x", "2x17x1x"), ("1x1x", "1x20x"), ("0x0x", "0x3x"), ("3x3x", "3x0x")),
            ("1x2x1x1x2x1x3x3x", "1x2x1x1x2x1x3x2x"),
        ):
            yield Row("triangular_solve", (a + element, y + element), props, prepare=_separated, **near)
        if diagonal == "given" and side == "lower":
            for a, y in (
                ("5x5x", "5x3x"),
                ("2x17x17x", "2x17x1x"),
                ("0x0x", "0x3x"),
                ("0x2x2x", "0x2x1x"),
                ("1x2x1x1x2x1x3x3x", "1x2x1x1x2x1x3x2x"),
            ):
                yield Row("solve", (a + element, y + element), {"form": form}, prepare=_graded, **near)
    for size, rows in (("3x", 3), ("3x", 5), ("2x4x", 4), ("0x", 0), ("0x", 2), ("2x0x", 1), ("1x2x1x1x2x1x1x3x", 3)):
        yield Row("permutation", (size + "i32",), {"rows": rows}, domain=(-1, 5))


def _conv() -> Iterator[Row]:
    nhwc = {"x_dims": (0, 3, 1, 2), "w_dims": (3, 2, 0, 1), "y_dims": (0, 3, 1, 2)}
    for x, w, stride, low, high, more in (
        ("2x3x9x8x", "5x3x3x3x", (1, 1), (1, 1), (1, 1), {}),
        ("1x4x9x10x", "6x4x1x1x", (1, 1), (0, 0), (0, 0), {}),
        ("1x4x9x10x", "6x2x3x2x", (2, 2), (1, 0), (1, 1), {"groups": 2}),
        ("1x2x9x10x", "3x2x3x2x", (2, 3), (1, 0), (1, 1), {"base_dilation": (2, 3), "dilation": (2, 1)}),
        ("1x2x9x10x", "19x2x2x3x", (1, 1), (-1, 1), (1, -2), {"dilation": (2, 2)}),
        ("1x3x17x", "6x3x4x", (2,), (1,), (0,), {"dilation": (3,)}),
        ("1x2x5x5x4x", "3x2x2x2x2x", (1, 2, 1), (1, 0, 0), (1, 1, 0), {}),
        ("1x1x30x9x", "2x1x7x5x", (2, 1), (3, 2), (3, 2), {}),
        ("2x9x10x4x", "3x3x4x20x", (1, 1), (1, 1), (1, 1), nhwc),
        ("1x9x7x4x", "2x2x2x6x", (2, 1), (0, 0), (0, 0), {**nhwc, "groups": 2}),
        ("1x5x4x2x", "3x2x2x2x", (1, 1), (1, 0), (0, 0), {"x_dims": (0, 3, 1, 2), "y_dims": (1, 0, 3, 2)}),
        ("1x4x9x10x", "8x1x3x3x", (2, 1), (1, 1), (1, 1), {"groups": 4}),
        ("1x9x10x4x", "3x3x1x4x", (1, 2), (1, 1), (1, 1), {**nhwc, "groups": 4}),
        ("1x5x6x2x", "2x2x1x4x", (1, 1), (1, 0), (0, 1), {**nhwc, "groups": 2, "base_dilation": (1, 2)}),
        ("1x2x3x3x", "2x2x5x5x", (1, 1), (0, 0), (0, 0), {}),
        ("1x0x3x3x", "2x0x1x1x", (1, 1), (0, 0), (0, 0), {}),
        ("0x2x3x3x", "2x2x1x1x", (1, 1), (0, 0), (0, 0), {}),
        ("1x2x0x3x", "2x2x2x1x", (1, 1), (1, 0), (1, 0), {}),
    ):
        props = {"stride": stride, "low": low, "high": high, "groups": 1}
        props |= dict.fromkeys(("base_dilation", "dilation", "x_dims", "w_dims", "y_dims"), ()) | more
        for element in NUMBERS if x == "2x3x9x8x" else ("f32", "f64"):
            row = Row("conv", (x + element, w + element), props, ulp=SUM, edges="simple", zeros=False)
            if element in INTS:
                yield row
                continue

            def scale(x: np.ndarray, w: np.ndarray, row: Row = row) -> np.ndarray:
                return op_of(row).evaluate(_finite(x), _finite(w))[0]

            yield Row("conv", row.operands, props, ulp=SUM, scale=scale, edges="simple", zeros=False)


def _windows() -> Iterator[Row]:
    for x, points, window, stride, low, high, dilation in (
        ("2x3x9x8x", "2x3x5x4x", (1, 1, 3, 3), (1, 1, 2, 2), (0, 0, 1, 1), (0, 0, 1, 1), (1, 1, 1, 1)),
        ("2x9x8x5x", "2x5x6x5x", (1, 3, 2, 1), (1, 2, 1, 1), (0, 1, -1, 0), (0, 1, 1, 0), (1, 1, 2, 1)),
        ("33x", "31x", (3,), (1,), (0,), (0,), (1,)),
        ("5x40x", "5x12x", (1, 7), (1, 3), (0, 0), (0, 0), (1, 1)),
        ("17x19x", "6x4x", (7, 6), (2, 5), (0, 1), (0, 1), (1, 1)),
        ("9x4x", "5x4x", (1, 1), (2, 1), (0, 0), (0, 0), (1, 1)),
        ("7x", "0x", (9,), (1,), (0,), (0,), (1,)),
        ("0x7x", "0x3x", (1, 3), (1, 2), (0, 0), (0, 0), (1, 1)),
        ("2x0x", "2x2x", (1, 2), (1, 1), (0, 2), (0, 1), (1, 1)),
    ):
        slide = {"window": window, "stride": stride, "low": low, "high": high, "dilation": dilation}
        for kind in ("max", "min", "add", "mul"):
            props = {"kind": kind, **slide}
            for element in NUMBERS if x == "2x3x9x8x" else ("f32", "f64"):
                more: dict[str, Any] = {}
                if kind == "mul":
                    more = {"ulp": SUM, "edges": "simple", "domain": (-2, 2) if element in INTS else (0.9, 1.1)}
                elif kind == "add" and element in FLOATS:

                    def scale(x: np.ndarray, row: Row = Row("reduce_window", (x + element,), props)) -> np.ndarray:
                        return op_of(row).evaluate(_finite(x))[0]

                    more = {"ulp": SUM, "edges": "tame", "scale": scale}
                yield Row("reduce_window", (x + element,), props, zeros=False, **more)
        for kind, element in (("max", "f32"), ("min", "f64")):
            props = {"kind": kind, **slide}
            yield Row("window_pick", (x + element, x + element), props)

            def sums(x: np.ndarray, t: np.ndarray, row: Row = Row("window_put", (x + element, points + element), props)) -> Any:
                return op_of(row).evaluate(x, _finite(t))[0]

            yield Row("window_put", (x + element, points + element), props, ulp=SUM, scale=sums, edges="tame", zeros=False)


def _composite() -> Iterator[Row]:
    yield from _unary(("relu",), NUMBERS, zeros=False)
    yield from _unary(("sigmoid", "sigmoid_slope"), FLOATS, ulp=APPROXIMATE)
    yield from _unary(("stop_gradient",), ALL)
    for name, (size, element) in itertools.product(("psum", "all_gather"), _at_times(("3x5x", "", "0x3x", DEEP), NUMBERS)):
        yield Row(name, (size + element, "i64"), {"size": 4}, ulp=SUM, edges="simple", zeros=False)
    for approximate in ("none", "tanh"):
        more: dict[str, Any] = {"props": {"approximate": approximate}, "ulp": APPROXIMATE, "zeros": False}
        yield from _unary(("gelu",), FLOATS, scale=_finite, **more)
    shapes: tuple[tuple[str, tuple[int, ...]], ...] = (
        ("33x", (0,)),
        ("5x33x", (1,)),
        ("33x7x", (0,)),
        (TRIPLE, (0, 2)),
        (TRIPLE, ()),
        ("1x", (0,)),
        ("0x3x", (1,)),
    )
    for (x, dims), element in itertools.product(shapes, FLOATS):
        props, operands = {"dims": dims}, (x + element,)
        yield Row("softmax", operands, props, ulp=SUM)
        yield Row("log_softmax", operands, props, ulp=SUM, scale=_largest, zeros=False)
        yield Row("logsumexp", operands, props, ulp=SUM, scale=_largest, zeros=False)
        yield Row("mean", operands, props, ulp=SUM, scale=_largest, edges="tame", zeros=False)
        for correction in (0, 1):
            more = {"ulp": SUM, "scale": lambda v: 4 * _largest(v) ** 2, "edges": "tame"}
            yield Row("var", operands, {"dims": dims, "correction": correction}, zeros=False, **more)
        # what is left of x without its mean is as exact as x; 1 / sqrt(0.5) then makes it half as large again
        norm: dict[str, Any] = {"ulp": SUM, "scale": lambda v: 4 * _largest(v), "edges": "simple", "zeros": False}
        for name in ("layer_norm", "rms_norm"):
            yield Row(name, operands, {**props, "epsilon": 0.5}, **norm)
    for (x, dim, channels), element in itertools.product(
        (("33x5x", 1, "5x"), ("3x4x9x", 0, "3x"), ("1x", 0, "1x"), ("0x5x", 1, "5x")), FLOATS
    ):
        more = {"ulp": SUM, "scale": lambda x, *_: 8 * _largest(x) ** 2, "edges": "none", "zeros": False, "domain": (0.5, 4.0)}
        operands = (x + element, *(channels + element,) * 4)
        yield Row("batch_norm", operands, {"dim": dim, "epsilon": 0.5}, **more)
    for element, label in itertools.product(FLOATS, INDICES):
        for rows, classes in ((8, 10), (1, 1), (33, 7), (0, 7)):
            operands = (f"{rows}x{classes}x{element}", f"{rows}x{label}")
            more = {"ulp": SUM, "scale": lambda x, y: 8 * _largest(x), "edges": "tame", "zeros": False}
            yield Row("cross_entropy", operands, domain=(-2, 11), **more)


def _attention() -> Iterator[Row]:
    for q, k, v, bias in (
        ("2x5x4x", "2x7x4x", "2x7x3x", ""),
        ("1x1x1x", "1x1x1x", "1x1x1x", ""),
        ("2x4x70x8x", "2x2x130x8x", "2x2x130x5x", ""),  # rests of blocks, heads in pairs
        ("3x1x9x", "3x200x9x", "3x200x16x", ""),
        ("2x70x4x", "2x70x4x", "2x70x3x", "2x70x70x"),
        ("2x3x9x4x", "2x3x66x4x", "2x3x66x3x", "2x1x1x66x"),
        ("2x0x4x", "2x7x4x", "2x7x3x", ""),
        ("2x5x4x", "2x0x4x", "2x0x3x", ""),
    ):
        for mask, element in itertools.product(("none", "causal"), FLOATS):
            # a score is off by a few units of its own magnitude, about 16 here, and its weight by as much of itself
            more: dict[str, Any] = {"ulp": 4 * SUM, "scale": lambda q, k, v, *_: _largest(v), "zeros": False}
            # what is not finite reaches the result or not, where a query does not see it
            more["edges"] = "none" if mask == "causal" or bias else "simple"
            operands = (q + element, k + element, v + element)
            props = {"mask": mask, "scale": 0.5}
            yield Row("attention", (*operands, bias + element) if bias else operands, props, **more)
            if bias:
                yield Row("attention", (*operands, bias + "i1"), props, **more)


def _deep() -> Iterator[Row]:
    """Operands and results of rank 8, for the ops that are not elementwise."""
    x, sums = DEEP + "f32", {"ulp": SUM, "scale": _largest, "edges": "tame", "zeros": False}
    zeros, ones = (0,) * 8, (1,) * 8
    sizes = tuple(map(int, DEEP[:-1].split("x")))
    yield Row("const", (), {"value": dense(np.arange(60, dtype=np.float32).reshape(sizes))}, x)
    yield Row("iota", (), {"dim": 4}, DEEP + "i32")
    yield Row("reshape", (x,), {}, "5x2x1x2x1x3x1x1xf32")
    yield Row("transpose", (x,), {"perm": (4, 0, 7, 2, 1, 3, 6, 5)})
    yield Row("broadcast", ("2x5x1xf32",), {"dims": (0, 4, 6)}, x)
    yield Row("broadcast", ("f32",), {"dims": ()}, x)
    yield Row("slice", (x,), {"start": (0, 0, 1, 0, 1, 0, 0, 0), "stop": sizes, "step": (1, 1, 1, 1, 2, 1, 1, 1)})
    yield Row("concat", (x, x), {"dim": 4})
    yield Row("after", (x, x))
    yield Row("pad", (x, "f32"), {"low": (0, 1, -1, 0, 0, 0, 2, 0), "high": zeros, "interior": (0, 0, 0, 0, 1, 0, 0, 2)})
    yield Row("reverse", (x,), {"dims": (0, 4, 7)})
    for kind in ("add", "max"):
        yield Row("reduce", (x,), {"kind": kind, "dims": (0, 4, 7)}, **(sums if kind == "add" else {"zeros": False}))
    yield from (Row(name, (x,), {"dim": 4}) for name in ("argmax", "argmin"))
    dims = {"lhs_batch": (0, 7), "rhs_batch": (0, 1), "lhs_contract": (4,), "rhs_contract": (2,)}
    yield Row("dot", (x, "2x2x5x4xf32"), dims, ulp=SUM, scale=lambda x, y: 5 * _largest(x) * _largest(y), edges="none")
    yield Row("gather", (x, "4xi32"), {"at": (4,)}, domain=(-2, 11))
    yield Row("scatter", (x, "4x2x1x3x1x1x1x2xf32", "4xi64"), {"kind": "add", "at": (4,)}, domain=(-2, 11), ulp=SUM)
    yield Row("embedding", ("2x1x3x1x1x1x2xi32", "9x5xf32"), domain=(-2, 11))
    for direction in ("forward", "reverse"):
        yield Row("scan", (x,), {"kind": "add", "dim": 4, "direction": direction, "bound": "inclusive"})
    yield Row("recurrence", (x, x), {"dim": 4, "direction": "forward"}, domain=(0.1, 0.9), ulp=SUM, edges="simple", zeros=False)
    yield Row("sort", (x, x), {"keys": 1})
    yield Row("argsort", (x,))
    yield Row("top_k", (x,), {"k": 2})
    slide = {"window": (1, 1, 2, 1, 3, 1, 1, 2), "stride": ones, "low": zeros, "high": zeros, "dilation": ones}
    yield Row("reduce_window", (x,), {"kind": "max", **slide}, zeros=False)
    yield Row("window_pick", (x, x), {"kind": "max", **slide})
    yield Row("window_put", (x, "2x1x2x1x3x1x1x1xf32"), {"kind": "max", **slide}, edges="none", ulp=SUM, zeros=False)
    for name in ("softmax", "log_softmax", "logsumexp", "mean"):
        yield Row(name, (x,), {"dims": (0, 4, 7)}, **sums)
    yield Row("var", (x,), {"dims": (0, 4, 7), "correction": 0}, **{**sums, "scale": lambda v: 4 * _largest(v) ** 2})
    for name in ("layer_norm", "rms_norm"):
        norm = {**sums, "scale": lambda v: 4 * _largest(v), "edges": "simple"}
        yield Row(name, (x,), {"dims": (0, 4, 7), "epsilon": 0.5}, **norm)
    channels = {**sums, "scale": lambda x, *_: 8 * _largest(x) ** 2, "edges": "none", "domain": (0.5, 4.0)}
    yield Row("batch_norm", (x, *("5xf32",) * 4), {"dim": 4, "epsilon": 0.5}, **channels)
    heads = {"ulp": 4 * SUM, "scale": lambda q, k, v: _largest(v), "edges": "none", "zeros": False}
    batch = "2x1x3x1x1x2x"
    yield Row("attention", (batch + "5x4xf32", batch + "7x4xf32", batch + "7x3xf32"), {"mask": "none", "scale": 0.5}, **heads)


def _words() -> Iterator[Row]:
    for shape, dim in (("8x9x", 0), ("5x12x", 1), ("4x", 0), ("0x4x", 1), ("1x2x1x3x1x4x1x2x", 5)):
        yield from (Row("pack_words", (shape + element,), {"dim": dim}) for element in ("i8", "ui8"))
    for x, y in (("5x9x", "9x17x"), ("1x1x", "1x1x"), ("0x3x", "3x4x"), ("2x0x", "0x3x")):
        yield Row("dot_words", (x + "i32", y + "i32"), {"lhs_contract": (1,), "rhs_contract": (0,), "of": "u8i8"})
    batched = {"lhs_batch": (0,), "rhs_batch": (1,), "lhs_contract": (2,), "rhs_contract": (0,), "of": "u8i8"}
    yield Row("dot_words", ("3x5x7xi32", "7x3x4xi32"), batched)
    deep = {"lhs_batch": (0, 7), "rhs_batch": (0, 1), "lhs_contract": (4,), "rhs_contract": (2,), "of": "u8i8"}
    yield Row("dot_words", ("2x1x3x1x5x1x1x2xi32", "2x2x5x4xi32"), deep)
    around = {"stride": (1, 1), "low": (1, 0), "high": (1, 2), "groups": 1, "of": "u8i8"}
    yield Row("conv_words", ("2x3x5x6xi32", "9x3x3x2xi32"), around)
    yield Row("conv_words", ("2x4x5x6xi32", "6x2x3x3xi32"), {**around, "stride": (2, 1), "groups": 2})
    yield Row("conv_words", ("1x0x3x3xi32", "2x0x1x1xi32"), {**around, "low": (0, 0), "high": (0, 0)})
    six = {"stride": (1,) * 6, "low": (0,) * 6, "high": (1,) + (0,) * 5, "groups": 1, "of": "u8i8"}
    yield Row("conv_words", ("1x2x2x1x3x1x2x1xi32", "8x2x1x1x2x1x1x1xi32"), six)
    last = {"x_dims": (0, 3, 1, 2), "w_dims": (3, 2, 0, 1), "y_dims": (0, 3, 1, 2)}
    yield Row("conv_words", ("2x5x6x3xi32", "3x2x3x8xi32"), {**around, **last, "dilation": (1, 2)})


def _complex() -> Iterator[Row]:
    yield from _unary(("neg", "real", "imag", "as_pairs"), COMPLEX)
    yield from _elementwise("complex", 2, FLOATS)
    yield from _elementwise("interleave", 2, FLOATS)
    yield from (Row("from_pairs", (size + "2x" + element,)) for size, element in itertools.product(SIZES, FLOATS))
    yield from _unary(("magnitude",), COMPLEX, ulp=APPROXIMATE)
    # NaN parts compare equal, and so do intermediate overflows
    more: dict[str, Any] = {"ulp": 2 * APPROXIMATE, "edges": "none"}
    yield from _unary(("exp", "log", "sqrt", "sin", "cos", "tanh"), COMPLEX, **more)
    yield from _binary(("add", "sub"), COMPLEX)
    yield from _binary(("mul", "div"), COMPLEX, **more)
    yield from _binary(("pow",), COMPLEX, **{**more, "ulp": 64, "domain": (0.5, 2)})
    for element in COMPLEX:
        for predicate in ("eq", "ne"):
            yield Row("cmp", (PAIRS + element,) * 2, {"predicate": predicate})
        yield Row("select", ("33xi1", "33x" + element, "33x" + element))
        yield from (Row("convert", ("65x" + element,), {}, "65x" + other) for other in ("i1", *COMPLEX))
        yield from (Row("convert", ("65x" + other,), {}, "65x" + element) for other in ("f32", "i32", "i1"))
        yield Row("convert", ("65x" + element,), {}, "65xf32", edges="tame")
        yield Row("transpose", ("5x7x" + element,), {"perm": (1, 0)})
        yield Row("reverse", ("5x7x" + element,), {"dims": (1,)})
        yield Row("concat", ("5x7x" + element, "5x2x" + element), {"dim": 1})
        yield Row("pad", ("7x" + element, element), {"low": (2,), "high": (1,), "interior": (1,)})
        sums: dict[str, Any] = {"ulp": SUM, "scale": _magnitudes, "edges": "none"}
        for dims in ((0,), (1,), (0, 1), ()):
            yield Row("reduce", ("5x7x" + element,), {"kind": "add", "dims": dims}, **sums)
            yield Row("reduce", ("5x7x" + element,), {"kind": "mul", "dims": dims}, ulp=4 * SUM, edges="none", domain=(0.5, 1))
            yield Row("mean", ("5x7x" + element,), {"dims": dims}, **sums)
        for x in ("0x3x", "1x3x", "2x3x"):
            yield Row("reduce", (x + element,), {"kind": "mul", "dims": (0,)}, ulp=SUM, edges="none")
        for kind, direction, bound in itertools.product(("add", "mul"), ("forward", "reverse"), ("inclusive", "exclusive")):
            props = {"kind": kind, "dim": 1, "direction": direction, "bound": bound}
            yield Row("scan", ("3x6x" + element,), props, ulp=4 * SUM, scale=_largest, edges="none", domain=(-1, 1))
        for direction in ("forward", "reverse"):
            props = {"dim": 0, "direction": direction}
            yield Row("recurrence", ("6x2x" + element,) * 2, props, ulp=4 * SUM, scale=_largest, edges="none", domain=(-1, 1))
        props = {"lhs_contract": (1,), "rhs_contract": (0,)}
        yield Row("dot", ("5x9x" + element, "9x4x" + element), props, **{**sums, "scale": lambda x, y: 9 * 32})


def _fft() -> Iterator[Row]:
    """Lengths of one and of several passes, of odd radices, of primes, of two halves; rows, and columns with a rest."""
    ways = ("forward", "inverse")
    lengths = (
        *((f"{n}x", 0) for n in (16, 1, 2, 3, 4, 5, 6, 7, 9, 11, 12, 15, 37, 64, 100, 210, 1024)),
        *(("3x8x", 1), ("8x3x", 0), ("2x30x17x", 1), ("0x4x", 1), ("41x3x", 0), ("2x1x5x", 1), (DEEP, 4)),
    )
    for k, (shape, dim) in enumerate(lengths):
        for element, direction in zip(COMPLEX, ways if k % 2 else ways[::-1], strict=True):
            props = {"dim": dim, "direction": direction}
            yield Row("fft", (shape + element,), props, ulp=APPROXIMATE, scale=_magnitudes, edges="none")
    for shape, radices, roots in (
        ("1x8x1x", (4, 2), 6),
        ("2x6x33x", (3, 2), 4),
        ("3x31x2x", (31,), 1),
        ("0x4x1x", (4,), 1),
        ("2x43x3x", (43,), 1),
    ):
        for element, direction in zip(FLOATS, ways, strict=True):
            operands = (shape + element, shape + element, f"2x{roots}x" + element)
            more: dict[str, Any] = {"ulp": SUM, "scale": lambda *x: 64 * _magnitudes(*x), "edges": "none", "zeros": False}
            props = {"radices": radices, "direction": direction, "form": "parts", "twist": 0}
            yield Row("butterflies", operands, props, **more)
            twist = 11 if "33" in shape else 1
            columns = int(shape.split("x")[2])
            total = roots + math.prod(radices) * (twist + columns // twist)
            yield Row("butterflies", (*operands[:2], f"2x{total}x" + element), {**props, "twist": twist}, **more)
            outer, n = (int(size) for size in shape.split("x")[:2])
            pairs = f"{outer}x{2 * n}x{columns}x{element}"
            yield Row("butterflies", (pairs, pairs, operands[2]), {**props, "form": "pairs"}, **more)


ROWS: tuple[Row, ...] = (
    *_unary(("neg", "abs", "sign"), NUMBERS),
    *_unary(("floor", "ceil", "rint"), FLOATS),
    *_unary(("sqrt",), FLOATS, domain=(0, 9)),
    *_unary(("rsqrt", "log"), FLOATS, domain=(0, 9), ulp=APPROXIMATE),
    *_unary(("log1p",), FLOATS, domain=(-0.9, 9), ulp=APPROXIMATE),
    *_unary(("exp", "expm1", "sin", "cos", "tan", "atan", "tanh", "sech2", "erf", "erfc", "gauss"), FLOATS, ulp=APPROXIMATE),
    *_unary(("expm1_slope",), FLOATS, ulp=APPROXIMATE),
    *_unary(("erf_inv",), FLOATS, domain=(-1, 1), ulp=APPROXIMATE),
    *_unary(("not",), INTEGERS),
    *_bits(),
    *_binary(("add", "sub", "mul"), NUMBERS),
    *_binary(("div", "rem"), NUMBERS),
    *_binary(("pow",), FLOATS, domain=(0, 5), ulp=APPROXIMATE),
    *_binary(("pow",), INTS),
    *_binary(("atan2",), FLOATS, ulp=APPROXIMATE),
    *_binary(("max", "min"), ALL, zeros=False),
    *_binary(("and", "or", "xor"), INTEGERS),
    *_compare(),
    *_select(),
    *_convert(),
    *_create(),
    *_shape(),
    *_reduce(),
    *_dot(),
    *_conv(),
    *_windows(),
    *_index(),
    *_scan(),
    *_sort(),
    *_matrices(),
    *_composite(),
    *_attention(),
    *_deep(),
    *_complex(),
    *_words(),
    *_fft(),
)

MOST = 12
"""Rows of a test: they are compiled together, in kernels of their own."""
TURNS = 5
"""Tests that the rows of an op are dealt to at least, so that every share of the tests (on_targets.py) has each op."""


def groups(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Rows of the same op, with a name."""
    by_op: dict[str, list[Row]] = {}
    for row in rows:
        by_op.setdefault(row.op, []).append(row)
    for name, mine in by_op.items():
        turns = min(len(mine), max(TURNS, math.ceil(len(mine) / MOST)))
        yield from ((f"{name}-{turn}", mine[turn::turns]) for turn in range(turns))


def in_groups(rows: Sequence[Row]) -> pytest.MarkDecorator:
    """Calls a test with the argument `rows`, some at a time."""
    names, values = zip(*groups(rows), strict=True)
    return pytest.mark.parametrize("rows", values, ids=names)
