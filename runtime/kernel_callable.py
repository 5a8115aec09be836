"""Kernels as callable objects: `KernelFunction(executable)` runs in place on NumPy arrays.

>>> saxpy(2.0, x, y)                      # doctest: +SKIP
>>> saxpy(2.0, x, y, threads=4)           # doctest: +SKIP

A call with arguments that fit goes through `kernel_entry.py` into machine code; all others are converted or refused in
Python (`kernel_arguments.py`) and run through ctypes. A `KernelExecutable` may also be installed in any `NativeFunction`,
whose slow path then decides what becomes of arguments that do not fit.
"""

from __future__ import annotations

import ctypes
import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from . import abi
from .callable import FunctionBase, Loaded, NativeFunction, Node, function_class
from .entry import invoke_symbol
from .kernel_arguments import accepts, bound, prepare
from .kernel_entry import KIND_ARRAY, KINDS
from .kernel_signature import STATUS_WORDS, THREADS, KernelSignature
from .signature import DTYPES, ArrayParam, Dim, Param

Failed = Callable[[tuple[int, ...]], Any]
"""Gets the four words of status of a kernel that failed, and raises."""


@dataclass(frozen=True, eq=False)
class KernelExecutable:
    """A kernel in this process, and what keeps it there.

    `library` holds the code; `entry` is the loaded module of `kernel_entry.kernel_entry_module()`, or None to call through
    ctypes. `failed` raises for a status that is not zero; without it, or if it returns, a RuntimeError is raised.
    """

    signature: KernelSignature
    library: Loaded
    entry: Loaded | None = None
    failed: Failed | None = None

    def accepts(self, args: Sequence[object]) -> bool:
        """Whether machine code can take the arguments as they are."""
        return accepts(self.signature, args)

    def run(self, args: Sequence[object], kwargs: Mapping[str, object] | None = None) -> None:
        """Check and convert the arguments and call through ctypes, which releases the GIL."""
        prepared = prepare(self.signature, args, kwargs or {})
        self._invoke(prepared.slots)
        prepared.write_back()
        status = prepared.slots[self.signature.status_slot : self.signature.status_slot + STATUS_WORDS]
        if status[0]:
            self.fail(*status)

    def node(self, following: Node | None) -> Node:
        """A new member of a chain."""
        return _KernelNode(self, following)

    def fail(self, *status: int) -> None:
        """Raise for the words of status."""
        if self.failed is not None:
            self.failed(status)
        facts = ", ".join(map(str, status[1:]))
        raise RuntimeError(f"kernel '{self.signature.name}' stopped with status {status[0]} ({facts})")

    @cached_property
    def _invoke(self) -> Callable[..., None]:
        return _INVOKE(self.library.address(invoke_symbol(self.signature.name)))


_INVOKE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _KernelNode:
    """The struct of one kernel, and all that it points to."""

    def __init__(self, executable: KernelExecutable, following: Node | None):
        self.executable = executable
        self.memory = (ctypes.c_size_t * (abi.KERNEL_BYTES // 8))()
        self.failed = executable.fail
        if executable.entry is not None:
            self._fill(executable.signature, executable.entry, following)

    def _fill(self, signature: KernelSignature, entry: Loaded, following: Node | None) -> None:
        self.following = following
        self.dims: list[ctypes.Array[ctypes.c_int64]] = []
        self.params = (ctypes.c_int64 * max(1, abi.KPARAM_BYTES // 8 * len(signature.params)))()
        for index, param in enumerate(signature.params):
            for offset, value in self._param(signature, param).items():
                self.params[(index * abi.KPARAM_BYTES + offset) // 8] = value
        fields = {
            abi.NODE_FUNCTION: entry.address("lamina.kernel"),
            abi.NODE_NEXT: ctypes.addressof(following.memory) if following else 0,
            abi.KERNEL_INVOKE: self.executable.library.address(invoke_symbol(signature.name)),
            abi.KERNEL_FAILED: id(self.failed),
            abi.KERNEL_PARAMS: ctypes.addressof(self.params),
            abi.KERNEL_COUNT: len(signature.params),
            abi.KERNEL_SYMBOLS: len(signature.symbols),
            abi.KERNEL_HEAVY: signature.heavy,
            abi.KERNEL_THREADS_NAME: id(_THREADS),
        }
        for offset, value in fields.items():
            self.memory[offset // 8] = value

    def _param(self, signature: KernelSignature, param: Param) -> dict[int, int]:
        dtype = DTYPES[param.dtype]
        shift = dtype.itemsize.bit_length() - 1
        if not isinstance(param, ArrayParam):
            return {abi.KPARAM_KIND: KINDS[param.kind], abi.KPARAM_TYPE: id(dtype.type), abi.KPARAM_SHIFT: shift}
        layout = abi.ALIGNED if param.strides is not None else abi.C_CONTIGUOUS_AND_ALIGNED
        return {
            abi.KPARAM_KIND: KIND_ARRAY,
            abi.KPARAM_TYPE: id(dtype),
            abi.KPARAM_RANK: len(param.dims),
            abi.KPARAM_FLAGS: layout | (abi.WRITEABLE if param.writes else 0),
            abi.KPARAM_WRITES: param.writes,
            abi.KPARAM_SHIFT: shift,
            abi.KPARAM_DIMS: self._table(signature, param.dims),
            abi.KPARAM_STRIDES: 0 if param.strides is None else self._table(signature, param.strides),
        }

    def _table(self, signature: KernelSignature, dims: Sequence[Dim]) -> int:
        table = (ctypes.c_int64 * max(1, abi.KDIM_BYTES // 8 * len(dims)))()
        for index, dim in enumerate(dims):
            at = index * abi.KDIM_BYTES
            table[(at + abi.KDIM_SLOT) // 8] = -1 if dim.symbol is None else len(signature.params) + dim.symbol
            table[(at + abi.KDIM_CONSTANT) // 8] = dim.constant
        self.dims.append(table)
        return ctypes.addressof(table)


_THREADS = sys.intern(THREADS)


class KernelBase(FunctionBase):
    """A compiled kernel, called with arrays and scalars by position or by name: it writes arrays in place and returns None.

    `threads=` says how many threads it may use. Arrays must have exactly the element types and ranks of the signature, and
    sizes that agree. They may lie in memory in any way: what machine code cannot use in place is copied, and copied back
    if it is written. Scalars are converted to the parameter's type.
    """

    __slots__ = ()

    def __init__(self, executable: KernelExecutable, failed: Failed | None = None):
        if failed is not None:
            executable = dataclasses.replace(executable, failed=failed)

        # These refer to the executable, not to this object: no cycle delays its end, and nothing can recurse.
        def slow(*args: object, **kwargs: object) -> None:
            executable.run(args, kwargs)

        inner: Callable[..., None] = slow
        if executable.entry is not None:
            inner = NativeFunction(slow)
            inner.install(executable)

        def convert(*args: object, **kwargs: object) -> None:
            if not kwargs:
                return slow(*args)
            values, threads = bound(executable.signature, args, kwargs)  # what is given by name may fit as it is
            return inner(*values, threads=threads) if threads else inner(*values)

        super().__init__(convert)
        self.install(executable)
        self.__name__ = executable.signature.name

    @property
    def executable(self) -> KernelExecutable:
        """The kernel."""
        return self._keep[0].executable

    @property
    def signature(self) -> KernelSignature:
        """Parameters and symbols."""
        return self.executable.signature


KernelFunction: type[KernelBase] = function_class(KernelBase)
