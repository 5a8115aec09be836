"""The loop form of every op, evaluated point by point, against the op's meaning; type inference where sizes are unknown."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "transforms"))
from drawn_cases import CASE_DRAWS
from graphs import CASES, define
from lamina.dialects.graph import OPS, eig, eigh, factor, orthogonal, schur, solving, svd
from lamina.dialects.graph.base import CompositeOp, Equation, GraphOp, NotDifferentiable, Zero, to_attribute
from lamina.dialects.graph.indexing import find_slices
from lamina.dialects.graph.sort_keys import position_type
from lamina.dialects.loop.loops import PAIR_MONOIDS
from lamina.dialects.loop.subscripts import linear_form
from lamina.dialects.scalar import ScalarBuilder, identity_value
from lamina.dialects.types import DYNAMIC, element_type, f32, f64, i32, i64, numpy_dtype, tensor
from lamina.errors import DTypeError, ShapeError
from lamina.runtime.interpreter.monoids import combine
from lamina.runtime.interpreter.scalars import MEANINGS
from ops_table import COMPLEX, ROWS, Row, check, in_groups, inputs, op_of, type_of
from sketches import Sketch
from xdsl.dialects.builtin import IndexType, IntegerType, TensorType
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

DRAWS = 12
"""Random functions an op."""
WITH_EQUATIONS = [
    row
    for row in ROWS
    if not issubclass(OPS[row.op], CompositeOp)
    and OPS[row.op].nest is GraphOp.nest
    and row.op not in ("reshape", "const", "as_pairs", "from_pairs", "fft", "after")
    and not any(element in text for element in COMPLEX for text in (*row.operands, row.result or ""))
    and row.op != "complex"
]


def at(map: AffineMap, points: np.ndarray) -> tuple[np.ndarray, ...]:
    """Where a map leads from each column of `points`."""
    found = []
    for expr in map.results:
        form = linear_form(expr, map.num_dims)
        assert form is not None
        found.append(sum((c * points[k] for k, c in enumerate(form[0])), np.full(points.shape[1:], form[1])))
    return tuple(found)


def with_dims_for_symbols(map: AffineMap) -> AffineMap:
    """The map with its symbols as further dims."""
    n, m = map.num_dims, map.num_symbols
    dims = [AffineExpr.dimension(k) for k in range(n + m)]
    return AffineMap(n + m, 0, tuple(e.replace_dims_and_symbols(dims[:n], dims[n:]) for e in map.results))


def compare_floats(op: Any, x: Any, y: Any) -> Any:
    """`arith.cmpf` by its definition: 1 to 6 hold for numbers only, 8 to 13 for NaN too."""
    predicate, nan = op.properties["predicate"].value.data, np.isnan(x) | np.isnan(y)
    compare = (np.equal, np.greater, np.greater_equal, np.less, np.less_equal, np.not_equal)[(predicate - 1) % 7]
    return compare(x, y) | nan if predicate >= 8 else compare(x, y) & ~nan


MEANING = {**MEANINGS, "arith.cmpf": compare_floats}


class Body:
    """The scalar body of an equation, run on arrays of scalars."""

    def __init__(self, op: GraphOp, equation: Equation):
        elements = [op.operands[r.operand].type.element_type for r in equation.reads]  # pyright: ignore
        indices = [IndexType()] * (len(equation.space) if equation.uses_index else 0)
        self.block = Block(arg_types=[*elements, *indices])
        args, b = list(self.block.args), ScalarBuilder(self.block)
        scalars, index = args[: len(elements)], args[len(elements) :]
        given: dict[str, Any] = {"index": index} if equation.uses_index else {}
        if equation.sizes:
            given["sizes"] = [b.const(size, IndexType()) for size in equation.sizes]
        built = equation.body(b, *scalars, **given)
        self.results: Sequence[SSAValue] = built if isinstance(built, tuple) else (built,)
        for part in self.block.ops:
            part.verify()

    def __call__(self, *arrays: np.ndarray) -> list[np.ndarray]:
        values: dict[SSAValue, Any] = dict(zip(self.block.args, arrays, strict=True))
        with np.errstate(all="ignore"):
            for op in self.block.ops:
                values[op.results[0]] = MEANING[op.name](op, *(values[o] for o in op.operands))
        return [np.asarray(values[r]) for r in self.results]


def finished(equation: Equation, type: Attribute, values: np.ndarray) -> np.ndarray:
    """What the `finish` of an equation makes of reduced scalars."""
    assert equation.finish is not None
    block = Block(arg_types=[type])
    found = equation.finish(ScalarBuilder(block), block.args[0])
    known: dict[SSAValue, Any] = {block.args[0]: np.asarray(values, numpy_dtype(type))}
    for op in block.ops:
        known[op.results[0]] = MEANING[op.name](op, *(known[o] for o in op.operands))
    return np.asarray(known[found], numpy_dtype(found.type))


def run(op: GraphOp, equation: Equation, operands: Sequence[np.ndarray], result: np.ndarray) -> None:
    """result[write(p)] = reduce(monoid, r) body(operand[read(p, r)] ...), for every point p."""
    body = Body(op, equation)
    n = equation.n_parallel
    assert (equation.monoid is None) == (equation.n_reduce == 0), "a monoid without what it reduces, or the other way"
    assert equation.write is None or (equation.write.num_dims, equation.write.num_symbols) == (n, 0)
    assert all((r.map.num_dims, r.map.num_symbols) == (len(equation.space), len(r.positions)) for r in equation.reads)
    outer = np.indices(equation.space[:n]).reshape(n, prod(equation.space[:n]))
    where = tuple(outer) if equation.write is None else at(equation.write, outer)
    assert all(np.all((0 <= i) & (i < size)) for i, size in zip(where, result.shape, strict=True)), "writes outside"
    if n and outer.size:
        assert len({*zip(*(w.tolist() for w in where), strict=True)}) == outer.shape[1], "an element is written twice"
    total: list[np.ndarray] | None = None
    for inner in product(*(range(size) for size in equation.space[n:])):
        points = np.concatenate([outer, np.broadcast_to(np.reshape(inner, (-1, 1)), (len(inner), outer.shape[1]))]).astype(int)
        scalars = []
        for read in equation.reads:
            given = [np.clip(scalars[p.read], 0, p.last) for p in read.positions]
            index = at(with_dims_for_symbols(read.map), np.stack([*points, *given]) if given else points)
            assert all(np.all((0 <= i) & (i < m)) for i, m in zip(index, operands[read.operand].shape, strict=True)), (
                "reads outside"
            )
            scalars.append(np.broadcast_to(operands[read.operand][index], outer.shape[1:]))
        found = body(*scalars, *(points if equation.uses_index else ()))
        if total is None:
            total = found
        elif equation.monoid is not None:
            columns = zip(*([np.broadcast_to(a, outer.shape[1:]) for a in (*total, *found)]), strict=True)
            k = len(total)
            with np.errstate(all="ignore"):
                merged = [combine(equation.monoid, tuple(c[:k]), tuple(c[k:])) for c in columns]
            total = [np.array([m[j] for m in merged], t.dtype) for j, t in enumerate(total)]
    if total is None:
        assert equation.monoid is not None
        total = [np.full(outer.shape[1:], identity_value(equation.monoid, op.results[0].type.element_type), result.dtype)]  # pyright: ignore
    values = total[-1] if equation.monoid in PAIR_MONOIDS else total[0]
    if equation.finish is not None:
        last = body.results[-1] if equation.monoid in PAIR_MONOIDS else body.results[0]
        values = finished(equation, last.type, values)
    elif result.size and total is not None:
        assert body.results[0].type == op.results[0].type.element_type  # pyright: ignore
    assert values.dtype == result.dtype
    values = np.broadcast_to(values, outer.shape[1:])
    result[where] = values if n else values[0]


SMALL = [row for row in WITH_EQUATIONS if all(type_of(t).get_shape() != (1000,) for t in row.operands)]


@pytest.mark.thorough(every=8)
@in_groups(SMALL)
def test_equations_equal_evaluate(rows: list[Row]) -> None:
    rng = np.random.default_rng(3)
    for row, kind in product(rows, ("normal", "edge")):
        op, args = op_of(row), inputs(row, rng, kind)
        (want,) = op.evaluate(*args)
        assert (want.dtype, want.shape) == (op.result_dtype(), op.result_shape())
        result = np.full(want.shape, 77, want.dtype)
        for equation in op.equations():
            run(op, equation, args, result)
        check(result, want, row, args)


@pytest.mark.parametrize("name", CASE_DRAWS)
def test_equations_of_drawn(name: str) -> None:
    """The same for the ops of random functions, with their shapes, dims and layouts."""
    for seed in range(DRAWS):
        case = CASE_DRAWS[name](Sketch(seed))
        args = case.arguments()
        types = [tensor(element_type(a.dtype), a.shape) for a in args]
        block = define("f", types, case.build).body.block
        values: dict[SSAValue, np.ndarray] = dict(zip(block.args, args, strict=True))
        for op in block.ops:
            if not isinstance(op, GraphOp):
                continue
            given = [values[o] for o in op.operands]
            results = op.evaluate(*given)
            values.update(zip(op.results, results, strict=True))
            if isinstance(op, CompositeOp) or type(op).nest is not GraphOp.nest or op.name == "graph.const":
                continue
            if op.name == "graph.reshape" and not op.equations():
                continue  # a view
            (want,) = results
            result = np.full(want.shape, 77, want.dtype)
            for equation in op.equations():
                run(op, equation, given, result)
            np.testing.assert_allclose(result, want, rtol=1e-12, atol=1e-12, err_msg=f"{name}, seed {seed}: {op}")


OF_MATRICES = {
    op
    for family in (factor, orthogonal, eigh, svd, schur, eig, solving)
    for op in OPS.values()
    if op.__module__ == family.__name__
}
"""Ops whose loops need numbers for sizes, and which say so."""


@pytest.mark.thorough(every=8)
@in_groups(ROWS)
def test_unknown_sizes(rows: list[Row]) -> None:
    """With any size of an operand unknown, the result's sizes are right or unknown."""
    for row in rows:
        check_unknown_sizes(row)


