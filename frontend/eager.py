"""Functions of `lamina.numpy` on plain arrays: each call is a small program, recorded, then interpreted or compiled.

The work of a program alone decides: below `COMPILED_WORK` its ops are evaluated by their NumPy meaning, from there on it is
compiled as `jit` would compile it. A recorded program is kept under the function, the arguments that are not arrays, and the
dtypes and shapes of those that are; a call that finds it builds no ops. Results share memory with nothing else.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Hashable, Sequence
from threading import RLock
from typing import Any, TypeVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ..dialects.graph.base import GraphOp, ints
from ..dialects.graph.builder import GraphBuilder
from ..dialects.graph.choose import CmpOp
from ..dialects.graph.elementwise import ElementwiseOp
from ..dialects.graph.shape import BroadcastOp
from ..dialects.types import element_of, numpy_dtype, shape_of
from ..errors import LaminaError, TracingError
from ..runtime.array import Array as ResultArray
from ..runtime.array import as_array, is_ndarray
from ..runtime.arrays import plain
from .config import Options, config
from .locations import located
from .promotion import STORED
from .results import finished
from .tracer import Tracer
from .tracing import Deferred, Trace, current, input_array, is_traced

Array = np.ndarray[Any, Any]
Function = TypeVar("Function", bound=Callable[..., Any])

COMPILED_WORK = 1 << 16
"""Scalar operations from which a call is compiled: NumPy takes some ten microseconds for fewer, as long as a call does."""

_NEST_WEIGHT = 16
"""What an element of an op with loops of its own (a convolution, a scan) counts in scalar operations."""

_KEPT = 4096
"""Programs that are kept."""

_DIRECT = 512
"""Of them, for each function, what calls find without a search of their arguments."""

deferred: Any = None
"""What gives the result of a program later: `lazy.py` puts it here when it is imported."""

_compiling = RLock()
ndarray = np.ndarray


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
            waits = isinstance(x, Deferred) and x.dtype not in STORED
            array = np.empty(x.shape, x.dtype) if waits else input_array(x)
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
        self._compiled = bool(trace.inputs and self._results) and sum(map(work, ops)) >= COMPILED_WORK
        self._outputs = [numbers[value] for value in self._results]
        self._steps: list[tuple[Callable[..., tuple[Array, ...]], list[int], int]] = []
        self._single = isinstance(out, Tracer)
        for op in ops if not self._compiled else ():
            if isinstance(op, BroadcastOp) and _is_broadcast_by_users(op) and op.y not in self._results:
                numbers[op.y] = numbers[op.x]
                continue
            assert isinstance(op, GraphOp)
            self._steps.append((op.evaluator(), [numbers[o] for o in op.operands], numbers[op.results[0]]))
        self._optimized: Block | None = None
        self._elementwise = self._compiled and self._single and all(_is_elementwise(op) for op in ops)
        self._slots = [None] * (len(values) - len(self.dtypes))
        self._native: Callable[..., Any] | None = None

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
        values: list[Any] = [x.view(np.ndarray) for x in inputs]  # NumPy takes twice as long on a subclass
        values += self._slots
        for evaluate, operands, first in self._steps:
            for k, result in enumerate(evaluate(*[values[k] for k in operands]), first):
                values[k] = result
        found: list[Array] = []
        for k in self._outputs:
            array = values[k]
            owned = _owned(array) and k >= len(inputs)
            found.append(array if owned and not any(array is other for other in found) else array.copy())
        return found

    def single(self) -> Callable[..., tuple[Array, ...]] | None:
        """What evaluates the one op of the program, which takes all inputs in order and gives the result."""
        if self._compiled or not self._single or len(self._steps) != 1:
            return None
        evaluate, operands, first = self._steps[0]
        return evaluate if operands == list(range(len(self.dtypes))) and self._outputs == [first] else None

    def _call(self, inputs: Sequence[Array]) -> Sequence[Array]:
        if self._native is None:
            with _compiling:
                self._native = self._native or self._compile()
        out = self._native(*[plain(array, dtype) for array, dtype in zip(inputs, self.dtypes, strict=True)])
        return out if isinstance(out, tuple) else (out,)

    def _compile(self) -> Callable[..., Any]:
        from .executables import native_function

        return native_function(self._module())

    def _module(self) -> ModuleOp:
        block = self._block
        if not isinstance(block.last_op, ReturnOp):
            block.add_op(ReturnOp.create(operands=self._results))
            types = [argument.type for argument in block.args], [value.type for value in self._results]
            self._whole = ModuleOp([FuncOp("main", types, Region(block), "public")])
        return self._whole

    # -- waiting (`lazy.py`)

    def may_wait(self) -> bool:
        """Whether the program is one to compile, of elementwise ops with one result."""
        return self._elementwise

    def result_type(self) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """Dtype and shape of the one result."""
        (result,) = self._results
        return numpy_dtype(element_of(result)), shape_of(result)

    def simplified(self) -> Block:
        """The program after the passes from graph to graph, by itself."""
        with _compiling:
            if self._optimized is None:
                from .. import pipeline

                module = self._module().clone()
                pipeline.run_to(module, "optimized")
                self._optimized = next(op for op in module.body.block.ops if isinstance(op, FuncOp)).body.block
            return self._optimized


def _is_elementwise(op: Operation) -> bool:
    return isinstance(op, ElementwiseOp | BroadcastOp) or op.name == "graph.const"


def _is_broadcast_by_users(op: BroadcastOp) -> bool:
    """Whether NumPy makes the operand as large as the result where it is used."""
    rank, own = len(op.result_shape()), len(op.shape())
    if ints(op.dims) != tuple(range(rank - own, rank)):
        return False
    return all(
        isinstance(user, ElementwiseOp)
        and type(user).evaluate in (ElementwiseOp.evaluate, CmpOp.evaluate)
        and not all(isinstance(x.owner, BroadcastOp) for x in user.operands)
        for user in (use.operation for use in op.y.uses)
    )


def _owned(array: Array) -> bool:
    flags = array.flags
    return flags.owndata and flags.c_contiguous


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

    def result(self, leaves: Sequence[Any]) -> Any:
        """What the program gives, or an array that waits for it."""
        if config.lazy and self.program.may_wait():
            return deferred(self.program, [leaves[k] for k, _ in self.places])
        return self.program.run([np.asarray(leaves[k], dtype) for k, dtype in self.places])

    def direct(self, values: Sequence[Any]) -> Callable[[Sequence[Any]], Any] | None:
        """The same for calls whose leaves are arguments, as `values`; None where they stand in lists."""
        if config.lazy and self.program.may_wait():
            return None
        positions: list[int | None] = []  # of each leaf
        for k, value in enumerate(values):
            leaves: list[Any] = []
            _key(value, leaves)
            positions += [k] if leaves and leaves[0] is value else [None] * len(leaves)
        inputs = [(k, dtype) for place, dtype in self.places if (k := positions[place]) is not None]
        if len(inputs) < len(self.places):
            return None
        evaluate = self.program.single()
        arrays = [k for k, _ in inputs if is_ndarray(values[k])]
        if evaluate is None or not arrays or any(values[k].dtype != dtype for k, dtype in inputs if k in arrays):
            run = self.program.run
            return lambda values: run([np.asarray(values[k], dtype) for k, dtype in inputs])
        first, last = arrays[0], arrays[-1]
        if len(arrays) == 1:  # calls alike have the same numbers
            at = [k for k, _ in inputs].index(first)
            before, after = ([np.asarray(values[k], dtype) for k, dtype in part] for part in (inputs[:at], inputs[at + 1 :]))
            return lambda values: _fresh(*evaluate(*before, values[first].view(ndarray), *after))
        if len(arrays) == len(inputs) == 2:
            return lambda values: _fresh(*evaluate(values[first].view(ndarray), values[last].view(ndarray)))
        if len(arrays) == len(inputs):
            return lambda values: _fresh(*evaluate(*[values[k].view(ndarray) for k in arrays]))
        return lambda values: _fresh(*evaluate(*[np.asarray(values[k], dtype).view(ndarray) for k, dtype in inputs]))


def _fresh(result: Array) -> Array:
    flags = result.flags
    return (result if flags.owndata and flags.c_contiguous else result.copy()).view(ResultArray)


_kept: dict[Hashable, _Kept] = {}
_resets: list[Callable[[], None]] = []
"""What forgets the calls of each function."""


def forget() -> None:
    """Forget all programs: the next call of each function records anew."""
    _kept.clear()
    for reset in _resets:
        reset()


def evaluated(function: Callable[..., Any], promotes: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a function of `lamina.numpy` on plain arrays."""
    return _program(function, promotes, args, kwargs)[0]


