"""The modes of each program, the same with either set of names: values, derivatives, and both under vmap."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from programs import Program
from worlds import World

BATCH = 2
DTYPES = {"f32": "f4", "f64": "f8"}


def _weights(shape: tuple[int, ...], dtype: Any, phase: float = 0.3) -> np.ndarray:
    """Fixed numbers that differ from element to element."""
    count = int(np.prod(shape, dtype=int))
    return np.asarray(np.cos(np.arange(count) * 0.7 + phase).reshape(shape), np.float32).astype(dtype)


def _floats(args: list[np.ndarray]) -> tuple[int, ...]:
    return tuple(k for k, a in enumerate(args) if a.dtype.kind == "f")


def _weighted(world: World, results: Any) -> Any:
    """One number of everything that is returned and is a float, each element weighted differently."""
    total: Any = None
    for leaf in world.leaves(results):
        if np.dtype(leaf.dtype).kind == "f":
            term = (leaf * _weights(leaf.shape, leaf.dtype)).sum()
            total = term if total is None else total + term
    assert total is not None, "nothing that is returned can be differentiated"
    return total


def value(program: Program, world: World) -> Callable[..., Any]:
    return partial(program.function, world.np, world.jx)


def grad(program: Program, world: World) -> Callable[..., Any]:
    def gradient(*args: Any) -> Any:
        scalar = lambda *xs: _weighted(world, program.function(world.np, world.jx, *xs))  # noqa: E731
        return world.grad(scalar, _positions(args))(*args)

    return gradient


def _positions(args: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(k for k, a in enumerate(args) if np.dtype(a.dtype).kind == "f")


def _along(world: World, function: Callable[..., Any]) -> Callable[..., Any]:
    """The derivative of a function of all arguments along fixed tangents of the float ones."""

    def tangent(*args: Any) -> Any:
        wrt = _positions(args)
        tangents = tuple(_weights(args[k].shape, args[k].dtype, 1.1 + k) for k in wrt)

        def of_floats(*floats: Any) -> Any:
            whole = list(args)
            for k, x in zip(wrt, floats, strict=True):
                whole[k] = x
            results = function(*whole)
            return tuple(leaf for leaf in world.leaves(results) if np.dtype(leaf.dtype).kind == "f")

        return world.jvp(of_floats, tuple(args[k] for k in wrt), tangents)[1]

    return tangent


def jvp(program: Program, world: World) -> Callable[..., Any]:
    return _along(world, value(program, world))


def forward_of_reverse(program: Program, world: World) -> Callable[..., Any]:
    return _along(world, grad(program, world))


def reverse_of_reverse(program: Program, world: World) -> Callable[..., Any]:
    def second(*args: Any) -> Any:
        scalar = lambda *xs: _weighted(world, grad(program, world)(*xs))  # noqa: E731
        return world.grad(scalar, _positions(args))(*args)

    return second


def _mapped(make: Callable[[Program, World], Callable[..., Any]]) -> Callable[[Program, World], Callable[..., Any]]:
    return lambda program, world: world.vmap(make(program, world))


MODES: Mapping[str, Callable[[Program, World], Callable[..., Any]]] = {
    "value": value,
    "grad": grad,
    "jvp": jvp,
    "fwdrev": forward_of_reverse,
    "revrev": reverse_of_reverse,
    "vmap": _mapped(value),
    "vmapgrad": _mapped(grad),
}
MAPPED = ("vmap", "vmapgrad")
DERIVATIVES = ("grad", "jvp", "fwdrev", "revrev", "vmapgrad")
SECOND = ("fwdrev", "revrev")


def modes_of(program: Program) -> tuple[str, ...]:
    """The modes that a program is run in. The first of the oracle's values tells whether it can be differentiated at all."""
    left = set(MODES)
    if "value" in program.options or not any(text.startswith("f") for text in program.arguments.split()):
        left -= set(DERIVATIVES)
    if "novmap" in program.options:
        left -= set(MAPPED)
    if "once" in program.options:
        left -= set(SECOND)
    return tuple(mode for mode in MODES if mode in left)


def arguments(program: Program, mode: str, dtype: str) -> list[np.ndarray]:
    return program.draw(DTYPES[dtype], BATCH if mode in MAPPED else 0)
