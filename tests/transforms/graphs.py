"""Graphs for the tests of transforms: functions built from one op, and their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from lamina.dialects.context import make_context
from lamina.dialects.dominance import verify_module
from lamina.dialects.graph.autodiff import JvpOp, VjpOp, VmapOp, has_tangent
from lamina.dialects.graph.builder import GraphBuilder
from lamina.dialects.graph.control import ForOp
from lamina.dialects.parsing import parse_module
from lamina.dialects.types import element_type, f64, i1, i64, shape_of, tensor
from lamina.passes import run_passes
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

CTX = make_context()
EXPAND = "graph-vmap,graph-linearize,graph-transpose"
"""Expands every transformation."""
OPTIMIZE = "graph-inline,graph-decompose,graph-simplify,graph-cse,graph-simplify,graph-cse,graph-dce"
"""What the pipeline runs after it."""


def parse(text: str) -> ModuleOp:
    module = parse_module(CTX, text, "test.mlir")
    verify_module(module)
    return module


def run(module: ModuleOp, passes: str) -> ModuleOp:
    """Run passes, verifying after each."""
    run_passes(module, CTX, passes, verify_each=True)
    return module


def function_of(module: ModuleOp, name: str) -> FuncOp:
    return next(op for op in module.body.block.ops if isinstance(op, FuncOp) and op.sym_name.data == name)


def ops_in(module: ModuleOp, entry: str = "main") -> list[str]:
    """Names of the ops of a function without `graph.`, the return left out."""
    return [op.name.removeprefix("graph.") for op in function_of(module, entry).body.block.ops][:-1]


@dataclass(frozen=True)
class Case:
    """A function of one op (or a few): `build(b, *arguments)` returns its result or results.

    Arguments are f64 arrays of `shapes` drawn from `domain`, then the arrays `fixed`, by which nothing is differentiated.
    `bodies` gives the functions that its loops run.
    """

    name: str
    shapes: tuple[tuple[int, ...], ...]
    build: Callable[..., Any]
    domain: tuple[float, float] = (-1.5, 1.5)
    fixed: tuple[Any, ...] = ()
    bodies: Callable[[], tuple[FuncOp, ...]] = tuple

    def arguments(self, seed: int = 0) -> list[np.ndarray]:
        rng = np.random.default_rng(seed)
        low, high = self.domain
        return [rng.uniform(low, high, shape) for shape in self.shapes] + [np.asarray(a) for a in self.fixed]

    @property
    def wrt(self) -> list[int]:
        return list(range(len(self.shapes)))


def _type_of(array: Any) -> Any:
    return tensor(element_type(np.asarray(array).dtype), np.asarray(array).shape)


def define(name: str, types: Sequence[Any], build: Callable[..., Any], private: bool = False) -> FuncOp:
    """A function whose body `build(b, *arguments)` makes."""
    block = Block(arg_types=list(types))
    built = build(GraphBuilder(block), *block.args)
    results = list(built) if isinstance(built, tuple | list) else [built]
    block.add_op(ReturnOp(*results))
    function = FuncOp(name, (list(types), [r.type for r in results]), Region(block))
    if private:
        function.properties["sym_visibility"] = StringAttr("private")
    return function


def apply(op: Any, function: FuncOp, *args: Any) -> Callable[..., Any]:
    """A body that applies a derivative or vmap op to `function`: `args` are functions of the arguments' list."""

    def build(b: GraphBuilder, *values: SSAValue) -> Any:
        result = b.insert(op.make(function, *(a(values) if callable(a) else a for a in args)))
        return result if isinstance(result, tuple) else (result,)

    return build


