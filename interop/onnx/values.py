"""What flows between nodes.

A value is an array of the program (traced, or a result), or a constant: a NumPy array, which is computed while the program is
traced. Shapes are constants, too. One that has symbolic sizes is an array of Python objects, so that NumPy's own functions
slice, join and multiply it. Sequences are lists, and an absent value is None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...api import Tracer
from ...api.dtypes import ELEMENT_TYPES
from ...api.sizes import Size
from ...library.numpy import namespace as lnp
from .errors import OnnxError, UnknownValue

STORABLE = frozenset(row.dtype for row in ELEMENT_TYPES)
"""Element types of arrays of the program."""


def is_constant(x: Any) -> bool:
    """Whether a value is known while the program is traced."""
    return isinstance(x, np.ndarray | np.generic) and not isinstance(x, Tracer)


def namespace(*values: Any) -> Any:
    """NumPy where all values are constants, `lamina.numpy` otherwise."""
    return np if all(is_constant(x) or x is None for x in values) else lnp


def is_storable(dtype: Any) -> bool:
    """Whether arrays of the program have such elements; others (strings, integers of 2 bits) are constants only."""
    return np.dtype(dtype) in STORABLE


def has_sizes(x: Any) -> bool:
    """Whether a value is a constant with symbolic sizes."""
    return is_constant(x) and x.dtype == object


def settled(x: Any) -> Any:
    """A constant of objects as plain integers or booleans, where it has no symbolic size; a number as an array."""
    if isinstance(x, Size):
        return shape_array([x]).reshape(())
    if isinstance(x, bool | int | float):
        return np.asarray(x)
    if not has_sizes(x):
        return np.asarray(x) if isinstance(x, np.generic) else x
    x = np.asarray(x, object)
    if any(isinstance(v, Size) for v in x.flat):
        return x
    kinds = {isinstance(v, bool | np.bool_) for v in x.flat}
    return x.astype(np.bool_ if kinds == {True} else np.int64)


def lifted(x: Any) -> Any:
    """A value as an operand of a function of arrays: symbolic sizes become scalars of the program."""
    if not has_sizes(x):
        return x
    flat = [lnp.asarray(v, dtype=np.int64) for v in np.asarray(x, object).flat]
    return lnp.reshape(lnp.stack(flat), x.shape) if flat else np.zeros(x.shape, np.int64)


def dims(x: Any, what: str) -> list[Any]:
    """The elements of a constant vector (or scalar) of integers; sizes stay symbolic.

    Raises:
        UnknownValue: it is an array of the program.
    """
    x = value_of(x, what)
    return [v if isinstance(v, Size) else int(v) for v in np.asarray(x).reshape(-1)]


def value_of(x: Any, what: str) -> np.ndarray:
    """A constant.

    Raises:
        UnknownValue: it is an array of the program.
    """
    if not is_constant(x):
        raise UnknownValue(f"{what} must be known before the program runs, but it is computed from the inputs")
    return np.asarray(x)


def scalar(x: Any, what: str) -> Any:
    """The element of a constant of one element.

    Raises:
        UnknownValue: it is an array of the program.
    """
    flat = value_of(x, what).reshape(-1)
    if len(flat) != 1:
        raise OnnxError(f"{what} needs one element, got {len(flat)}")
    return flat[0]


def shape_array(sizes: Sequence[Any]) -> np.ndarray:
    """Sizes as a constant vector."""
    if any(isinstance(n, Size) for n in sizes):
        made = np.empty(len(sizes), object)
        made[:] = list(sizes)
        return made
    return np.asarray(sizes, np.int64)


def known(*sizes: Any) -> bool:
    """Whether all of these are numbers, none a symbolic size."""
    return not any(isinstance(n, Size) for n in sizes)


def lowest(dtype: Any) -> Any:
    """The least number of an element type: the identity of a maximum."""
    kind = np.dtype(dtype)
    return np.asarray(-np.inf if lnp.issubdtype(kind, np.floating) else False if kind.kind == "b" else np.iinfo(kind).min, kind)


def operands(*values: Any) -> tuple[Any, ...]:
    """The namespace that computes with these values, and the values as its functions take them."""
    xp = namespace(*values)
    return (xp, *values) if xp is np else (xp, *map(lifted, values))
