"""Numbers as arguments: the values that a parameter accepts, and the word that machine code gets."""

from __future__ import annotations

import ctypes
import operator
from typing import Any

import numpy as np

from ..dialects.element_types import Kind
from .signature import DTYPES, ScalarParam, describe


def scalar_bits(where: str, param: ScalarParam, value: Any) -> int:
    """The word of a scalar, as a signed integer."""
    if param.kind is Kind.BOOL:
        if not is_a(value, bool | np.bool_):
            raise TypeError(f"{where} must be a bool, got {describe_value(value)}; convert it with bool()")
        return int(value)
    integer = is_a(value, int | np.integer | np.bool_) and not is_a(value, np.timedelta64)
    if param.kind is not Kind.FLOAT:
        if not integer:
            raise TypeError(f"{where} must be an integer, got {describe_value(value)}; convert it with int()")
        return _integer(where, param, int(value) if is_a(value, np.bool_) else operator.index(value))
    if not (integer or is_a(value, float | np.floating)):
        raise TypeError(f"{where} must be a number, got {describe_value(value)}; convert it with float()")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{where} must fit {param.dtype}, got {spell_number(int(value))}") from None
    if param.dtype == "float32":
        return int.from_bytes(bytes(ctypes.c_float(number)), "little")
    return int.from_bytes(bytes(ctypes.c_double(number)), "little", signed=True)


def _integer(where: str, param: ScalarParam, number: int) -> int:
    limits = np.iinfo(param.dtype)
    if not limits.min <= number <= limits.max:
        raise ValueError(f"{where} must fit {param.dtype}, got {spell_number(number)}; pass {limits.min} to {limits.max}")
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)  # a slot is signed


def is_plain(param: ScalarParam, value: Any) -> bool:
    """Whether the native entry takes this scalar."""
    if type(value) is DTYPES[param.dtype].type:
        return True
    if param.kind is Kind.BOOL:
        return type(value) is bool
    if param.kind is not Kind.FLOAT:
        limits = np.iinfo(param.dtype)
        return type(value) in (int, bool) and limits.min <= value <= min(limits.max, (1 << 63) - 1)
    return type(value) in (float, np.float64) or (type(value) is int and -(1 << 63) <= value < 1 << 63)


def is_a(value: object, kind: Any) -> bool:
    """Whether that is really its type: `isinstance` also believes an object's `__class__`."""
    return issubclass(type(value), kind)


def describe_value(value: object) -> str:
    if is_a(value, np.generic):
        return f"np.{type(value).__name__}"
    return describe(np.asarray(value)) if is_a(value, np.ndarray) else type(value).__name__


def spell_number(number: int) -> str:
    """Python refuses to print integers of thousands of digits."""
    return str(number) if number.bit_length() < 256 else f"an integer of {number.bit_length()} bits"
