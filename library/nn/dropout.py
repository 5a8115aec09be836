"""Dropout functions of `lamina.nn`."""

from __future__ import annotations

from typing import Any

from ...api import broadcast_tracer, creation, full_like_tracer, lift, lift_as
from ...api.dtypes import inexact
from ...api.errors import ShapeError
from ..numpy.axes_and_shapes import normalize_axes
from ..numpy.elementwise import select
from ..random.distributions import bernoulli
from ..random.keys import takes_keys


@takes_keys
@creation
def dropout(key: Any, x: Any, rate: float, *, axis: Any = None) -> Any:
    """`x / (1 - rate)` or 0: each element stays with probability `1 - rate`.

    Args:
        key: of `lamina.random`.
        x: floats of any shape; integers become float64.
        rate: a number from 0 to 1.
        axis: along which elements are kept or dropped one by one, an axis or several; along the others all share one choice.
            None is all.

    Raises:
        ShapeError: the rate is not between 0 and 1.

    Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", JMLR 2014.

    >>> import numpy as np, lamina as lm
    >>> lm.nn.dropout(lm.random.key(0), np.ones(8, np.float32), 0.5)
    array([2., 2., 0., 2., 0., 2., 2., 0.], dtype=float32)
    """
    x = lift(x)
    x = x if x.dtype.kind == "f" else lift_as(x, inexact(x.dtype))
    if not 0 <= rate <= 1:
        raise ShapeError(f"rate must be between 0 and 1, got {rate!r}")
    if rate == 0:
        return x
    zero = full_like_tracer(x, 0)
    if rate == 1:
        return zero
    axes = normalize_axes(axis, x.ndim)
    kept = lift(bernoulli(key, 1 - float(rate), tuple(n if k in axes else 1 for k, n in enumerate(x.shape))))
    return select(broadcast_tracer(kept, x.shape), x / (1 - float(rate)), zero)
