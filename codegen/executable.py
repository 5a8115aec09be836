"""LLVM IR text and a signature to an executable: compiled and loaded.

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
