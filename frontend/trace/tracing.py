"""Tracing: a `Trace` receives the ops of one function; `lift` brings any operand into it.

A function of `lamina.numpy` is written once, against the current trace. Inside a traced function that is the trace of the
function. On plain arrays it is the trace of that one call (`frontend/run/eager.py`).
"""

from __future__ import annotations

import sys
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from xdsl.dialects.builtin import LocationAttr, UnknownLoc
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.graph.builder import GraphBuilder
from ...dialects.graph.choose import is_direct
from ...dialects.rounding import cast
from ...dialects.sizes.polynomial import Size
from ...dialects.types import element_type, numpy_dtype, tensor
from ...errors import DTypeError, TracingError
from ...runtime.dispatch import gate
from . import concrete_values
from .array_functions import arrays as lnp
from .locations import is_users, located, user_location
from .promotion import COMPLEX128, FLOAT64, INT64, STORED, Token, canonical, common_dtype, computed, inexact, is_float_dtype
from .tracer import Read, Tracer, asked

if TYPE_CHECKING:
    from .program import Program

CONST_LIMIT = 1024
"""Closed-over arrays of up to this many elements become constants of the graph, larger ones hidden arguments."""


class _State(threading.local):
    def __init__(self) -> None:
        self.stack: list[Trace] = []


_state = _State()


def current() -> Trace | None:
    """The innermost trace of this thread."""
    stack = _state.stack
    return stack[-1] if stack else None


Narrowing = Callable[[Tracer, np.dtype[Any]], None]


class _LocatedBuilder(GraphBuilder):
    """A graph builder that gives each op the user's source location, or, of a text that is imported, that in the text."""

    def insert(self, op: Operation) -> Any:
        op.location = self.location or user_location() or UnknownLoc()
        self.point.block.add_op(op)
        return op.results[0] if len(op.results) == 1 else tuple(op.results)


