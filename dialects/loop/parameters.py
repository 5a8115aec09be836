"""The parameters of a kernel beside sizes, which of them it reads and writes, and the sizes and strides that arguments bind.

A call in a program (`graph.kernel`) gives contiguous arrays. Their sizes bind the index arguments of the kernel as those of a
call from Python do: parameter after parameter, the sizes of each before its strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import IndexType, MemRefType, StringAttr, TensorType
from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineExpr

from ...errors import CompileError, DTypeError, ShapeError
from ..sizes.binding import Bindings, Dim
from ..types import DYNAMIC, numpy_dtype, tensor
from .gather import GatherOp, ScatterOp
from .loops import KernelOp
from .memory import LoadOp, StoreOp
from .subscripts import linear_form

_Dims = tuple[Dim, ...]


def clone_kernel(kernel: KernelOp, name: str) -> KernelOp:
    """A copy of a kernel under another name, locations kept, which no pass schedules by itself."""
    copy = kernel.clone()
    for old, new in zip(kernel.walk(), copy.walk(), strict=True):
        new.location = old.location
    copy.properties["sym_name"] = StringAttr(name)
    copy.mark_scheduled()
    return copy


@dataclass(frozen=True)
class Parameter:
    """An array or number that a kernel takes."""

    argument: BlockArgument
    name: str
    reads: bool
    writes: bool

    @property
    def is_array(self) -> bool:
        return isinstance(self.argument.type, MemRefType)

    @property
    def element(self) -> Any:
        type: Any = self.argument.type
        return type.element_type if self.is_array else type

    @property
    def rank(self) -> int:
        """Number of dims; 0 for a number."""
        type: Any = self.argument.type
        return type.get_num_dims() if self.is_array else 0


def parameters_of(kernel: KernelOp) -> list[Parameter]:
    """The parameters of a kernel in order: all arguments but those of type index."""
    read: set[SSAValue] = set()
    written: set[SSAValue] = set()
    for op in kernel.walk():
        if isinstance(op, LoadOp | GatherOp):
            read.add(op.buffer)
        elif isinstance(op, StoreOp | ScatterOp):
            written.add(op.buffer)
    return [
        Parameter(argument, argument.name_hint or f"arg{k}", argument in read, argument in written)
        for k, argument in enumerate(kernel.body.block.args)
        if not isinstance(argument.type, IndexType)
    ]


class Interface:
    """How a kernel is called: its parameters, and sizes and strides as symbols, the index arguments, plus numbers.

    Args:
        kernel: the kernel that is called.
        parameters: those of the kernel, where they are known.
        sizes_are_given: whether the caller passes the sizes beside the arrays, so that no array need have them.

    Raises:
        CompileError: a size is no symbol plus a number, or no array gives one of the index arguments.
    """

    def __init__(self, kernel: KernelOp, parameters: Sequence[Parameter] | None = None, *, sizes_are_given: bool = False):
        self.kernel = kernel.sym_name.data
        self.parameters = parameters_of(kernel) if parameters is None else list(parameters)
        self.names = [symbol.name_hint or f"size{k}" for k, symbol in enumerate(kernel.index_arguments)]
        given = kernel.given_shapes()
        self._dims: dict[SSAValue, tuple[_Dims, _Dims | None]] = {}
        for parameter in self.parameters:
            if parameter.is_array:
                sizes, strides = given.get(parameter.argument, (kernel.sizes_of(parameter.argument), None))
                self._dims[parameter.argument] = self._split(sizes), None if strides is None else self._split(strides)
        bound = {dim.symbol for dims in self._dims.values() for part in dims for dim in part or ()}
        for k, name in enumerate(self.names):
            if k not in bound and not sizes_are_given:
                rule = f"no size or stride of an argument gives '{name}'"
                raise CompileError(f"kernel @{self.kernel} cannot be called: {rule}")

    def _split(self, exprs: Sequence[AffineExpr]) -> _Dims:
        """For each size or stride its symbol, if it has one, and the number added to it."""
        split: list[Dim] = []
        for expr in exprs:
            form = linear_form(expr, len(self.names))
            used = [] if form is None else [(k, c) for k, c in enumerate(form[0]) if c]
            if form is None or len(used) > 1 or (used and used[0][1] != 1):
                rule = "a size or stride must be a symbol plus a number"
                raise CompileError(f"kernel @{self.kernel} cannot be called: {rule}, got {expr}")
            try:
                split.append(Dim(used[0][0] if used else None, form[1]))
            except ValueError as error:
                raise CompileError(f"kernel @{self.kernel} cannot be called: {error}") from None
        return tuple(split)

    def dims(self, parameter: Parameter) -> tuple[_Dims, _Dims | None]:
        """Sizes and strides of an array; no strides if it is contiguous."""
        return self._dims[parameter.argument] if parameter.is_array else ((), None)

    def spell(self, parameter: Parameter) -> str:
        """The type of a parameter in messages: `float32[N,4]`.

        >>> from lamina.dialects.context import make_context
        >>> from lamina.dialects.parsing import parse_module
        >>> text = "loop.kernel @k(%x: memref<?x4xf32>, %N: index) shapes(%x[%N - 1, 4]) {\\n}"
        >>> interface = Interface(parse_module(make_context(), text).body.block.first_op)
        >>> interface.spell(interface.parameters[0])
        'float32[N - 1,4]'
        """
        if not parameter.is_array:
            return _dtype(parameter.element)
        return f"{_dtype(parameter.element)}[{','.join(dim.spell(self.names) for dim in self.dims(parameter)[0])}]"


class Sizes:
    """The index arguments of one call, bound by the types of its arguments.

    >>> from lamina.dialects.context import make_context
    >>> from lamina.dialects.parsing import parse_module
    >>> from lamina.dialects.types import f32, tensor
    >>> text = "loop.kernel @k(%x: memref<?xf32>, %y: memref<?xf32>, %N: index) shapes(%x[%N + 1], %y[%N]) {\\n}"
    >>> interface = Interface(parse_module(make_context(), text).body.block.first_op)
    >>> x, y = interface.parameters
    >>> sizes = Sizes(interface)
    >>> sizes.bind(x, tensor(f32, (5,)))
    >>> sizes.type_of(y).get_shape(), sizes.values
    ((4,), [4])
    """

    def __init__(self, interface: Interface):
        self.interface = interface
        self._bindings = Bindings(interface.names)

    @property
    def values(self) -> list[int]:
        """The index arguments in order; unused strides are 0."""
        return [self._bindings.values.get(k, 0) for k in range(len(self.interface.names))]

    def bind(self, parameter: Parameter, type: TensorType) -> None:
        """Bind or compare the sizes and strides of an argument. Those that are not known yet bind nothing.

        Raises:
            DTypeError: another element type.
            ShapeError: it has another rank, or sizes do not agree.
        """
        spell, names, shape = self.interface.spell, self.interface.names, type.get_shape()
        where = f"kernel '{self.interface.kernel}' argument '{parameter.name}'"
        if type.element_type != parameter.element:
            wanted = _dtype(parameter.element)
            raise DTypeError(f"{where} must be of {wanted}, got {_describe(type)}; convert it with .astype({wanted!r})")
        if len(shape) != parameter.rank:
            if not parameter.is_array:
                raise ShapeError(f"{where} must be a number, got {_describe(type)}")
            raise ShapeError(f"{where} must be {spell(parameter)}, got {_describe(type)}; reshape it")
        sizes, strides = self.interface.dims(parameter)
        for axis, (dim, size) in enumerate(zip(sizes, shape, strict=True)):
            if size == DYNAMIC:
                continue
            if dim.symbol is None and size != dim.constant:
                raise ShapeError(f"{where} must be {spell(parameter)}, got {_describe(type)}; pass an array of that size")
            if dim.symbol is not None:
                if size < dim.constant:
                    facts = f"got {_describe(type)} with {names[dim.symbol]} = {size - dim.constant}"
                    raise ShapeError(f"{where} must be {spell(parameter)}, {facts}")
                self._bind(dim, size, f"dim {axis}", parameter, type)
        if strides is not None and DYNAMIC not in shape and 0 not in shape:
            self._bind_strides(parameter, type, strides)

    def _bind_strides(self, parameter: Parameter, type: TensorType, strides: _Dims) -> None:
        step, shape = 1, type.get_shape()
        for axis in reversed(range(len(shape))):
            if shape[axis] > 1:  # otherwise no access moves along the dim
                if strides[axis].symbol is not None:
                    self._bind(strides[axis], step, f"the stride of dim {axis}", parameter, type)
                elif step != strides[axis].constant:
                    where = f"kernel '{self.interface.kernel}' argument '{parameter.name}'"
                    rule = f"{where} has dim {axis} in steps of {strides[axis].constant} elements"
                    raise ShapeError(f"{rule}, got {_describe(type)} with steps of {step}")
            step *= shape[axis]

    def _bind(self, dim: Dim, extent: int, place: str, parameter: Parameter, type: TensorType) -> None:
        source = f"{place} of argument '{parameter.name}' ({self.interface.spell(parameter)}, got {_describe(type)})"
        if not self._bindings.bind(dim, extent, source):
            conflict = self._bindings.conflict(dim, extent, source)
            raise ShapeError(f"kernel '{self.interface.kernel}' {conflict}; pass arrays that agree")

    def type_of(self, parameter: Parameter) -> TensorType:
        """The type of an argument, as far as sizes are bound; `DYNAMIC` for the others."""
        found = (self._bindings.value(dim) for dim in self.interface.dims(parameter)[0])
        shape = [DYNAMIC if size is None else size for size in found]
        return tensor(parameter.element, shape)


def _dtype(element: Any) -> str:
    return str(numpy_dtype(element))


def _describe(type: TensorType) -> str:
    return f"{_dtype(type.element_type)}[{','.join('?' if n == DYNAMIC else str(n) for n in type.get_shape())}]"
