"""The optimizers, each a chain of parts. Steps are the same as those of torch's optimizer of the same name."""

from __future__ import annotations

from .parts import (
    Mask,
    add_decayed_weights,
    scale_by_adagrad,
    scale_by_adam,
    scale_by_lion,
    scale_by_rate,
    scale_by_rms,
    trace,
)
from .schedules import Schedule
from .transformation import Optimizer, chain

__all__ = ["adagrad", "adam", "adamw", "lion", "nadam", "rmsprop", "sgd"]

Rate = float | Schedule


def sgd(
    rate: Rate, momentum: float = 0.0, nesterov: bool = False, weight_decay: float = 0.0, mask: Mask | None = None
) -> Optimizer:
    """Gradient descent: `p -= rate * g`, with `momentum` along the decaying sum of gradients.

    Args:
        rate: a number, or a schedule.
        momentum: how much of the sum of gradients stays.
        nesterov: whether the step is that of the sum after it (Nesterov, 1983, in torch's form).
        weight_decay: added to gradients, times the parameters.
        mask: which parameters decay, as of `add_decayed_weights`.

    Raises:
        ValueError: `nesterov` without momentum.
    """
    if nesterov and not momentum:
        raise ValueError("sgd with nesterov needs a momentum")
    parts = [add_decayed_weights(weight_decay, mask)] if weight_decay else []
    parts += [trace(momentum, nesterov)] if momentum else []
    return chain(*parts, scale_by_rate(rate))


def adam(rate: Rate, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8, weight_decay: float = 0.0) -> Optimizer:
    """Adam (Kingma and Ba, 2015).

    Args:
        rate: a number, or a schedule.
        b1, b2, eps: as of `scale_by_adam`.
        weight_decay: added to gradients, times the parameters; for decay beside the gradients see `adamw`.

    >>> import lamina as lm, numpy as np
    >>> optimizer = lm.train.optim.adam(0.1)
    >>> params = np.float32([1.0, -2.0])
    >>> step = lm.jit(lambda params, state: optimizer.step(lm.grad(lambda p: (p * p).sum())(params), state, params))
    >>> params, state = step(params, optimizer.init(params))
    >>> params
    array([ 0.9, -1.9], dtype=float32)
    """
    parts = [add_decayed_weights(weight_decay)] if weight_decay else []
    return chain(*parts, scale_by_adam(b1, b2, eps), scale_by_rate(rate))


def nadam(rate: Rate, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Optimizer:
    """Adam with Nesterov's momentum (Dozat, 2016), in optax's form."""
    return chain(scale_by_adam(b1, b2, eps, nesterov=True), scale_by_rate(rate))


def adamw(
    rate: Rate, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8, weight_decay: float = 1e-2, mask: Mask | None = None
) -> Optimizer:
    """Adam with decay of weights beside the gradients (Loshchilov and Hutter, 2019); the arguments are those of `adam`.

    Args:
        weight_decay: parameters lose `rate * weight_decay` of themselves in a step.
        mask: which parameters decay, as of `add_decayed_weights`.
    """
    return chain(scale_by_adam(b1, b2, eps), add_decayed_weights(weight_decay, mask), scale_by_rate(rate))


def lion(rate: Rate, b1: float = 0.9, b2: float = 0.99, weight_decay: float = 0.0, mask: Mask | None = None) -> Optimizer:
    """Lion (Chen et al., 2023): steps of one size, by signs; decay as of `adamw`."""
    return chain(scale_by_lion(b1, b2), add_decayed_weights(weight_decay, mask), scale_by_rate(rate))


def rmsprop(rate: Rate, decay: float = 0.99, eps: float = 1e-8, centered: bool = False, momentum: float = 0.0) -> Optimizer:
    """Gradients over the root of the average of their squares (Tieleman and Hinton, 2012); `decay` is torch's alpha."""
    parts = [trace(momentum)] if momentum else []
    return chain(scale_by_rms(decay, eps, centered), *parts, scale_by_rate(rate))


def adagrad(rate: Rate, start: float = 0.0, eps: float = 1e-10) -> Optimizer:
    """Gradients over the root of the sum of their squares (Duchi et al., 2011); `start` is torch's initial accumulator."""
    return chain(scale_by_adagrad(start, eps), scale_by_rate(rate))
