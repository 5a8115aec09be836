"""The arguments of a call, in Python: bind, check and convert those that the native entry did not accept.

Sizes and strides bind symbols in the order of `codegen/entry_arguments.py`: parameter after parameter, the sizes of each
before its strides. `accepts` says in Python what the native entry accepts.
"""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..dialects.sizes.binding import Bindings
from .array import is_ndarray
from .arrays import Array, Sizes, address, has_layout, overlap, overlapping, where
from .scalars import describe_value, is_a, is_plain, scalar_bits, spell_number
from .signature import MOST_THREADS, THREADS, ArrayParam, Param, ScalarParam, Signature


@dataclass
class Prepared:
    """The words of one call, as far as its arguments define them, the memory they point to, and the copies to write back."""

    slots: ctypes.Array[ctypes.c_int64]
    sizes: Bindings
    values: list[Any] = field(default_factory=list)
    copies: list[tuple[Array, Array]] = field(default_factory=list)

    def write_back(self) -> None:
        """Copy the results that a kernel wrote into copies back to the arguments."""
        for original, copy in self.copies:
            original[...] = copy


def prepare(signature: Signature, args: Sequence[object], kwargs: Mapping[str, object]) -> Prepared:
    """The words of a call, and arrays that machine code can use in place.

    Raises:
        TypeError: An argument is missing, surplus, given twice, unknown, or of another kind or element type.
        ValueError: Rank, sizes, strides or range do not fit, or a written array is read-only or overlaps.
    """
    values, threads = bound(signature, args, kwargs)
    sizes = Sizes(signature)
    slots = (ctypes.c_int64 * signature.slots)()
    taken: list[tuple[ArrayParam, Array]] = []
    prepared = Prepared(slots, sizes)
    for index, (param, value) in enumerate(zip(signature.params, values, strict=True)):
        if isinstance(param, ScalarParam):
            slots[index] = scalar_bits(where(signature, param), param, value)
            prepared.values.append(value)
            continue
        array = sizes.check(param, value)
        for other, there in taken:
            if (param.writes or other.writes) and overlap(array, there):
                raise ValueError(overlapping(signature, param, other))
        taken.append((param, array))
        used = sizes.lay_out(param, array)
        if param.writes and used is not array:
            prepared.copies.append((array, used))
        prepared.values.append(used)
        slots[index] = address(used)
    sizes.check_meant()
    for index in range(len(signature.symbols)):
        slots[len(values) + index] = sizes.values.get(index, 0)
    slots[signature.threads_slot] = threads
    return prepared


def accepts(signature: Signature, args: Sequence[object]) -> Bindings | None:
    """The values of symbols if the native entry takes these arguments as they are, else None."""
    if len(args) != len(signature.params):
        return None
    sizes = Sizes(signature)
    taken: list[tuple[ArrayParam, tuple[int, int]]] = []
    for param, value in zip(signature.params, args, strict=True):
        if isinstance(param, ScalarParam):
            if not is_plain(param, value):
                return None
            continue
        if not is_ndarray(value) or not has_layout(param, value) or not sizes.take(param, value):
            return None
        extent = np.lib.array_utils.byte_bounds(value) if value.size else (1, 0)
        for other, there in taken:
            if (param.writes or other.writes) and value.size and extent[0] < there[1] and there[0] < extent[1]:
                return None
        taken.append((param, extent))
    try:
        sizes.check_meant()
    except ValueError:
        return None
    return sizes


# Which value is for which parameter


def bound(signature: Signature, args: Sequence[object], kwargs: Mapping[str, object]) -> tuple[list[object], int]:
    """One value for each parameter, by position or by name, and the number of threads or 0; raises as `prepare`."""
    what, named, threads = signature.subject, dict(kwargs), 0
    if signature.is_kernel and THREADS in named:
        threads = _threads(what, named.pop(THREADS))
    others = (THREADS,) if signature.is_kernel else ()
    return bind(what, signature.params, args, named, signature, *others), threads


def _threads(what: str, value: Any) -> int:
    if is_a(value, bool | np.bool_ | np.timedelta64) or not is_a(value, int | np.integer):
        raise TypeError(f"{what} keyword '{THREADS}' must be an int, got {describe_value(value)}")
    number = operator.index(value)
    if not 1 <= number <= MOST_THREADS:
        raise ValueError(f"{what} keyword '{THREADS}' must be from 1 to {MOST_THREADS}, got {spell_number(number)}")
    return number


def bind(
    what: str, params: Sequence[Param], args: Sequence[object], kwargs: Mapping[str, object], signature: object, *others: str
) -> list[object]:
    """One value for each parameter, by position or by name.

    Args:
        what: the callee in messages: `f()` or `kernel 'k'`.
        signature: prints as the way to call it.
        others: keywords that it takes beside its parameters.

    Raises:
        TypeError: A value is missing, surplus, unknown, or given twice.
    """
    if len(args) == len(params) and not kwargs:
        return list(args)
    names = [param.name for param in params]
    if len(args) > len(params):
        takes = f"{len(params)} argument{'s' if len(params) != 1 else ''} ({', '.join(names)})"
        raise TypeError(f"{what} takes {takes}, got {len(args)}")
    named, bound = dict(kwargs), list(args)
    for name in names[: len(args)]:
        if name in named:
            raise TypeError(f"{what} got two values for argument '{name}'; pass it by position or by name")
    for name in names[len(args) :]:
        if name not in named:
            raise TypeError(f"{what} is missing argument '{name}'; it is called as {signature}")
        bound.append(named.pop(name))
    if named:
        raise TypeError(f"{what} has no argument '{next(iter(named))}'; it takes {', '.join([*names, *others]) or 'none'}")
    return bound
