"""The function that parallel loops call, compiled and loaded once.

>>> from lamina.codegen.compile import compile_object
>>> from lamina.codegen.thread_runtime import load_object
>>> text = '''
... declare void @lamina_parallel(ptr, ptr, i64, i64, i64)
... define void @body(ptr %data, i64 %begin, i64 %end) {
...   %at = getelementptr i64, ptr %data, i64 %begin
...   store i64 %end, ptr %at
...   ret void
... }
... define void @f(ptr %data) {
...   call void @lamina_parallel(ptr @body, ptr %data, i64 1, i64 1, i64 0)
...   ret void
... }'''
>>> library = load_object(compile_object(text), ["f"], imports())
>>> import ctypes
>>> cell = ctypes.c_int64(0)
>>> library.function("f", None, ctypes.c_void_p)(ctypes.addressof(cell))
>>> cell.value
1
"""

from __future__ import annotations

from ..errors import CompileError
from ..runtime import threads
from . import cache as object_cache
from . import workers
from ._llvm import lock_across_forks
from .compile import compile_object
from .loading import Library, link
from .targets.host import detect

_lock = lock_across_forks()
_library: Library | None = None


def imports() -> dict[str, int]:
    """The symbols that code with parallel loops needs, for `load_object`.

    The first call compiles, below 1 ms when the cache has it.
    """
    global _library
    # addresses are given out without their library, so there may only be one, and it stays
    with _lock:
        if _library is None:
            library = _load()
            threads.prepare()
            _library = library
    return {"lamina_parallel": _library.address("lamina_parallel")}


def _load() -> Library:
    target = detect()
    text = workers.parallel_module(target.triple.split("-")[0])
    key = object_cache.key_of("thread runtime", text, target.key)
    found = object_cache.get(key)
    if found:
        try:
            return link(found.obj, workers.PARALLEL_SYMBOLS, threads.imports())
        except CompileError:
            pass
    obj = compile_object(text, target)
    object_cache.put(key, obj)
    return link(obj, workers.PARALLEL_SYMBOLS, threads.imports())
