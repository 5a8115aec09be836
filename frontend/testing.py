"""Checks for the ops and rules that other packages register: an op through every part of the compiler, a rule on its example.

Each compares with the op's NumPy meaning and raises AssertionError with the difference. The package's own tests do the same,
over more shapes and types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from .. import passes
from ..dialects.context import make_context
from ..dialects.dominance import verify_module
from ..dialects.graph.base import GraphOp, NotDifferentiable, Zero
from ..dialects.graph.builder import GraphBuilder
from ..dialects.graph.rules import EXACT, REASSOCIATING, RULES, Rule, rules_by_root
from ..dialects.parsing import parse_module
from ..dialects.types import f32, i32, tensor
from ..errors import ExtensionError
from ..runtime.interpreter import interpret
from ..transforms.graph_simplify import simplify_block
from .extend import call_op
from .functions.autodiff import jvp
from .functions.batching import vmap
from .functions.vjp import vjp
from .run.jit import jit, make_graph

__all__ = ["check_op", "check_rule"]

_FLOATS = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, -1e-45, 3.4e38, 1e-38, 0.5], np.float32)
_INTEGERS = np.array([0, 1, -1, 2**31 - 1, -(2**31), 7], np.int32)
_STEP = 1e-6


def check_op(
    op: type[GraphOp] | str,
    *operands: Any,
    rtol: float = 1e-6,
    atol: float = 1e-6,
    derivatives: bool = True,
    batches: bool = True,
    **properties: Any,
) -> None:
    """Run an op on arrays in every way there is, and compare.

    Text that is printed and parsed again, the interpreter, a call outside of `jit`, and compiled code give its `evaluate`;
    batched along a new dim of any of its operands it gives the same as one call after the other; tangents and cotangents of
    operands of f64 agree with finite differences.

    Args:
        operands: arrays, of which none needs to be large.
        rtol, atol: how far results may be from `evaluate`; derivatives are compared with a hundred times as much.
        derivatives: whether to look at derivatives; ops that declare none are left out in any case.
        batches: whether to look at batches.
        properties: of the op.

    Raises:
        AssertionError: two of them differ.

    >>> import lamina as lm, numpy as np
    >>> lm.testing.check_op("graph.tanh", np.linspace(-2, 2, 5))
    """

    def call(*arrays: Any) -> Any:
        return call_op(op, *arrays, **properties)

    arrays = [np.asarray(x) for x in operands]
    module = parse_module(make_context(), str(make_graph(call)(*arrays)))
    verify_module(module)
    made = next(one for one in module.walk() if isinstance(one, GraphOp))
    wanted = made.evaluate(*arrays)
    once_more = parse_module(make_context(), str(module))
    assert str(once_more) == str(module), f"what is printed is not what is parsed:\n{module}"
    ways = {"the interpreter": lambda *xs: interpret(once_more, "main", xs), "a call": call, "compiled code": jit(call)}
    for way, run in ways.items():
        _compare(run(*arrays), wanted, rtol, atol, f"{made.name} by {way}")
    if batches:
        _check_batches(call, arrays, rtol, atol, made.name)
    if derivatives and not isinstance(made.derivative, NotDifferentiable | Zero):
        _check_derivatives(call, arrays, 100 * rtol, 100 * atol, made.name)


def _results(found: Any) -> tuple[Any, ...]:
    return tuple(found) if isinstance(found, tuple | list) else (found,)


def _compare(found: Any, wanted: Sequence[Any], rtol: float, atol: float, what: str) -> None:
    for k, (x, y) in enumerate(zip(_results(found), wanted, strict=True)):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.dtype, x.shape) == (y.dtype, y.shape), f"{what}: result {k} is {x.dtype}{x.shape}, not {y.dtype}{y.shape}"
        np.testing.assert_allclose(x, y, rtol, atol, err_msg=f"{what}, result {k}")


def _check_batches(call: Callable[..., Any], arrays: Sequence[Any], rtol: float, atol: float, name: str) -> None:
    for batched in range(1, 2 ** len(arrays)):
        axes = tuple(0 if batched >> k & 1 else None for k in range(len(arrays)))
        stacks = [np.stack([x, np.flip(x), x]) if axis == 0 else x for x, axis in zip(arrays, axes, strict=True)]
        rows = [[x[k] if axis == 0 else x for x, axis in zip(stacks, axes, strict=True)] for k in range(3)]
        wanted = [np.stack(parts) for parts in zip(*(map(np.asarray, _results(call(*row))) for row in rows), strict=True)]
        _compare(jit(vmap(call, in_axes=axes))(*stacks), wanted, rtol, atol, f"{name} batched along {axes}")


def _check_derivatives(call: Callable[..., Any], arrays: Sequence[Any], rtol: float, atol: float, name: str) -> None:
    rng = np.random.default_rng(0)
    floats = [k for k, x in enumerate(arrays) if x.dtype == np.float64]

    def of_floats(*given: Any) -> tuple[Any, ...]:
        values: list[Any] = list(arrays)
        for k, x in zip(floats, given, strict=True):
            values[k] = x
        return tuple(y for y in _results(call(*values)) if y.dtype == np.float64)

    points = [arrays[k] for k in floats]
    if not points or not of_floats(*points):
        return
    tangents = [rng.standard_normal(x.shape) for x in points]
    ahead, behind = ([x + sign * _STEP * t for x, t in zip(points, tangents, strict=True)] for sign in (1, -1))
    pairs = zip(of_floats(*ahead), of_floats(*behind), strict=True)
    slopes = [(np.asarray(a) - np.asarray(b)) / (2 * _STEP) for a, b in pairs]
    results, found = jit(lambda points, tangents: jvp(of_floats, tuple(points), tuple(tangents)))(points, tangents)
    _compare(found, slopes, rtol, atol, f"tangents of {name}")
    weights = [rng.standard_normal(np.shape(y)) for y in results]
    pulled = jit(lambda points, weights: vjp(of_floats, *points)[1](tuple(weights)))(points, weights)
    forward = sum(float(np.sum(w * s)) for w, s in zip(weights, slopes, strict=True))
    backward = sum(float(np.sum(np.asarray(c) * t)) for c, t in zip(pulled, tangents, strict=True))
    np.testing.assert_allclose(backward, forward, rtol, atol, err_msg=f"cotangents of {name}")


def check_rule(rule: Rule | Callable[..., Any], seeds: int = 20) -> None:
    """Check that a rule fires on its example and keeps its results, as exactly as the rule says.

    Args:
        rule: the decorated function of `register_rule`, or a `Rule`.
        seeds: how many inputs are tried; every other one holds zeros of both signs, infinities, NaN and the least numbers.

    Raises:
        AssertionError: the rule does not fire, or results differ.
        ExtensionError: it is no registered rule.
    """
    found = rule if isinstance(rule, Rule) else next((known for known in RULES if known.apply is rule), None)
    if found is None:
        raise ExtensionError(f"check_rule: {rule!r:.80} is not registered, put @register_rule above it")
    before = _example(found)
    after = before.clone()
    hits: dict[str, int] = {}
    simplify_block(_body(after), {found.op_name: (found,)}, hits)
    assert hits.get(found.name), f"{found.name} does not fire on its example:\n{before}"
    verify_module(after)
    for seed in range(seeds):
        # another order of summation may overflow where the first did not: edges are for the others
        args = _inputs(seed, edges=seed % 2 == 1 and found.numerics != REASSOCIATING)
        for got, want in zip(interpret(after, "main", args), interpret(before, "main", args), strict=True):
            _same(got, want, found.numerics, found.name)
    passes.run_passes(after, make_context(), "graph-simplify")
    assert not simplify_block(_body(after), rules_by_root()), f"rules after {found.name} do not come to rest:\n{after}"


def _example(rule: Rule) -> ModuleOp:
    types = [tensor(element, (2, 3)) for element in (f32, f32, i32, i32)]
    block = Block(arg_types=types)
    result = rule.example(GraphBuilder(block), *block.args)
    block.add_op(ReturnOp(result))
    module = ModuleOp([FuncOp("main", (types, [result.type]), Region(block), "public")])
    verify_module(module)
    return module


def _body(module: ModuleOp) -> Block:
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    return function.body.block


def _inputs(seed: int, edges: bool) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    if edges:
        return [rng.choice(values, (2, 3)) for values in (_FLOATS, _FLOATS, _INTEGERS, _INTEGERS)]
    floats = [rng.normal(scale=3, size=(2, 3)).astype(np.float32) for _ in range(2)]
    return [*floats, *(rng.integers(-9, 9, (2, 3), np.int32) for _ in range(2))]


def _in_order(a: np.ndarray) -> np.ndarray:
    """Floats as integers whose difference counts the floats between them."""
    bits = a.astype(np.float32).view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)


def _same(got: np.ndarray, want: np.ndarray, numerics: str, name: str) -> None:
    """Equal as a rule promises it."""
    assert (got.dtype, got.shape) == (want.dtype, want.shape), name
    if got.dtype.kind != "f":
        np.testing.assert_array_equal(got, want, name)
        return
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want), name)
    number = ~np.isnan(want)
    if numerics == EXACT:
        np.testing.assert_array_equal(got[number], want[number], name)
        np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(want[number]), name)
    elif numerics == REASSOCIATING:
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6, err_msg=name)
    else:
        most = int(numerics.removeprefix("ulp(").removesuffix(")"))
        assert np.all(np.abs(_in_order(got[number]) - _in_order(want[number])) <= most), name
