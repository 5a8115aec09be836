"""`Tracer`: the stand-in for an array while a function is traced. It has the dtype and shape, and no values."""

from __future__ import annotations

import itertools
import math
import operator
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.sizes.polynomial import Size
from ...errors import TracingError
from ...runtime.array import Array, array_namespace
from .array_functions import arrays as lnp
from .config import config
from .locations import is_users, located, shortened

if TYPE_CHECKING:
    from .tracing import Trace


class UnknownValueError(Exception):
    """An argument has no value while tracing; the text says why."""


PRINTING = "formatting"
"""Why a value is read that decides nothing."""


@dataclass(frozen=True)
class Read:
    """A value that Python has read from a traced array: its consequences are frozen in the trace.

    Attributes:
        what: how it was read: `if`, `float()`, `int()` ...
        value: the array.
        of: the tracer that has the value.
        place: file, line and column of the user's expression.
    """

    what: str
    value: np.ndarray[Any, Any]
    of: SSAValue
    place: tuple[str, int, int] | None

    def __str__(self) -> str:
        shown = str(self.value) if self.value.ndim == 0 else f"{self.value.dtype}{list(self.value.shape)}"
        where = "" if self.place is None else f"{shortened(self.place[0])}:{self.place[1]}: "
        return f"{where}{self.what} read {shown}"


class _Asked(threading.local):
    """Whether Python has read a value that only the program knows: capture from source may then trace the function."""

    values = False
    may = False
    """Whether it would: a function is traced as Python runs it, at first."""
    captured = False
    """Whether it does: comparisons of sizes are then traced, too."""


asked = _Asked()


class _Count:
    """An object that says how many refer to it where it is the left side of an augmented assignment."""

    def __iadd__(self, other: Any) -> int:
        return sys.getrefcount(self)


def _count_of_a_variable() -> int:
    """How many references an object has in there that one variable alone holds; versions of Python differ."""
    count: Any = _Count()
    count += 0
    return count


_UNSHARED = _count_of_a_variable()


def changes_in_place() -> bool:
    """Whether `x += y` changes an array for all that hold it: not in programs for jax."""
    return config.promotion != "jax"


def _in_place(plain: Callable[[Any, Any], Any]) -> Callable[[Tracer, Any], Any]:
    """`x += y` and the like: a new array, as in programs for jax; NumPy's result differs only if others hold `x`, or its dtype
    or shape would change.

    Then the function is traced from its source, where `x` is changed for all that hold it (`capture/writes.py`). Libraries are
    assumed to be written for immutable arrays.
    """

    def operation(self: Tracer, other: Any) -> Any:
        references = sys.getrefcount(self)
        result = plain(self, other)
        is_shared = references > _UNSHARED or self.base is not None
        is_plain = not is_shared and (result.dtype, result.shape) == (self.dtype, self.shape)
        if asked.may and self.shape and not is_plain and changes_in_place() and is_users(sys._getframe(1).f_code):
            asked.values = True
            raise located(TracingError("an array that others hold is changed in place: capture the function from its source"))
        return result

    return operation


def view_of(x: Any, result: Any, is_contiguous: bool) -> Any:
    """The result of an expression that NumPy computes without copying `x`."""
    if isinstance(x, Tracer) and isinstance(result, Tracer) and result.shape and result is not x:
        result.base = x, is_contiguous and (x.base is None or x.base[1])
    return result


def _reshaped(x: Tracer, result: Any) -> Any:
    """The same of a reshape, which NumPy copies for where the elements do not follow each other."""
    return view_of(x, result, True) if x.base is None or x.base[1] else result


def _is_contiguous(index: tuple[Any, ...]) -> bool:
    """Whether elements of a basic index follow each other: numbers, then a slice of step 1 at most."""
    rest = list(itertools.dropwhile(lambda part: part is not ... and not isinstance(part, slice), index))
    return all(isinstance(part, slice) and part.step is None for part in rest) and all(
        part.start is None and part.stop is None for part in rest[1:]
    )


_FLAGS = np.broadcast_to(np.zeros(()), ()).flags
_STATIC = "make the value static with static_argnums"


def _operator(name: str) -> Any:
    """The function of `lamina.numpy` as a method; the array is its first argument."""
    return lambda self, *args, **options: getattr(lnp, name)(self, *args, **options)


