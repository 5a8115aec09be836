"""`loop.assume`: what is known of an array of integers in the branch of a condition that has checked it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import MemRefType, StringAttr
from xdsl.ir import BlockArgument, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, traits_def
from xdsl.traits import MemoryReadEffect
from xdsl.utils.exceptions import VerifyException

from ..syntax import TextOp
from ..types import element_of, is_integer, shape_of
from .base import LoopOp
from .gather import ScatterOp
from .loops import IfOp, KernelOp
from .memory import StoreOp

PERMUTATION, INCREASING = KINDS = ("permutation", "increasing")


@irdl_op_definition
class AssumeOp(LoopOp, TextOp):
    """A fact about an array that a kernel only reads; it holds in the block that the op begins.

    `permutation`: the elements are the numbers from 0 to the size, each once. `increasing`: no element is greater than the
    next one, as of the offsets of rows. The dependence analysis relies on it: the condition around the block must imply it.

    ```mlir
    loop.if %ok {
      loop.assume <permutation> %idx : (memref<?xi64>)
    ```

    (C1) The kind is permutation or increasing, and the array is an argument of the kernel, of one dim and of integers.
    (C2) The op stands in a `loop.if`, before all other ops but of its kind.
    (C3) No op of the kernel writes the array.
    """

    name = "loop.assume"
    SYNTAX: ClassVar[str] = "<kind> $buffer"
    TYPES: ClassVar[str] = "operands"
    kind = prop_def(StringAttr)
    buffer = operand_def(MemRefType)
    traits = traits_def(MemoryReadEffect())

    @staticmethod
    def build_assume(kind: str, buffer: SSAValue) -> AssumeOp:
        """The op that states a fact."""
        return AssumeOp.create(operands=[buffer], properties={"kind": StringAttr(kind)})

    def verify_(self) -> None:
        buffer, block = self.buffer, self.parent
        is_array = len(shape_of(buffer)) == 1 and is_integer(element_of(buffer))
        if self.kind.data not in KINDS or not is_array or not isinstance(buffer, BlockArgument):  # C1
            raise VerifyException(
                f"'loop.assume' op states permutation or increasing of an array of integers, got {buffer.type}"
            )
        before = self.prev_op
        if block is None or not isinstance(block.parent_op(), IfOp) or not isinstance(before, AssumeOp | None):  # C2
            raise VerifyException("'loop.assume' op begins a block of a loop.if")
        kernel = buffer.block.parent_op()
        if not isinstance(kernel, KernelOp):  # C1
            raise VerifyException("'loop.assume' op states a fact about an argument of the kernel")
        if is_written(buffer):  # C3
            raise VerifyException("'loop.assume' op states a fact about an array that the kernel writes")


def is_written(buffer: SSAValue) -> bool:
    """Whether an op writes an array."""
    users = [use.operation for use in buffer.uses]
    return any(isinstance(op, StoreOp | ScatterOp) and op.buffer is buffer for op in users)


def holds_for(kind: str, values: np.ndarray) -> bool:
    """Whether an array has a property; one pass over it."""
    if kind == INCREASING:
        return bool(np.all(values[:-1] <= values[1:]))
    return bool(np.array_equal(np.sort(values), np.arange(values.size)))
