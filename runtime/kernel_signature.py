"""What a kernel takes: arrays whose sizes are symbols, scalars, and how a call lays them out for machine code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..dialects.element_types import TABLE, Kind
from .signature import DTYPES

SCALARS = {str(row.dtype): row.kind for row in TABLE if not row.is_stored}
"""Element types of scalar parameters: a float's bits stand in the low bytes of its slot, the others are 64-bit integers."""
STATUS_WORDS = 4
# The name of the keyword of every call that is not a parameter.
THREADS = "threads"
_CONSTANT_LIMIT = 1 << 40


@dataclass(frozen=True)
class Dim:
    """A size or stride in elements: `symbols[symbol] + constant`, or `constant` alone.

    >>> Dim(0, 1).spell(("N",)), Dim(0).spell(("N",)), Dim(None, 3).spell(())
    ('N + 1', 'N', '3')
    """

    symbol: int | None
    constant: int = 0

    def __post_init__(self) -> None:
        if abs(self.constant) > _CONSTANT_LIMIT:
            raise ValueError(f"{self.constant} is out of the range of sizes")

    def spell(self, symbols: Sequence[str]) -> str:
        """The expression in messages."""
        if self.symbol is None:
            return str(self.constant)
        sign = f" {'+' if self.constant > 0 else '-'} {abs(self.constant)}" if self.constant else ""
        return f"{symbols[self.symbol]}{sign}"


@dataclass(frozen=True)
class ArrayParam:
    """An array that the kernel reads, and writes in place if `writes`.

    `strides` are in elements; None says C-contiguous. The stride of an axis with fewer than two elements is not looked
    at, nor are those of an empty array.
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

    @cached_property
    def np_dtype(self) -> np.dtype[Any]:
        """NumPy's own descriptor object of the element type."""
        return DTYPES[self.dtype]

    def spell(self, symbols: Sequence[str]) -> str:
        """The type as in a signature: `float32[M,N]`, with strides `float32[M,N; lda,1]`."""
        dims, strides = (",".join(dim.spell(symbols) for dim in part or ()) for part in (self.dims, self.strides))
        return f"{self.dtype}[{dims}{'; ' + strides if strides else ''}]"


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


KernelParam = ArrayParam | ScalarParam


@dataclass(frozen=True)
class KernelSignature:
    """Parameters of a kernel, in order, and the symbols that their sizes and strides bind.

    `heavy`: from this total number of array elements, a call releases the GIL.

    `@<name>.invoke(ptr slots)` takes words of 8 bytes: one for each parameter (data pointer; float bits in the low
    bytes; integers and bool as i64), one for each symbol (i64), `threads` (0 is the default), and four words of status
    (zero before the call; after it the first is not zero if the kernel failed, and the others are facts about that).

    >>> n = Dim(0)
    >>> s = KernelSignature("saxpy", (ScalarParam("a", "float32"), ArrayParam("x", "float32", (n,)),
    ...                               ArrayParam("y", "float32", (n,), writes=True)), ("N",))
    >>> print(s)
    saxpy(a: float32, x: float32[N], y: inout float32[N])
    >>> s.threads_slot, s.status_slot, s.slots
    (4, 5, 9)
    >>> KernelSignature.from_json(s.to_json()) == s
    True
    """

    name: str
    params: tuple[KernelParam, ...]
    symbols: tuple[str, ...] = ()
    heavy: int = 1 << 15
    arrays: tuple[ArrayParam, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "arrays", tuple(p for p in self.params if isinstance(p, ArrayParam)))
        names = [param.name for param in self.params]
        for kind, spelled in (("parameters", names), ("symbols", self.symbols)):
            if len(set(spelled)) != len(spelled):
                raise ValueError(f"kernel '{self.name}' has two {kind} of one name: {', '.join(spelled)}")
        if THREADS in names:
            raise ValueError(f"kernel '{self.name}' has a parameter '{THREADS}', a keyword of every call: rename it")
        if not 0 <= self.heavy < 1 << 63:
            raise ValueError(f"kernel '{self.name}' is heavy from {self.heavy} elements: not a 64-bit size")
        uses = [d.symbol for p in self.arrays for d in (*p.dims, *(p.strides or ())) if d.symbol is not None]
        if any(not 0 <= use < len(self.symbols) for use in uses):
            raise ValueError(f"kernel '{self.name}' has {len(self.symbols)} symbols and uses number {max(uses, key=abs)}")
        for index, symbol in enumerate(self.symbols):
            if index not in uses:
                raise ValueError(f"kernel '{self.name}': no size or stride of an argument gives the symbol '{symbol}'")

    @property
    def threads_slot(self) -> int:
        """Index of the `threads` word."""
        return len(self.params) + len(self.symbols)

    @property
    def status_slot(self) -> int:
        """Index of the first word of status."""
        return self.threads_slot + 1

    @property
    def slots(self) -> int:
        """Number of words."""
        return self.status_slot + STATUS_WORDS

    def to_json(self) -> str:
        """The signature as JSON text."""
        return json.dumps(
            {
                "name": self.name,
                "params": [_param_to_data(param) for param in self.params],
                "symbols": self.symbols,
                "heavy": self.heavy,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> KernelSignature:
        """The inverse of `to_json`; any fault in the text raises ValueError."""
        try:
            data = json.loads(text)
            params = tuple(_param_from_data(param) for param in _is(list, data["params"]))
            symbols = tuple(_is(str, symbol) for symbol in _is(list, data["symbols"]))
            return cls(_is(str, data["name"]), params, symbols, _is(int, data["heavy"]))
        except (KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"not a kernel signature: {error}") from None

    def __str__(self) -> str:
        parts = []
        for param in self.params:
            inout = "inout " if isinstance(param, ArrayParam) and param.writes else ""
            parts.append(f"{param.name}: {inout}{param.spell(self.symbols)}")
        return f"{self.name}({', '.join(parts)})"


def _param_to_data(param: KernelParam) -> dict[str, Any]:
    data: dict[str, Any] = {"name": param.name, "dtype": param.dtype}
    if isinstance(param, ScalarParam):
        return data
    strides = param.strides if param.strides is None else [[d.symbol, d.constant] for d in param.strides]
    return data | {"dims": [[d.symbol, d.constant] for d in param.dims], "writes": param.writes, "strides": strides}


def _param_from_data(data: Any) -> KernelParam:
    name, dtype = _is(str, _is(dict, data)["name"]), _is(str, data["dtype"])
    if "dims" not in data:
        return ScalarParam(name, dtype)
    strides = data["strides"] if data["strides"] is None else _dims_from_data(data["strides"])
    return ArrayParam(name, dtype, _dims_from_data(data["dims"]), _is(bool, data["writes"]), strides)


def _dims_from_data(data: Any) -> tuple[Dim, ...]:
    dims = []
    for pair in _is(list, data):
        if len(_is(list, pair)) != 2:
            raise ValueError(f"not a kernel signature: expected a symbol and a constant, got {pair!r}")
        symbol, constant = pair
        dims.append(Dim(symbol if symbol is None else _is(int, symbol), _is(int, constant)))
    return tuple(dims)


def _is(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise ValueError(f"not a kernel signature: expected {kind.__name__}, got {value!r}")
    return value
