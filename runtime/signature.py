"""What compiled code takes and returns: arrays, whose sizes may be symbols, and numbers; the signature of a program.

A size or stride is a `Dim`: a number, or a symbol plus a number. Programs are compiled for known shapes; the symbols of a
kernel (`kernel_signature.py`) are bound by the arguments of each call.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..dialects.element_types import TABLE, Kind

DTYPES: dict[str, np.dtype[Any]] = {str(row.dtype): row.dtype for row in TABLE}
"""Element types that compiled code reads and writes in place, by NumPy's name: arrays of them are in native byte order."""
SCALARS = {str(row.dtype): row.kind for row in TABLE if not row.is_stored}
"""Element types of scalar parameters: a float's bits stand in the low bytes of its slot, the others are 64-bit integers."""

_CONSTANT_LIMIT = 1 << 40
"""Of what is added to a symbol: arithmetic on sizes then stays within 64 bits."""


@dataclass(frozen=True)
class Dim:
    """A size or stride in elements: `symbols[symbol] + constant`, or `constant` alone.

    >>> Dim(0, 1).spell(("N",)), Dim(0).spell(("N",)), Dim(None, 3).spell(())
    ('N + 1', 'N', '3')
    """

    symbol: int | None
    constant: int = 0

    def __post_init__(self) -> None:
        if abs(self.constant) > (_CONSTANT_LIMIT if self.symbol is not None else (1 << 63) - 1):
            raise ValueError(f"{self.constant} is out of the range of sizes")

    def spell(self, symbols: Sequence[str]) -> str:
        """The expression in messages."""
        if self.symbol is None:
            return str(self.constant)
        sign = f" {'+' if self.constant > 0 else '-'} {abs(self.constant)}" if self.constant else ""
        return f"{symbols[self.symbol]}{sign}"


