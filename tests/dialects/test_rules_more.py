"""Rules beyond their example: other element types, and unknown sizes."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from lamina.dialects.dominance import verify_module
from lamina.dialects.element_types import TABLE
from lamina.dialects.graph.base import GraphOp
from lamina.dialects.graph.builder import GraphBuilder
from lamina.dialects.graph.rules import RULES, Rule, is_splat, rules_by_root, splat
from lamina.dialects.graph.rules_elementwise import _holds_all
from lamina.dialects.types import (
    DYNAMIC,
    f32,
    f64,
    i1,
    i32,
    i64,
    is_bool,
    is_complex,
    is_float,
    is_stored,
    numpy_dtype,
    part_of,
    tensor,
)
from lamina.runtime.interpreter import interpret
from lamina.transforms.graph_simplify import simplify_block
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.ir import Block

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "transforms"))
from graphs import define, function_of
from ops_table import edge_values

rules_by_root()
BY_NAME: dict[str, Rule] = {}
for entry in RULES:
    BY_NAME.setdefault(entry.name, entry)


def _extreme(type: TensorType, greatest: bool) -> Any:
    dtype = numpy_dtype(type.element_type)
    if dtype.kind == "f":
        return np.inf if greatest else -np.inf
    if dtype.kind == "b":
        return greatest
    return int(np.iinfo(dtype).max if greatest else np.iinfo(dtype).min)


def _ones(type: TensorType) -> int:
    return 1 if type.element_type == i1 else -1


Build = Callable[[GraphBuilder, Any], Any]
INTEGERS, ALL = (i1, i32, i64), (i1, i32, i64, f32, f64)
IDENTITIES: tuple[tuple[str, tuple[Any, ...], Build], ...] = (
    ("max_of_least", ALL, lambda b, x: b.max(b.full_like(x, _extreme(x.type, False)), x)),
    ("min_of_greatest", ALL, lambda b, x: b.min(x, b.full_like(x, _extreme(x.type, True)))),
    ("and_of_ones", INTEGERS, lambda b, x: b.and_(b.full_like(x, _ones(x.type)), x)),
    ("and_of_zero", INTEGERS, lambda b, x: b.and_(x, b.zeros_like(x))),
    ("or_of_zero", INTEGERS, lambda b, x: b.or_(x, b.zeros_like(x))),
    ("or_of_zero", INTEGERS, lambda b, x: b.xor(b.zeros_like(x), x)),
    ("or_of_ones", INTEGERS, lambda b, x: b.or_(b.full_like(x, _ones(x.type)), x)),
    ("xor_of_ones", INTEGERS, lambda b, x: b.xor(x, b.full_like(x, _ones(x.type)))),
    ("xor_of_itself", INTEGERS, lambda b, x: b.xor(x, x)),
    *(
        ("cmp_of_itself", INTEGERS, lambda b, x, p=p: b.convert(b.cmp(x, x, predicate=p), i32))
        for p in ("eq", "ne", "lt", "le", "gt", "ge")
    ),
    ("select_of_truths", (i1,), lambda b, x: b.select(x, b.full_like(x, True), b.full_like(x, False))),
    ("select_of_truths", (i1,), lambda b, x: b.select(x, b.full_like(x, False), b.full_like(x, True))),
)


@pytest.mark.parametrize("name, element, build", [(n, e, build) for n, elements, build in IDENTITIES for e in elements])
def test_identity_of_every_type(name: str, element: Any, build: Build) -> None:
    values = edge_values(numpy_dtype(element), "all")
    before = ModuleOp([define("main", [tensor(element, values.shape)], build)])
    after = before.clone()
    hits: dict[str, int] = {}
    simplify_block(function_of(after, "main").body.block, rules_by_root(), hits)
    verify_module(after)
    assert name in hits
    (got,), (want,) = interpret(after, "main", [values]), interpret(before, "main", [values])
    np.testing.assert_array_equal(got, want)
    assert got.dtype == want.dtype and np.array_equal(np.signbit(got * 1.0), np.signbit(want * 1.0))


ELEMENTS = [row.type for row in TABLE]


def holds(narrow: Any, wide: Any) -> bool:
    if is_bool(narrow):
        return True
    if is_bool(wide) or is_stored(wide):
        return False
    if is_complex(narrow) or is_complex(wide):
        return is_complex(wide) and holds(part_of(narrow), part_of(wide))
    if is_float(narrow):
        return is_float(wide) and wide.bitwidth >= narrow.bitwidth
    if is_float(wide):
        return narrow.bitwidth <= (23 if wide == f32 else 52)
    inner, outer = ml_dtypes.iinfo(numpy_dtype(narrow)), ml_dtypes.iinfo(numpy_dtype(wide))
    held = range(int(outer.min), int(outer.max) + 1)
    return int(inner.min) in held and int(inner.max) in held


@pytest.mark.parametrize("narrow, wide", [*itertools.product(ELEMENTS, ELEMENTS)], ids=str)
def test_what_a_type_holds(narrow: Any, wide: Any) -> None:
    """A type holds another if it holds its extremes and has bits for what lies between; a stored one, truth values."""
    assert _holds_all(narrow, wide) == holds(narrow, wide)


def test_known_numbers() -> None:
    """A value is one number if a constant of it, repeated or not, holds that alone; of at most 64 elements, and of some."""
    b = GraphBuilder(Block())
    for n, known in ((1, True), (2, True), (64, True), (65, False), (0, False)):
        assert (splat(b.const(np.full(n, 3.0))) == 3.0) == known
        assert (splat(b.reshape(b.const(np.full((n, 1), 3)), (1, n))) == 3) == known
    assert splat(b.reshape(b.broadcast(b.const(7), (), (5, 99)), (9, 55))) == 7
    assert splat(b.broadcast(b.const(np.array([2, 2])), (1,), (3, 2))) == 2
    assert splat(b.const(np.array([1.0, 2.0]))) is None and splat(b.const(np.array([0.0, -0.0]))) is None
    assert splat(b.neg(b.const(1.0))) is None and splat(Block(arg_types=[tensor(f32, ())]).args[0]) is None
    zero, less, yes = b.const(0.0), b.const(-0.0), b.const(True)
    assert is_splat(zero, 0) and not is_splat(less, 0) and not is_splat(zero, -0.0) and is_splat(less, -0.0)
    assert is_splat(yes, 1) and is_splat(yes, True) and not is_splat(yes, 0) and not is_splat(zero, 1)
    assert not is_splat(b.neg(zero), 0)


def _hidden(type: TensorType, dims: tuple[int, ...]) -> TensorType:
    return tensor(type.element_type, [DYNAMIC if d in dims else n for d, n in enumerate(type.get_shape())])


def _open(rule: Rule, dims: tuple[int, ...], widest: bool) -> ModuleOp | None:
    """The example of a rule where sizes of the arguments are unknown; of what is broadcast or reshaped all, if `widest`."""
    module = ModuleOp([define("main", [tensor(f32, (2, 3))] * 2 + [tensor(i32, (2, 3))] * 2, rule.example)])
    function = function_of(module, "main")
    block = function.body.block
    for argument in block.args:
        argument._type = _hidden(argument.type, dims)  # pyright: ignore
    for op in block.ops:
        if isinstance(op, GraphOp):
            declared: list[Any] = [r.type for r in op.results]
            if op.name == "graph.convert":
                declared = [tensor(declared[0].element_type, op.shape())]
            elif widest and op.name in ("graph.broadcast", "graph.reshape"):
                declared = [tensor(t.element_type, [DYNAMIC] * len(t.get_shape())) for t in declared]
            try:
                types = op.infer_types([o.type for o in op.operands], op.properties, declared)  # pyright: ignore
            except Exception:
                return None  # the example is of these sizes only
            for value, type in zip(op.results, types, strict=True):
                value._type = type
    last = block.last_op
    assert last is not None
    function.properties["function_type"] = FunctionType.from_lists(
        [a.type for a in block.args], [o.type for o in last.operands]
    )
    verify_module(module)
    return module


def _state(module: ModuleOp) -> tuple[str, list[int]]:
    """The text of a module, and how often each value is used, by ops in it and others."""
    values = [v for op in module.walk() for v in op.results]
    values += [a for op in module.walk() for region in op.regions for block in region.blocks for a in block.args]
    return str(module), [len([*value.uses]) for value in values]


@pytest.mark.parametrize("name", BY_NAME)
def test_unknown_sizes_are_no_numbers(name: str) -> None:
    """A rule gives up, or what it builds is valid and holds no size computed from a `?`."""
    for dims, widest in (((0,), False), ((1,), False), ((0, 1), False), ((), True), ((0, 1), True)):
        module = _open(BY_NAME[name], dims, widest)
        if module is None:
            continue
        before = _state(module)
        if not simplify_block(function_of(module, "main").body.block, rules_by_root()):
            assert _state(module) == before  # what a rule built in vain is gone
        verify_module(module)
        assert "-922" not in str(module) and "-9.22" not in str(module)


def _only(module: ModuleOp, names: tuple[str, ...]) -> bool:
    return {op.name.removeprefix("graph.") for op in module.walk() if isinstance(op, GraphOp)} == {*names}


@pytest.mark.parametrize("kind", ["add", "max"])
def test_repetitions_that_are_not_counted_stay(kind: str) -> None:
    """Of a broadcast to `?` the number of repetitions is open; along `?` to 3 it is open whether anything repeats."""
    for small, dims, big, over in (((3,), (1,), (DYNAMIC, 3), (0,)), ((DYNAMIC,), (0,), (3,), (0,))):
        build: Any = lambda b, x: b.reduce(b.broadcast(x, dims, big), kind=kind, dims=over)  # noqa: B023, E731
        module = ModuleOp([define("main", [tensor(f32, small)], build)])
        assert not simplify_block(function_of(module, "main").body.block, rules_by_root())
        assert _only(module, ("broadcast", "reduce"))


@pytest.mark.parametrize("dims", [(0, -1), (1, -1), (2, -1), (-1, 0), (-1, 1), (0, 0)])
def test_convolutions_of_unknown_sizes_stay(dims: tuple[int, int]) -> None:
    """Of a window of one element, too."""
    x, w = (_hidden(tensor(f32, shape), (d,)) for shape, d in zip(((1, 2, 3), (4, 2, 1)), dims, strict=True))
    props = {"stride": (1,), "low": (0,), "high": (0,), "groups": 1}
    module = ModuleOp([define("main", [x, w], lambda b, x, w: b.conv(x, w, **props))])
    assert not simplify_block(function_of(module, "main").body.block, rules_by_root())
    assert _only(module, ("conv",))


@pytest.mark.parametrize("operand", range(3))
def test_attention_over_unknown_sizes_stays(operand: int) -> None:
    types = [tensor(f32, (2, 1, 3, 4))] * 3
    types[operand] = _hidden(types[operand], (0,))
    module = ModuleOp([define("main", types, lambda b, *x: b.attention(*x, mask="none", scale=0.5))])
    assert not simplify_block(function_of(module, "main").body.block, rules_by_root())
    assert _only(module, ("attention",))


def test_constants_are_folded_up_to_a_size() -> None:
    """What is folded reads at most 1024 elements of each operand, and makes at most as many."""
    for n, m, folded in ((1024, 1, True), (1025, 1, False), (32, 32, True), (41, 25, False)):
        for build in (
            lambda b, x, n=n, m=m: b.reduce(b.const(np.ones(n * m, np.float32)), kind="add", dims=(0,)),
            lambda b, x, n=n, m=m: b.dot(
                b.const(np.ones((n, 1))), b.const(np.ones((1, m))), lhs_contract=(1,), rhs_contract=(0,)
            ),
        ):
            module = ModuleOp([define("main", [tensor(f32, ())], build)])
            simplify_block(function_of(module, "main").body.block, rules_by_root())
            assert not any(op.name in ("graph.reduce", "graph.dot") for op in module.walk()) == folded
