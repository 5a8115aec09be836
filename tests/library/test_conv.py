"""Convolutions and pooling of lamina.nn against torch, and their gradients."""

from __future__ import annotations

import sys
from pathlib import Path

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.errors import ShapeError
from lamina.runtime import threads

sys.path.insert(0, str(Path(__file__).parent.parent))
from oracles import by_jax, import_torch

torch = import_torch()
F = torch.nn.functional

rng = np.random.default_rng(5)


def normal(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def close(got, want) -> None:
    want = want.detach().numpy()
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5 * max(1.0, np.abs(want).max(initial=0)))


CONVOLUTIONS = [
    # images, filters, stride, padding, dilation, groups
    ((2, 3, 9, 11), (5, 3, 3, 3), 1, 0, 1, 1),
    ((1, 16, 14, 14), (24, 16, 3, 3), 1, 1, 1, 1),
    ((1, 8, 13, 12), (16, 8, 1, 1), 1, 0, 1, 1),
    ((1, 3, 33, 32), (8, 3, 7, 7), 2, 3, 1, 1),
    ((1, 4, 12, 9), (6, 4, 3, 2), (2, 1), (2, 0), (1, 2), 1),
    ((2, 6, 8, 8), (9, 2, 3, 3), 1, 1, 1, 3),
    ((1, 20, 10, 17), (20, 1, 3, 3), 1, 1, 1, 20),
    ((1, 5, 11, 11), (10, 1, 5, 5), 2, 2, 1, 5),
    ((1, 300, 6, 6), (7, 300, 3, 3), 1, 1, 1, 1),
    ((1, 3, 61, 45), (70, 3, 3, 5), 1, (1, 2), 1, 1),  # several blocks of rows, the last one not full
    ((2, 12, 30, 31), (20, 6, 4, 4), (3, 2), (1, 3), (2, 1), 2),
    ((1, 5, 9, 40), (6, 5, 1, 9), 1, (0, 4), (1, 3), 1),
]


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_conv2d(case, layout: str) -> None:
    """Both layouts, alone and with what follows in one kernel."""
    shape, filters, stride, padding, dilation, groups = case
    x, w, bias = normal(*shape), normal(*filters), normal(filters[0])
    want = F.conv2d(*map(torch.tensor, (x, w, bias)), stride, padding, dilation, groups)
    last = layout == "NHWC"
    if last:
        x, w = x.transpose(0, 2, 3, 1).copy(), w.transpose(2, 3, 1, 0).copy()
    else:
        bias = bias.reshape(-1, 1, 1)

    def conv(x, w):
        return lm.nn.conv2d(x, w, stride, padding, dilation, groups, layout)

    got = lm.jit(lambda x, w, bias: lm.nn.relu(conv(x, w) + bias))(x, w, bias)
    close(got.transpose(0, 3, 1, 2) if last else got, F.relu(want))
    np.testing.assert_allclose(lm.jit(conv)(x, w), conv(x, w), rtol=2e-5, atol=2e-4)


