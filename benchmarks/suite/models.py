"""Programs of many kernels, written once for lamina and jax, to measure the compile time of whole networks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .case import SEED, floats
from .lazy import jax, jnp, lm, lnp

LIBRARIES = ("lamina", "jax.jit")
Arrays = dict[str, Any]


@dataclass(frozen=True)
class Model:
    """A program and its inputs.

    Attributes:
        write: makes the function for a library.
        inputs: makes its arguments; with a flag that asks for small ones.
    """

    write: Callable[[str], Callable[..., Any]]
    inputs: Callable[[np.random.Generator, bool], tuple[Any, ...]]

    def arguments(self, small: bool) -> tuple[Any, ...]:
        """The arguments that both libraries get."""
        return self.inputs(np.random.default_rng(SEED), small)


# ResNet-18

_STAGES = (64, 64, 128, 128, 256, 256, 512, 512)


def _conv(library: str, x: Any, w: Any, stride: int, padding: int) -> Any:
    if library == "lamina":
        return lm.nn.conv2d(x, w, stride=stride, padding=padding)
    return jax.lax.conv_general_dilated(x, w, (stride, stride), [(padding, padding)] * 2)


def _pool(library: str, x: Any) -> Any:
    if library == "lamina":
        return lm.nn.max_pool2d(x, 3, stride=2, padding=1)
    padding = [(0, 0), (0, 0), (1, 1), (1, 1)]
    return jax.lax.reduce_window(x, -np.inf, jax.lax.max, (1, 1, 3, 3), (1, 1, 2, 2), padding)


def _convolved(library: str, x: Any, layer: Arrays, stride: int, padding: int) -> Any:
    """A convolution with its normalization."""
    y = _conv(library, x, layer["w"], stride, padding)
    return y * layer["scale"][None, :, None, None] + layer["shift"][None, :, None, None]


def _layer(rng: np.random.Generator, features: int, channels: int, window: int) -> Arrays:
    w = floats(rng, features, channels, window, window, scale=0.05)
    return {"w": w, "scale": floats(rng, features), "shift": floats(rng, features)}


def _resnet(library: str) -> Callable[..., Any]:
    xp = lnp if library == "lamina" else jnp

    def convolved(x: Any, layer: Arrays, stride: int, padding: int) -> Any:
        return _convolved(library, x, layer, stride, padding)

    def forward(network: Arrays, x: Any) -> Any:
        x = _pool(library, xp.maximum(convolved(x, network["stem"], 2, 3), 0))
        for k, block in enumerate(network["blocks"]):
            stride = 2 if k in (2, 4, 6) else 1
            y = xp.maximum(convolved(x, block["one"], stride, 1), 0)
            y = convolved(y, block["two"], 1, 1)
            x = xp.maximum(y + (convolved(x, block["skip"], stride, 0) if "skip" in block else x), 0)
        return x.mean((2, 3)) @ network["w"] + network["b"]

    return forward


def _resnet_inputs(rng: np.random.Generator, small: bool) -> tuple[Any, ...]:
    divisor = 8 if small else 1
    channels = 64 // divisor
    network: Arrays = {"stem": _layer(rng, channels, 3, 7), "blocks": []}
    for features in (n // divisor for n in _STAGES):
        block = {"one": _layer(rng, features, channels, 3), "two": _layer(rng, features, features, 3)}
        if features != channels:
            block["skip"] = _layer(rng, features, channels, 1)
        network["blocks"].append(block)
        channels = features
    side, classes = 224 // divisor, 1000 // divisor
    network |= {"w": floats(rng, channels, classes), "b": floats(rng, classes)}
    return network, floats(rng, 1, 3, side, side)


# ResNet-50: blocks of three convolutions, the middle one of a quarter of the features

_DEEP_STAGES = ((3, 256), (4, 512), (6, 1024), (3, 2048))


def _bottleneck_resnet(library: str) -> Callable[..., Any]:
    xp = lnp if library == "lamina" else jnp

    def convolved(x: Any, layer: Arrays, stride: int, padding: int) -> Any:
        return _convolved(library, x, layer, stride, padding)

    def forward(network: Arrays, x: Any) -> Any:
        x = _pool(library, xp.maximum(convolved(x, network["stem"], 2, 3), 0))
        for stage, blocks in enumerate(network["stages"]):
            for k, block in enumerate(blocks):
                stride = 2 if k == 0 < stage else 1
                y = xp.maximum(convolved(x, block["one"], 1, 0), 0)
                y = xp.maximum(convolved(y, block["two"], stride, 1), 0)
                y = convolved(y, block["three"], 1, 0)
                x = xp.maximum(y + (convolved(x, block["skip"], stride, 0) if "skip" in block else x), 0)
        return x.mean((2, 3)) @ network["w"] + network["b"]

    return forward


def _bottleneck_inputs(rng: np.random.Generator, small: bool) -> tuple[Any, ...]:
    divisor = 16 if small else 1
    channels = 64 // divisor
    network: Arrays = {"stem": _layer(rng, channels, 3, 7), "stages": []}
    for count, features in ((count, n // divisor) for count, n in _DEEP_STAGES):
        blocks: list[Arrays] = []
        for k in range(count):
            narrow = features // 4
            one, two = _layer(rng, narrow, channels, 1), _layer(rng, narrow, narrow, 3)
            blocks.append({"one": one, "two": two, "three": _layer(rng, features, narrow, 1)})
            if k == 0:
                blocks[0]["skip"] = _layer(rng, features, channels, 1)
            channels = features
        network["stages"].append(blocks)
    side, classes = 224 // divisor, 1000 // divisor
    network |= {"w": floats(rng, channels, classes), "b": floats(rng, classes)}
    return network, floats(rng, 1, 3, side, side)


# A transformer block, and twelve of them

_HEADS = 8
_LAYERS = 12


def _block(library: str) -> Callable[..., Any]:
    xp, nn = (lnp, lm.nn) if library == "lamina" else (jnp, jax.nn)

    def norm(x: Any, w: Any, b: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred / xp.sqrt((centred * centred).mean(-1, keepdims=True) + np.float32(1e-5)) * w + b

    def forward(p: Arrays, x: Any) -> Any:
        n, d = x.shape
        parts = xp.split(norm(x, p["w1"], p["b1"]) @ p["qkv"], 3, axis=1)
        q, k, v = (part.reshape(n, _HEADS, d // _HEADS).transpose(1, 0, 2) for part in parts)
        scores = q @ k.transpose(0, 2, 1) * np.float32((d // _HEADS) ** -0.5)
        scores = xp.where(np.tri(n, dtype=bool), scores, np.float32(-1e9))
        mixed = (nn.softmax(scores, axis=-1) @ v).transpose(1, 0, 2).reshape(n, d)
        x = x + mixed @ p["out"]
        return x + nn.gelu(norm(x, p["w2"], p["b2"]) @ p["up"]) @ p["down"]

    return forward


def _training_step(library: str) -> Callable[..., Any]:
    forward = _block(library)
    value_and_grad = lm.value_and_grad if library == "lamina" else jax.value_and_grad

    def loss(p: Arrays, x: Any, wanted: Any) -> Any:
        return ((forward(p, x) - wanted) ** 2).mean()

    def step(p: Arrays, x: Any, wanted: Any) -> Any:
        value, slopes = value_and_grad(loss)(p, x, wanted)
        return value, {name: p[name] - np.float32(1e-3) * slopes[name] for name in p}

    return step


def _block_inputs(rng: np.random.Generator, small: bool) -> tuple[Any, ...]:
    n, d = (16, 32) if small else (128, 256)
    shapes = {
        "w1": (d,),
        "b1": (d,),
        "qkv": (d, 3 * d),
        "out": (d, d),
        "w2": (d,),
        "b2": (d,),
        "up": (d, 4 * d),
        "down": (4 * d, d),
    }
    return {name: floats(rng, *shape, scale=0.05) for name, shape in shapes.items()}, floats(rng, n, d)


def _step_inputs(rng: np.random.Generator, small: bool) -> tuple[Any, ...]:
    weights, x = _block_inputs(rng, small)
    return weights, x, x


def _layers(library: str) -> Callable[..., Any]:
    block = _block(library)

    def forward(layers: list[Arrays], x: Any) -> Any:
        for weights in layers:
            x = block(weights, x)
        return x

    return forward


def _gradient(library: str) -> Callable[..., Any]:
    forward = _layers(library)
    value_and_grad = lm.value_and_grad if library == "lamina" else jax.value_and_grad
    return value_and_grad(lambda layers, x: (forward(layers, x) ** 2).mean())


def _layers_inputs(rng: np.random.Generator, small: bool) -> tuple[Any, ...]:
    layers = [_block_inputs(rng, small) for _ in range(_LAYERS)]
    return [weights for weights, _ in layers], layers[0][1]


MODELS = {
    "ResNet-18": Model(_resnet, _resnet_inputs),
    "transformer block": Model(_block, _block_inputs),
    "its training step": Model(_training_step, _step_inputs),
    "12 layers": Model(_layers, _layers_inputs),
    "their gradient": Model(_gradient, _layers_inputs),
    "ResNet-50": Model(_bottleneck_resnet, _bottleneck_inputs),
}
"""By the names that the table shows."""
