"""The scalar dialect: arithmetic on scalars, and lane by lane on vectors, that upstream's `arith` and `math` lack.

`dot_words` sums products of the parts of words, as one instruction does; the functions that upstream lacks come from
`functions.py`.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import StringAttr, VectorType
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.irdl import AnyAttr, VarConstraint, irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .functions import FUNCTIONS
from .operations import BaseOp
from .packed_dot import KINDS, WORD
from .types import scalar_of
from .vocabulary import FloatFunctionOp, FloatFunctionsOp


@irdl_op_definition
class DotWordsOp(BaseOp):
    """The sum of the products of the parts of two words, of numbers or of vectors (`dialects/packed_dot.py`).

    Of bytes it is exact, but for wrapping; of bf16 numbers the products are summed in f32, where the instruction rounds in an
    order of its own and takes subnormal numbers for 0.

    ```mlir
    %s = scalar.dot_words "u8i8" %x, %y : i32 -> i32
    %v = scalar.dot_words "bf16" %x, %y : vector<16xi32> -> vector<16xf32>
    ```

    (C1) The kind is one of u8i8, bf16.
    (C2) The operands are words, i32, and the result is of the type of the kind's sums.
    (C3) Operands and result have as many lanes.
    """

    name = "scalar.dot_words"
    T: ClassVar = VarConstraint("T", AnyAttr())
    of = prop_def(StringAttr)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def()
    traits = traits_def(Pure())
    assembly_format = "$of $lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)"

    def verify_(self) -> None:
        kind = KINDS.get(self.of.data)
        if kind is None:  # C1
            raise VerifyException(f"'scalar.dot_words' op kind must be one of {', '.join(KINDS)}, got {self.of.data}")
        words, result = self.lhs.type, self.result.type
        shown = f"got {words} and {result}"
        if scalar_of(words) != WORD or scalar_of(result) != kind.result:  # C2
            raise VerifyException(f"'scalar.dot_words' op of {self.of.data} sums words of i32 in {kind.result}, {shown}")
        if _lanes(words) != _lanes(result):  # C3
            raise VerifyException(f"'scalar.dot_words' op operands and result must have as many lanes, {shown}")


def _lanes(type: Attribute) -> int:
    return type.get_shape()[0] if isinstance(type, VectorType) else 0


def is_arithmetic(op: Operation) -> bool:
    """Whether an op is pure arithmetic on scalars, or on vectors lane by lane."""
    return op.name.startswith(("arith.", "math.", "scalar."))


def is_function(op: Operation) -> bool:
    """Whether an op is a function as those of `math`, which may take many instructions."""
    return op.name.startswith("math.") or isinstance(op, FloatFunctionOp | FloatFunctionsOp)


_OWN = [row.op for row in FUNCTIONS.values() if row.op.name.startswith("scalar.")]
Scalar = Dialect("scalar", [DotWordsOp, *_OWN], [])
