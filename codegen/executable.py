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
>>> signature = Signature("twice", (vector,), (vector,))
>>> twice = Compiled(load_executable(signature, object_for(signature, text)))
>>> twice(np.arange(4, dtype=np.float32))
array([0., 2., 4., 6.], dtype=float32)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ..errors import CompileError
from ..runtime import abi, pool
from ..runtime.callable import Executable
from ..runtime.entry import ENTRY_SYMBOLS, emit_invoke, entry_module, invoke_symbol
from ..runtime.signature import Signature
from . import cache as object_cache
from .compile import compile_object
from .jit import Library, load_object
from .parts import compile_parts
from .targets import Target
from .targets.host import detect


def object_for(signature: Signature, text: str, host: str = "f", target: Target | None = None) -> bytes:
    """Compile a module that defines `@host`, ready for `load_executable`: the bytes are what a cache keeps."""
    pointers = len(signature.args) + len(signature.results) + 1
    return compile_parts(text + "\n" + emit_invoke(host, pointers), target)


def load_executable(signature: Signature, obj: bytes, host: str = "f") -> Executable:
    """Load what `object_for` returned into this process."""
    library = load_object(obj, [invoke_symbol(host)])
    return Executable(signature, library, host, native_entry() if abi.native_calls() else None)


def cached_executable(
    key: str, make: Callable[[], tuple[Signature, str]], host: str = "f", target: Target | None = None
) -> Executable:
    """The executable kept on disk under `key`, or else the one that `make` returns as a signature and LLVM IR text.

    `key` (from `cache.key_of`) must cover all that the text depends on, the target's `key` included.
    """
    found = object_cache.get(key)
    if found:
        try:
            return load_executable(Signature.from_json(found.meta["signature"]), found.obj, host)
        except (CompileError, ValueError, KeyError, TypeError):
            pass  # not what this function writes: a miss
    signature, text = make()
    obj = object_for(signature, text, host, target)
    object_cache.put(key, obj, {"signature": signature.to_json()})
    return load_executable(signature, obj, host)


@cache
def native_entry() -> Library:
    """The entry that all native functions share, and its pool of memory: 30 ms to compile, below 1 ms from the cache."""
    library = _load_entry()
    pool.bind(library)
    return library


def _load_entry() -> Library:
    text, imports = entry_module(), {**abi.symbols(), **pool.imports()}
    key = object_cache.key_of("native entry", text, detect().key)
    found = object_cache.get(key)
    if found:
        try:
            return load_object(found.obj, ENTRY_SYMBOLS, imports)
        except CompileError:
            pass
    obj = compile_object(text, detect())
    object_cache.put(key, obj)
    return load_object(obj, ENTRY_SYMBOLS, imports)