def kernels(text: str) -> int:
    return text.count("loop.kernel")


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_what_follows_a_convolution_is_in_its_kernel(case, layout: str) -> None:
    """A folded batch norm, a residual, an activation, and the convolution's own value as a second result."""
    shape, filters, *options = case
    x, w, scale, bias = normal(*shape), normal(*filters), normal(filters[0]), normal(filters[0])
    last = layout == "NHWC"
    if last:
        x, w = x.transpose(0, 2, 3, 1).copy(), w.transpose(2, 3, 1, 0).copy()
    else:
        scale, bias = scale.reshape(-1, 1, 1), bias.reshape(-1, 1, 1)

    def conv(x, w):
        return lm.nn.conv2d(x, w, *options, layout)

    def block(x, w, scale, bias, residual):
        y = conv(x, w)
        return lm.nn.gelu(y * scale + bias + residual), y

    y = conv(x, w)
    residual = normal(*y.shape)
    f = lm.jit(block)
    alone = lm.jit(lambda *args: block(*args)[0])
    assert kernels(alone.lower(x, w, scale, bias, residual).as_text("loop")) == 1
    activated, plain = f(x, w, scale, bias, residual)
    np.testing.assert_allclose(alone(x, w, scale, bias, residual), activated, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(plain, y, rtol=2e-5, atol=2e-4)
    close(activated, F.gelu(torch.tensor(y * scale + bias + residual), approximate="tanh"))


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("images", [1, 3])
def test_windows_of_one_element_are_a_product(layout: str, images: int) -> None:
    x, w = normal(images, 20, 7, 9), normal(18, 20, 1, 1)
    want = F.conv2d(torch.tensor(x), torch.tensor(w))
    last = layout == "NHWC"
    if last:
        x, w = x.transpose(0, 2, 3, 1).copy(), w.transpose(2, 3, 1, 0).copy()
    f = lm.jit(lambda x, w: lm.nn.conv2d(x, w, layout=layout))
    assert ("graph.dot" in f.lower(x, w).as_text("optimized")) == (last or images == 1)
    got = f(x, w)
    close(got.transpose(0, 3, 1, 2) if last else got, want)


@pytest.mark.thorough
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_a_residual_is_added_in_place(layout: str) -> None:
    """The buffer of a value that dies where the convolution is stored becomes the result's; the convolution's operand's not."""
    x, w = normal(1, 8, 10, 10), normal(8, 8, 3, 3)
    w = w if layout == "NCHW" else w.transpose(2, 3, 1, 0).copy()
    x = x if layout == "NCHW" else x.transpose(0, 2, 3, 1).copy()

    def step(x, w, residual):
        return lm.nn.conv2d(x, w, padding=1, layout=layout) + residual

    once = step(x, w, x)
    np.testing.assert_allclose(lm.jit(lambda x: step(x, w, x))(x), once, rtol=2e-5, atol=2e-4)
    got = lm.jit(lambda x: step(step(lnp.exp(x), w, x * 2), w, lnp.exp(x)))(x)
    want = step(step(np.exp(x), w, x * 2), w, np.exp(x))
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6 * np.abs(want).max())


def test_what_follows_a_pool_is_in_its_kernel() -> None:
    x, shift = normal(2, 3, 9, 12), normal(3, 1, 1)
    f = lm.jit(lambda x, shift: lm.nn.relu(lm.nn.max_pool2d(x, 3, 2) + shift))
    assert kernels(f.lower(x, shift).as_text("loop")) == 1
    close(f(x, shift), F.relu(F.max_pool2d(torch.tensor(x), 3, 2) + torch.tensor(shift)))


@pytest.mark.thorough
def test_same_padding_is_that_of_jax() -> None:
    cases = [(size, stride) for size in (7, 8, 9) for stride in (1, 2, 3)]
    images, w = {f"x{size}": normal(1, 2, size, size + 1) for size in (7, 8, 9)}, normal(3, 2, 3, 4)
    one = "lax.conv_general_dilated(x{0}, w, ({1}, {1}), 'SAME', rhs_dilation=(2, 1))"
    found = by_jax(f"results = [{', '.join(one.format(*case) for case in cases)}]", {**images, "w": w})
    for (size, stride), want in zip(cases, found, strict=True):
        got = lm.nn.conv2d(images[f"x{size}"], w, stride, "SAME", (2, 1))
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5, err_msg=f"{size}, stride {stride}")


@pytest.mark.thorough(every=3)
@pytest.mark.parametrize("case", CONVOLUTIONS[:7], ids=str)
def test_gradients_of_conv2d(case) -> None:
    shape, filters, stride, padding, dilation, groups = case
    x, w = normal(*shape), normal(*filters)

    def loss(x, w):
        return (lm.nn.conv2d(x, w, stride, padding, dilation, groups) ** 2).sum()

    tx, tw = (torch.tensor(a, requires_grad=True) for a in (x, w))
    (F.conv2d(tx, tw, None, stride, padding, dilation, groups) ** 2).sum().backward()
    for got, want in zip(lm.jit(lm.grad(loss, argnums=(0, 1)))(x, w), (tx.grad, tw.grad), strict=True):
        close(got, want)


POOLS = [
    # images, window, stride, padding, dilation
    ((2, 3, 8, 8), 2, None, 0, 1),
    ((1, 4, 15, 17), 3, 2, 1, 1),
    ((1, 2, 9, 10), (3, 2), (1, 2), (1, 0), 2),
    ((1, 2, 20, 20), 7, 3, 2, 1),
]


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("case", POOLS, ids=str)
def test_max_pool2d(case, layout: str) -> None:
    shape, window, stride, padding, dilation = case
    x = np.round(normal(*shape) * 3)  # with ties
    tx = torch.tensor(x, requires_grad=True)
    want = F.max_pool2d(tx, window, stride, padding, dilation)
    weights = normal(*want.shape)
    (want * torch.tensor(weights)).sum().backward()
    last = layout == "NHWC"
    if last:
        x, weights = x.transpose(0, 2, 3, 1).copy(), weights.transpose(0, 2, 3, 1).copy()

    def pool(x):
        return lm.nn.max_pool2d(x, window, stride, padding, dilation, layout)

    got = lm.jit(pool)(x)
    gradient = lm.jit(lm.grad(lambda x: (pool(x) * weights).sum()))(x)
    if last:
        got, gradient = got.transpose(0, 3, 1, 2), gradient.transpose(0, 3, 1, 2)
    close(got, want)
    close(gradient, tx.grad)


