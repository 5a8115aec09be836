"""Arrays and tuples in expressions: names, parts of shapes, views of arrays, items of tuples, constants from outside."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineMap

from ...dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ...dialects.types import element_type, memref
from .annotations import ELEMENTS
from .rounding import RoundingBuilder
from .scope import Scope
from .source import MISSING
from .values import Array, Axis, Complex, Index, Items, Mismatch, Number, Scalar, Value, as_map

MOST_CONSTANTS = 4096
"""Elements of a constant array: each is stored when a call begins."""
STACK_BYTES = 16 << 10
"""Local arrays up to this size are on the stack."""
_MOST_UNPACKED = 64
"""Items of a tuple from outside that are numbers of the kernel; longer ones are arrays."""

Thing = Value | Array | Items


class Views(Scope):
    """Reads what expressions mean besides numbers.

    Attributes:
        entry: where the kernel begins.
        tables: the constant arrays that are in memory, by the identity of the objects outside.
        kept: what expressions mean that were read already, with the block that computes it, for who reads them next.
    """

    entry: Block
    tables: dict[int, tuple[Any, Array]]
    kept: dict[ast.expr, tuple[Block, Any]]

    def evaluated(self, node: ast.expr) -> Thing:
        """What an expression means that is computed."""
        raise NotImplementedError

    def value(self, node: ast.expr) -> Value:
        """A number, index expression or scalar."""
        raise NotImplementedError

    def called(self, node: ast.Call) -> Thing | None:
        """What a call returns, None if it is nothing."""
        raise NotImplementedError

    def thing(self, node: ast.expr) -> Thing:
        """An array, a tuple or a value."""
        if (kept := self.kept.pop(node, None)) is not None and kept[0] is self.block:
            return kept[1]
        if isinstance(node, ast.Tuple | ast.List):
            return Items(tuple(item for part in node.elts for item in self.items(part)))
        if isinstance(node, ast.Call) and (found := self.called(node)) is not None:
            return found
        return self.seen(node) or self.evaluated(node)

    def items(self, node: ast.expr) -> Sequence[Thing]:
        """An item of a tuple, or those of a starred one."""
        if not isinstance(node, ast.Starred):
            return [self.thing(node)]
        found = self.thing(node.value)
        if not isinstance(found, Items):
            self.refuse(node, f"'{ast.unparse(node.value)}' is no tuple")
        return found.items

    def seen(self, node: ast.expr) -> Array | Items | None:
        """The array or tuple that an expression means without computing anything; None for other expressions."""
        if isinstance(node, ast.Name):
            found = self.lookup(node)
            return found if isinstance(found, Array | Items) else self.outside(node) if found is None else None
        if isinstance(node, ast.Attribute):
            array = self.array(node.value)
            if array is None:
                return self.outside(node)
            if node.attr == "shape":
                return Items(array.sizes)
            return self.transposed(array) if node.attr == "T" else None
        if isinstance(node, ast.Subscript):
            base = self.seen(node.value)
            if isinstance(base, Items):
                found = self.item(node, base)
                return found if isinstance(found, Array | Items) else None
            if base is not None and self.is_view(node, base):
                return self.view(node, base)
        return None

    def array(self, node: ast.expr) -> Array | None:
        """The array that an expression means."""
        found = self.seen(node)
        return found if isinstance(found, Array) else None

    def shape(self, node: ast.expr) -> tuple[Value, ...] | None:
        """The sizes that a tuple of integers means: `A.shape`, or a variable that holds one."""
        found = self.seen(node)
        return found.items if isinstance(found, Items) else None

    # -- constants from outside

    def outside(self, node: ast.expr) -> Array | Items | None:
        """An array or tuple of numbers of the module."""
        found = self.resolve(node)
        if isinstance(found, np.ndarray) or (isinstance(found, list | tuple) and len(found) > _MOST_UNPACKED):
            return self.table(node, found)
        return self.constants(node, found) if isinstance(found, list | tuple) else None

    def constants(self, node: ast.expr, found: Sequence[Any]) -> Items:
        """A tuple or list of the module."""

        def item(value: Any) -> Any:
            if isinstance(value, list | tuple):
                return self.constants(node, value)
            return self.table(node, value) if isinstance(value, np.ndarray) else self.number(node, value)

        return Items(tuple(map(item, found)))

    def number(self, node: ast.expr, found: Any) -> Number:
        """A number from outside: of Python, or one of NumPy, which has a type."""
        if isinstance(found, bool | np.bool_):
            return Number(bool(found))
        if isinstance(found, np.generic) and type(found) is not np.longdouble and found.dtype.kind in "iuf":
            try:
                return Number(found.item(), element_type(found.dtype))
            except KeyError:  # an element type that kernels do not have
                pass
        for types, plain in ((int | np.integer, int), (float | np.floating, float)):
            if isinstance(found, types):
                return Number(plain(found))
        what = ast.unparse(node)
        if found is MISSING:
            self.refuse(node, f"unknown name '{what}'; kernels see their parameters, sizes, local variables and constants")
        rule = "only numbers, and arrays and tuples of numbers, can be used from outside; make it a parameter"
        self.refuse(node, f"'{what}' is a {type(found).__name__}: {rule}")

    def table(self, node: ast.expr, found: Any) -> Array:
        """A constant array: local memory that is filled when a call begins."""
        if id(found) in self.tables:
            return self.tables[id(found)][1]
        what = ast.unparse(node)
        try:
            data = np.asarray(found)
        except ValueError as error:
            self.refuse(node, f"'{what}' is no array: {error}")
        element = next((e for e in ELEMENTS if e.dtype == data.dtype), None)
        if element is None or not data.ndim:
            self.refuse(node, f"'{what}' is an array of {data.dtype}: make it a parameter, or convert it outside")
        if data.size > MOST_CONSTANTS:
            self.refuse(node, f"'{what}' has {data.size} elements, more than {MOST_CONSTANTS}: make it a parameter")
        array = self.filled(node, what.rpartition(".")[2], data, element.type)
        self.tables[id(found)] = (found, array)
        return array

    def filled(self, node: ast.AST, name: str, data: np.ndarray, element: Any) -> Array:
        """A local array with these contents, made where the kernel begins."""
        scratch = Block()
        b = RoundingBuilder(scratch, self.source.location(node))
        alloc = AllocOp.build_alloc(space_of(data.nbytes), memref(element, data.shape), name=name if name.isascii() else None)
        scratch.add_op(alloc)
        for at in np.ndindex(*data.shape):
            value = b.const(data[at].item(), element)
            map = AffineMap(0, 0, tuple(AffineConstantExpr(k) for k in at))
            scratch.add_op(StoreOp.build_store(value, alloc.buffer, map, []))
        first = self.entry.first_op
        for op in list(scratch.ops):
            op.detach()
            op.location = self.source.location(node)
            if first is None:
                self.entry.add_op(op)
            else:
                self.entry.insert_op_before(op, first)
        return Array(alloc.buffer, tuple(Index.number(n) for n in data.shape))

    # -- parts of arrays

    def is_view(self, node: ast.Subscript, base: Array) -> bool:
        """Whether a subscript leaves dims open."""
        parts = _parts(node)
        return len(parts) < len(base.sizes) or any(isinstance(p, ast.Slice) or _is_ellipsis(p) for p in parts)

    def view(self, node: ast.Subscript, base: Array) -> Array:
        """`x[i]`, `x[i, 1:]`, `x[:, ::2]`: a part of an array, without a copy."""
        parts = _parts(node)
        gap = len(base.sizes) - sum(not _is_ellipsis(p) for p in parts)
        if gap < 0 or sum(map(_is_ellipsis, parts)) > 1:
            self.refuse(
                node,
                f"'{base.name}' has {len(base.sizes)} dims and takes as many indices, got {len(parts)}: one for each dim",
            )
        spelled: list[ast.expr] = []
        for part in parts:
            spelled += [ast.Slice()] * gap if _is_ellipsis(part) else [part]
        spelled += [ast.Slice()] * (len(base.sizes) - len(spelled))
        axes: list[Axis] = []
        sizes: list[Index] = []
        for part, size in zip(spelled, base.sizes, strict=True):
            if not isinstance(part, ast.Slice):
                axes.append(Axis(self.position(part, size)))
                continue
            offset, count, step = self.bounds(node, part, size)
            axes.append(Axis(offset, len(sizes), step))
            sizes.append(count)
        return replace(base, sizes=tuple(sizes), axes=self.composed(node, base, axes))

    def bounds(self, node: ast.AST, part: ast.Slice, size: Index) -> tuple[Index, Index, int]:
        """Where a slice begins, how many elements it has, and its step."""
        b = self.math(node)
        given = None if part.step is None else self.value(part.step)
        step = 1 if given is None else given.value if isinstance(given, Number) else None
        if type(step) is not int or step < 1:
            self.refuse(part.step or node, "the step of a slice is a positive number: write a loop over the elements")
        start = Index.number(0) if part.lower is None else self.position(part.lower, size)
        stop = size if part.upper is None else self.position(part.upper, size)
        if stop.constant is not None and size.constant is not None:
            stop = Index.number(max(min(stop.constant, size.constant), start.constant or 0))
        count = b.binary("//", b.binary("+", b.binary("-", stop, start), Number(step - 1)), Number(step))
        assert isinstance(count, Index)
        return start, count, step

    def position(self, node: ast.expr, size: Index) -> Index:
        """An index; a negative number counts from the end."""
        value = self.value(node)
        b = self.math(node)
        if isinstance(value, Number) and isinstance(value.value, int) and value.value < 0:
            value = b.binary("+", size, value)
        try:
            return b.affine(value)
        except Mismatch as mismatch:
            self.refuse(node, str(mismatch))

    def composed(self, node: ast.AST, base: Array, axes: Sequence[Axis]) -> tuple[Axis, ...]:
        """The axes of a view of a view, over the buffer."""
        if base.axes is None:
            return tuple(axes)
        b = self.math(node)
        found: list[Axis] = []
        for outer in base.axes:
            if outer.dim is None:
                found.append(outer)
                continue
            inner = axes[outer.dim]
            offset = b.binary("+", outer.offset, b.binary("*", inner.offset, Number(outer.step)))
            assert isinstance(offset, Index)
            found.append(Axis(offset, inner.dim, outer.step * inner.step))
        return tuple(found)

    def transposed(self, array: Array) -> Array:
        """The dims in reverse."""
        last = len(array.sizes) - 1
        axes = array.axes or tuple(Axis(Index.number(0), k) for k in range(last + 1))
        turned = tuple(Axis(a.offset, None if a.dim is None else last - a.dim, a.step) for a in axes)
        return replace(array, sizes=array.sizes[::-1], axes=turned)

    def item(self, node: ast.Subscript, base: Items) -> Thing:
        """An item of a tuple, or a part of it."""
        if isinstance(node.slice, ast.Slice):
            parts = [None if p is None else self.value(p) for p in (node.slice.lower, node.slice.upper, node.slice.step)]
            ends: list[Any] = [p.value if isinstance(p, Number) else p for p in parts]
            if any(type(e) is not int for e in ends if e is not None):
                self.refuse(node, "a part of a tuple is between numbers")
            return Items(base.items[slice(*ends)])
        k = self.value(node.slice)
        at = k.value if isinstance(k, Number) else None
        if type(at) is int and -len(base.items) <= at < len(base.items):
            return base.items[at]
        what = "a shape" if isinstance(node.value, ast.Attribute) else "a tuple"
        self.refuse(
            node, f"{what} of {len(base.items)} items has none at {ast.unparse(node.slice)}: items are chosen by known numbers"
        )

    def indices(self, node: ast.Subscript, array: Array) -> list[Index]:
        """The indices of an access to an element."""
        parts = _parts(node)
        if len(parts) != len(array.sizes) or any(isinstance(p, ast.Slice) for p in parts):
            self.refuse(
                node,
                f"'{array.name}' has {len(array.sizes)} dims and takes as many indices, got {len(parts)}: one for each dim",
            )
        return [self.position(part, size) for part, size in zip(parts, array.sizes, strict=True)]

    def element(
        self, node: ast.AST, array: Array, indices: Sequence[Index], part: int = 0
    ) -> tuple[AffineMap, Sequence[SSAValue]]:
        """The map and index values of an element of an array or view; of a complex one its real or its imaginary part."""
        found = list(indices)
        if array.axes is not None:
            found = [a.offset for a in self.composed(node, array, [Axis(i) for i in indices])]
        return as_map([*found, Index.number(part)] if array.is_complex else found)

    def loaded(self, node: ast.AST, array: Array, indices: Sequence[Index]) -> Scalar | Complex:
        """An element."""
        parts: list[Scalar] = []
        for part in range(2 if array.is_complex else 1):
            map, dims = self.element(node, array, indices, part)
            parts.append(Scalar(self.insert(LoadOp.build_load(array.buffer, map, dims), node).results[0]))
        return Complex(tuple(parts)) if array.is_complex else parts[0]


def _parts(node: ast.Subscript) -> list[ast.expr]:
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def space_of(size: int) -> str:
    """Where a local array of so many bytes is."""
    return "stack" if size <= STACK_BYTES else "scratch"
