"""Object files into this process: one ORC instance, one library per object."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from ..errors import CompileError
from ._llvm import llvm, lock_across_forks
from .compile import target_machine
from .parts import separated
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


def load_object(obj: bytes, symbols: Iterable[str], imports: Mapping[str, int] | None = None) -> Library:
    """Link an object file into the process.

    Args:
        obj: What `compile_object` or `compile_parts` returned for the host.
        symbols: The symbols whose addresses are wanted.
        imports: Addresses of symbols that the object leaves undefined; symbols of the process (libc, libm) need not
            be listed.

    Raises:
        CompileError: The object is damaged, or a symbol is missing.
    """
    exports = list(symbols)
    binding = llvm()
    builder = binding.JITLibraryBuilder().add_current_process()
    for part in separated(obj):
        builder.add_object_img(part)
    for name, address in {**_threads(obj, exports), **(imports or {})}.items():
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


def _threads(obj: bytes, exports: list[str]) -> Mapping[str, int]:
    """The thread runtime, which is loaded when the first object with a parallel loop is."""
    if b"lamina_parallel" not in obj or "lamina_parallel" in exports:
        return {}
    from .parallel import imports

    return imports()


def _explain(message: str) -> str:
    if message.startswith("Failed to materialize"):  # LLVM keeps to itself which one
        return f"a symbol that the object needs is neither imported nor in the process ({message})"
    return message


@cache
def _jit() -> Any:
    # lives as long as the process: unloading at exit would race with threads still running its code
    return llvm().create_lljit_compiler(target_machine(detect()), suppress_errors=True)