def _leading(row: Row, types: Sequence[TensorType]) -> int:
    """How many dims of the operands of an op on matrices may be unknown."""
    return 0 if row.op == "permutation" else len(types[0].get_shape()) - 2


def check_unknown_sizes(row: Row) -> None:
    op = op_of(row)
    types = [o.type for o in op.operands]
    wants = [r.type for r in op.results]
    dims = [(k, d) for k, t in enumerate(types) for d in range(len(t.get_shape()))]
    for hidden in ([], *([one] for one in dims), dims):
        seen = [
            tensor(t.element_type, [DYNAMIC if (k, d) in hidden else n for d, n in enumerate(t.get_shape())])
            for k, t in enumerate(types)
        ]
        unknown = [tensor(want.element_type, [DYNAMIC] * len(want.get_shape())) for want in wants]
        if type(op) in OF_MATRICES and any(d >= _leading(row, types) for _, d in hidden):
            rules = r"of known sizes|or their real and then their imaginary parts"
            with pytest.raises((ShapeError, DTypeError), match=rules):
                op.infer_types(seen, op.properties, wants)
            continue
        if row.op == "pack_words" and (0, row.props["dim"]) in hidden:
            with pytest.raises(ShapeError, match="whose size is a multiple of"):
                op.infer_types(seen, op.properties, wants)
            continue
        for declared in (wants, unknown) if row.result is not None and row.op != "iota" else (wants,):
            found = op.infer_types(seen, op.properties, declared)
            for got, want in zip(found, wants, strict=True):
                assert got.element_type == want.element_type
                sizes = zip(got.get_shape(), want.get_shape(), strict=True)
                assert all(a in (DYNAMIC, b) for a, b in sizes), f"{seen} -> {got}, not {want}"
            if not hidden and row.result is None:
                assert [*found] == wants


