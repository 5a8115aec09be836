"""What the extension adds, through every part of the compiler."""

from __future__ import annotations

import subprocess
import sys

import lamina as lm
import lamina_softcap as sc
import numpy as np
import pytest
from lamina import extend, passes
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from lamina.frontend.kernel.schedules import default_schedule
from lamina.runtime.interpreter import interpret

lnp = lm.numpy
SIZES = ((1,), (7,), (2, 3), (0,), (3, 1, 5))


def module_of(body: str) -> object:
    return parse_module(make_context(), body)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_soft_caps(dtype: str) -> None:
    rng = np.random.default_rng(0)
    for shape in SIZES:
        x = (100 * rng.standard_normal(shape)).astype(dtype)
        wanted = 50 * np.tanh(x / 50)
        for found in (sc.soft_cap(x, 50), lm.jit(lambda x: sc.soft_cap(x, 50))(x), lm.vmap(lambda x: sc.soft_cap(x, 50))(x)):
            np.testing.assert_allclose(found, wanted, rtol=4e-7, atol=0)
            assert found.dtype == dtype
        slope = lm.jit(lm.grad(lambda x: sc.soft_cap(x, 50).sum()))(x)
        np.testing.assert_allclose(slope, 1 - np.tanh(x / 50) ** 2, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("sizes", [(0, 3), (1, 1), (5, 7), (64, 64), (65, 3), (300, 200)])
def test_differences(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    for dtype in ("float32", "float64", "int32"):
        x, y = ((9 * rng.standard_normal(n)).astype(dtype) for n in sizes)
        wanted = x[:, None] - y
        np.testing.assert_array_equal(sc.differences(x, y), wanted)
        np.testing.assert_array_equal(lm.jit(sc.differences)(x, y), wanted)
        np.testing.assert_array_equal(lm.jit(lambda x, y: 2 * sc.differences(x + 1, y))(x, y), 2 * ((x + 1)[:, None] - y))
    xs = rng.standard_normal((4, sizes[0]))
    y = rng.standard_normal(sizes[1])
    np.testing.assert_array_equal(lm.vmap(sc.differences, in_axes=(0, None))(xs, y), xs[:, :, None] - y)
    np.testing.assert_array_equal(lm.vmap(sc.differences, in_axes=(None, 0))(y, xs), y[:, None] - xs[:, None])
    dx, dy = lm.grad(lambda x, y: (sc.differences(x, y) ** 2).sum(), argnums=(0, 1))(xs[0], y)
    np.testing.assert_allclose(dx, 2 * (xs[0][:, None] - y).sum(1), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(dy, -2 * (xs[0][:, None] - y).sum(0), rtol=1e-12, atol=1e-12)


def test_open_sizes() -> None:
    f = lm.jit(lambda x: 3 * sc.soft_cap(x, 2), dynamic={"x": ("n",)})
    for n in (0, 1, 5, 100):
        x = np.linspace(-5, 5, n).astype(np.float32)
        np.testing.assert_allclose(f(x), 6 * np.tanh(x / 2), rtol=1e-6)


def test_text() -> None:
    text = """
      func.func @main(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32> {
        %a = softcap.soft_cap %x cap 2.0 : f64 : tensor<2xf32>
        %z = softcap.differences %a, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<2x3xf32>
        return %z : tensor<2x3xf32>
      }"""
    module = module_of(text)
    module.verify()
    assert str(module_of(str(module))) == str(module)
    x, y = np.float32([1, 5]), np.float32([0, 1, 2])
    np.testing.assert_allclose(interpret(module, "main", [x, y])[0], (2 * np.tanh(x / 2))[:, None] - y, rtol=1e-6)


def test_bad_operands_are_refused() -> None:
    with pytest.raises(lm.DTypeError, match=r"'softcap.soft_cap' op operand element type must be f32 or f64, got i32"):
        sc.soft_cap(np.int32([1]), 2)
    with pytest.raises(lm.ShapeError, match=r"cap must be greater than 0, got -1.0"):
        lm.jit(lambda x: sc.soft_cap(x, -1))(np.float32([1]))
    with pytest.raises(lm.ShapeError, match="must be vectors, got ranks 2 and 1"):
        sc.differences(np.ones((2, 2)), np.ones(2))


def test_ops_and_rules_through_every_part() -> None:
    x = np.linspace(-3, 3, 6).reshape(2, 3)
    lm.testing.check_op(sc.SoftCapOp, x, cap=2.0)
    lm.testing.check_op(sc.SoftCapOp, x.astype(np.float32), cap=2.0)
    lm.testing.check_op(sc.DifferencesOp, x[0], x[1])
    lm.testing.check_rule(sc.ops.caps_are_odd)


def test_the_rule_fires_and_the_pass_runs() -> None:
    f = lm.jit(lambda x: sc.soft_cap(-x, 2))
    text = lm.make_graph(lambda x: -sc.soft_cap(-x, 2))(np.zeros(4, np.float32))
    module = module_of(str(text))
    passes.run_passes(module, make_context(), "graph-simplify")
    assert "graph.neg" not in str(module)
    np.testing.assert_array_equal(f(np.float32([3])), -f(np.float32([-3])))
    module = module_of(str(lm.make_graph(lambda x: lm.nn.softmax(x))(np.zeros((2, 4), np.float32))))
    passes.run_passes(module, make_context(), "graph-cap-logits{cap=7.0},graph-cap-logits")
    assert str(module).count("softcap.soft_cap %") == 1 and "cap 7.0" in str(module)


def test_the_kernel_is_called_where_it_pays() -> None:
    def program(n: int, dtype: str) -> str:
        x = np.zeros(n, dtype)
        return lm.jit(sc.differences).lower(x, x).as_text("program")

    assert "short_differences" in program(64, "float32")
    assert "short_differences" not in program(65, "float32")
    assert "short_differences" not in program(64, "float64")  # it is of f32


def test_the_primitive_and_the_strategy() -> None:
    @lm.kernel
    def triples(x: lm.f32["N", 3], y: lm.f32["N", 3]):
        for i in range(x.shape[0]):
            for k in range(3):
                y[i, k] = 2.0 * x[i, k]

    s = triples.schedule()
    s.unroll_short("k")
    assert str(s) == "loop-unroll-short{loop=k}"
    with pytest.raises(lm.ScheduleError, match="'i' must run at most 4 times"):
        s.unroll_short("i")
    assert "loop-unroll-short{loop=k}" in str(default_schedule(triples.module, lm.target("small-core")))
    x = np.arange(15, dtype=np.float32).reshape(5, 3)
    y = np.zeros_like(x)
    triples(x, y)
    np.testing.assert_array_equal(y, 2 * x)


def test_the_target() -> None:
    assert lm.target("small-core").lanes(32) == 4
    assert lm.target("small-core{l2=256K}").l2_bytes == 256 << 10


def test_the_tools_find_the_installed_package() -> None:
    listed = subprocess.run([sys.executable, "-m", "lamina.tools.lamina_opt", "--list-passes"], capture_output=True, text=True)
    assert "graph-cap-logits" in listed.stdout and "loop-unroll-short" in listed.stdout
    kinds = {(one.kind, one.name) for one in extend.extensions()}
    assert ("op", "softcap.soft_cap") in kinds and ("target", "small-core") in kinds
