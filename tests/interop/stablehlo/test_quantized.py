"""Quantized types of StableHLO: the integers of results are those of the numbers, rounded and bounded by the specification."""

from __future__ import annotations

import lamina as lm
import numpy as np
import pytest
from lamina.dialects.stablehlo.quantized import parse

U8, I8 = "!quant.uniform<u8:f32, 0.5:128>", "!quant.uniform<i8<-127:127>:f32, 0.25:-3>"
COLUMNS = "!quant.uniform<i8:f32:1, {0.5:1, 0.25:-2, 2.0}>"
RNG = np.random.default_rng(3)


def numbers(q: np.ndarray, scale, zero):
    return (q.astype(np.int64) - zero) * np.float64(scale)


def rounded(x: np.ndarray, scale, zero, low: int, high: int):
    return np.clip(np.rint(x / scale) + zero, low, high)


def module(body: str, arguments: str, result: str) -> str:
    return f"func.func @main({arguments}) -> {result} {{\n{body}\n}}"


def drawn(dtype, *shape):
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max + 1, shape).astype(dtype)


def test_quantize_and_dequantize() -> None:
    body = f"""
      %q = stablehlo.uniform_quantize %x : (tensor<4x3xf32>) -> tensor<4x3x{COLUMNS}>
      %f = stablehlo.uniform_dequantize %q : (tensor<4x3x{COLUMNS}>) -> tensor<4x3xf32>
      %r = stablehlo.uniform_quantize %q : (tensor<4x3x{COLUMNS}>) -> tensor<4x3x{U8}>
      return %q, %f, %r : tensor<4x3x{COLUMNS}>, tensor<4x3xf32>, tensor<4x3x{U8}>"""
    f = lm.from_stablehlo(module(body, "%x: tensor<4x3xf32>", f"(tensor<4x3x{COLUMNS}>, tensor<4x3xf32>, tensor<4x3x{U8}>)"))
    x = np.float32([[0.25, 0.375, 1], [-1e9, 1e9, 3], [0.75, -0.125, -1], [np.inf, -np.inf, 0]])
    scales, zeros = np.array([0.5, 0.25, 2]), np.array([1, -2, 0])
    q, back, again = f(x)
    assert (q.dtype, back.dtype, again.dtype) == (np.int8, np.float32, np.uint8)
    np.testing.assert_array_equal(q, rounded(x.astype(np.float64), scales, zeros, -128, 127))
    np.testing.assert_array_equal(back, numbers(np.asarray(q), scales, zeros))
    np.testing.assert_array_equal(again, rounded(np.asarray(back, np.float64), 0.5, 128, 0, 255))


@pytest.mark.parametrize(("op", "meaning"), [("add", np.add), ("multiply", np.multiply), ("maximum", np.maximum)])
def test_elementwise_ops_are_of_the_numbers(op: str, meaning) -> None:
    body = f"""%r = stablehlo.{op} %x, %y : (tensor<40x{U8}>, tensor<40x{I8}>) -> tensor<40x{I8}>
      return %r : tensor<40x{I8}>"""
    f = lm.from_stablehlo(module(body, f"%x: tensor<40x{U8}>, %y: tensor<40x{I8}>", f"tensor<40x{I8}>"))
    x, y = drawn(np.uint8, 40), drawn(np.int8, 40)
    wanted = rounded(meaning(numbers(x, 0.5, 128), numbers(y, 0.25, -3)), 0.25, -3, -127, 127)
    np.testing.assert_array_equal(f(x, y), wanted)


@pytest.mark.parametrize("k", [3, 16, 130])
def test_products(k: int) -> None:
    """Sums of products of such scales are exact in f32 as well, so results are equal on every target."""
    wide = "tensor<20x24x!quant.uniform<i32:f32, 0.125>>"
    body = f"""%w = stablehlo.constant dense<3> : tensor<{k}x24xi8> : tensor<{k}x24x{I8}>
      %r = "stablehlo.dot_general"(%x, %w) <{{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1],
        rhs_contracting_dimensions = [0]>}}> : (tensor<20x{k}x{U8}>, tensor<{k}x24x{I8}>) -> {wide}
      return %r : {wide}"""
    f = lm.from_stablehlo(module(body, f"%x: tensor<20x{k}x{U8}>", wide))
    x = drawn(np.uint8, 20, k)
    sums = numbers(x, 0.5, 128) @ numbers(np.full((k, 24), 3, np.int8), 0.25, -3)
    np.testing.assert_array_equal(f(x), np.rint(sums / 0.125))


