"""Derivatives of every op, to second order: central differences, agreement of the modes, and the optimized graph."""

from __future__ import annotations

import itertools
import math
import sys
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from graphs import BY_NAME, EXPAND, OPTIMIZE, Case, apply, counted, define, derivatives, parse, run
from lamina.dialects.graph.autodiff import JvpOp, VjpOp
from lamina.dialects.types import f16, f32, f64
from lamina.errors import DifferentiationError
from lamina.runtime.interpreter import interpret
from xdsl.dialects.builtin import ModuleOp

STEP = 1e-6
# f(x) x with the second factor constant: a difference quotient sees what stop_gradient hides
HIDDEN = ("stop_gradient",)


@cache
def expanded(name: str):
    return run(derivatives(BY_NAME[name]), EXPAND)


@cache
def optimized(name: str):
    return run(run(derivatives(BY_NAME[name]), EXPAND), OPTIMIZE)


def is_float(a: np.ndarray) -> bool:
    return a.dtype.kind == "f"


def differences(f, args: list[np.ndarray], tangents: list[np.ndarray]) -> list[np.ndarray]:
    """Central differences of the float results of f along tangents (one for each of the first arguments)."""
    moved = [[a + sign * STEP * t for a, t in zip(args, tangents, strict=False)] for sign in (1, -1)]
    rest = args[len(tangents) :]
    plus, minus = ([r for r in f(m + rest) if is_float(r)] for m in moved)
    return [(p - m) / (2 * STEP) for p, m in zip(plus, minus, strict=True)]


def random_like(arrays: list[np.ndarray], seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1, 1, a.shape) for a in arrays]


def inner(a: list[np.ndarray], b: list[np.ndarray]) -> float:
    return sum(float(np.sum(x * y)) for x, y in zip(a, b, strict=True))


def close(got, want, tol: float = 1e-6) -> None:
    for g, w in zip(got, want, strict=True):
        assert g.shape == w.shape and g.dtype == w.dtype
        np.testing.assert_allclose(g, w, rtol=tol, atol=tol)


class Point:
    """A case at a sample point with tangents and cotangents."""

    def __init__(self, case: Case):
        self.args = case.arguments()
        self.n = len(case.shapes)
        self.x, self.rest = self.args[: self.n], self.args[self.n :]
        self.module = expanded(case.name)
        self.values = self.f(self.args)
        self.floats = [v for v in self.values if is_float(v)]
        self.t = random_like(self.x, 1)
        self.ct = random_like(self.floats, 2)

    def f(self, args):
        return interpret(self.module, "f", args)

    def jvp(self, t):
        return interpret(self.module, "jvp", [*self.args, *t])[len(self.values) :]

    def vjp(self, args, ct):
        return interpret(self.module, "vjp", [*args, *ct])


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", [name for name in BY_NAME if name not in HIDDEN])
def test_forward(name: str) -> None:
    p = Point(BY_NAME[name])
    close(p.jvp(p.t), differences(p.f, p.args, p.t))


