"""The buffers of a host function: arguments, results, intermediates, views of them, and their sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import arith, builtin, func, memref
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..dialects.loop.loops import segment_sizes
from ..dialects.operations import create
from ..dialects.program_views import ReinterpretCastOp
from ..dialects.sizes.polynomial import Size
from ..dialects.types import element_of, index, shape_of
from ..dialects.types import memref as memref_type
from ..errors import CompileError
from .fusion_to_loops import size_name


class HostBuffers:
    """A host function under construction: the buffer of each value of a graph function, and its sizes.

    Attributes:
        block: the body of the host function.
        buffers: the buffers of values that have been computed.
        destinations: the buffers for returned values.
        parts: values that are a contiguous part of another one, into which they are stored: that value, and their offset in it,
            in elements.
        sizes: the arguments of the host function that carry dynamic sizes, by these.
    """

    def __init__(self, function: func.FuncOp):
        self.function = function
        self.block = Block()
        self.buffers: dict[SSAValue, SSAValue] = {}
        self.destinations: dict[SSAValue, SSAValue] = {}
        self.parts: dict[SSAValue, tuple[SSAValue, int]] = {}
        self.sizes: dict[Any, SSAValue] = {}
        self._constants: dict[int, SSAValue] = {}

    def size(self, size: Any, origin: Operation | None = None) -> Any:
        """A size: a number, or the argument of the host function that carries it.

        Raises:
            CompileError: no argument of the function has one of its symbols.
        """
        if not isinstance(size, Size):
            return size
        if size not in self.sizes:
            is_called = self.function.sym_visibility is not None and self.function.sym_visibility.data == "private"
            for symbol in size.symbols if origin is not None and not is_called else ():  # the caller passes its sizes
                if Size.product((symbol,)) not in self.sizes:
                    rule = f"size {size} of one of its values has {symbol}, which is in the shape of no argument"
                    raise error_at(origin or self.function, f"cannot be compiled: {rule}")
            argument = self.sizes[size] = self.block.insert_arg(index, len(self.block.args))
            argument.name_hint = size_name(len(self.sizes) - 1)
        return self.sizes[size]

    def sizes_of(self, value: SSAValue, origin: Operation) -> list[Any]:
        """The sizes of a value: numbers, and arguments of the host function."""
        return [self.size(size, origin) for size in shape_of(value)]

    def insert(self, op: Operation, origin: Operation) -> Operation:
        """Append an op, with the source location of another one."""
        op.location = origin.location
        self.block.add_op(op)
        return op

    def view(self, buffer: SSAValue, like: SSAValue, origin: Operation, offset: int = 0) -> SSAValue:
        """A contiguous buffer from an element on, viewed with the shape of a tensor, or with pairs for complex numbers."""
        shape = shape_of(like)
        strides = [1] * len(shape)
        for k in range(len(shape) - 2, -1, -1):
            strides[k] = strides[k + 1] * shape[k + 1]
        view = ReinterpretCastOp.of(
            buffer,
            offset,
            [self.size(size, origin) for size in shape],
            [self.size(stride, origin) for stride in strides],
            memref_of(like),
        )
        return self.insert(view, origin).results[0]

    def buffer(self, value: SSAValue, origin: Operation) -> SSAValue:
        """The buffer for a computed value: a result of the function, a part of another value, or a new buffer."""
        if value not in self.buffers:
            target = self.destinations.get(value)
            if target is None and value in self.parts:
                whole, first = self.parts[value]
                target = self.view(self.buffer(whole, origin), value, origin, first)
            self.buffers[value] = self.alloc(value, origin) if target is None else target
        return self.buffers[value]

    def written(self, op: Operation, initial: SSAValue | None, result: SSAValue) -> SSAValue:
        """The buffer of a result that an op updates in place, with its initial contents."""
        if initial is None:
            return self.buffer(result, op)
        source = self.buffers[initial]
        is_free = result not in self.destinations and result not in self.parts
        if isinstance(source.owner, memref.AllocOp) and initial.has_one_use() and is_free:
            self.buffers[result] = source  # the contents have no other use
            return source
        target = self.buffer(result, op)
        if source is not target:
            self.insert(create(memref.CopyOp, operands=[source, target]), op)
        return target

    def scalar(self, element: Attribute, origin: Operation, name: str) -> SSAValue:
        """A new buffer of one element."""
        return self.new_buffer(memref_type(element, ()), [], origin, name)

    def alloc(self, like: SSAValue, origin: Operation) -> SSAValue:
        """A new buffer for values of a type."""
        sizes = [size for size in self.sizes_of(like, origin) if not isinstance(size, int)]
        return self.new_buffer(memref_of(like), sizes, origin, like.name_hint)

    def new_buffer(self, type: Attribute, sizes: Sequence[SSAValue], origin: Operation, name: str | None) -> SSAValue:
        alloc = create(
            memref.AllocOp,
            operands=sizes,
            result_types=[type],
            properties=segment_sizes(len(sizes), 0),
        )
        buffer = self.insert(alloc, origin).results[0]
        buffer.name_hint = name
        return buffer

    def index(self, value: int, origin: Operation) -> SSAValue:
        """A constant of type `index`, one op each."""
        if value not in self._constants:
            constant = self.insert(arith.ConstantOp(IntegerAttr(value, index)), origin).results[0]
            constant.name_hint = f"n{value}"
            self._constants[value] = constant
        return self._constants[value]

    def reshaped(self, buffer: SSAValue, value: SSAValue, like: SSAValue, origin: Operation) -> SSAValue:
        """The buffer of a value viewed with the shape of another tensor."""
        return buffer if shape_of(value) == shape_of(like) else self.view(buffer, like, origin)


def error_at(op: Operation, message: str) -> CompileError:
    """An error about an op: its name, the problem, its source location."""
    error = CompileError(f"'{op.name}' op {message}")
    error.location = op.location
    return error


def memref_of(value: SSAValue) -> builtin.MemRefType:
    """The type of the buffer of a tensor."""
    return memref_type(element_of(value), shape_of(value))
