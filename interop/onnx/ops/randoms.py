"""Random numbers: those of a node are the same in each call, drawn from its attribute `seed` by counters."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....library.random import namespace as random
from ..model import dtype_of
from ..nodes import Node, op


def _key(node: Node) -> Any:
    """A key of the seed; without one, of the names of the outputs, so that nodes differ."""
    seed = node.get("seed", None)
    if seed is None:
        seed = sum((i + 1) * byte for i, byte in enumerate("".join(node.outputs).encode()))
    return random.key(int(np.float32(seed).view(np.int32)) if isinstance(seed, float) else seed)


def _dtype(node: Node, otherwise: Any) -> Any:
    return dtype_of(node.get("dtype"), "the result") if "dtype" in node.attributes else otherwise


def _normal(node: Node, shape: Any, dtype: Any) -> Any:
    wide = np.float64 if np.dtype(dtype) == np.float64 else np.float32
    return (random.normal(_key(node), shape, dtype=wide) * node.get("scale", 1.0) + node.get("mean", 0.0)).astype(dtype)


def _uniform(node: Node, shape: Any, dtype: Any) -> Any:
    wide = np.float64 if np.dtype(dtype) == np.float64 else np.float32
    return random.uniform(_key(node), shape, dtype=wide, minval=node.get("low", 0.0), maxval=node.get("high", 1.0)).astype(
        dtype
    )


for _name, _draw in {"RandomNormal": _normal, "RandomUniform": _uniform}.items():
    op(_name)(lambda node, draw=_draw: draw(node, tuple(node.need("shape")), _dtype(node, np.dtype(np.float32))))
    op(f"{_name}Like")(lambda node, x, draw=_draw: draw(node, tuple(x.shape), _dtype(node, x.dtype)))


@op("Multinomial")
def multinomial(node: Node, x: Any) -> Any:
    dtype = _dtype(node, np.dtype(np.int32))
    drawn = random.categorical(_key(node), x[:, None, :], shape=(x.shape[0], node.get("sample_size", 1)))
    return drawn.astype(dtype)
