"""Buffers of host functions that are parts of others, or constants of the module.

A buffer of a host function is the address of its first element. So a view has no offset in its type, a complex number is two
floats side by side, and constants are found by name from a function that upstream does not know: these are ops of ours where
upstream's `memref` says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.dialects.utils.dynamic_index_list import split_dynamic_index_list
from xdsl.ir import SSAValue


class GetGlobalOp(memref.GetGlobalOp):
    """A constant of the module, a `memref.global`, as a buffer that nobody writes.

    ```mlir
    %c = program.get_global @main_const0 : memref<64xf32>
    ```
    """

    name = "program.get_global"


class ReinterpretCastOp(memref.ReinterpretCastOp):
    """A part of a buffer, from an element on, under another shape; complex numbers as pairs, or pairs as complex numbers.

    ```mlir
    %v = program.reinterpret_cast %x to offset: [8], sizes: [1, 4], strides: [4, 1] : memref<4x4xf32> to memref<1x4xf32>
    ```
    """

    name = "program.reinterpret_cast"

    @classmethod
    def of(
        cls,
        source: SSAValue,
        offset: int,
        sizes: Sequence[SSAValue | int],
        strides: Sequence[SSAValue | int],
        type: MemRefType,
    ) -> ReinterpretCastOp:
        """A view of sizes and strides that are numbers or indices."""
        static_sizes, given_sizes = split_dynamic_index_list(sizes, DYNAMIC_INDEX)
        static_strides, given_strides = split_dynamic_index_list(strides, DYNAMIC_INDEX)
        return cls(source, (), given_sizes, given_strides, (offset,), static_sizes, static_strides, type)