@pytest.mark.parametrize("name", BY_NAME)
def test_reverse_is_the_transpose_of_forward(name: str) -> None:
    p = Point(BY_NAME[name])
    gradients = list(p.vjp(p.args, p.ct))
    assert [g.shape for g in gradients] == [x.shape for x in p.x]
    np.testing.assert_allclose(inner(p.ct, p.jvp(p.t)), inner(gradients, p.t), rtol=1e-10, atol=1e-12)


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", BY_NAME)
def test_second_order(name: str) -> None:
    """Forward over reverse against differences of reverse; reverse over reverse against forward over reverse."""
    p = Point(BY_NAME[name])
    point = [*p.x, *p.ct]
    t = random_like(point, 3)
    order = [*p.x, *p.rest, *p.ct]
    got = interpret(p.module, "jvp_vjp", [*order, *t])[p.n :]
    if name not in HIDDEN:
        close(got, differences(lambda a: p.vjp([*a[: p.n], *p.rest], a[p.n :]), point, t), 1e-5)
    ct = random_like(p.x, 4)
    back = list(interpret(p.module, "vjp_vjp", [*order, *ct])[p.n :])
    np.testing.assert_allclose(inner(ct, got), inner(back, t), rtol=1e-9, atol=1e-10)


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", [*BY_NAME][::2])  # every rule has draws of its own in tests/dialects/test_rules_drawn.py
def test_optimized_graph_means_the_same(name: str) -> None:
    p = Point(BY_NAME[name])
    module = optimized(name)
    close(interpret(module, "jvp", [*p.args, *p.t]), interpret(p.module, "jvp", [*p.args, *p.t]), 1e-12)
    close(interpret(module, "vjp", [*p.args, *p.ct]), p.vjp(p.args, p.ct), 1e-12)
    t = random_like([*p.x, *p.ct], 3)
    order = [*p.args, *p.ct, *t]
    close(interpret(module, "jvp_vjp", order), interpret(p.module, "jvp_vjp", order), 1e-12)


def slope(build, *point: float) -> list[float]:
    """Derivatives of a scalar function."""
    module = run(derivatives(Case("kink", ((),) * len(point), build)), EXPAND)
    args = [np.array(p) for p in point]
    return [float(g) for g in interpret(module, "vjp", [*args, np.array(1.0)])]


def test_conventions_at_kinks() -> None:
    """As docs/autodiff.md says."""
    assert slope(lambda b, x: b.abs(x), 0.0) == [0.0]
    assert slope(lambda b, x: b.sign(x), 0.0) == [0.0]
    assert slope(lambda b, x: b.relu(x), 0.0) == [0.0]
    assert slope(lambda b, x, y: b.max(x, y), 1.0, 1.0) == [0.5, 0.5]
    assert slope(lambda b, x, y: b.min(x, y), 1.0, 1.0) == [0.5, 0.5]
    assert slope(lambda b, x: b.sqrt(x), 0.0) == [np.inf]
    assert slope(lambda b, x, y: b.pow(x, y), 0.0, 2.0) == [0.0, 0.0]
    assert slope(lambda b, x, y: b.pow(x, y), 0.0, 1.0) == [1.0, 0.0]
    assert slope(lambda b, x, y: b.pow(x, y), 0.0, 0.0) == [0.0, 0.0]
    assert slope(lambda b, x, y: b.pow(x, y), -2.0, 3.0)[0] == 12.0
    assert np.isnan(slope(lambda b, x, y: b.pow(x, y), -2.0, 3.0)[1])


def test_angles_of_any_size() -> None:
    """The slopes of atan2(y, x) are x / r^2 and -y / r^2, also where r^2 is no number."""
    for y, x in itertools.product((3e200, -2e200, 5e-200, -1e-200), (1e200, -4e200, 1e-200, -7e-200)):
        r2 = Fraction(x) ** 2 + Fraction(y) ** 2
        want = [float(Fraction(x) / r2), float(-Fraction(y) / r2)]
        np.testing.assert_allclose(slope(lambda b, y, x: b.atan2(y, x), y, x), want, rtol=1e-13)


def test_cotangents_of_halves_are_summed_in_f32() -> None:
    """A type that is only stored has no addition of its own."""

    def build(b, x):
        half = b.convert(b.convert(x, f32), f16)
        y, z = b.convert(half, f32), b.convert(b.reshape(half, (3,)), f32)
        return b.convert(b.add(b.mul(y, b.full_like(y, 3)), z), f64)

    module = run(derivatives(Case("halves", ((3,),), build)), EXPAND)
    ct = np.array([1.0, 0.1, -1 / 3])
    terms = [np.float16(3 * ct).astype(np.float32), np.float16(ct).astype(np.float32)]
    (g,) = interpret(module, "vjp", [np.arange(3.0), ct])
    np.testing.assert_array_equal(g, np.float16(terms[0] + terms[1]))


