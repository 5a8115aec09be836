"""Python functions whose repeated calls go from CPython to the code that runs them without the interpreter.

A function keeps a table from the key of a call (`codegen/entry_dispatch.py`) to a Python callable of the same arguments. Native
code makes the key, looks it up and calls; calls that it does not find, and all calls while the gate is closed, go to the Python
function. Where there is no native entry, all calls do.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from typing import Any

from . import abi
from .callable import FunctionBase, function_class
from .executable import Loaded

MOST_CALLS = 1024
"""Calls that a function keeps."""


class Gate:
    """The gate: a number that must equal the one under which a call was recorded. It is 0 while no call may be served.

    Attributes:
        number: that of the state of the process, were no one in the way.
    """

    def __init__(self) -> None:
        self._word = ctypes.c_int64(1)
        self._lock = threading.Lock()
        self._inside = 0
        self.number = 1
        self.address = ctypes.addressof(self._word)

    def close(self) -> None:
        """Serve no call until `open` was called as often."""
        with self._lock:
            self._inside += 1
            self._word.value = 0

    def open(self) -> None:
        """Ends the block that `close` began."""
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._word.value = self.number

    def change(self, number: int) -> None:
        """Serve only calls recorded under a number; 0 is none."""
        with self._lock:
            self.number = number
            if not self._inside:
                self._word.value = number


gate = Gate()


class _Table:
    """An open-addressing table in memory that native code reads, and the references to the objects in it."""

    def __init__(self, number: int, capacity: int):
        self.number = number
        self.size = 0
        self._capacity = capacity
        self._slots = (ctypes.c_int64 * (capacity * abi.SLOT_BYTES // 8))()
        self.memory = (ctypes.c_int64 * (abi.TABLE_BYTES // 8))(
            gate.address, number, capacity - 1, ctypes.addressof(self._slots)
        )
        self._entries: list[tuple[bytes, Any, Callable[..., Any], Any]] = []
        self._of: dict[bytes, int] = {}

    def add(self, key: bytes, keeps: Any, run: Callable[..., Any]) -> None:
        word = abi.SLOT_RUN // 8
        if (known := self._of.get(key)) is not None:  # the one before stays: other threads may be in it
            self._entries.append((key, keeps, run, None))
            self._slots[known + word] = id(run)
            return
        words = ctypes.create_string_buffer(key[8:], len(key) - 8)
        hash = int.from_bytes(key[:8], sys.byteorder)
        step = abi.SLOT_BYTES // 8
        index = hash % self._capacity
        while self._slots[index * step + word]:
            index = (index + 1) % self._capacity
        fields = {abi.SLOT_HASH: hash, abi.SLOT_COUNT: len(key) // 8 - 1, abi.SLOT_WORDS: ctypes.addressof(words)}
        for offset, value in fields.items():
            self._slots[index * step + offset // 8] = value - (1 << 64) if value >> 63 else value
        self._entries.append((key, keeps, run, words))
        self.size += 1
        self._of[key] = index * step
        self._slots[index * step + word] = id(run)  # last: native code of other threads may look

    @property
    def is_full(self) -> bool:
        return 2 * self.size >= self._capacity

    def larger(self) -> _Table:
        """The same entries in twice as many slots."""
        table = _Table(self.number, 2 * self._capacity)
        for key, keeps, run, _ in self._entries:
            table.add(key, keeps, run)
        return table


class DispatchedBase(FunctionBase):
    """A function of Python, of which `serve` lets calls be run by others."""

    __slots__ = ()
    _keep: tuple[Any, ...]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._slow(*args, **kwargs)

    def serve(self, entry: Loaded, key: bytes, keeps: Any, run: Callable[..., Any], number: int) -> None:
        """Let calls of a key be run by `run`, with keyword arguments after the others.

        Args:
            entry: the native entry.
            key: the result of `key_of` for such a call.
            keeps: holds all objects whose address is in the key.
            number: that of the gate when the call was recorded.
        """
        with _serving:
            table: _Table | None = self._keep[0] if self._keep else None
            if table is None or table.number != number or table.size >= MOST_CALLS:
                table = _Table(number, 16)
            elif table.is_full:
                table = table.larger()
            table.add(key, keeps, run)
            if self._keep and table is self._keep[0]:
                return
            # native code holds no table while Python runs: the old one may be freed once the new one has replaced it
            ctypes.c_size_t.from_address(id(self) + abi.CALLABLE_HEAD).value = ctypes.addressof(table.memory)
            self._keep = (table,)
            ctypes.c_size_t.from_address(id(self) + abi.CALLABLE_VECTORCALL).value = entry.address("lamina.dispatch")

    def forget(self) -> None:
        """Let the Python function run all calls again."""
        with _serving:
            self._disconnect()
            self._keep = ()

    def __reduce__(self) -> str:
        return getattr(self, "__qualname__")  # noqa: B009  set as on any function


_serving = threading.RLock()

Dispatched: type[DispatchedBase] = function_class(DispatchedBase)


def key_of(entry: Loaded) -> Callable[..., bytes | None]:
    """A function that returns the key of a call, or None if it has none."""
    made = Dispatched(lambda *args, **kwargs: None)
    made._keep = (entry,)
    ctypes.c_size_t.from_address(id(made) + abi.CALLABLE_VECTORCALL).value = entry.address("lamina.key")
    return made
