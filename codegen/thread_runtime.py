"""Loads object files into this process, with the thread runtime and the printing that they need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .loading import Library, link


def load_object(obj: bytes, symbols: Iterable[str], imports: Mapping[str, int] | None = None) -> Library:
    """Link an object file into the process.

    Args:
        obj: the result of `compile_object` or `compile_parts` for the host.
        symbols: The symbols whose addresses are wanted.
        imports: Addresses of symbols that the object leaves undefined; symbols of the process (libc, libm) need not
            be listed.

    Raises:
        CompileError: The object is damaged, or a symbol is missing.
    """
    exports, needed = list(symbols), dict(imports or {})
    if b"lamina_parallel" in obj and "lamina_parallel" not in exports:
        from .parallel import imports as thread_runtime

        needed = {**thread_runtime(), **needed}
    if b"lamina_print" in obj:
        from ..runtime.prints import imports as printing

        needed = {**printing(), **needed}
    return link(obj, exports, needed)


__all__ = ["Library", "load_object"]