def test_composites_in_a_linear_map() -> None:
    """A graph.transposed may hold any op that is linear, itself or decomposed."""
    text = """
func.func @main(%ct: tensor<2xf64>) -> tensor<2x4xf64> {
  %g = graph.transposed (%ct) {
  ^bb0(%t: tensor<2x4xf64>):
    %d = graph.mean %t over [1] : tensor<2x4xf64> -> tensor<2xf64>
    graph.yield %d : tensor<2xf64>
  } : (tensor<2xf64>) -> (tensor<2x4xf64>)
  return %g : tensor<2x4xf64>
}"""
    (g,) = interpret(run(parse(text), "graph-transpose"), "main", [np.array([4.0, -8.0])])
    np.testing.assert_array_equal(g, [[1] * 4, [-2] * 4])


def test_conversion_and_back() -> None:
    """Cotangents have the type of what they belong to."""
    case = Case("narrow", ((3,),), lambda b, x: b.convert(b.convert(x, f32), f64))
    ct = np.array([0.5, -0.25, 1 / 3])
    (g,) = interpret(run(derivatives(case), EXPAND), "vjp", [np.arange(3.0), ct])
    np.testing.assert_array_equal(g, ct.astype(np.float32).astype(np.float64))


@pytest.mark.parametrize("zeros", [*itertools.product((0.0, 2.0), repeat=3)])
def test_zeros_that_meet_in_a_product(zeros: tuple[float, ...]) -> None:
    """Each update's slope is the product of the others that go where it goes, and of the operand's element."""
    u, x = np.array([*zeros, 5.0, 0.0]), np.array([3.0, 7.0, -1.0])
    case = Case("met", ((5,),), lambda b, u: b.scatter(b.const(x), u, b.const(np.array([1, 1, 1, 0, 2])), kind="mul", at=(0,)))
    (g,) = interpret(run(derivatives(case), EXPAND), "vjp", [u, np.ones(3)])
    a, b, c = zeros
    np.testing.assert_array_equal(g, [7 * b * c, 7 * a * c, 7 * a * b, 3, -1])


def test_an_infinite_factor_alone() -> None:
    """The slope of an update that meets no other is the operand's element, whatever the update."""
    case = Case(
        "lone",
        ((2,),),
        lambda b, u: b.scatter(b.const(np.array([3.0, 7.0])), u, b.const(np.array([1, 0])), kind="mul", at=(0,)),
    )
    (g,) = interpret(run(derivatives(case), EXPAND), "vjp", [np.array([np.inf, 0.0]), np.ones(2)])
    np.testing.assert_array_equal(g, [7, 3])


@pytest.mark.parametrize("kind", ["max", "min"])
def test_ties_of_scattered_extremes_share(kind: str) -> None:
    """Equally among the element and the updates that attain the extreme."""
    case = Case("ties", ((2,), (3,)), lambda b, x, u: b.scatter(x, u, b.const(np.array([0, 0, 1])), kind=kind, at=(0,)))
    x, u = np.array([2.0, 5.0]), np.array([2.0, 2.0, 5.0])
    g, h = interpret(run(derivatives(case), EXPAND), "vjp", [x, u, np.array([6.0, 1.0])])
    np.testing.assert_array_equal(g, [2, 0.5])
    np.testing.assert_array_equal(h, [2, 2, 0.5])


def test_running_extreme_from_nan_on() -> None:
    props = {"kind": "max", "dim": 0, "direction": "forward", "bound": "inclusive"}
    case = Case("nan", ((4,),), lambda b, x: b.scan(x, **props))
    (g,) = interpret(run(derivatives(case), EXPAND), "vjp", [np.array([1.0, np.nan, 3.0, np.nan]), np.array([1.0, 2, 4, 8])])
    np.testing.assert_array_equal(g[[0, 2]], [1, 0])
    assert g[1] + g[3] == 14


