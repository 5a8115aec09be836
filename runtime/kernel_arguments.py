"""The arguments of a kernel call, in Python: bind, check and convert what the native entry did not take.

`prepare` gives the slots of a call. Sizes and strides bind symbols in the same order as in `kernel_entry.py`: parameter after
parameter, the sizes of each before its strides. `accepts` says in Python what the native entry takes.
"""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dialects.element_types import Kind
from .arguments import bind
from .kernel_entry import MOST_THREADS
from .kernel_signature import THREADS, KernelSignature
from .signature import DTYPES, ArrayParam, Dim, Param, ScalarParam, describe, describe_type

Array = np.ndarray[Any, Any]
# How hard to look whether two arrays share an element before they are taken to do so.
_OVERLAP_WORK = 10_000


@dataclass
class Prepared:
    """The words of one call, what they point to, and the copies to write back after it."""

    slots: ctypes.Array[ctypes.c_int64]
    arrays: list[Array]
    copies: list[tuple[Array, Array]]

    def write_back(self) -> None:
        """Copy what the kernel wrote into copies to where it belongs."""
        for original, copy in self.copies:
            original[...] = copy


def prepare(signature: KernelSignature, args: Sequence[object], kwargs: Mapping[str, object]) -> Prepared:
    """The slots of a call.

    Raises:
        TypeError: An argument is missing, surplus, given twice, unknown, or of another kind or element type.
        ValueError: Rank, sizes, strides or range do not fit, or a written array is read-only or overlaps.
    """
    values, threads = bound(signature, args, kwargs)
    sizes = _Sizes(signature)
    slots = (ctypes.c_int64 * signature.slots)()
    taken: list[tuple[ArrayParam, Array]] = []
    prepared = Prepared(slots, [], [])
    for index, (param, value) in enumerate(zip(signature.params, values, strict=True)):
        if isinstance(param, ScalarParam):
            slots[index] = scalar_bits(_where(signature, param), param, value)
            continue
        array = _check(signature, param, value)
        sizes.bind(param, array)
        for other, there in taken:
            if (param.writes or other.writes) and _overlap(array, there):
                raise ValueError(_overlapping(signature, param, other))
        taken.append((param, array))
        used = sizes.lay_out(param, array)
        if param.writes and used is not array:
            prepared.copies.append((array, used))
        prepared.arrays.append(used)
        slots[index] = used.__array_interface__["data"][0]
    for index in range(len(signature.symbols)):
        slots[len(values) + index] = sizes.values.get(index, 0)
    slots[signature.threads_slot] = threads
    return prepared


def accepts(signature: KernelSignature, args: Sequence[object]) -> bool:
    """Whether the native entry takes these arguments as they are."""
    if len(args) != len(signature.params):
        return False
    sizes = _Sizes(signature)
    taken: list[tuple[ArrayParam, tuple[int, int]]] = []
    for param, value in zip(signature.params, args, strict=True):
        if isinstance(param, ScalarParam):
            if not _plain_scalar(param, value):
                return False
            continue
        if type(value) is not np.ndarray or value.dtype is not param.np_dtype or value.ndim != len(param.dims):
            return False
        if not value.flags.aligned or (param.writes and not value.flags.writeable):
            return False
        if param.strides is None and not value.flags.c_contiguous:
            return False
        try:
            sizes.bind(param, value)
        except ValueError:
            return False
        if param.strides is not None and sizes.bind_strides(param, value):
            return False
        if param.strides is not None and param.writes and not _nested(value):
            return False
        extent = np.lib.array_utils.byte_bounds(value) if value.size else (1, 0)
        for other, there in taken:
            if (param.writes or other.writes) and value.size and extent[0] < there[1] and there[0] < extent[1]:
                return False
        taken.append((param, extent))
    return True


# Which value is for which parameter


def bound(signature: KernelSignature, args: Sequence[object], kwargs: Mapping[str, object]) -> tuple[list[object], int]:
    """One value for each parameter, by position or by name, and the number of threads or 0; raises as `prepare`."""
    kernel, named = f"kernel '{signature.name}'", dict(kwargs)
    threads = _threads(kernel, named.pop(THREADS)) if THREADS in named else 0
    return bind(kernel, signature.params, args, named, signature, THREADS), threads


def _threads(kernel: str, value: Any) -> int:
    if _is(value, bool | np.bool_ | np.timedelta64) or not _is(value, int | np.integer):
        raise TypeError(f"{kernel} keyword '{THREADS}' must be an int, got {_describe(value)}")
    number = operator.index(value)
    if not 1 <= number <= MOST_THREADS:
        raise ValueError(f"{kernel} keyword '{THREADS}' must be from 1 to {MOST_THREADS}, got {_spell(number)}")
    return number


# Arrays