@dataclass(frozen=True)
class ArrayParam:
    """An array: a name for messages, an element type by NumPy name (a key of `DTYPES`), sizes; `writes`: written in place.

    `strides` are in elements; None says C-contiguous. The stride of an axis with fewer than two elements is not looked
    at, nor are those of an empty array.

    >>> print(ArrayParam.of_shape("x", "float32", (32, 64)))
    float32[32,64]
    """

    name: str
    dtype: str
    dims: tuple[Dim, ...]
    writes: bool = False
    strides: tuple[Dim, ...] | None = None

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise ValueError(f"'{self.name}' has element type '{self.dtype}', known are: {', '.join(DTYPES)}")
        if self.strides is not None and len(self.strides) != len(self.dims):
            raise ValueError(f"'{self.name}' has {len(self.dims)} dims and {len(self.strides)} strides")
        for dim in self.dims:
            if dim.symbol is None and dim.constant < 0:
                raise ValueError(f"'{self.name}' has a negative size: {dim.constant}")

    @classmethod
    def of_shape(cls, name: str, dtype: str, shape: Sequence[int]) -> ArrayParam:
        """A contiguous array of known sizes that is only read."""
        return cls(name, dtype, tuple([Dim(None, size) for size in shape]))

    @cached_property
    def np_dtype(self) -> np.dtype[Any]:
        """NumPy's own descriptor object of the element type."""
        return DTYPES[self.dtype]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The sizes, of which none may be a symbol."""
        if any(dim.symbol is not None for dim in self.dims):
            raise ValueError(f"the sizes of '{self.name}' are not known before a call")
        return tuple([dim.constant for dim in self.dims])

    @property
    def size(self) -> int:
        """Number of elements, where all sizes are known."""
        return math.prod(self.shape)

    def spell(self, symbols: Sequence[str] = ()) -> str:
        """The type as in a signature: `float32[M,N]`, with strides `float32[M,N; lda,1]`."""
        dims, strides = (",".join(dim.spell(symbols) for dim in part or ()) for part in (self.dims, self.strides))
        return f"{self.dtype}[{dims}{'; ' + strides if strides else ''}]"

    def __str__(self) -> str:
        return self.spell()


@dataclass(frozen=True)
class ScalarParam:
    """A number passed by value."""

    name: str
    dtype: str

    def __post_init__(self) -> None:
        if self.dtype not in SCALARS:
            raise ValueError(f"'{self.name}' has type '{self.dtype}', scalars may be: {', '.join(SCALARS)}")

    @property
    def kind(self) -> Kind:
        """What the number is."""
        return SCALARS[self.dtype]

    def spell(self, symbols: Sequence[str] = ()) -> str:
        """The type as in a signature."""
        return self.dtype


Param = ArrayParam | ScalarParam


@dataclass(frozen=True)
class Signature:
    """Arguments and results of a compiled function, in order.

    `arena_bytes` is the scratch memory of one call. `work` estimates the scalar operations of one call, a matrix
    product counting `2*m*n*k`; it decides whether a call releases the GIL. If None, every element counts as one.
    `donations` are pairs of a result and the argument of the same type that it may be written over, by position: the
    host function accepts one buffer for both.

    >>> x, y, z = (ArrayParam.of_shape(name, "float32", (8,)) for name in "xyz")
    >>> s = Signature("add", (x, y), (z,))
    >>> print(s)
    add(x: float32[8], y: float32[8]) -> float32[8]
    >>> Signature.from_json(s.to_json()) == s
    True
    """

    name: str
    args: tuple[ArrayParam, ...]
    results: tuple[ArrayParam, ...]
    arena_bytes: int = 0
    work: int | None = None
    donations: tuple[tuple[int, int], ...] = ()

    def estimated_work(self) -> int:
        """`work`, or one operation for every element of the arguments, results and arena."""
        if self.work is not None:
            return self.work
        return sum(p.size for p in self.args + self.results) + self.arena_bytes // 4

    def to_json(self) -> str:
        """The signature as JSON text."""
        return json.dumps(
            {
                "name": self.name,
                "args": params_to_data(self.args),
                "results": params_to_data(self.results),
                "arena_bytes": self.arena_bytes,
                "work": self.work,
                "donations": self.donations,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Signature:
        """The inverse of `to_json`; any fault in the text raises ValueError."""
        try:
            data = json.loads(text)
            args, results = (arrays_from_data(data[key]) for key in ("args", "results"))
            work = data["work"] if data["work"] is None else expect(int, data["work"])
            donations = tuple((expect(int, result), expect(int, arg)) for result, arg in data["donations"])
            if any(results[result] != replace(args[arg], name=results[result].name) for result, arg in donations):
                raise ValueError("not a signature: a donation between different types")
            return cls(expect(str, data["name"]), args, results, expect(int, data["arena_bytes"]), work, donations)
        except (KeyError, IndexError, TypeError, RecursionError) as error:
            raise ValueError(f"not a signature: {error}") from None

    def __str__(self) -> str:
        args = ", ".join(f"{p.name}: {p}" for p in self.args)
        results = ", ".join(str(p) for p in self.results)
        return f"{self.name}({args}) -> {results if len(self.results) == 1 else f'({results})'}"


def params_to_data(params: Sequence[Param]) -> list[dict[str, Any]]:
    """Parameters as JSON data."""
    return [_param_to_data(param) for param in params]


def _param_to_data(param: Param) -> dict[str, Any]:
    data: dict[str, Any] = {"name": param.name, "dtype": param.dtype}
    if isinstance(param, ScalarParam):
        return data
    strides = param.strides if param.strides is None else [[d.symbol, d.constant] for d in param.strides]
    return data | {"dims": [[d.symbol, d.constant] for d in param.dims], "writes": param.writes, "strides": strides}


def params_from_data(data: Any) -> tuple[Param, ...]:
    """The inverse of `params_to_data`; a fault raises ValueError, KeyError or TypeError."""
    return tuple([_param_from_data(param) for param in expect(list, data)])


def arrays_from_data(data: Any) -> tuple[ArrayParam, ...]:
    """The same, of contiguous arrays of known shape that are only read."""
    params = [expect(ArrayParam, param) for param in params_from_data(data)]
    for param in params:
        if param != ArrayParam.of_shape(param.name, param.dtype, param.shape):
            raise ValueError(f"not a signature: a program takes no '{param.name}' like this")
    return tuple(params)


def _param_from_data(data: Any) -> Param:
    name, dtype = expect(str, expect(dict, data)["name"]), expect(str, data["dtype"])
    if "dims" not in data:
        return ScalarParam(name, dtype)
    strides = data["strides"] if data["strides"] is None else _dims_from_data(data["strides"])
    return ArrayParam(name, dtype, _dims_from_data(data["dims"]), expect(bool, data["writes"]), strides)


def _dims_from_data(data: Any) -> tuple[Dim, ...]:
    dims = []
    for pair in expect(list, data):
        if len(expect(list, pair)) != 2:
            raise ValueError(f"not a signature: expected a symbol and a constant, got {pair!r}")
        symbol, constant = pair
        dims.append(Dim(symbol if symbol is None else expect(int, symbol), expect(int, constant)))
    return tuple(dims)


def expect(kind: type, value: Any) -> Any:
    """The value, which is of exactly that type, or a ValueError."""
    if type(value) is not kind:
        raise ValueError(f"not a signature: expected {kind.__name__}, got {value!r}")
    return value


def describe_type(dtype: str, shape: tuple[int, ...]) -> str:
    """The spelling of an array type in messages.

    >>> describe_type("float32", (32, 64))
    'float32[32,64]'
    """
    return f"{dtype}[{','.join(map(str, shape))}]"


def describe(value: object) -> str:
    """What a value is, in the same spelling; anything but an array or NumPy scalar by the name of its type."""
    if isinstance(value, np.ndarray | np.generic):
        dtype = value.dtype
        name = dtype.name if dtype.isnative else f"{dtype.name} (byte-swapped)"
        return describe_type(name, value.shape)
    return type(value).__name__
