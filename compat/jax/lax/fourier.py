"""`lamina.lax.fft`: Fourier transforms of the last dims, by their kind."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from ....api import array_function, lift
from ....api.errors import ShapeError
from ....library import fft as transforms
from ....library.numpy.axes_and_shapes import static_shape


class FftType(enum.IntEnum):
    """The kinds of transforms: complex ones, from real numbers, and back to them."""

    FFT, IFFT, RFFT, IRFFT = range(4)


_OF_KIND = dict(zip(FftType, (transforms.fftn, transforms.ifftn, transforms.rfftn, transforms.irfftn), strict=True))


@array_function
def fft(x: Any, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Any:
    """`jax.lax.fft`: the transform of a kind, of the last dims, whose lengths are given; of `IRFFT` those of the result.

    Raises:
        ShapeError: lengths that are not those of the array.

    >>> import numpy as np, lamina as lm
    >>> lm.lax.fft(np.array([1.0, 2, 3, 4]), "RFFT", (4,))
    array([10.+0.j, -2.+2.j, -2.+0.j])
    """
    kind = FftType[fft_type.upper()] if isinstance(fft_type, str) else FftType(fft_type)
    x, lengths = lift(x), static_shape(fft_lengths)
    held = (*lengths[:-1], lengths[-1] // 2 + 1) if kind is FftType.IRFFT and lengths else lengths
    if not lengths or x.shape[x.ndim - len(held) :] != held:
        raise ShapeError(
            f"fft of kind {kind.name} and lengths {list(lengths)} takes {list(held)} as last dims, got {list(x.shape)}"
        )
    return _OF_KIND[kind](x, lengths, range(-len(lengths), 0))
