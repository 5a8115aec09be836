"""Functions of `lamina.numpy` on plain arrays: each call is a small program, recorded, then interpreted or compiled.

The work of a program alone decides: below `COMPILED_WORK` its ops are evaluated by their NumPy meaning, from there on it is
compiled as by `jit`. A recorded program is kept under the function, the arguments that are not arrays, and the dtypes and
shapes of those that are; a call that finds it builds no ops. Results never alias other arrays.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ...dialects.graph.builder import GraphBuilder
from ...errors import LaminaError, TracingError, is_interruption
from ...runtime.array import Array as ResultArray
from ...runtime.array import is_ndarray
from ...runtime.dispatch import Dispatched, DispatchedBase, gate, key_of
from ..trace.config import config
from ..trace.locations import located
from ..trace.promotion import STORED, computed
from ..trace.result_rounding import finished
from ..trace.tracer import Tracer
from ..trace.tracing import Deferred, Derived, Trace, Watched, current, input_array, is_traced
from ..trace.wrapped import wrapped_class
from . import ufunc_keywords
from .eager_calls import MOST_ITEMS, NUMBERS, PLAIN, Writer, identities, places
from .eager_programs import WORTH_CODE, EagerProgram
from .lazy import deferred

Array = np.ndarray[Any, Any]
Function = TypeVar("Function", bound=Callable[..., Any])

_KEPT = 4096
"""Programs that are kept."""

_WORTH_AN_ENTRY = 8
"""Calls of known programs after which the native entry is loaded: 45 ms, a seventh of the imports of a first call."""


class EagerTrace(Trace):
    """The trace of one call on plain arrays.

    Attributes:
        inputs: the array of each argument of the program.
        sources: the object each was made of.
    """

    def __init__(self, numbers: Sequence[complex] = ()) -> None:
        super().__init__()
        self.builder = GraphBuilder(self.block)
        self.inputs: list[Array] = []
        self.sources: list[Any] = []
        # small ints are one object wherever they are used
        self._numbers = [x for x in numbers if type(x) is not int or abs(x) > 256]

    def number(self, x: complex, array: Array, weak: bool = False) -> Tracer:
        """A number of the caller is an argument, so that calls with others are the same program; others are constants.

        So are those of storage-only dtypes, which arguments are not.
        """
        if array.dtype not in STORED and any(x is given for given in self._numbers):
            return self._input(x, array, weak)
        return self.wrap(self.constant(array), weak)

    def _lift_array(self, x: Any) -> Tracer:
        if isinstance(x, Derived):
            return self._input(x, x.array)
        known = self._by_identity.get(id(x))
        if known is None:
            waits = isinstance(x, Watched) or (isinstance(x, Deferred) and x.dtype not in STORED)
            array = np.empty(x.shape, computed(x.dtype)) if waits else input_array(x)
            known = self._by_identity[id(x)] = self._input(x, array)
        return known

    def _input(self, source: Any, array: Array, weak: bool = False) -> Tracer:
        self.inputs.append(array)
        self.sources.append(source)
        return self.argument(array.dtype, array.shape, weak)

    def _capture_tracer(self, x: Tracer) -> Tracer:
        if not x.within.active:
            return super()._capture_tracer(x)
        raise TracingError(f"{x!r} reached a function on plain arrays: pass it as an argument, or in a list")

    def result(self, out: Any) -> Any:
        """The arrays in the result of a function."""
        return EagerProgram(self, out).run(self.inputs)


# --------------------------------------------------------------------------------------------------------------------
# Calls


@dataclass(frozen=True)
class _Input:
    """An input of a program: a leaf of the call, a value made of one, or, without a leaf, an array that all calls share."""

    leaf: int | None
    made: Any = None

    def of(self, leaves: Sequence[Any]) -> Any:
        if self.leaf is None:
            return self.made
        x = leaves[self.leaf]
        return x if self.made is None else self.made(np.asarray(x))


class _Kept:
    """A program, and how its inputs are made of the leaves of a call."""

    def __init__(self, program: EagerProgram, inputs: Sequence[_Input]):
        self.program = program
        self.inputs = inputs

    def result(self, leaves: Sequence[Any]) -> Any:
        """The result of the program, or an array that is deferred until it runs."""
        values = [x.of(leaves) for x in self.inputs]
        if config.lazy and self.program.may_wait():
            return deferred(self.program, values)
        return self.program.run([np.asarray(x, dtype) for x, dtype in zip(values, self.program.dtypes, strict=True)])

    def written(self, values: Sequence[Any], change: Callable[[Sequence[Any]], None]) -> Callable[..., Any] | None:
        """The same as a function of the arguments, for calls like one that has been run.

        `change` is called with those of a call when it pays to compile an interpreted program.
        """
        if config.lazy and self.program.may_wait():
            return None
        leaves = list(places(values))
        writer = Writer(len(values))
        if self.program.may_change:
            writer.after(WORTH_CODE, change)
        for x, dtype in zip(self.inputs, self.program.dtypes, strict=True):
            if x.leaf is None:
                writer.shared(np.asarray(x.made, dtype))
            else:
                writer.operand(*leaves[x.leaf], dtype, x.made)
        self.program.writes(writer)
        return writer.written()


_kept: dict[Hashable, _Kept] = {}
_reading: dict[Hashable, None] = {}
"""Calls of functions that look at the elements of their arguments."""
_functions: list[DispatchedBase] = []


def forget() -> None:
    """Forget all programs: the next call of each function records anew."""
    _kept.clear()
    _reading.clear()
    for function in _functions:
        function.forget()


def _program(
    function: Callable[..., Any], promotes: bool | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, _Kept | None]:
    """The result, and its program if there was a similar call before."""
    leaves: list[Any] = []
    given = leaves
    key: Hashable = None
    try:
        key = (function, config.options, _key(args, leaves), *((name, _key(value, leaves)) for name, value in kwargs.items()))
    except _NoKeyError:
        pass
    else:
        if (found := _kept.get(key)) is not None:
            return found.result(leaves), found
        if len({id(x) for x in leaves}) < len(leaves):  # inputs are distinguished by identity
            args, kwargs = _each(_twin, args), {name: _each(_twin, value) for name, value in kwargs.items()}
            leaves = []
            _key((args, *kwargs.values()), leaves)
    trace, program = _recorded(function, promotes, args, kwargs, leaves)
    if key is not None:
        inputs = _inputs(trace, leaves)
        if inputs is None and key not in _reading:
            program, inputs = _watched(function, promotes, args, kwargs) or (program, None)
            if inputs is None:
                _make_room(_reading)[key] = None
        if inputs is not None:
            found = _make_room(_kept)[key] = _Kept(program, inputs)
            return found.result(given), None
    for k, source in enumerate(trace.sources):
        if isinstance(source, Deferred):
            trace.inputs[k] = np.asarray(source, program.dtypes[k])
    return program.run(trace.inputs), None


def _recorded(
    function: Callable[..., Any], promotes: bool | None, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: Sequence[Any]
) -> tuple[EagerTrace, EagerProgram]:
    with EagerTrace([x for x in leaves if type(x) in NUMBERS]) as trace:
        trace.depth = 1
        out = finished(function(*args, **kwargs), promotes, args, kwargs)
    return trace, EagerProgram(trace, out)


def _watched(
    function: Callable[..., Any], promotes: bool | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[EagerProgram, list[_Input]] | None:
    """The program of a function that looks at no element of its arguments, but has arrays of its own; None of another one."""
    args, kwargs = _each(Watched, args), {name: _each(Watched, value) for name, value in kwargs.items()}
    leaves: list[Any] = []
    _key((args, *kwargs.values()), leaves)
    try:
        trace, program = _recorded(function, promotes, args, kwargs, leaves)
    except (LaminaError, TypeError, ValueError, AttributeError, IndexError) as error:  # it needs an array
        if is_interruption(error, timeouts=False):
            raise
        return None
    if any(isinstance(x, Watched) and x.was_read for x in leaves):
        return None
    places = {id(leaf): k for k, leaf in enumerate(leaves)}
    inputs: list[_Input] = []
    for source, array in zip(trace.sources, trace.inputs, strict=True):
        if isinstance(source, Derived):
            inputs.append(_Input(places[id(source.of)], source.make))
        else:
            known = places.get(id(source))
            inputs.append(_Input(None, array) if known is None else _Input(known))
    return program, inputs


def _make_room(kept: dict[Hashable, Any]) -> dict[Hashable, Any]:
    if len(kept) >= _KEPT:
        kept.clear()
    return kept


def _each(make: Callable[[Any], Any], x: Any) -> Any:
    """The same arguments with other objects for the arrays among them."""
    if is_ndarray(x) or isinstance(x, Deferred):
        return make(x)
    return type(x)([_each(make, item) for item in x]) if type(x) in (tuple, list) else x


def _twin(x: Any) -> Any:
    return x.view() if is_ndarray(x) else Watched(x)


def _inputs(trace: EagerTrace, leaves: Sequence[Any]) -> list[_Input] | None:
    """How inputs are made of leaves; None if the function may have looked at the elements of an array."""
    places = {id(leaf): k for k, leaf in enumerate(leaves)}
    arrays = [id(leaf) for leaf in leaves if is_ndarray(leaf) or isinstance(leaf, Deferred)]
    used = {id(source) for source in trace.sources}
    if not used <= places.keys() or not used.issuperset(arrays) or len({*arrays}) != len(arrays):
        return None
    return [_Input(places[id(source)]) for source in trace.sources]


class _NoKeyError(Exception):
    """An argument that no key stands for."""


def _key(x: Any, leaves: list[Any]) -> Hashable:
    """The key of a recorded program: all of an argument but the elements of its arrays, which become leaves."""
    kind = type(x)
    if kind is np.ndarray or kind is ResultArray:
        leaves.append(x)
        return x.dtype, x.shape
    if isinstance(x, Deferred):
        leaves.append(x)
        return x.dtype, x.shape
    if kind in NUMBERS:
        leaves.append(x)
        return kind, x if kind is int else x.hex() if kind is float else (x.real.hex(), x.imag.hex())
    if kind in (tuple, list) and len(x) <= MOST_ITEMS:
        return kind, *[_key(item, leaves) for item in x]
    if kind in PLAIN:
        return kind, x
    if kind is slice:
        return kind, *[_key(item, leaves) for item in (x.start, x.stop, x.step)]
    if isinstance(x, np.generic):
        leaves.append(x)
        return kind, x.tobytes()
    if isinstance(x, np.dtype):
        return np.dtype, x
    raise _NoKeyError


def api(function: Function) -> Function:
    """A function of lamina.numpy: on plain arrays it is evaluated, errors get the user's source location.

    Results of storage-only dtypes are rounded once, when the function that the user called has ended (`finished`).
    """
    return _api(function, promotes=False, stage_constants=False)


def operation(function: Function) -> Function:
    """As `api`, for functions whose arguments are all operands of one operation: none of them is an index."""
    return _api(function, promotes=True, stage_constants=False)


def edit(function: Function) -> Function:
    """As `api`, for functions that change elements of their first argument: results have its dtype, whatever the other operands
    have."""
    return _api(function, promotes=None, stage_constants=False)


def creation(function: Function) -> Function:
    """As `api`, for functions that make arrays from sizes: while tracing they always become ops."""
    return _api(function, promotes=False, stage_constants=True)


def _api(function: Function, promotes: bool | None, stage_constants: bool) -> Function:
    operands = ufunc_keywords.most_operands(function)

    def slow(*args: Any, **kwargs: Any) -> Any:
        if (kwargs and not ufunc_keywords.KEYWORDS.isdisjoint(kwargs)) or (operands is not None and len(args) > operands):
            result = ufunc_keywords.called(made, function, args, kwargs)
            if result is not NotImplemented:
                return result
        try:
            if (wrapped := wrapped_class(args)) is not None:
                return wrapped.apply_function(made, args, kwargs)
            trace = current()
            if trace is None or not (
                stage_constants or isinstance(trace, EagerTrace) or is_traced(args) or (kwargs and is_traced(kwargs.values()))
            ):
                number = gate.number
                out, found = _program(function, promotes, args, kwargs)
                if found is not None and trace is None and config.common is not None:
                    _serve(made, found, args, kwargs, number)
                return out
            return _staged(trace, function, promotes, args, kwargs)
        except LaminaError as error:
            raise located(error) from None

    made: Any = functools.update_wrapper(Dispatched(slow), function)
    _functions.append(made)
    return made


@functools.cache
def _entry() -> tuple[Any, Callable[..., bytes | None]] | None:
    """The native entry and its maker of keys; None where calls go through ctypes."""
    from ...codegen.executable import native_entry
    from ...runtime.abi import native_calls

    return (native_entry(), key_of(native_entry())) if native_calls() else None


def _is_entry_loaded() -> bool:
    """Whether compiled code of this process has loaded the native entry already."""
    executable = sys.modules.get(f"{__name__.removesuffix('.frontend.run.eager')}.codegen.executable")
    return executable is not None and executable.native_entry.cache_info().currsize > 0


_repeated = 0
"""Calls that found a program but were not served."""


def _serve(function: DispatchedBase, found: _Kept, args: tuple[Any, ...], kwargs: dict[str, Any], number: int) -> None:
    """Let calls like one that has been run twice be served by native code."""
    global _repeated
    _repeated += 1
    if (_repeated <= _WORTH_AN_ENTRY and not _is_entry_loaded()) or (entry := _entry()) is None:
        return
    native, make_key = entry
    values = *args, *kwargs.values()
    key, keeps = make_key(*args, **kwargs), [*kwargs, *identities(values)]
    if key is None:
        return

    def change(values: Sequence[Any]) -> None:
        if found.program.change():
            serve(values)

    def serve(values: Sequence[Any]) -> None:
        if (run := found.written(values, change)) is not None:
            function.serve(native, key, keeps, run, number)

    serve(values)


def _staged(
    trace: Trace, function: Callable[..., Any], promotes: bool | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A call that is recorded."""
    trace.depth += 1
    try:
        if trace.depth > 1:
            with config.lenient():
                return function(*args, **kwargs)
        return finished(function(*args, **kwargs), promotes, args, kwargs)
    finally:
        trace.depth -= 1
