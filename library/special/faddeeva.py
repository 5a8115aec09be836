"""The Faddeeva function `wofz`, by Weideman's series."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...api import array_function
from ...api.functions import with_slopes
from ..numpy import namespace as lnp
from .complex_gamma import as_complex

_TERMS = 64


@functools.cache
def _weideman() -> tuple[float, np.ndarray]:
    """The scale and coefficients of Weideman's expansion of the Faddeeva function (1994), from a Fourier transform."""
    m = 4 * _TERMS
    scale = math.sqrt(_TERMS / math.sqrt(2))
    t = scale * np.tan(np.arange(-m + 1, m) * math.pi / m / 2)
    f = np.concatenate([[0.0], np.exp(-t * t) * (scale * scale + t * t)])
    found = np.real(np.fft.fft(np.fft.fftshift(f))) / (2 * m)
    return scale, found[1 : _TERMS + 1]


def _faddeeva(z: Any) -> Any:
    """`exp(-z**2) * erfc(-1j * z)` above the real axis; by its continued fraction where `z` is large."""
    scale, terms = _weideman()
    far = lnp.abs(z) > 12.0
    inner = lnp.where(far, 1.0, z)
    down = 1.0 / (scale - 1j * inner)
    turned = (scale + 1j * inner) * down
    total = functools.reduce(lambda y, c: y * turned + c, map(float, terms[-2::-1]), float(terms[-1]) + 0 * turned)
    near = 2.0 * total * down * down + down / math.sqrt(math.pi)
    outer = lnp.where(far, z, 12.0)
    fraction = outer
    for k in range(9, 0, -1):
        fraction = outer - (k / 2) / fraction
    return lnp.where(far, 1j / math.sqrt(math.pi) / fraction, near)


def _wofz(z: Any) -> Any:
    below = z.imag < 0
    y = _faddeeva(lnp.where(below, -z, z))
    inner = lnp.where(below, z, 0.0)
    return lnp.where(below, 2.0 * lnp.exp(-inner * inner) - y, y)


_wofz_with_slope = with_slopes(_wofz, lambda y, z: 2j / math.sqrt(math.pi) - 2.0 * z * y)


@array_function
def wofz(z: Any) -> Any:
    """The Faddeeva function `exp(-z**2) * erfc(-1j * z)` of complex numbers.

    By Weideman's expansion (SIAM J. Numer. Anal. 31, 1994), and a continued fraction far from 0. The error is up to 50 units in
    the last place of the magnitude, below the real axis `|z|**2` units of `exp(-z**2)`.

    >>> import lamina as lm
    >>> lm.special.wofz(1j).round(6)
    np.complex128(0.427584+0j)
    """
    return _wofz_with_slope(as_complex(z))