def _forward(name: str, reflected: str) -> Any:
    """A binary operator. An operand that is no array may implement its own, as for Python's numbers."""

    def method(self: Tracer, other: Any) -> Any:
        if type(other) is Tracer or isinstance(other, _OPERANDS) or hasattr(other, "__array__"):
            return getattr(lnp, name)(self, other)
        return NotImplemented if hasattr(type(other), reflected) else getattr(lnp, name)(self, other)

    return method


def _reflected(name: str) -> Any:
    return lambda self, other: getattr(lnp, name)(other, self)


_OPERANDS = (np.ndarray, np.generic, Size, bool, int, float, complex, list, tuple)


class Tracer:
    """An array of the traced program. Operators and methods are NumPy's; each adds ops to the graph.

    Attributes:
        shape: sizes, a tuple of int.
        dtype: a NumPy dtype.
        weak: whether it came from Python numbers only, which take the dtype of the other operand.
        within: the trace whose values it is one of.
        base: the array whose memory NumPy's would show a part of, and whether that part is contiguous; None if it has its own.
    """

    __slots__ = ("__weakref__", "base", "dtype", "shape", "value", "weak", "within")
    __array_priority__ = 1000
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __init__(self, trace: Trace, value: SSAValue, shape: tuple[int, ...], dtype: np.dtype[Any], weak: bool = False):
        self.within = trace
        self.value = value
        self.shape = shape
        self.dtype = dtype
        self.weak = weak
        self.base: tuple[Tracer, bool] | None = None

    @property
    def __class__(self) -> type:
        """`isinstance(x, lm.Array)` holds of traced arrays as of results: programs ask it of their arguments."""
        return Array

    # -- facts

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise located(TracingError("len() of a traced scalar"))
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Tracer({self.dtype}[{','.join(map(str, self.shape))}])"

    # -- facts that code for several libraries asks

    @property
    def flags(self) -> Any:
        """Those of an array that cannot be written."""
        return _FLAGS

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """`lamina.numpy`, for code that is written against the Array API."""
        return array_namespace(api_version)

    @property
    def device(self) -> str:
        return "cpu"

    def devices(self) -> set[str]:
        return {"cpu"}

    def to_device(self, device: str, /, *, stream: Any = None) -> Any:
        """The array itself: there is one device."""
        return lnp.asarray(self, device=device)

    def is_ready(self) -> bool:
        return True

    @property
    def weak_type(self) -> bool:
        return self.weak

    def __copy__(self) -> Tracer:
        return self

    def __deepcopy__(self, memo: Any) -> Tracer:
        return self

    def __dlpack__(self, **options: Any) -> NoReturn:
        raise located(TracingError(f"__dlpack__ needs the memory of {self!r}, which has none while tracing: export outside"))

    # -- methods that need values

    def _value(self, what: str, remedy: str) -> np.ndarray[Any, Any]:
        """The value, where it is known (`concrete_values.py`); a remedy, where it is not."""
        try:
            return self.within.readable(self, what)
        except UnknownValueError as error:
            asked.values = True
            raise located(TracingError(f"{what} needs the values of {self!r}, {error}: {remedy}")) from None

    def __bool__(self) -> bool:
        return bool(self._value("a condition", f"use lnp.where(condition, a, b), lm.cond or lm.while_loop, or {_STATIC}"))

    def __float__(self) -> float:
        return float(self._value("float()", "use .astype(lnp.float64), or return the value and convert it outside"))

    def __int__(self) -> int:
        return int(self._value("int()", f"use .astype(lnp.int64), or {_STATIC}"))

    def __complex__(self) -> complex:
        return complex(self._value("complex()", "use .astype(lnp.complex128), or return the value and convert it outside"))

    def __index__(self) -> int:
        return operator.index(self._value("an index or size", _STATIC))

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        what = "conversion to a NumPy array"
        value = self._value(what, "use the functions of lamina.numpy, or return the value")
        if self.dtype.kind not in "biu" and getattr(self.value.owner, "name", "") != "graph.stop_gradient":
            # NumPy asks in its own functions, too, as in `array.dot(x)`
            text = f"{what} of {self!r} makes a constant of it that derivatives do not see"
            raise located(TracingError(f"{text}: use the functions of lamina.numpy, or np.asarray(lm.stop_gradient(x))"))
        return np.asarray(value, dtype)

    def item(self, *args: int) -> Any:
        return self._value(".item()", "return the value and read it outside").item(*args)

    def tolist(self) -> Any:
        return self._value(".tolist()", "return the value and read it outside").tolist()

    def __str__(self) -> str:
        try:
            return str(self._value(PRINTING, ""))
        except TracingError:
            return repr(self)

    def __format__(self, spec: str) -> str:
        return format(self._value(PRINTING, "print it outside"), spec) if spec else str(self)

    def block_until_ready(self) -> Tracer:
        return self

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        asked.values = True
        raise located(
            TracingError(
                "traced arrays cannot be changed in place: use x = x.at[index].set(value), or lnp.where(mask, new, old)"
            )
        )

    def __iter__(self) -> Iterator[Tracer]:
        if not self.shape:
            raise located(TracingError("iteration over a traced scalar"))
        return (self[k] for n in self.shape[:1] for k in range(n))  # an open size is refused when an item is requested

    def __contains__(self, value: Any) -> bool:
        return value in self._value("`in`", "use (x == value).any()")

    # -- NumPy functions applied to a tracer

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        function = lnp.ufunc_counterpart(ufunc, method)
        taken = {"axis", "dtype", "keepdims", "initial", "where"} if method in ("reduce", "accumulate") else set[str]()
        if not kwargs.keys() <= taken:
            asked.values |= asked.may and "out" in kwargs  # `x += y` of an array of NumPy
            raise located(TracingError(f"np.{ufunc.__name__} with {', '.join(kwargs)}= is not supported on traced arrays"))
        return function(*args, **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return lnp.function_counterpart(func)(*args, **kwargs)

    # -- operators

    __add__, __radd__ = _forward("add", "__radd__"), _reflected("add")
    __sub__, __rsub__ = _forward("subtract", "__rsub__"), _reflected("subtract")
    __mul__, __rmul__ = _forward("multiply", "__rmul__"), _reflected("multiply")
    __truediv__, __rtruediv__ = _forward("divide", "__rtruediv__"), _reflected("divide")
    __floordiv__, __rfloordiv__ = _forward("floor_divide", "__rfloordiv__"), _reflected("floor_divide")
    __mod__, __rmod__ = _forward("remainder", "__rmod__"), _reflected("remainder")
    __divmod__, __rdivmod__ = _forward("divmod", "__rdivmod__"), _reflected("divmod")
    __pow__, __rpow__ = _forward("power", "__rpow__"), _reflected("power")
    __matmul__, __rmatmul__ = _forward("matmul", "__rmatmul__"), _reflected("matmul")
    __and__, __rand__ = _forward("bitwise_and", "__rand__"), _reflected("bitwise_and")
    __or__, __ror__ = _forward("bitwise_or", "__ror__"), _reflected("bitwise_or")
    __xor__, __rxor__ = _forward("bitwise_xor", "__rxor__"), _reflected("bitwise_xor")
    __lshift__, __rlshift__ = _forward("left_shift", "__rlshift__"), _reflected("left_shift")
    __rshift__, __rrshift__ = _forward("right_shift", "__rrshift__"), _reflected("right_shift")
    __iadd__, __isub__, __imul__ = _in_place(operator.add), _in_place(operator.sub), _in_place(operator.mul)
    __itruediv__, __ifloordiv__ = _in_place(operator.truediv), _in_place(operator.floordiv)
    __imod__, __ipow__, __imatmul__ = _in_place(operator.mod), _in_place(operator.pow), _in_place(operator.matmul)
    __iand__, __ior__, __ixor__ = _in_place(operator.and_), _in_place(operator.or_), _in_place(operator.xor)
    __ilshift__, __irshift__ = _in_place(operator.lshift), _in_place(operator.rshift)
    __neg__, __pos__ = _operator("negative"), _operator("positive")
    __abs__, __invert__ = _operator("abs"), _operator("invert")
    __lt__, __le__ = _operator("less"), _operator("less_equal")
    __gt__, __ge__ = _operator("greater"), _operator("greater_equal")

    def __eq__(self, other: object) -> Any:
        return lnp.equal(self, other)

    def __ne__(self, other: object) -> Any:
        return lnp.not_equal(self, other)

    def __round__(self, ndigits: int | None = None) -> Any:
        return lnp.round(self, ndigits or 0)

    def __getitem__(self, index: Any) -> Any:
        result = lnp.getitem(self, index)
        parts = index if isinstance(index, tuple) else (index,)
        if any(isinstance(p, list) or (isinstance(p, Tracer | np.ndarray) and p.ndim) for p in parts):
            return result  # NumPy copies
        return view_of(self, result, _is_contiguous(parts))

    @property
    def at(self) -> Any:
        """`x.at[index].add(values)`: the array with some elements changed; also `set mul min max get`."""
        return lnp.At(self)

    # -- methods of ndarray

    @property
    def T(self) -> Any:
        return view_of(self, lnp.transpose(self), self.ndim < 2)

    @property
    def mT(self) -> Any:
        return view_of(self, lnp.matrix_transpose(self), False)

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        return lnp.astype(self, dtype)

    def view(self, dtype: Any) -> Any:
        return view_of(self, lnp.view(self, dtype), True)

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        return _reshaped(self, lnp.reshape(self, shape[0] if len(shape) == 1 else shape, order=order))

    def transpose(self, *axes: Any) -> Any:
        return view_of(self, lnp.transpose(self, axes[0] if len(axes) == 1 else axes or None), False)

    def ravel(self, order: str = "C") -> Any:
        return _reshaped(self, lnp.ravel(self, order))

    argsort, argpartition, cumsum, cumprod = map(_operator, ("argsort", "argpartition", "cumsum", "cumprod"))
    clip, dot, diagonal, trace = map(_operator, ("clip", "dot", "diagonal", "trace"))
    nonzero, searchsorted, flatten = _operator("nonzero"), _operator("searchsorted"), _operator("ravel")

    def sort(self, axis: int | None = -1) -> Any:
        """A sorted copy: traced arrays do not change."""
        return lnp.sort(self, axis)

    def squeeze(self, axis: Any = None) -> Any:
        return _reshaped(self, lnp.squeeze(self, axis))

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        return view_of(self, lnp.swapaxes(self, axis1, axis2), False)

    repeat = _operator("repeat")

    def partition(self, kth: Any, axis: int | None = -1) -> Any:
        """A copy: traced arrays do not change."""
        return lnp.partition(self, kth, axis)

    def copy(self) -> Any:
        return self

    def sum(self, axis: Any = None, dtype: Any = None, keepdims: bool = False, **options: Any) -> Any:
        return lnp.sum(self, axis, dtype, keepdims=keepdims, **options)

    def prod(self, axis: Any = None, dtype: Any = None, keepdims: bool = False, **options: Any) -> Any:
        return lnp.prod(self, axis, dtype, keepdims=keepdims, **options)

    def mean(self, axis: Any = None, dtype: Any = None, keepdims: bool = False, **options: Any) -> Any:
        return lnp.mean(self, axis, dtype, keepdims=keepdims, **options)

    def var(self, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False, **options: Any) -> Any:
        return lnp.var(self, axis, dtype, ddof=ddof, keepdims=keepdims, **options)

    def std(self, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False, **options: Any) -> Any:
        return lnp.std(self, axis, dtype, ddof=ddof, keepdims=keepdims, **options)

    def max(self, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
        return lnp.max(self, axis, keepdims=keepdims, **options)

    def min(self, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
        return lnp.min(self, axis, keepdims=keepdims, **options)

    def any(self, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
        return lnp.any(self, axis, keepdims=keepdims, **options)

    def all(self, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
        return lnp.all(self, axis, keepdims=keepdims, **options)

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Any:
        return lnp.argmax(self, axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Any:
        return lnp.argmin(self, axis, keepdims=keepdims)

    def take(self, indices: Any, axis: int | None = None, mode: str | None = None) -> Any:
        return lnp.take(self, indices, axis, mode=mode)

    def round(self, decimals: int = 0) -> Any:
        return lnp.round(self, decimals)

    def compress(self, condition: Any, axis: int | None = None, **options: Any) -> Any:
        return lnp.compress(condition, self, axis, **options)

    def choose(self, choices: Any, mode: str = "raise") -> Any:
        return lnp.choose(self, choices, mode=mode)

    def ptp(self, axis: Any = None, keepdims: bool = False) -> Any:
        return lnp.ptp(self, axis, keepdims=keepdims)

    @property
    def real(self) -> Any:
        return view_of(self, lnp.real(self), False)

    @property
    def imag(self) -> Any:
        return view_of(self, lnp.imag(self), False)

    def conj(self) -> Any:
        return lnp.conjugate(self)

    conjugate = conj