def derivatives(case: Case) -> ModuleOp:
    """@f; @jvp(x, t) and @vjp(x, ct) of it; @jvp_vjp and @vjp_vjp of @vjp, each without the results of @f."""
    types = [_type_of(a) for a in case.arguments()]
    n, wrt = len(types), case.wrt
    f = define("f", types, case.build)
    outputs = [t for t in f.function_type.outputs if has_tangent(t)]
    tangents = [types[k] for k in wrt]
    jvp = define("jvp", types + tangents, apply(JvpOp, f, lambda v: v[:n], lambda v: v[n:], wrt))
    n_results = len(f.function_type.outputs)

    def only_gradients(b: GraphBuilder, *values: SSAValue) -> Any:
        return apply(VjpOp, f, values[:n], values[n:], wrt)(b)[n_results:]

    grad = define("vjp", types + outputs, only_gradients)
    m = n + len(outputs)
    floats = wrt + list(range(n, m))
    inputs = types + outputs
    varied = [inputs[k] for k in floats]
    again = define("jvp_vjp", inputs + varied, apply(JvpOp, grad, lambda v: v[:m], lambda v: v[m:], floats))
    twice = define("vjp_vjp", inputs + tangents, apply(VjpOp, grad, lambda v: v[:m], lambda v: v[m:], floats))
    module = ModuleOp([*case.bodies(), f, jvp, grad, again, twice])
    verify_module(module)
    return module


def mapped(case: Case, axes: Sequence[int], size: int = 3) -> tuple[ModuleOp, list[np.ndarray]]:
    """@f and @main, which maps it over `axes`; the arguments of @main."""
    args = case.arguments()
    stacked = []
    for k, (a, axis) in enumerate(zip(args, axes, strict=True)):
        if axis < 0:
            stacked.append(a)
        elif k < len(case.shapes):
            stacked.append(np.stack([case.arguments(seed)[k] for seed in range(size)], axis))
        else:
            stacked.append(np.stack([np.roll(a, i) for i in range(size)], axis))
    f = define("f", [_type_of(a) for a in args], case.build, private=True)
    main = define("main", [_type_of(a) for a in stacked], apply(VmapOp, f, lambda v: v, axes))
    module = ModuleOp([*case.bodies(), f, main])
    verify_module(module)
    return module, stacked


# --------------------------------------------------------------------------------------------------------------------
# One row an op, and more where an op has several ways to go


def _u(name: str, domain: tuple[float, float] = (-1.5, 1.5)) -> Case:
    return Case(name, ((2, 3),), lambda b, x: getattr(b, name)(x), domain)


def _b(name: str, domain: tuple[float, float] = (-1.5, 1.5)) -> Case:
    return Case(name, ((2, 3), (2, 3)), lambda b, x, y: getattr(b, name)(x, y), domain)


def _dot(name: str, lhs: tuple[int, ...], rhs: tuple[int, ...], *dims: Sequence[int]) -> Case:
    props = dict(zip(("lhs_batch", "rhs_batch", "lhs_contract", "rhs_contract"), dims, strict=True))
    return Case(f"dot_{name}", (lhs, rhs), lambda b, x, y: b.dot(x, y, **props))


def _reduce(kind: str, dims: Sequence[int]) -> Case:
    return Case(f"reduce_{kind}_{len(dims)}", ((2, 3, 4),), lambda b, x: b.reduce(x, kind=kind, dims=dims), (0.3, 1.5))


def _pad(name: str, low: Sequence[int], high: Sequence[int], interior: Sequence[int]) -> Case:
    return Case(f"pad_{name}", ((3, 4), ()), lambda b, x, v: b.pad(x, v, low=low, high=high, interior=interior))


def _gather(name: str, shape: tuple[int, ...], *indices: Any, **props: Any) -> Case:
    return Case(f"gather_{name}", (shape,), lambda b, x, *i: b.gather(x, *i, **props), fixed=indices)


def _scatter(kind: str, shape: tuple[int, ...], updates: tuple[int, ...], *indices: Any, **props: Any) -> Case:
    name = "_".join(["scatter", kind, *map(str, shape)])
    return Case(name, (shape, updates), lambda b, x, u, *i: b.scatter(x, u, *i, kind=kind, **props), fixed=indices)


_MUL = {"kind": "mul", "dim": 0, "direction": "forward", "bound": "inclusive"}
_MAX = {"kind": "max", "dim": 0, "direction": "forward", "bound": "exclusive"}


def _scan(kind: str, direction: str, bound: str) -> Case:
    props = {"kind": kind, "dim": 1, "direction": direction, "bound": bound}
    return Case(f"scan_{kind}_{direction}", ((2, 4, 2),), lambda b, x: b.scan(x, **props), (0.3, 1.5))


