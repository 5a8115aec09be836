"""Signatures of compiled code: arrays, whose sizes may be symbols, and numbers.

A size or stride is a `Dim`: a number, or a symbol plus a number. The arguments of each call bind the symbols.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..dialects.element_types import TABLE, Kind
from ..dialects.sizes.atoms import Atom as Atom
from ..dialects.sizes.atoms import Positive as Positive
from ..dialects.sizes.atoms import Symbol as Symbol
from ..dialects.sizes.binding import Dim
from ..dialects.sizes.binding import is_symbol as is_symbol
from ..dialects.sizes.polynomial import Size
from ..dialects.sizes.text import read
from .effect_sites import Site

DTYPES: dict[str, np.dtype[Any]] = {str(row.dtype): row.dtype for row in TABLE}
"""Element types that compiled code reads and writes in place, by NumPy's name: arrays of them are in native byte order."""
SCALARS = {str(row.dtype): row.kind for row in TABLE if not row.is_stored and row.kind is not Kind.COMPLEX}
"""Element types of scalar parameters: a float's bits stand in the low bytes of its slot, the others are 64-bit integers."""

STATUS_WORDS = 4
THREADS = "threads"
"""The keyword of every call of a kernel that is not a parameter."""
MOST_THREADS = 1 << 16
RELEASE_GIL_WORK = 1 << 15
"""Scalar operations, or elements, from which a call releases the GIL. Taking it again costs 50 ns without contention, but up to
5 ms when another thread runs Python meanwhile; this much work takes some microseconds."""


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
    def is_static(self) -> bool:
        """Whether all sizes are numbers."""
        return all(dim.symbol is None for dim in self.dims)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The sizes, of which none may be a symbol."""
        if not self.is_static:
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
        """The meaning of the number."""
        return SCALARS[self.dtype]

    def spell(self, symbols: Sequence[str] = ()) -> str:
        """The type as in a signature."""
        return self.dtype


Param = ArrayParam | ScalarParam


@dataclass(frozen=True)
class Signature:
    """The parameters and results of compiled code, in order, and the symbols that sizes and strides of arguments bind.

    A program reads its arguments and returns results. A kernel (`is_kernel`) writes arguments in place, takes `threads=`
    and may leave a status.

    Attributes:
        results: contiguous arrays; their sizes have no symbols of their own.
        arena_bytes: scratch memory of one call.
        work: estimates the scalar operations of one call, a matrix product counting `2*m*n*k`: whether it releases the GIL.
        donations: pairs of a result and the argument of the same type that it may be written over, by position: the host
            function accepts one buffer for both.
        heavy: if `work` is None, the number of elements of arguments from which a call releases the GIL.
        temporaries: scratch memory of symbolic size.
        meant: the definition of each symbol, as text (`symbolic.spell`): a size that a call binds, with its bounds, or one that
            follows from those; empty if calls bind all symbols, without bounds. With it there is `@<name>.sizes(ptr symbols)`,
            which computes those that follow and says whether bounds are kept.
        effects: the effects of a program in Python, by the numbers in its machine code.
        stops: whether a program may leave a status: it has effects, or kernels that take memory from the system.

    `@<name>.invoke(ptr slots)` takes words of 8 bytes: one for each parameter (data pointer; float bits in the low bytes;
    integers and bool as i64), one for each symbol (i64), `threads` (0 is the default), four words of status (zero before
    the call, but for the second, the number of the table of a program's effects; after it the first is not zero if the code
    failed, and the others are facts about that), pointers to the
    results, to the temporaries and to the arena.

    >>> n = Dim(0)
    >>> x, y = ArrayParam("x", "float32", (n,)), ArrayParam("y", "float32", (n,), writes=True)
    >>> s = Signature("saxpy", (ScalarParam("a", "float32"), x, y), symbols=("N",), is_kernel=True)
    >>> print(s)
    saxpy(a: float32, x: float32[N], y: inout float32[N])
    >>> s.threads_slot, s.status_slot, s.results_slot, s.slots
    (4, 5, 9, 10)
    >>> print(Signature("double", (x,), (x,), symbols=("N",)))
    double(x: float32[N]) -> float32[N]
    >>> Signature.from_json(s.to_json()) == s
    True
    """

    name: str
    params: tuple[Param, ...]
    results: tuple[ArrayParam, ...] = ()
    arena_bytes: int = 0
    work: int | None = None
    donations: tuple[tuple[int, int], ...] = ()
    symbols: tuple[str, ...] = ()
    heavy: int = RELEASE_GIL_WORK
    temporaries: tuple[ArrayParam, ...] = ()
    is_kernel: bool = False
    meant: tuple[str, ...] = ()
    effects: tuple[Site, ...] = ()
    stops: bool = False

    sizes_are_given: ClassVar[bool] = False
    """Whether a caller passes sizes beside the arrays, so that no array must have them."""

    def __post_init__(self) -> None:
        what = self.subject
        if self.meant and (len(self.meant) != len(self.symbols) or not all(isinstance(s, Size) for s in self.meant_sizes)):
            raise ValueError(f"{what} has {len(self.symbols)} symbols and says what {len(self.meant)} are")
        for kind, names in (("parameters", [param.name for param in self.params]), ("symbols", self.symbols)):
            if self.is_kernel and len(set(names)) != len(names):
                raise ValueError(f"{what} has two {kind} of one name: {', '.join(names)}")
            if self.is_kernel and THREADS in names and kind == "parameters":
                raise ValueError(f"{what} has a parameter '{THREADS}', a keyword of every call: rename it")
        if not 0 <= self.heavy < 1 << 63:
            raise ValueError(f"{what} is heavy from {self.heavy} elements: not a 64-bit size")
        bound, used = _symbols(self.arrays), _symbols((*self.results, *self.temporaries))
        if unknown := [use for use in bound | used if not 0 <= use < len(self.symbols)]:
            raise ValueError(f"{what} has {len(self.symbols)} symbols and uses number {max(unknown, key=abs)}")
        for index, symbol in enumerate(self.symbols):
            is_derived = bool(self.meant) and not is_symbol(self.meant_sizes[index])
            if index not in bound and not is_derived and not self.sizes_are_given:
                raise ValueError(f"{what}: no size or stride of an argument gives the symbol '{symbol}'")
        if not self.is_kernel and any(param.writes for param in self.arrays):
            raise ValueError(f"{what} is a program and writes an argument")
        for result, arg in self.donations:
            name = self.results[result].name
            if self.params[arg] != replace(self.results[result], name=self.params[arg].name):
                raise ValueError(f"{what} has a donation to '{name}' of another type")

    @cached_property
    def meant_sizes(self) -> tuple[Any, ...]:
        """The definition of each symbol; empty if calls bind all of them, without bounds."""
        return tuple(map(read, self.meant))

    @property
    def subject(self) -> str:
        """The name of the callee in messages."""
        return f"kernel '{self.name}'" if self.is_kernel else f"{self.name}()"

    @cached_property
    def arrays(self) -> tuple[ArrayParam, ...]:
        """The arrays among the parameters."""
        return tuple([param for param in self.params if isinstance(param, ArrayParam)])

    @property
    def threads_slot(self) -> int:
        """Index of the `threads` word."""
        return len(self.params) + len(self.symbols)

    @property
    def status_slot(self) -> int:
        """Index of the first word of status."""
        return self.threads_slot + 1

    @property
    def results_slot(self) -> int:
        """Index of the first result."""
        return self.status_slot + STATUS_WORDS

    @property
    def slots(self) -> int:
        """Number of words; the arena is the last."""
        return self.results_slot + len(self.results) + len(self.temporaries) + 1

    @property
    def heavy_elements(self) -> int:
        """From how many elements of arguments a call releases the GIL, `work` taken into account."""
        if self.work is None:
            return self.heavy
        return 0 if self.work >= RELEASE_GIL_WORK else (1 << 63) - 1

    def to_json(self) -> str:
        """The signature as JSON text."""
        return json.dumps(
            {
                "name": self.name,
                "params": _params_to_data(self.params),
                "results": _params_to_data(self.results),
                "arena_bytes": self.arena_bytes,
                "work": self.work,
                "donations": self.donations,
                "symbols": self.symbols,
                "heavy": self.heavy,
                "temporaries": _params_to_data(self.temporaries),
                "is_kernel": self.is_kernel,
                "meant": self.meant,
                "effects": [site.to_data() for site in self.effects],
                "stops": self.stops,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Signature:
        """The inverse of `to_json`; any fault in the text raises ValueError."""
        try:
            data = json.loads(text)
            return cls(
                _expect(str, data["name"]),
                _params_from_data(data["params"]),
                _results_from_data(data["results"]),
                _expect(int, data["arena_bytes"]),
                data["work"] if data["work"] is None else _expect(int, data["work"]),
                tuple([(_expect(int, result), _expect(int, arg)) for result, arg in data["donations"]]),
                tuple([_expect(str, symbol) for symbol in _expect(list, data["symbols"])]),
                _expect(int, data["heavy"]),
                _results_from_data(data["temporaries"]),
                _expect(bool, data["is_kernel"]),
                tuple([_expect(str, text) for text in _expect(list, data["meant"])]),
                tuple([Site.from_data(site) for site in _expect(list, data["effects"])]),
                _expect(bool, data["stops"]),
            )
        except (KeyError, IndexError, TypeError, RecursionError) as error:
            raise ValueError(f"not a signature: {error}") from None

    def __str__(self) -> str:
        params = ", ".join(f"{p.name}: {'inout ' if _writes(p) else ''}{p.spell(self.symbols)}" for p in self.params)
        results = ", ".join(p.spell(self.symbols) for p in self.results)
        if self.is_kernel:
            return f"{self.name}({params})"
        return f"{self.name}({params}) -> {results if len(self.results) == 1 else f'({results})'}"


class GivenSizes(Signature):
    """The signature of a callee with its sizes as separate arguments, as from C."""

    sizes_are_given = True


def _symbols(params: Sequence[ArrayParam]) -> set[int]:
    dims = (dim for param in params for dim in (*param.dims, *(param.strides or ())))
    return {dim.symbol for dim in dims if dim.symbol is not None}


def _writes(param: Param) -> bool:
    return isinstance(param, ArrayParam) and param.writes


def _params_to_data(params: Sequence[Param]) -> list[dict[str, Any]]:
    """Parameters as JSON data."""
    return [_param_to_data(param) for param in params]


def _param_to_data(param: Param) -> dict[str, Any]:
    data: dict[str, Any] = {"name": param.name, "dtype": param.dtype}
    if isinstance(param, ScalarParam):
        return data
    strides = param.strides if param.strides is None else [[d.symbol, d.constant] for d in param.strides]
    return data | {"dims": [[d.symbol, d.constant] for d in param.dims], "writes": param.writes, "strides": strides}


def _params_from_data(data: Any) -> tuple[Param, ...]:
    """The inverse of `_params_to_data`; a fault raises ValueError, KeyError or TypeError."""
    return tuple([_param_from_data(param) for param in _expect(list, data)])


def _results_from_data(data: Any) -> tuple[ArrayParam, ...]:
    """The same, of contiguous arrays."""
    params = [_expect(ArrayParam, param) for param in _params_from_data(data)]
    for param in params:
        if param.writes or param.strides is not None:
            raise ValueError(f"not a signature: a call makes no '{param.name}' like this")
    return tuple(params)


def _param_from_data(data: Any) -> Param:
    name, dtype = _expect(str, _expect(dict, data)["name"]), _expect(str, data["dtype"])
    if "dims" not in data:
        return ScalarParam(name, dtype)
    strides = data["strides"] if data["strides"] is None else _dims_from_data(data["strides"])
    return ArrayParam(name, dtype, _dims_from_data(data["dims"]), _expect(bool, data["writes"]), strides)


def _dims_from_data(data: Any) -> tuple[Dim, ...]:
    dims = []
    for pair in _expect(list, data):
        if len(_expect(list, pair)) != 2:
            raise ValueError(f"not a signature: expected a symbol and a constant, got {pair!r}")
        symbol, constant = pair
        dims.append(Dim(symbol if symbol is None else _expect(int, symbol), _expect(int, constant)))
    return tuple(dims)


def _expect(kind: type, value: Any) -> Any:
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


def describe(value: Any) -> str:
    """The type of a value, in the same spelling; anything but an array or NumPy scalar by the name of its type."""
    if issubclass(type(value), np.ndarray | np.generic):
        dtype = value.dtype
        name = dtype.name if dtype.isnative else f"{dtype.name} (byte-swapped)"
        return describe_type(name, value.shape)
    return type(value).__name__
