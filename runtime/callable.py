"""Callable objects: a native type whose instances CPython calls straight into machine code.

A native function holds a chain of specializations. A call goes to the entry of the newest; each passes on arguments that it
does not accept; those that none accepts reach the Python callable of the slow path, which compiles, converts or raises.

The type is made from CPython's own generic parts, so there is no C to compile: `PyType_FromSpec`, the traverse and clear
functions of ordinary Python classes, and the binding behaviour of Python functions. Where the facts of `abi.py` do
not hold, or under `LAMINA_ENTRY=ctypes`, the same interface is served by plain Python and ctypes.
"""

from __future__ import annotations

import ctypes
import threading
import types
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from . import abi
from .arguments import bound, prepare
from .arrays import Array
from .executable import OUT, Executable, Failed, Node
from .native_types import DEFAULT, HAVE_GC, GetSet, Member, Slot, Spec, from_spec
from .results import apart, check_results
from .signature import Signature


class FunctionBase:
    """The base of native and ctypes functions; `NativeFunction` is the class to instantiate.

    `slow_path(*args, **kwargs)` is called for arguments that no installed specialization accepts. Attributes may be set
    (`__name__`, `__wrapped__`, ...); accessed through an instance of a class, the function binds as a method.
    """

    __slots__ = ()

    # fields of the subclasses
    _slow: Callable[..., Any]
    _keep: tuple[Node, ...]

    def __init__(self, slow_path: Callable[..., Any]):
        if hasattr(self, "_keep"):
            raise TypeError("a function is initialised once")  # native code may be pointing into it
        self._slow = slow_path
        self._keep = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # reached by native functions before the first install, and by an explicit `f.__call__`
        for node in self._keep:
            if not kwargs and node.executable.accepts(args):
                return node.executable.run(args)
            if kwargs.keys() == {OUT} and (out := kwargs[OUT]) is not None and node.executable.accepts(args, out):
                return node.executable.run(args, kwargs)
        return self._slow(*args, **kwargs)

    def install(self, executable: Executable) -> None:
        """Add a specialization, to be tried before those already there. Calls may be running meanwhile."""
        raise NotImplementedError

    def uninstall(self) -> None:
        """Forget all specializations: calls go to the slow path again. Calls that run meanwhile end as they began."""
        with _installing:
            retired = self.__dict__.setdefault("_retired", [])  # a call may still be in them
            retired += self._keep
            self._keep = ()
            self._disconnect()

    def _disconnect(self) -> None:
        """Let CPython call `__call__` again."""

    @property
    def executables(self) -> tuple[Executable, ...]:
        """The installed specializations, in the order in which they are tried."""
        return tuple(node.executable for node in self._keep)

    def __copy__(self) -> FunctionBase:
        return self  # like any Python function

    def __deepcopy__(self, memo: object) -> FunctionBase:
        return self

    def __repr__(self) -> str:
        name = getattr(self, "__name__", None) or getattr(self._slow, "__name__", "?")
        return f"<lamina function {name}>"


_installing = threading.Lock()


def _install_native(self: FunctionBase, executable: Executable) -> None:
    if executable.entry is None:
        raise ValueError("a native function needs an executable with an entry")
    with _installing:
        node = executable.node(self._keep[0] if self._keep else None)
        # A node is complete before it is published and stays until the function dies; each store is one aligned word,
        # so a concurrent call sees the chain before or after.
        self._keep = (node, *self._keep)
        ctypes.c_size_t.from_address(id(self) + abi.CALLABLE_HEAD).value = ctypes.addressof(node.memory)
        vectorcall = executable.entry.address("lamina.vectorcall")
        ctypes.c_size_t.from_address(id(self) + abi.CALLABLE_VECTORCALL).value = vectorcall


def _disconnect_native(self: FunctionBase) -> None:
    ctypes.c_size_t.from_address(id(self) + abi.CALLABLE_VECTORCALL).value = 0


def _install_ctypes(self: FunctionBase, executable: Executable) -> None:
    with _installing:
        self._keep = (executable.node(None), *self._keep)


