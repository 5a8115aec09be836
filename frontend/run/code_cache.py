"""Compiled code of this process, keyed by the text of the module: tracing a function again compiles new programs only."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ...codegen import tuned
from ...codegen.targets.host import host
from ...dialects.fingerprint import fingerprint
from ...runtime.callable import NativeFunction
from ...runtime.effects import Functions
from ...runtime.executable import Executable

MISS: Any = object()
"""The result of a native function for arguments that do not match."""

KEPT = 512
"""Modules whose code is kept; those used longest ago go first, to the cache on disk."""

_kept: OrderedDict[Hashable, Callable[..., Any] | Executable] = OrderedDict()
_lock = Lock()


def native_function(
    module: ModuleOp, names: Sequence[str] | None = None, functions: Functions | None = None
) -> Callable[..., Any]:
    """The compiled `@main` of a module: arrays in, one array, a tuple of several, or None; `MISS` for other arrays.

    `functions` are those of its callbacks, which are others in each trace.
    """
    from ... import pipeline

    key = fingerprint(module), tuple(names or ()), host(), tuned.state()
    with _lock:
        if (found := _kept.get(key)) is not None:
            _kept.move_to_end(key)
            return native(replace(found, functions=functions or {})) if isinstance(found, Executable) else found
    check_if_asked(module)
    executable = pipeline.build(module, "main", names=names, consume=False)
    if functions:
        executable = replace(executable, functions=functions)
    made = native(executable)
    with _lock:
        _kept[key] = executable if functions else made
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return made


def check_if_asked(module: ModuleOp) -> None:
    """With `LAMINA_DEBUG=reproduce`, validate the compilation of a module before it happens.

    Raises:
        InternalError: a step of it is wrong; a reproducer of a few ops was written.
    """
    if "reproduce" in os.environ.get("LAMINA_DEBUG", ""):
        from ...debugging.reproduce import checked

        checked(module)


def native(executable: Executable) -> Callable[..., Any]:
    """A native function of one executable that returns `MISS` for arguments that this does not accept."""
    function = NativeFunction(_misfit)
    function.install(executable)
    return function


def _misfit(*arrays: Any) -> Any:
    return MISS
