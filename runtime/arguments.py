"""The slow path: bind, check and convert the arguments of a call that the native entry did not take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .signature import ArrayParam, Param, Signature, describe

Array = np.ndarray[Any, Any]
_ARRAYS = (np.ndarray, np.generic)


def bind(
    what: str, params: Sequence[Param], args: Sequence[object], kwargs: Mapping[str, object], signature: object, *others: str
) -> list[object]:
    """One value for each parameter, by position or by name.

    Args:
        what: what is called, in messages: `f()` or `kernel 'k'`.
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


def check(function: str, param: ArrayParam, value: object) -> Array:
    """The array in `value`, if it has exactly the element type and shape of `param` in whatever layout.

    Raises:
        TypeError: Not an array, or another element type.
        ValueError: Another rank or shape.
    """
    if type(value) is not np.ndarray and isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{_where(function, param)}, got a masked array: fill it with .filled() first")
    if not isinstance(value, _ARRAYS):
        raise TypeError(f"{_where(function, param)}, got {describe(value)}")
    if value.dtype != param.np_dtype and value.dtype.newbyteorder("=") != param.np_dtype:
        raise TypeError(f"{_where(function, param)}, got {describe(value)}")
    if value.shape != param.shape:
        raise ValueError(f"{_where(function, param)}, got {describe(value)}")
    return np.asarray(value)


def _where(function: str, param: ArrayParam) -> str:
    return f"{function}() argument '{param.name}': expected {param}"


def _readable(array: Array) -> bool:
    return array.flags.c_contiguous and array.flags.aligned


def plain(array: Array, dtype: np.dtype[Any]) -> Array:
    """The array itself if native code can read it in place, else a copy that it can."""
    if array.dtype is dtype and _readable(array):
        return array
    copy = np.empty(array.shape, dtype)
    copy[...] = array
    return copy


def prepare(signature: Signature, args: Sequence[object], kwargs: Mapping[str, object]) -> list[Array]:
    """Arrays that native code can read in place, from the arguments of a call; raises as `bind` and `check`."""
    bound = bind(f"{signature.name}()", signature.args, args, kwargs, signature)
    pairs = zip(signature.args, bound, strict=True)
    return [plain(check(signature.name, param, value), param.np_dtype) for param, value in pairs]


def matches(signature: Signature, args: Sequence[object]) -> bool:
    """Whether native code can read the arguments in place: what the native entry checks, said in Python."""
    if len(args) != len(signature.args):
        return False
    return all(
        type(value) is np.ndarray and value.dtype is param.np_dtype and value.shape == param.shape and _readable(value)
        for param, value in zip(signature.args, args, strict=True)
    )


def check_results(signature: Signature, results: Sequence[object]) -> None:
    """Raise unless native code can write the results into these arrays in place."""
    if len(results) != len(signature.results):
        raise ValueError(f"{signature.name}() has {len(signature.results)} results, got {len(results)} arrays")
    for index, (param, value) in enumerate(zip(signature.results, results, strict=True)):
        if not (type(value) is np.ndarray and value.dtype is param.np_dtype and value.shape == param.shape):
            raise ValueError(f"{signature.name}() result {index}: expected an array {param}, got {describe(value)}")
        if not value.flags.carray:
            raise ValueError(f"{signature.name}() result {index}: the array must be writable, C-contiguous and aligned")
    for index, value in enumerate(results):
        if any(np.may_share_memory(value, other) for other in results[:index]):  # type: ignore[arg-type]
            raise ValueError(f"{signature.name}() result {index} overlaps another result")


def fits(signature: Signature, args: Sequence[object], results: Sequence[object]) -> bool:
    """Whether native code can write the results into these arrays while it reads those: what the native entry checks."""
    try:
        check_results(signature, results)
    except ValueError:
        return False
    return not any(np.may_share_memory(array, result) for array in args for result in results)  # type: ignore[arg-type]


def apart(args: Sequence[Array], results: Sequence[Array]) -> list[Array]:
    """The arguments, those copied that share memory with a result."""
    return [a.copy() if any(np.may_share_memory(a, result) for result in results) else a for a in args]


def may_overwrite(array: Array, others: Sequence[Array]) -> bool:
    """Whether a donated argument may become a result."""
    return array.flags.writeable and not any(np.may_share_memory(array, other) for other in others)