def _program(
    function: Callable[..., Any], promotes: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, _Kept | None]:
    """The result, and the program that gives it if calls alike have the same one."""
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
        if len({id(x) for x in leaves}) < len(leaves):  # inputs are told apart by identity
            args, kwargs = _distinct(args), {name: _distinct(value) for name, value in kwargs.items()}
            leaves = []
            _key((args, *kwargs.values()), leaves)
    with EagerTrace([x for x in leaves if type(x) in _NUMBERS]) as trace:
        trace.depth = 1
        out = finished(function(*args, **kwargs), promotes, args, kwargs)
    program = EagerProgram(trace, out)
    kept = None
    if key is not None and (places := _places(trace.sources, leaves)) is not None:
        if len(_kept) >= _KEPT:
            _kept.clear()
        kept = _kept[key] = _Kept(program, places)
        return kept.result(given), kept
    for k, source in enumerate(trace.sources):
        if isinstance(source, Deferred):
            trace.inputs[k] = np.asarray(source, program.dtypes[k])
    return program.run(trace.inputs), kept


class _Twin(Deferred):
    """Another object for an array whose elements wait."""

    def __init__(self, of: Deferred):
        self.of = of

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.of.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.of.shape

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return np.array(self.of, dtype, copy=copy)


def _distinct(x: Any) -> Any:
    """The same arguments, arrays as objects of their own."""
    if is_ndarray(x):
        return x.view()
    if isinstance(x, Deferred):
        return _Twin(x)
    return type(x)(map(_distinct, x)) if type(x) in (tuple, list) else x


