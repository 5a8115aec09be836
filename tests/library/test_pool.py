"""Pools and convolutions of lamina.nn of one to three dims, transposed and adaptive ones, against torch."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lamina.errors import ShapeError

sys.path.insert(0, str(Path(__file__).parent.parent))
from oracles import import_torch

torch = import_torch()
F = torch.nn.functional
RANKS = pytest.mark.parametrize("rank", [1, 2, 3])
RNG = np.random.default_rng(9)


def normal(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def close(got: Any, want: Any) -> None:
    want = want.detach().numpy()
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13 * max(1.0, np.abs(want).max(initial=0)))


def last(x: np.ndarray) -> np.ndarray:
    """Features last."""
    return np.moveaxis(x, 1, -1)


def layout(rank: int) -> str:
    return f"N{'DHW'[3 - rank :]}C"


def numbers(low: int, high: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(low, high), min_size=3, max_size=3)


@pytest.mark.thorough
@settings(max_examples=12, deadline=None)
@given(
    rank=st.integers(1, 3),
    sizes=numbers(1, 6),
    window=numbers(1, 3),
    stride=numbers(1, 3),
    holes=numbers(1, 2),
    pad=numbers(0, 2),
    groups=st.sampled_from([1, 2, 3]),
    more=st.integers(0, 1),
)
@example(rank=2, sizes=[5, 6, 1], window=[1] * 3, stride=[3, 3, 1], holes=[1] * 3, pad=[0] * 3, groups=3, more=1)
def test_convolutions_and_their_transposes(
    rank: int,
    sizes: list[int],
    window: list[int],
    stride: list[int],
    holes: list[int],
    pad: list[int],
    groups: int,
    more: int,
) -> None:
    sizes, window, stride, holes = sizes[:rank], window[:rank], stride[:rank], holes[:rank]
    pad = [min(p, (k - 1) * d) for p, k, d in zip(pad[:rank], window, holes, strict=True)]
    sizes = [max(n, (k - 1) * d + 1) for n, k, d in zip(sizes, window, holes, strict=True)]
    x = normal(2, 2 * groups, *sizes)
    w, v = normal(3 * groups, 2, *window), normal(2 * groups, 3, *window)
    options = {"stride": stride, "padding": pad, "dilation": holes, "groups": groups}
    conv, transpose = getattr(lm.nn, f"conv{rank}d"), getattr(lm.nn, f"conv_transpose{rank}d")
    want = getattr(F, f"conv{rank}d")(torch.tensor(x), torch.tensor(w), **options)
    close(conv(x, w, **options), want)
    filters = np.moveaxis(w, (0, 1), (-1, -2))
    close(np.moveaxis(conv(last(x), filters, **options, layout=layout(rank)), -1, 1), want)
    extra = [min(more, max(s, d) - 1) for s, d in zip(stride, holes, strict=True)]
    try:
        want = getattr(F, f"conv_transpose{rank}d")(torch.tensor(x), torch.tensor(v), **options, output_padding=extra)
    except RuntimeError:  # torch refuses results without elements
        return
    close(transpose(x, v, **options, output_padding=extra), want)
    filters = np.moveaxis(v, (0, 1), (-1, -2))
    got = transpose(last(x), filters, **options, output_padding=extra, layout=layout(rank))
    close(np.moveaxis(got, -1, 1), want)


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("padding", ["VALID", "SAME", 1])
@pytest.mark.parametrize(("stride", "window"), [(1, 3), (2, 3), (3, 2)])
def test_transposed_is_the_transpose(padding: Any, stride: int, window: int) -> None:
    """`<conv(x), y> == <x, conv_transpose(y)>`."""
    w = normal(3, 2, window, window)
    x = (
        normal(1, 2, 3 * stride, 3 * stride)
        if padding == "SAME"
        else normal(1, 2, *((3 * stride + window - 2 * (padding == 1),) * 2))
    )
    y = lm.nn.conv2d(x, w, stride, padding)
    ct = normal(*y.shape)
    back = lm.nn.conv_transpose2d(ct, w, stride, padding)
    want = lm.grad(lambda x: (lm.nn.conv2d(x, w, stride, padding) * ct).sum())(x)
    np.testing.assert_allclose(back, want[:, :, : back.shape[2], : back.shape[3]], rtol=1e-12, atol=1e-12)
    assert padding != "SAME" or back.shape == x.shape


@RANKS
def test_pools(rank: int) -> None:
    x = normal(2, 3, *(9, 8, 7)[:rank])
    for window, stride, pad in ((2, None, 0), (3, 2, 1), (3, 1, 0)):
        options = {"stride": stride, "padding": pad}
        want = getattr(F, f"max_pool{rank}d")(torch.tensor(x), window, stride, pad)
        close(getattr(lm.nn, f"max_pool{rank}d")(x, window, **options), want)
        close(np.moveaxis(getattr(lm.nn, f"max_pool{rank}d")(last(x), window, **options, layout=layout(rank)), -1, 1), want)
        for include in (True, False):
            want = getattr(F, f"avg_pool{rank}d")(torch.tensor(x), window, stride, pad, count_include_pad=include)
            close(getattr(lm.nn, f"avg_pool{rank}d")(x, window, **options, count_include_pad=include), want)


@pytest.mark.thorough
@settings(max_examples=12, deadline=None)
@given(rank=st.integers(1, 3), sizes=numbers(1, 7), counts=numbers(1, 5))
def test_adaptive_pools(rank: int, sizes: list[int], counts: list[int]) -> None:
    x, counts = normal(2, 3, *sizes[:rank]), counts[:rank]
    for name in ("avg", "max"):
        want = getattr(F, f"adaptive_{name}_pool{rank}d")(torch.tensor(x), counts)
        pool = getattr(lm.nn, f"adaptive_{name}_pool{rank}d")
        close(pool(x, counts), want)
        close(np.moveaxis(pool(last(x), counts, layout=layout(rank)), -1, 1), want)


@pytest.mark.thorough
def test_gradients() -> None:
    x, w, v = normal(1, 4, 6, 5), normal(6, 2, 3, 3), normal(4, 3, 3, 2)
    functions = [
        ((x, w), lambda f, x, w: f.conv2d(x, w, stride=2, padding=1, groups=2)),
        ((x, w), lambda f, x, w: f.adaptive_avg_pool2d(x, (4, 2)) * w.sum()),
        ((x, w), lambda f, x, w: f.adaptive_max_pool2d(x, (4, 3)) * w.sum()),
        ((x, v), lambda f, x, v: f.conv_transpose2d(x, v, stride=2, padding=1, groups=2)),
    ]  # fmt: skip
    for operands, function in functions:
        tensors = [torch.tensor(a, requires_grad=True) for a in operands]
        torch.sin(function(F, *tensors)).sum().backward()
        ours = lm.jit(lm.grad(lambda *a, f=function: lnp.sin(f(lm.nn, *a)).sum(), argnums=(0, 1)))(*operands)
        for got, tensor in zip(ours, tensors, strict=True):
            np.testing.assert_allclose(got, tensor.grad.numpy(), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x, w: lm.nn.conv1d(x, w), "conv1d needs images of 3 dims (a batch of them), got shape [1, 4, 6, 5]"),
        (lambda x, w: lm.nn.conv2d(x, w, layout="NCW"), "layout must be one of NCHW, NHWC, got 'NCW'"),
        (lambda x, w: lm.nn.conv2d(x, w, stride=(1, 2, 3)), "stride must be a number or 2 numbers, got (1, 2, 3)"),
        (
            lambda x, w: lm.nn.conv_transpose2d(x, w, groups=3),
            "needs features in groups of one size, got 4 features and 3 groups",
        ),
        (
            lambda x, w: lm.nn.conv_transpose2d(x, w, output_padding=1),
            "output_padding must be less than the stride or the dilation",
        ),
        (lambda x, w: lm.nn.max_pool2d(x, 0), "window must be at least 1, got 0"),
        (lambda x, w: lm.nn.avg_pool2d(x, 2, padding=(1,)), "padding needs one entry for each of height, width, got (1,)"),
        (lambda x, w: lm.nn.adaptive_max_pool2d(x[..., :0], 2), "adaptive_max_pool2d needs images with elements"),
        (lambda x, w: lm.nn.adaptive_avg_pool2d(x, 0), "size must be at least 1, got 0"),
    ],
)
def test_what_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ShapeError) as raised:
        call(normal(1, 4, 6, 5), normal(4, 4, 3, 3))
    assert message in str(raised.value)


def test_windows_of_images_of_symbolic_sizes() -> None:
    """A row of an unknown number of windows is vectorized, too; the search for the lanes of its last vector has ended."""
    pooled = lm.jit(lambda x: lm.nn.max_pool2d(x, 2), dynamic={"x": ("n", None, "h", "w")})
    for h, w in ((2, 3), (8, 8), (17, 2)):
        x = normal(2, 3, h, w)
        wanted = x[:, :, : h // 2 * 2, : w // 2 * 2].reshape(2, 3, h // 2, 2, w // 2, 2).max((3, 5))
        np.testing.assert_array_equal(pooled(x), wanted)
