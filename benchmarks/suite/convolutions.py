"""Convolutions and pooling of image networks, one image, channels first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from .case import Case, Row, floats, loop
from .lazy import jax, jnp, lm, lnp, torch


@dataclass(frozen=True)
class Images(Case):
    """A base: a window of `size` moves over `channels` of `width x width`."""

    channels: int
    width: int
    size: int
    stride: int = 1

    @property
    def padding(self) -> int:
        """Zeros on each side, so that stride 1 keeps the width."""
        return self.size // 2

    @property
    def out(self) -> int:
        """The width of the result."""
        return (self.width + 2 * self.padding - self.size) // self.stride + 1

    def windows(self, x: np.ndarray, fill: float = 0.0) -> np.ndarray:
        """All windows: `x[1, c, h, w]` -> `[c, out, out, size, size]`."""
        p = self.padding
        padded = np.pad(x[0], ((0, 0), (p, p), (p, p)), constant_values=fill)
        return sliding_window_view(padded, (self.size, self.size), (1, 2))[:, :: self.stride, :: self.stride]


@dataclass(frozen=True)
class Conv(Images):
    """`conv2d(x[1, c, w, w], k[filters, c, size, size])`; `relu`: with a bias and relu, as a folded batch norm leaves them."""

    filters: int = 0
    relu: bool = False
    atol: float = 1e-4
    weights = (1, 2)

    @property
    def flops(self) -> float:
        return 2.0 * self.filters * self.out**2 * self.channels * self.size**2

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        x = floats(rng, 1, self.channels, self.width, self.width)
        k = floats(rng, self.filters, self.channels, self.size, self.size, scale=self.channels**-0.5 / self.size)
        return [x, k, floats(rng, self.filters)] if self.relu else [x, k]

    def numpy(self, x: Any, k: Any, b: Any = None) -> Any:
        columns = self.windows(x).transpose(0, 3, 4, 1, 2).reshape(self.channels * self.size**2, -1)
        y = (k.reshape(self.filters, -1) @ columns).reshape(1, self.filters, self.out, self.out)
        return np.maximum(y + b[:, None, None], 0) if self.relu else y

    def lamina(self, x: Any, k: Any, b: Any = None) -> Any:
        y = lm.nn.conv2d(x, k, stride=self.stride, padding=self.padding)
        return lm.nn.relu(y + lnp.reshape(b, (self.filters, 1, 1))) if self.relu else y

    def jax(self, x: Any, k: Any, b: Any = None) -> Any:
        y = jax.lax.conv_general_dilated(x, k, (self.stride,) * 2, [(self.padding,) * 2] * 2)
        return jnp.maximum(y + b[:, None, None], 0) if self.relu else y

    def torch(self, x: Any, k: Any, b: Any = None) -> Any:
        y = torch.nn.functional.conv2d(x, k, b, stride=self.stride, padding=self.padding)
        return torch.relu_(y) if self.relu else y

    def onnx(self, graph: Any, *names: str) -> str:
        y = graph.op("Conv", *names, strides=[self.stride] * 2, pads=[self.padding] * 4)
        return graph.op("Relu", y) if self.relu else y


@dataclass(frozen=True)
class Depthwise(Images):
    """Each channel convolved with a window of its own."""

    weights = (1,)

    @property
    def bytes(self) -> float:
        return 4.0 * self.channels * (self.width**2 + self.out**2)

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [floats(rng, 1, self.channels, self.width, self.width), floats(rng, self.channels, 1, self.size, self.size)]

    def numpy(self, x: Any, k: Any) -> Any:
        return np.einsum("chwij,cij->chw", self.windows(x), k[:, 0])[None]

    def lamina(self, x: Any, k: Any) -> Any:
        return lm.nn.conv2d(x, k, stride=self.stride, padding=self.padding, groups=self.channels)

    def jax(self, x: Any, k: Any) -> Any:
        pads = [(self.padding,) * 2] * 2
        return jax.lax.conv_general_dilated(x, k, (self.stride,) * 2, pads, feature_group_count=self.channels)

    def torch(self, x: Any, k: Any) -> Any:
        return torch.nn.functional.conv2d(x, k, stride=self.stride, padding=self.padding, groups=self.channels)

    numba = loop("depthwise", "stride", "padding")

    def onnx(self, graph: Any, x: str, k: str) -> str:
        return graph.op("Conv", x, k, strides=[self.stride] * 2, pads=[self.padding] * 4, group=self.channels)


@dataclass(frozen=True)
class MaxPool(Images):
    """The largest element of each window."""

    @property
    def bytes(self) -> float:
        return 4.0 * self.channels * (self.width**2 + self.out**2)

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [floats(rng, 1, self.channels, self.width, self.width)]

    def numpy(self, x: Any) -> Any:
        return self.windows(x, -np.inf).max((3, 4))[None]

    def lamina(self, x: Any) -> Any:
        return lm.nn.max_pool2d(x, self.size, stride=self.stride, padding=self.padding)

    def jax(self, x: Any) -> Any:
        window, strides = (1, 1, self.size, self.size), (1, 1, self.stride, self.stride)
        pads = [(0, 0), (0, 0), *[(self.padding,) * 2] * 2]
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, strides, pads)

    def torch(self, x: Any) -> Any:
        return torch.nn.functional.max_pool2d(x, self.size, self.stride, self.padding)

    numba = loop("max_pool", "size", "stride", "padding")

    def onnx(self, graph: Any, x: str) -> str:
        return graph.op("MaxPool", x, kernel_shape=[self.size] * 2, strides=[self.stride] * 2, pads=[self.padding] * 4)


ROWS = [
    Row("conv 3x3", "64 channels, 56 x 56", Conv(64, 56, 3, filters=64), Conv(3, 9, 3, filters=5), 0.95),
    Row("conv 3x3 deep", "256 channels, 14 x 14", Conv(256, 14, 3, filters=256), Conv(20, 6, 3, filters=18), 0.95),
    Row("conv 1x1", "256 channels, 56 x 56", Conv(256, 56, 1, filters=256), Conv(20, 9, 1, filters=18), 0.95),
    Row(
        "conv 7x7", "stride 2, 3 to 64 channels, 224 x 224", Conv(3, 224, 7, 2, filters=64), Conv(3, 21, 7, 2, filters=5), 0.95
    ),
    Row(
        "conv relu",
        "3x3, folded batch norm, relu, 64 channels, 56 x 56",
        Conv(64, 56, 3, filters=64, relu=True),
        Conv(3, 9, 3, filters=5, relu=True),
        0.95,
    ),
    Row("depthwise", "3x3, 128 channels, 56 x 56", Depthwise(128, 56, 3), Depthwise(5, 9, 3), 0.95),
    Row("max-pool", "3x3, stride 2, 64 channels, 112 x 112", MaxPool(64, 112, 3, 2), MaxPool(5, 11, 3, 2), 0.95),
]
