"""Local arrays of a kernel, and assignments to elements."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ComplexType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from ...dialects.loop.loops import ForOp
from ...dialects.loop.memory import AllocOp, StoreOp
from ...dialects.types import DYNAMIC, is_float, memref, numpy_dtype
from . import annotations
from .annotations import ScalarType
from .calls import Calls
from .values import Array, Complex, Index, Items, Mismatch, Number, Value, as_map, default, kind_of, meet
from .views import space_of

_MAKERS: dict[Any, tuple[ScalarType, int | None, bool]] = {
    annotations.zeros: (annotations.f32, 0, True),
    annotations.empty: (annotations.f32, None, True),
    np.zeros: (annotations.f64, 0, True),
    np.ones: (annotations.f64, 1, True),
    np.empty: (annotations.f64, None, True),
    np.full: (annotations.f64, None, True),
    np.zeros_like: (annotations.f64, 0, False),
    np.ones_like: (annotations.f64, 1, False),
    np.empty_like: (annotations.f64, None, False),
}
"""Functions that make local arrays: the element type if none is given, what they hold, and whether they take a shape."""
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

    def put(self, node: ast.AST, array: Array, indices: Sequence[Index], value: Any) -> None:
        """Write an element, real or complex."""
        if isinstance(value, Complex) and not array.is_complex:
            self.refuse(node, f"a complex number goes into '{array.name}', an array of real ones: write its .real or .imag")
        for k, part in enumerate(Complex.of(value).items if array.is_complex else Items((value,)).items):
            map, dims = self.element(node, array, indices, k)
            self.store(node, array, map, dims, part)

    def local_array(self, name: str, node: ast.expr) -> Array | None:
        """`lm.zeros((8, 16), lm.f32)`, `np.empty(n)`, `np.zeros_like(x)`, `np.array([1, 2])` or `[1, 2]` as a local buffer."""
        if isinstance(node, ast.List) or (isinstance(node, ast.Call) and self.resolve(node.func) is np.array):
            return self.listed_array(name, node)
        function = self.resolve(node.func) if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or not callable(function) or function not in _MAKERS:
            return None
        default_type, content, takes_shape = _MAKERS[function]
        spelled = list(node.args)
        value = spelled.pop(1) if function is np.full and len(spelled) > 1 else None
        spelled += [k.value for k in node.keywords if k.arg == "dtype"]
        if not 1 <= len(spelled) <= 2 or any(k.arg != "dtype" for k in node.keywords):
            self.refuse(node, "a local array takes its shape and an element type: lm.zeros((8, 16), lm.f32)")
        given = self.array(spelled[0]) if not takes_shape else None
        if not takes_shape and given is None:
            self.refuse(spelled[0], f"'{ast.unparse(node.func)}' takes an array of this kernel")
        element: Any = default_type.type if given is None else ComplexType(given.element) if given.is_complex else given.element  # pyright: ignore[reportArgumentType]
        if len(spelled) == 2:
            element = self.element_type(spelled[1])
        elif value is not None:
            element = default(kind_of(self.value(value)))
        sizes = self.sizes(spelled[0]) if given is None else given.sizes
        array = self.allocated(spelled[0], name, element, sizes)
        if value is not None:
            self.fill(node, array, name, self.value(value))
        elif content is not None:
            self.fill(node, array, name, Number(content))
        return array

    def element_type(self, node: ast.expr) -> Any:
        """The element type of a local array: of lamina, of NumPy or of Python."""
        dtype = self.dtype_of(node)
        for element in (*annotations.ELEMENTS, *annotations.COMPLEX):
            if dtype is not None and element.dtype == dtype:
                return element.type
        self.refuse(node, f"the element type is one of {annotations.spelled()}: write dtype=lm.f32")

    def allocated(self, node: ast.expr, name: str, element: Any, sizes: tuple[Index, ...]) -> Array:
        """A new local array."""
        is_complex = isinstance(element, ComplexType)
        element = element.element_type if is_complex else element
        known = [DYNAMIC if size.constant is None else size.constant for size in sizes]
        if any(size < 0 for size in known if size != DYNAMIC):
            self.refuse(node, "a size is not negative: write the number of elements")
        count = np.dtype(numpy_dtype(element)).itemsize
        for size in (*known, 1 + is_complex):
            count *= max(size, 1)
        if count >= _MOST_BYTES:
            self.refuse(node, f"a local array of {count} bytes is too large: addresses have 47 bits")
        space = "scratch" if DYNAMIC in known else space_of(count)
        b = self.math(node)
        given = [b.index(size) for size, k in zip(sizes, known, strict=True) if k == DYNAMIC]
        hinted = name if name.isascii() else None
        shape = [*known, 2] if is_complex else known
        alloc = self.insert(AllocOp.build_alloc(space, memref(element, shape), given, hinted), node)
        return Array(alloc.results[0], sizes, is_complex=is_complex)

    def listed_array(self, name: str, node: ast.expr) -> Array:
        """A local array of given elements."""
        given = node.args[0] if isinstance(node, ast.Call) and node.args else node
        dtypes = [*node.args[1:], *(k.value for k in node.keywords if k.arg == "dtype")] if isinstance(node, ast.Call) else []
        found = self.thing(given)
        if isinstance(found, Array):
            self.refuse(node, "np.array() takes a list here: make t = np.empty_like(x), and copy in a loop")
        rows = found.items if isinstance(found, Items) else ()
        elements: list[tuple[tuple[int, ...], Any]] = []
        for i, row in enumerate(rows):
            inner = row.items if isinstance(row, Items) else [row]
            elements += [((i, j) if isinstance(row, Items) else (i,), item) for j, item in enumerate(inner)]
        shape = tuple(max(at[d] for at, _ in elements) + 1 for d in range(len(elements[0][0]))) if elements else ()
        if not elements or len(elements) != int(np.prod(shape)) or any(isinstance(item, Array | Items) for _, item in elements):
            self.refuse(
                node, "a local array is made of a list of numbers, or of lists of as many numbers each: fill the rows up"
            )
        element = self.element_type(dtypes[0]) if dtypes else default(meet(*(item for _, item in elements)))
        array = self.allocated(given, name, element, tuple(Index.number(n) for n in shape))
        for at, item in elements:
            self.put(node, array, [Index.number(k) for k in at], item)
        return array

    def sizes(self, node: ast.expr) -> tuple[Index, ...]:
        """A shape: a size, a tuple of sizes, or the shape of another array."""
        found = self.thing(node)
        given: Sequence[Any] = found.items if isinstance(found, Items) else [found]
        try:
            return tuple(self.math(node).affine(size) for size in given)
        except Mismatch as mismatch:
            self.refuse(node, str(mismatch))

    def fill(self, node: ast.AST, array: Array, name: str, value: Value | Array) -> None:
        """Loops that store a value, or the elements of another array of that shape, into every element."""

        def dim(k: int, indices: list[Index]) -> None:
            if k == len(array.sizes):
                element = value
                if isinstance(value, Array):
                    element = self.loaded(node, value, indices[len(indices) - len(value.sizes) :])
                assert not isinstance(element, Array)
                self.put(node, array, indices, element)
                return
            loop = ForOp.build_loop(0, as_map(array.sizes[k : k + 1]), name=self.fresh(f"{name}{'xyzuvw'[k % 6]}"))
            with self.within(loop.body.block):
                dim(k + 1, [*indices, Index.of(loop.index)])
                self.end(node)
            self.insert(loop, node)

        dim(0, [])

    def copy_into(self, node: ast.AST, array: Array, found: Value | Array) -> None:
        """`y[1:] = 0`, `A[i] = x`: the elements of a view."""
        if isinstance(found, Array):
            if found.buffer is array.buffer:
                self.refuse(node, f"'{array.name}' is copied into itself: write a loop in the order that is meant")
            lead = len(array.sizes) - len(found.sizes)
            sizes = list(zip(array.sizes[lead:], found.sizes, strict=True)) if lead >= 0 else []
            b = self.math(node)
            differences = [b.binary("-", x, y) for x, y in sizes]
            if lead < 0 or any(not isinstance(d, Index) or d.constant != 0 for d in differences):
                self.refuse(
                    node, f"the sizes of '{array.name}' here and of '{found.name}' must be equal for all sizes: write a loop"
                )
        self.fill(node, array, array.name, found)

    def fresh(self, name: str) -> str:
        """An unused name for a loop: unique, and not ending in `_` and digits, which printing would drop."""
        base = name.removesuffix(".at") if name.isascii() else "loop"
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
