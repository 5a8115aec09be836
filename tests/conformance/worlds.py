"""The two sets of names that a program runs with. What ours has no name for is `Missing`, with the name that is wanted."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


class Missing(Exception):
    """A public name that a program asks for and that is not there."""


class Names:
    """Attributes from the first of several places that has one; a place may be an attribute path that does not exist yet."""

    def __init__(self, title: str, places: Sequence[Any]):
        self._title, self._places = title, places

    def __getattr__(self, name: str) -> Any:
        for place in self._places:
            try:
                value = getattr(place() if callable(place) and not isinstance(place, type) else place, name)
            except AttributeError:
                continue
            setattr(self, name, value)
            return value
        raise Missing(f"{self._title}.{name}")


@dataclass(frozen=True)
class World:
    """The array module, what else there is, and the transformations, under jax's names."""

    np: Any
    jx: Any
    grad: Any
    jvp: Any
    vmap: Any
    jit: Any
    leaves: Any


def jax_world() -> World:
    """jax with 64-bit types."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    scipy = ("special", "linalg", "stats", "signal", "ndimage", "integrate", "fft", "cluster.vq", "optimize", "sparse.linalg")
    for name in ("numpy.linalg", "numpy.fft", *(f"scipy.{part}" for part in (*scipy, "interpolate")), "nn", "image"):
        importlib.import_module(f"jax.{name}")
    return World(jax.numpy, jax, jax.grad, jax.jvp, jax.vmap, jax.jit, jax.tree.leaves)


def our_world() -> World:
    """lamina; names that jax keeps elsewhere are looked up where we have them."""
    lm = importlib.import_module("lamina")
    lnp = lm.numpy

    def part(name: str) -> Any:
        return lambda: getattr(lm, name)

    class Numpy(Names):
        linalg = Names("numpy.linalg", [part("linalg")])
        fft = Names("numpy.fft", [part("fft")])

    class Jax(Names):
        numpy = Numpy("numpy", [lnp])
        nn = Names("nn", [lm.nn])
        lax = Names("lax", [part("lax"), lm, lnp])
        random = Names("random", [part("random")])
        tree = Names("tree", [lm.tree])
        tree_util = tree
        scipy = Names("scipy", [part("scipy")])
        ops = Names("ops", [lm])

    return World(Jax.numpy, Jax("lm", [lm]), lm.grad, lm.jvp, lm.vmap, lm.jit, _leaves)


def _leaves(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in _leaves(tree[key])]
    if isinstance(tree, list | tuple):
        return [leaf for item in tree for leaf in _leaves(item)]
    return [] if tree is None else [tree]
