"""Derivatives and batches of kernels: against differences, the graph form, each other, and calls one by one."""

from __future__ import annotations

import math
import re
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina import pipeline
from lamina.debugging.validate import validate_each
from lamina.dialects.context import make_context
from lamina.dialects.graph.kernel import KernelCallOp
from lamina.dialects.parsing import parse_module
from lamina.errors import CompileError, DifferentiationError

from .derived import CASES, Case, Spec, call, normal

DRAW = np.random.default_rng(1)


def leaves(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def weighted(function: Any, weights: Any) -> Any:
    """The scalar whose gradient is the transposed Jacobian times the weights."""
    return lambda *args: sum((y * w).sum() for y, w in zip(leaves(function(*args)), weights, strict=True))


def gradients(case: Case) -> tuple[Any, Any, list[Any]]:
    weights = [DRAW.normal(size=np.shape(y)) for y in leaves(case.function(*case.args))]
    positions = tuple(range(len(case.args)))
    return lm.jit(lm.grad(weighted(case.function, weights), positions))(*case.args), positions, weights


@pytest.mark.thorough(every=3)
@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_differences(name: str):
    case = CASES[name]
    found, positions, weights = gradients(case)
    plain = weighted(case.function, weights)
    tangents = [DRAW.normal(size=np.shape(x)) for x in case.args]
    for k in positions:
        high, low = ([x + s * tangents[k] if j == k else x for j, x in enumerate(case.args)] for s in (1e-6, -1e-6))
        difference = (plain(*high) - plain(*low)) / 2e-6
        np.testing.assert_allclose((found[k] * tangents[k]).sum(), difference, rtol=1e-6, atol=1e-7)
    _, change = lm.jit(lambda *args: lm.jvp(weighted(case.function, weights), args, tuple(tangents)))(*case.args)
    total = sum((g * t).sum() for g, t in zip(found, tangents, strict=True))
    np.testing.assert_allclose(change, total, rtol=1e-12, atol=1e-13)


@pytest.mark.thorough(every=3)
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.graph is not None])
def test_gradients_are_those_of_the_graph(name: str):
    case = CASES[name]
    found, positions, weights = gradients(case)
    wanted = lm.jit(lm.grad(weighted(case.graph, weights), positions))(*case.args)
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-12)


