"""Compares our results with jax's: shapes, dtypes, and numbers within a few units in the last place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

ULPS = 64
"""Relative distance, in units of the dtype's epsilon, of an element."""
SCALED_ULPS = 8
"""The same, relative to the largest element of the result: what cancels in sums, products and second derivatives."""


def difference(
    got: Sequence[np.ndarray],
    want: Sequence[np.ndarray],
    dtypes: Sequence[np.dtype],
    tolerance: float,
    floor: float = 0.0,
    eps: float = 0.0,
) -> str:
    """What differs, or nothing. `want` may be wider than `dtypes`, which is what results must have.

    `floor` is the least magnitude that errors are measured at: 1 for derivatives, where sums of terms cancel to nothing. `eps`
    is that of the arguments, which counts where results are wider.
    """
    if len(got) != len(want):
        return f"{len(got)} results, not {len(want)}"
    for k, (g, w, dtype) in enumerate(zip(got, want, dtypes, strict=True)):
        if g.dtype != dtype:
            return f"result {k} is {g.dtype}, not {dtype}"
        if g.shape != w.shape:
            return f"result {k} has shape {g.shape}, not {w.shape}"
        if (message := _numbers(g, w, tolerance, floor, eps)) is not None:
            return f"result {k} {message}"
    return ""


def _numbers(got: np.ndarray, want: np.ndarray, tolerance: float, floor: float, eps: float) -> str | None:
    if got.dtype.kind in "iub":
        close = got == want
    else:
        with np.errstate(all="ignore"):
            narrow = want.astype(got.dtype)  # what overflows the narrow dtype is infinite
            same = (narrow == got) | (np.isnan(narrow) & np.isnan(got))
            finite = np.isfinite(want)
            largest = np.abs(np.where(finite, want, 0)).max(initial=floor)
            unit = max(eps, *(float(np.finfo(x.dtype).eps) for x in (got, want) if x.dtype.kind in "fc")) * tolerance
            allowed = unit * (ULPS * np.abs(want) + SCALED_ULPS * largest) + np.finfo(got.dtype).tiny
            close = same | (np.isfinite(got) & finite & (np.abs(got - want) <= allowed))
    if close.all():
        return None
    at = tuple(int(i) for i in np.argwhere(~np.atleast_1d(close))[0])[: got.ndim]
    return f"at {list(at)} is {got[at]!r}, not {want[at]!r} ({int((~close).sum())} of {close.size})"
