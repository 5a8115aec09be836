"""Convolutions of dilated images by their phases: results, and the work that is saved."""

from __future__ import annotations

import itertools
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.dialects.context import make_context
from lamina.dialects.graph.builder import GraphBuilder
from lamina.dialects.graph.conv import ConvOp
from lamina.dialects.types import f64, i32, tensor
from lamina.runtime.interpreter import interpret
from lamina.transforms.target.graph_polyphase import GraphPolyphasePass, phases
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region


def convolution(x: Any, w: Any, **props: Any) -> ModuleOp:
    """@main of two operands."""
    body = Block(arg_types=[x, w])
    b = GraphBuilder(body)
    y = b.conv(*body.args, **props)
    b.insert(ReturnOp(y))
    return ModuleOp([FuncOp("main", ((x, w), (y.type,)), Region(body))])


def drawn(rng: np.random.Generator) -> dict[str, Any] | None:
    """A convolution of one to three spatial dims, some of them dilated; None if it has no results."""
    n = int(rng.integers(1, 4))
    sizes, window = rng.integers(1, 6, n), rng.integers(1, 5, n)
    base = rng.integers(1, 4, n)
    plain = base == 1  # other dims have strides and dilations of their own
    stride, dilation = np.where(plain, rng.integers(1, 3, n), 1), np.where(plain, rng.integers(1, 3, n), 1)
    low, high = rng.integers(-1, 4, n), rng.integers(-1, 4, n)
    whole = (sizes - 1) * base + 1 + low + high
    if np.any(whole < (window - 1) * dilation + 1):
        return None
    groups, depth, filters = int(rng.integers(1, 3)), int(rng.integers(4, 9)), int(rng.integers(1, 4))
    dims = [tuple(map(int, rng.permutation(n + 2))) for _ in range(3)]
    roles = [(2, groups * depth, *sizes), (groups * filters, depth, *window)]
    shapes = [tuple(int(of[k]) for k in np.argsort(order)) for of, order in zip(roles, dims, strict=False)]
    names = ("stride", "low", "high", "base_dilation", "dilation")
    props = {name: tuple(map(int, v)) for name, v in zip(names, (stride, low, high, base, dilation), strict=True)}
    return {"shapes": shapes, **props, "x_dims": dims[0], "w_dims": dims[1], "y_dims": dims[2], "groups": groups}


def test_random_convolutions_keep_their_values() -> None:
    rng, split = np.random.default_rng(0), 0
    for _ in range(120):
        props = drawn(rng)
        if props is None:
            continue
        shapes = props.pop("shapes")
        element, dtype = (f64, np.float64) if rng.integers(2) else (i32, np.int32)
        module = convolution(*(tensor(element, shape) for shape in shapes), **props)
        x, w = (rng.integers(-9, 10, shape).astype(dtype) for shape in shapes)
        want = interpret(module, "main", [x, w])
        GraphPolyphasePass().apply(make_context(), module)
        module.verify()
        split += all(
            set(op.properties["base_dilation"].get_values() or [1]) == {1} for op in module.walk() if isinstance(op, ConvOp)
        )
        np.testing.assert_array_equal(interpret(module, "main", [x, w])[0], want[0], str(props))
    assert split > 30


def test_every_result_belongs_to_one_phase() -> None:
    for size, window, by, low, results in itertools.product((1, 3), (1, 2, 3, 5), (2, 3), (-1, 0, 1, 2), (1, 2, 5)):
        met = [(r + by * q, q - p.low + j, p.first + by * j) for r, p in enumerate(phases(size, window, by, low, results))
               for q in range(-(-results // by)) for j in range(p.taps)]  # fmt: skip
        terms = {(p, at, k) for p, at, k in met if p < results and 0 <= at < size}
        assert terms == {
            (p, (p + k - low) // by, k)
            for p in range(results)
            for k in range(window)
            if (p + k - low) % by == 0 and 0 <= p + k - low < size * by
        }


@pytest.mark.thorough
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("size", [(5, 7), (1, 2)])
def test_transposed_convolutions_and_gradients_of_strides_run(layout: str, size: tuple[int, int]) -> None:
    """Native code against the same sums with a dilated copy of the image."""
    rng = np.random.default_rng(1)
    last = layout == "NHWC"
    x = rng.standard_normal((2, *size, 16) if last else (2, 16, *size), np.float32)
    w = rng.standard_normal((3, 4, 16, 5) if last else (5, 16, 3, 4), np.float32)
    numbers = (layout, "HWIO" if last else "OIHW", layout)
    holes = [(0, 0, 1) if letter in "HW" else (0, 0, 0) for letter in layout]

    def of(x: Any, w: Any, **more: Any) -> Any:
        return lm.lax.conv_general_dilated(x, w, (1, 1), [(2, 1), (1, 3)], dimension_numbers=numbers, **more)

    want = lm.jit(lambda x, w: of(lm.lax.pad(x, np.float32(0), holes), w))(x, w)
    np.testing.assert_allclose(lm.jit(lambda x, w: of(x, w, lhs_dilation=(2, 2)))(x, w), want, rtol=1e-4, atol=1e-4)

    def strided(x: Any, w: Any) -> Any:
        y = lm.lax.conv_general_dilated(x, w, (2, 3), "SAME", dimension_numbers=numbers)
        return (y * y).sum()

    x64, w64 = x.astype(np.float64), w.astype(np.float64)
    got, step = lm.jit(lm.grad(strided))(x64, w64), 1e-5
    for at in [(0, 0, 0, 0), (1, *(n - 1 for n in x.shape[1:])), (0, x.shape[1] // 2, x.shape[2] // 2, 0)]:
        moved = [x64.copy(), x64.copy()]
        moved[0][at] += step
        moved[1][at] -= step
        slope = (strided(moved[0], w64) - strided(moved[1], w64)) / (2 * step)
        assert abs(np.asarray(got)[at] - slope) < 1e-4 * max(1, abs(slope))
