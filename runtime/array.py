"""`Array`: the class of results, an ndarray with the few attributes that jax's arrays have beyond NumPy's."""

from __future__ import annotations

import functools
import sys
from typing import Any, Protocol, TypeGuard, TypeVar

import numpy as np

from ..dialects.rounding import cast
from ..errors import TracingError
from .dlpack import capsule_of_array
from .native_types import BASETYPE, DEFAULT, Slot, Spec, from_spec

_Type = TypeVar("_Type", bound=type)


class ArrayMethods(Protocol):
    """The functions that methods of arrays call where an argument is traced, and for `x.at`."""

    def At(self, x: Any, /) -> Any: ...

    def getitem(self, x: Any, index: Any, /) -> Any: ...

    def dot(self, x: Any, y: Any, /) -> Any: ...


_methods: list[ArrayMethods] = []


def provide(methods: ArrayMethods) -> None:
    """Say which functions these are; the frontend does, once."""
    _methods[:] = [methods]


API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""Versions of the Array API standard whose names `lamina.numpy` has."""

_PLACE = ("__module__", "__doc__")


def array_namespace(version: str | None) -> Any:
    """`lamina.numpy`, if it is of a version of the standard.

    Raises:
        ValueError: it is not.
    """
    if version not in (None, *API_VERSIONS):
        raise ValueError(f"lamina.numpy is of the Array API {API_VERSIONS[-1]}, got {version!r}")
    return sys.modules[f"{__name__.partition('.')[0]}.numpy"]


def _untracked(cls: _Type) -> _Type:
    """The same class without the garbage collector's words that CPython puts before each object."""
    if sys.implementation.name != "cpython":
        return cls
    name, slots = f"{cls.__module__}.{cls.__qualname__}".encode(), (Slot * 1)()
    spec = Spec(name, cls.__basicsize__, 0, DEFAULT | BASETYPE, slots)
    made = from_spec(spec, cls.__bases__[0])
    made._definition = (name, slots, spec)  # CPython keeps pointers into these
    for key, value in vars(cls).items():
        if callable(value) or isinstance(value, property) or key in _PLACE:
            setattr(made, key, value)
    return made


def _reduction(name: str) -> Any:
    """A method of ndarray that takes `where=None` as no mask, as the function of `lamina.numpy`: to NumPy None is False."""
    method = getattr(np.ndarray, name)

    def reduced(self: Array, *args: Any, **kwargs: Any) -> Any:
        if kwargs and kwargs.get("where", True) is None:
            del kwargs["where"]
        return method(self, *args, **kwargs)

    return functools.update_wrapper(reduced, method)


@_untracked
class Array(np.ndarray[Any, Any]):
    """The result of compiled functions and those of `lamina.numpy`: an ndarray with the attributes of jax's arrays.

    It has the layout of an ndarray and no field of its own, so that native code makes one by its type alone. All of NumPy takes
    it for what it is. Operators and methods are NumPy's, in place ones too; what they return is an `Array` again, elements are
    NumPy's scalars.

    >>> import numpy as np, lamina as lm
    >>> y = lm.jit(lambda x: x + 1)(np.zeros(3, np.float32))
    >>> y.at[0].set(5), type(y).__name__, isinstance(y, np.ndarray)
    (array([5., 1., 1.], dtype=float32), 'Array', True)
    """

    __slots__ = ()

    @property
    def at(self) -> Any:
        """`x.at[index].add(values)`: a new array with some elements changed; also `set multiply divide power min max get`."""
        return _methods[0].At(self)

    def __getitem__(self, index: Any) -> Any:
        try:
            return np.ndarray.__getitem__(self, index)
        except TracingError:  # a traced index has no number
            return _methods[0].getitem(self, index)

    def dot(self, other: Any, out: Any = None) -> Any:
        """`np.dot`, also with a traced array."""
        try:
            return np.ndarray.dot(self, other, out)
        except TracingError:
            return _methods[0].dot(self, other)

    sum, prod, mean, var, std = map(_reduction, ("sum", "prod", "mean", "var", "std"))
    max, min, any, all = map(_reduction, ("max", "min", "any", "all"))

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """As NumPy's, but rounded once, where ml_dtypes rounds by way of float32."""
        if self.dtype.itemsize >= 4 and (wanted := np.dtype(dtype)).isbuiltin == 2:
            return np.ndarray.astype(cast(self.view(np.ndarray), wanted).view(Array), wanted, *args, **kwargs)
        return np.ndarray.astype(self, dtype, *args, **kwargs)

    def block_until_ready(self) -> Array:
        """The array itself: it is there when a call returns."""
        return self

    def is_ready(self) -> bool:
        """True, for the same reason."""
        return True

    def devices(self) -> set[str]:
        """The one device, as `x.device` of NumPy."""
        return {"cpu"}

    def __dlpack__(
        self,
        *,
        stream: int | Any | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """The memory for other libraries, also of the element types that NumPy does not exchange."""
        options = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        # NumPy before 2.1 knows the first of them alone
        return capsule_of_array(self, **{name: value for name, value in options.items() if value is not None})

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """`lamina.numpy`, for code that is written against the Array API.

        Raises:
            ValueError: another version of the standard is requested.
        """
        return array_namespace(api_version)

    @property
    def weak_type(self) -> bool:
        """False: only Python numbers take the dtype of the other operand."""
        return False

    def __round__(self, ndigits: int | None = None) -> Any:
        return self.item().__round__(ndigits) if self.ndim == 0 and ndigits is None else self.round(ndigits or 0)

    def __repr__(self) -> str:
        return repr(self.view(np.ndarray))


def is_ndarray(value: object) -> TypeGuard[np.ndarray[Any, Any]]:
    """Whether native code may read the fields of an object as those of an ndarray, with nothing of a subclass to lose."""
    return type(value) in (np.ndarray, Array)


def as_array(x: np.ndarray[Any, Any]) -> Array:
    """The array itself if it is an `Array`, else a view of it."""
    return x if type(x) is Array else x.view(Array)


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """A new array whose elements are not set."""
    return Array(shape, dtype)