class Trace:
    """One function under construction: a block, and the values captured from outside.

    Use it as a context manager: inside, it is the current trace.

    Attributes:
        program: the module that the function belongs to; None where there is none.
        captured: arrays and tracers of enclosing traces that the function reads, each with its hidden block argument.
        own_arguments: how many block arguments stand before the hidden ones.
        depth: how many functions of lamina.numpy are being recorded, each called by the one before.
        known: for each argument an array, a tracer of an enclosing trace, or the reason why there is no value.
        values: the values that were requested, and those that led to them (`concrete_values.py`).
        is_inner: whether it is a part of another trace.
        derivatives: how many transformations around it differentiate its ops.
        transposed: 1 in a rule of forward mode whose ops on tangents are transposed by reverse mode.
        in_rule: whether it is in a rule of reverse mode (`custom_vjp`).
        is_rule: whether it is a rule, whose arguments are first those of the call.
        changed: values that transformations change, by which (`changed_by` of `frontend/functions/custom.py`).
        reads: the values that Python has read, where a record of the run is made (`frontend/run/record.py`); one list for
            traces inside.
        narrowing: called with each traced Python integer that becomes one of another dtype (`frontend/python/compile/`); of
            traces inside, too.
        location: where the function is defined.
    """

    def __init__(
        self,
        program: Program | None = None,
        location: LocationAttr | None = None,
        known: Sequence[Any] = (),
        derivatives: int = 0,
    ) -> None:
        self.program = program
        self.block = Block()
        self.builder = _LocatedBuilder(self.block)
        self.captured: list[tuple[Any, Tracer]] = []
        self.active = False
        self.own_arguments = 0
        self.depth = 0
        self.known = known
        self.values: dict[SSAValue, np.ndarray[Any, Any]] = {}
        self._by_identity: dict[int, Tracer] = {}
        self._constants: dict[tuple[Any, ...], SSAValue] = {}
        self._types: dict[int, tuple[tuple[int, ...], np.dtype[Any], Any]] = {}
        """Shapes and dtypes of types by identity, each with the type, which keeps it one."""
        self.location = location
        outer = current()
        self.derivatives = derivatives + (outer.derivatives if outer is not None else 0)
        self.is_inner = outer is not None
        self.transposed: int = outer.transposed if outer is not None else 0
        self.in_rule: bool = outer is not None and outer.in_rule
        self.is_rule = False
        self.changed: dict[SSAValue, float] = {}
        self.reads: list[Read] | None = outer.reads if outer is not None else None
        self.narrowing: Narrowing | None = outer.narrowing if outer is not None else None

    def __enter__(self) -> Self:
        gate.close()
        _state.stack.append(self)
        self.active = True
        return self

    def __exit__(self, *exc: object) -> None:
        self.active = False
        _state.stack.pop()
        gate.open()

    def readable(self, x: Tracer, what: str) -> np.ndarray[Any, Any]:
        """A copy of the value of one of its tracers.

        Raises:
            UnknownValueError: it depends on an argument without a value.
        """
        return concrete_values.readable(x, what)

    # -- values into the trace

    def argument(self, dtype: np.dtype[Any], shape: tuple[int, ...], weak: bool = False) -> Tracer:
        """A new argument of the function."""
        value = self.block.insert_arg(tensor(element_type(dtype), shape), len(self.block.args))
        if self.location is not None:
            value.location = self.location
        return Tracer(self, value, shape, dtype, weak)

    def wrap(self, value: SSAValue, weak: bool = False) -> Tracer:
        """The tracer of a value that an op of this trace has computed."""
        type: Any = value.type
        known = self._types.get(id(type))
        if known is None:
            known = self._types[id(type)] = (type.get_shape(), numpy_dtype(type.element_type), type)
        return Tracer(self, value, known[0], known[1], weak)

    def constant(self, array: np.ndarray[Any, Any]) -> SSAValue:
        """A constant; equal scalars share one op."""
        if array.size > 8:
            return self.builder.const(array)
        key = (array.dtype.char, array.shape, array.tobytes())
        value = self._constants.get(key)
        if value is None:
            value = self._constants[key] = self.builder.const(array)
        return value

    def lift(self, x: Any) -> Tracer:
        """An operand as a tracer of this trace.

        Raises:
            TracingError: a tracer of a function whose trace has ended.
            TypeError: not an array or number.
        """
        if isinstance(x, Tracer):
            return x if x.within is self else self._capture_tracer(x)
        if isinstance(x, Size):
            return self.wrap(self.builder.size(x, element_type(INT64)), weak=True)
        if isinstance(x, bool | np.bool_):
            return self.wrap(self.constant(np.asarray(bool(x))))
        if isinstance(x, int):
            return self.number(x, _python_int(x), weak=True)
        if isinstance(x, float) and not isinstance(x, np.floating):
            return self.number(x, np.asarray(x, canonical(FLOAT64)), weak=True)
        if isinstance(x, complex) and not isinstance(x, np.complexfloating):
            return self.number(x, np.asarray(x, canonical(COMPLEX128)), weak=True)
        return self._lift_array(x)

    def number(self, x: complex, array: np.ndarray[Any, Any], weak: bool = False) -> Tracer:
        """A Python number as a tracer of the dtype of `array`: a constant, or an argument where the program says so."""
        if self.program is not None and self.program.is_argument(array):
            tracer = self._capture(array, array, array.dtype, array.shape)
            tracer.weak = weak
            return tracer
        return self.wrap(self.constant(array), weak)

    def rounded_number(self, x: float, stored: np.dtype[Any]) -> Tracer:
        """A Python number as a tracer of the dtype that `stored` is computed in, rounded to `stored` first."""
        array = np.asarray(x, FLOAT64)  # as NumPy: an integer that does not fit raises OverflowError
        if self.program is not None and self.program.is_argument(array):
            return lift_as(lift_as(self._capture(array, array, array.dtype, array.shape), stored), computed(stored))
        with np.errstate(over="ignore"):
            return self.wrap(self.constant(cast(array, stored).astype(computed(stored))))

    def _lift_array(self, x: Any) -> Tracer:
        assert self.program is not None
        held = self.program.snapshot(x)
        known = self._by_identity.get(id(held))
        if known is not None:
            return known
        if held.size > self.program.const_limit:
            return self._capture(held, held, held.dtype, held.shape)
        tracer = self._by_identity[id(held)] = self.wrap(self.constant(held))
        return tracer

    def computed(self, x: Tracer) -> Tracer:
        """A tracer of a storage-only dtype in the one that it is computed in; converted once."""
        known = self._by_identity.get(id(x.value))
        if known is None:
            known = self.wrap(self.builder.convert(x.value, element_type(computed(x.dtype))))
            self._by_identity[id(x.value)] = known
            self.captured_keep(x.value)
        return known

    def captured_keep(self, x: Any) -> None:
        """Keep an object alive as long as its identity is a key."""
        self._constants[("keep", id(x))] = x

    def rewind(self, last: Operation | None) -> None:
        """Drop the unused ops that were recorded after an op, the last one that stays; constants stay."""
        dropped: set[Operation] = set()
        op = self.block.last_op
        while op is not None and op is not last:
            before = op.prev_op
            if op.name != "graph.const" and all(result.first_use is None for result in op.results):
                op.detach()
                op.erase()
                dropped.add(op)
            op = before
        for key, known in list(self._by_identity.items()):
            if known.value.owner in dropped:
                del self._by_identity[key]

    def _capture(self, x: Any, held: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Tracer:
        tracer = self.argument(dtype, shape)
        tracer.value.name_hint = f"captured{len(self.captured)}"
        self._by_identity[id(x)] = tracer
        self.captured_keep(x)
        self.captured.append((held, tracer))
        return tracer

    def _capture_tracer(self, x: Tracer) -> Tracer:
        if not x.within.active:
            raise TracingError(
                f"{x!r} has escaped from the function it was traced in: return it from that function instead of "
                "storing it in a global, an attribute or a closure"
            )
        known = self._by_identity.get(id(x))
        if known is None:
            known = self._capture(x, x, x.dtype, x.shape)
            known.weak = x.weak
        return known


def _python_int(x: int) -> np.ndarray[Any, Any]:
    """The number in the default dtype, or in int64: the other operand may have a dtype that holds it."""
    for dtype in (canonical(INT64), INT64):
        if np.iinfo(dtype).min <= x <= np.iinfo(dtype).max:
            return np.asarray(x, dtype)
    raise OverflowError(f"Python integer {x} does not fit int64")


def input_array(x: Any) -> np.ndarray[Any, Any]:
    """As `concrete_array`, in a dtype that is computed with."""
    array = concrete_array(x)
    return array.astype(computed(array.dtype)) if array.dtype in STORED else array  # exact


def _has_buffer(x: Any) -> bool:
    """Whether an object that is no text shows its memory, as `array.array` does."""
    if isinstance(x, str | bytes | bytearray):
        return False
    try:
        memoryview(x)
    except TypeError:
        return False
    return True


def concrete_array(x: Any, dtype: np.dtype[Any] | None = None) -> np.ndarray[Any, Any]:
    """A contiguous array of a supported dtype from an array, NumPy scalar or nested list of numbers.

    Integers become `dtype` at once where they do not fit the dtype that they would have else.

    Raises:
        OverflowError: a Python integer is out of the range of the dtype.
    """
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError("masked arrays are not supported: fill it with .filled() first")
    if (
        not isinstance(x, np.ndarray | np.generic | bool | int | float | complex | list | tuple | range)
        and not hasattr(x, "__array__")
        and not _has_buffer(x)
    ):
        raise TypeError(f"expected an array or a number, got {type(x).__name__}: {x!r:.60}")
    array = np.asarray(x)
    if array.dtype.kind in "OUSV" and array.dtype not in STORED:
        raise DTypeError(f"expected an array of numbers, got {type(x).__name__} of dtype {array.dtype}: {x!r:.60}")
    held = canonical(array.dtype)
    if array.dtype.kind in "iu":
        if not isinstance(x, np.ndarray | np.generic) and (dtype is None or dtype.kind in "iu"):
            array = np.asarray(x, held if dtype is None else dtype)  # NumPy says which integers are out of range
            held = array.dtype
        elif dtype is not None and held != array.dtype:
            held = dtype
    result = np.ascontiguousarray(array, held)
    return result if result.shape == array.shape else result.reshape(array.shape)


def _size_as_number(size: Size) -> Tracer:
    """A size as a weakly typed number of the current trace."""
    trace = current()
    if trace is None:
        raise TracingError(f"size {size} has escaped from the function it was traced in")
    return trace.lift(size)


def _is_users_question(size: Size) -> bool:
    """Whether a comparison of a size stands in the user's traced code."""
    if current() is None:
        return False
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename in _ASKING or _is_made(frame)):
        frame = frame.f_back
    return frame is not None and is_users(frame.f_code)


