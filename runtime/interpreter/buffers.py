"""Memory in the interpreter: fresh buffers hold a recognizable pattern, views stay within the array they view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from ...dialects.types import DYNAMIC, element_of, numpy_dtype, shape_of
from ...errors import LaminaError

Values = dict[SSAValue, Any]


class InterpreterError(LaminaError):
    """A program does something illegal (reads out of bounds, calls a missing function), or cannot be run yet."""

    def __init__(self, message: str, op: Operation | None = None):
        super().__init__(message)
        self.op = op


class TooLongError(InterpreterError):
    """A program runs more loop iterations than the caller allows."""


def fresh(type: Any, sizes: Sequence[int] = (), fill: int | None = None) -> np.ndarray:
    """Uninitialized memory: NaN, or a recognizable pattern; else bytes `fill`. `sizes` are for the `?` of the type."""
    dtype = numpy_dtype(type.element_type)
    given = iter(sizes)
    shape = [next(given, DYNAMIC) if size == DYNAMIC else size for size in type.get_shape()]
    if DYNAMIC in shape:
        raise InterpreterError(f"memory of {type} has no known size: run graph-specialize first")
    if dtype == np.bool_:
        return np.full(shape, (fill or 0) % 2, dtype)
    if fill is not None:
        return np.full(shape, np.frombuffer(bytes([fill] * dtype.itemsize), dtype)[0], dtype)
    poison = np.nan if dtype.kind == "f" else 0x5A5A5A5A % (1 << 8 * dtype.itemsize - 1)
    return np.full(shape, poison, dtype)


def alloc(op: Operation, values: Values, fill: int | None = None) -> None:
    """Local or host memory."""
    values[op.results[0]] = fresh(op.results[0].type, [int(values[size]) for size in op.operands], fill)


def view(op: memref.ViewOp, values: Values) -> None:
    """A typed buffer at a byte offset of the arena."""
    arena, offset = values[op.operands[0]], int(values[op.operands[1]])
    type = op.results[0].type
    assert isinstance(type, MemRefType)
    dtype = numpy_dtype(type.element_type)
    size = int(np.prod(type.get_shape(), dtype=np.int64)) * dtype.itemsize
    if offset < 0 or offset + size > arena.size:
        raise InterpreterError(f"'memref.view' op of {size} bytes at {offset} is outside the arena of {arena.size}", op)
    values[op.results[0]] = arena[offset : offset + size].view(dtype).reshape(type.get_shape())


def reshape(op: Operation, values: Values) -> None:
    """The same memory under another static shape."""
    values[op.results[0]] = values[op.operands[0]].reshape(shape_of(op.results[0]))


def reinterpret(op: memref.ReinterpretCastOp, values: Values) -> None:
    """The same memory with other sizes and strides."""
    buffer = values[op.operands[0]]
    given = (iter(op.sizes), iter(op.strides))
    sizes, strides = (
        [int(values[next(more)]) if v == DYNAMIC else int(v) for v in known.get_values()]
        for more, known in zip(given, (op.static_sizes, op.static_strides), strict=True)
    )
    offset = int(op.static_offsets.get_values()[0])
    dtype = numpy_dtype(element_of(op.results[0]))
    if buffer.flags.c_contiguous and buffer.dtype != dtype:
        buffer = buffer.reshape(-1).view(dtype)
    span = offset + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True)) + 1 if 0 not in sizes else 0
    if span > buffer.size or not buffer.flags.c_contiguous:
        raise InterpreterError(f"'memref.reinterpret_cast' op needs {span} elements, the buffer has {buffer.size}", op)
    itemsize = buffer.dtype.itemsize
    flat = buffer.reshape(-1)[offset:]
    values[op.results[0]] = np.lib.stride_tricks.as_strided(flat, sizes, [s * itemsize for s in strides])


def copy(op: memref.CopyOp, values: Values) -> None:
    """All elements of one buffer to another."""
    values[op.operands[1]][...] = values[op.operands[0]]


def subview(op: memref.SubviewOp, values: Values) -> None:
    """A window of a buffer, with static offsets, sizes and strides."""
    buffer = values[op.operands[0]]
    if len(op.operands) > 1:
        raise InterpreterError("'memref.subview' op needs static offsets, sizes and strides", op)
    window: list[slice] = []
    lists = (op.static_offsets.get_values(), op.static_sizes.get_values(), op.static_strides.get_values())
    for size, start, count, step in zip(buffer.shape, *lists, strict=True):
        if start < 0 or step < 1 or (count and start + (count - 1) * step >= size):
            raise InterpreterError(f"'memref.subview' op takes {count} from {start} by {step} of a dim of {size}", op)
        window.append(slice(start, start + (count - 1) * step + 1 if count else start, step))
    values[op.results[0]] = buffer[tuple(window)].reshape(shape_of(op.results[0]))
