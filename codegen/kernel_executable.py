"""LLVM IR text and a kernel's signature to an executable: compiled, or taken from the cache, and loaded.

>>> import numpy as np
>>> from lamina.runtime.kernel_callable import KernelFunction
>>> from lamina.runtime.kernel_signature import KernelSignature
>>> from lamina.runtime.signature import ArrayParam, Dim, ScalarParam
>>> text = '''define void @first.invoke(ptr %slots) {
...   %value = load float, ptr %slots
...   %x.at = getelementptr i64, ptr %slots, i64 1
...   %x = load ptr, ptr %x.at
...   store float %value, ptr %x
...   ret void
... }'''
>>> params = (ScalarParam("value", "float32"), ArrayParam("x", "float32", (Dim(0, 1),), writes=True))
>>> signature = KernelSignature("first", params, ("N",))
>>> first = KernelFunction(load_kernel(signature, kernel_object(text)))
>>> x = np.zeros(3, np.float32)
>>> first(2.5, x)
>>> x
array([2.5, 0. , 0. ], dtype=float32)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from ..errors import CompileError
from ..runtime import abi
from ..runtime.entry import invoke_symbol
from ..runtime.kernel_callable import KernelExecutable
from ..runtime.kernel_entry import KERNEL_ENTRY_SYMBOLS, kernel_entry_module
from ..runtime.kernel_signature import KernelSignature
from . import cache as object_cache
from .compile import compile_object
from .jit import Library, load_object
from .parts import compile_parts
from .targets import Target
from .targets.host import detect


def kernel_object(text: str, target: Target | None = None) -> bytes:
    """Compile a module that defines `@<kernel>.invoke`, ready for `load_kernel`: the bytes are what a cache keeps."""
    return compile_parts(text, target)


def load_kernel(signature: KernelSignature, obj: bytes) -> KernelExecutable:
    """Load what `kernel_object` returned into this process."""
    library = load_object(obj, [invoke_symbol(signature.name)])
    return KernelExecutable(signature, library, native_kernel_entry() if abi.native_calls() else None)


def cached_kernel(key: str, make: Callable[[], tuple[KernelSignature, str]], target: Target | None = None) -> KernelExecutable:
    """The executable kept on disk under `key`, or else the one that `make` returns as a signature and LLVM IR text.

    `key` (from `cache.key_of`) must cover all that the text depends on, the target's `key` included.
    """
    kept = _kept_kernel(key)
    if kept is not None:
        return kept
    signature, text = make()
    obj = kernel_object(text, target)
    object_cache.put(key, obj, {"kernel": signature.to_json()})
    return load_kernel(signature, obj)


def _kept_kernel(key: str) -> KernelExecutable | None:
    found = object_cache.get(key)
    if found:
        try:
            return load_kernel(KernelSignature.from_json(found.meta["kernel"]), found.obj)
        except (CompileError, ValueError, KeyError, TypeError):
            pass  # not what `cached_kernel` writes: a miss
    return None


@dataclass(frozen=True)
class Known:
    """What is kept of a kernel that is found by what decides it: the key of its object, and what its checks say."""

    key: str
    checks: tuple[str, ...]


def find_known(key: str) -> tuple[Known, KernelExecutable] | None:
    """What was kept under a key by `remember`, with its kernel; None if either is missing."""
    found = object_cache.get(key)
    if found is None:
        return None
    kept, checks = found.meta.get("kept"), found.meta.get("checks")
    if not isinstance(kept, str) or not isinstance(checks, list) or not all(isinstance(text, str) for text in checks):
        return None
    executable = _kept_kernel(kept)
    return None if executable is None else (Known(kept, tuple(checks)), executable)


def remember(key: str, known: Known) -> None:
    """Keep under a key where a kernel is found."""
    object_cache.put(key, b"", {"kept": known.key, "checks": list(known.checks)})


@cache
def native_kernel_entry() -> Library:
    """The entry that all kernels share: compiled once, then from the cache."""
    text = kernel_entry_module()
    key = object_cache.key_of("native entry of kernels", text, detect().key)
    found = object_cache.get(key)
    if found:
        try:
            return load_object(found.obj, KERNEL_ENTRY_SYMBOLS, abi.symbols())
        except CompileError:
            pass
    obj = compile_object(text, detect())
    object_cache.put(key, obj)
    return load_object(obj, KERNEL_ENTRY_SYMBOLS, abi.symbols())
