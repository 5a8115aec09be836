"""xDSL types as LLVM types, the layout of buffers, and the error of an op that cannot be emitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FileLineColLoc,
    IndexType,
    IntegerType,
    MemRefType,
    NoneAttr,
    VectorType,
)
from xdsl.ir import Attribute, Operation

from ...codegen.text import I64, PTR, Ty
from ...dialects.element_types import row_of
from ...errors import CompileError, placed


def fail(op: Operation, why: str) -> CompileError:
    """The error of an op that cannot be emitted, with its source location."""
    location: Any = op.location
    place = ""
    if isinstance(location, FileLineColLoc):
        place = f"{location.filename.data}:{location.line.data}:{location.column.data}: "
    unregistered: Any = getattr(op, "op_name", None)
    name = op.name if unregistered is None else unregistered.data
    error = CompileError(f"{place}'{name}' op {why}")
    placed(error, op)
    return error


def llvm_type(type: Attribute, op: Operation) -> Ty:
    """The LLVM type of a scalar, a vector or, as a pointer, a memref."""
    if isinstance(type, VectorType):
        shape = type.get_shape()
        if len(shape) != 1 or any(type.scalable_dims.data[k].value.data for k in range(len(shape))) or shape[0] < 1:
            raise fail(op, f"has a value of type {type}: only vectors of one fixed dim are supported")
        return llvm_type(type.element_type, op).with_lanes(shape[0])
    if isinstance(type, MemRefType):
        return PTR
    if isinstance(type, IndexType):
        return I64
    if isinstance(type, IntegerType) and type.width.data in (1, 8, 16, 32, 64):
        return Ty(f"i{type.width.data}")
    row = row_of(type)
    if row is None:
        raise fail(op, f"has a value of type {type}, which has no LLVM type here")
    return Ty(row.llvm)


def buffer_strides(type: MemRefType, op: Operation) -> tuple[int, ...]:
    """Strides in elements along each dim, from the type alone: only the outermost size may be dynamic."""
    shape = type.get_shape()
    if isinstance(type.layout, NoneAttr):
        if DYNAMIC_INDEX in shape[1:]:
            raise fail(op, f"accesses {type}: only the outermost dim of a buffer may be of unknown size")
        strides, stride = [], 1
        for size in reversed(shape):
            strides.append(stride)
            stride *= size
        return tuple(reversed(strides))
    strides = type.get_strides()
    known = [s for s in strides or () if s is not None]
    if strides is None or len(known) != len(strides):
        raise fail(op, f"accesses {type}: the strides of a buffer must be known")
    return tuple(known)


def memory_type(ty: Ty) -> Ty:
    """The type of a value in memory: i1 takes a byte."""
    return ty.with_elem("i8") if ty.elem == "i1" else ty


def element_count(shape: Sequence[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count
