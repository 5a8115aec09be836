"""lamina.nn's normalizations against torch: values, derivatives, axes, threads."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.errors import ShapeError

sys.path.insert(0, str(Path(__file__).parent.parent))
from oracles import import_torch

torch = import_torch()
F = torch.nn.functional
RNG = np.random.default_rng(5)


def arrays(*shapes: tuple[int, ...], dtype: Any = np.float32) -> list[np.ndarray]:
    return [RNG.standard_normal(shape).astype(dtype) + 1 for shape in shapes]


def gradients(f, *given: np.ndarray) -> list[np.ndarray]:
    """torch's derivatives of sum(f * cos(1 + f))."""
    tensors = [torch.tensor(a, requires_grad=True) for a in given]
    y = f(*tensors)
    (y * torch.cos(1 + y)).sum().backward()
    return [t.grad.numpy() for t in tensors]


def ours(f, *given: np.ndarray) -> tuple[np.ndarray, ...]:
    loss = lambda *a: lnp.sum((y := f(*a)) * lnp.cos(1 + y))  # noqa: E731
    return lm.jit(lm.grad(loss, argnums=tuple(range(len(given)))))(*given)


@pytest.mark.thorough(every=3)
@pytest.mark.parametrize("shape", [(4, 7), (3, 2, 33), (5, 1), (64, 768), (2, 3, 1000)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layer_norm(shape: tuple[int, ...], dtype: Any) -> None:
    x, w, b = arrays(shape, shape[-1:], shape[-1:], dtype=dtype)
    tolerance = 3e-5 if dtype == np.float32 else 1e-11
    got = lm.jit(lm.nn.layer_norm)(x, w, b)
    assert got.dtype == dtype
    wanted = F.layer_norm(*map(torch.tensor, (x,)), shape[-1:], torch.tensor(w), torch.tensor(b)).numpy()
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)
    if shape[-1] > 1:
        for mine, theirs in zip(
            ours(lm.nn.layer_norm, x, w, b), gradients(lambda x, w, b: F.layer_norm(x, shape[-1:], w, b), x, w, b), strict=True
        ):
            np.testing.assert_allclose(mine, theirs, rtol=50 * tolerance, atol=50 * tolerance)


def test_layer_norm_of_several_axes() -> None:
    x, w, b = arrays((4, 3, 5), (3, 5), (3, 5))
    got = lm.jit(lambda *a: lm.nn.layer_norm(*a, axis=(1, 2), eps=1e-3))(x, w, b)
    wanted = F.layer_norm(torch.tensor(x), (3, 5), torch.tensor(w), torch.tensor(b), 1e-3).numpy()
    np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5)
    first = lm.jit(lambda x: lm.nn.layer_norm(x, axis=0))(x)
    np.testing.assert_allclose(first, np.moveaxis(lm.nn.layer_norm(np.moveaxis(x, 0, -1)), -1, 0), rtol=2e-5, atol=2e-5)


def test_one_kernel_reads_rows_once() -> None:
    x, w, b = arrays((64, 96), (96,), (96,))
    text = lm.jit(lm.nn.layer_norm).lower(x, w, b).as_text("loop")
    assert text.count("loop.launch") == 1 and "memref.alloc" not in text


@pytest.mark.parametrize("shape", [(4, 7), (3, 2, 33), (64, 768)])
def test_rms_norm(shape: tuple[int, ...]) -> None:
    x, w = arrays(shape, shape[-1:])

    def torchs(x, w):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w

    np.testing.assert_allclose(lm.jit(lm.nn.rms_norm)(x, w), torchs(torch.tensor(x), torch.tensor(w)), rtol=1e-5, atol=1e-5)
    for mine, theirs in zip(ours(lm.nn.rms_norm, x, w), gradients(torchs, x, w), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4)


def test_rows_of_equal_elements_become_zero() -> None:
    assert (lm.nn.layer_norm(np.full((2, 5), 3.0)) == 0).all()
    assert (lm.nn.rms_norm(np.zeros((2, 5))) == 0).all()


@pytest.mark.parametrize("shape", [(8, 5), (4, 3, 6, 7), (1, 2, 3)])
def test_batch_norm(shape: tuple[int, ...]) -> None:
    c = shape[1:2]
    x, mean, w, b = arrays(shape, c, c, c)
    var = RNG.uniform(0.5, 2, c).astype(np.float32)
    tensors = [torch.tensor(a) for a in (x, mean, var, w, b)]
    wanted = F.batch_norm(*tensors).numpy()
    np.testing.assert_allclose(lm.jit(lm.nn.batch_norm)(x, mean, var, w, b), wanted, rtol=2e-5, atol=2e-5)
    last = lm.nn.batch_norm(np.moveaxis(x, 1, -1), mean, var, w, b, axis=-1)
    np.testing.assert_allclose(np.moveaxis(last, -1, 1), wanted, rtol=2e-5, atol=2e-5)
    plain = lm.nn.batch_norm(x, mean, var)
    np.testing.assert_allclose(plain, F.batch_norm(*tensors[:3]).numpy(), rtol=2e-5, atol=2e-5)


def test_batch_norm_train() -> None:
    x, w, b = arrays((6, 3, 4, 5), (3,), (3,))
    y, mean, var = lm.jit(lm.nn.batch_norm_train)(x, w, b)
    wanted = F.batch_norm(torch.tensor(x), None, None, torch.tensor(w), torch.tensor(b), training=True).numpy()
    np.testing.assert_allclose(y, wanted, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(mean, x.mean((0, 2, 3)), rtol=1e-5)
    np.testing.assert_allclose(var, x.var((0, 2, 3)), rtol=1e-5)
    found = ours(lambda *a: lm.nn.batch_norm_train(*a)[0], x, w, b)
    for mine, theirs in zip(
        found, gradients(lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), x, w, b), strict=True
    ):
        np.testing.assert_allclose(mine, theirs, rtol=2e-3, atol=2e-3)


def test_statistics_may_be_batched() -> None:
    x, mean, var = arrays((3, 4, 2), (3, 2), (3, 2))
    var = np.abs(var)
    for axes in ((0, 0, 0), (0, None, None), (None, 0, None)):
        given = [a if axis == 0 else a[0] for a, axis in zip((x, mean, var), axes, strict=True)]
        got = lm.vmap(lm.nn.batch_norm, in_axes=axes)(*given)
        one = [[a[k] if axis == 0 else a for a, axis in zip(given, axes, strict=True)] for k in range(3)]
        np.testing.assert_allclose(got, np.stack([lm.nn.batch_norm(*a) for a in one]), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: lm.nn.layer_norm(x, x), r"layer_norm needs a weight of the sizes that are normalized, \[3\] of \[2, 3\]"),
        (lambda x: lm.nn.layer_norm(x, None, x[0, :2]), "needs a bias of the sizes"),
        (lambda x: lm.nn.rms_norm(x, axis=()), "rms_norm needs at least one axis"),
        (lambda x: lm.nn.batch_norm(x, x[0], x[0, :2]), "needs a var of one number for each channel: axis 1 of"),
        (lambda x: lm.nn.layer_norm(x, axis=2), "axis 2"),
    ],
)
def test_errors(call, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        call(np.ones((2, 3), np.float32))