@pytest.mark.parametrize("kind", ["set", "add", "mul", "max", "min"])
@pytest.mark.parametrize("varied", [(0,), (1,)])
def test_forward_by_some_operands_of_a_scatter(kind: str, varied: tuple[int, ...]) -> None:
    shapes = (5,), (3,)

    def build(b, *values):
        x, u = (values[varied.index(k)] if k in varied else b.const(np.linspace(-1, 1, *n)) for k, n in enumerate(shapes))
        return b.scatter(x, u, b.const(np.array([1, 4, 1])), kind=kind, at=(0,))

    case = Case("part", tuple(shapes[k] for k in varied), build)
    module = run(derivatives(case), EXPAND)
    x = case.arguments()
    t = random_like(x, 5)
    got = interpret(module, "jvp", [*x, *t])[1:]
    close(got, differences(lambda a: interpret(module, "f", a), x, t))


def test_ties_of_reductions_share() -> None:
    case = Case("ties", ((4,),), lambda b, x: b.reduce(x, kind="max", dims=(0,)))
    (g,) = interpret(run(derivatives(case), EXPAND), "vjp", [np.array([1.0, 3.0, 0.0, 3.0]), np.array(1.0)])
    np.testing.assert_array_equal(g, [0, 0.5, 0, 0.5])


def test_infinite_cotangent_stops_at_relu() -> None:
    case = Case("relu", ((2,),), lambda b, x: b.relu(x))
    (g,) = interpret(run(derivatives(case), EXPAND), "vjp", [np.array([-1.0, 1.0]), np.array([np.inf, np.inf])])
    np.testing.assert_array_equal(g, [0, np.inf])


def test_loops_that_run_as_often_as_a_value_says() -> None:
    """Forward mode follows them; reverse mode would have to keep what they carry, and says so."""
    body, f = counted()
    types = f.function_type.inputs.data
    jvp = define("jvp", [*types, *types[1:]], apply(JvpOp, f, lambda v: v[:3], lambda v: v[3:], (1, 2)))
    module = run(ModuleOp([body, f, jvp]), EXPAND)
    for count in (0, 1, 4, -3):
        x, t = [np.array(count), np.array(0.3), np.array(-0.6)], [np.array(0.7), np.array(-1.1)]
        _, got = interpret(module, "jvp", [*x, *t])
        (want,) = differences(lambda a: interpret(module, "f", [x[0], *a]), x[1:], t)  # noqa: B023
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-8)
    body, f = counted()
    vjp = define("vjp", [*types, types[1]], apply(VjpOp, f, lambda v: v[:3], lambda v: v[3:], (1, 2)))
    with pytest.raises(DifferentiationError, match="how often it runs must be known"):
        run(ModuleOp([body, f, vjp]), EXPAND)


def test_forward_mode_of_a_loop_in_a_loop_whose_index_is_its_count() -> None:
    """h <- sin(h), i times in iteration i of 4: six times in all."""
    text = """
func.func private @inner(%i: tensor<i64>, %h: tensor<f64>) -> tensor<f64> {
  %a = graph.sin %h : tensor<f64>
  return %a : tensor<f64>
}
func.func private @outer(%i: tensor<i64>, %h: tensor<f64>) -> tensor<f64> {
  %a = graph.for @inner count %i consts() carry(%h) over() : (tensor<i64>, tensor<f64>) -> (tensor<f64>)
  return %a : tensor<f64>
}
func.func private @f(%x: tensor<f64>) -> tensor<f64> {
  %a = graph.for @outer count 4 consts() carry(%x) over() : (tensor<f64>) -> (tensor<f64>)
  return %a : tensor<f64>
}
func.func @main(%x: tensor<f64>, %t: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
  %y, %d = graph.jvp @f(%x) tangents(%t) wrt [0] : (tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>)
  return %y, %d : tensor<f64>, tensor<f64>
}"""
    h, slope = 1.3, 2.0
    for _ in range(6):
        h, slope = math.sin(h), slope * math.cos(h)
    got = interpret(run(parse(text), EXPAND), "main", [np.array(1.3), np.array(2.0)])
    np.testing.assert_allclose(got, [h, slope], rtol=1e-14)
