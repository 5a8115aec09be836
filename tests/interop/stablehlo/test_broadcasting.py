"""Ops of CHLO that broadcast, and StableHLO's older and collective ones, against NumPy."""

from __future__ import annotations

import lamina as lm
import numpy as np
import pytest
from lamina.dialects.stablehlo.ops import CHLO

X = np.arange(6, dtype=np.float32).reshape(2, 3) + 1
ROW, COLUMN = np.float32([2, 3, 5]), np.float32([4, 7])
BINARY = {
    "add": np.add, "atan2": np.arctan2, "divide": np.divide, "maximum": np.maximum, "minimum": np.minimum,
    "multiply": np.multiply, "power": np.power, "remainder": np.fmod, "subtract": np.subtract, "next_after": np.nextafter,
    "complex": lambda x, y: x + 1j * y,
}  # fmt: skip
INTEGERS = {
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "shift_left": np.left_shift,
    "shift_right_arithmetic": np.right_shift, "shift_right_logical": np.right_shift,
}  # fmt: skip


def generic(op: str, operands: str, result: str, attributes: str = "") -> str:
    types = [part.split(":")[1].strip() for part in operands.split(",  ")]
    names = ", ".join(part.split(":")[0].strip() for part in operands.split(",  "))
    return f"""func.func @main({operands.replace(",  ", ", ")}) -> {result} {{
      %r = "{op}"({names}) {{{attributes}}} : ({", ".join(types)}) -> {result}
      return %r : {result}
    }}"""


@pytest.mark.parametrize("name", BINARY)
def test_operands_are_broadcast(name: str) -> None:
    result = "tensor<2x3xcomplex<f32>>" if name == "complex" else "tensor<2x3xf32>"
    trailing = generic(f"chlo.broadcast_{name}", "%x: tensor<2x3xf32>,  %y: tensor<3xf32>", result)
    np.testing.assert_allclose(lm.from_stablehlo(trailing)(X, ROW), BINARY[name](X, ROW), rtol=1e-6)
    said = generic(
        f"chlo.broadcast_{name}", "%x: tensor<2xf32>,  %y: tensor<2x3xf32>", result, "broadcast_dimensions = array<i64: 0>"
    )
    np.testing.assert_allclose(lm.from_stablehlo(said)(COLUMN, X), BINARY[name](COLUMN[:, None], X), rtol=1e-6)


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_are_broadcast(name: str) -> None:
    text = generic(f"chlo.broadcast_{name}", "%x: tensor<2x3xi32>,  %y: tensor<i32>", "tensor<2x3xi32>")
    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    np.testing.assert_array_equal(lm.from_stablehlo(text)(x, np.int32(2)), INTEGERS[name](x, 2))


def test_comparisons_selects_and_functions() -> None:
    direction = "comparison_direction = #chlo<comparison_direction LT>"
    text = generic("chlo.broadcast_compare", "%x: tensor<2x3xf32>,  %y: tensor<3xf32>", "tensor<2x3xi1>", direction)
    np.testing.assert_array_equal(lm.from_stablehlo(text)(X, ROW), X < ROW)
    operands = "%c: tensor<2x1xi1>,  %x: tensor<2x3xf32>,  %y: tensor<3xf32>"
    text = generic("chlo.broadcast_select", operands, "tensor<2x3xf32>")
    choice = np.array([[True], [False]])
    np.testing.assert_array_equal(lm.from_stablehlo(text)(choice, X, ROW), np.where(choice, X, ROW))
    text = generic("chlo.broadcast_zeta", "%x: tensor<3xf32>,  %y: tensor<2x3xf32>", "tensor<2x3xf32>")
    np.testing.assert_allclose(lm.from_stablehlo(text)(ROW, X), lm.special.zeta(np.broadcast_to(ROW, X.shape), X), rtol=1e-6)
    text = generic("chlo.constant_like", "%x: tensor<2x3xf32>", "tensor<2x3xf32>", "value = 1.5 : f32")
    np.testing.assert_array_equal(lm.from_stablehlo(text)(X), np.full((2, 3), 1.5))


