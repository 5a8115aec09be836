"""`call_kernel`: a hand-written kernel as a function of arrays, also inside traced functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import SSAValue

from ...dialects.graph.kernel import KernelCallOp
from ...dialects.loop.memory import CheckOp
from ...dialects.loop.parameters import Interface, Parameter, Sizes
from ...dialects.types import element_type, numpy_dtype, tensor
from ...errors import DTypeError, KernelError, LaminaError, TracingError
from ...executor import kernels
from ...runtime.scalars import is_a, scalar_bits
from ...runtime.signature import ScalarParam
from ..trace.locations import located
from ..trace.program import TensorSpec, is_staging, staging
from ..trace.tracer import Tracer
from ..trace.tracing import Trace, is_traced
from .decorator import KernelBase


def call_kernel(kernel: Any, *args: Any, out: Any) -> Any:
    """Call a kernel as a function: arrays that it writes are new ones. In a traced function this is one op of the program, with
    the schedule that the kernel has by then.

    Args:
        kernel: made by `lm.kernel`.
        args: arrays and numbers for the parameters that it only reads, in order.
        out: for the array that it writes (a list if there are several), a `TensorSpec`, or an array: initial contents, which
            stay as they are. What the kernel reads, too, needs these. What it does not write of a `TensorSpec` is undefined.

    Returns:
        The written array, or a tuple if there are several.

    Raises:
        ShapeError: sizes do not agree.
        DTypeError: an element type is not that of the parameter.
        KernelError: initial contents are missing; the kernel writes nothing; or, when traced, it checks bounds.

    >>> import numpy as np, lamina as lm
    >>> @lm.kernel
    ... def running(x: lm.f32["N"], y: lm.f32["N"]):
    ...     total = lm.f32(0)
    ...     for i in range(x.shape[0]):
    ...         total += x[i]
    ...         y[i] = total
    >>> @lm.jit
    ... def f(x):
    ...     return 10 * lm.call_kernel(running, x + 1, out=lm.TensorSpec(x.shape))
    >>> f(np.float32([0, 1, 2]))
    array([10., 30., 60.], dtype=float32)
    """
    if not isinstance(kernel, KernelBase):
        raise TypeError(f"call_kernel takes a kernel made by @lm.kernel, got {type(kernel).__name__}: {kernel!r:.60}")
    try:
        given = _Given(kernel.__kernel__.called(_Called), args, out)
        return given.trace(staging(), kernel) if is_staging() else given.run(kernel)
    except LaminaError as error:
        raise located(error) from None


class _Called:
    """A kernel as scheduled by now, and how it is called."""

    def __init__(self, module: ModuleOp, steps: str):
        self.op, self.steps = kernels.find_kernel(module), steps
        self.interface = Interface(self.op)


class _Given:
    """The arguments of one call: a value, or the type of an array that is only written, for each parameter."""

    def __init__(self, called: _Called, args: Sequence[Any], out: Any):
        self.called, self.op, self.name = called, called.op, called.interface.kernel
        self.parameters, self.spell = called.interface.parameters, called.interface.spell
        self.values = self._matched(args, out)
        sizes = Sizes(called.interface)
        for parameter, value in zip(self.parameters, self.values, strict=True):
            sizes.bind(parameter, self._type(parameter, value))
        for parameter, value in zip(self.parameters, self.values, strict=True):
            if isinstance(value, TensorSpec) and parameter.reads:
                raise KernelError(
                    f"kernel '{self.name}' reads '{parameter.name}' and needs its initial contents: give an array instead of "
                    f"{value!r}, such as lamina.numpy.zeros({value.shape}, {str(value.dtype)!r})"
                )

    def _matched(self, args: Sequence[Any], out: Any) -> list[Any]:
        """One value a parameter."""
        read, written = ([p for p in self.parameters if p.writes is writes] for writes in (False, True))
        if not written:
            raise KernelError(f"kernel '{self.name}' writes no array: there is nothing to return")
        outs = list(out) if isinstance(out, list | tuple) else [out]
        for parameters, values, what in ((read, args, "*args"), (written, outs, "out=")):
            if len(parameters) != len(values):
                spelled = ", ".join(f"{p.name}: {self.spell(p)}" for p in parameters) or "nothing"
                raise TypeError(f"call_kernel({self.name}) takes {what} for {spelled}; got {len(values)} values")
        rest, results = iter(args), iter(outs)
        return [next(results if p.writes else rest) for p in self.parameters]

    def _type(self, parameter: Parameter, value: Any) -> TensorType:
        """The type of a value; a number has that of the parameter if a call would take it."""
        if isinstance(value, Tracer):
            weak = value.weak and not parameter.is_array and _becomes(value.dtype, numpy_dtype(parameter.element))
            return tensor(parameter.element if weak else element_type(value.dtype), value.shape)
        if isinstance(value, TensorSpec) and parameter.writes:
            return tensor(element_type(value.dtype), value.shape)
        is_array = is_a(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray)
        if not parameter.is_array and not (is_array and value.shape):
            self._number(parameter, value)
            return tensor(parameter.element, ())
        where = f"kernel '{self.name}' argument '{parameter.name}'"
        if not is_array:
            what = "an array or a lamina.TensorSpec" if parameter.writes else "an array"
            raise TypeError(f"{where} must be {what}, {self.spell(parameter)}, got {type(value).__name__}: {value!r:.60}")
        try:
            return tensor(element_type(value.dtype.newbyteorder("=")), value.shape)
        except KeyError:
            wanted = numpy_dtype(parameter.element)
            raise DTypeError(f"{where} must be of {wanted}, got {value.dtype}; convert it with .astype('{wanted}')") from None

    def _number(self, parameter: Parameter, value: Any) -> Any:
        """A number as the kernel takes it, by the rules of its calls."""
        dtype, value = numpy_dtype(parameter.element), value[()] if is_a(value, np.ndarray) else value
        scalar_bits(f"kernel '{self.name}' argument '{parameter.name}'", ScalarParam(parameter.name, str(dtype)), value)
        with np.errstate(over="ignore"):
            return dtype.type(value)

    def run(self, kernel: KernelBase) -> Any:
        """Run the kernel on arrays of its own."""
        if is_traced(self.values):
            raise TracingError(f"an argument of kernel '{self.name}' has escaped from the function it was traced in")
        arrays: list[Any] = []
        for parameter, value in zip(self.parameters, self.values, strict=True):
            if isinstance(value, TensorSpec):
                value = np.empty(value.shape, value.dtype)
            elif parameter.writes:
                value = np.array(value, numpy_dtype(parameter.element), order="C")
            elif not parameter.is_array:
                value = self._number(parameter, value)
            arrays.append(value)
        kernel(*arrays)
        return _result([array for p, array in zip(self.parameters, arrays, strict=True) if p.writes])

    def trace(self, trace: Trace, kernel: KernelBase) -> Any:
        """Add the call to a program, which gets a copy of the kernel with the first one."""
        if any(isinstance(op, CheckOp) for op in self.op.walk()):
            raise KernelError(
                f"kernel '{self.name}' checks bounds (check_bounds=True) or raises exceptions: a traced function cannot stop; "
                "make the kernel without, or call it outside of jit"
            )
        operands: list[SSAValue | TensorType] = []
        for parameter, value in zip(self.parameters, self.values, strict=True):
            if isinstance(value, TensorSpec):
                operands.append(self._type(parameter, value))
            elif isinstance(value, Tracer) or parameter.is_array:
                operands.append(trace.builder.convert(trace.lift(value).value, parameter.element))
            else:
                operands.append(trace.constant(np.asarray(self._number(parameter, value))))
        assert trace.program is not None
        program, plain = trace.program, None
        if self.called.steps and trace.is_inner:  # derivatives and batches are made of the loops as they are written
            written = kernels.find_kernel(kernel.__kernel__.module)
            plain = program.kernel((kernel, None), written, f"{self.name}_as_written")
        op = KernelCallOp.call(program.kernel((kernel, self.called.steps), self.op), operands, plain)
        trace.builder.insert(op)
        return _result([trace.wrap(value) for value in op.results])


def _result(values: Sequence[Any]) -> Any:
    return values[0] if len(values) == 1 else tuple(values)


def _becomes(dtype: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """Whether a Python number of one dtype may be given for a number of another: no floats for integers."""
    return dtype.kind in {"b": "b", "i": "bi", "u": "bi", "f": "bif"}[wanted.kind]


__all__ = ["call_kernel"]