def _check(signature: KernelSignature, param: ArrayParam, value: object) -> Array:
    """A plain view of the array in `value`, if it has the element type and rank of `param` in whatever layout."""
    where, dims = _where(signature, param), len(param.dims)
    rule = f"{where} must be a NumPy array of {param.dtype} with {dims} dim{'s' if dims != 1 else ''}"
    name = f"np.{param.dtype}" if hasattr(np, param.dtype) else repr(param.dtype)
    if _is(value, np.ma.MaskedArray):
        raise TypeError(f"{rule}, got a masked array; fill it with .filled()")
    if not _is(value, np.ndarray):
        raise TypeError(f"{rule}, got {_describe(value)}; make one with np.array(..., {name})")
    # the view keeps its sizes and its memory even if another thread changes the array meanwhile
    array = np.asarray(value)[...]
    if array.dtype != param.np_dtype and not _swapped(array.dtype, param.np_dtype):
        raise TypeError(f"{rule}, got {describe(array)}; convert it with .astype({name})")
    if array.ndim != dims:
        raise ValueError(f"{rule}, got {describe(array)}; reshape it")
    if param.writes and not array.flags.writeable:
        raise ValueError(f"{where} is written, got a read-only {describe(array)}; pass a copy of it")
    if param.writes and array.size and not _distinct(array):
        raise ValueError(f"{where} is written, got a {describe(array)} that holds an element twice; pass a copy of it")
    return array


