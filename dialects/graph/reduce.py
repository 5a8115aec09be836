"""Reductions: `reduce` by a monoid over any dims, and the position of an extreme along one dim."""

from __future__ import annotations

import functools
import math
from abc import ABC
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, TensorType, i32, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.irdl import operand_def, prop_def, result_def

from ...errors import DifferentiationError, DTypeError, ShapeError
from ..facts import OpFacts, Rounding, rounding_by
from ..sizes.polynomial import is_at_most
from ..types import COMPLEX, element_of, is_bool, is_complex, is_float, numpy_dtype, shape_of, show_shape, tensor, width_of
from .base import Custom, Equation, GraphOp, Props, Read, Types, Zero, graph_op, integer, ints, normalize_dims, one_of, word
from .batching import along
from .quiet import Quiet

if TYPE_CHECKING:
    from ..scalar import ScalarBuilder
    from .builder import GraphBuilder

_INTS = DenseArrayBase.constr(i64)

_NUMPY: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add.reduce,
    "mul": np.multiply.reduce,
    "max": np.maximum.reduce,
    "min": np.minimum.reduce,
    "and": np.bitwise_and.reduce,
    "or": np.bitwise_or.reduce,
}


def kept_dims(rank: int, dims: Sequence[int]) -> tuple[int, ...]:
    """The dims that a reduction over `dims` leaves."""
    return tuple(d for d in range(rank) if d not in dims)


def reduction_map(rank: int, dims: Sequence[int]) -> AffineMap:
    """Operand index from the iteration space: kept dims first, reduced dims after them, each in order."""
    kept = kept_dims(rank, dims)
    exprs: list[AffineExpr] = [AffineDimExpr(0)] * rank
    for position, d in enumerate((*kept, *sorted(dims))):
        exprs[d] = AffineDimExpr(position)
    return AffineMap(rank, 0, tuple(exprs))


def restore(b: GraphBuilder, y: SSAValue, dims: Sequence[int], shape: Sequence[int]) -> SSAValue:
    """A reduced value repeated along the reduced dims."""
    return b.broadcast(y, kept_dims(len(shape), dims), shape)


def _jvp_reduce(b: GraphBuilder, op: GraphOp, tangents: Sequence[SSAValue]) -> Sequence[SSAValue | None]:
    (dx,) = tangents
    kind, dims, x, y = word(op.properties["kind"]), ints(op.properties["dims"]), op.operands[0], op.results[0]
    shape = op.shape()
    if kind == "add":
        return [b.reduce(dx, kind="add", dims=dims)]
    if kind in ("max", "min"):
        # the mean over the elements that attain the extreme; of no elements it is a constant
        sizes = [shape[d] for d in dims]
        if 0 in sizes:
            return [None]
        hit = b.convert(b.cmp(x, restore(b, y, dims, shape), predicate="eq"), element_of(x))
        count = b.reduce(hit, kind="add", dims=dims)
        if not all(isinstance(n, int) and n > 0 for n in sizes):
            count = b.max(count, b.full_like(count, 1))
        return [b.div(b.reduce(b.mul(dx, hit), kind="add", dims=dims), count)]
    # a product: the other kinds have no floats
    return [b.reduce(b.mul(dx, others_product(b, x, dims)), kind="add", dims=dims)]


def others_product(b: GraphBuilder, x: SSAValue, dims: Sequence[int]) -> SSAValue:
    """For each element the product of all others over `dims`, right with zeros and infinities, and to every order."""
    shape = shape_of(x)
    perm = (*kept_dims(len(shape), dims), *sorted(dims))
    rows = tuple(shape[d] for d in kept_dims(len(shape), dims))
    moved = tuple(shape[p] for p in perm)
    flat = b.reshape(b.transpose(x, perm=perm), (*rows, math.prod(shape[d] for d in dims)))
    back = tuple(perm.index(d) for d in range(len(shape)))
    return b.transpose(b.reshape(_others_in_row(b, flat), moved), perm=back)


def _others_in_row(b: GraphBuilder, x: SSAValue) -> SSAValue:
    """The product of all others along the last dim, in halves: `2 * n` products, and no division to fail at zeros."""
    *rows, n = shape_of(x)
    one = b.const(1, element_of(x))
    none, half = [0] * len(rows), (n + 1) // 2
    low, steps = [0] * (len(rows) + 1), [1] * (len(rows) + 1)
    x = b.pad(x, one, low=low, high=[*none, 2 * half - n], interior=low)
    first = b.slice(x, start=low, stop=[*rows, half], step=steps)
    second = b.slice(x, start=[*none, half], stop=[*rows, 2 * half], step=steps)
    if half > 1:
        rest = _others_in_row(b, b.mul(first, second))
        first, second = b.mul(first, rest), b.mul(second, rest)
    return b.slice(b.concat(second, first, dim=len(rows)), start=low, stop=[*rows, n], step=steps)


def _transpose_reduce(b: GraphBuilder, op: GraphOp, k: int, ct: SSAValue) -> SSAValue:
    if word(op.properties["kind"]) != "add":
        raise DifferentiationError(f"'{op.name}' op of kind {word(op.properties['kind'])} is not linear")
    return restore(b, ct, ints(op.properties["dims"]), op.shape())