def test_every_broadcasting_op_has_a_row() -> None:
    from lamina.interop.stablehlo.table import TABLE

    assert not [name for name in CHLO if name.startswith("broadcast") and f"chlo.{name}" not in TABLE]


def test_older_ops() -> None:
    text = generic("stablehlo.broadcast", "%x: tensor<3xf32>", "tensor<4x2x3xf32>", "broadcast_sizes = array<i64: 4, 2>")
    np.testing.assert_array_equal(lm.from_stablehlo(text)(ROW), np.broadcast_to(ROW, (4, 2, 3)))
    text = generic("stablehlo.einsum", "%x: tensor<2x3xf32>,  %y: tensor<3xf32>", "tensor<2xf32>", 'einsum_config = "ij,j->i"')
    np.testing.assert_allclose(lm.from_stablehlo(text)(X, ROW), X @ ROW)
    text = generic("stablehlo.unary_einsum", "%x: tensor<2x3xf32>", "tensor<3xf32>", 'einsum_config = "ij->j"')
    np.testing.assert_allclose(lm.from_stablehlo(text)(X), X.sum(0))


@pytest.mark.parametrize(
    ("dim", "batch", "of"), [(0, 0, (2, 2)), (1, 0, (2,)), (2, 1, (2, 3)), (1, 1, (2, 3)), (2, 2, (2, 3, 4))]
)
def test_index_select(dim: int, batch: int, of: tuple[int, ...]) -> None:
    rng = np.random.default_rng(dim)
    x = rng.normal(size=(2, 3, 5)).astype(np.float32)
    index = rng.integers(0, x.shape[dim], of).astype(np.int32)
    want = np.empty((*x.shape[:batch], *x.shape[batch:dim], *of[batch:], *x.shape[dim + 1 :]), np.float32)
    for at in np.ndindex(*x.shape[:batch]):
        want[at] = np.take(x[at], index[at], axis=dim - batch)
    shown = "x".join(map(str, want.shape))
    text = generic(
        "stablehlo.torch_index_select",
        f"%x: tensor<2x3x5xf32>,  %i: tensor<{'x'.join(map(str, of))}xi32>",
        f"tensor<{shown}xf32>",
        f"dim = {dim} : i64, batch_dims = {batch} : i64",
    )
    np.testing.assert_array_equal(lm.from_stablehlo(text)(x, index), want)


def test_one_device() -> None:
    groups = "replica_groups = dense<0> : tensor<1x1xi64>, all_gather_dim = 0 : i64"
    text = generic("stablehlo.all_gather", "%x: tensor<2x3xf32>", "tensor<2x3xf32>", groups)
    np.testing.assert_array_equal(lm.from_stablehlo(text)(X), X)
    pairs = "source_target_pairs = dense<0> : tensor<1x2xi64>"
    text = generic("stablehlo.collective_permute", "%x: tensor<2x3xf32>", "tensor<2x3xf32>", pairs)
    np.testing.assert_array_equal(lm.from_stablehlo(text)(X), X)
    several = "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, all_gather_dim = 0 : i64"
    text = generic("stablehlo.all_gather", "%x: tensor<2x3xf32>", "tensor<4x3xf32>", several)
    with pytest.raises(lm.CompileError, match="groups of 2 devices"):
        lm.from_stablehlo(text)(X)


def test_dims_that_do_not_fit_are_refused() -> None:
    said = "broadcast_dimensions = array<i64: 0, 1>"
    text = generic("chlo.broadcast_add", "%x: tensor<2xf32>,  %y: tensor<2x3xf32>", "tensor<2x3xf32>", said)
    with pytest.raises(lm.CompileError, match="broadcasts 1 dims to dims"):
        lm.from_stablehlo(text)(COLUMN, X)
