"""Make arithmetic on unsigned integers signless, as upstream has it: casts stand between it and typed memory.

Down to here, the types of loads, loops and arithmetic say which integers are unsigned; schedules read that. Ops of `arith` and
`math` also say it themselves (`arith.divui`, `arith.cmpi ult`), so their types may lose it:

    %v = loop.load %x[%i] : memref<9xui8>                 %v = loop.load %x[%i] : memref<9xui8>
    %w = arith.divui %v, %v : ui8                         %s = builtin.unrealized_conversion_cast %v : ui8 to i8
    loop.store %w, %y[%i] : memref<9xui8>                 %w = arith.divui %s, %s : i8
                                                          %u = builtin.unrealized_conversion_cast %w : i8 to ui8
                                                          loop.store %u, %y[%i] : memref<9xui8>
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    UnrealizedConversionCastOp,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ..dialects.loop.loops import KernelOp
from ..dialects.types import is_stored, is_unsigned, scalar_of

_CONSTANT = "arith.constant"
_CAST_OF_SIGNS = "arith.bitcast"


def _signless(type_: Attribute) -> Attribute:
    """A type of integers without the sign; any other as it is."""
    element = scalar_of(type_)
    if not isinstance(element, IntegerType):
        return type_
    plain = IntegerType(element.width)
    return VectorType(plain, type_.shape, type_.scalable_dims) if isinstance(type_, VectorType) else plain


def _has_sign(value: SSAValue) -> bool:
    return isinstance(value.type, IntegerType | VectorType) and is_unsigned(scalar_of(value.type))


def _is_arithmetic(op: Operation) -> bool:
    """Whether an op computes with unsigned integers; those of 4 bits are stored as bytes, and their type alone says how."""
    if not op.name.startswith(("arith.", "math.")):
        return False
    found = [value for value in (*op.operands, *op.results) if _has_sign(value)]
    return bool(found) and not any(is_stored(scalar_of(value.type)) for value in found)


class _Kernel:
    """The casts of one kernel."""

    def __init__(self) -> None:
        self.plain: dict[SSAValue, SSAValue] = {}
        """Unsigned values, each with the same bits without a sign."""
        self.casts: list[UnrealizedConversionCastOp] = []

    def rewrite(self, op: Operation) -> None:
        """Give an op signless operands and results; a cast between signs alone disappears."""
        if op.name == _CAST_OF_SIGNS and _signless(op.operands[0].type) == _signless(op.results[0].type):
            (source,), (result,) = op.operands, op.results
            plain = self.plain_of(source) if _has_sign(source) else source
            if _has_sign(result):
                self.signed_again(op, result.uses, plain, result.type)
            else:
                result.replace_all_uses_with(plain)
            return Rewriter.erase_op(op)
        for k, operand in enumerate(op.operands):
            if _has_sign(operand):
                op.operands[k] = self.plain_of(operand)
        for result in op.results:
            if _has_sign(result):
                uses, signed = list(result.uses), result.type
                plain = Rewriter.replace_value_with_new_type(result, _signless(signed))
                self.signed_again(op, uses, plain, signed)
        if op.name == _CONSTANT:
            op.properties["value"] = _plain_constant(op.properties["value"], op.results[0].type)

    def plain_of(self, value: SSAValue) -> SSAValue:
        """A value without its sign, cast where it is defined."""
        if value not in self.plain:
            owner = value.owner
            where = InsertPoint.at_start(owner) if isinstance(owner, Block) else InsertPoint.after(owner)
            self.plain[value] = self.cast(value, _signless(value.type), where)
        return self.plain[value]

    def signed_again(self, op: Operation, uses: Iterable[Use], plain: SSAValue, signed: Attribute) -> None:
        """Let the users of a result of an op read a value with its sign, cast from one without."""
        uses = list(uses)
        if not uses:
            return
        again = self.cast(plain, signed, InsertPoint.after(op))
        for use in uses:
            use.operation.operands[use.index] = again
        self.plain[again] = plain

    def cast(self, value: SSAValue, type_: Attribute, where: InsertPoint) -> SSAValue:
        made = UnrealizedConversionCastOp.create(operands=[value], result_types=[type_])
        owner: Any = value.owner
        if hasattr(owner, "location"):  # a block has none
            made.location = owner.location
        Rewriter.insert_op(made, where)
        self.casts.append(made)
        return made.results[0]

    def finish(self) -> None:
        """Drop the casts that no op reads."""
        for made in reversed(self.casts):
            if not made.results[0].uses:
                Rewriter.erase_op(made)


def _plain_constant(value: Attribute, type_: Attribute) -> Attribute:
    if isinstance(value, DenseIntOrFPElementsAttr) and isinstance(type_, VectorType):
        return DenseIntOrFPElementsAttr(type_, value.data)
    assert isinstance(value, IntegerAttr) and isinstance(type_, IntegerType)
    bits, number = type_.width.data, value.value.data
    return IntegerAttr(number - (1 << bits) if number >= 1 << (bits - 1) else number, type_)


class LoopDropSignsPass(ModulePass):
    """Make arithmetic on unsigned integers signless, as upstream has it."""

    name = "loop-drop-signs"
    numerics = "exact"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in [one for one in op.body.block.ops if isinstance(one, KernelOp)]:
            found = [inner for inner in kernel.walk() if _is_arithmetic(inner)]
            if found:
                casts = _Kernel()
                for inner in found:
                    casts.rewrite(inner)
                casts.finish()
