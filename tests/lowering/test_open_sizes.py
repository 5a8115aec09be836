"""Programs with symbolic sizes, compiled once: every size, both call paths, mismatches, memory."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamina import pipeline
from lamina.codegen.executable import native_entry
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from lamina.errors import ShapeError
from lamina.executor import executor
from lamina.runtime import callable as calls
from lamina.runtime.executable import Executable
from lamina.runtime.interpreter import interpret

LAYER = """
func.func @main(%x: tensor<?x64xf32>, %w: tensor<64x32xf32>, %b: tensor<32xf32>) -> tensor<?x32xf32> {
  %e = graph.tanh %x : tensor<?x64xf32>
  %h = graph.dot %e, %w contract [1] with [0] : (tensor<?x64xf32>, tensor<64x32xf32>) -> tensor<?x32xf32>
  %bb = graph.broadcast %b to [1] : tensor<32xf32> -> tensor<?x32xf32>
  %s = graph.add %h, %bb : tensor<?x32xf32>
  %y = graph.relu %s : tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}
"""
POINTWISE = """
func.func @main(%x: tensor<?x?xf32>, %z: tensor<?x?xf32>, %n: tensor<?xf32>) -> (tensor<?x?xf32>, tensor<?xf32>) {
  %t = graph.mul %x, %z : tensor<?x?xf32>
  %y = graph.sub %t, %x : tensor<?x?xf32>
  %m = graph.neg %n : tensor<?xf32>
  return %y, %m : tensor<?x?xf32>, tensor<?xf32>
}
"""
PRODUCTS = """
func.func @main(%a: tensor<?x?xf64>, %b: tensor<?x?xf64>, %c: tensor<?x?xf64>) -> tensor<?x?xf64> {
  %0 = graph.dot %a, %b contract [1] with [0] : (tensor<?x?xf64>, tensor<?x?xf64>) -> tensor<?x?xf64>
  %1 = graph.dot %0, %c contract [1] with [0] : (tensor<?x?xf64>, tensor<?x?xf64>) -> tensor<?x?xf64>
  return %1 : tensor<?x?xf64>
}
"""
ADD = """
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %z = graph.add %x, %y : tensor<?xf32>
  return %z : tensor<?xf32>
}
"""
ROWS = """
func.func @main(%x: tensor<?x?xf32>) -> (tensor<?xf32>, tensor<?x?xf32>, tensor<?x?xf32>) {
  %s = graph.reduce add %x over [1] : tensor<?x?xf32> -> tensor<?xf32>
  %b = graph.broadcast %s to [0] : tensor<?xf32> -> tensor<?x?xf32>
  %y = graph.sub %x, %b : tensor<?x?xf32>
  %t = graph.transpose %x perm [1, 0] : tensor<?x?xf32> -> tensor<?x?xf32>
  return %s, %y, %t : tensor<?xf32>, tensor<?x?xf32>, tensor<?x?xf32>
}
"""
OUTER = """
func.func @main(%x: tensor<?x0xf32>, %y: tensor<?x0xf32>) -> tensor<?x?xf32> {
  %z = graph.dot %x, %y contract [1] with [1] : (tensor<?x0xf32>, tensor<?x0xf32>) -> tensor<?x?xf32>
  return %z : tensor<?x?xf32>
}
"""


@cache
def compiled(text: str, native: bool) -> Any:
    made = executor.program(parse_module(make_context(), text))
    executable = Executable(made.signature, made.library, made.host, native_entry() if native else None)
    return calls.function_class(calls.CompiledBase, native)(executable)


paths = pytest.mark.parametrize("native", [True, False], ids=["native", "ctypes"])
rows = st.one_of(st.sampled_from([0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 97, 257, 1009]), st.integers(0, 300))
few = st.integers(0, 40)


def numbers(shape: tuple[int, ...], dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


@pytest.mark.thorough
@paths
@given(n=rows)
@settings(deadline=None)
def test_a_layer_for_any_number_of_rows(native: bool, n: int) -> None:
    x, w, b = numbers((n, 64)), numbers((64, 32), seed=1), numbers((32,), seed=2)
    f = compiled(LAYER, native)
    y = f(x, w, b)
    assert y.shape == (n, 32) and y.flags.owndata
    np.testing.assert_allclose(y, np.maximum(np.tanh(x) @ w + b, 0), rtol=1e-4, atol=1e-4)
    out = np.empty((n, 32), np.float32)
    assert f(x, w, b, out=out) is out
    np.testing.assert_array_equal(out, y)
    np.testing.assert_array_equal(f(np.asfortranarray(x), w[::1], b), y)


@paths
@given(n=few, m=few, k=rows)
@settings(deadline=None)
def test_two_results_of_different_sizes(native: bool, n: int, m: int, k: int) -> None:
    x, z, v = numbers((n, m)), numbers((n, m), seed=1), numbers((k,), seed=2)
    y, w = compiled(POINTWISE, native)(x, z, v)
    np.testing.assert_array_equal(y, x * z - x)
    np.testing.assert_array_equal(w, -v)


@paths
@given(sizes=st.tuples(few, few, few, few))
@settings(deadline=None)
def test_products_of_open_sizes(native: bool, sizes: tuple[int, int, int, int]) -> None:
    n, m, k, p = sizes
    a, b, c = numbers((n, m), np.float64), numbers((m, k), np.float64, 1), numbers((k, p), np.float64, 2)
    np.testing.assert_array_equal(compiled(PRODUCTS, native)(a, b, c), a @ b @ c)


@paths
@given(n=few, m=rows)
@settings(deadline=None)
def test_reductions_broadcasts_and_transposes(native: bool, n: int, m: int) -> None:
    x = numbers((n, m))
    s, y, t = compiled(ROWS, native)(x)
    np.testing.assert_array_equal(s, x.sum(axis=1))
    np.testing.assert_array_equal(y, x - s[:, None])
    np.testing.assert_array_equal(t, x.T)


@paths
@given(n=few, m=few)
@settings(deadline=None)
def test_sizes_that_do_not_agree(native: bool, n: int, m: int) -> None:
    f, x, y = compiled(ADD, native), numbers((n,)), numbers((m,))
    if n == m:
        np.testing.assert_array_equal(f(x, y), x + y)
        return
    with pytest.raises(ValueError, match=rf"size 'N' is {n} by dim 0 of argument 'x' .* and {m} by dim 0 of argument 'y'"):
        f(x, y)


@paths
def test_what_does_not_fit(native: bool) -> None:
    f, x, w, b = compiled(LAYER, native), numbers((3, 64)), numbers((64, 32)), numbers((32,))
    with pytest.raises(ValueError, match=r"argument 'x': expected float32\[N,64\], got float32\[3,63\]"):
        f(x[:, 1:], w, b)
    with pytest.raises(ValueError, match=r"argument 'x': expected float32\[N,64\], got float32\[64\]"):
        f(x[0], w, b)
    with pytest.raises(TypeError, match=r"argument 'x': expected float32\[N,64\], got float64\[3,64\]"):
        f(x.astype(float), w, b)
    for out in (np.empty((4, 32), np.float32), np.empty((3, 32)), np.empty((32, 3), np.float32).T):
        with pytest.raises(ValueError, match="result 0: "):
            f(x, w, b, out=out)


@paths
def test_no_memory_for_a_result(native: bool) -> None:
    x = np.zeros((1 << 40, 0), np.float32)
    with pytest.raises((MemoryError, ValueError)):
        compiled(OUTER, native)(x, x)
    np.testing.assert_array_equal(compiled(OUTER, native)(x[:3], x[:5]), np.zeros((3, 5)))


@pytest.mark.parametrize("text", [POINTWISE, PRODUCTS, ADD, LAYER, ROWS])
@pytest.mark.parametrize("phase", ["graph", "optimized", "loop", "scheduled", "program"])
def test_every_phase_is_interpreted(text: str, phase: str) -> None:
    module = parse_module(make_context(), text)
    pipeline.run_to(module, phase)
    shapes = {
        POINTWISE: [(3, 4), (3, 4), (5,)],
        PRODUCTS: [(2, 3), (3, 4), (4, 5)],
        ADD: [(7,)] * 2,
        LAYER: [(9, 64), (64, 32), (32,)],
        ROWS: [(3, 4)],
    }
    args = [numbers(shape, np.float64 if text == PRODUCTS else np.float32, k) for k, shape in enumerate(shapes[text])]
    expected = compiled(text, True)(*args)
    for got, want in zip(interpret(module, "main", args), expected if isinstance(expected, tuple) else [expected], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_the_interpreter_compares_sizes() -> None:
    module = parse_module(make_context(), ADD)
    pipeline.run_to(module, "program")
    with pytest.raises(ShapeError, match="size 'N' is 3 by dim 0 of argument 'x' and 4 by dim 0 of argument 'y'"):
        interpret(module, "main", [numbers((3,)), numbers((4,))])