def _conv(name: str, x: tuple[int, ...], w: tuple[int, ...], *padding: Sequence[int], **more: Any) -> Case:
    stride, low, high = padding
    props = {"stride": stride, "low": low, "high": high, "groups": 1}
    props |= dict.fromkeys(("base_dilation", "dilation", "x_dims", "w_dims", "y_dims"), ()) | more
    return Case(f"conv_{name}", (x, w), lambda b, x, w: b.conv(x, w, **props))


def _window(name: str, op: str, shapes: tuple[tuple[int, ...], ...], kind: str, *rows: Sequence[int]) -> Case:
    props = {"kind": kind, **dict(zip(("window", "stride", "low", "high", "dilation"), rows, strict=True))}
    return Case(f"{op}_{name}", shapes, lambda b, *x: getattr(b, op)(*x, **props), (0.3, 1.5))


def _step(b: GraphBuilder, i: Any, w: Any, h: Any, x: Any) -> tuple[Any, ...]:
    """A cell of a recurrent network."""
    h = b.tanh(b.add(b.dot(w, h, lhs_contract=(1,), rhs_contract=(0,)), x))
    return h, b.mul(h, x)


def _count(b: GraphBuilder, i: Any, c: Any, n: Any, h: Any, k: Any, x: Any) -> tuple[Any, ...]:
    """Floats and integers carried and in slices; one result does not depend on what is differentiated by."""
    n = b.add(n, b.add(k, i))
    h = b.mul(b.add(h, x), b.broadcast(b.mul(c, b.convert(n, f64)), (), (2,)))
    return n, h, n, b.sin(h), b.convert(k, f64)


def _partly(b: GraphBuilder, i: Any, a: Any, k: Any, g: Any, h: Any, x: Any) -> tuple[Any, ...]:
    """Two are carried, one const varies and one is given."""
    return b.add(b.mul(a, h), x), b.mul(b.sin(g), k), b.mul(g, h)


def _loop(name: str, step: Callable[..., Any], case: Case, lengths: tuple[int, int, int], count: int, reverse: bool) -> Case:
    """A loop over a function: arguments of the case are its consts, what it carries and its stacks, so many of each."""
    types = [_type_of(a) for a in case.arguments()]
    stacks = sum(lengths[:2])
    sliced = [tensor(t.element_type, t.get_shape()[1:]) for t in types[stacks:]]
    body = define(f"{name}_body", [tensor(i64, ()), *types[:stacks], *sliced], step, private=True)

    def build(b: GraphBuilder, *values: SSAValue) -> Any:
        groups = values[: lengths[0]], values[lengths[0] : stacks], values[stacks:]
        loop = ForOp.make(body, count, *groups, reverse=reverse)
        b.insert(loop)
        return tuple(loop.results)

    return replace(case, name=name, build=build, bodies=lambda: (body.clone(),))


def counted() -> tuple[FuncOp, FuncOp]:
    """A body, and @f(count, c, h): h = tanh(h) + c i, so often as a value says."""

    def step(b: GraphBuilder, i: Any, c: Any, h: Any) -> Any:
        return b.add(b.tanh(h), b.mul(c, b.convert(i, f64)))

    scalar, number = tensor(f64, ()), tensor(i64, ())
    body = define("step", [number, scalar, scalar], step, private=True)
    f = define("f", [number, scalar, scalar], lambda b, n, c, h: b.insert(ForOp.make(body, n, [c], [h], [])))
    return body, f


