"""Functions of `lamina.numpy` on plain arrays: each call is a small program, recorded, then interpreted or compiled.

The work of a program alone decides: below `COMPILED_WORK` its ops are evaluated by their NumPy meaning, from there on it is
compiled as `jit` would compile it. A recorded program is kept under the function, the arguments that are not arrays, and the
dtypes and shapes of those that are; a call that finds it builds no ops. Results share memory with nothing else.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Sequence
from threading import RLock
from typing import Any, TypeVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, Region, SSAValue

from ..dialects.graph.base import GraphOp
from ..dialects.graph.builder import GraphBuilder
from ..dialects.types import shape_of
from ..errors import LaminaError, TracingError
from ..runtime.array import Array as ResultArray
from ..runtime.array import as_array, is_ndarray
from ..runtime.arrays import plain
from .config import config
from .locations import located
from .results import finished
from .tracer import Tracer
from .tracing import Trace, current, input_array, is_traced

Array = np.ndarray[Any, Any]
Function = TypeVar("Function", bound=Callable[..., Any])

COMPILED_WORK = 1 << 16
"""Scalar operations from which a call is compiled: NumPy takes some ten microseconds for fewer, as long as a call does."""

_NEST_WEIGHT = 16
"""What an element of an op with loops of its own (a convolution, a scan) counts in scalar operations."""

_KEPT = 4096
"""Programs that are kept."""

_compiling = RLock()


class EagerTrace(Trace):
    """The trace of one call on plain arrays.

    Attributes:
        inputs: the array of each argument of the program.
        sources: what each was made of.
    """

    def __init__(self, numbers: Sequence[complex] = ()) -> None:
        super().__init__()
        self.builder = GraphBuilder(self.block)
        self.inputs: list[Array] = []
        self.sources: list[Any] = []
        # small ints are one object wherever they are used
        self._numbers = [x for x in numbers if type(x) is not int or abs(x) > 256]

    def number(self, x: complex, array: Array, weak: bool = False) -> Tracer:
        """A number of the caller is an argument, so that calls with others are the same program; others are constants."""
        if any(x is given for given in self._numbers):
            return self._input(x, array, weak)
        return self.wrap(self.constant(array), weak)

    def _lift_array(self, x: Any) -> Tracer:
        known = self._by_identity.get(id(x))
        if known is None:
            known = self._by_identity[id(x)] = self._input(x, input_array(x))
        return known

    def _input(self, source: Any, array: Array, weak: bool = False) -> Tracer:
        self.inputs.append(array)
        self.sources.append(source)
        return self.argument(array.dtype, array.shape, weak)

    def _capture_tracer(self, x: Tracer) -> Tracer:
        raise TracingError(f"{x!r} reached a function on plain arrays: pass it as an argument, or in a list")

    def result(self, out: Any) -> Any:
        """The arrays of what a function returned."""
        return EagerProgram(self, out).run(self.inputs)


class EagerProgram:
    """What a trace has recorded, as a function of its inputs."""

    def __init__(self, trace: EagerTrace, out: Any):
        self._results: list[SSAValue] = []
        self._rebuild = self._template(trace, out)
        self._block = trace.block
        self.dtypes = [array.dtype for array in trace.inputs]
        ops = list(trace.block.ops)
        values: list[SSAValue] = [*trace.block.args, *(result for op in ops for result in op.results)]
        numbers = {value: k for k, value in enumerate(values)}
        self._steps = [(op, [numbers[o] for o in op.operands]) for op in ops]
        self._outputs = [numbers[value] for value in self._results]
        self._native: Callable[..., Any] | None = None
        self._compiled = bool(trace.inputs and self._results) and sum(map(work, ops)) >= COMPILED_WORK

    def _template(self, trace: EagerTrace, out: Any) -> Callable[[Sequence[Any]], Any]:
        """From the results to what the function returned."""
        if isinstance(out, Tracer):
            k = len(self._results)
            self._results.append(trace.lift(out).value)
            return lambda results: results[k]
        if isinstance(out, tuple | list):
            parts = [self._template(trace, item) for item in out]
            make = getattr(type(out), "_make", type(out))  # named tuples
            return lambda results: make([part(results) for part in parts])
        return lambda results: out

    def run(self, inputs: Sequence[Array]) -> Any:
        """The result for arrays of the dtypes and shapes that were recorded."""
        results = self._call(inputs) if self._compiled else self._interpret(inputs)
        return self._rebuild([as_array(x) for x in results])

    def _interpret(self, inputs: Sequence[Array]) -> list[Array]:
        values: list[Array] = list(inputs)
        for op, operands in self._steps:
            assert isinstance(op, GraphOp)
            values += op.evaluate(*[values[k] for k in operands])
        found: list[Array] = []
        for k in self._outputs:
            array = values[k]
            owned = array.flags.owndata and array.flags.c_contiguous and k >= len(inputs)
            found.append(array if owned and not any(array is other for other in found) else array.copy())
        return found

    def _call(self, inputs: Sequence[Array]) -> Sequence[Array]:
        if self._native is None:
            with _compiling:
                self._native = self._native or self._compile()
        out = self._native(*[plain(array, dtype) for array, dtype in zip(inputs, self.dtypes, strict=True)])
        return out if isinstance(out, tuple) else (out,)

    def _compile(self) -> Callable[..., Any]:
        from .executables import native_function

        block = self._block
        block.add_op(ReturnOp.create(operands=self._results))
        types = [argument.type for argument in block.args], [value.type for value in self._results]
        return native_function(ModuleOp([FuncOp("main", types, Region(block), "public")]))


def work(op: Operation) -> int:
    """About how many scalar operations an op takes."""
    assert isinstance(op, GraphOp)
    elements = max(math.prod(shape_of(value)) for value in (*op.operands, *op.results))
    if op.batching == "elementwise" or op.view:
        return elements
    equations = () if op.composite else op.equations()
    return sum(math.prod(e.space) for e in equations) if equations else _NEST_WEIGHT * elements


# --------------------------------------------------------------------------------------------------------------------
# Calls


class _Kept:
    """A program, and which leaves of a call are its inputs."""

    def __init__(self, program: EagerProgram, places: Sequence[int]):
        self.program = program
        self.places = list(zip(places, program.dtypes, strict=True))

    def run(self, leaves: Sequence[Any]) -> Any:
        return self.program.run([np.asarray(leaves[k], dtype) for k, dtype in self.places])


_kept: dict[Hashable, _Kept] = {}


def evaluated(function: Callable[..., Any], promotes: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a function of `lamina.numpy` on plain arrays."""
    leaves: list[Any] = []
    key: Hashable = None
    try:
        key = (function, config.options, _key(args, leaves), *((name, _key(value, leaves)) for name, value in kwargs.items()))
    except _NoKeyError:
        pass
    else:
        if (found := _kept.get(key)) is not None:
            return found.run(leaves)
    with EagerTrace([x for x in leaves if type(x) in _NUMBERS]) as trace:
        trace.depth = 1
        out = finished(function(*args, **kwargs), promotes, args, kwargs)
    program = EagerProgram(trace, out)
    if key is not None and (places := _places(trace.sources, leaves)) is not None:
        if len(_kept) >= _KEPT:
            _kept.clear()
        _kept[key] = _Kept(program, places)
    return program.run(trace.inputs)


