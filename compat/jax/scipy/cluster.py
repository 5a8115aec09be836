"""`lamina.scipy.cluster`: `vq.vq`, the nearest codes of observations."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ....api.errors import ShapeError
from ....library.numpy import namespace as lnp
from ....names import public

__all__ = list(public("scipy.cluster"))


def _nearest(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """`scipy.cluster.vq.vq`: the index of the nearest code of each observation, and the distance to it.

    Args:
        obs: `tensor[n, d]`, or `tensor[n]` of one dim.
        code_book: `tensor[k, d]`.

    Raises:
        ShapeError: the ranks or the numbers of columns differ.

    >>> import numpy as np, lamina as lm
    >>> lm.scipy.cluster.vq.vq(np.array([[0.0], [4.0]]), np.array([[1.0], [3.0]]))
    (array([0, 1]), array([1., 1.]))
    """
    points, codes = lnp.asarray(obs), lnp.asarray(code_book)
    if points.ndim != codes.ndim or points.ndim not in (1, 2) or points.shape[1:] != codes.shape[1:]:
        raise ShapeError(f"vq needs observations and codes of as many columns, got {list(points.shape)}, {list(codes.shape)}")
    if points.ndim == 1:
        points, codes = points[:, None], codes[:, None]
    square = ((points[:, None, :] - codes[None, :, :]) ** 2).sum(-1)
    return lnp.argmin(square, -1), lnp.sqrt(square.min(-1))


vq = SimpleNamespace(vq=_nearest)
