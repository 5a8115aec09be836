"""lamina.numpy: the inspection API of the Array API standard, limits of dtypes, and arrays of other libraries."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np

from ...api import Tracer, array_from_dlpack, as_array
from ...api.dtypes import ELEMENT_TYPES, ElementKind
from ..random.keys import KeyDType
from .create import asarray, on_device

__array_api_version__ = "2025.12"

_KINDS = {
    "bool": "b", "signed integer": "i", "unsigned integer": "u", "real floating": "f", "complex floating": "c",
    "integral": "iu", "numeric": "iufc",
}  # fmt: skip
_CLASSES = {ElementKind.FLOAT: np.floating, ElementKind.SIGNED: np.signedinteger, ElementKind.UNSIGNED: np.unsignedinteger}
_ADDED = {row.dtype: _CLASSES[row.kind] for row in ELEMENT_TYPES if row.dtype.isbuiltin == 2}
_COMPUTED = {row.dtype.name: row.dtype for row in ELEMENT_TYPES if not row.is_stored}


def _dtype_of(type: Any) -> Any:
    return type.dtype if isinstance(type, Tracer | np.ndarray) else type


def finfo(type: Any, /) -> SimpleNamespace | np.finfo[Any]:
    """The limits of a float dtype, or of that of an array; of a complex one those of its parts.

    Those that the Array API names (`bits eps max min smallest_normal dtype`) are Python numbers.
    """
    limits = ml_dtypes.finfo(_dtype_of(type))
    names = [name for name in dir(limits) if not name.startswith("_") and not callable(getattr(limits, name))]
    numbers = {name: getattr(limits, name) for name in names}
    return SimpleNamespace(**{k: float(v) if isinstance(v, np.floating) else v for k, v in numbers.items()})


def iinfo(type: Any, /) -> np.iinfo[Any]:
    """The limits of an integer dtype, or of that of an array."""
    return np.iinfo(_dtype_of(type))


def _abstract(arg: Any) -> type | None:
    """NumPy's class of a dtype that ml_dtypes adds, which does not say so itself; None of others."""
    try:
        return _ADDED.get(np.dtype(arg))
    except TypeError:  # an abstract class
        return None


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """`np.issubdtype`, to which bfloat16, the floats of 8 bits, the integers of 4 bits and keys belong.

    >>> issubdtype("bfloat16", np.floating), issubdtype(np.float32, np.integer)
    (True, False)
    """
    if isinstance(arg1, KeyDType):
        return arg1 == arg2 or (isinstance(arg2, type) and issubclass(arg1.type, arg2))
    found = _abstract(arg1)
    if found is None:
        return bool(np.issubdtype(arg1, arg2))
    return issubclass(found, arg2) if isinstance(arg2, type) and _abstract(arg2) is None else np.dtype(arg1) == np.dtype(arg2)


def isdtype(dtype: Any, kind: Any) -> bool:
    """`np.isdtype`, to which bfloat16, the floats of 8 bits and the integers of 4 bits belong."""
    found = _abstract(dtype)
    if found is None:
        return bool(np.isdtype(dtype, kind))
    kinds = kind if isinstance(kind, tuple) else (kind,)
    letter = "f" if found is np.floating else "u" if found is np.unsignedinteger else "i"
    return any(letter in _KINDS[k] if isinstance(k, str) else np.dtype(dtype) == np.dtype(k) for k in kinds)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """`np.from_dlpack`: an array of another library, whose memory is shared unless `copy` is True.

    Args:
        x: a tensor with `__dlpack__`, of any element type of arrays, bfloat16 and the floats of 8 bits among them.
        device: "cpu" or None.
        copy: whether the result has memory of its own.

    Raises:
        BufferError: x is not in the memory of the CPU, or its element type is none of an array's.

    >>> import lamina as lm, numpy as np
    >>> x = np.ones(3)
    >>> y = lm.from_dlpack(x)
    >>> x[0] = 5
    >>> y
    array([5., 1., 1.])
    """
    on_device(device)
    shared = as_array(array_from_dlpack(x))  # `asarray` would put strided elements in order
    return asarray(shared, copy=True) if copy else shared


class Info:
    """`lamina.numpy.__array_namespace_info__()`.

    >>> import lamina.numpy as lnp
    >>> lnp.__array_namespace_info__().default_dtypes()["real floating"]
    dtype('float64')
    """

    def capabilities(self) -> Mapping[str, Any]:
        """Boolean masks and results of a size that values decide are for arrays outside of traced functions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        return "cpu"

    def default_dtypes(self, *, device: Any = None) -> Mapping[str, np.dtype[Any]]:
        on_device(device)
        kinds = {"real floating": "float64", "complex floating": "complex128", "integral": "int64", "indexing": "int64"}
        return {kind: np.dtype(name) for kind, name in kinds.items()}

    def devices(self) -> tuple[str, ...]:
        return ("cpu",)

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> Mapping[str, np.dtype[Any]]:
        """The dtypes that are computed with, by name.

        Raises:
            ValueError: a kind is unknown.
        """
        on_device(device)
        if kind is None:
            return dict(_COMPUTED)
        asked = kind if isinstance(kind, tuple) else (kind,)
        if unknown := [k for k in asked if k not in _KINDS]:
            raise ValueError(f"kind must be one of {', '.join(_KINDS)}, got {unknown[0]!r}")
        letters = "".join(_KINDS[k] for k in asked)
        return {name: dtype for name, dtype in _COMPUTED.items() if dtype.kind in letters}


def __array_namespace_info__() -> Info:
    """The Array API's inspection of the namespace: devices, dtypes, capabilities."""
    return Info()