def _compared(size: Size, sign: str, other: Any) -> Any:
    """A comparison of the user's that only a call decides, where control flow is captured; None else."""
    return getattr(lnp, _FUNCTIONS[sign])(_size_as_number(size), other) if asked.captured else None


_FUNCTIONS = {
    "==": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal",
}  # fmt: skip


def _is_made(frame: FrameType) -> bool:
    """Whether code runs that a decorator has made, as `__eq__` of a dataclass: its caller asks."""
    return frame.f_code.co_filename == "<string>" and frame.f_code.co_name.startswith("__")


_SIZES = Path(Size.__init__.__code__.co_filename)
_CAPTURE = Path(__file__).parents[1] / "python" / "capture"
_ASKING = {str(_SIZES), *(str(_CAPTURE / f"{name}.py") for name in ("branches", "builtin"))}
"""Files whose code compares sizes for whom it was called by."""

Size.as_number = _size_as_number
Size.is_asked_by_user = _is_users_question
Size.located = lambda error: located(error) if current() is not None else error
Size.compared = _compared


def is_array_like(x: Any) -> bool:
    """Whether a value is an array or a number, traced or not."""
    return isinstance(x, Tracer | Size | np.ndarray | np.generic | bool | int | float | complex) or hasattr(x, "__array__")


