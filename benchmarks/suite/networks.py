"""Parts of networks that are several kernels: a transformer block, a recurrent layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .case import Case, Row, floats
from .lazy import jax, jnp, lm, lnp, torch


@dataclass(frozen=True)
class Block(Case):
    """A pre-norm transformer block: causal attention and a gelu network of four times the width, each added to its input."""

    tokens: int
    width: int
    heads: int
    weights = tuple(range(1, 9))
    rtol: float = 1e-3
    atol: float = 1e-3

    @property
    def flops(self) -> float:
        return 2.0 * self.tokens * self.width * (12 * self.width + self.tokens + 1)

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        n, scale = self.width, self.width**-0.5
        norms = [1 + floats(rng, n, scale=0.1) if k % 2 == 0 else floats(rng, n, scale=0.1) for k in range(4)]
        shapes = ((n, 3 * n), (n, n), (n, 4 * n), (4 * n, n))
        return [floats(rng, self.tokens, n), *norms, *(floats(rng, *shape, scale=scale) for shape in shapes)]

    def _split(self, x: Any) -> Any:
        """Queries, keys and values, `[3, heads, tokens, d]`."""
        return x.reshape(self.tokens, 3, self.heads, self.width // self.heads).transpose(1, 2, 0, 3)

    def _merge(self, x: Any) -> Any:
        return x.transpose(1, 0, 2).reshape(self.tokens, self.width)

    def _block(self, norm: Any, attention: Any, gelu: Any, x: Any, *weights: Any) -> Any:
        w1, b1, w2, b2, wqkv, wo, wup, wdown = weights
        parts = self._split(norm(x, w1, b1) @ wqkv)
        q, k, v = parts[0], parts[1], parts[2]
        x = x + self._merge(attention(q, k, v)) @ wo
        return x + gelu(norm(x, w2, b2) @ wup) @ wdown

    def numpy(self, *inputs: Any) -> Any:
        def norm(x: Any, w: Any, b: Any) -> Any:
            centred = x - x.mean(1, keepdims=True)
            return centred / np.sqrt((centred * centred).mean(1, keepdims=True) + np.float32(1e-5)) * w + b

        def attention(q: Any, k: Any, v: Any) -> Any:
            scores = q @ k.swapaxes(-1, -2) * np.float32((self.width // self.heads) ** -0.5)
            scores = np.where(np.tri(self.tokens, dtype=bool), scores, np.float32(-np.inf))
            e = np.exp(scores - scores.max(-1, keepdims=True))
            return (e / e.sum(-1, keepdims=True)) @ v

        def gelu(y: Any) -> Any:
            return np.float32(0.5) * y * (1 + np.tanh(np.float32((2 / np.pi) ** 0.5) * (y + np.float32(0.044715) * y * y * y)))

        return self._block(norm, attention, gelu, *inputs)

    def lamina(self, *inputs: Any) -> Any:
        def attention(q: Any, k: Any, v: Any) -> Any:
            return lm.nn.attention(q, k, v, causal=True)

        return self._block(lm.nn.layer_norm, attention, lm.nn.gelu, *inputs)

    def jax(self, *inputs: Any) -> Any:
        def norm(x: Any, w: Any, b: Any) -> Any:
            return (x - x.mean(1, keepdims=True)) * jax.lax.rsqrt(x.var(1, keepdims=True) + 1e-5) * w + b

        def attention(q: Any, k: Any, v: Any) -> Any:
            scores = q @ k.swapaxes(-1, -2) * (self.width // self.heads) ** -0.5
            return jax.nn.softmax(jnp.where(jnp.tri(self.tokens, dtype=bool), scores, -jnp.inf), axis=-1) @ v

        return self._block(norm, attention, jax.nn.gelu, *inputs)

    def torch(self, x: Any, *weights: Any) -> Any:
        f = torch.nn.functional
        w1, b1, w2, b2, wqkv, wo, wup, wdown = weights
        d = self.width // self.heads
        q, k, v = (f.layer_norm(x, (self.width,), w1, b1) @ wqkv).reshape(self.tokens, 3, self.heads, d).permute(1, 2, 0, 3)
        y = f.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)[0]
        x = x + y.permute(1, 0, 2).reshape(self.tokens, self.width) @ wo
        return x + f.gelu(f.layer_norm(x, (self.width,), w2, b2) @ wup, approximate="tanh") @ wdown

    def onnx(self, graph: Any, x: str, *weights: str) -> str:
        w1, b1, w2, b2, wqkv, wo, wup, wdown = weights
        d = self.width // self.heads
        qkv = graph.op("MatMul", graph.op("LayerNormalization", x, w1, b1, axis=1, epsilon=1e-5), wqkv)
        shape = graph.constant(np.array([self.tokens, 3, self.heads, d], np.int64))
        parts = graph.op("Transpose", graph.op("Reshape", qkv, shape), perm=[1, 2, 0, 3])
        q, k, v = (graph.op("Gather", parts, graph.constant(np.array([n], np.int64)), axis=0) for n in range(3))
        y = graph.op("Transpose", graph.op("Attention", q, k, v, is_causal=1), perm=[0, 2, 1, 3])
        y = graph.op("Reshape", y, graph.constant(np.array([self.tokens, self.width], np.int64)))
        x = graph.op("Add", x, graph.op("MatMul", y, wo))
        up = graph.op("MatMul", graph.op("LayerNormalization", x, w2, b2, axis=1, epsilon=1e-5), wup)
        return graph.op("Add", x, graph.op("MatMul", graph.op("Gelu", up, approximate="tanh"), wdown))


@dataclass(frozen=True)
class Lstm(Case):
    """The states of a long short-term memory from zeros over `x[steps, batch, width]`; gates in, forget, cell, out."""

    steps: int
    batch: int
    width: int
    weights = (1, 2, 3)
    rtol: float = 1e-4
    atol: float = 1e-4

    @property
    def flops(self) -> float:
        return 16.0 * self.steps * self.batch * self.width**2

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        n, scale = self.width, self.width**-0.5
        return [
            floats(rng, self.steps, self.batch, n),
            *(floats(rng, n, 4 * n, scale=scale) for _ in range(2)),
            floats(rng, 4 * n),
        ]

    def _step(self, sigmoid: Any, tanh: Any, h: Any, c: Any, gates: Any) -> Any:
        n = self.width
        i, f, g, o = (gates[:, k * n : (k + 1) * n] for k in range(4))
        c = sigmoid(f) * c + sigmoid(i) * tanh(g)
        return sigmoid(o) * tanh(c), c

    def numpy(self, x: Any, w: Any, u: Any, b: Any) -> Any:
        h = c = np.zeros((self.batch, self.width), np.float32)
        states = []
        for step in x:
            h, c = self._step(lambda y: 1 / (1 + np.exp(-y)), np.tanh, h, c, step @ w + h @ u + b)
            states.append(h)
        return np.stack(states)

    def lamina(self, x: Any, w: Any, u: Any, b: Any) -> Any:
        zeros = lnp.zeros((self.batch, self.width), dtype="float32")

        def step(carry: Any, x: Any) -> Any:
            h, c = carry
            h, c = self._step(lm.nn.sigmoid, lnp.tanh, h, c, x + h @ u)
            return (h, c), h

        return lm.scan(step, (zeros, zeros), x @ w + b)[1]

    def jax(self, x: Any, w: Any, u: Any, b: Any) -> Any:
        zeros = jnp.zeros((self.batch, self.width), jnp.float32)

        def step(carry: Any, x: Any) -> Any:
            h, c = carry
            h, c = self._step(jax.nn.sigmoid, jnp.tanh, h, c, x + h @ u)
            return (h, c), h

        return jax.lax.scan(step, (zeros, zeros), x @ w + b)[1]

    def torch(self, x: Any, w: Any, u: Any, b: Any) -> Any:
        zeros = torch.zeros(1, self.batch, self.width)
        weights = [w.T.contiguous(), u.T.contiguous(), b, torch.zeros_like(b)]
        return torch.lstm(x, (zeros, zeros), weights, True, 1, 0.0, False, False, False)[0]

    def onnx(self, graph: Any, x: str, w: str, u: str, b: str) -> str:
        n = self.width

        def gates(name: str, axis: int) -> str:
            """In ONNX's order: in, out, forget, cell."""
            order = graph.constant(np.concatenate([np.arange(k * n, (k + 1) * n) for k in (0, 3, 1, 2)]))
            return graph.op("Gather", name, order, axis=axis)

        first = graph.constant(np.array([0], np.int64))
        w, u = (graph.op("Unsqueeze", graph.op("Transpose", gates(one, 1), perm=[1, 0]), first) for one in (w, u))
        zeros = graph.constant(np.zeros(4 * n, np.float32))
        bias = graph.op("Unsqueeze", graph.op("Concat", gates(b, 0), zeros, axis=0), first)
        states = graph.op("LSTM", x, w, u, bias, hidden_size=n)
        return graph.op("Squeeze", states, graph.constant(np.array([1], np.int64)))


ROWS = [
    Row("block 128", "a transformer's, 128 tokens of 768, 12 heads", Block(128, 768, 12), Block(10, 24, 3), 0.95),
    Row("block 512", "a transformer's, 512 tokens of 768, 12 heads", Block(512, 768, 12), Block(12, 16, 2), 0.95),
    Row("lstm", "64 steps, 32 of 256", Lstm(64, 32, 256), Lstm(5, 3, 7), 0.95),
]