@pytest.mark.parametrize(
    "shape, message, props",
    [
        ((4, 5), "addressed and batch", {"at": (0,), "batch": (0,)}),
        ((4, 5), "addressed and batch", {"at": (2,)}),
        ((4, 5), "addressed and batch", {"at": (0,), "batch": (2,)}),
        ((4, 5), "a slice takes 6 of dim 1", {"at": (1,), "window": (6,)}),
        ((4, 5), "a slice takes -1 of dim 1", {"at": (1,), "window": (-1,)}),
        ((4, 0), "a slice takes 1 of dim 1", {"at": (1,)}),
        ((4, 5), "batch dims", {"at": (1,), "batch": (0,)}),
    ],
)
def test_slices_out_of_bounds(shape: tuple[int, ...], message: str, props: dict[str, Any]) -> None:
    with pytest.raises(ShapeError, match=message):
        find_slices(tensor(f32, shape), [tensor(i64, (3,))], {k: to_attribute(v) for k, v in props.items()})


def test_sizes_of_slices_from_other_types() -> None:
    """An index tensor's unknown size is that of another one, or of the operand's batch dim."""
    props = {"at": to_attribute((0, 1))}
    types = [tensor(i64, (DYNAMIC, 2)), tensor(i64, (3, DYNAMIC))]
    assert find_slices(tensor(f32, (4, 5)), types, props).points == (3, 2)
    props = {"at": to_attribute((1,)), "batch": to_attribute((0,))}
    assert find_slices(tensor(f32, (4, 5)), [tensor(i64, (DYNAMIC, 7))], props).points == (4, 7)


