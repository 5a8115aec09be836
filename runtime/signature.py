"""What a compiled function takes and returns: names, dtypes, shapes."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..dialects.element_types import TABLE

DTYPES: dict[str, np.dtype[Any]] = {str(row.dtype): row.dtype for row in TABLE}
"""Element types that compiled code reads and writes in place, by NumPy's name: arrays of them are in native byte order."""


@dataclass(frozen=True)
class Param:
    """One array: a name for messages, an element type by NumPy name (a key of `DTYPES`), a shape in elements."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise ValueError(f"'{self.name}' has element type '{self.dtype}', known are: {', '.join(DTYPES)}")
        if any(size < 0 for size in self.shape):
            raise ValueError(f"'{self.name}' has a negative size: {list(self.shape)}")

    @cached_property
    def np_dtype(self) -> np.dtype[Any]:
        """NumPy's own descriptor object of the element type."""
        return DTYPES[self.dtype]

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def __str__(self) -> str:
        return describe_type(self.dtype, self.shape)


@dataclass(frozen=True)
class Signature:
    """Arguments and results of a compiled function, in order.

    `arena_bytes` is the scratch memory of one call. `work` estimates the scalar operations of one call, a matrix
    product counting `2*m*n*k`; it decides whether a call releases the GIL. If None, every element counts as one.
    `donations` are pairs of a result and the argument of the same type that it may be written over, by position: the
    host function accepts one buffer for both.

    >>> s = Signature("add", (Param("x", "float32", (8,)), Param("y", "float32", (8,))), (Param("z", "float32", (8,)),))
    >>> print(s)
    add(x: float32[8], y: float32[8]) -> float32[8]
    >>> Signature.from_json(s.to_json()) == s
    True
    """

    name: str
    args: tuple[Param, ...]
    results: tuple[Param, ...]
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
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Signature:
        """The inverse of `to_json`; any fault in the text raises ValueError."""
        try:
            data = json.loads(text)
            args, results = (
                tuple(
                    Param(_is(str, p["name"]), _is(str, p["dtype"]), tuple(_is(int, n) for n in p["shape"])) for p in data[key]
                )
                for key in ("args", "results")
            )
            work = data["work"] if data["work"] is None else _is(int, data["work"])
            donations = tuple((_is(int, result), _is(int, arg)) for result, arg in data["donations"])
            if any(results[result] != replace(args[arg], name=results[result].name) for result, arg in donations):
                raise ValueError("not a signature: a donation between different types")
            return cls(_is(str, data["name"]), args, results, _is(int, data["arena_bytes"]), work, donations)
        except (KeyError, IndexError, TypeError, RecursionError) as error:
            raise ValueError(f"not a signature: {error}") from None

    def __str__(self) -> str:
        args = ", ".join(f"{p.name}: {p}" for p in self.args)
        results = ", ".join(str(p) for p in self.results)
        return f"{self.name}({args}) -> {results if len(self.results) == 1 else f'({results})'}"


def _is(kind: type, value: Any) -> Any:
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
