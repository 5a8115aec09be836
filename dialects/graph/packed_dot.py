"""Products and convolutions of bytes and of bf16 numbers, packed in words of four or two terms (`dialects/packed_dot.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, IntegerType, Signedness, StringAttr, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import operand_def, prop_def, result_def

from ...errors import DTypeError, ShapeError
from ..facts import OpFacts
from ..packed_dot import KINDS, WORD, WordKind, parts_of, words_of
from ..types import STORED, element_of, numpy_dtype, show_shape, tensor
from .base import Equation, GraphOp, NotDifferentiable, Props, Read, Types, graph_op, integer, ints, word
from .batching import along
from .contract import ContractionOp
from .conv import ConvolutionOp, convolve
from .convolution import Convolution

if TYPE_CHECKING:
    from ..scalar import ScalarBuilder

PARTS: dict[Attribute, int] = {part: kind.parts for kind in KINDS.values() for part in (kind.right, kind.left)}
"""How many elements of a type a word holds."""

_NO_DERIVATIVE = NotDifferentiable(lambda op: f"'{op.name}' op stands after all derivatives")


@graph_op
class PackWordsOp(GraphOp):
    """Words of 32 bits, each packed from neighbours along a dim, the first in the lowest bits.

    ```mlir
    %w = graph.pack_words %x dim 0 : tensor<8x4xi8> -> tensor<2x4xi32>
    ```

    (C1) The element type is i8, ui8 or bf16.
    (C2) The dim is within the rank, and its size is known and fills words.
    """

    name = "graph.pack_words"
    facts = OpFacts(stores=STORED)
    x = operand_def(TensorType)
    dim = prop_def(IntegerAttr)
    y = result_def(TensorType)
    syntax = "$x dim #dim"
    derivative = _NO_DERIVATIVE
    batching = along("dim")

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        element, shape, dim = operands[0].element_type, list(operands[0].get_shape()), integer(props["dim"])
        if element not in PARTS:  # C1
            raise DTypeError(f"element type must be one of {', '.join(map(str, PARTS))}, got {element}")
        if not 0 <= dim < len(shape) or not isinstance(shape[dim], int) or shape[dim] < 0 or shape[dim] % PARTS[element]:  # C2
            raise ShapeError(
                f"dim must be one whose size is a multiple of {PARTS[element]}, got dim {dim} of {show_shape(shape)}"
            )
        shape[dim] //= PARTS[element]
        return (tensor(WORD, shape),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        dim = integer(self.dim)
        x = np.moveaxis(operands[0], dim, -1)
        parts = x.reshape((*x.shape[:-1], x.shape[-1] // self.parts, self.parts))
        return (np.ascontiguousarray(np.moveaxis(words_of(parts), -1, dim)),)

    @property
    def parts(self) -> int:
        """How many numbers a word holds."""
        return PARTS[element_of(self.x)]

    def equations(self) -> tuple[Equation, ...]:
        shape, dim, parts = self.result_shape(), integer(self.dim), self.parts

        def read(k: int) -> Read:
            dims = [AffineExpr.dimension(d) for d in range(len(shape))]
            dims[dim] = dims[dim] * parts + k
            return Read(0, AffineMap(len(shape), 0, tuple(dims)))

        def body(b: ScalarBuilder, *values: SSAValue) -> SSAValue:
            bits = IntegerType(32 // parts, Signedness.UNSIGNED)
            found, *rest = [b.convert(b.bitcast(value, bits), WORD) for value in values]
            for k, value in enumerate(rest, 1):
                found = b.binary("or", found, b.mul(value, b.const(1 << k * 32 // parts, WORD)))
            return found

        return (Equation(shape, tuple(map(read, range(parts))), body),)


@graph_op
class DotWordsOp(ContractionOp):
    """`graph.dot` on packed words: each term is the sum of the products of their parts.

    ```mlir
    %y = graph.dot_words %x, %w contract [1] with [0] of u8i8 : (tensor<2x3xi32>, tensor<3x4xi32>) -> tensor<2x4xi32>
    ```

    (C1) The operands are words, i32, and the kind is one of u8i8, bf16.
    """

    name = "graph.dot_words"
    of = prop_def(StringAttr)
    syntax = f"{ContractionOp.syntax} of <of>"
    derivative = _NO_DERIVATIVE

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        kind = _kind_of_words(operands, props)  # C1
        (type,) = super().infer_types(operands, props, results)
        return (tensor(kind.result, type.get_shape()),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        kind = KINDS[self.of.data]
        lhs, rhs, space = self.labels()
        n_result, wide = len(space) - len(ints(self.lhs_contract)), numpy_dtype(kind.result)
        x, y = (parts_of(a, of).astype(wide) for a, of in zip(operands, (kind.left, kind.right), strict=True))
        with np.errstate(all="ignore"):
            z = np.einsum(x, [*lhs, len(space)], y, [*rhs, len(space)], space[:n_result], dtype=wide, optimize=True)
        return (np.asarray(z, wide),)

    def term(self, b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        return b.dot_words(self.of.data, x, y)


@graph_op
class ConvWordsOp(ConvolutionOp):
    """`graph.conv` on packed words, whose features are words: each term is the sum of the products of their parts.

    The parts of `x` are those of the left operand of the kind, the parts of `w` those of the right one.

    ```mlir
    %y = graph.conv_words %x, %w stride [1, 1] low [1, 1] high [1, 1] groups 1 of u8i8
      : (tensor<1x16x8x8xi32>, tensor<32x16x3x3xi32>) -> tensor<1x32x8x8xi32>
    ```

    (C1) The operands are words, i32, and the kind is one of u8i8, bf16.
    """

    name = "graph.conv_words"
    of = prop_def(StringAttr)
    syntax = f"{ConvolutionOp.syntax} of <of>"
    derivative = _NO_DERIVATIVE

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        kind = _kind_of_words(operands, props)  # C1
        (type,) = super().infer_types(operands, props, results)
        return (tensor(kind.result, type.get_shape()),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        kind, c = KINDS[self.of.data], Convolution.of(self.properties)
        wide = numpy_dtype(kind.result)
        x, w = (
            np.moveaxis(parts_of(a, of).astype(wide), -1, 0) for a, of in zip(operands, (kind.left, kind.right), strict=True)
        )
        with np.errstate(all="ignore"):
            sums = [convolve(a, b, c) for a, b in zip(x, w, strict=True)]
            return (np.add.reduce(sums, dtype=wide),)

    def term(self, b: ScalarBuilder, w: SSAValue, x: SSAValue) -> SSAValue:
        return b.dot_words(self.of.data, x, w)


def _kind_of_words(operands: Types, props: Props) -> WordKind:
    of = word(props["of"])
    if of not in KINDS or any(operand.element_type != WORD for operand in operands):
        shown = " and ".join(str(operand.element_type) for operand in operands)
        raise DTypeError(f"takes words of i32 of a kind of {', '.join(KINDS)}, got {shown} of {of}")
    return KINDS[of]
