"""lamina.nn.attention against its formula in float64, and against torch; masks, groups of heads, derivatives, threads."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))
from oracles import import_torch


def tensors(*shapes: tuple[int, ...], dtype: Any = np.float32) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def formula(q, k, v, seen=None, bias=None) -> np.ndarray:
    """softmax(q @ k.T / sqrt(dim) + bias) @ v over the keys that are seen, in float64; 0 where there are none."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    k, v = (np.repeat(x, q.shape[-3] // x.shape[-3], axis=-3) for x in (k, v))
    scores = q @ np.swapaxes(k, -1, -2) * q.shape[-1] ** -0.5
    scores = scores if bias is None else scores + bias
    weights = np.exp(scores) * (True if seen is None else seen)
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ v


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("keys", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("queries", [1, 2, 64, 100, 129])
@pytest.mark.parametrize("causal", [False, True])
def test_sizes(queries: int, keys: int, causal: bool) -> None:
    q, k, v = tensors((2, 4, queries, 16), (2, 2, keys, 16), (2, 2, keys, 24))
    seen = np.tri(queries, keys, dtype=bool) if causal else None
    got = lm.jit(lambda *x: lm.nn.attention(*x, causal=causal))(q, k, v)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, formula(q, k, v, seen), rtol=0, atol=3e-6)


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("dims", [(1, 1), (3, 5), (64, 64), (80, 72), (33, 17), (128, 256)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dims(dims: tuple[int, int], dtype: Any) -> None:
    q, k, v = tensors((3, 90, dims[0]), (3, 90, dims[0]), (3, 90, dims[1]), dtype=dtype)
    got = lm.jit(lambda *x: lm.nn.attention(*x, causal=True))(q, k, v)
    atol = 3e-6 if dtype == np.float32 else 1e-14
    np.testing.assert_allclose(got, formula(q, k, v, np.tri(90, dtype=bool)), rtol=0, atol=atol)


def test_one_head_without_a_dim_of_heads() -> None:
    q, k, v = tensors((7, 4), (9, 4), (9, 3))
    np.testing.assert_allclose(lm.nn.attention(q, k, v), formula(q[None], k[None], v[None])[0], atol=1e-6)


def test_batch_dims_broadcast() -> None:
    q, k, v = tensors((3, 2, 2, 5, 4), (2, 2, 6, 4), (1, 1, 2, 6, 3))
    got = lm.jit(lm.nn.attention)(q, k, v)
    np.testing.assert_allclose(got, formula(q, *np.broadcast_arrays(k[None]), v), atol=1e-6)


def test_no_batch() -> None:
    q, k, v = tensors((0, 2, 5, 4), (0, 2, 6, 4), (0, 2, 6, 3))
    assert lm.jit(lm.nn.attention)(q, k, v).shape == (0, 2, 5, 3)


@pytest.mark.parametrize("shape", [(70, 130), (130,), (4, 1, 1), (2, 1, 1, 130), (2, 4, 70, 130)])
def test_bias(shape: tuple[int, ...]) -> None:
    q, k, v, bias = tensors((2, 4, 70, 8), (2, 4, 130, 8), (2, 4, 130, 8), shape)
    got = lm.jit(lm.nn.attention)(q, k, v, bias)
    np.testing.assert_allclose(got, formula(q, k, v, bias=bias), atol=3e-6)
    got = lm.jit(lm.nn.attention)(q, k, v, bias > 0.5)
    np.testing.assert_allclose(got, formula(q, k, v, seen=bias > 0.5), atol=3e-6)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_query_that_sees_nothing_gives_zero(compiled: bool) -> None:
    q, k, v = tensors((2, 70, 8), (2, 130, 8), (2, 130, 8))
    seen = np.ones((70, 130), bool)
    seen[5] = False  # nothing
    seen[7, :128] = False  # nothing in the first blocks
    seen[9, 3:] = False  # nothing in the last blocks
    attention = lm.jit(lm.nn.attention) if compiled else lm.nn.attention
    got = attention(q, k, v, seen)
    np.testing.assert_array_equal(got[:, 5], 0)
    np.testing.assert_allclose(got, formula(q, k, v, seen), atol=3e-6)
    below = np.where(seen, np.float32(0), np.float32(-np.inf))
    np.testing.assert_array_equal(attention(q, k, v, below), got)


def test_large_scores_do_not_overflow() -> None:
    q, k, v = tensors((1, 70, 8), (1, 130, 8), (1, 130, 8))
    got = lm.jit(lambda *x: lm.nn.attention(*x, scale=1e7))(q, k, v)
    best = np.argmax(q[0].astype(np.float64) @ k[0].T, axis=-1)
    np.testing.assert_allclose(got[0], v[0][best], rtol=1e-5)


def test_nan_of_a_query_stays_its_own() -> None:
    q, k, v = tensors((1, 70, 8), (1, 130, 8), (1, 130, 8))
    q[0, 3, 2] = np.nan
    got = lm.jit(lm.nn.attention)(q, k, v)
    assert np.isnan(got[0, 3]).all() and np.isnan(got).sum() == 8


def test_gradient_is_that_of_torch() -> None:
    torch = import_torch()
    q, k, v = tensors((4, 70, 8), (2, 66, 8), (2, 66, 5), dtype=np.float64)

    def loss(q, k, v):
        return lm.numpy.sum(lm.nn.attention(q, k, v, causal=True) ** 2)

    got = lm.jit(lm.grad(loss, argnums=(0, 1, 2)))(q, k, v)
    leaves = [torch.tensor(x, requires_grad=True) for x in (q, k, v)]
    wide = [leaves[0], *(x.repeat_interleave(2, 0) for x in leaves[1:])]
    (torch.nn.functional.scaled_dot_product_attention(*wide, is_causal=True) ** 2).sum().backward()
    for mine, leaf in zip(got, leaves, strict=True):
        np.testing.assert_allclose(mine, leaf.grad.numpy(), rtol=1e-10, atol=1e-12)


def test_vmap_over_queries_and_bias() -> None:
    q, k, v, bias = tensors((3, 2, 5, 4), (2, 6, 4), (2, 6, 4), (3, 5, 6))
    got = lm.jit(lm.vmap(lm.nn.attention, in_axes=(0, None, None, 0)))(q, k, v, bias)
    want = np.stack([formula(x, k, v, bias=y) for x, y in zip(q, bias, strict=True)])
    np.testing.assert_allclose(got, want, atol=1e-6)


def test_batch_and_heads_are_one_loop() -> None:
    """Threads share them all."""
    q, k, v = tensors((3, 4, 70, 8), (3, 2, 70, 8), (3, 2, 70, 8))
    text = lm.jit(lm.nn.attention).lower(q, k, v).as_text("loop")
    assert "loop.for parallel %i = 0 to 6 {" in text


@pytest.mark.parametrize("heads", [1, 3])
def test_threads_do_not_change_a_bit(heads: int) -> None:
    q, k, v = tensors((heads, 300, 64), (heads, 300, 64), (heads, 300, 64))
    attention = lm.jit(lambda *x: lm.nn.attention(*x, causal=True))
    before = lm.get_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            lm.set_threads(threads)
            results.append(attention(q, k, v))
    finally:
        lm.set_threads(before)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_no_matrix_of_scores_is_stored() -> None:
    import re

    q, k, v = tensors((2, 512, 64), (2, 512, 64), (2, 512, 64))
    text = lm.jit(lm.nn.attention).lower(q, k, v).as_text("program")
    sizes = [np.prod([int(n) for n in shape.split("x")[:-1]]) for shape in re.findall(r"memref<((?:\d+x)+)f32>", text)]
    assert max(sizes) == q.size


def test_integers_become_float64() -> None:
    q = np.arange(12).reshape(1, 3, 4)
    assert lm.nn.attention(q, q, q).dtype == np.float64
    single = q.astype(np.float32)
    assert lm.nn.attention(single, single, q).dtype == np.float64


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((5, 4), (2, 6, 4), (2, 6, 3)), "needs q, k and v of 3 dims or more, or all of 2, got shapes"),
        (((2, 1, 5, 4), (3, 1, 6, 4), (3, 1, 6, 3)), "batch dims of q, k and v do not fit"),
        (((3, 5, 4), (2, 6, 4), (2, 6, 3)), "q must have a multiple of the heads of k and v, got 3 of 2 and 2"),
        (((2, 5, 4), (2, 6, 3), (2, 6, 3)), "q and k must have one dim"),
        (((2, 5, 4), (2, 6, 4), (2, 6, 3), (5, 5)), "the bias must fit the scores"),
        (((2, 5, 4), (2, 6, 4), (2, 6, 3), (1, 1, 5, 6)), "the bias has more dims than the scores"),
    ],
)
def test_shapes_that_do_not_fit(shapes: tuple[tuple[int, ...], ...], message: str) -> None:
    with pytest.raises(lm.ShapeError, match=message):
        lm.nn.attention(*tensors(*shapes))