@pytest.mark.parametrize(
    "shape, result, is_affine",
    [
        ((2, 1, 3), (2, 3, 1), True),
        ((2, 3), (1, 2, 3), True),
        ((1, 1), (), True),
        ((2, 3), (3, 2), False),
        ((4,), (2, 2), False),
        ((DYNAMIC, 3), (1, DYNAMIC, 3), False),
        ((2, 1), (DYNAMIC, DYNAMIC), False),
    ],
)
def test_reshapes_that_move_ones(shape: tuple[int, ...], result: tuple[int, ...], is_affine: bool) -> None:
    block = Block(arg_types=[tensor(f32, shape)])
    op = OPS["reshape"].make(block.args, {}, (tensor(f32, result),))
    if not is_affine:
        assert op.equations() == ()
    else:
        x = np.arange(prod(shape), dtype=np.float32).reshape(shape)
        found = np.full(result, 77, np.float32)
        run(op, op.equations()[0], [x], found)
        np.testing.assert_array_equal(found, x.reshape(result))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_what_is_stretched_is_read_at_0(size: int) -> None:
    op = OPS["broadcast"].make(Block(arg_types=[tensor(f32, (1, 2))]).args, {"dims": (1, 2)}, (tensor(f32, (3, size, 2)),))
    result = np.zeros((3, size, 2), np.float32)
    run(op, op.equations()[0], [np.array([[1, 2]], np.float32)], result)
    np.testing.assert_array_equal(result, np.broadcast_to(np.array([1, 2], np.float32), (3, size, 2)))


@pytest.mark.parametrize("size, width", [(2**31 - 1, 32), (2**31, 64)])
def test_positions_are_as_wide_as_elements_while_they_fit(size: int, width: int) -> None:
    block = Block(arg_types=[tensor(f32, (size,))])
    op = OPS["argmax"].make(block.args, {"dim": 0})
    assert Body(op, op.equations()[0]).results[1].type == IntegerType(width)


def test_every_op_that_has_a_derivative_is_checked_against_differences() -> None:
    """tests/transforms checks derivatives and batching of `CASES`: all ops are among them, themselves or decomposed.

    `eig`, whose results are complex and have first derivatives alone, is checked in tests/library/test_eig.py; collectives,
    which need a mapped axis, in tests/frontend/functions/test_axis_names.py.
    """
    built: set[str] = set()
    for case in CASES:
        types = [tensor(f64 if a.dtype.kind == "f" else i64, a.shape) for a in case.arguments() if a.dtype != np.bool_]
        if len(types) == len(case.arguments()):
            function = define("f", types, case.build)
            built |= {op.name.removeprefix("graph.") for op in function.body.block.ops}
    wanted = {
        name
        for name, op in OPS.items()
        if issubclass(op, GraphOp)
        and not isinstance(op.derivative, Zero | NotDifferentiable)
        and name not in ("select", "eig", "psum", "all_gather")
    }
    assert sorted(wanted - built) == []


def test_positions_in_a_row_are_as_narrow_as_they_can_be() -> None:
    assert [position_type(n) for n in (0, 1, 2**31 - 1, 2**31)] == [i32, i32, i32, i64]
