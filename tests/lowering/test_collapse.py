"""Fusions over fewer dims compute the same elements."""

from __future__ import annotations

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.dialects.context import make_context
from lamina.dialects.graph.fusion import FusionOp
from lamina.dialects.parsing import parse_module
from lamina.executor import executor
from lamina.pipeline import compile_to, load_pass

X = np.random.default_rng(0).normal(size=(2, 3, 1, 4, 5)).astype(np.float32)
V = X[0, 0, 0, :, 0].copy()
S = np.random.default_rng(1).normal(size=(4, 4)).astype(np.float32)

CASES = {
    "trailing": lambda np, x: np.exp(x).sum((3, 4)),
    "leading": lambda np, x: (x * 2).max((0, 1)),
    "middle": lambda np, x: (x + 1).sum((1, 2, 3)),
    "apart": lambda np, x: (x - x.mean((1, 4), keepdims=True)) * 2,
    "all": lambda np, x: (x * x).sum(),
    "rows": lambda np, x: x / np.sqrt((x * x).sum(-1, keepdims=True)),
    "channel bias": lambda np, x: x * x[0, :, :, :1, :1] + 1,
    "argmax": lambda np, x: np.argmax(x * 2, axis=3),
    "dot of leading dims": lambda np, x: np.maximum(x @ x[0, 0, 0, :2].T + 1, 0),
    "dot over two dims": lambda np, x: np.tensordot(x * 2, x[0, 0, 0], ((3, 4), (0, 1))),
    "dot with unit dims": lambda np, x: x[:1, :1, 0] @ x[0, 0, 0, 0],
    "dot of one term": lambda np, x: x[..., :1] @ x[0, 0, 0, :1, :4],
    "batched dot": lambda np, x: x @ x.swapaxes(-1, -2),
    "concat of leading dims": lambda np, x: np.concatenate([x * 2, x[:, :2], x[:, :0]], axis=1),
    "stack as last dim": lambda np, x: np.stack([x, x + 1, x[:, ::-1]], axis=-1),
    "stack as first dim": lambda np, x: np.stack([x[0, 0, 0], x[0, 1, 0].T.reshape(4, 5)]),
    "concat along a unit dim": lambda np, x: np.concatenate([x, x * x, x], axis=2),
    "concat of rows": lambda np, x: np.concatenate(
        [x[0, 0, 0].sum(1, keepdims=True), x[1, 1, 0].max(1, keepdims=True)], axis=1
    ),
    "no elements": lambda np, x: (x[:0] * 2).sum((0, 1)),
}


@pytest.mark.parametrize("name", CASES)
def test_equal_to_numpy(name: str) -> None:
    got = lm.jit(lambda x: CASES[name](lnp, x))(X)
    np.testing.assert_allclose(got, CASES[name](np, X), rtol=2e-6, atol=1e-6)


def test_a_loop_that_is_two_dims_of_one_value() -> None:
    def outer(v, s):
        return v[:, None] * s + v[None, :]

    np.testing.assert_allclose(lm.jit(outer)(V, S), outer(V, S), rtol=1e-6)


def test_a_result_with_unit_dims() -> None:
    got = lm.jit(lambda x: lnp.sum(x, (0, 3), keepdims=True) * 2)(X)
    np.testing.assert_allclose(got, X.sum((0, 3), keepdims=True) * 2, rtol=2e-6, atol=1e-6)


def test_a_unit_dim_that_is_stretched_and_put_together() -> None:
    x = np.full((1, 1), 3, np.float32)
    np.testing.assert_array_equal(lm.jit(lambda x: lnp.concatenate([lnp.broadcast_to(x, (2, 1)), x]))(x), np.full((3, 1), 3))


def test_equal_fusions_keep_their_places_and_share_a_kernel() -> None:
    def layers(x, y):
        one = lnp.exp(x).sum((1, 2))
        return one, lnp.exp(y).sum((1, 2))

    x = X[:, :, 0, :, 0]
    lowered = lm.jit(layers).lower(x, x * 2)
    text = lowered.as_text("loop")
    assert text.count("loop.kernel") == 1 and text.count("loop.launch") == 2
    module = lowered.module.clone()
    for name in ("graph_simplify", "graph_fuse", "graph_collapse_dims"):
        load_pass(f"transforms.{name}").apply(make_context(), module)
    first = layers.__code__.co_firstlineno
    fusions = [op for op in module.walk() if isinstance(op, FusionOp)]
    lines = [[op.location.line.data - first for op in fusion.body.block.ops if op.results] for fusion in fusions]
    assert lines == [[1, 1], [2, 2]]


IN_ANOTHER_ORDER = """
func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %a = graph.fusion (%v = %x : tensor<2x3xf32>) -> tensor<2x3xf32> {
    %two = graph.const dense<2.0> : tensor<f32>
    %all = graph.broadcast %two to [] : tensor<f32> -> tensor<2x3xf32>
    %abs = graph.abs %v : tensor<2x3xf32>
    %mul = graph.mul %abs, %all : tensor<2x3xf32>
    graph.yield %mul : tensor<2x3xf32>
  }
  %b = graph.fusion (%v = %y : tensor<2x3xf32>) -> tensor<2x3xf32> {
    %abs = graph.abs %v : tensor<2x3xf32>
    %two = graph.const dense<2.0> : tensor<f32>
    %all = graph.broadcast %two to [] : tensor<f32> -> tensor<2x3xf32>
    %mul = graph.mul %abs, %all : tensor<2x3xf32>
    graph.yield %mul : tensor<2x3xf32>
  }
  %c = graph.fusion (%v = %y : tensor<2x3xf32>) -> tensor<2x3xf32> {
    %abs = graph.abs %v : tensor<2x3xf32>
    %two = graph.const dense<3.0> : tensor<f32>
    %all = graph.broadcast %two to [] : tensor<f32> -> tensor<2x3xf32>
    %mul = graph.mul %abs, %all : tensor<2x3xf32>
    graph.yield %mul : tensor<2x3xf32>
  }
  return %a, %b, %c : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}
"""


def test_fusions_of_the_same_ops_in_another_order_share_a_kernel() -> None:
    module = parse_module(make_context(), IN_ANOTHER_ORDER)
    text = compile_to(module.clone(), "loop")
    assert text.count("loop.kernel") == 2 and text.count("loop.launch") == 3
    x, y = np.ascontiguousarray(X[0, :2, 0, 0, :3]), np.ascontiguousarray(X[1, :2, 0, 0, :3])
    results = executor.program(module).run([x, y])
    for result, expected in zip(results, (2 * abs(x), 2 * abs(y), 3 * abs(y)), strict=True):
        np.testing.assert_array_equal(result, expected)