def test_calls_loops_and_moves_keep_the_integers() -> None:
    text = f"""
    func.func private @twice(%x: tensor<6x{I8}>) -> tensor<6x{I8}> {{
      %r = stablehlo.add %x, %x : tensor<6x{I8}>
      return %r : tensor<6x{I8}>
    }}
    func.func @main(%x: tensor<2x3x{I8}>) -> (tensor<6x{I8}>, tensor<6x{I8}>) {{
      %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3x{I8}>) -> tensor<3x2x{I8}>
      %a = stablehlo.reshape %t : (tensor<3x2x{I8}>) -> tensor<6x{I8}>
      %b = func.call @twice(%a) : (tensor<6x{I8}>) -> tensor<6x{I8}>
      return %a, %b : tensor<6x{I8}>, tensor<6x{I8}>
    }}"""
    x = np.arange(-40, 20, 10, dtype=np.int8).reshape(2, 3)
    moved, twice = lm.from_stablehlo(text)(x)
    np.testing.assert_array_equal(moved, x.T.reshape(-1))
    np.testing.assert_array_equal(twice, rounded(2 * numbers(x.T.reshape(-1), 0.25, -3), 0.25, -3, -127, 127))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("i8:f32", "expected storage:expressed"),
        ("i9:f32, 0.5", "storage is"),
        ("i8:i32, 0.5", "expressed type"),
        ("i8<-200:7>:f32, 0.5", "bounds"),
        ("i8<7:7>:f32, 0.5", "bounds"),
        ("i8:f32, {0.5}", "an axis has"),
        ("i8:f32:0, 0.5", "an axis has"),
        ("i8:f32:0, {0.5, x}", "expected scale:zero, got x"),
        ("i8:f32:0, {}", "expected scale:zero, got nothing"),
        ("i8:f32, -0.5", "positive"),
        ("i8:f32, 0.0", "positive"),
        ("i8<-7:7>:f32, 0.5:9", "zero points"),
        ("i8:f32:{0:1, 1:2}, {{0.5}, {0.25}}", "expected storage:expressed"),
    ],
)
def test_what_is_no_type_is_refused(text: str, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        parse(text)
    with pytest.raises(lm.CompileError, match=r"quant\.uniform"):
        lm.from_stablehlo(f"func.func @main(%x: tensor<3x!quant.uniform<{text}>>) {{ return }}")


def test_ops_on_bits_and_wrong_axes_are_refused() -> None:
    bits = f"""%r = stablehlo.bitcast_convert %x : (tensor<3x{I8}>) -> tensor<3xi8>
      return %r : tensor<3xi8>"""
    with pytest.raises(lm.CompileError, match="not supported of quantized types"):
        lm.from_stablehlo(module(bits, f"%x: tensor<3x{I8}>", "tensor<3xi8>"))(np.zeros(3, np.int8))
    axis = f"""%r = stablehlo.uniform_dequantize %x : (tensor<2x4x{COLUMNS}>) -> tensor<2x4xf32>
      return %r : tensor<2x4xf32>"""
    with pytest.raises(lm.CompileError, match="3 scales along axis 1"):
        lm.from_stablehlo(module(axis, f"%x: tensor<2x4x{COLUMNS}>", "tensor<2x4xf32>"))(np.zeros((2, 4), np.int8))
    with pytest.raises(TypeError, match="int8"):
        lm.from_stablehlo(module(axis, f"%x: tensor<2x4x{COLUMNS}>", "tensor<2x4xf32>"))(np.zeros((2, 4), np.uint8))