def _places(sources: Sequence[Any], leaves: Sequence[Any]) -> list[int] | None:
    """The leaf that each input was made of; None if the function may have looked at the elements of an array."""
    places = {id(leaf): k for k, leaf in enumerate(leaves)}
    arrays = [id(leaf) for leaf in leaves if is_ndarray(leaf)]
    used = {id(source) for source in sources}
    if not used <= places.keys() or not used.issuperset(arrays) or len({*arrays}) != len(arrays):
        return None
    return [places[id(source)] for source in sources]


class _NoKeyError(Exception):
    """An argument that no key stands for."""


_NUMBERS = (int, float, complex)
_PLAIN = (bool, str, type(None), type(Ellipsis), type)


def _key(x: Any, leaves: list[Any]) -> Hashable:
    """What a recorded program may depend on: all of an argument but the elements of its arrays, which become leaves."""
    kind = type(x)
    if kind is np.ndarray or kind is ResultArray:
        leaves.append(x)
        return x.dtype, x.shape
    if kind in _NUMBERS:
        leaves.append(x)
        return kind, x if kind is int else x.hex() if kind is float else (x.real.hex(), x.imag.hex())
    if kind in (tuple, list) and len(x) <= 64:
        return kind, *[_key(item, leaves) for item in x]
    if kind in _PLAIN:
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
    """A function of lamina.numpy: on plain arrays it is evaluated, errors get the user's place.

    Results of what is only stored are rounded to it once, when the function that the user called has ended (`finished`).
    """
    return _api(function, promotes=False, stage_constants=False)


def operation(function: Function) -> Function:
    """As `api`, for functions whose arguments are all operands of one operation: none of them is an index."""
    return _api(function, promotes=True, stage_constants=False)


def creation(function: Function) -> Function:
    """As `api`, for functions that make arrays from sizes: while tracing they always become ops."""
    return _api(function, promotes=False, stage_constants=True)


def _api(function: Function, promotes: bool, stage_constants: bool) -> Function:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        trace = current()
        try:
            if trace is None or not (
                stage_constants or isinstance(trace, EagerTrace) or is_traced(args) or (kwargs and is_traced(kwargs.values()))
            ):
                return evaluated(function, promotes, args, kwargs)
            return _staged(trace, function, promotes, args, kwargs)
        except LaminaError as error:
            raise located(error) from None

    return wrapper  # pyright: ignore[reportReturnType]


def _staged(trace: Trace, function: Callable[..., Any], promotes: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call that is recorded."""
    trace.depth += 1
    try:
        if trace.depth > 1:
            with config.lenient():
                return function(*args, **kwargs)
        return finished(function(*args, **kwargs), promotes, args, kwargs)
    finally:
        trace.depth -= 1