@pytest.mark.parametrize("count", [True, False])
@pytest.mark.parametrize("case", [case for case in POOLS if case[4] == 1], ids=str)
def test_avg_pool2d(case, count: bool) -> None:
    shape, window, stride, padding, _ = case
    x = normal(*shape)
    tx = torch.tensor(x, requires_grad=True)
    want = F.avg_pool2d(tx, window, stride, padding, count_include_pad=count)
    (want**2).sum().backward()

    def pool(x):
        return lm.nn.avg_pool2d(x, window, stride, padding, count)

    close(lm.jit(pool)(x), want)
    close(lm.jit(lm.grad(lambda x: (pool(x) ** 2).sum()))(x), tx.grad)


def test_pooling_passes_nan_on() -> None:
    x = np.array([1, np.nan, 3, 2, 5, -np.inf], np.float32).reshape(1, 1, 1, 6)
    got = lm.jit(lambda x: lm.nn.max_pool2d(x, (1, 3), 3))(x)
    np.testing.assert_array_equal(got, np.array([np.nan, 5], np.float32).reshape(1, 1, 1, 2))


def test_vmap_over_filters_and_images() -> None:
    x, w = normal(3, 1, 4, 6, 6), normal(3, 2, 4, 3, 3)
    want = np.stack([lm.nn.conv2d(a, b) for a, b in zip(x, w, strict=True)])
    np.testing.assert_allclose(lm.jit(lm.vmap(lm.nn.conv2d))(x, w), want, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("count", [2, 3])
def test_any_number_of_threads_gives_the_same_bits(count: int) -> None:
    x, w = normal(2, 32, 30, 31), normal(48, 32, 3, 3)
    f = lm.jit(lambda x, w: lm.nn.max_pool2d(lm.nn.conv2d(x, w, padding=1), 3, 2, 1))
    before = threads.get_threads()
    try:
        threads.set_threads(1)
        one = f(x, w)
        threads.set_threads(count)
        np.testing.assert_array_equal(f(x, w), one)
    finally:
        threads.set_threads(before)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x, w: lm.nn.conv2d(x[0], w), r"needs images of 4 dims \(a batch of them\), got shape \[3, 8, 8\]"),
        (lambda x, w: lm.nn.conv2d(x, w[0]), r"needs filters of 4 dims, got shape \[3, 3, 3\]"),
        (lambda x, w: lm.nn.conv2d(x, w, groups=2), "groups must divide the features of x and the result, got 2, 3 and 4"),
        (lambda x, w: lm.nn.conv2d(x, w[:, :2]), "a filter must have the features of one group, x has 3 in 1, a filter 2"),
        (lambda x, w: lm.nn.conv2d(x, w, 0), "stride must be at least 1, got 0"),
        (lambda x, w: lm.nn.conv2d(x, w, (1, 2, 3)), r"stride must be a number or 2 numbers, got \(1, 2, 3\)"),
        (lambda x, w: lm.nn.conv2d(x, w, padding=-1), "padding must not be negative, got -1"),
        (lambda x, w: lm.nn.conv2d(x, w, padding="FULL"), "padding must be 'SAME', 'VALID', numbers or pairs, got 'FULL'"),
        (lambda x, w: lm.nn.conv2d(x, w, padding=(1, 2, 3)), "padding needs one entry for height and one for width"),
        (lambda x, w: lm.nn.conv2d(x, w, layout="CHWN"), "layout must be one of NCHW, NHWC, got 'CHWN'"),
        (lambda x, w: lm.nn.max_pool2d(x, 0), "window must be at least 1, got 0"),
        (lambda x, w: lm.nn.avg_pool2d(x[0], 2), "avg_pool2d needs images of 4 dims"),
    ],
)
def test_what_does_not_fit_is_told(call, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        call(normal(1, 3, 8, 8), normal(4, 3, 3, 3))