def function_class(base: type[FunctionBase], native: bool | None = None) -> type[Any]:
    """The class to instantiate for `base`, a subclass of `FunctionBase` with `__slots__ = ()` that adds methods.

    Args:
        base: Gives name, methods and `__init__`.
        native: Native calls or ctypes; decided by `abi.native_calls()` if not given.
    """
    if native is None:
        native = abi.native_calls()
    if native:
        made = _native_type(base)
        if _works(made):
            return made
        warnings.warn("lamina calls compiled code through ctypes (slower): the self-test failed", RuntimeWarning, stacklevel=2)
    return _ctypes_type(base)


def _ctypes_type(base: type[FunctionBase]) -> type[Any]:
    def get(self: Any, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    fields = ("_slow", "_keep", "__dict__", "__weakref__")
    body = {"__slots__": fields, "__get__": get, "install": _install_ctypes, "__doc__": base.__doc__}
    return type(base.__name__, (base,), {**body, "__module__": base.__module__})


# The native type

_T_PYSSIZET, _T_OBJECT_EX, _READONLY = 19, 16, 1
_HAVE_VECTORCALL, _METHOD_DESCRIPTOR = 1 << 11, 1 << 17
# numbers of CPython's typeslots.h, part of its stable ABI
_TP_CLEAR, _TP_DESCR_GET, _TP_TRAVERSE, _TP_MEMBERS, _TP_GETSET = 51, 54, 71, 72, 73


class _Ordinary:
    """A class whose generic slots serve the native type too: they go by the type's own member table."""

    __slots__ = ("__dict__", "__weakref__", "field")
    field: object


def _native_type(base: type[FunctionBase]) -> type[Any]:
    members = (Member * 6)(
        Member(b"__vectorcalloffset__", _T_PYSSIZET, abi.CALLABLE_VECTORCALL, _READONLY, None),
        Member(b"__dictoffset__", _T_PYSSIZET, abi.CALLABLE_DICT, _READONLY, None),
        Member(b"__weaklistoffset__", _T_PYSSIZET, abi.CALLABLE_WEAKREFS, _READONLY, None),
        Member(b"_slow", _T_OBJECT_EX, abi.CALLABLE_SLOW, 0, None),
        Member(b"_keep", _T_OBJECT_EX, abi.CALLABLE_KEEP, 0, None),
    )
    api = ctypes.pythonapi
    get_dict, set_dict = (
        ctypes.cast(f, ctypes.c_void_p).value for f in (api.PyObject_GenericGetDict, api.PyObject_GenericSetDict)
    )
    getset = (GetSet * 2)(GetSet(b"__dict__", get_dict, set_dict, None, None))
    slots = (Slot * 6)(
        Slot(_TP_TRAVERSE, _slot_of(_Ordinary, _TP_TRAVERSE)),
        Slot(_TP_CLEAR, _slot_of(_Ordinary, _TP_CLEAR)),
        Slot(_TP_DESCR_GET, _slot_of(types.FunctionType, _TP_DESCR_GET)),
        Slot(_TP_MEMBERS, ctypes.addressof(members)),
        Slot(_TP_GETSET, ctypes.addressof(getset)),
    )
    # No tp_call: it is inherited from the Python class, whose __call__ serves calls until a vectorcall is installed.
    # No tp_dealloc: CPython gives heap types the one of ordinary classes.
    flags = _HAVE_VECTORCALL | HAVE_GC | _METHOD_DESCRIPTOR | DEFAULT
    name = f"{base.__module__}.{base.__qualname__}".encode()
    spec = Spec(name, abi.CALLABLE_BYTES, 0, flags, slots)
    made = from_spec(spec, base)
    made._definition = (name, members, getset, slots, spec)  # CPython keeps pointers into these
    made.__doc__ = base.__doc__
    made.install, made._disconnect = _install_native, _disconnect_native
    return made


def _slot_of(cls: type, slot: int) -> int:
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_int)(("PyType_GetSlot", ctypes.pythonapi))
    return get(cls, slot)


def _works(made: type[Any]) -> bool:
    """Point the vectorcall of an instance at a harmless function of CPython and call it."""
    probe: Any = object.__new__(made)
    probe._slow, probe._keep, probe.attribute = None, (), 1
    function = ctypes.cast(ctypes.pythonapi.PyObject_Type, ctypes.c_void_p).value or 0
    ctypes.c_size_t.from_address(id(probe) + abi.CALLABLE_VECTORCALL).value = function
    fields = [ctypes.c_size_t.from_address(id(probe) + at).value for at in (abi.CALLABLE_SLOW, abi.CALLABLE_KEEP)]
    return (
        made.__basicsize__ == abi.CALLABLE_BYTES
        and fields == [id(None), id(())]
        and probe(1, 2) is made
        and probe.__dict__ == {"attribute": 1}
    )