@graph_op
class ReduceOp(GraphOp):
    """Combine the elements along some dims: `add mul max min and or`. The order is free. max and min give NaN if any is NaN.

    Over no elements the result is the neutral element (0, 1, -inf or the type's minimum, ...).

    ```mlir
    %y = graph.reduce add %x over [1] : tensor<2x3xf32> -> tensor<2xf32>
    ```

    (C1) The kind is one of add, mul, max, min, and, or.
    (C2) Dims are distinct and within the rank.
    (C3) `and` and `or` are of integers or i1, `add` and `mul` not of i1, `max` and `min` not of complex numbers.
    """

    name = "graph.reduce"
    facts = OpFacts(stores=COMPLEX, covers_operands=True)
    x = operand_def(TensorType)
    kind = prop_def(StringAttr)
    dims = prop_def(_INTS)
    y = result_def(TensorType)
    syntax = "<kind> $x over [dims]"
    derivative = Custom(_jvp_reduce, transpose=_transpose_reduce, linear=(0,))
    batching = along("dims")

    @property
    def rounding(self) -> Rounding:
        return rounding_by(self.kind.data)

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        kind, dims = one_of(props, "kind", _NUMPY), ints(props["dims"])  # C1
        shape, element = operands[0].get_shape(), operands[0].element_type
        normalize_dims(dims, len(shape), "reduced")  # C2
        if (
            (kind in ("and", "or", "max", "min") and is_complex(element))
            or (kind in ("and", "or") and is_float(element))
            or (kind in ("add", "mul") and is_bool(element))
        ):  # C3
            raise DTypeError(f"cannot reduce {element} by {kind}")
        return (tensor(element, [shape[d] for d in kept_dims(len(shape), dims)]),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return self.evaluator()(*operands)

    def evaluator(self) -> Callable[..., tuple[np.ndarray, ...]]:
        kind, axis, dtype = self.kind.data, ints(self.dims), numpy_dtype(element_of(self.x))
        if kind == "add":
            return Quiet(lambda x: np.add.reduce(x, axis, dtype), dtype)
        from ..scalar import identity_value  # arith and math are for lowering: not imported to trace

        neutral = np.asarray(identity_value(kind, element_of(self.x))).astype(dtype)
        return Quiet(functools.partial(_NUMPY[kind], axis=axis, initial=neutral), dtype)

    def equations(self) -> tuple[Equation, ...]:
        shape, dims = self.shape(), sorted(ints(self.dims))
        space = tuple(shape[d] for d in (*kept_dims(len(shape), dims), *dims))
        read = Read(0, reduction_map(len(shape), dims))
        if not dims:
            return (Equation(space, (read,), lambda b, x: x),)
        return (Equation(space, (read,), lambda b, x: x, monoid=self.kind.data, n_reduce=len(dims)),)


class ArgOp(GraphOp, ABC):
    """Base of the positions of extremes: the first on ties, and the first NaN before everything, as in NumPy."""

    x = operand_def(TensorType)
    dim = prop_def(IntegerAttr)
    y = result_def(TensorType)
    syntax = "$x along #dim"
    derivative = Zero()
    batching = along("dim")

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        shape, dim = operands[0].get_shape(), integer(props["dim"])
        if not 0 <= dim < len(shape):  # C1
            raise ShapeError(f"dim must be within the rank, got {dim} for {show_shape(shape)}")
        if shape[dim] == 0:  # C2
            raise ShapeError(f"needs an element along the dim, dim {dim} of {show_shape(shape)} is empty")
        return (tensor(i64, [n for d, n in enumerate(shape) if d != dim]),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        find = np.argmax if self.name == "graph.argmax" else np.argmin
        return (np.asarray(find(operands[0], axis=self.dim.value.data), np.int64),)

    def equations(self) -> tuple[Equation, ...]:
        shape, dim = self.shape(), self.dim.value.data
        space = tuple(shape[d] for d in (*kept_dims(len(shape), [dim]), dim))

        def body(b: ScalarBuilder, x: SSAValue, *, index: Sequence[SSAValue]) -> tuple[SSAValue, SSAValue]:
            return x, b.convert(index[-1], position)

        def finish(b: ScalarBuilder, y: SSAValue) -> SSAValue:
            return b.convert(y, i64)

        # positions are as wide as elements: vectors of both then take equally many registers
        element = element_of(self.x)
        narrow = is_at_most(shape[dim], 2**31 - 1) and 1 < width_of(element) <= 32
        position = i32 if narrow else i64
        read = Read(0, reduction_map(len(shape), [dim]))
        monoid = self.name.removeprefix("graph.")
        return (Equation(space, (read,), body, monoid=monoid, n_reduce=1, uses_index=True, finish=finish),)


@graph_op
class ArgmaxOp(ArgOp):
    """Position of the greatest element along a dim; the first on ties, NaN counts as the greatest.

    ```mlir
    %y = graph.argmax %x along 1 : tensor<2x3xf32> -> tensor<2xi64>
    ```

    (C1) The dim is within the rank.
    (C2) The dim is not empty.
    """

    name = "graph.argmax"


@graph_op
class ArgminOp(ArgOp):
    """Position of the least element along a dim; the first on ties, NaN counts as the least.

    ```mlir
    %y = graph.argmin %x along 1 : tensor<2x3xf32> -> tensor<2xi64>
    ```

    (C1) The dim is within the rank.
    (C2) The dim is not empty.
    """

    name = "graph.argmin"