@pytest.mark.thorough(every=3)
@pytest.mark.parametrize("name", ["saxpy", "horner", "softmax", "lu", "pieces", "smooth"])
def test_second_derivatives(name: str):
    case = CASES[name]
    weights = [DRAW.normal(size=np.shape(y)) for y in leaves(case.function(*case.args))]
    positions = tuple(range(len(case.args)))
    vectors = [DRAW.normal(size=np.shape(x)) for x in case.args]
    first = lm.jit(lm.grad(weighted(case.function, weights), positions))

    def along(*args: Any) -> Any:
        found = lm.grad(weighted(case.function, weights), positions)(*args)
        return sum((g * v).sum() for g, v in zip(found, vectors, strict=True))

    backward = lm.jit(lm.grad(along, positions))(*case.args)
    forward = lm.jit(lambda *args: lm.jvp(lm.grad(weighted(case.function, weights), positions), args, tuple(vectors))[1])(
        *case.args
    )
    steps = ([x + s * v for x, v in zip(case.args, vectors, strict=True)] for s in (1e-6, -1e-6))
    high, low = (first(*args) for args in steps)
    for b, f, up, down in zip(backward, forward, high, low, strict=True):
        np.testing.assert_allclose(b, f, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(f, (up - down) / 2e-6, rtol=1e-5, atol=1e-6)


@pytest.mark.thorough(every=3)
@pytest.mark.parametrize("name", ["saxpy", "matmul", "lu", "thomas", "deposit", "softmax", "lengths"])
def test_batches_are_calls_one_by_one(name: str):
    case = CASES[name]
    many = [np.stack([x, 1.25 * np.asarray(x), 0.75 * np.asarray(x)]) for x in case.args]
    for batched in {(0,) * len(many), (0,) + (None,) * (len(many) - 1)}:
        given = [x if axis == 0 else one for x, one, axis in zip(many, case.args, batched, strict=True)]
        found = leaves(lm.jit(lm.vmap(case.function, batched))(*given))
        for k in range(3):
            one = leaves(case.function(*(x[k] if axis == 0 else x for x, axis in zip(given, batched, strict=True))))
            for got, want in zip(found, one, strict=True):
                np.testing.assert_array_equal(got[k], want)


def test_batches_and_gradients_commute():
    def loss(x: Any) -> Any:
        return (CASES["softmax"].function(x) ** 2).sum()

    xs = normal(5, 4, 7)
    wanted = np.stack([lm.grad(loss)(x) for x in xs])
    np.testing.assert_allclose(lm.jit(lm.vmap(lm.grad(loss)))(xs), wanted, rtol=1e-13)
    np.testing.assert_allclose(lm.jit(lm.grad(lambda xs: lm.vmap(loss)(xs).sum()))(xs), wanted, rtol=1e-13)


@pytest.mark.thorough(every=5)
@pytest.mark.parametrize("name", ["saxpy", "dtw", "biquad", "median", "lengths"])
def test_every_phase_has_the_meaning(name: str):
    """The program of a gradient, printed and read back, is interpreted after each pass."""
    case = CASES[name]
    weights = [DRAW.normal(size=np.shape(y)) for y in leaves(case.function(*case.args))]
    lowered = lm.jit(lm.grad(weighted(case.function, weights), tuple(range(len(case.args))))).lower(*case.args)
    module = parse_module(make_context(), lowered.as_text())
    validate_each(module, [step.make() for step in pipeline.steps_to(module, "program")], make_context())


def test_a_schedule_is_that_of_the_values_alone():
    @lm.kernel
    def squares(x: lm.f64["N"], y: lm.f64["N"]):
        for i in range(N):
            y[i] = x[i] * x[i]

    s = squares.schedule()
    s.vectorize(s["i"], lanes=4)
    x = normal(11)
    gradient = lm.jit(lm.grad(lambda x: call(squares, x, out=Spec(x.shape, "float64")).sum()))
    np.testing.assert_array_equal(gradient(x), 2 * x)
    kernels = [op.kernel.string_value() for op in gradient.lower(x).module.walk() if isinstance(op, KernelCallOp)]
    assert kernels == ["squares"]


def test_constants_and_integers_have_no_gradient():
    case = CASES["deposit"]
    x, w, g = case.args
    found = lm.jit(lm.grad(lambda w: case.function(x, w, g).sum()))(w)
    np.testing.assert_allclose(found, np.ones(9), rtol=1e-14)

    @lm.kernel
    def steps(x: lm.f64["N"], y: lm.f64["N"]):
        for i in range(N):
            y[i] = lm.i64(x[i]) + math.floor(x[i])

    np.testing.assert_array_equal(lm.jit(lm.grad(lambda x: call(steps, x, out=Spec((9,), "float64")).sum()))(x), np.zeros(9))


@pytest.mark.parametrize("size", [0, 1, 2])
def test_small_sizes(size: int):
    for name in ("saxpy", "horner", "prefix", "smooth"):
        case = CASES[name]
        args = [x if np.ndim(x) == 0 or len(x) < 7 else x[:size] for x in map(np.asarray, case.args)]

        def f(*args: Any, name: str = name) -> Any:
            kernel = {"horner": ("horner", args[0]), "prefix": ("prefix", args[0])}.get(name)
            if kernel is None:
                return CASES[name].function(*args).sum()
            from . import derived

            return call(getattr(derived, name), *args, out=Spec((size,), "float64")).sum()

        positions = tuple(range(len(args)))
        found = lm.jit(lm.grad(f, positions))(*args)
        for k, got in enumerate(found):
            high, low = ([x + s * (j == k) for j, x in enumerate(args)] for s in (1e-6, -1e-6))
            np.testing.assert_allclose(np.sum(got), (f(*high) - f(*low)) / 2e-6, atol=1e-7, rtol=1e-6)


def test_single_precision():
    @lm.kernel
    def norms(x: lm.f32["M", "N"], y: lm.f32["M"]):
        for i in range(M):
            s = lm.f32(0)
            for j in range(N):
                s += x[i, j] * x[i, j]
            y[i] = np.sqrt(s)

    x = normal(5, 9).astype(np.float32)
    found = lm.jit(lm.grad(lambda x: call(norms, x, out=Spec((5,))).sum()))(x)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, x / np.linalg.norm(x, axis=1, keepdims=True), rtol=1e-5)


