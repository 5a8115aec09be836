"""LLVM IR text and a signature to an executable: compiled, or taken from the cache, and loaded.

>>> import numpy as np
>>> from lamina.runtime.callable import Compiled
>>> from lamina.runtime.signature import ArrayParam, Signature
>>> text = '''
... define void @f(ptr noalias %x, ptr noalias %y, ptr noalias %arena) {
...   %a = load <4 x float>, ptr %x, align 4
...   %b = fmul <4 x float> %a, splat (float 2.0)
...   store <4 x float> %b, ptr %y, align 4
...   ret void
... }'''
>>> vector = ArrayParam.of_shape("x", "float32", (4,))
>>> signature = Signature("f", (vector,), (vector,))
>>> twice = Compiled(load_executable(signature, object_for(signature, text)))
>>> twice(np.arange(4, dtype=np.float32))
array([0., 2., 4., 6.], dtype=float32)
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from ..errors import CompileError
from ..runtime import abi, effects, pool
from ..runtime.executable import Executable
from ..runtime.signature import Signature
from . import cache as object_cache
from .compile import compile_object
from .partition import Ahead, compile_parts
from .targets import Target
from .targets.host import detect
from .thread_runtime import Library, load_object
from .version import version


def object_for(
    signature: Signature, text: str, host: str | None = None, target: Target | None = None, ahead: Ahead | None = None
) -> bytes:
    """Compile a module, ready for `load_executable`: the bytes are an entry of the cache.

    Args:
        text: defines `@<host>`; or, of a kernel, `@<host>.invoke` with `Signature.slots`.
        host: by default the signature's name.
        ahead: a compilation of some of the module that already runs.
    """
    if not signature.is_kernel:
        from .entry import add_invoke, emit_sizes

        text = add_invoke(text, host or signature.name, signature)
        if signature.meant:
            text += emit_sizes(host or signature.name, signature)
    return compile_parts(text, target, ahead)


def load_executable(signature: Signature, obj: bytes, host: str | None = None) -> Executable:
    """Load a result of `object_for` into this process."""
    name = host or signature.name
    symbols = [abi.invoke_symbol(name), *([abi.sizes_symbol(name)] if signature.meant else [])]
    library = load_object(obj, symbols, effects.imports() if signature.effects else None)
    return Executable(signature, library, host, native_entry() if abi.native_calls() else None)


def cached_executable(
    key: str,
    make: Callable[[], tuple[Signature, str]],
    host: str | None = None,
    target: Target | None = None,
    ahead: Ahead | None = None,
) -> Executable:
    """The executable kept on disk under `key`, or else the one that `make` returns as a signature and LLVM IR text.

    `key` (from `cache.key_of`) must cover all that the text depends on, the target's `key` included. `make` may give some of
    the module to `ahead` before it returns the rest.
    """
    kept = _kept(key, host)
    if kept is not None:
        return kept
    signature, text = make()
    obj = object_for(signature, text, host, target, ahead)
    object_cache.put(key, obj, {"signature": signature.to_json()})
    return load_executable(signature, obj, host)


def _kept(key: str, host: str | None = None) -> Executable | None:
    found = object_cache.get(key)
    if found:
        try:
            return load_executable(Signature.from_json(found.meta["signature"]), found.obj, host)
        except (CompileError, ValueError, KeyError, TypeError):
            pass  # not written by `cached_executable`: a miss
    return None


@dataclass(frozen=True)
class Known:
    """The entry of a kernel that is found by its facts: the key of its object, and the results of its checks."""

    key: str
    checks: tuple[str, ...]


def find_known(key: str) -> tuple[Known, Executable] | None:
    """The entry kept under a key by `remember`, with its kernel; None if either is missing."""
    found = object_cache.get(key)
    if found is None:
        return None
    kept, checks = found.meta.get("kept"), found.meta.get("checks")
    if not isinstance(kept, str) or not isinstance(checks, list) or not all(isinstance(text, str) for text in checks):
        return None
    executable = _kept(kept)
    return None if executable is None else (Known(kept, tuple(checks)), executable)


def remember(key: str, known: Known) -> None:
    """Keep under a key where a kernel is found."""
    object_cache.put(key, b"", {"kept": known.key, "checks": list(known.checks)})


@cache
def native_entry() -> Library:
    """The entry that all compiled code shares, and its pool of memory: 30 ms to compile, below 1 ms from the cache."""
    library = _load_entry()
    pool.bind(library)
    return library


def _load_entry() -> Library:
    from .entry import ENTRY_SYMBOLS, entry_module

    imports = {**abi.symbols(), **pool.imports()}
    key = object_cache.key_of("native entry", version(), sys.platform, detect().key)
    found = object_cache.get(key)
    if found:
        try:
            return load_object(found.obj, ENTRY_SYMBOLS, imports)
        except CompileError:
            pass
    obj = compile_object(entry_module(), detect())
    object_cache.put(key, obj)
    return load_object(obj, ENTRY_SYMBOLS, imports)
