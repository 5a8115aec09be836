"""Arguments of kernels that are no NumPy arrays of their own memory: tensors of other libraries, and one array given twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...runtime.arrays import address
from ...runtime.dlpack import array_from_dlpack
from ...runtime.signature import ArrayParam, Signature
from .annotations import ArrayType
from .parameters import Parameters


def is_foreign(value: Any) -> bool:
    """Whether a value is a tensor of another library, as torch's or jax's: it has DLPack's protocol and is no NumPy array."""
    return not isinstance(value, np.ndarray | np.generic) and hasattr(type(value), "__dlpack__")


def as_array(value: Any, what: str) -> np.ndarray:
    """The memory of a tensor as a NumPy array, without a copy.

    Raises:
        TypeError: it is not on the host, is part of a graph of derivatives, or has an element type that NumPy has not.
    """
    try:
        return array_from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError, AssertionError) as error:
        kind = f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}"
        raise TypeError(f"{what}: this {kind} shares no memory with NumPy: {error}") from None


def same_arrays(signature: Signature, values: Sequence[Any]) -> dict[str, str]:
    """Arrays that are given twice, one of them to be written: the later parameter's name and the earlier one's."""
    groups: dict[Any, list[ArrayParam]] = {}
    for param, value in zip(signature.params, values, strict=False):
        if isinstance(param, ArrayParam) and isinstance(value, np.ndarray) and value.size:
            groups.setdefault(_layout(value), []).append(param)
    written = [group for group in groups.values() if any(param.writes for param in group)]
    return {param.name: group[0].name for group in written for param in group[1:]}


def _layout(array: np.ndarray) -> Any:
    return address(array), array.shape, array.strides, array.dtype.str


def can_be_same(parameters: Parameters, same: Mapping[str, str]) -> bool:
    """Whether one array can stand for two parameters: elements, layouts and sizes agree, or only the later one has a size."""
    types = parameters.types
    kept = [t for name, t in types.items() if name not in same and isinstance(t, ArrayType)]
    bound = {s.symbol for t in kept for s in (*t.sizes, *(t.strides or ())) if s is not None and s.symbol}
    for name, other in same.items():
        one, two = types[name], types[other]
        if not (isinstance(one, ArrayType) and isinstance(two, ArrayType)):
            return False
        if one.element is not two.element or len(one.sizes) != len(two.sizes) or one.strides != two.strides:
            return False
        for size, there in zip(one.sizes, two.sizes, strict=True):
            is_free = size.symbol is not None and size.symbol not in bound and size.symbol not in parameters.following
            if size != there and not is_free:
                return False
    return True


__all__ = ["as_array", "can_be_same", "is_foreign", "same_arrays"]