def is_traced(args: Iterable[Any]) -> bool:
    """Whether a tracer stands among arguments or in lists of them."""
    for x in args:
        if isinstance(x, Tracer | Size) or (isinstance(x, list | tuple) and is_traced(x)):
            return True
    return False


class Deferred:
    """Base of arrays whose elements are computed when they are looked at (`frontend/run/lazy.py`)."""

    __slots__ = ()

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """Of the elements."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The sizes."""


class Watched(Deferred):
    """A handle of an array that knows whether its elements have been read."""

    def __init__(self, of: Any):
        self.of = of
        self.was_read = False

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.of.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.of.shape

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        self.was_read = True
        return np.array(self.of, dtype, copy=copy)


class Derived:
    """An input of a program that each call makes anew of one of its arrays: `make(of)`, which may raise; `array` is one.

    Its elements are for `make` alone: the program must not depend on them.
    """

    def __init__(self, of: Watched, make: Callable[[Any], np.ndarray[Any, Any]]):
        self.of, self.make, self.array = of, make, make(of.of)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the input."""
        return self.array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the input."""
        return self.array.shape

    @property
    def ndim(self) -> int:
        """Of the input."""
        return self.array.ndim

    @property
    def size(self) -> int:
        """Of the input."""
        return self.array.size

    def then(self, make: Callable[[Any], np.ndarray[Any, Any]]) -> Derived:
        """The array that is made of this one."""
        before = self.make
        return Derived(self.of, lambda x: make(before(x)))


def token(x: Any) -> Token:
    """The type of an operand for promotion."""
    if type(x) is Tracer:  # and no subclass: other questions ask it for its `__class__`
        if x.weak and x.dtype.kind != "b":  # bools of Python are NumPy's
            return {"f": float, "c": complex}.get(x.dtype.kind, int)
        return x.dtype
    if isinstance(x, bool):
        return np.dtype(bool)
    if isinstance(x, Size):
        return int
    if type(x) in (int, float, complex):
        return type(x)
    return x.dtype if isinstance(x, Deferred) else concrete_array(x).dtype


def operand(x: Any) -> Any:
    """An argument of a function of lamina.numpy: tracers, arrays and numbers as they are, lists as arrays."""
    if type(x) is Tracer or isinstance(x, Size):
        return x
    if isinstance(x, list | tuple):
        return lnp.array(x) if is_traced(x) else concrete_array(x)
    return x


def lift(x: Any) -> Tracer:
    """An operand as a tracer of the current trace; lists become arrays."""
    trace = current()
    assert trace is not None
    x = trace.lift(operand(x))
    return trace.computed(x) if x.dtype in STORED else x