def _loops() -> Iterator[Case]:
    for reverse in (False, True):
        way = "reverse" if reverse else "forward"
        shapes = ((2, 2), (2,), (3, 2))
        yield _loop(f"for_{way}", _step, Case("", shapes, _step), (1, 1, 1), 3, reverse)
    mixed = Case("", ((), (2,)), _count, (0.2, 0.9), (np.int64(1), np.array([0.3, -0.4]), np.array([2, 0, 1])))
    # c and x vary; n, h and k are given: arguments come in the order of the loop
    order = (0, 2, 3, 4, 1)

    def build(b: GraphBuilder, c: Any, x: Any, n: Any, h: Any, k: Any) -> Any:
        values = (c, x, n, h, k)
        return inner.build(b, *(values[j] for j in order))

    types = Case("", (), _count, fixed=(0.5, np.int64(1), np.zeros(2), np.zeros(3, int), np.zeros((3, 2))))
    inner = _loop("for_integers", _count, types, (1, 2, 2), 3, False)
    yield replace(mixed, name="for_integers", shapes=((), (3, 2)), build=build, bodies=inner.bodies)
    types = Case("", (), _partly, fixed=(0.5, 0.5, 0.5, 0.5, np.zeros(3)))
    uneven = _loop("for_uneven", _partly, types, (2, 2, 1), 3, True)

    def build_uneven(b: GraphBuilder, a: Any, g: Any, h: Any, x: Any, k: Any) -> Any:
        return uneven.build(b, a, k, g, h, x)[:2]  # what is stacked is not used

    given = (np.float64(0.7),)
    yield replace(uneven, shapes=((), (), (), (3,)), build=build_uneven, fixed=given)
    cell = define("cell", [tensor(i64, ()), *[tensor(f64, (2,))] * 2], lambda b, i, g, h: b.mul(b.sin(h), g), private=True)

    def nested(b: GraphBuilder, i: Any, g: Any, h: Any) -> Any:
        return b.add(h, b.insert(ForOp.make(cell, 2, [b.mul(g, h)], [h], [])))

    outer = _loop("for_nested", nested, Case("", ((2,), (2,)), nested), (1, 1, 0), 2, False)
    yield replace(outer, bodies=lambda: (cell.clone(), *outer.bodies()))
    yield _loop("for_nothing", _step, Case("", ((2, 2), (2,), (0, 2)), _step), (1, 1, 1), 0, False)


_LAST = {"x_dims": (0, 3, 1, 2), "w_dims": (3, 2, 0, 1), "y_dims": (0, 3, 1, 2)}
_POOL = ((1, 2, 3), (1, 2, 1), (0, 1, -1), (0, 0, 2), (1, 1, 1))
_SPREAD = ((2, 2), (1, 3), (1, 0), (0, 2), (2, 1))

_LOWER = {"side": "lower", "form": "plain", "diagonal": "given"}


def _definite(b: GraphBuilder, x: SSAValue) -> SSAValue:
    """Symmetric positive definite matrices of others."""
    rank = len(shape_of(x))
    dims = {"lhs_batch": tuple(range(rank - 2)), "rhs_batch": tuple(range(rank - 2))}
    squares = b.dot(x, x, lhs_contract=(rank - 1,), rhs_contract=(rank - 1,), **dims)
    return b.add(squares, _diagonal(squares, b, 1.0))


def _spread(b: GraphBuilder, x: SSAValue) -> SSAValue:
    """Matrices with separated eigenvalues and singular values of others."""
    return b.add(x, _diagonal(x, b, 4.0))


def _diagonal(like: SSAValue, b: GraphBuilder, step: float) -> SSAValue:
    rows, columns = shape_of(like)[-2:]
    matrix = np.diag(step * np.arange(1, max(rows, columns) + 1))[:rows, :columns]
    return b.const(np.broadcast_to(matrix, shape_of(like)))


def _of_complex(name: str, function: Callable[..., Any], shape: tuple[int, ...] = (3,)) -> Case:
    """A function of complex numbers, whose parts are the arguments, by the parts of its result."""

    def build(b: Any, x: Any, y: Any) -> Any:
        z = function(b, b.complex(x, y))
        return b.real(z), b.imag(z)

    return Case(f"complex_{name}", (shape, shape), build, (0.3, 1.2))


def _fft(b: Any, z: Any) -> Any:
    return b.fft(z, dim=1, direction="inverse")


