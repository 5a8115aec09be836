"""Schedules: functions from the number of updates so far to a rate. They are computed in float64, in the compiled step."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...library.numpy import namespace as lnp

Schedule = Callable[[Any], Any]

__all__ = [
    "Schedule", "constant_schedule", "cosine_decay", "exponential_decay", "join_schedules", "linear_schedule", "one_cycle",
    "piecewise_constant", "warmup_cosine_decay",
]  # fmt: skip


def _positive(name: str, steps: int) -> int:
    if steps < 1:
        raise ValueError(f"{name} needs at least one step, got {steps}")
    return steps


def _float(count: Any) -> Any:
    return lnp.asarray(count, dtype=np.float64)


def _share(count: Any, steps: int) -> Any:
    """How much of so many steps is over, from 0 to 1."""
    return lnp.clip(_float(count) / steps, 0.0, 1.0)


def constant_schedule(value: float) -> Schedule:
    """Always `value`."""
    return lambda count: lnp.asarray(value, dtype=np.float64)


def linear_schedule(start: float, end: float, steps: int) -> Schedule:
    """From `start` to `end` along a line, in `steps` updates; a warm-up from 0, for example.

    >>> import lamina as lm
    >>> float(lm.train.optim.linear_schedule(0.0, 1.0, 4)(1))
    0.25
    """
    _positive("linear_schedule", steps)
    return lambda count: start + (end - start) * _share(count, steps)


def cosine_decay(value: float, steps: int, alpha: float = 0.0) -> Schedule:
    """From `value` to `alpha * value` along half a period of a cosine (Loshchilov and Hutter, 2017)."""
    _positive("cosine_decay", steps)

    def schedule(count: Any) -> Any:
        return value * (alpha + (1 - alpha) * 0.5 * (1 + lnp.cos(math.pi * _share(count, steps))))

    return schedule


def exponential_decay(value: float, steps: int, rate: float, staircase: bool = False) -> Schedule:
    """`value * rate ** (count / steps)`; with `staircase` of the whole part of the exponent."""
    _positive("exponential_decay", steps)

    def schedule(count: Any) -> Any:
        exponent = _float(count) / steps
        return value * rate ** (lnp.floor(exponent) if staircase else exponent)

    return schedule


def piecewise_constant(value: float, scales: Mapping[int, float]) -> Schedule:
    """`value`, times each of `scales` from the step on that is its key.

    >>> import lamina as lm
    >>> rate = lm.train.optim.piecewise_constant(1.0, {2: 0.5, 4: 0.1})
    >>> [round(float(rate(k)), 3) for k in range(6)]
    [1.0, 1.0, 0.5, 0.5, 0.05, 0.05]
    """

    def schedule(count: Any) -> Any:
        rate = lnp.asarray(value, dtype=np.float64)
        for step, scale in sorted(scales.items()):
            rate = rate * lnp.where(_float(count) >= step, scale, 1.0)
        return rate

    return schedule


def join_schedules(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """One schedule after the other: the next begins, at its 0, at each of the increasing `boundaries`."""
    if len(schedules) != len(boundaries) + 1:
        raise ValueError(
            f"join_schedules needs a boundary between neighbours: {len(schedules)} schedules, {len(boundaries)} boundaries"
        )

    def schedule(count: Any) -> Any:
        rate = schedules[0](count)
        for start, following in zip(boundaries, schedules[1:], strict=True):
            rate = lnp.where(_float(count) < start, rate, following(_float(count) - start))
        return rate

    return schedule


def warmup_cosine_decay(start: float, peak: float, warmup: int, steps: int, end: float = 0.0) -> Schedule:
    """From `start` to `peak` along a line in `warmup` updates, then to `end` along a cosine; `steps` in all."""
    if not 0 < warmup < steps:
        raise ValueError(f"warmup_cosine_decay warms up in a part of its steps, got {warmup} of {steps}")
    decay = cosine_decay(peak, steps - warmup, end / peak)
    return join_schedules([linear_schedule(start, peak, warmup), decay], [warmup])


def one_cycle(peak: float, steps: int, warmup: float = 0.3, start_factor: float = 25.0, final_factor: float = 1e4) -> Schedule:
    """From `peak / start_factor` up to `peak` and down to `peak / (start_factor * final_factor)`, along cosines.

    Smith and Topin, 2018, with the defaults of torch's `OneCycleLR`.

    Args:
        peak: the highest rate.
        steps: of the whole cycle.
        warmup: the share of steps in which the rate rises.
        start_factor, final_factor: see above.
    """
    _positive("one_cycle", steps)
    start = peak / start_factor
    end = start / final_factor
    top = warmup * steps - 1

    def schedule(count: Any) -> Any:
        step = _float(count)
        up, down = step / top if top > 0 else lnp.ones_like(step), (step - top) / max(steps - 1 - top, 1e-300)
        return lnp.where(step <= top, _between(start, peak, up), _between(peak, end, down))

    return schedule


def _between(a: Any, b: Any, share: Any) -> Any:
    """From `a`, at the share 0, to `b`, at 1, along half of a cosine."""
    return b + (a - b) * 0.5 * (1 + lnp.cos(math.pi * lnp.clip(share, 0.0, 1.0)))