def lift_as(x: Any, dtype: np.dtype[Any]) -> Tracer:
    """An operand as a tracer of one dtype; Python numbers become constants of that dtype.

    Raises:
        DTypeError: complex numbers would lose their imaginary parts.
    """
    trace = current()
    assert trace is not None
    kind = type(x)
    if kind is Tracer and x.dtype is dtype and x.within is trace:
        return x
    if kind in (int, float) or (kind is complex and dtype.kind == "c"):
        # as NumPy: an integer that does not fit raises OverflowError
        number = cast(np.asarray(x, FLOAT64), dtype) if dtype in STORED and is_float_dtype(dtype) else np.asarray(x, dtype)
        return trace.number(x, number)
    if isinstance(x, Size):
        return lift_as(trace.wrap(trace.builder.size(x, element_type(computed(dtype)))), dtype)
    x = trace.lift(operand(x))
    if x.dtype == dtype:
        return x
    if trace.narrowing is not None and x.weak and x.dtype.kind == "i":
        trace.narrowing(x, dtype)
    if x.dtype.kind == "c" and dtype.kind not in "bc":
        raise DTypeError(f"complex numbers are not taken as {dtype}: use .real, abs(), or .astype, which drops imaginary parts")
    if x.dtype in STORED:
        x = trace.computed(x)
    if dtype in STORED and not is_direct(element_type(x.dtype), element_type(dtype)):
        x = lift_as(x, computed(dtype))
    return x if x.dtype == dtype else trace.wrap(trace.builder.convert(x.value, element_type(dtype)))


def lift_operands(args: Sequence[Any], tokens: Sequence[Token], dtypes: Sequence[np.dtype[Any]]) -> list[Tracer]:
    """Operands as tracers of the dtypes in which an operation is computed.

    In an operation of the user's whose common dtype is only stored, each operand is rounded to that first, as NumPy converts
    operands: `h + 2049` of a float16 adds 2048. Results that functions compute for each other are not rounded.
    """
    stored = None
    if any(token in STORED for token in tokens):
        trace = current()
        assert trace is not None
        common = common_dtype(tokens)
        stored = common if common in STORED and trace.depth <= 1 else None
    if stored is None or not is_float_dtype(stored):
        return [lift_as(x, dtype) for x, dtype in zip(args, dtypes, strict=True)]
    return [
        _lift_rounded(x, stored) if dtype == computed(stored) else lift_as(x, dtype)
        for x, dtype in zip(args, dtypes, strict=True)
    ]


def lift_into(values: Any, target: Any, dtype: np.dtype[Any]) -> Tracer:
    """Values that become elements of an array of the user's, in the dtype that this is computed in; rounded once to its own."""
    trace, own = current(), token(target)
    assert trace is not None
    if own in STORED and isinstance(own, np.dtype) and is_float_dtype(own) and trace.depth <= 1:
        return _lift_rounded(values, own)
    return lift_as(values, dtype)


def _lift_rounded(x: Any, stored: np.dtype[Any]) -> Tracer:
    """An operand in the dtype that `stored` is computed in, rounded to `stored` where it may be no number of that."""
    trace = current()
    assert trace is not None
    if type(x) in (int, float):
        return trace.rounded_number(x, stored)
    x = trace.lift(operand(x))
    if x.dtype in STORED or np.can_cast(x.dtype, stored):
        return lift_as(x, computed(stored))
    return lift_as(lift_as(x, stored), computed(stored))


def lift_float(x: Any) -> Tracer:
    """An operand as a tracer of floats; integers are converted by `promotion.inexact`, to float64 by default."""
    x = lift(x)
    return x if x.dtype.kind == "f" else lift_as(x, inexact(x.dtype))


def build(op: str, *operands: Tracer, weak: bool = False, **props: Any) -> Tracer:
    """One graph op with one result in the current trace; operands of enclosing traces are captured."""
    trace = current()
    assert trace is not None
    values = [x.value if x.within is trace else trace.lift(x).value for x in operands]
    return trace.wrap(trace.builder.build(op, values, props), weak)


def several(op: str, *operands: Tracer, **props: Any) -> list[Tracer]:
    """One graph op with several results in the current trace."""
    trace = current()
    assert trace is not None
    values = [x.value if x.within is trace else trace.lift(x).value for x in operands]
    return [trace.wrap(value) for value in trace.builder.build(op, values, props)]


def here(x: Tracer) -> tuple[Trace, SSAValue]:
    """The current trace, and the value of a tracer in it: one of an enclosing trace is captured."""
    trace = current()
    assert trace is not None
    return trace, x.value if x.within is trace else trace.lift(x).value


def sequence_of_operands(arrays: Any) -> Sequence[Any]:
    """The operands of `concatenate`, `stack` and the like: a list, a tuple, or an array over its first dim."""
    return [operand(a) for a in arrays]
