"""What the ops of ONNX and torch that read images between their elements share."""

from __future__ import annotations

from typing import Any

from ..library.numpy import namespace as lnp


def reflected(x: Any, low: float, high: float) -> Any:
    """Coordinates reflected at both ends until they lie between them."""
    span = high - low
    if span <= 0:
        return lnp.zeros_like(x) + low
    folded = lnp.remainder(x - low, 2 * span)
    return low + lnp.where(folded > span, 2 * span - folded, folded)


def cubic_weights(t: Any, a: float = -0.75) -> list[Any]:
    """Weights of the four neighbours of points at `t` between the inner two (Keys, 1981)."""

    def far(x: Any) -> Any:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    def near(x: Any) -> Any:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]
