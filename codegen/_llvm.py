"""llvmlite, imported on first use (0.15 s) and initialised once."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

_lock = threading.Lock()


def llvm() -> Any:
    """`llvmlite.binding`, ready to generate code for the host."""
    with _lock:
        return _native()


def llvm_with_all_targets() -> Any:
    """`llvmlite.binding`, ready to generate code for every target."""
    with _lock:
        return _all()


def unlocked(name: str) -> Any:
    """A function of llvmlite's C interface, without the lock that lets one thread at a time into LLVM.

    LLVM itself asks only that threads work in different contexts. Meant for what takes long.
    """
    return getattr(llvm().ffi.lib._lib, name)


@cache
def _native() -> Any:
    import llvmlite.binding as binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


@cache
def _all() -> Any:
    binding = _native()
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding


@cache
def versions() -> str:
    """What machine code depends on beside its IR and target, as text: part of every cache key."""
    import llvmlite

    return f"llvmlite {llvmlite.__version__}"
