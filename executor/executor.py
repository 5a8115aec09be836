"""From a module to machine code in this process: the one key, the one cache, and the one caller of `pipeline.build`.

`jit`, functions on plain arrays, lazy arrays, recorded runs, `lm.compile`, kernels and the tools decide when to trace and
when to look here. A look-up goes through the cache of this process, then the object cache on disk, then the pipeline:

    key(module, target, configuration) -> memory -> disk -> build

>>> from lamina.dialects.context import make_context
>>> from lamina.dialects.parsing import parse_module
>>> text = "func.func @main(%x: tensor<2xi64>) -> tensor<2xi64> { func.return %x : tensor<2xi64> }"
>>> module = parse_module(make_context(), text)
>>> program(module) is program(module)
True
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any

from .. import pipeline
from ..codegen import cache as object_cache
from ..codegen import tuned
from ..codegen.cache import key_of
from ..codegen.executable import load_executable
from ..codegen.targets.base import Target
from ..codegen.targets.host import host
from ..codegen.version import frontend_version, version
from ..dialects.fingerprint import fingerprint
from ..dialects.operations import clone
from ..errors import CompileError
from ..runtime.callable import exact_function
from ..runtime.executable import Executable
from ..runtime.signature import Signature
from . import kernels

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

LIMIT = 512
"""Executables that a process keeps; those that were used longest ago are dropped first, and found on disk again."""


@dataclass(frozen=True)
class Statistics:
    """What became of the look-ups of a process.

    Attributes:
        found: those that the cache of the process answered.
        loaded: those that the cache on disk answered.
        built: modules that were compiled.
        dropped: executables that made room for others.
    """

    found: int = 0
    loaded: int = 0
    built: int = 0
    dropped: int = 0


class Code:
    """An executable, and the function that calls it with arrays that fit exactly, made when it is first needed."""

    def __init__(self, executable: Executable):
        self.executable = executable

    @cached_property
    def function(self) -> Callable[..., Any]:
        """From arrays to one array, a tuple of several, or None; `MISS` for arrays that do not fit."""
        return exact_function(self.executable)


class Executor:
    """The executables of a process by their keys, at most `limit`. Threads that need the same one wait for one of them."""

    def __init__(self, limit: int = LIMIT):
        self.limit = limit
        self.statistics = Statistics()
        self._kept: OrderedDict[str, Code] = OrderedDict()
        self._building: dict[str, RLock] = {}
        self._lock = Lock()

    def get(self, key: str, make: Callable[[], Executable]) -> Code:
        """The code that is kept under a key, or else what `make` returns."""
        with self._lock:
            if (known := self._known(key)) is not None:
                return known
            building = self._building.setdefault(key, RLock())
        with building:
            with self._lock:
                if (known := self._known(key)) is not None:
                    return known
            try:
                made = Code(make())
                with self._lock:
                    self._kept[key] = made
                    while len(self._kept) > self.limit:
                        self._kept.popitem(last=False)
                        self._count(dropped=1)
            finally:
                with self._lock:
                    self._building.pop(key, None)
            return made

    def _known(self, key: str) -> Code | None:
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
            self._count(found=1)
        return found

    def load(self, key: str, entry: str | None = None) -> Executable | None:
        """The executable that the cache on disk has under a key, or where a note under this key says."""
        found = object_cache.get(key)
        if found is not None and isinstance(kept := found.meta.get("kept"), str):
            found = object_cache.get(kept)
        if found is None:
            return None
        checks = found.meta.get("checks", [])
        if not isinstance(checks, list) or not all(isinstance(text, str) for text in checks):
            return None
        try:
            executable = _loaded(Signature.from_json(found.meta["signature"]), found.obj, entry, checks)
        except (CompileError, ValueError, KeyError, TypeError):
            return None  # not written by `store`: a miss
        with self._lock:
            self._count(loaded=1)
        return executable

    def store(self, key: str, built: Built, entry: str | None = None) -> Executable:
        """Keep what was built on disk, and load it."""
        signature, obj, checks = built
        object_cache.put(key, obj, {"signature": signature.to_json(), **({"checks": [*checks]} if checks else {})})
        with self._lock:
            self._count(built=1)
        return _loaded(signature, obj, entry, checks)

    def forget(self) -> None:
        """Drop all executables; what is on disk stays."""
        with self._lock:
            self._kept.clear()
            self.statistics = Statistics()

    def _count(self, **more: int) -> None:
        now = self.statistics
        self.statistics = replace(now, **{name: getattr(now, name) + n for name, n in more.items()})


Built = tuple[Signature, bytes, Sequence[str]]
"""A signature, the bytes of an object, and the texts of the checks of a kernel."""

_executor = Executor()


def statistics() -> Statistics:
    """What became of the look-ups of this process since it last forgot."""
    return _executor.statistics


def forget() -> None:
    """Drop the executables that this process keeps; what is on disk stays."""
    _executor.forget()


def _loaded(signature: Signature, obj: bytes, entry: str | None, checks: Any) -> Executable:
    executable = load_executable(signature, obj, entry)
    return replace(executable, failed=kernels.failure(signature.name, checks)) if signature.is_kernel else executable


def key(module: ModuleOp, target: Target, *configuration: str) -> str:
    """What an executable is kept under, in memory and on disk: all that its machine code and its messages depend on.

    Args:
        module: as it is going to be built.
        target: what it is compiled for.
        configuration: how it is built, and what of it is called.
    """
    return key_of(version(), target.key, tuned.state(), *configuration, fingerprint(module))


def program(
    module: ModuleOp,
    entry: str = "main",
    *,
    names: Sequence[str] | None = None,
    target: Target | None = None,
    consume: bool = False,
) -> Executable:
    """The executable of a function of a module.

    Args:
        module: graph IR or a later phase.
        entry: the public function to call.
        names: the names of the arguments in messages; by default those of the text.
        target: by default the one that the module names, else the host.
        consume: whether the module may be changed; otherwise a copy is, which is not made where the executable is known.

    Raises:
        CompileError: an op cannot be lowered, there is no such function, or this machine cannot run code for the target.
    """
    return _program(module, entry, names, target, consume).executable


def function(
    module: ModuleOp, names: Sequence[str] | None = None, functions: Mapping[str, Callable[..., Any]] | None = None
) -> Callable[..., Any]:
    """The compiled `@main` of a module: arrays in, one array, a tuple of several, or None; `MISS` for other arrays.

    `functions` are those of its callbacks, which are others in each trace.
    """
    code = _program(module, "main", names, None, consume=False)
    return exact_function(replace(code.executable, functions=dict(functions))) if functions else code.function


def _program(module: ModuleOp, entry: str, names: Sequence[str] | None, target: Target | None, consume: bool) -> Code:
    chosen = pipeline.runnable_target(module, target)
    configuration = "program", entry, ",".join(names or ())

    def build(module: ModuleOp, consume: bool, is_checked: bool = False) -> Code:
        code_key = key(module, chosen, *configuration)

        def make() -> Executable:
            if not is_checked:
                _check_if_requested(module)
            if (loaded := _executor.load(code_key, entry)) is not None:
                return loaded
            own = module if consume else clone(module)
            return _executor.store(code_key, (*pipeline.build(own, entry, names=names, target=chosen), ()), entry)

        return _executor.get(code_key, make)

    if not pipeline.has_many_ops(module):
        return build(module, consume)

    def rolled() -> Code:
        _check_if_requested(module)
        own = module if consume else clone(module)
        pipeline.roll(own)
        return build(own, consume=True, is_checked=True)

    # a large module that may be changed is read once only, when its repeated bodies are functions
    return rolled() if consume else _executor.get(key(module, chosen, *configuration), lambda: rolled().executable)


def _check_if_requested(module: ModuleOp) -> None:
    """With `LAMINA_DEBUG=reproduce`, validate the compilation of a module before it happens.

    Raises:
        InternalError: a step of it is wrong; a reproducer of a few ops was written.
    """
    if "reproduce" in os.environ.get("LAMINA_DEBUG", ""):
        from ..debugging.reproduce import checked

        checked(module)


def kernel(module: ModuleOp, name: str | None = None, target: Target | None = None, *, by_default: bool = False) -> Executable:
    """The executable of a kernel of a module.

    Args:
        module: loop IR, scheduled or not; it stays as it is.
        name: the kernel; not needed when there is one.
        target: by default the one that the module names, else the host.
        by_default: whether the kernel gets the default schedule for the target; else it is compiled as it stands.

    Raises:
        CompileError: an op cannot be lowered, or there is no such kernel.
    """
    return _kernel(module, name, target, by_default)[1]


def _kernel(module: ModuleOp, name: str | None, target: Target | None, by_default: bool) -> tuple[str, Executable]:
    """The key of a kernel, and its executable."""
    chosen = pipeline.runnable_target(module, target)
    op = kernels.find_kernel(module, name)
    code_key = key(module, chosen, "kernel by default" if by_default else "kernel", op.sym_name.data)

    def make() -> Executable:
        return _executor.load(code_key) or _executor.store(code_key, kernels.build(module, op, chosen, by_default))

    return code_key, _executor.get(code_key, make).executable


def known_kernel(facts: str | None, make: Callable[[], ModuleOp]) -> Executable:
    """As `kernel` of the one kernel of a module, by default for the host; the module is not made if a cache has its kernel.

    Args:
        facts: a text that decides what `make` returns; None if there is no such text.
        make: the module, at phase `loop`.

    Raises:
        CompileError: as `kernel`, and whatever `make` raises.
    """
    if facts is None:
        return kernel(make(), by_default=True)
    note = key_of("kernel by its facts", version(), frontend_version(), host().key, tuned.state(), facts)

    def found() -> Executable:
        if (loaded := _executor.load(note)) is not None:
            return loaded
        code_key, executable = _kernel(make(), None, None, by_default=True)
        object_cache.put(note, b"", {"kept": code_key})
        return executable

    return _executor.get(note, found).executable