def _swapped(dtype: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    return dtype.kind == wanted.kind and dtype.itemsize == wanted.itemsize and dtype.newbyteorder("=") == wanted


class _Sizes:
    """The values of the symbols of one call, and the place that gave each."""

    def __init__(self, signature: KernelSignature):
        self.signature = signature
        self.values: dict[int, int] = {}
        self.places: dict[int, tuple[str, ArrayParam, Array]] = {}

    def bind(self, param: ArrayParam, array: Array) -> None:
        """Bind or compare the sizes of an array.

        Raises:
            ValueError: They do not agree.
        """
        for axis, (dim, size) in enumerate(zip(param.dims, array.shape, strict=True)):
            value = size - dim.constant
            if dim.symbol is None and value:
                self._refuse(param, array, "; pass an array of that size")
            if dim.symbol is not None and value < 0:
                name = self.signature.symbols[dim.symbol]
                self._refuse(param, array, f" with {name} = {value}; pass an array with {name} >= 0")
            if self._differs(dim, value, f"dim {axis}", param, array):
                self._disagree(dim.symbol, value, f"dim {axis}", param, array)

    def bind_strides(self, param: ArrayParam, array: Array) -> str:
        """Bind or compare the strides of an array; why this is not possible, or an empty text."""
        assert param.strides is not None
        for axis, dim in _moving(param.strides, array):
            stride, item = array.strides[axis], array.itemsize
            if stride % item:
                return f"dim {axis} in steps of {stride} bytes, not a multiple of {item}"
            value = stride // item - dim.constant
            if self._differs(dim, value, f"the stride of dim {axis}", param, array):
                wanted = dim.constant + (self.values[dim.symbol] if dim.symbol is not None else 0)
                return f"dim {axis} in steps of {stride // item} elements, not {wanted}"
        return ""

    def lay_out(self, param: ArrayParam, array: Array) -> Array:
        """The array if machine code can take it where it lies, else a copy.

        Raises:
            ValueError: Its strides do not fit, nor do those of a copy.
        """
        direct = array.flags.aligned and array.dtype == param.np_dtype
        if param.strides is None:
            return array if direct and array.flags.c_contiguous else _copy(param, array)
        before, reason = dict(self.values), ""
        if direct:
            reason = self.bind_strides(param, array)
            if not reason:
                return array
        self.values = before
        copy = _copy(param, array)
        other = self.bind_strides(param, copy)
        if other:
            spelled = ", ".join(dim.spell(self.signature.symbols) for dim in param.strides)
            rule = f"{_where(self.signature, param)} must have strides [{spelled}]"
            facts = f"got {describe(array)} with {reason or other}"
            raise ValueError(f"{rule}, {facts}; pass an array with these strides")
        return copy

    def _differs(self, dim: Dim, value: int, place: str, param: ArrayParam, array: Array) -> bool:
        if dim.symbol is None:
            return value != 0
        if dim.symbol not in self.values:
            self.values[dim.symbol] = value
            self.places[dim.symbol] = (place, param, array)
        return self.values[dim.symbol] != value

    def _refuse(self, param: ArrayParam, array: Array, facts: str) -> None:
        rule = f"{_where(self.signature, param)} must be {param.spell(self.signature.symbols)}"
        raise ValueError(f"{rule}, got {describe(array)}{facts}")

    def _disagree(self, symbol: int | None, value: int, place: str, param: ArrayParam, array: Array) -> None:
        assert symbol is not None
        signature, name = self.signature, self.signature.symbols[symbol]
        first, other, there = self.places[symbol]
        facts = [
            f"{number} by {at} of argument '{p.name}' ({p.spell(signature.symbols)}, got {describe_type(p.dtype, a.shape)})"
            for number, at, p, a in ((self.values[symbol], first, other, there), (value, place, param, array))
        ]
        raise ValueError(f"kernel '{signature.name}' size '{name}' is {' and '.join(facts)}; pass arrays that agree")


def _moving(strides: Sequence[Dim], array: Array) -> Iterator[tuple[int, Dim]]:
    """The axes whose strides mean something."""
    if array.size:
        for axis, dim in enumerate(strides):
            if array.shape[axis] > 1:
                yield axis, dim


def _copy(param: ArrayParam, array: Array) -> Array:
    copy = np.empty(array.shape, param.np_dtype)
    copy[...] = array
    return copy


def _nested(array: Array) -> bool:
    """Whether rows lie one after the other, or columns do: no element is there twice."""
    axes = [axis for axis in range(array.ndim) if array.shape[axis] > 1]
    return not array.size or _spread(array, reversed(axes)) or _spread(array, axes)


def _distinct(array: Array) -> bool:
    """Whether no element is there twice, by whatever order of the axes shows it."""
    axes = [axis for axis in range(array.ndim) if array.shape[axis] > 1]
    return array.flags.c_contiguous or _spread(array, sorted(axes, key=lambda axis: abs(array.strides[axis])))


def _spread(array: Array, axes: Any) -> bool:
    reach = array.itemsize
    for axis in axes:
        if abs(array.strides[axis]) < reach:
            return False
        reach += (array.shape[axis] - 1) * abs(array.strides[axis])
    return True


def _overlap(one: Array, other: Array) -> bool:
    try:
        return np.shares_memory(one, other, max_work=_OVERLAP_WORK)  # pyright: ignore[reportArgumentType]
    except np.exceptions.TooHardError:
        return True


def _overlapping(signature: KernelSignature, param: ArrayParam, other: ArrayParam) -> str:
    written, read = (param, other) if param.writes else (other, param)
    rule = f"{_where(signature, written)} is written and must not overlap another array"
    return f"{rule}, got one that shares memory with argument '{read.name}'; pass a copy for one of them"


# Scalars


def scalar_bits(where: str, param: ScalarParam, value: Any) -> int:
    """The word of a scalar, as a signed integer."""
    if param.kind is Kind.BOOL:
        if not _is(value, bool | np.bool_):
            raise TypeError(f"{where} must be a bool, got {_describe(value)}; convert it with bool()")
        return int(value)
    integer = _is(value, int | np.integer | np.bool_) and not _is(value, np.timedelta64)
    if param.kind is not Kind.FLOAT:
        if not integer:
            raise TypeError(f"{where} must be an integer, got {_describe(value)}; convert it with int()")
        return _integer(where, param, int(value) if _is(value, np.bool_) else operator.index(value))
    if not (integer or _is(value, float | np.floating)):
        raise TypeError(f"{where} must be a number, got {_describe(value)}; convert it with float()")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{where} must fit {param.dtype}, got {_spell(int(value))}") from None
    if param.dtype == "float32":
        return int.from_bytes(bytes(ctypes.c_float(number)), "little")
    return int.from_bytes(bytes(ctypes.c_double(number)), "little", signed=True)


def _integer(where: str, param: ScalarParam, number: int) -> int:
    limits = np.iinfo(param.dtype)
    if not limits.min <= number <= limits.max:
        raise ValueError(f"{where} must fit {param.dtype}, got {_spell(number)}; pass {limits.min} to {limits.max}")
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)  # a slot is signed


def _plain_scalar(param: ScalarParam, value: Any) -> bool:
    """Whether the native entry takes this scalar."""
    if type(value) is DTYPES[param.dtype].type:
        return True
    if param.kind is Kind.BOOL:
        return type(value) is bool
    if param.kind is not Kind.FLOAT:
        limits = np.iinfo(param.dtype)
        return type(value) in (int, bool) and limits.min <= value <= min(limits.max, (1 << 63) - 1)
    return type(value) in (float, np.float64) or (type(value) is int and -(1 << 63) <= value < 1 << 63)


def _is(value: object, kind: Any) -> bool:
    """Whether that is really its type: `isinstance` also believes what an object says of its `__class__`."""
    return issubclass(type(value), kind)


# Messages


def _where(signature: KernelSignature, param: Param) -> str:
    return f"kernel '{signature.name}' argument '{param.name}'"


def _describe(value: object) -> str:
    if _is(value, np.generic):
        return f"np.{type(value).__name__}"
    return describe(np.asarray(value)) if _is(value, np.ndarray) else type(value).__name__


def _spell(number: int) -> str:
    """Python refuses to print integers of thousands of digits."""
    return str(number) if number.bit_length() < 256 else f"an integer of {number.bit_length()} bits"