_COMPLEX = [
    *(_of_complex(name, lambda b, z, name=name: getattr(b, name)(z)) for name in "neg exp log sqrt sin cos tanh".split()),
    *(_of_complex(name, lambda b, z, name=name: getattr(b, name)(z, b.exp(z))) for name in "add sub mul div pow".split()),
    _of_complex("fft", _fft, (2, 4)),
    _of_complex("pairs", lambda b, z: b.mul(z, b.from_pairs(b.as_pairs(b.mul(z, z))))),
    Case("magnitude", ((3,), (3,)), lambda b, x, y: b.magnitude(b.complex(x, b.mul(x, y)))),
    Case("interleave", ((3,), (3,)), lambda b, x, y: b.mul(b.interleave(x, y), b.interleave(y, y))),
]

CASES = [
    *_COMPLEX,
    *(
        _u(name)
        for name in ("neg", "abs", "sign", "floor", "ceil", "rint", "exp", "expm1", "sin", "cos", "atan", "tanh", "erf", "erfc")
    ),
    *(_u(name) for name in ("expm1_slope", "gauss", "sech2", "sigmoid_slope")),
    _u("erf_inv", (-0.9, 0.9)),
    *(_u(name, (0.2, 2.0)) for name in ("log", "log1p", "sqrt", "rsqrt")),
    _u("tan", (-1.0, 1.0)),
    *(_b(name) for name in ("add", "sub", "mul", "max", "min")),
    *(_b(name, (0.4, 2.0)) for name in ("div", "rem", "pow", "atan2")),
    Case("square", ((3,),), lambda b, x: b.mul(x, x)),
    Case("after", ((3,), (3,)), lambda b, x, y: b.mul(x, b.after(b.mul(x, y), y))),
    Case("select", ((3,), (3,)), lambda b, x, y, c: b.select(c, x, y), fixed=(np.array([True, False, True]),)),
    Case("select_cmp", ((3,), (3,)), lambda b, x, y: b.select(b.cmp(x, y, predicate="lt"), x, b.mul(y, y))),
    Case("convert_int", ((4,),), lambda b, x: b.mul(x, b.convert(b.convert(x, i64), f64)), (1.2, 7.8)),
    Case("convert_bool", ((4,),), lambda b, x: b.mul(x, b.convert(b.convert(x, i1), f64))),
    Case("reshape", ((2, 6),), lambda b, x: b.reshape(x, (3, 4))),
    Case("transpose", ((2, 3, 4),), lambda b, x: b.transpose(x, perm=(2, 0, 1))),
    Case("broadcast", ((3,),), lambda b, x: b.broadcast(x, (1,), (2, 3, 4))),
    Case("broadcast_stretch", ((3, 1),), lambda b, x: b.broadcast(x, (0, 1), (3, 4))),
    Case("broadcast_twice", ((3, 1),), lambda b, x: b.broadcast(x, (0, 1), (3, 2))),
    Case("broadcast_scalar", ((),), lambda b, x: b.broadcast(x, (), (3, 4))),
    Case("slice", ((5, 7),), lambda b, x: b.slice(x, start=(1, 0), stop=(5, 6), step=(2, 3))),
    Case("concat", ((2, 3), (1, 3)), lambda b, x, y: b.concat(x, y, x, dim=0)),
    Case("concat_last", ((2, 3), (2, 1)), lambda b, x, y: b.concat(x, y, dim=1)),
    _pad("edges", (1, 0), (2, 1), (0, 0)),
    _pad("interior", (1, 0), (0, 1), (1, 2)),
    _pad("negative", (-1, 1), (1, -2), (0, 0)),
    _pad("negative_interior", (-2, 1), (1, -3), (1, 2)),
    Case("reverse", ((2, 3),), lambda b, x: b.reverse(x, dims=(1,))),
    *(_reduce(kind, dims) for kind in ("add", "mul", "max", "min") for dims in ((1,), (0, 2), (0, 1, 2))),
    Case("argmax", ((2, 3),), lambda b, x: b.convert(b.argmax(x, dim=1), f64)),
    Case("argmin", ((2, 3),), lambda b, x: b.convert(b.argmin(x, dim=0), f64)),
    _dot("matmul", (2, 3), (3, 4), (), (), (1,), (0,)),
    _dot("transposed", (3, 2), (4, 3), (), (), (0,), (1,)),
    _dot("outer", (2,), (3,), (), (), (), ()),
    _dot("inner", (3,), (3,), (), (), (0,), (0,)),
    _dot("matvec", (2, 3), (3,), (), (), (1,), (0,)),
    _dot("batch", (5, 2, 3), (5, 3, 4), (0,), (0,), (2,), (1,)),
    _dot("batch_inside", (2, 5, 3), (3, 4, 5), (1,), (2,), (2,), (0,)),
    _dot("ranks", (3,), (2, 3, 4), (), (), (0,), (1,)),
    _dot("batch_ranks", (2, 5), (3, 5, 4, 2), (0,), (3,), (1,), (1,)),
    _dot("two_batches", (2, 4, 3), (4, 3, 2), (0, 1), (2, 0), (2,), (1,)),
    _dot("two_contracted", (2, 3, 4), (4, 5, 3), (), (), (1, 2), (2, 0)),
    Case("dot_self", ((3, 3),), lambda b, x: b.dot(x, x, lhs_contract=(1,), rhs_contract=(0,))),
    _gather("rows", (4, 3), [0, 3, 3, -2, 9], at=(0,)),
    _gather("columns", (3, 4), [[1, 1], [0, 7]], at=(1,)),
    _gather("window", (5, 4), 3, -1, at=(0, 1), window=(2, 3)),
    _gather("windows", (2, 6), [3, 0, 5], at=(1,), window=(2,)),
    _gather("batch", (3, 4), [[0, 1], [3, 3], [2, -5]], at=(1,), batch=(0,)),
    *(_scatter(kind, (4, 3), (5, 3), [0, 3, 3, -2, 9], at=(0,)) for kind in ("set", "add", "mul", "max", "min")),
    _scatter("mul", (5, 4), (2, 3), 3, 1, at=(0, 1), window=(2, 3)),
    _scatter("set", (5, 4), (2, 3), 3, 1, at=(0, 1), window=(2, 3)),
    _scatter("set", (4,), (2, 2), [[0, 1], [1, 2]], at=(0,)),
    _scatter("set", (3,), (3,), [0, 5, -2], at=(0,)),
    _scatter("add", (2, 6), (3, 2, 2), [3, 0, 5], at=(1,), window=(2,)),
    _scatter("max", (3, 4), (3, 2), [[0, 1], [3, 3], [2, -5]], at=(1,), batch=(0,)),
    Case(
        "scatter_mul",
        ((4,),),
        lambda b, x, i: b.scatter(x, b.const(np.array([2.0, 0.0, 3.0])), i, kind="mul", at=(0,)),
        fixed=(np.array([1, 2, 1]),),
    ),
    Case(
        "scatter_mul_updates",
        ((3,),),
        lambda b, u, i: b.scatter(b.const(np.array([2.0, 0.5])), u, i, kind="mul", at=(0,)),
        fixed=(np.array([1, 0, 1]),),
    ),
    _scatter("mul", (3,), (2,), [1, 1], at=(0,)),
    _scatter("mul", (1,), (3,), [0, 0, 0], at=(0,)),
    Case("embedding", ((4, 3),), lambda b, x, i: b.embedding(i, x), fixed=(np.array([[0, 3], [3, 7]]),)),
    *(_scan(kind, "forward", "inclusive") for kind in ("add", "mul", "max", "min")),
    *(_scan(kind, "reverse", "exclusive") for kind in ("add", "mul")),
    _scan("min", "reverse", "inclusive"),
    Case("scan_max_exclusive", ((4,),), lambda b, x: b.slice(b.scan(x, **_MAX), start=(1,), stop=(4,), step=(1,))),
    Case("scan_mul_zero", ((4,),), lambda b, x: b.mul(x, b.scan(b.mul(x, b.const(np.array([1.0, 0, 0, 1]))), **_MUL))),
    Case("sort", ((2, 5),), lambda b, x: b.sort(x, keys=1)),
    Case("sort_by_key", ((5,), (5,)), lambda b, x, y: b.add(*b.sort(x, y, keys=1))),
    Case("sort_by_integers", ((5,),), lambda b, x, i: b.sort(i, x, keys=1)[1], fixed=(np.array([3, 1, 3, 0, 1]),)),
    Case("top_k", ((2, 5),), lambda b, x: b.top_k(x, k=3)[0]),
    Case("cholesky", ((2, 3, 3),), lambda b, x: b.cholesky(_definite(b, x))),
    *(
        Case(
            f"triangular_solve_{side}_{form}_{diagonal}",
            ((3, 3), (3, 2)),
            lambda b, x, y, w=(side, form, diagonal): b.triangular_solve(
                _definite(b, x), y, side=w[0], form=w[1], diagonal=w[2]
            ),
        )
        for side in ("lower", "upper")
        for form in ("plain", "transposed")
        for diagonal in ("given", "unit")
    ),
    Case("triangular_solve_batch", ((2, 3, 3), (2, 3, 1)), lambda b, x, y: b.triangular_solve(_definite(b, x), y, **_LOWER)),
    Case("lu", ((2, 3, 3),), lambda b, x: b.lu(_definite(b, x))[0]),
    Case("lu_exchanged", ((3, 3),), lambda b, x: b.lu(b.reverse(_definite(b, x), dims=(0,)))[0]),
    Case("lu_tall", ((4, 2),), lambda b, x: b.lu(x)[0]),
    Case("lu_wide", ((2, 4),), lambda b, x: b.lu(x)[0]),
    Case("qr", ((2, 3, 3),), lambda b, x: b.qr(_definite(b, x), mode="reduced")),
    Case("qr_tall", ((4, 2),), lambda b, x: b.qr(x, mode="reduced")),
    Case("eigh", ((2, 3, 3),), lambda b, x: b.eigh(_spread(b, x))),
    Case("svd", ((2, 3, 3),), lambda b, x: b.svd(_spread(b, x), mode="reduced")),
    Case("svd_tall", ((4, 2),), lambda b, x: b.svd(_spread(b, x), mode="reduced")),
    Case("svd_wide", ((2, 4),), lambda b, x: b.svd(_spread(b, x), mode="reduced")),
    Case("solve", ((2, 3, 3), (2, 3, 2)), lambda b, x, y: b.solve(_definite(b, x), y, form="plain")),
    Case("solve_transposed", ((3, 3), (3, 1)), lambda b, x, y: b.solve(_definite(b, x), y, form="transposed")),
    Case("det", ((2, 3, 3),), lambda b, x: b.det(_definite(b, x))),
    Case("pinv", ((2, 3, 2),), lambda b, x: b.pinv(_spread(b, x), b.zeros_like(b.reduce(x, kind="add", dims=(1, 2))))),
    Case("recurrence", ((2, 4), (2, 4)), lambda b, x, y: b.recurrence(x, y, dim=1, direction="forward")),
    Case("recurrence_by_factor", ((3,),), lambda b, x: b.recurrence(x, b.full_like(x, 2), dim=0, direction="forward")),
    Case("recurrence_by_term", ((3,),), lambda b, x: b.recurrence(b.full_like(x, 2), x, dim=0, direction="forward")),
    Case("recurrence_reverse", ((4,), (4,)), lambda b, x, y: b.recurrence(x, y, dim=0, direction="reverse")),
    _conv("same", (2, 2, 4, 3), (3, 2, 3, 3), (1, 1), (1, 1), (1, 1)),
    _conv("strided", (1, 2, 5, 6), (3, 2, 2, 3), (2, 3), (1, 0), (0, 2)),
    _conv("cut", (1, 1, 5, 4), (2, 1, 2, 2), (1, 1), (-1, 1), (1, -1)),
    _conv("dilated", (1, 2, 5, 3), (2, 2, 2, 2), (1, 2), (1, 1), (1, 0), base_dilation=(2, 1), dilation=(1, 2)),
    _conv("groups", (2, 4, 3, 3), (6, 2, 2, 2), (1, 1), (0, 1), (0, 0), groups=2),
    _conv("depthwise", (1, 3, 4, 4), (3, 1, 3, 3), (1, 1), (1, 1), (1, 1), groups=3),
    _conv("line", (2, 2, 5), (2, 2, 2), (2,), (1,), (1,)),
    _conv("last", (1, 4, 4, 4), (2, 3, 2, 4), (1, 2), (0, 1), (0, 1), groups=2, **_LAST),
    _conv("cut_away", (1, 1, 1), (1, 1, 1), (2,), (0,), (-1,)),
    _conv("empty", (1, 1, 2), (1, 1, 3), (1,), (0,), (0,)),
    *(_window(kind, "reduce_window", ((2, 3, 4),), kind, *_POOL) for kind in ("add", "mul", "max", "min")),
    _window("cut_away", "reduce_window", ((4, 3),), "mul", (2, 3), (1, 3), (-1, -1), (0, 0), (1, 2)),
    _window("dilated", "reduce_window", ((7, 5),), "mul", (3, 2), (1, 2), (0, 0), (0, 0), (2, 3)),
    _window("pair", "reduce_window", ((5,),), "mul", (2,), (1,), (0,), (0,), (1,)),
    _window("spread", "reduce_window", ((3, 5),), "add", *_SPREAD),
    _window("max", "window_pick", ((2, 3, 4), (2, 3, 4)), "max", *_POOL),
    _window("min", "window_put", ((3, 5), (2, 2)), "min", *_SPREAD),
    *(_u(name) for name in ("relu", "sigmoid")),
    Case("gelu", ((2, 3),), lambda b, x: b.gelu(x, approximate="none")),
    Case("gelu_tanh", ((2, 3),), lambda b, x: b.gelu(x, approximate="tanh")),
    *(
        Case(f"{name}_{len(dims)}", ((2, 3, 4),), lambda b, x, name=name, dims=dims: getattr(b, name)(x, dims=dims))
        for name in ("softmax", "log_softmax", "logsumexp", "mean")
        for dims in ((1,), (0, 2))
    ),
    Case("var", ((2, 3, 4),), lambda b, x: b.var(x, dims=(0, 2), correction=1)),
    *(
        Case(f"{name}_{len(dims)}", ((2, 3, 4),), lambda b, x, op=name, d=dims: getattr(b, op)(x, dims=d, epsilon=0.1))
        for name in ("layer_norm", "rms_norm")
        for dims in ((2,), (0, 1))
    ),
    Case(
        "batch_norm",
        ((2, 3, 2), (3,), (3,), (3,), (3,)),
        lambda b, x, m, v, *more: b.batch_norm(x, m, b.mul(v, v), *more, dim=1, epsilon=0.5),
    ),
    Case("cross_entropy", ((4, 3),), lambda b, x, y: b.cross_entropy(x, y), fixed=(np.array([0, 2, 1, 1]),)),
    Case("cross_entropy_outside", ((4, 3),), lambda b, x, y: b.cross_entropy(x, y), fixed=(np.array([0, 3, -1, 1]),)),
    Case("attention", ((4, 5, 3), (2, 6, 3), (2, 6, 2)), lambda b, *x: b.attention(*x, mask="none", scale=0.5)),
    Case("attention_causal", ((2, 3, 2), (2, 4, 2), (2, 4, 2)), lambda b, *x: b.attention(*x, mask="causal", scale=0.7)),
    Case("attention_bias", ((2, 3, 2), (2, 4, 2), (2, 4, 2), (1, 3, 4)), lambda b, *x: b.attention(*x, mask="none", scale=1.0)),
    Case(
        "attention_seen",
        ((1, 3, 2), (1, 4, 2), (1, 4, 2)),
        lambda b, *x: b.attention(*x, mask="none", scale=1.0),
        fixed=(np.array([[[True, False, True, True], [False] * 4, [True] * 4]]),),
    ),
    *_loops(),
    Case("stop_gradient", ((3,),), lambda b, x: b.mul(x, b.stop_gradient(b.mul(x, x)))),
    Case("two_results", ((3,), (3,)), lambda b, x, y: (b.mul(x, y), b.sin(x), b.cmp(x, y, predicate="lt"), x)),
    Case("constant_result", ((3,),), lambda b, x: (b.full_like(x, 2.0), x)),
]
BY_NAME = {case.name: case for case in CASES}
