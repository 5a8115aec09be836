# ruff: noqa: E501
"""The programs on which planted faults must show, as graphs that `lamina` traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np

x, y = np.ones((4, 5), np.float32), np.ones((4, 5), np.float32)
w, v = np.ones((5, 6), np.float32), np.ones(5, np.float32)
whole = np.ones((4, 5), np.int32)


def identities(x: Any, y: Any, i: Any) -> Any:
    return (
        -x * -y, -x / y, x + -y, x - -y, x**2, x**3, x / 4, x * -1, abs(-x), -x * 3.0, i * 1 + i, lnp.maximum(x, x),
        lnp.transpose(lnp.transpose(lnp.stack([x, y, x + y, x - y])[:, :, :3], (1, 2, 0)), (1, 0, 2)),
        lnp.exp(x)[1:, ::2][:2, 1:], lnp.reshape(lnp.reshape(x + y, (2, 10)), (20,)), -(x - y), x**-1,
    )  # fmt: skip


def moves(x: Any, y: Any) -> Any:
    padded = lnp.pad(x, ((1, 2), (0, 1)), constant_values=2.0)
    return (
        lnp.tanh(padded), lnp.concatenate([x * 2, y + 1], axis=1), lnp.flip(lnp.exp(x), 0), lnp.exp(x[1:3, ::2]) + 1,
        lnp.exp(lnp.transpose(lnp.stack([x, y, x + y])[:, :, :3], (1, 2, 0))), lnp.transpose(x) * lnp.reshape(y, (5, 4)), x[lnp.argsort(y[:, 0])],
    )  # fmt: skip


def activations(x: Any) -> Any:
    nn = lm.nn
    return nn.gelu(x, approximate=True), nn.gelu(x, approximate=False), lnp.tanh(x), nn.softmax(x), nn.sigmoid(x)


def functions(x: Any) -> Any:
    positive = lnp.abs(x) + 0.5
    return (
        lnp.exp(x), lnp.log(positive), lnp.tanh(x), lnp.sin(x), lnp.cos(x), lnp.expm1(x), lnp.log1p(positive),
        lnp.arctan(x), lm.special.erf(x), positive**1.7, lnp.tan(x), lnp.sqrt(positive), lm.special.erfc(x),
    )  # fmt: skip


def layer(x: Any, w: Any) -> Any:
    h = lm.nn.relu(x @ w + 1.0)
    return h, lnp.sum(h, axis=1), lnp.max(h, axis=0), lnp.mean(h), lnp.var(x, axis=1)


def norms(x: Any, v: Any) -> Any:
    return lm.nn.layer_norm(x, v, v), lm.nn.log_softmax(x), lnp.cumsum(x, axis=1), lnp.argmax(x, axis=1)


def gradient(x: Any, y: Any, w: Any) -> Any:
    def loss(x: Any, y: Any, w: Any) -> Any:
        h = lnp.tanh(x @ w) * lnp.sum(lnp.log(lnp.abs(y) + 1) / (y * y + 1), axis=1, keepdims=True)
        picked = lnp.concatenate([h[1:, ::2], lnp.sin(h[:2, :3])], axis=0)
        return lnp.sum(picked**2) + lnp.sum(lnp.sqrt(lnp.exp(x) + 1)) + lnp.max(y * x) + lnp.sum(lnp.transpose(x) * v[:, None])

    return lm.grad(loss, argnums=(0, 1, 2))(x, y, w)


def more_gradients(x: Any, y: Any, v: Any) -> Any:
    def loss(x: Any, y: Any, v: Any) -> Any:
        a = lnp.where(x > y, lnp.maximum(x, 0.3 * y), lnp.arctan2(x, y)) + lnp.cos(x) * lm.special.erf(y)
        b = lm.nn.softmax(a) + lm.nn.gelu(x, approximate=False) + lm.nn.layer_norm(y, v, v) + lm.nn.sigmoid(a)
        c = lnp.cumsum(b, axis=0) - lnp.pad(b[:, :3], ((0, 0), (1, 1))) + lnp.flip(b, 1) ** 2 + lnp.abs(y) ** 1.5
        return lnp.sum(c * lnp.expm1(x)) + lnp.sum(lnp.arctan(c) / (1 + y * y)) + lnp.sum(lnp.log1p(v * v))

    return lm.grad(loss, argnums=(0, 1, 2))(x, y, v)


def forward(x: Any, y: Any) -> Any:
    return lm.jvp(
        lambda x, y: (2.0 - x) * lnp.exp(x) * lnp.sin(y) / (1 + x * x) + lnp.sum(x @ lnp.transpose(y)), (x, y), (y, x)
    )


def batched(x: Any, w: Any) -> Any:
    def one(row: Any, w: Any) -> Any:
        return row @ w, lnp.sum(row), lnp.concatenate([row[1:], row[:2] * 2]), lnp.stack([row, row]), lnp.cumsum(row)

    return lm.vmap(one, in_axes=(0, None))(x, w), lm.vmap(lambda a, b: a[:, None] * b, in_axes=(1, 0))(x, w)


def batched_more(x: Any, y: Any) -> Any:
    def one(a: Any, b: Any) -> Any:
        m = lnp.reshape(a, (1, -1)) * lnp.reshape(b, (-1, 1))
        return lnp.transpose(m) + m[::-1], lnp.pad(m, ((1, 0), (0, 2))), lnp.max(m, axis=1), lm.nn.softmax(m), lnp.flip(m, 1)

    return lm.vmap(one)(x, y), lm.vmap(one, in_axes=1)(x, y)


def loops(x: Any) -> Any:
    a = lm.fori_loop(0, 5, lambda k, c: lnp.sin(c) + c * 0.5, x)
    b, ys = lm.scan(lambda c, row: (c * 0.5 + row, c + row), x[0], x)
    return a, b, ys, lm.cond(lnp.sum(x) > 0, lambda t: t + 1, lambda t: t * 2, x)


def matmuls(a: Any, b: Any, c: Any) -> Any:
    h = lnp.tanh(a @ b)
    return h @ c, lnp.sum(h @ c, axis=0), a @ lnp.transpose(a)


def chain(a: Any, b: Any) -> Any:
    """Many buffers that live at different times."""
    for k in range(4):
        a = lnp.tanh(a @ b) + k * a
        b = b - lnp.mean(a @ b, axis=0) * 0.5
        a = a / (lnp.sum(a * a, axis=1, keepdims=True) + 1)
    return a, b


def donated(a: Any, b: Any) -> Any:
    return a * 0.5 + lnp.transpose(a), b - lnp.sum(a @ b, axis=0)


def donated_once(a: Any) -> Any:
    return a * 0.5 + lnp.transpose(a)


def donated_early(a: Any, b: Any) -> Any:
    t = lnp.sort(a @ b, axis=0)
    return t, lnp.cumsum(t, axis=0) @ a


def sizes(a: Any, b: Any) -> Any:
    """Buffers of many sizes that live at different times."""
    t = lnp.cumsum(a @ b, axis=0)
    for n in (9, 40, 3, 25, 11):
        u = lnp.cumsum(lnp.sum(t) * lnp.sin(lnp.arange(float(n * 9))), axis=0)
        t = lnp.cumsum(lnp.reshape(u, (n, 9)) @ lnp.cumsum(b, axis=1), axis=0) + lnp.sum(t)
    return t, lnp.cumsum(t, axis=1) @ lnp.cumsum(t.T, axis=1)


def images(x: Any, w: Any) -> Any:
    return lm.nn.conv2d(x, w, padding=1), lm.nn.conv2d(x, w, stride=2), lm.nn.max_pool2d(x, 2)


def integers(i: Any) -> Any:
    return i // 3, i % 3, i << 2, i * i, lnp.maximum(i, 2), lnp.sum(i, axis=0), i.astype(np.float32) / 2, i > 2


def gradient_f16(x: Any) -> Any:
    return lm.grad(lambda x: lnp.sum(lnp.sin(x) * x + lnp.exp(x)))(x)


def donated_later(a: Any, b: Any) -> Any:
    t = lnp.tanh(a @ b)
    return t + b, lnp.sum(t @ lnp.transpose(a), axis=0)


def batched_square(x: Any, w: Any) -> Any:
    return lm.vmap(lambda a, b: (a + b, lnp.sum(a[:, None] * b)), in_axes=(1, 0))(x, w), lm.vmap(
        lambda m, w: (m @ w, lnp.argmax(m, axis=0), lnp.concatenate([m, m * 2], axis=0)), in_axes=(0, None)
    )(lnp.reshape(x, (2, 3, 6)) * 1.0, w)


def batched_right(x: Any, w: Any) -> Any:
    return lm.vmap(lambda a, b: a @ b, in_axes=(None, 0))(x, lnp.reshape(w, (2, 3, 6))[:, :, :2] * 1.0)


def chosen(x: Any, y: Any) -> Any:
    return lnp.where(x > y, lnp.exp(x), y * 2)


def batched_constant(x: Any) -> Any:
    return lm.vmap(lambda row: (lnp.sum(row), lnp.arange(3.0) + 1))(x)


def batched_slice(x: Any) -> Any:
    return lm.vmap(lambda row: row[2:] * 2)(x)


def wide(x: Any) -> Any:
    return lnp.sum(x, axis=1), lnp.max(x), lnp.sum(x * x)


def functions_wide(x: Any) -> Any:
    return lnp.exp(x * 20), lnp.tanh(x), lnp.log(lnp.abs(x))


def _square(n: int) -> np.ndarray:
    return np.ones((n, n), np.float32)


_IMAGE, _FILTER = np.ones((1, 2, 8, 8), np.float32), np.ones((3, 2, 3, 3), np.float32)

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = {
    "identities": (identities, (x, y, whole), {}),
    "moves": (moves, (x, y), {}),
    "activations": (activations, (x,), {}),
    "functions": (functions, (x,), {}),
    "layer": (layer, (x, w), {}),
    "norms": (norms, (x, v), {}),
    "gradient": (gradient, (x, y, w), {}),
    "more_gradients": (more_gradients, (x, y, v), {}),
    "forward": (forward, (x, y), {}),
    "batched": (batched, (x, w), {}),
    "batched_more": (batched_more, (x, y), {}),
    "loops": (loops, (x,), {}),
    "matmuls": (matmuls, (np.ones((13, 20), np.float32), np.ones((20, 24), np.float32), np.ones((24, 9), np.float32)), {}),
    "chain": (chain, (_square(7), _square(7)), {}),
    "donated": (donated, (_square(6), _square(6)), {"donate_argnums": (0, 1)}),
    "images": (images, (_IMAGE, _FILTER), {}),
    "batched_right": (batched_right, (np.ones((5, 3), np.float32), _square(6)), {}),
    "chosen": (chosen, (x, y), {}),
    "gradient_f16": (gradient_f16, (x,), {}),
    "donated_once": (donated_once, (_square(6),), {"donate_argnums": (0,)}),
    "donated_early": (donated_early, (_square(6), _square(6)), {"donate_argnums": (0, 1)}),
    "sizes": (sizes, (np.ones((6, 9), np.float32), np.ones((9, 9), np.float32)), {}),
    "donated_later": (donated_later, (_square(6), _square(6)), {"donate_argnums": (0, 1)}),
    "batched_square": (batched_square, (_square(6), _square(6)), {}),
    "batched_constant": (batched_constant, (x,), {}),
    "batched_slice": (batched_slice, (x,), {}),
    "layer_wide": (wide, (np.ones((3, 70), np.float32),), {}),
    "functions_wide": (functions_wide, (np.ones((9, 70), np.float32),), {}),
    "integers": (integers, (whole,), {}),
}

TEXTS = {
    "powers": """func.func @main(%x: tensor<4x5xf32>) -> (tensor<4x5xf32>, tensor<4x5xf32>) {
  %three = graph.const dense<3.0> : tensor<4x5xf32>
  %one = graph.const dense<-1.0> : tensor<4x5xf32>
  %a = graph.pow %x, %three : tensor<4x5xf32>
  %b = graph.pow %x, %one : tensor<4x5xf32>
  return %a, %b : tensor<4x5xf32>, tensor<4x5xf32>
}""",
    "saxpy": """loop.kernel @saxpy(%x: memref<?xf32>, %y: memref<?xf32>, %N: index) shapes(%x[%N], %y[%N]) {
  loop.for parallel %i = 0 to %N {
    %a = loop.load %x[%i] : memref<?xf32>
    %b = loop.load %y[%i] : memref<?xf32>
    %c = arith.mulf %a, %a : f32
    %d = arith.subf %c, %b : f32
    loop.store %d, %y[%i] : memref<?xf32>
  }
}""",
    "matmul": """loop.kernel @matmul(%A: memref<13x11xf32>, %B: memref<11x17xf32>, %C: memref<13x17xf32>) {
  loop.for parallel %i = 0 to 13 {
    loop.for parallel %j = 0 to 17 {
      %zero = arith.constant 0.0 : f32
      %sum = loop.for reduce<add> %k = 0 to 11 init %zero : f32 {
        %a = loop.load %A[%i, %k] : memref<13x11xf32>
        %b = loop.load %B[%k, %j] : memref<11x17xf32>
        %p = arith.mulf %a, %b : f32
        loop.yield %p : f32
      }
      loop.store %sum, %C[%i, %j] : memref<13x17xf32>
    }
  }
}""",
}


PASSES = {
    "saxpy_split": "loop-split{loop=i size=4}",
    "saxpy_peel": "loop-split{loop=i size=4},loop-peel{loop=io}",
    "saxpy_front": "loop-split{loop=i size=4},loop-peel{loop=io count=1}",
    "matmul_jam": "loop-unroll-and-jam{loop=i factor=3}",
    "matmul_reorder": "loop-reorder{loops=j,i}",
}
"""Steps of a schedule before the pipeline, of the kernel that a name begins with."""


def passes_of(name: str) -> list[Any]:
    """The passes that come before the pipeline."""
    from lamina import passes

    return passes.parse_passes(PASSES.get(name, ""))


def module_of(name: str) -> Any:
    """The module of a program or kernel by name."""
    from lamina.dialects.context import make_context
    from lamina.dialects.parsing import parse_module

    if (kernel := name.partition("_")[0]) in TEXTS:
        return parse_module(make_context(), TEXTS[kernel])
    function, arguments, options = PROGRAMS[name]
    return lm.jit(function, **options).lower(*arguments).module.clone()
