"""Spherical harmonics."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...api.functions import fori_loop, jit
from ..numpy import namespace as lnp
from ..numpy.axes_and_shapes import static_int


@functools.partial(jit, static_argnums=3)
def _legendre(n: Any, m: Any, theta: Any, most: int) -> Any:
    """Associated Legendre functions of `cos(theta)` with the factor that makes spherical harmonics orthonormal, by recurrences
    in `n`."""
    x, root = lnp.cos(theta), lnp.sin(theta)  # which the cosine does not tell near the poles
    root = lnp.where(root < 0, -root, root)
    n, m = n.astype(x.dtype), m.astype(x.dtype)

    def raise_order(k: Any, y: Any) -> Any:
        k = k.astype(x.dtype)
        factor = -lnp.sqrt((2.0 * k + 3.0) / (2.0 * k + 2.0)) * root
        return lnp.where(k < m, y * factor, y)

    first = fori_loop(0, most, raise_order, lnp.full_like(x, math.sqrt(0.25 / math.pi)))

    def raise_degree(k: Any, both: Any) -> Any:
        (y, before), k = both, k.astype(x.dtype)
        upper = lnp.where(k > m, k, m + 1)
        scale = (upper - m) * (upper + m)
        b = lnp.sqrt((upper - 1 - m) * (upper - 1 + m) * (2 * upper + 1) / (lnp.where(upper > 1, 2 * upper - 3, 1.0) * scale))
        a = lnp.sqrt((4 * upper * upper - 1) / scale)
        active = (k > m) & (k <= n)
        return lnp.where(active, a * x * y - b * before, y), lnp.where(active, y, before)

    return fori_loop(1, most + 1, raise_degree, (first, lnp.zeros_like(first)))[0]


def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, diff_n: int | None = None, n_max: int | None = None) -> Any:
    """`scipy.special.sph_harm_y`: the spherical harmonic of degree `n` and order `m`, with the phase of Condon and Shortley.

    Args:
        n, m: whole numbers, `|m| <= n`; all are 0 where `|m| > n`.
        theta: the polar angle, from 0 to pi.
        phi: the azimuthal angle.
        diff_n: None; derivatives are those of `lm.jvp`.
        n_max: the largest degree, needed where `n` is traced.

    Returns:
        Complex numbers of the broadcast shape; about `12 * n_max` flops each.

    >>> import lamina as lm, numpy as np
    >>> lm.special.sph_harm_y(1, 0, 0.0, 0.0).real.round(6)
    np.float64(0.488603)
    """
    if diff_n is not None:
        raise ValueError("sph_harm_y has no diff_n: differentiate it with lm.jvp")
    most = static_int(np.max(np.asarray(n), initial=0) if n_max is None else n_max, "n_max")
    degree, order, polar, azimuth = lnp.broadcast_arrays(n, m, theta, phi)
    dtype = lnp.result_type(polar.dtype, azimuth.dtype)
    polar, azimuth = (x.astype(dtype if dtype.kind == "f" else float) for x in (polar, azimuth))
    size = lnp.abs(order)
    y = lnp.where(size <= degree, _legendre(degree, size, polar, most), 0.0)
    odd = lnp.where((order < 0) & (size % 2 == 1), -1.0, 1.0).astype(y.dtype)
    angle = order.astype(azimuth.dtype) * azimuth
    return odd * y * (lnp.cos(angle) + 1j * lnp.sin(angle))
