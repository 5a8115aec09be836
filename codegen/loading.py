"""Loads object files into this process: one ORC instance, one library per object."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from ..errors import CompileError
from ._llvm import llvm, lock_across_forks
from .compile import target_machine
from .partition import separated
from .targets.host import detect

_lock = lock_across_forks()
_numbers = itertools.count()


class Library:
    """Loaded machine code. It stays loaded while this object lives: whoever keeps an address keeps the library.

    Functions made by `function` keep it by themselves.
    """

    def __init__(self, tracker: Any, addresses: dict[str, int]):
        self._tracker = tracker
        self._addresses = addresses

    def address(self, symbol: str) -> int:
        """Where an exported symbol was loaded."""
        return self._addresses[symbol]

    @property
    def symbols(self) -> tuple[str, ...]:
        """The exported symbols."""
        return tuple(self._addresses)

    def function(self, symbol: str, result: Any, *arguments: Any) -> Any:
        """An exported function as a ctypes function, which releases the GIL when called."""
        function = ctypes.CFUNCTYPE(result, *arguments)(self._addresses[symbol])
        setattr(function, "library", self)  # noqa: B010
        return function


def link(obj: bytes, exports: Sequence[str], imports: Mapping[str, int]) -> Library:
    """Link an object file into the process, as `jit.load_object`, with all that it imports."""
    binding = llvm()
    builder = binding.JITLibraryBuilder().add_current_process()
    for part in separated(obj):
        builder.add_object_img(part)
    for name, address in imports.items():
        builder.import_symbol(name, address)
    for name in exports:
        builder.export_symbol(name)
    with _lock:
        jit = _jit()
        # the name of a library can never be used again, not even after a failure
        try:
            tracker = builder.link(jit, f"lamina.{next(_numbers)}")
        except RuntimeError as error:
            raise CompileError(f"cannot link: {_explain(str(error).strip())}") from None
    return Library(tracker, {name: tracker[name] for name in exports})


def _explain(message: str) -> str:
    if message.startswith("Failed to materialize"):  # LLVM keeps to itself which one
        return f"a symbol that the object needs is neither imported nor in the process ({message})"
    return message


@cache
def _jit() -> Any:
    # lives as long as the process: unloading at exit would race with threads still running its code.
    # JITLink allocates an object at once; RuntimeDyld, which is the default, allocates code and constants separately and aborts
    # where 32 bits do not reach from one to the other
    return llvm().create_lljit_compiler(target_machine(detect()), use_jit_link=True, suppress_errors=True)