def _places(sources: Sequence[Any], leaves: Sequence[Any]) -> list[int] | None:
    """The leaf that each input was made of; None if the function may have looked at the elements of an array."""
    places = {id(leaf): k for k, leaf in enumerate(leaves)}
    arrays = [id(leaf) for leaf in leaves if is_ndarray(leaf) or isinstance(leaf, Deferred)]
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
    if isinstance(x, Deferred):
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


def _flat(x: Any) -> Hashable:
    """As `_key`, of what holds no arrays.

    Raises:
        KeyError: it holds some.
    """
    leaves: list[Any] = []
    try:
        key = _key(x, leaves)
    except _NoKeyError:
        raise KeyError from None
    if any(isinstance(leaf, np.ndarray | np.generic) for leaf in leaves):
        raise KeyError
    return key


def _valued(x: Any) -> Hashable:
    return _key(x, [])


_FACTS: dict[type, Callable[[Any], Hashable]] = {
    **dict.fromkeys((np.ndarray, ResultArray), operator.attrgetter("dtype", "shape")),
    **dict.fromkeys((*_NUMBERS, *_PLAIN), _valued),
    **dict.fromkeys((tuple, list, slice), _flat),
}
"""As `_key`, in less time, of arguments that are arrays or hold none."""

_ARRAYS = frozenset((np.ndarray, ResultArray))


def _flat_key(values: Sequence[Any], names: dict[str, Any]) -> Hashable:
    """As `_key`, in less time, of a call whose arrays are arguments themselves; None for another one."""
    if len(values) == 1 and not names:
        (x,) = values
        if type(x) in _ARRAYS:
            return x.dtype, x.shape
    elif len(values) == 2 and not names:
        x, y = values
        if type(x) in _ARRAYS and type(y) in _ARRAYS:
            return x.dtype, x.shape, y.dtype, y.shape
    try:
        return (*[_FACTS[type(x)](x) for x in values], *names)
    except KeyError:
        return None


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
    direct: tuple[Options | None, dict[Hashable, Callable[[Sequence[Any]], Any]]] = None, {}
    """What runs calls on plain arrays that came before, and under which options it was recorded."""

    def reset() -> None:
        nonlocal direct
        direct = None, {}

    _resets.append(reset)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        nonlocal direct
        trace = current()
        key = None
        options, table = direct
        if trace is None and (common := config.common) is not None:
            if common is not options:
                direct = common, (table := {})
            values = (*args, *kwargs.values()) if kwargs else args
            key = _flat_key(values, kwargs)
            if key is not None and (run := table.get(key)) is not None:
                return run(values)
        try:
            if trace is None or not (
                stage_constants or isinstance(trace, EagerTrace) or is_traced(args) or (kwargs and is_traced(kwargs.values()))
            ):
                out, kept = _program(function, promotes, args, kwargs)
                if key is not None and kept is not None and (run := kept.direct((*args, *kwargs.values()))) is not None:
                    if len(table) >= _DIRECT:
                        table.clear()
                    table[key] = run
                return out
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
