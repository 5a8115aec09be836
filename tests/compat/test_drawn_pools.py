"""Pools of images and `lax.select_and_scatter_add` at random options, all at once, against plain NumPy forms."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import lamina as lm
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from drawn import Array, Draw, check


class _Slide(NamedTuple):
    """Windows over the spatial dims of an image, features first."""

    sizes: list[int]
    window: list[int]
    stride: list[int]
    dilation: list[int]
    pads: list[tuple[int, int]]

    @property
    def counts(self) -> list[int]:
        rows = zip(self.sizes, self.window, self.stride, self.dilation, self.pads, strict=True)
        return [max((n + sum(pad) - (k - 1) * by - 1) // step + 1, 0) for n, k, step, by, pad in rows]

    def places(self) -> Iterator[tuple[tuple[int, ...], list[tuple[int, ...]]]]:
        """Each window with the places inside the image that it covers, in order."""
        for at in np.ndindex(*self.counts):
            inside = []
            for tap in np.ndindex(*self.window):
                rows = zip(at, self.stride, tap, self.dilation, self.pads, strict=True)
                place = tuple(p * step + k * by - low for p, step, k, by, (low, _) in rows)
                if all(0 <= p < n for p, n in zip(place, self.sizes, strict=True)):
                    inside.append(place)
            yield at, inside


def _slide(d: Draw, dilated: bool) -> _Slide:
    """No window is of padding alone: its maximum has no derivative, and a mean of its elements no value."""
    while True:
        n = d.one(1, 1, 2, 2, 3)
        pads = d.pairs(0, 2, n) if d.one(True, True, False) else [(0, 0)] * n
        found = _Slide(d.some(1, 6, n), d.some(1, 3, n), d.some(1, 3, n), d.some(1, 2 if dilated else 1, n), pads)
        if all(inside for _, inside in found.places()):
            return found


def _layout(d: Draw, n: int) -> tuple[str, Callable[[Array], Array]]:
    """A layout, and what moves features from where it has them to the front."""
    spatial = "DHW"[3 - n :]
    return d.one((f"NC{spatial}", lambda x: x), (f"N{spatial}C", lambda x: np.moveaxis(x, -1, 1)))


def _pooled(
    d: Draw, n: int, sizes: Sequence[int], plain: Callable[[Array], Array], ours: Callable[..., Any], drawn: str, linear: bool
) -> None:
    layout, first = _layout(d, n)
    features, batch = d.some(1, 3, 2)
    x = d.array([batch, features, *sizes] if layout[1] == "C" else [batch, *sizes, features])

    def in_layout(x: Array) -> Array:
        y = plain(first(x))
        return y if layout[1] == "C" else np.moveaxis(y, 1, -1)

    check(lambda x: ours(x, layout=layout), in_layout, [x], f"{drawn} {layout}", in_layout if linear else None)


def _check_pool(d: Draw, drawn: str) -> None:
    kind = d.one("max", "avg")
    slide = _slide(d, kind == "max")
    n, with_pads = len(slide.sizes), d.one(True, False)

    def plain(x: Array) -> Array:
        y = np.zeros((*x.shape[:2], *slide.counts))
        for at, inside in slide.places():
            taken = np.stack([x[(..., *place)] for place in inside])
            total = taken.max(0) if kind == "max" else taken.sum(0) / (prod(slide.window) if with_pads else len(inside))
            y[(..., *at)] = total
        return y

    more = {"dilation": slide.dilation} if kind == "max" else {"count_include_pad": with_pads}

    def ours(x: Any, layout: str) -> Any:
        pool = getattr(lm.nn, f"{kind}_pool{n}d")
        return pool(x, slide.window, slide.stride, slide.pads, layout=layout, **more)

    _pooled(d, n, slide.sizes, plain, ours, f"{drawn} {kind} {slide} {more}", kind == "avg")


def _check_adaptive(d: Draw, drawn: str) -> None:
    kind, n = d.one("max", "avg"), d.one(1, 1, 2, 3)
    sizes, counts = d.some(1, 6, n), d.some(1, 7, n)

    def plain(x: Array) -> Array:
        for dim, count in enumerate(counts, 2):
            size = x.shape[dim]
            parts = [np.arange(k * size // count, -(-(k + 1) * size // count)) for k in range(count)]
            x = np.stack([getattr(x.take(part, dim), {"max": "max", "avg": "mean"}[kind])(dim) for part in parts], dim)
        return x

    def ours(x: Any, layout: str) -> Any:
        return getattr(lm.nn, f"adaptive_{kind}_pool{n}d")(x, counts, layout=layout)

    _pooled(d, n, sizes, plain, ours, f"{drawn} {kind} {sizes} to {counts}", kind == "avg")


def _check_select_and_scatter(d: Draw, drawn: str) -> None:
    slide = _slide(d, False)
    name = d.one("ge", "le")
    x, source = d.array(slide.sizes), d.array(slide.counts)

    def plain(source: Array) -> Array:
        y = np.zeros(slide.sizes)
        for at, inside in slide.places():
            of = [x[place] for place in inside]
            y[inside[int(np.argmax(of) if name == "ge" else np.argmin(of))]] += source[at]
        return y

    def ours(source: Any, x: Any) -> Any:
        return lm.lax.select_and_scatter_add(source, x, getattr(lm.lax, name), slide.window, slide.stride, slide.pads)

    check(ours, lambda source, _: plain(source), [source, x], f"{drawn} {name} {slide}", lambda ds, _: plain(ds))


CHECKS = (_check_pool, _check_adaptive, _check_pool, _check_select_and_scatter)


def _check(seed: int) -> None:
    one = CHECKS[seed % len(CHECKS)]
    one(Draw(seed), f"seed {seed}: {one.__name__}")


@pytest.mark.parametrize("seed", range(2 * len(CHECKS)))
def test_pools_at_drawn_options(seed: int):
    _check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_pools_at_many_drawn_options(block: int):
    for seed in range(100 + 100 * block, 200 + 100 * block):
        _check(seed)
