"""Name the sizes of type `?`, equal ones alike, so that later passes see them as expressions.

    func.func @f(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
      %z = graph.add %x, %y : tensor<?xf32>                                both arguments and the result have size N
      %c = graph.concat %z, %x along 0 : ... -> tensor<?xf32>                2 * N

Sizes of arguments get symbols (`dialects/graph/extents.py` says which are equal), those of other values follow from the types
of operands. An op whose result sizes do not follow refuses them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ..dialects.graph.base import GraphOp
from ..dialects.graph.extents import Extents, has_open_size, has_open_sizes
from ..dialects.graph.fusion import FusionOp, YieldOp
from ..dialects.sizes.polynomial import Size
from ..dialects.types import DYNAMIC, element_of, has_symbols, set_type, shape_of, tensor, tensors_of
from ..errors import CompileError, DTypeError, ShapeError, SizeError, about
from ._functions import error_at


def name_sizes(function: FuncOp) -> None:
    """Name the sizes of a function.

    Raises:
        CompileError: a size of an op does not follow from those of its operands, or two that must be equal are not.
    """
    block = function.body.block
    if not has_open_sizes(block):
        return
    extents = Extents(block, whole=False)
    named: dict[Any, Any] = {}
    for argument in block.args:
        _set_type(argument, [_named(extents.of(argument, d), named) for d in range(_rank(argument))])
    _name_block(block, extents, named)
    last = block.last_op
    outputs = [] if last is None else [operand.type for operand in last.operands]
    function.properties["function_type"] = FunctionType.from_lists([a.type for a in block.args], outputs)


def _name_block(block: Block, extents: Extents, named: dict[Any, Any]) -> None:
    for op in block.ops:
        if isinstance(op, ReturnOp | YieldOp):
            continue
        with about(op):
            if isinstance(op, FusionOp):
                _name_fusion(op, extents, named)
            else:
                _name_results(op, extents, named)


def _name_fusion(op: FusionOp, extents: Extents, named: dict[Any, Any]) -> None:
    """Name the sizes in a fusion: its arguments have the sizes of its operands, its results those of the yielded values."""
    body = op.body.block
    for argument, operand in zip(body.args, op.operands, strict=True):
        if has_open_size(argument):
            _set_type(argument, shape_of(operand))
    _name_block(body, extents, named)
    for result, value in zip(op.results, op.yielded(), strict=True):
        if has_open_size(result):
            _set_type(result, shape_of(value))


def _named(size: Any, named: dict[Any, Any]) -> Any:
    """A known size, or the symbol of its representative."""
    if isinstance(size, int | Size):
        return size
    if size not in named:
        number = len(named)
        named[size] = Size.symbol("NMK"[number] if number < 3 else f"N{number}")
    return named[size]


def _name_results(op: Operation, extents: Extents, named: dict[Any, Any]) -> None:
    if not isinstance(op, GraphOp):
        if any(map(has_open_size, op.results)):
            raise _refused(op)
        return
    declared: list[Any] = []
    for result in op.results:
        sizes: Sequence[Any] = [extents.of(result, d) for d in range(_rank(result))]
        sizes = [size if isinstance(size, int | Size) else named.get(size, DYNAMIC) for size in sizes]
        declared.append(tensor(element_of(result), sizes))
    try:
        types: Sequence[Any] = op.infer_types(tensors_of(op.operands), op.properties, declared)
    except SizeError:
        raise _refused(op) from None
    except (ShapeError, DTypeError) as error:
        raise error_at(op, CompileError, str(error)) from None
    for result, type in zip(op.results, types, strict=True):
        for d, size in enumerate(type.get_shape()):
            if isinstance(size, Size) and has_open_size(result):
                named.setdefault(extents.of(result, d), size)
        if DYNAMIC in type.get_shape():
            raise _refused(op)
        _set_type(result, type.get_shape())


def _refused(op: Operation) -> CompileError:
    shown = next(v.type for v in (*op.results, *op.operands) if has_open_size(v) or has_symbols(v))
    rule = f"takes no symbolic size, got {shown}: run graph-specialize with the shapes to compile for"
    return error_at(op, CompileError, rule)


def _rank(value: SSAValue) -> int:
    return len(shape_of(value)) if isinstance(value.type, TensorType) else 0


def _set_type(value: SSAValue, sizes: Sequence[Any]) -> None:
    if isinstance(value.type, TensorType):
        set_type(value, tensor(element_of(value), sizes))


@dataclass(frozen=True)
class GraphNameSizesPass(ModulePass):
    """Name the sizes of type `?` of all functions."""

    name = "graph-name-sizes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                name_sizes(function)
