"""Machine code in this process with its signature: called through ctypes here, and through the native entry by its node."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any, Protocol

import numpy as np

from ..dialects.sizes.binding import Dim
from . import abi, prints
from .arguments import Prepared, accepts, prepare
from .array import empty
from .arrays import Array, address
from .effects import RAISED, Functions, Table, raise_pending
from .results import fits, may_overwrite, result_shapes
from .signature import DTYPES, STATUS_WORDS, THREADS, ArrayParam, Param, Signature


class Loaded(Protocol):
    """Machine code in this process, which stays while this object lives."""

    def address(self, symbol: str) -> int: ...


OUT = sys.intern("out")
"""The keyword with arrays for the results: native code knows it by its address."""
_THREADS = sys.intern(THREADS)

Failed = Callable[[tuple[int, ...]], Any]
"""Gets the four words of status of a kernel that failed, and raises."""


NO_MEMORY = -1
"""The status of code that got no memory from the system."""


@dataclass(frozen=True, eq=False)
class Executable:
    """A host function or kernel in this process, and the references that keep it loaded.

    Attributes:
        library: holds the code.
        host: the function that is called, through `@<host>.invoke`; by default of the signature's name.
        entry: the loaded module of `codegen.entry.entry_module`, or None to call through ctypes.
        takes_out: whether the keyword `out` accepts arrays for the results.
        failed: raises for a status that is not zero; without it, or if it returns, a RuntimeError is raised.
        functions: the Python functions of its callbacks, by name.
    """

    signature: Signature
    library: Loaded
    host: str | None = None
    entry: Loaded | None = None
    takes_out: bool = True
    failed: Failed | None = None
    functions: Functions = field(default_factory=dict)

    def accepts(self, args: Sequence[object], out: object = None) -> bool:
        """Whether machine code can take the arguments as they are, and write into `out`: one array, or a tuple of several."""
        sizes = accepts(self.signature, args)
        if sizes is None or out is None:
            return sizes is not None
        results = out if isinstance(out, tuple) else (out,)
        return self.has_out and fits(self.signature, args, results, sizes)

    @property
    def has_out(self) -> bool:
        """Whether a call may pass arrays for the results."""
        return self.takes_out and not self.signature.is_kernel

    def node(self, following: Node | None) -> Node:
        """A new member of a chain."""
        return Node(self, following)

    def run(self, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> Any:
        """Check and convert the arguments and call through ctypes; one array, a tuple of them, or None."""
        named = dict(kwargs or {})
        out = named.pop(OUT, None) if self.has_out else None
        prepared = prepare(self.signature, args, named)
        if out is not None:
            results = list(out) if isinstance(out, tuple) else [out]
        else:
            shapes = result_shapes(self.signature, prepared.sizes)
            results: list[Any] = [empty(shape, p.np_dtype) for shape, p in zip(shapes, self.signature.results, strict=False)]
            for result, arg in self.signature.donations:
                donor = prepared.values[arg]
                if may_overwrite(donor, [value for k, value in enumerate(prepared.values) if k != arg]):
                    results[result] = donor
        self._call(prepared, results)
        return results[0] if len(results) == 1 else tuple(results) if results else None

    def run_into(self, args: Sequence[Array], results: Sequence[Array]) -> None:
        """The same, into given arrays. These are not checked: a wrong array corrupts memory."""
        self._call(prepare(self.signature, args, {}), results)

    def _call(self, prepared: Prepared, results: Sequence[Array]) -> None:
        signature, slots = self.signature, prepared.slots
        shapes = result_shapes(signature, prepared.sizes)[len(results) :]
        sized = zip(shapes, signature.temporaries, strict=True)
        temporaries = [_aligned(prod(shape) * param.np_dtype.itemsize) for shape, param in sized]
        arena = _aligned(signature.arena_bytes)
        for k, array in enumerate([*results, *temporaries, arena]):
            slots[signature.results_slot + k] = address(array)
        slots[signature.status_slot + 1] = self.table
        self._invoke(slots)
        prepared.write_back()
        status = slots[signature.status_slot : signature.status_slot + STATUS_WORDS]
        if status[0]:
            self.fail(*status)

    def fail(self, *status: int) -> None:
        """Raise for the words of status."""
        if status[0] == RAISED:
            raise_pending()
        if status[0] == prints.RAISED:
            prints.raise_pending()
        if self.failed is not None:
            self.failed(status)
        if status[0] == NO_MEMORY:
            raise MemoryError(f"{self.signature.subject} got no memory for local arrays of its kernels")
        facts = ", ".join(map(str, status[1:]))
        raise RuntimeError(f"{self.signature.subject} stopped with status {status[0]} ({facts})")

    @property
    def table(self) -> int:
        """The number by which machine code names the table of its effects; 0 if it has none."""
        return self._table.number if self.signature.effects else 0

    @cached_property
    def _table(self) -> Table:
        return Table(self.signature.effects, self.functions)

    @property
    def symbol(self) -> str:
        """The function of the library that is called with slots."""
        return abi.invoke_symbol(self.signature.name if self.host is None else self.host)

    @property
    def sizes_symbol(self) -> str:
        """The function of the library that completes the symbols of a call."""
        return abi.sizes_symbol(self.signature.name if self.host is None else self.host)

    @cached_property
    def _invoke(self) -> Callable[..., None]:
        return _INVOKE(self.library.address(self.symbol))


_INVOKE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # releases the GIL


def _aligned(size: int) -> Array:
    """Memory that begins at a cache line."""
    memory = np.empty(size + 64, np.uint8)
    return memory[-address(memory) % 64 :]


class Node:
    """The struct of one specialization in the chain of a function (`abi.py`), and all that it points to."""

    def __init__(self, executable: Executable, following: Node | None):
        self.executable = executable
        self.memory = (ctypes.c_int64 * (abi.NODE_BYTES // 8))()
        self.failed = executable.fail
        self.following = following
        self.tables: list[ctypes.Array[ctypes.c_int64]] = []
        if executable.entry is not None:
            self._fill(executable, executable.entry)

    def _fill(self, executable: Executable, entry: Loaded) -> None:
        signature = executable.signature
        params = (*signature.params, *signature.results, *signature.temporaries)
        donors = {len(signature.params) + result: arg for result, arg in signature.donations}
        self.params = (ctypes.c_int64 * max(1, abi.PARAM_BYTES // 8 * len(params)))()
        for index, param in enumerate(params):
            for offset, value in self._param(signature, param, donors.get(index, -1)).items():
                self.params[(index * abi.PARAM_BYTES + offset) // 8] = value
        fields = {
            abi.NODE_FUNCTION: entry.address("lamina.entry"),
            abi.NODE_NEXT: ctypes.addressof(self.following.memory) if self.following else 0,
            abi.NODE_INVOKE: executable.library.address(executable.symbol),
            abi.NODE_PARAMS: ctypes.addressof(self.params),
            abi.NODE_ARGS: len(signature.params),
            abi.NODE_SYMBOLS: len(signature.symbols),
            abi.NODE_RESULTS: len(signature.results),
            abi.NODE_TEMPORARIES: len(signature.temporaries),
            abi.NODE_SLOTS: signature.slots,
            abi.NODE_WRITES: any(param.writes for param in signature.arrays),
            abi.NODE_HEAVY: signature.heavy_elements,
            abi.NODE_ARENA_BYTES: signature.arena_bytes,
            abi.NODE_OUT_NAME: id(OUT) if executable.has_out and signature.results else 0,
            abi.NODE_THREADS_NAME: id(_THREADS) if signature.is_kernel else 0,
            abi.NODE_FAILED: id(self.failed),
            abi.NODE_TABLE: executable.table,
            abi.NODE_SIZES: executable.library.address(executable.sizes_symbol) if signature.meant else 0,
        }
        for offset, value in fields.items():
            self.memory[offset // 8] = value

    def _param(self, signature: Signature, param: Param, donor: int) -> dict[int, int]:
        dtype = DTYPES[param.dtype]
        shift = dtype.itemsize.bit_length() - 1
        if not isinstance(param, ArrayParam):
            return {abi.PARAM_KIND: abi.KINDS[param.kind], abi.PARAM_TYPE: id(dtype.type), abi.PARAM_SHIFT: shift}
        layout = abi.ALIGNED if param.strides is not None else abi.C_CONTIGUOUS_AND_ALIGNED
        return {
            abi.PARAM_KIND: abi.KIND_ARRAY,
            abi.PARAM_TYPE: id(dtype),
            abi.PARAM_RANK: len(param.dims),
            abi.PARAM_FLAGS: layout | (abi.WRITEABLE if param.writes else 0),
            abi.PARAM_WRITES: param.writes,
            abi.PARAM_SHIFT: shift,
            abi.PARAM_DIMS: self._dims(signature, param.dims),
            abi.PARAM_STRIDES: 0 if param.strides is None else self._dims(signature, param.strides),
            abi.PARAM_DONOR: donor,
            abi.PARAM_SHAPE: self._table(param.shape) if param.is_static else 0,
            abi.PARAM_ELEMENTS: param.size if param.is_static else 0,
        }

    def _dims(self, signature: Signature, dims: Sequence[Dim]) -> int:
        first = len(signature.params)
        return self._table([x for dim in dims for x in (-1 if dim.symbol is None else first + dim.symbol, dim.constant)])

    def _table(self, numbers: Sequence[int]) -> int:
        table = (ctypes.c_int64 * max(1, len(numbers)))(*numbers)
        self.tables.append(table)
        return ctypes.addressof(table)
