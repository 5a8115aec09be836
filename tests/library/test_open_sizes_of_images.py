"""Images and margins of symbolic sizes: one program has the values that known sizes have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.errors import SizeError

resize, interpolate = lm.nn.resize, lm.nn.interpolate


def _image(x: Any) -> Any:
    return lnp.outer(x, x)


CASES: dict[str, Callable[[Any], Any]] = {
    "resize of open images": lambda x: resize(_image(x), (4, 6), "linear"),
    "resize to open sizes": lambda x: resize(_image(x)[:4, :4], (x.shape[0], 2 * x.shape[0]), "cubic"),
    "resize without antialiasing": lambda x: resize(_image(x), (4, 4), "cubic", antialias=False),
    "nearest": lambda x: resize(_image(x), (4, 9), "nearest"),
    "a batch of open size": lambda x: resize(x[:, None, None] * lnp.ones((3, 3)), (x.shape[0], 6, 6), "lanczos3"),
    "scale and translate": lambda x: lm.image.scale_and_translate(
        _image(x), (x.shape[0], 4), (0, 1), lnp.ones(2) * 0.7, lnp.ones(2) * 0.1, "linear"
    ),
    "interpolate": lambda x: interpolate(x[None, None], size=9, mode="linear"),
    "interpolate with corners": lambda x: interpolate(x[None, None], size=2 * x.shape[0], mode="linear", align_corners=True),
    "interpolate nearest": lambda x: interpolate(x[None, None], size=9, mode="nearest-exact"),
    "interpolate bicubic": lambda x: interpolate(_image(x)[None, None], scale_factor=2, mode="bicubic"),
    "pad by open widths": lambda x: lnp.pad(lnp.ones(3) * x[0], (x.shape[0], 1), constant_values=2.0),
    "pad with two constants": lambda x: lnp.pad(x, ((x.shape[0], 2),), constant_values=(1.0, 2.0)),
    "pad of some dims": lambda x: lnp.pad(_image(x), {1: (0, x.shape[0])}),
    "pad edge": lambda x: lnp.pad(lnp.arange(3.0), (x.shape[0], 2), "edge"),
    "pad wrap": lambda x: lnp.pad(x, (2, 3 * x.shape[0]), "wrap"),
    "pad reflect": lambda x: lnp.pad(x, (2, x.shape[0] - 1), "reflect"),
    "pad reflect far": lambda x: lnp.pad(x, (17, 30), "reflect"),
    "pad symmetric": lambda x: lnp.pad(x, (17, 3 * x.shape[0]), "symmetric"),
    "pad ramp": lambda x: lnp.pad(x, (x.shape[0], 3), "linear_ramp", end_values=2.0),
    "pad mean": lambda x: lnp.pad(x, (x.shape[0], 3), "mean"),
}


@pytest.mark.thorough(every=5)
@pytest.mark.parametrize("name", CASES)
def test_open_sizes(name: str) -> None:
    function = CASES[name]
    compiled = lm.jit(function, dynamic={"x": ("n",)})
    for n in (1, 2, 5, 7):
        x = np.random.default_rng(n).uniform(0.1, 0.9, n)
        wanted = function(x)
        found = compiled(x)
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "area": (lambda x: interpolate(x[None, None], size=3, mode="area"), "take another mode"),
    "a fraction": (lambda x: interpolate(x[None, None], scale_factor=1.5), "give size="),
    "odd": (lambda x: lnp.pad(x, (1, 2), "reflect", reflect_type="odd"), "use reflect_type='even'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_known_sizes(name: str) -> None:
    function, remedy = REFUSED[name]
    with pytest.raises(SizeError, match=remedy):
        lm.jit(function, dynamic={"x": ("n",)})(np.ones(4))