NativeFunction: type[FunctionBase] = function_class(FunctionBase)

MISS: Any = object()
"""The result of an exact function for arguments that do not match."""


def exact_function(executable: Executable) -> FunctionBase:
    """A native function of one executable that converts nothing: it returns `MISS` for arguments that this does not accept."""
    made = NativeFunction(_misfit)
    made.install(executable)
    return made


def _misfit(*arrays: Any) -> Any:
    return MISS


class CompiledBase(FunctionBase):
    """A compiled function with one signature: `Compiled(executable)`.

    Arguments must have exactly the signature's element types and shapes. Their layout (strides, alignment, byte
    order) may be any: what native code cannot read in place is copied. Nothing else is converted. `out=`, an array or a tuple
    of several, takes the results.
    """

    __slots__ = ()

    def __init__(self, executable: Executable):
        # Converted arguments are called through a second function, not through this one: nothing can recurse, and no
        # cycle delays the end of this one.
        if any(param.name == OUT for param in executable.signature.params):
            executable = replace(executable, takes_out=False)
        inner: Callable[..., Any] = lambda *args: executable.run(args)  # noqa: E731
        if executable.entry is not None:
            inner = NativeFunction(inner)
            inner.install(executable)

        def convert(*args: object, **kwargs: object) -> Any:
            out: Any = kwargs.pop(OUT, None) if executable.takes_out else None
            prepared = prepare(executable.signature, args, kwargs)
            if out is None:
                return inner(*prepared.values)
            results = list(out) if isinstance(out, tuple) else [out]
            check_results(executable.signature, results, prepared.sizes)
            executable.run_into(apart(prepared.values, results), results)
            return out

        super().__init__(convert)
        self.install(executable)
        self.__name__ = executable.signature.name

    @property
    def signature(self) -> Signature:
        """Arguments and results."""
        return self._keep[0].executable.signature

    def call_into(self, args: Sequence[object], results: Sequence[Array]) -> None:
        """Write the results into given arrays: writable, C-contiguous, aligned, of the signature's types.

        An argument that overlaps a result is copied first.
        """
        executable = self._keep[0].executable
        prepared = prepare(executable.signature, args, {})
        check_results(executable.signature, results, prepared.sizes)
        executable.run_into(apart(prepared.values, results), results)


Compiled: type[CompiledBase] = function_class(CompiledBase)


class KernelBase(FunctionBase):
    """A compiled kernel, called with arrays and scalars by position or by name: it writes arrays in place and returns None.

    `threads=` says how many threads it may use. Arrays must have exactly the element types and ranks of the signature, and
    sizes that agree. They may lie in memory in any way: what machine code cannot use in place is copied, and copied back
    if it is written. Scalars are converted to the parameter's type.
    """

    __slots__ = ()

    def __init__(self, executable: Executable, failed: Failed | None = None):
        if failed is not None:
            executable = replace(executable, failed=failed)

        # These refer to the executable, not to this object: no cycle delays its end, and nothing can recurse.
        def slow(*args: object, **kwargs: object) -> None:
            executable.run(args, kwargs)

        inner: Callable[..., None] = slow
        if executable.entry is not None:
            inner = NativeFunction(slow)
            inner.install(executable)

        def convert(*args: object, **kwargs: object) -> None:
            if not kwargs:
                return slow(*args)
            values, threads = bound(executable.signature, args, kwargs)  # arguments given by name may fit unchanged
            return inner(*values, threads=threads) if threads else inner(*values)

        super().__init__(convert)
        self.install(executable)
        self.__name__ = executable.signature.name

    @property
    def executable(self) -> Executable:
        """The kernel."""
        return self._keep[0].executable

    @property
    def signature(self) -> Signature:
        """Parameters and symbols."""
        return self.executable.signature


KernelFunction: type[KernelBase] = function_class(KernelBase)
