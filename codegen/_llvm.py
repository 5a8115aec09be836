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
