"""lamina.nn.resize against jax.image, interpolate against torch."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.errors import ShapeError

sys.path.insert(0, str(Path(__file__).parent.parent))
from oracles import by_jax, import_torch

torch = import_torch()
RNG = np.random.default_rng(4)

SHAPES = ((7, 5), (3, 9), (14, 10), (1, 1), (7, 2), (20, 5), (0, 3))
METHODS = ("nearest", "linear", "cubic", "lanczos3", "lanczos5")


@pytest.mark.thorough
def test_resize_equals_jax() -> None:
    x = RNG.standard_normal((7, 5))
    calls = [
        (shape, method, antialias)
        for k, shape in enumerate(SHAPES)
        for method in METHODS
        for antialias in ((True, False) if min(shape) < 5 else (k % 2 == 0,))  # it is of images that become smaller
    ]
    program = f"""
jax.config.update("jax_enable_x64", True)
results = jax.jit(lambda x: [jax.image.resize(x, shape, method, antialias) for shape, method, antialias in {calls}])(x)
"""
    wanted = by_jax(program, {"x": x})
    compiled = iter(lm.jit(lambda x: [lm.nn.resize(x, *call) for call in calls if call[2]])(x))
    for call, want in zip(calls, wanted, strict=True):
        got = next(compiled) if call[2] else lm.nn.resize(x, *call)
        # jax computes the places of points in float32
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5, err_msg=str(call))


def test_resize_moves_integers() -> None:
    x = np.arange(12).reshape(3, 4)
    y = lm.nn.resize(x, (6, 2), "nearest")
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, x.repeat(2, 0)[:, 1::2])


MODES = {
    1: ("nearest", "nearest-exact", "linear", "area"),
    2: ("nearest", "nearest-exact", "bilinear", "bicubic", "area"),
    3: ("nearest", "nearest-exact", "trilinear", "area"),
}


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize(("rank", "mode"), [(rank, mode) for rank, modes in MODES.items() for mode in modes])
def test_interpolate_equals_torch(rank: int, mode: str) -> None:
    x = RNG.standard_normal((2, 3, *(7, 5, 4)[:rank]))
    tensor = torch.tensor(x, requires_grad=True)
    sizes = [(3, 9, 4)[:rank], (14, 10, 1)[:rank], 1, 6]
    for corners in (False, True) if mode.endswith(("linear", "cubic")) else (None,):
        more = {} if corners is None else {"align_corners": corners}
        for given in (*({"size": size} for size in sizes), {"scale_factor": 2}, {"scale_factor": 0.6}):
            want = torch.nn.functional.interpolate(tensor, **given, mode=mode, **more)
            got = lm.nn.interpolate(x, **given, mode=mode, **more)
            np.testing.assert_allclose(got, want.detach().numpy(), rtol=1e-12, atol=1e-12, err_msg=str(given))
            letters = f"N{'DHW'[3 - rank :]}C"
            last = lm.nn.interpolate(np.moveaxis(x, 1, -1), **given, mode=mode, **more, layout=letters)
            np.testing.assert_allclose(np.moveaxis(last, -1, 1), got, rtol=1e-12, atol=1e-12)
            (slope,) = torch.autograd.grad(torch.sin(want).sum(), tensor)
            ours = lm.grad(
                lambda x, given=given, more=more: lm.numpy.sin(lm.nn.interpolate(x, **given, mode=mode, **more)).sum()
            )
            np.testing.assert_allclose(ours(x), slope.numpy(), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: lm.nn.resize(x, (3, 3)), "resize needs a shape of 3 sizes, for an array of shape [2, 3, 5], got [3, 3]"),
        (
            lambda x: lm.nn.resize(x, (2, 3, 4), "sinc"),
            "method must be one of nearest, linear, cubic, lanczos3, lanczos5, got 'sinc'",
        ),
        (lambda x: lm.nn.resize(x[:, :, :0], (2, 3, 4)), "a dim without elements cannot get some: [2, 3, 0] to [2, 3, 4]"),
        (lambda x: lm.nn.resize(x, (2, 3, -1)), "sizes must not be negative"),
        (lambda x: lm.nn.interpolate(x), "needs either a size or a scale_factor, got None and None"),
        (lambda x: lm.nn.interpolate(x, 3, mode="bilinear"), "mode 'bilinear' needs images of 4 dims, got shape [2, 3, 5]"),
        (
            lambda x: lm.nn.interpolate(x, 3, align_corners=True),
            "align_corners is of the modes linear, bilinear, trilinear, bicubic",
        ),
        (lambda x: lm.nn.interpolate(x, scale_factor=0), "scale_factor must be a positive number or 1 of them, got 0"),
        (lambda x: lm.nn.interpolate(x, scale_factor=0.1), "have no elements"),
        (lambda x: lm.nn.interpolate(x[0], 3), "interpolate needs images of 3 to 5 dims, got shape [3, 5]"),
    ],
)
def test_what_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ShapeError) as raised:
        call(np.zeros((2, 3, 5)))
    assert message in str(raised.value)
