"""Local arrays of a kernel, and assignments to elements."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from ...dialects.loop.loops import ForOp
from ...dialects.loop.memory import AllocOp, StoreOp
from ...dialects.types import DYNAMIC, is_float, memref
from . import annotations
from .annotations import ScalarType
from .calls import Calls
from .values import Array, Index, Mismatch, Number, Value, as_map, default, kind_of

STACK_BYTES = 16 << 10
"""Local arrays up to this size are on the stack."""
_MOST_BYTES = 1 << 47
"""Addresses have no more bits."""


class Memory(Calls):
    """Local arrays and stores."""

    loop_names: set[str]

    def store(self, node: ast.AST, array: Array, map: AffineMap, dims: Sequence[SSAValue], value: Value) -> None:
        """Write an element; numbers are converted, but floats never implicitly to integers."""
        if is_float(default(kind_of(value))) and not is_float(array.element):
            self.refuse(node, f"a float goes into '{array.name}', an array of integers: write int(...)")
        self.insert(StoreOp.build_store(self.math(node).scalar(value, array.element), array.buffer, map, dims), node)

    def local_array(self, name: str, node: ast.expr) -> Array | None:
        """`lm.zeros((8, 16), lm.f32)` or `lm.empty(...)` as a local buffer."""
        function = self.resolve(node.func) if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or function not in (annotations.zeros, annotations.empty):
            return None
        spelled = [*node.args, *(k.value for k in node.keywords if k.arg == "dtype")]
        if not 1 <= len(spelled) <= 2 or any(k.arg != "dtype" for k in node.keywords):
            self.refuse(node, "a local array takes its shape and an element type: lm.zeros((8, 16), lm.f32)")
        element = self.resolve(spelled[1]) if len(spelled) == 2 else annotations.f32
        if not isinstance(element, ScalarType):
            self.refuse(spelled[1], f"the element type is one of {annotations.spelled()}")
        sizes = self.sizes(spelled[0])
        known = [DYNAMIC if size.constant is None else size.constant for size in sizes]
        if any(size < 0 for size in known if size != DYNAMIC):
            self.refuse(spelled[0], "a size is not negative")
        count = element.dtype.itemsize
        for size in known:
            count *= max(size, 1)
        if count >= _MOST_BYTES:
            self.refuse(spelled[0], f"a local array of {count} bytes is too large")
        place = "scratch" if DYNAMIC in known or count > STACK_BYTES else "stack"
        b = self.math(node)
        given = [b.index(size) for size, k in zip(sizes, known, strict=True) if k == DYNAMIC]
        hinted = name if name.isascii() else None
        alloc = self.insert(AllocOp.build_alloc(place, memref(element.type, known), given, hinted), node)
        array = Array(alloc.results[0], sizes)
        if function is annotations.zeros:
            self.fill(node, array, name)
        return array

    def sizes(self, node: ast.expr) -> tuple[Index, ...]:
        """A shape: a size, a tuple of sizes, or the shape of another array."""
        given = self.shape(node) or [self.value(p) for p in (node.elts if isinstance(node, ast.Tuple) else [node])]
        try:
            return tuple(self.math(node).affine(size) for size in given)
        except Mismatch as mismatch:
            self.refuse(node, str(mismatch))

    def fill(self, node: ast.AST, array: Array, name: str) -> None:
        """Loops that store zeros."""

        def dim(k: int, indices: list[SSAValue]) -> None:
            if k == len(array.sizes):
                self.store(node, array, AffineMap.identity(k), indices, Number(0))
                return
            loop = ForOp.build_loop(0, as_map(array.sizes[k : k + 1]), name=self.fresh(f"{name}{'xyzuvw'[k % 6]}"))
            with self.within(loop.body.block):
                dim(k + 1, [*indices, loop.index])
                self.end(node)
            self.insert(loop, node)

        dim(0, [])

    def fresh(self, name: str) -> str:
        """An unused name for a loop: unique, and not ending in `_` and digits, which printing would drop."""
        base = name if name.isascii() else "loop"
        if base.rpartition("_")[2].isdigit():
            base = base.rstrip("_0123456789")
        base = base if base.strip("_") else "loop"  # `for _ in range(n)`: does not take the name of a loop that has one
        taken = self.loop_names | {key for key, value in self.env.items() if isinstance(value, Array)}
        found, k = base, 1
        while found in taken:
            k += 1
            found = f"{base}{k}"
        self.loop_names.add(found)
        return found
