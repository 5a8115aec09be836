"""Programs that are written in the form of another system, and read back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4)).astype(np.float32)
Y = RNG.normal(size=(4, 5)).astype(np.float32)
INTS = RNG.integers(-9, 9, (3, 4))
IMAGE = RNG.normal(size=(1, 2, 6, 6)).astype(np.float32)
FILTERS = RNG.normal(size=(4, 2, 3, 3)).astype(np.float32)
HEADS = RNG.normal(size=(2, 6, 4)).astype(np.float32)


def mlp(x: Any, w: Any, b: Any) -> Any:
    return lm.nn.softmax(lm.nn.gelu(x @ w + b))


def conv(x: Any, w: Any) -> Any:
    return lm.lax.conv_general_dilated(x, w, (2, 1), "SAME")


def scattered(x: Any) -> Any:
    x = lnp.asarray(x)
    rows = np.array([0, 1, 0])
    return x.at[rows].add(1.5), x.at[1, 2].set(3.0), x.at[rows].max(0.3)


def rows(c: Any, row: Any) -> Any:
    return lnp.tanh(c + row), c * row


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "mlp": (mlp, (X, Y, Y[0])),
    "mlp_slopes": (lm.grad(lambda *a: (mlp(*a)[:, 0] ** 2).sum(), argnums=(1, 2)), (X, Y, Y[0])),
    "batched": (lm.vmap(lambda x, w: lnp.sort(x @ w), (0, None)), (X, Y)),
    "attention": (lambda q: lm.nn.attention(q, q + 1, q - 1), (HEADS,)),
    "conv": (conv, (IMAGE, FILTERS)),
    "conv_slope": (lm.grad(lambda w, x: (conv(x, w) ** 2).sum()), (FILTERS, IMAGE)),
    "pool": (lambda x: lm.lax.reduce_window(x, -np.inf, lm.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"), (IMAGE,)),
    "positions": (lambda x: (lnp.argmax(x, 1), lnp.argmin(x, 0), lnp.argsort(x, 1)), (X,)),
    "scan": (lambda x: lm.scan(rows, x[0], x), (X,)),
    "scan_slope": (lm.grad(lambda x: lm.scan(rows, x[0], x)[1].sum()), (X,)),
    "while": (lambda x: lm.while_loop(lambda v: v.sum() < 100, lambda v: v * 2 + 1, x), (abs(X),)),
    "cond": (lambda x: lm.cond(x[0, 0] > 0, lambda v: v + 1, lambda v: v - 1, x), (X,)),
    "switch": (lambda k, x: lm.switch(k, [lnp.sin, lnp.cos, lnp.exp], x), (np.int64(7), X)),
    "gather": (lambda x: (x[np.array([0, 2, 0])], lnp.take_along_axis(x, lnp.argsort(x, 1), 1)), (X,)),
    "scatter": (scattered, (X,)),
    "running": (lambda x: (lnp.cumsum(x, 0), lm.lax.cummax(x, 1, reverse=True)), (X,)),
    "integers": (lambda x: (x // 3, x % 3, x << 2, x >> 1, ~x, lm.lax.div(x, x * 0)), (INTS,)),
    "fft": (lambda x: (lnp.abs(lm.fft.fft(x)), lm.fft.irfft(lm.fft.rfft(x))), (X,)),
    "complex": (lambda x: lnp.exp(x * 2j) / (1 + 1j), (X,)),
    "halves": (lambda x: lnp.tanh(x.astype(np.float16) * 3), (X,)),
    "cholesky": (lambda x: lm.linalg.cholesky(x @ x.T + np.eye(3, dtype=np.float32)), (X,)),
    "random": (lambda x: lm.random.normal(lm.random.key(3), (5,)) + x[0, 0], (X,)),
    "special": (lambda x: (lm.special.erf(x), lm.special.erfinv(x / 5), lnp.arctan(x), lm.special.gammaln(x * x + 1)), (X,)),
    "top_k": (lambda x: lm.lax.top_k(x, 2), (X,)),
    "hessian": (lm.hessian(lambda x: (lnp.tanh(x) ** 3).sum()), (X[0],)),
    "moves": (lambda x: (lm.nn.layer_norm(x), lnp.pad(x, ((1, 2), (0, 1)), constant_values=3.0), x[::-1, 1::2]), (X,)),
}


def flat(results: Any) -> list[np.ndarray]:
    return [np.asarray(v) for v in results] if isinstance(results, tuple) else [np.asarray(results)]


def leaves(results: Any) -> list[np.ndarray]:
    return [array for part in results for array in leaves(part)] if isinstance(results, tuple) else [np.asarray(results)]


def compare(got: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    assert len(got) == len(wanted)
    for a, b in zip(got, wanted, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        bound = 2e-3 if a.dtype == np.float16 else 3e-5
        np.testing.assert_allclose(a.astype(np.complex128), b.astype(np.complex128), bound, bound)
