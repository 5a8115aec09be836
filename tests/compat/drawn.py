"""Shared by the tests at drawn options: drawing, spreading an operand, and the check of values and derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import lamina as lm
import numpy as np

Array = np.ndarray[Any, Any]


class Draw:
    """Random options, the same ones for the same seed."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)

    def some(self, low: int, high: int, count: int) -> list[int]:
        """Integers in [low, high]."""
        return [int(k) for k in self.rng.integers(low, high + 1, count)]

    def one(self, *options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def pairs(self, low: int, high: int, count: int) -> list[tuple[int, int]]:
        return [(a, b) for a, b in zip(self.some(low, high, count), self.some(low, high, count), strict=True)]

    def order(self, n: int) -> list[int]:
        return [int(k) for k in self.rng.permutation(n)]

    def array(self, shape: Sequence[int]) -> Array:
        """Floats that all differ, by 1/8 at least, so that extremes stay where they are under small steps."""
        n = int(np.prod(shape))
        return ((self.rng.permutation(n) - n // 2) / 8 + 1 / 16).reshape(tuple(shape))


def spread(x: Array, fill: Any, holes: Sequence[int], pads: Sequence[tuple[int, int]]) -> Array:
    """The operand with `fill` between its elements and around it; negative padding removes what it reaches."""
    wide = np.full([max((n - 1) * by + 1, 0) if n else 0 for n, by in zip(x.shape, holes, strict=True)], fill, x.dtype)
    wide[tuple(slice(None, None, by) for by in holes)] = x
    wide = np.pad(wide, [(max(low, 0), max(high, 0)) for low, high in pads], constant_values=fill)
    keep = [slice(max(-low, 0), n - max(-high, 0)) for n, (low, high) in zip(wide.shape, pads, strict=True)]
    return wide[tuple(keep)]


def fits(shape: Sequence[int], holes: Sequence[int], pads: Sequence[tuple[int, int]]) -> bool:
    """Whether negative padding removes no more than there is."""
    wide = [max((n - 1) * by + 1, 0) if n else 0 for n, by in zip(shape, holes, strict=True)]
    return all(n + low + high >= 0 and n >= max(-low, 0) + max(-high, 0) for n, (low, high) in zip(wide, pads, strict=True))


def check(
    ours: Callable[..., Any],
    plain: Callable[..., Array],
    args: Sequence[Array],
    drawn: str,
    slope: Callable[..., Array] | None = None,
    seed: int = 0,
) -> None:
    """The value of a function, its tangents and its gradients, against a plain form in NumPy.

    `slope(*tangents)` is the tangent of the result; without it central differences of `plain` are.
    """
    rng = np.random.default_rng(seed)
    value = plain(*args)
    tangents = [rng.standard_normal(x.shape) for x in args]
    weights = rng.standard_normal(value.shape)

    def run(args: Any, tangents: Any, weights: Any) -> Any:
        y, pull = lm.vjp(ours, *args)
        return y, lm.jvp(ours, tuple(args), tuple(tangents))[1], pull(weights)

    y, moved, gradients = lm.jit(run)(tuple(args), tuple(tangents), weights)
    np.testing.assert_allclose(y, value, rtol=1e-12, atol=1e-12, err_msg=drawn)
    step = 1e-5
    if slope is None:
        ahead, behind = (plain(*(x + by * t for x, t in zip(args, tangents, strict=True))) for by in (step, -step))
        wanted, close = (ahead - behind) / (2 * step), 1e-6
    else:
        wanted, close = slope(*tangents), 1e-11
    np.testing.assert_allclose(moved, wanted, rtol=close, atol=close, err_msg=drawn)
    found = sum(float((g * t).sum()) for g, t in zip(gradients, tangents, strict=True))
    np.testing.assert_allclose(found, float((weights * wanted).sum()), rtol=close, atol=10 * close, err_msg=drawn)
