"""Parts of optimizers: scaling by moments, clipping, decay of weights, accumulation, averages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...api import trees
from ...api.functions import cond
from ...library.numpy import namespace as lnp
from .schedules import Schedule
from .transformation import (
    Empty,
    Optimizer,
    Step,
    apply_updates,
    is_none,
    like,
    map_updates,
    moments,
    next_step,
    stateless,
    widened,
)

__all__ = [
    "accumulate", "add_decayed_weights", "clip", "clip_by_global_norm", "clip_by_norm", "ema", "global_norm", "scale",
    "scale_by_adagrad", "scale_by_adam", "scale_by_lion", "scale_by_rate", "scale_by_rms", "trace",
]  # fmt: skip

Tree = Any
Mask = Callable[[Any], Any] | Any


def _squared(x: Any) -> Any:
    return lnp.real(x * lnp.conj(x)) if np.dtype(x.dtype).kind == "c" else x * x


def scale(factor: float) -> Optimizer:
    """Updates times a number."""
    return stateless(lambda g, _: widened(g) * like(factor, widened(g)))


def scale_by_rate(rate: float | Schedule) -> Optimizer:
    """Updates times `-rate`, which may be a schedule of the number of updates so far. The state is the same for both."""

    def update(updates: Tree, state: Step, params: Tree = None) -> tuple[Tree, Step]:
        factor = -rate(state.count) if callable(rate) else -rate
        return map_updates(lambda g: widened(g) * like(factor, widened(g)), updates), Step(next_step(state.count))

    return Optimizer(lambda params: Step(np.zeros((), np.int32)), update)


class TraceState(NamedTuple):
    """The sums of gradients that decay."""

    trace: Any


def trace(decay: float, nesterov: bool = False) -> Optimizer:
    """Momentum: `t = g + decay * t`; with `nesterov`, `g + decay * t` of the new t is the update."""

    def update(updates: Tree, state: TraceState, params: Tree = None) -> tuple[Tree, TraceState]:
        after = map_updates(lambda g, t: widened(g) + like(decay, t) * t, updates, state.trace)
        ahead = map_updates(lambda g, t: widened(g) + like(decay, t) * t, updates, after) if nesterov else after
        return ahead, TraceState(after)

    return Optimizer(lambda params: TraceState(moments(params)), update)


class MomentState(NamedTuple):
    """Averages of gradients (mu) and of their squares (nu)."""

    count: Any
    mu: Any
    nu: Any


def _average(decay: float, average: Any, new: Any) -> Any:
    return like(decay, average) * average + like(1 - decay, average) * new


def scale_by_adam(b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8, nesterov: bool = False) -> Optimizer:
    """`mu / (1 - b1**t) / (sqrt(nu / (1 - b2**t)) + eps)` (Kingma and Ba, 2015).

    Args:
        b1, b2: decays of the averages of gradients and of their squares.
        eps: added to the root.
        nesterov: whether the average of gradients looks a step ahead (Dozat, 2016).
    """

    def init(params: Tree) -> MomentState:
        return MomentState(np.zeros((), np.int32), moments(params), moments(params))

    def update(updates: Tree, state: MomentState, params: Tree = None) -> tuple[Tree, MomentState]:
        count = next_step(state.count)
        mu = map_updates(lambda g, m: _average(b1, m, widened(g)), updates, state.mu)
        nu = map_updates(lambda g, v: _average(b2, v, _squared(widened(g))), updates, state.nu)
        t = lnp.asarray(count, dtype=np.float64)
        now, ahead = 1 / (1 - b1**t), 1 / (1 - b1 ** (t + 1))
        unbiased = 1 / (1 - b2**t)

        def scaled(g: Any, m: Any, v: Any) -> Any:
            if nesterov:
                m = like(b1 * ahead, m) * m + like((1 - b1) * now, m) * widened(g)
            else:
                m = m * like(now, m)
            return m / (lnp.sqrt(v * like(unbiased, v)) + like(eps, v))

        return map_updates(scaled, updates, mu, nu), MomentState(count, mu, nu)

    return Optimizer(init, update)


class LionState(NamedTuple):
    """The average of gradients."""

    mu: Any


def scale_by_lion(b1: float = 0.9, b2: float = 0.99) -> Optimizer:
    """The signs of `b1 * mu + (1 - b1) * g`; then mu is `b2 * mu + (1 - b2) * g` (Chen et al., 2023)."""

    def update(updates: Tree, state: LionState, params: Tree = None) -> tuple[Tree, LionState]:
        signs = map_updates(lambda g, m: lnp.sign(_average(b1, m, widened(g))), updates, state.mu)
        return signs, LionState(map_updates(lambda g, m: _average(b2, m, widened(g)), updates, state.mu))

    return Optimizer(lambda params: LionState(moments(params)), update)


class SquaresState(NamedTuple):
    """Averages of gradients, where they are subtracted, and sums or averages of their squares."""

    nu: Any
    mu: Any


def scale_by_rms(decay: float = 0.99, eps: float = 1e-8, centered: bool = False) -> Optimizer:
    """`g / (sqrt(nu) + eps)`, nu the average of squares (Tieleman, Hinton); `centered` takes off the square of the average."""

    def init(params: Tree) -> SquaresState:
        return SquaresState(moments(params), moments(params) if centered else None)

    def update(updates: Tree, state: SquaresState, params: Tree = None) -> tuple[Tree, SquaresState]:
        nu = map_updates(lambda g, v: _average(decay, v, _squared(widened(g))), updates, state.nu)
        mu = map_updates(lambda g, m: _average(decay, m, widened(g)), updates, state.mu) if centered else None
        spread = map_updates(lambda v, m: v - _squared(m), nu, mu) if centered else nu
        scaled = map_updates(lambda g, v: widened(g) / (lnp.sqrt(v) + like(eps, v)), updates, spread)
        return scaled, SquaresState(nu, mu)

    return Optimizer(init, update)


def scale_by_adagrad(start: float = 0.0, eps: float = 1e-10) -> Optimizer:
    """`g / (sqrt(sum of squares) + eps)`, where the sum begins with `start` (Duchi et al., 2011)."""

    def init(params: Tree) -> SquaresState:
        return SquaresState(map_updates(lambda z: z + like(start, z), moments(params)), None)

    def update(updates: Tree, state: SquaresState, params: Tree = None) -> tuple[Tree, SquaresState]:
        nu = map_updates(lambda g, v: v + _squared(widened(g)), updates, state.nu)
        scaled = map_updates(lambda g, v: widened(g) / (lnp.sqrt(v) + like(eps, v)), updates, nu)
        return scaled, SquaresState(nu, None)

    return Optimizer(init, update)


# --------------------------------------------------------------------------------------------------------------------
# Clipping and decay


def clip(limit: float) -> Optimizer:
    """Each element between `-limit` and `limit`."""
    return stateless(lambda g, _: lnp.clip(widened(g), like(-limit, widened(g)), like(limit, widened(g))))


def _norm(x: Any) -> Any:
    return lnp.sqrt(lnp.sum(_squared(widened(x))))


def _within(g: Any, norm: Any, limit: float) -> Any:
    """A gradient scaled so that the norm it is part of is `limit` at most."""
    factor = lnp.where(norm > limit, limit / lnp.where(norm > 0, norm, 1.0), 1.0)
    return widened(g) * like(factor, widened(g))


def clip_by_norm(limit: float) -> Optimizer:
    """Each array with a norm above `limit` scaled down to it."""
    return stateless(lambda g, _: _within(g, _norm(g), limit))


def global_norm(tree: Tree) -> Any:
    """The Euclidean norm of all elements of a tree."""
    squares = [lnp.sum(_squared(widened(x))) for x in trees.leaves(tree)]
    return lnp.sqrt(sum(squares[1:], squares[0])) if squares else lnp.zeros(())


def clip_by_global_norm(limit: float) -> Optimizer:
    """All arrays scaled by one factor so that their norm together is `limit` at most (Pascanu et al., 2013)."""

    def update(updates: Tree, state: Tree, params: Tree = None) -> tuple[Tree, Tree]:
        norm = global_norm(updates)
        return map_updates(lambda g: _within(g, norm, limit), updates), state

    return Optimizer(lambda params: Empty(), update)


def add_decayed_weights(decay: float, mask: Mask = None) -> Optimizer:
    """Updates plus `decay` times the parameters.

    Args:
        decay: a number.
        mask: a tree of bools like the parameters, or a function that makes one of them: which decay. By default all.
    """

    def update(updates: Tree, state: Tree, params: Tree) -> tuple[Tree, Tree]:
        if params is None:
            raise ValueError("decay of weights needs the parameters: update(grads, state, params)")
        chosen = mask(params) if callable(mask) else mask

        def decayed(g: Any, p: Any, here: Any = True) -> Any:
            return widened(g) + like(decay, widened(g)) * p if here else g

        return map_updates(decayed, updates, params, *([] if chosen is None else [chosen])), state

    return Optimizer(lambda params: Empty(), update)


# --------------------------------------------------------------------------------------------------------------------
# Over several steps


class AccumulateState(NamedTuple):
    """Sums of gradients, and of which step of a group the next ones are."""

    position: Any
    sums: Any
    inner: Any


def accumulate(optimizer: Optimizer, every: int) -> Optimizer:
    """An optimizer of the mean of each `every` gradients in a row; the updates between are zeros."""
    if every < 1:
        raise ValueError(f"accumulate needs groups of at least one step, got {every}")

    def init(params: Tree) -> AccumulateState:
        return AccumulateState(np.zeros((), np.int32), moments(params), optimizer.init(params))

    def update(updates: Tree, state: AccumulateState, params: Tree = None) -> tuple[Tree, AccumulateState]:
        sums = map_updates(lambda g, s: s + widened(g), updates, state.sums)
        nothing = map_updates(lambda s: lnp.zeros_like(s), sums)

        def apply() -> tuple[Tree, Tree, Tree]:
            moved, inner = optimizer.update(map_updates(lambda s: s * like(1 / every, s), sums), state.inner, params)
            return moved, nothing, inner

        last = state.position + 1 == every
        moved, sums, inner = cond(last, apply, lambda: (nothing, sums, state.inner))
        position = lnp.where(last, np.int32(0), next_step(state.position))
        return moved, AccumulateState(position, sums, inner)

    return Optimizer(init, update)


class AverageState(NamedTuple):
    """Averages of parameters after each step, of which `missing` is the share of the zeros that they began with."""

    missing: Any
    average: Any
    inner: Any


def ema(optimizer: Optimizer, decay: float = 0.999) -> Optimizer:
    """An optimizer whose state also has averages of the parameters, `averaged(state, params)`; updates are the same."""

    def init(params: Tree) -> AverageState:
        return AverageState(np.ones(()), moments(params), optimizer.init(params))

    def update(updates: Tree, state: AverageState, params: Tree) -> tuple[Tree, AverageState]:
        moved, inner = optimizer.update(updates, state.inner, params)
        after = apply_updates(params, moved)
        average = map_updates(lambda a, p: _average(decay, a, widened(p)), state.average, after)
        return moved, AverageState(state.missing * decay, average, inner)

    return Optimizer(init, update)


def averaged(state: AverageState, params: Tree) -> Tree:
    """The parameters' averages of a state of `ema`, those of all steps so far; buffers are those of `params`.

    Raises:
        ValueError: the trees differ in structure.
    """
    factor = 1 / (1 - state.missing)

    def corrected(average: Any, param: Any) -> Any:
        return param if average is None else (average * like(factor, average)).astype(param.dtype)

    return trees.map(corrected, state.average, params, is_leaf=is_none)
