"""Values of a program under evaluation: their declared types, and operands that are sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...api import lift_as
from ...api.dtypes import numpy_dtype
from ...api.errors import ShapeError
from . import faults
from .faults import UnsupportedError
from .quantized import Quantized, expressed, is_quantized, quantized, storage_dtype

DYNAMIC = -(1 << 63)
"""The size of a `?` in a type."""


def dtype_of(type: Any) -> Any:
    """The NumPy dtype of a tensor type; an error names types that no array has."""
    try:
        return storage_dtype(type) if is_quantized(type) else numpy_dtype(type.element_type)
    except (KeyError, ValueError, AttributeError):
        raise UnsupportedError(f"has a value of type {type}, which no array has") from None


def bounds_of(type: Any) -> tuple[int | None, ...]:
    """The greatest sizes of a tensor type `tensor<?x4xf32, #stablehlo.bounds<8, ?>>`: None for a dim without a bound.

    Raises:
        UnsupportedError: there are not as many as dims, or one is no number.
    """
    rank, encoding = len(type.get_shape()), getattr(type, "encoding", None)
    if getattr(getattr(encoding, "attr_name", None), "data", None) != "stablehlo.bounds":
        return (None,) * rank
    words = [word.strip() for word in encoding.value.data.split(",")]  # pyright: ignore[reportOptionalMemberAccess]
    if len(words) != rank or not all(word == "?" or word.isdecimal() for word in words):
        raise UnsupportedError(f"has bounds {', '.join(words)} for {rank} dims")
    return tuple([None if word == "?" else int(word) for word in words])


def known(x: Any, what: str) -> list[int]:
    """The numbers of an operand that says sizes, which must follow from the shapes of the arguments."""
    try:
        return [int(k) for k in np.ravel(x.within.readable(x, what))]
    except Exception as error:
        if not faults.is_fault(error):
            raise
        raise UnsupportedError(f"has {what} that depend on the values of arguments") from None


def is_tensor(type: Any) -> bool:
    """Whether values of a type are arrays."""
    return type.name == "tensor"


def fitted(value: Any, type: Any) -> Any:
    """A value that a row has computed, in the type that the text declares; sizes may be more precise, numbers are quantized."""
    if type.name == "tuple":
        return tuple(fitted(v, t) for v, t in zip(value, type.types, strict=True))
    if not is_tensor(type):
        return None
    if is_quantized(type):
        return value if isinstance(value, Quantized) else quantized(fitted(value, expressed(type)), type)
    found = lift_as(value, dtype_of(type))
    declared = tuple(type.get_shape())
    if len(found.shape) != len(declared) or any(n not in (m, DYNAMIC) for n, m in zip(declared, found.shape, strict=True)):
        raise ShapeError(f"has a result of shape {list(found.shape)}, its type is {type}")
    return found