# --------------------------------------------------------------------------------------------------------------------
# Refusals


def refused(function: Any, *args: Any) -> str:
    with pytest.raises(DifferentiationError) as caught:
        lm.jit(lm.grad(lambda *xs: function(*xs).sum()))(*args)
    return str(caught.value)


def test_a_loop_of_unknown_length_has_no_reverse_mode():
    @lm.kernel
    def halved(x: lm.f64["N"], y: lm.f64["N"]):
        for i in range(N):
            t = x[i]
            while t > 1.0:
                t = t * 0.5
            y[i] = t

    def f(x: Any) -> Any:
        return call(halved, x, out=Spec(x.shape, "float64"))

    x = np.array([0.3, 5.0, 17.0])
    message = refused(f, x)
    assert "a while loop" in message and "while t > 1.0" in message and "lm.custom_vjp" in message
    _, tangent = lm.jit(lambda x: lm.jvp(f, (x,), (np.ones(3),)))(x)
    np.testing.assert_array_equal(tangent, [1, 1 / 8, 1 / 32])


def test_a_search_with_break_may_stand_beside():
    @lm.kernel
    def first_above(x: lm.f64["N"], t: lm.f64, y: lm.f64["N"]):
        at = 0
        for i in range(N):
            if x[i] > t:
                at = i
                break
        for i in range(N):
            y[i] = x[at] * x[i]

    x = np.array([1.0, 5.0, 3.0])
    found = lm.jit(lm.grad(lambda x: call(first_above, x, 2.0, out=Spec(x.shape, "float64")).sum()))(x)
    np.testing.assert_array_equal(found, [5, 14, 5])


def test_a_batch_of_an_array_with_strides():
    @lm.kernel
    def rows(x: lm.f64["M", "N"].strided("ld", 1), y: lm.f64["M"]):
        for i in range(M):
            y[i] = x[i, 0]

    with pytest.raises(CompileError, match=re.escape("'x' has strides, and a batch of it none")):
        lm.jit(lm.vmap(lambda x: call(rows, x, out=Spec((3,), "float64"))))(normal(2, 3, 4))


@lm.kernel
def polynomial(x: lm.f64["N"], c: lm.f64["D"], y: lm.f64["N"]):
    for i in range(len(x)):
        s = c[0]
        for k in range(1, len(c)):
            s = s * x[i] + c[k]
        y[i] = s


@pytest.mark.parametrize("n", [3, 21])
def test_gradients_of_numbers_that_all_rows_share(n: int):
    """Their sums are kept in parts, with rows left over or with none that fill the parts."""
    x, c, w = DRAW.normal(size=n), DRAW.normal(size=4), DRAW.normal(size=n)

    def loss(x: Any, c: Any) -> Any:
        return (lm.call_kernel(polynomial, x, c, out=lm.TensorSpec(x.shape, "float64")) * w).sum()

    of_x, of_c = lm.jit(lm.grad(loss, (0, 1)))(x, c)
    np.testing.assert_allclose(of_x, w * np.polyval(np.polyder(c), x), rtol=1e-12)
    np.testing.assert_allclose(of_c, np.vander(x, 4).T @ w, rtol=1e-12)
    again = lm.jit(lm.grad(lambda c: (lm.grad(loss)(x, c) ** 2).sum()))(c)  # derivatives of the parts themselves
    slopes = np.vander(x, 4)[:, 1:] * [3, 2, 1]
    np.testing.assert_allclose(again[:3], slopes.T @ (2 * w * w * (slopes @ c[:3])), rtol=1e-11, atol=1e-12)
