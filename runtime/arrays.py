"""Arrays as arguments: element types, ranks and layouts, the sizes and strides that bind symbols, overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..dialects.sizes.binding import Bindings, Dim
from .scalars import describe_value, is_a
from .signature import ArrayParam, Param, Signature, describe, describe_type

Array = np.ndarray[Any, Any]
_OVERLAP_WORK = 10_000
"""Effort of the search for an element shared by two arrays, before it is assumed that there is one."""


def where(signature: Signature, param: Param) -> str:
    """An argument in messages."""
    return f"{signature.subject} argument '{param.name}'"


def has_layout(param: ArrayParam, value: Array) -> bool:
    """Whether an array has the type, rank and flags that machine code needs."""
    flags = value.flags
    return (
        value.dtype is param.np_dtype
        and value.ndim == len(param.dims)
        and flags.aligned
        and (flags.writeable or not param.writes)
        and (flags.c_contiguous or param.strides is not None)
    )


def address(array: Array) -> int:
    """Where the data of an array begin."""
    return array.__array_interface__["data"][0]


def _check(signature: Signature, param: ArrayParam, value: Any) -> Array:
    """The array that a program accepts, if it has the element type and rank of `param`, in any layout."""
    rule = f"{where(signature, param)}: expected {param.spell(signature.symbols)}"
    if type(value) is not np.ndarray and isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{rule}, got a masked array: fill it with .filled() first")
    if not is_a(value, (np.ndarray, np.generic)):
        raise TypeError(f"{rule}, got {describe(value)}")
    if value.dtype != param.np_dtype and value.dtype.newbyteorder("=") != param.np_dtype:
        raise TypeError(f"{rule}, got {describe(value)}")
    if value.ndim != len(param.dims):
        raise ValueError(f"{rule}, got {describe(value)}")
    return np.asarray(value)


def _check_in_place(signature: Signature, param: ArrayParam, value: object) -> Array:
    """A plain view of the array that a kernel accepts, if it has the element type and rank of `param`, in any layout."""
    subject, dims = where(signature, param), len(param.dims)
    rule = f"{subject} must be a NumPy array of {param.dtype} with {dims} dim{'s' if dims != 1 else ''}"
    name = f"np.{param.dtype}" if hasattr(np, param.dtype) else repr(param.dtype)
    if is_a(value, np.ma.MaskedArray):
        raise TypeError(f"{rule}, got a masked array; fill it with .filled()")
    if not is_a(value, np.ndarray):
        raise TypeError(f"{rule}, got {describe_value(value)}; make one with np.array(..., {name})")
    # the view keeps its sizes and its memory even if another thread changes the array meanwhile
    array = np.asarray(value)[...]
    if array.dtype != param.np_dtype and not _swapped(array.dtype, param.np_dtype):
        raise TypeError(f"{rule}, got {describe(array)}; convert it with .astype({name})")
    if array.ndim != dims:
        raise ValueError(f"{rule}, got {describe(array)}; reshape it")
    if param.writes and not array.flags.writeable:
        raise ValueError(f"{subject} is written, got a read-only {describe(array)}; pass a copy of it")
    if param.writes and array.size and not _distinct(array):
        raise ValueError(f"{subject} is written, got a {describe(array)} that holds an element twice; pass a copy of it")
    return array


def _swapped(dtype: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    return dtype.kind == wanted.kind and dtype.itemsize == wanted.itemsize and dtype.newbyteorder("=") == wanted


class Sizes(Bindings):
    """The values of the symbols of one call, bound by arrays."""

    def __init__(self, signature: Signature):
        super().__init__(signature.symbols)
        self.signature = signature

    def check(self, param: ArrayParam, value: object) -> Array:
        """The array in `value`, if it fits, in any layout.

        Raises:
            TypeError: Not an array, or another element type.
            ValueError: Another rank, sizes that do not agree, or memory that cannot be written.
        """
        array = (_check_in_place if self.signature.is_kernel else _check)(self.signature, param, value)
        self.bind_sizes(param, array)
        return array

    def bind_sizes(self, param: ArrayParam, array: Array) -> None:
        """Bind or compare the sizes of an array.

        Raises:
            ValueError: They do not agree.
        """
        for axis, (dim, size) in enumerate(zip(param.dims, array.shape, strict=True)):
            if dim.symbol is None and size != dim.constant:
                self._refuse(param, array, "; pass an array of that size")
            if dim.symbol is not None and size < dim.constant:
                name, value = self.names[dim.symbol], size - dim.constant
                self._refuse(param, array, f" with {name} = {value}; pass an array with {name} >= 0")
            source = self._source(param, array, f"dim {axis}")
            if not self.bind(dim, size, source):
                raise ValueError(f"{self.signature.subject} {self.conflict(dim, size, source)}; pass arrays that agree")

    def check_meant(self) -> None:
        """Give the symbols that follow from others their values.

        Raises:
            ValueError: a size is not between its bounds.
        """
        if self.signature.meant:
            try:
                self.complete(self.signature.meant_sizes)
            except ValueError as error:
                raise ValueError(f"{self.signature.subject} {error}; pass arrays of other sizes") from None

    def bind_strides(self, param: ArrayParam, array: Array) -> str:
        """Bind or compare the strides of an array; why this is not possible, or an empty text."""
        assert param.strides is not None
        for axis, dim in _moving(param.strides, array):
            stride, item = array.strides[axis], array.itemsize
            if stride % item:
                return f"dim {axis} in steps of {stride} bytes, not a multiple of {item}"
            if not self.bind(dim, stride // item, self._source(param, array, f"the stride of dim {axis}")):
                return f"dim {axis} in steps of {stride // item} elements, not {self.value(dim)}"
        return ""

    def take(self, param: ArrayParam, array: Array) -> bool:
        """Whether an array agrees as it is."""
        try:
            self.bind_sizes(param, array)
        except ValueError:
            return False
        if param.strides is None:
            return True
        return not self.bind_strides(param, array) and (not param.writes or _nested(array))

    def lay_out(self, param: ArrayParam, array: Array) -> Array:
        """The array if machine code can take it where it lies, else a copy.

        Raises:
            ValueError: Its strides do not fit, nor do those of a copy.
        """
        direct = array.flags.aligned and array.dtype == param.np_dtype
        if param.strides is None:
            return array if direct and array.flags.c_contiguous else plain(array, param.np_dtype)
        before, reason = dict(self.values), ""
        if direct:
            reason = self.bind_strides(param, array)
            if not reason:
                return array
        self.values = before
        copy = plain(array, param.np_dtype)
        other = self.bind_strides(param, copy)
        if other:
            spelled = ", ".join(dim.spell(self.names) for dim in param.strides)
            rule = f"{where(self.signature, param)} must have strides [{spelled}]"
            facts = f"got {describe(array)} with {reason or other}"
            raise ValueError(f"{rule}, {facts}; pass an array with these strides")
        return copy

    def _source(self, param: ArrayParam, array: Array, place: str) -> str:
        return f"{place} of argument '{param.name}' ({param.spell(self.names)}, got {describe_type(param.dtype, array.shape)})"

    def _refuse(self, param: ArrayParam, array: Array, facts: str) -> None:
        rule = ": expected" if not self.signature.is_kernel else " must be"
        hint = facts if self.signature.is_kernel else ""
        raise ValueError(f"{where(self.signature, param)}{rule} {param.spell(self.names)}, got {describe(array)}{hint}")


def _moving(strides: Sequence[Dim], array: Array) -> Iterator[tuple[int, Dim]]:
    """The axes whose strides mean something."""
    if array.size:
        for axis, dim in enumerate(strides):
            if array.shape[axis] > 1:
                yield axis, dim


def plain(array: Array, dtype: np.dtype[Any]) -> Array:
    """The array itself if native code can read it in place, else a copy that it can."""
    if array.dtype is dtype and array.flags.c_contiguous and array.flags.aligned:
        return array
    copy = np.empty(array.shape, dtype)
    copy[...] = array
    return copy


def _nested(array: Array) -> bool:
    """Whether rows lie one after the other, or columns do: no element is there twice."""
    axes = [axis for axis in range(array.ndim) if array.shape[axis] > 1]
    return not array.size or _spread(array, reversed(axes)) or _spread(array, axes)


def _distinct(array: Array) -> bool:
    """Whether no element occurs twice, shown by some order of the axes."""
    axes = [axis for axis in range(array.ndim) if array.shape[axis] > 1]
    return array.flags.c_contiguous or _spread(array, sorted(axes, key=lambda axis: abs(array.strides[axis])))


def _spread(array: Array, axes: Any) -> bool:
    reach = array.itemsize
    for axis in axes:
        if abs(array.strides[axis]) < reach:
            return False
        reach += (array.shape[axis] - 1) * abs(array.strides[axis])
    return True


def overlap(one: Array, other: Array) -> bool:
    try:
        return np.shares_memory(one, other, max_work=_OVERLAP_WORK)  # pyright: ignore[reportArgumentType]
    except np.exceptions.TooHardError:
        return True


def overlapping(signature: Signature, param: ArrayParam, other: ArrayParam) -> str:
    written, read = (param, other) if param.writes else (other, param)
    rule = f"{where(signature, written)} is written and must not overlap another array"
    return f"{rule}, got one that shares memory with argument '{read.name}'; pass a copy for one of them"
