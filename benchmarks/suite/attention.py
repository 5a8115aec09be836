"""Scaled dot-product attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .case import Case, Row, floats
from .lazy import jax, jnp, lm, torch


@dataclass(frozen=True)
class Attention(Case):
    """Causal attention, `softmax(q k^T / sqrt(d) + mask) v`, of `q`, `k`, `v[1, heads, tokens, d]`."""

    heads: int
    tokens: int
    d: int

    @property
    def flops(self) -> float:
        return 2.0 * self.heads * self.tokens * (self.tokens + 1) * self.d  # what is not masked: about a half

    @property
    def scores_bytes(self) -> int:
        """The size of the score matrices."""
        return 4 * self.heads * self.tokens**2

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [floats(rng, 1, self.heads, self.tokens, self.d) for _ in range(3)]

    def numpy(self, q: Any, k: Any, v: Any) -> Any:
        scores = q @ k.swapaxes(-1, -2) * np.float32(self.d**-0.5)
        scores = np.where(np.tri(self.tokens, dtype=bool), scores, np.float32(-np.inf))
        e = np.exp(scores - scores.max(-1, keepdims=True))
        return (e / e.sum(-1, keepdims=True)) @ v

    def lamina(self, q: Any, k: Any, v: Any) -> Any:
        return lm.nn.attention(q, k, v, causal=True)

    def jax(self, q: Any, k: Any, v: Any) -> Any:
        scores = q @ k.swapaxes(-1, -2) * self.d**-0.5
        return jax.nn.softmax(jnp.where(jnp.tri(self.tokens, dtype=bool), scores, -jnp.inf), axis=-1) @ v

    def torch(self, q: Any, k: Any, v: Any) -> Any:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    def onnx(self, graph: Any, q: str, k: str, v: str) -> str:
        return graph.op("Attention", q, k, v, is_causal=1)


_FULL = Attention(12, 512, 64)

ROWS = [Row("attention", "12 heads, 512 tokens, 64, causal", _FULL, Attention(2, 40, 16), 1.3, memory=_FULL.scores_bytes // 4)]
