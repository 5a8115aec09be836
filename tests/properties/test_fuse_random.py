"""Random graphs: after fusion, vectorization and buffer planning they compute the same as the graph."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lamina.dialects.context import make_context
from lamina.dialects.dominance import verify_module
from lamina.dialects.graph.autodiff import VjpOp, has_tangent
from lamina.dialects.graph.builder import GraphBuilder
from lamina.dialects.types import element_type, f32, f64, i32, i64, tensor
from lamina.executor import executor
from lamina.passes import run_passes
from lamina.pipeline import Step, run_to
from lamina.runtime.callable import Compiled
from lamina.runtime.interpreter import interpret
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

CTX = make_context()
SIZES = (0, 1, 2, 3, 5, 8, 9, 17, 33)
MAX_ELEMENTS = 4000
EXAMPLES = int(os.environ.get("LAMINA_TEST_EXAMPLES", "120"))
SAME = EXAMPLES <= 120 and not os.environ.get("LAMINA_TEST_SEED")
EXACT_BELOW = 2**22
"""Whole floats below this are added and multiplied without rounding, in any order."""


@dataclass
class Value:
    """A value of the graph with what it is on the chosen inputs; `exact` when it does not depend on the order of sums."""

    ssa: SSAValue
    array: np.ndarray
    exact: bool = True

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def is_float(self) -> bool:
        return self.array.dtype.kind == "f"


@dataclass
class Drawn:
    """A whole program: shown as its text."""

    module: ModuleOp
    arguments: list[np.ndarray]
    results: list[Value]

    def __repr__(self) -> str:
        return f"\n{self.module}\non {self.arguments}"


@dataclass
class Program:
    """A function that grows op by op, evaluated as it grows."""

    draw: Callable[..., Any]
    block: Block = field(default_factory=Block)
    values: list[Value] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.arguments: list[np.ndarray] = []
        self.b = GraphBuilder(self.block)

    def pick(self, *wanted: Callable[[Value], bool]) -> Value | None:
        found = [v for v in self.values if all(w(v) for w in wanted)]
        return self.draw(st.sampled_from(found)) if found else None

    def among(self, choices: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(list(choices)))

    def argument(self, shape: tuple[int, ...], dtype: Any) -> Value:
        rng = np.random.default_rng(self.draw(st.integers(0, 5)))
        array = np.asarray(rng.integers(0, 2, shape) if dtype == np.bool_ else rng.integers(-3, 4, shape), dtype)
        self.block.insert_arg(tensor(element_type(array.dtype), shape), len(self.block.args))
        self.arguments.append(array)
        value = Value(self.block.args[-1], array)
        self.values.append(value)
        return value

    def add(self, name: str, operands: Sequence[Value], exact: bool = True, **more: Any) -> Value | None:
        """Append an op, unless its result is too large to be exact."""
        b = self.b
        ssa = getattr(b, name)(*(o.ssa for o in operands), **more)
        op = ssa.owner
        assert isinstance(op, Operation)
        array = op.evaluate(*(o.array for o in operands))[0]  # pyright: ignore[reportAttributeAccessIssue]
        exact = exact and all(o.exact for o in operands)
        large = array.dtype.kind == "f" and np.abs(array).max(initial=0) >= EXACT_BELOW
        if large or array.size > MAX_ELEMENTS:
            op.detach()
            op.erase()
            return None
        value = Value(ssa, array, exact)
        self.values.append(value)
        return value


def elementwise(p: Program) -> None:
    x = p.pick(lambda v: v.array.dtype != np.bool_)
    if x is None:
        return
    y = p.pick(lambda v: v.array.dtype == x.array.dtype and v.shape == x.shape)
    assert y is not None
    p.add(p.among(("add", "sub", "mul", "max", "min")), (x, y))


def unary(p: Program) -> None:
    x = p.pick(lambda v: v.array.dtype != np.bool_)
    if x is not None:
        names = ("neg", "abs", *(("tanh", "exp", "sin") if x.is_float else ()), *(("sign",) if x.exact else ()))
        name = p.among(names)
        if name == "exp" and np.abs(x.array).max(initial=0) > 8:
            return
        p.add(name, (x,), name in ("neg", "abs", "sign"))


def choose(p: Program) -> None:
    x = p.pick(lambda v: v.exact and v.array.dtype != np.bool_)
    if x is None:
        return
    y = p.pick(lambda v: v.exact and v.array.dtype == x.array.dtype and v.shape == x.shape)
    assert y is not None
    c = p.add("cmp", (x, y), predicate=p.among(("eq", "lt", "ge")))
    if c is not None and p.among((True, False)):
        p.add("select", (c, x, y))


def convert(p: Program) -> None:
    x = p.pick(lambda v: v.exact and np.abs(v.array.astype(np.float64)).max(initial=0) < EXACT_BELOW)
    if x is not None:
        target = p.among([t for t in (f32, f64, i32, i64) if t != x.ssa.type.element_type])  # pyright: ignore
        p.add("convert", (x,), element=target)


def broadcast(p: Program) -> None:
    x = p.pick(lambda v: len(v.shape) < 4)
    if x is None:
        return
    rank = p.draw(st.integers(len(x.shape), 4))
    dims = sorted(p.draw(st.permutations(range(rank)))[: len(x.shape)])
    shape = [p.among((1, 2, 3, 9)) for _ in range(rank)]
    for k, d in enumerate(dims):
        shape[d] = x.shape[k] if x.shape[k] != 1 or p.among((True, False)) else shape[d]
    if prod(shape) <= MAX_ELEMENTS:
        p.add("broadcast", (x,), dims=tuple(dims), shape=tuple(shape))


def like(p: Program) -> None:
    """A lower-rank value spread to the shape of another, as in x + bias."""
    x = p.pick(lambda v: len(v.shape) > 0)
    if x is None:
        return
    fits = [(y, d) for y in p.values if len(y.shape) == 1 for d, n in enumerate(x.shape) if y.shape[0] == n]
    if fits:
        y, d = fits[p.draw(st.integers(0, len(fits) - 1))]
        p.add("broadcast", (y,), dims=(d,), shape=x.shape)


def reduce(p: Program) -> None:
    x = p.pick(lambda v: len(v.shape) > 0)
    if x is None:
        return
    dims = tuple(d for d in range(len(x.shape)) if p.among((True, False)))
    kinds = ("and", "or") if x.array.dtype == np.bool_ else ("add", "max", "min", *(() if x.is_float else ("mul",)))
    kind = p.among(kinds)
    if kind in ("max", "min") and x.is_float and 0 in (x.shape[d] for d in dims):
        return
    y = p.add("reduce", (x,), kind=kind, dims=dims)
    if y is not None and p.among((True, False)):
        # back to where it came from, as softmax and normalizations do
        p.add("broadcast", (y,), dims=tuple(d for d in range(len(x.shape)) if d not in dims), shape=x.shape)


def extreme(p: Program) -> None:
    x = p.pick(lambda v: v.exact and len(v.shape) > 0 and 0 not in v.shape)
    if x is not None:
        p.add(p.among(("argmax", "argmin")), (x,), dim=p.among(range(len(x.shape))))


def dot(p: Program) -> None:
    x = p.pick(lambda v: len(v.shape) > 0 and v.array.dtype != np.bool_)
    if x is None:
        return
    fits = [
        (y, i, j)
        for y in p.values
        if y.array.dtype == x.array.dtype
        for i, n in enumerate(x.shape)
        for j, m in enumerate(y.shape)
        if n == m and x.array.size * y.array.size // max(n, 1) <= 2 * MAX_ELEMENTS
    ]
    if not fits:
        return
    y, i, j = fits[p.draw(st.integers(0, len(fits) - 1))]
    batch = p.among((True, False, False))
    names = ("lhs_batch", "rhs_batch") if batch else ("lhs_contract", "rhs_contract")
    p.add("dot", (x, y), **{names[0]: (i,), names[1]: (j,)})


def reshape(p: Program) -> None:
    x = p.pick()
    if x is None:
        return
    size = x.array.size
    shapes = [(size,), (1, size), *((d, size // d) for d in (2, 3, 5) if size and size % d == 0), *([()] if size == 1 else [])]
    p.add("reshape", (x,), shape=p.among(shapes))


def transpose(p: Program) -> None:
    x = p.pick(lambda v: len(v.shape) > 1)
    if x is not None:
        p.add("transpose", (x,), perm=tuple(p.draw(st.permutations(range(len(x.shape))))))


def slice_(p: Program) -> None:
    x = p.pick(lambda v: len(v.shape) > 0)
    if x is None:
        return
    start = [p.draw(st.integers(0, n)) for n in x.shape]
    stop = [p.draw(st.integers(s, n)) for s, n in zip(start, x.shape, strict=True)]
    p.add("slice", (x,), start=tuple(start), stop=tuple(stop), step=tuple(p.among((1, 2, 3)) for _ in x.shape))


def reverse(p: Program) -> None:
    x = p.pick(lambda v: len(v.shape) > 0)
    if x is not None:
        p.add("reverse", (x,), dims=tuple(d for d in range(len(x.shape)) if p.among((True, False))))


def concat(p: Program) -> None:
    x = p.pick(lambda v: len(v.shape) > 0)
    if x is None:
        return
    dim = p.among(range(len(x.shape)))

    def fits(v: Value) -> bool:
        rest = [n for d, n in enumerate(v.shape) if d != dim]
        mine = [n for d, n in enumerate(x.shape) if d != dim]
        return v.array.dtype == x.array.dtype and len(v.shape) == len(x.shape) and rest == mine

    parts = [x, *(v for v in (p.pick(fits) for _ in range(p.draw(st.integers(0, 2)))) if v is not None)]
    p.add("concat", parts, dim=dim)


def pad(p: Program) -> None:
    x = p.pick(lambda v: 0 < len(v.shape) < 4)
    if x is None:
        return
    value = p.pick(lambda v: v.shape == () and v.array.dtype == x.array.dtype)
    if value is None:
        array = np.zeros((), x.array.dtype)
        value = Value(p.b.const(array), array)
    interior = tuple(p.among((0, 0, 1)) for _ in x.shape)
    low = tuple(p.draw(st.integers(-min(n, 2), 3)) for n in x.shape)
    spread = [n + max(0, n - 1) * i + lo for n, i, lo in zip(x.shape, interior, low, strict=True)]
    high = tuple(p.draw(st.integers(-min(max(n, 0), 2), 3)) if n >= 0 else -n for n in spread)
    p.add("pad", (x, value), low=low, high=high, interior=interior)


def iota(p: Program) -> None:
    shape = (p.among(SIZES), p.among((1, 3, 9)))
    dim = p.among((0, 1))
    ssa = p.b.iota(dim=dim, result=tensor(p.among((f32, i32, i64)), shape))
    p.values.append(Value(ssa, ssa.owner.evaluate()[0]))


def constant(p: Program) -> None:
    x = p.pick(lambda v: v.array.dtype != np.bool_)
    if x is not None:
        number = p.among((0, 1, -2))
        ssa = p.b.full_like(x.ssa, number)
        p.values.append(Value(ssa, np.full_like(x.array, number)))


STEPS = (elementwise, elementwise, elementwise, unary, choose, convert, broadcast, like, reduce, reduce, extreme, dot, reshape,
         transpose, slice_, reverse, concat, pad, iota, constant)  # fmt: skip


@st.composite
def programs(
    draw: Callable[..., Any], dtypes: Sequence[Any] = (np.float32, np.float32, np.float64, np.int32, np.int64)
) -> Drawn:
    p = Program(draw)
    dtype = draw(st.sampled_from(dtypes))
    base = [draw(st.sampled_from(SIZES)) for _ in range(draw(st.integers(0, 3)))]
    for _ in range(draw(st.integers(1, 3))):
        p.argument(tuple(base if draw(st.booleans()) else base[draw(st.integers(0, len(base))) :]), dtype)
    for _ in range(draw(st.integers(1, 14))):
        draw(st.sampled_from(STEPS))(p)
    n = draw(st.integers(1, 3))
    results = [p.values[-1], *(draw(st.sampled_from(p.values)) for _ in range(n - 1))]
    p.block.add_op(ReturnOp(*(r.ssa for r in results)))
    types = [a.type for a in p.block.args]
    function = FuncOp("main", (types, [r.ssa.type for r in results]), Region(p.block))
    return Drawn(ModuleOp([function]), p.arguments, results)


def check(module: ModuleOp, arguments: list[np.ndarray], results: list[Value]) -> None:
    verify_module(module)
    text = str(module)

    def verified(step: Step, module: ModuleOp) -> None:
        try:
            verify_module(module)
        except Exception as error:
            raise AssertionError(f"after {step.name}: {error}\n{module}\n{text}") from error

    run_to(module, "program", CTX, verified)
    got = Compiled(executor.program(module))(*arguments)
    for k, (have, want) in enumerate(zip(got if isinstance(got, tuple) else (got,), results, strict=True)):
        assert (have.dtype, have.shape) == (want.array.dtype, want.shape), text
        if want.exact:
            np.testing.assert_array_equal(have, want.array, err_msg=f"result {k} of\n{text}")
        else:
            scale = np.abs(want.array).max(initial=1)
            tolerance = 2e-4 if have.dtype == np.float32 else 1e-9
            np.testing.assert_allclose(have, want.array, rtol=tolerance, atol=tolerance * scale, err_msg=text)


@pytest.mark.thorough
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=SAME)
@given(programs())
def test_random_graphs(program: Drawn) -> None:
    check(program.module.clone(), program.arguments, program.results)


def gradients_of(module: ModuleOp) -> ModuleOp:
    """@main gives the gradients of the old one, now @f, along cotangents that are further arguments."""
    f = module.body.block.first_op
    assert isinstance(f, FuncOp)
    f.properties["sym_name"] = StringAttr("f")
    f.properties["sym_visibility"] = StringAttr("private")
    inputs = list(f.function_type.inputs)
    cotangents = [t for t in f.function_type.outputs if has_tangent(t)]
    block = Block(arg_types=[*inputs, *cotangents])
    n = len(inputs)
    vjp = VjpOp.make(f, block.args[:n], block.args[n:], range(n))
    gradients = vjp.results[len(f.function_type.outputs) :]
    block.add_ops([vjp, ReturnOp(*gradients)])
    main = FuncOp("main", ([*inputs, *cotangents], [g.type for g in gradients]), Region(block))
    module.body.block.add_op(main)
    return module


@pytest.mark.thorough
@settings(max_examples=EXAMPLES // 2, deadline=None, suppress_health_check=list(HealthCheck), derandomize=SAME)
@given(programs(dtypes=(np.float64,)))
def test_gradients_of_random_graphs(program: Drawn) -> None:
    """Optimized and compiled, against the graph as differentiation left it."""
    arguments, results = program.arguments, program.results
    module = gradients_of(program.module.clone())
    verify_module(module)
    text = str(module)
    rng = np.random.default_rng(1)
    cotangents = [rng.integers(-2, 3, r.shape).astype(r.array.dtype) for r in results if r.is_float]
    tolerance = 2e-3 if "f32" in text else 1e-8
    expanded = module.clone()
    run_passes(expanded, CTX, "graph-vmap,graph-linearize,graph-transpose", verify_each=True)
    want = interpret(expanded, "main", [*arguments, *cotangents])
    got = Compiled(executor.program(module))(*arguments, *cotangents)
    for have, wanted in zip(got if isinstance(got, tuple) else (got,), want, strict=True):
        scale = np.abs(wanted[np.isfinite(wanted)]).max(initial=1)
        np.testing.assert_allclose(have, wanted, rtol=tolerance, atol=tolerance * scale, err_msg=text)
