"""Polynomials from their roots, and their roots: `poly` and `roots`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...api import array_function, concrete_array, lift, lift_as
from ...api.errors import ShapeError, TracingError
from ..linalg.factors import eigvals
from .create import eye, full
from .join import concatenate, stack
from .poly import convolve
from .shape import atleast_1d, reshape


@array_function
def poly(seq_of_zeros: Any) -> Any:
    """`np.poly` of roots: the coefficients of the polynomial that has them, from the highest power down.

    Of a square matrix they are its characteristic polynomial, whose roots are the eigenvalues; complex, as in jax.
    """
    zeros = lift(atleast_1d(seq_of_zeros))
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1]:
        zeros = lift(eigvals(zeros))
    if zeros.ndim != 1:
        raise ShapeError(f"poly takes a vector of roots or a square matrix, got shape {list(zeros.shape)}")
    zeros = zeros if zeros.dtype.kind in "fc" else lift_as(zeros, np.dtype(float))
    result = full((1,), 1, zeros.dtype)
    for k in range(zeros.shape[0]):
        result = convolve(result, stack([full((), 1, zeros.dtype), -zeros[k]]))
    return result if zeros.shape[0] else full((), 1.0)


def roots(p: Any, *, strip_zeros: bool = True) -> Any:
    """`np.roots`: the roots of a polynomial from its coefficients, from the highest power down; complex numbers, as in jax.

    They are the eigenvalues of its companion matrix. Leading zeros of `p` are no coefficients, and trailing ones roots of 0,
    which needs known values; without `strip_zeros` the first coefficient must not be 0.

    Raises:
        ShapeError: no vector.
        TracingError: zeros are to be stripped of a traced array.
    """
    if not strip_zeros:
        return _companion_roots(p)
    try:
        known = concrete_array(p)
    except TracingError:
        rule = (
            "the number of roots depends on the values of a traced array: strip leading zeros before, and use strip_zeros=False"
        )
        raise TracingError(f"roots {rule}") from None
    if known.ndim != 1:
        raise ShapeError(f"roots takes a vector of coefficients, got shape {list(known.shape)}")
    places = np.flatnonzero(known)
    start, stop = (places[0], places[-1] + 1) if places.size else (0, 0)
    found = _companion_roots(known[start:stop])
    return concatenate([found, np.zeros(known.size - stop if places.size else 0, found.dtype)])


@array_function
def _companion_roots(p: Any) -> Any:
    x = lift(p)
    if x.ndim != 1:
        raise ShapeError(f"roots takes a vector of coefficients, got shape {list(x.shape)}")
    x = x if x.dtype.kind in "fc" else lift_as(x, np.dtype(float))
    n = x.shape[0] - 1
    if n < 1:
        return full((0,), 0, np.result_type(x.dtype, np.complex64))
    first = reshape(-x[1:] / x[0], (1, n))
    return eigvals(concatenate([first, eye(n - 1, n, dtype=x.dtype)]))
