"""Random bits, as a function of a key and a position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, StringAttr, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def

from ...errors import DTypeError
from ..facts import Cost, Rounding, elementwise
from ..types import tensor
from .base import Props, Types, Zero, graph_op, one_of, require_same_shape
from .elementwise import ElementwiseOp, joined_shape

if TYPE_CHECKING:
    from ..scalar import ScalarBuilder

_ui32 = IntegerType(32, Signedness.UNSIGNED)
_NAMES = ("key0", "key1", "x0", "x1")
_WORDS = ("first", "second", "xor")
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def _rounds(binary: Callable[[str, Any, Any], Any], number: Callable[[int], Any], operands: Sequence[Any]) -> tuple[Any, Any]:
    """The cipher over any arithmetic: 20 rounds of additions, rotations and exclusive ors, and a key after every four."""
    k0, k1, y0, y1 = operands
    keys = (k0, k1, binary("xor", binary("xor", k0, k1), number(_PARITY)))
    y0, y1 = binary("add", y0, k0), binary("add", y1, k1)
    for block in range(5):
        for amount in _ROTATIONS[block % 2]:
            y0 = binary("add", y0, y1)
            turned = binary("or", binary("shl", y1, number(amount)), binary("shr", y1, number(32 - amount)))
            y1 = binary("xor", y0, turned)
        y0 = binary("add", y0, keys[(block + 1) % 3])
        y1 = binary("add", y1, binary("add", keys[(block + 2) % 3], number(block + 1)))
    return y0, y1


_NUMPY = {"add": np.add, "xor": np.bitwise_xor, "or": np.bitwise_or, "shl": np.left_shift, "shr": np.right_shift}


@graph_op
class Threefry2x32Op(ElementwiseOp):
    """A word of Threefry-2x32 with 20 rounds: the block (`x0`, `x1`) enciphered by the key (`key0`, `key1`).

    The `first` word of the result, the `second`, or both by exclusive or. A kernel that wants both words computes the cipher
    once, since LLVM finds the two equal. Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

    ```mlir
    %y = graph.threefry2x32 first %k0, %k1, %x0, %x1 : tensor<4xui32>
    ```

    (C1) All operands are of ui32.
    (C2) All operands have one shape.
    (C3) The word is one of first, second, xor.
    """

    name = "graph.threefry2x32"
    facts = elementwise(Cost.LONG, Rounding.NONE)
    key0 = operand_def(TensorType)
    key1 = operand_def(TensorType)
    x0 = operand_def(TensorType)
    x1 = operand_def(TensorType)
    word = prop_def(StringAttr)
    y = result_def(TensorType)
    syntax = "<word> $key0, $key1, $x0, $x1"
    types = "same"
    derivative = Zero()

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        for name, operand in zip(_NAMES, operands, strict=True):
            if operand.element_type != _ui32:  # C1
                raise DTypeError(f"operand element types must be ui32, {name} is {operand.element_type}")
        require_same_shape(operands, _NAMES)  # C2
        one_of(props, "word", _WORDS)  # C3
        return (tensor(_ui32, joined_shape(operands)),)

    def scalar(self, b: ScalarBuilder, *operands: SSAValue) -> SSAValue:
        return self._chosen(b.binary, lambda n: b.const(n, operands[0].type), operands)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        with np.errstate(over="ignore"):
            return (np.asarray(self._chosen(lambda name, x, y: _NUMPY[name](x, y), np.uint32, operands)),)

    def _chosen(self, binary: Callable[[str, Any, Any], Any], number: Callable[[int], Any], operands: Sequence[Any]) -> Any:
        words = _rounds(binary, number, operands)
        return binary("xor", *words) if self.word.data == "xor" else words[_WORDS.index(self.word.data)]
