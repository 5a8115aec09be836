"""Effects of host functions: `loop.callback` hands buffers to Python (`runtime/effects.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, MemRefType, StringAttr, i1, i64
from xdsl.ir import SSAValue
from xdsl.irdl import AttrSizedOperandSegments, irdl_op_definition, opt_operand_def, prop_def, traits_def, var_operand_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from ..syntax import TextOp
from ..types import element_of, shape_of
from .base import LoopOp

KINDS = ("print", "assert", "callback")


@irdl_op_definition
class CallbackOp(LoopOp, TextOp):
    """Print a line, check a condition or call a Python function, which reads buffers and fills others.

    The kinds are those of the ops of graphs: `print`, `assert`, whose text is a format of what is read, and `callback`, whose
    text is the name of the function. `where` is a condition, and `batch` is the number of leading dims for whose elements the
    effect happens one by one. If Python raises, the program ends there.

    ```mlir
    loop.callback print "x = {0}" read(%x) into() : (memref<4xf32>)
    loop.callback callback "solve" read(%x) into(%y) batch 1 : (memref<8x4xf32>, memref<8x4xf32>)
    loop.callback assert "got {0}" where %ok read(%x) into() : (memref<i1>, memref<f32>)
    ```

    (C1) The kind is print, assert or callback, and only a callback fills buffers.
    (C2) All buffers begin with the dims of the batch; the condition, which an assert needs, is of i1 and has no others.
    """

    name = "loop.callback"
    SYNTAX: ClassVar[str] = "<kind> 'text' (where $mask)? read(read) into(into) (batch #batch)?"
    TYPES: ClassVar[str] = "operands"
    kind = prop_def(StringAttr)
    text = prop_def(StringAttr)
    batch = prop_def(IntegerAttr)
    mask = opt_operand_def(MemRefType)
    read = var_operand_def(MemRefType)
    into = var_operand_def(MemRefType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    @staticmethod
    def make(
        kind: str, text: str, mask: SSAValue | None, read: Sequence[SSAValue], into: Sequence[SSAValue], batch: int = 0
    ) -> CallbackOp:
        """The op on buffers."""
        properties = {"kind": StringAttr(kind), "text": StringAttr(text), "batch": IntegerAttr(batch, i64)}
        return CallbackOp(operands=[mask, read, into], properties=properties)

    def verify_(self) -> None:
        kind, n = self.kind.data, self.batch.value.data
        if kind not in KINDS or (self.into and kind != "callback"):  # C1
            raise VerifyException(
                f"'loop.callback' op must be one of {', '.join(KINDS)}, and only a callback fills, got {kind}"
            )
        shapes = [shape_of(buffer) for buffer in self.operands]
        if n < 0 or (n and (not shapes or any(len(s) < n or s[:n] != shapes[0][:n] for s in shapes))):  # C2
            raise VerifyException(f"'loop.callback' op needs buffers that begin with the {n} dims of one batch")
        if kind == "assert" and self.mask is None:  # C2
            raise VerifyException("'loop.callback' op assert needs a condition")
        if self.mask is not None and (element_of(self.mask) != i1 or len(shapes[0]) != n):  # C2
            raise VerifyException(f"'loop.callback' op condition must be of i1, of the dims of the batch, got {self.mask.type}")
