"""Words: 32 bits that hold four bytes or two bf16 numbers, whose products one instruction sums (VNNI, AVX512_BF16).

The first part is in the lowest bits. A kind names the element types of the parts of either operand and of the sum of products.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import Attribute

from .element_types import bf16, f32, i32, numpy_dtype, row_of

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class WordKind:
    """The contents of words.

    Attributes:
        left, right: the element types of the parts of either operand.
        result: the type of the sum of their products.
        feature: the target features with the instruction, of which any one suffices.
    """

    left: Attribute
    right: Attribute
    result: Attribute
    features: frozenset[str]

    @property
    def parts(self) -> int:
        """How many parts a word has."""
        row = row_of(self.left)
        assert row is not None
        return 4 // row.dtype.itemsize

    def dot(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The sum of the products of the parts, of arrays of words."""
        import numpy as np

        wide = numpy_dtype(self.result)
        with np.errstate(all="ignore"):
            products = parts_of(x, self.left).astype(wide) * parts_of(y, self.right).astype(wide)
            return np.asarray(np.add.reduce(products, axis=-1, dtype=wide))


WORD = i32
"""The element type of words."""
KINDS = {
    "u8i8": WordKind(IntegerType(8, Signedness.UNSIGNED), IntegerType(8), i32, frozenset(("avx512vnni", "avxvnni"))),
    "bf16": WordKind(bf16, bf16, f32, frozenset(("avx512bf16",))),
}
"""The kinds of words by their names in the IR."""


def parts_of(words: np.ndarray, element: Attribute) -> np.ndarray:
    """The parts of words, along a new last dim."""
    import numpy as np

    return np.asarray(words, order="C")[..., None].view(numpy_dtype(element))


def words_of(parts: np.ndarray) -> np.ndarray:
    """The words packed from the parts along the last dim, whose size is a word's number of parts."""
    import numpy as np

    return np.ascontiguousarray(parts).view(numpy_dtype(WORD))[..., 0]
