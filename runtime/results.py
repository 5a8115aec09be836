"""Results of a call: their shapes, and the arrays that may take them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..dialects.sizes.binding import Bindings
from .array import is_ndarray
from .arrays import Array
from .signature import Signature, describe, describe_type


def result_shapes(signature: Signature, sizes: Bindings | None = None) -> list[tuple[int, ...]]:
    """The shapes of the results and temporaries of a call.

    Raises:
        ValueError: A size is negative.
    """
    shapes = []
    for param in (*signature.results, *signature.temporaries):
        shape = param.shape if sizes is None else tuple([sizes.value(dim) or 0 for dim in param.dims])
        if min(shape, default=0) < 0:
            raise ValueError(f"{signature.subject} would have a result of shape {list(shape)}; pass larger arrays")
        shapes.append(shape)
    return shapes


def check_results(signature: Signature, results: Sequence[object], sizes: Bindings | None = None) -> None:
    """Raise unless native code can write the results into these arrays in place."""
    if len(results) != len(signature.results):
        raise ValueError(f"{signature.name}() has {len(signature.results)} results, got {len(results)} arrays")
    for index, (param, shape, value) in enumerate(
        zip(signature.results, result_shapes(signature, sizes), results, strict=False)
    ):
        if not (is_ndarray(value) and value.dtype is param.np_dtype and value.shape == shape):
            wanted = describe_type(param.dtype, shape)
            raise ValueError(f"{signature.name}() result {index}: expected an array {wanted}, got {describe(value)}")
        if not value.flags.carray:
            raise ValueError(f"{signature.name}() result {index}: the array must be writable, C-contiguous and aligned")
    for index, value in enumerate(results):
        if any(np.may_share_memory(value, other) for other in results[:index]):
            raise ValueError(f"{signature.name}() result {index} overlaps another result")


def fits(signature: Signature, args: Sequence[object], results: Sequence[object], sizes: Bindings) -> bool:
    """Whether native code can write the results into these arrays while it reads those: the check of the native entry."""
    try:
        check_results(signature, results, sizes)
    except ValueError:
        return False
    return not any(np.may_share_memory(array, result) for array in args for result in results)


def apart(args: Sequence[Array], results: Sequence[Array]) -> list[Array]:
    """The arguments, those copied that share memory with a result."""
    return [a.copy() if any(np.may_share_memory(a, result) for result in results) else a for a in args]


def may_overwrite(array: Array, others: Sequence[Array]) -> bool:
    """Whether a donated argument may become a result."""
    return array.flags.writeable and not any(np.may_share_memory(array, other) for other in others)
