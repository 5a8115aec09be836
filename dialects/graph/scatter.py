"""Updates at indices from data: `scatter` combines them into elements or windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import reduce
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import StringAttr, TensorType, i64
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, var_operand_def

from ...errors import DifferentiationError, DTypeError, ShapeError
from ...thresholds import number
from ..facts import OpFacts, Rounding, rounding_by
from ..sizes.polynomial import Size
from ..text_defaults import first_dims
from ..types import (
    COMPLEX,
    compatible,
    element_of,
    expected,
    index,
    is_bool,
    numpy_dtype,
    show_shape,
    tensor,
    tensor_of,
    tensors_of,
)
from .base import (
    Custom,
    GraphOp,
    Props,
    Types,
    graph_op,
    one_of,
    require_same_element,
)
from .batching import batch_size, later, repeated
from .indexing import INTS, NONE, Slices, find_slices, in_bounds, moved_dim, over_slices, slice_props

if TYPE_CHECKING:
    from ..scalar import ScalarBuilder
    from .builder import GraphBuilder
    from .nest_writer import NestWriter

_AT: dict[str, Callable[..., None]] = {
    "add": np.add.at,
    "mul": np.multiply.at,
    "max": np.maximum.at,
    "min": np.minimum.at,
}
KINDS = ("set", *_AT)


def _jvp_scatter(b: GraphBuilder, op: ScatterOp, tangents: Sequence[SSAValue | None]) -> Sequence[SSAValue | None]:
    kind, slices, (x, updates, *indices) = op.kind.data, op.slices, op.operands
    dx, du = tangents[:2]
    if kind == "mul":
        parts = [] if dx is None else [b.scatter(dx, updates, *indices, kind="mul", **slice_props(slices))]
        if du is not None:
            moved = b.mul(du, _other_factors(b, op))
            parts.append(b.scatter(b.zeros_like(x), moved, *indices, kind="add", **slice_props(slices)))
        return [reduce(b.add, parts)]
    if kind in ("max", "min"):
        return [_jvp_extreme(b, op, dx, du)]
    if du is None and kind == "add":
        return [dx]
    dx = b.zeros_like(x) if dx is None else dx
    du = b.zeros_like(updates) if du is None else du
    return [b.scatter(dx, du, *indices, kind=kind, **slice_props(slices))]


def _other_factors(b: GraphBuilder, op: ScatterOp) -> SSAValue:
    """The factor of each update in a product: the operand's element and the other updates of the same element.

    For several updates of an element that is the product of the nonzero ones over the update; if there are zeros, all but a
    single zero have the factor 0. So no update is divided by itself where it is 0.
    """
    slices, (x, updates, *indices) = op.slices, op.operands
    element = b.gather(x, *indices, **slice_props(slices))
    if prod(slices.points) == 1:
        return element
    zero, one = b.zeros_like(updates), b.full_like(updates, 1)

    def met(values: SSAValue, start: int, kind: str) -> SSAValue:
        """For each update the combination of the values of all updates of its element."""
        combined = b.scatter(b.full_like(x, start), values, *indices, kind=kind, **slice_props(slices))
        return b.gather(combined, *indices, **slice_props(slices))

    is_zero = b.cmp(updates, zero, predicate="eq")
    count, zeros = met(one, 0, "add"), met(b.select(is_zero, one, zero), 0, "add")
    factors = b.select(is_zero, one, updates)
    product = met(factors, 1, "mul")
    only_zero = b.and_(is_zero, b.cmp(zeros, one, predicate="eq"))
    others = b.select(b.cmp(zeros, zero, predicate="eq"), b.div(product, factors), b.select(only_zero, product, zero))
    return b.mul(element, b.select(b.cmp(count, one, predicate="eq"), one, others))


def _jvp_extreme(b: GraphBuilder, op: ScatterOp, dx: SSAValue | None, du: SSAValue | None) -> SSAValue:
    """The mean over the operand's element and the updates that attain the extreme, as for `graph.reduce`."""
    slices, (x, updates, *indices), y = op.slices, op.operands, op.results[0]
    element = element_of(x)

    def collected(values: SSAValue) -> SSAValue:
        return b.scatter(b.zeros_like(x), values, *indices, kind="add", **slice_props(slices))

    hit_x = b.convert(b.cmp(x, y, predicate="eq"), element)
    hit_u = b.convert(b.cmp(updates, b.gather(y, *indices, **slice_props(slices)), predicate="eq"), element)
    count = b.add(hit_x, collected(hit_u))
    parts = [] if dx is None else [b.mul(dx, hit_x)]
    parts += [] if du is None else [collected(b.mul(du, hit_u))]
    return b.div(reduce(b.add, parts), count)


def _transpose_scatter(b: GraphBuilder, op: ScatterOp, k: int, ct: SSAValue) -> SSAValue:
    kind, slices, (_, updates, *indices) = op.kind.data, op.slices, op.operands
    if kind in ("max", "min"):
        raise DifferentiationError(f"'{op.name}' op of kind {kind} is not linear")
    if k == 0:
        if kind == "add":
            return ct
        factor = b.zeros_like(updates) if kind == "set" else updates
        return b.scatter(ct, factor, *indices, kind=kind, **slice_props(slices))
    taken = b.gather(ct, *indices, **slice_props(slices))
    used = _last_updates(b, op) if kind == "set" else over_slices(b, in_bounds(b, indices, slices), slices)
    return b.select(used, taken, b.zeros_like(taken))


def _last_updates(b: GraphBuilder, op: ScatterOp) -> SSAValue:
    """The mask of updates that the result of a `set` has: those whose number is found at their element."""
    slices, indices = op.slices, op.operands[2:]
    count = prod(slices.points)
    number = b.reshape(b.insert(_iota(count)), slices.points)
    number = over_slices(b, number, slices)
    nobody = b.full(-1, tensor(i64, slices.shape))
    holder = b.scatter(nobody, number, *indices, kind="set", **slice_props(slices))
    return b.cmp(b.gather(holder, *indices, **slice_props(slices)), number, predicate="eq")


def _iota(count: int) -> GraphOp:
    from .create import IotaOp

    return IotaOp.make((), {"dim": 0}, (tensor(i64, (count,)),))


def _batch_scatter(b: GraphBuilder, op: ScatterOp, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
    slices, kind = op.slices, op.kind.data
    size = batch_size(operands, batched)
    x, updates = (o if flag else repeated(b, o, size) for o, flag in zip(operands[:2], batched[:2], strict=True))
    if not any(batched[2:]):  # the new dim is one more dim of a slice
        updates = moved_dim(b, updates, 0, len(slices.points))
        props = {"at": later(slices.at), "window": slices.window, "batch": later(slices.batch)}
        return [b.scatter(x, updates, *operands[2:], kind=kind, **props)]
    indices = [i if flag else repeated(b, i, size) for i, flag in zip(operands[2:], batched[2:], strict=True)]
    props = {"at": later(slices.at), "window": slices.window, "batch": (0, *later(slices.batch))}
    return [b.scatter(x, updates, *indices, kind=kind, **props)]


MAX_PARTS = number("graph.scatter.MAX_PARTS")
_LINE_BYTES = number("graph.scatter._LINE_BYTES")


@graph_op
class ScatterOp(GraphOp):
    """An operand into whose elements, or windows, updates are combined: `set add mul max min`.

    Slices are selected as by `graph.gather`, and the updates have the type of its result. They are combined one after the
    other in the order of the points, so several updates of one element have a defined result: the last one for `set`. A slice
    that is not entirely in bounds is left out.

    ```mlir
    %y = graph.scatter add %x, %u, %i at [0] : (tensor<9x4xf32>, tensor<5x4xf32>, tensor<5xi64>) -> tensor<9x4xf32>
    %z = graph.scatter set %x, %v, %r, %c at [0, 1] window [2, 3]
      : (tensor<9x4xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<9x4xf32>
    ```

    (C1) - (C4) as for `graph.gather`.
    (C5) Updates have the operand's element type and the shape of all slices.
    (C6) The kind is one of set, add, mul, max, min; add and mul are not of i1.
    """

    name = "graph.scatter"
    facts = OpFacts(stores=COMPLEX, overwrites=0)
    x = operand_def(TensorType)
    updates = operand_def(TensorType)
    indices = var_operand_def(TensorType)
    kind = prop_def(StringAttr)
    at = prop_def(INTS)
    window = prop_def(INTS, default_value=NONE)
    batch = prop_def(INTS, default_value=NONE)
    y = result_def(TensorType)
    syntax = "<kind> $x, $updates, *indices (at [at])? (window [window])? (batch [batch])?"
    text_defaults = {"at": first_dims(2)}
    derivative = Custom(_jvp_scatter, transpose=_transpose_scatter, linear=(0, 1))
    batching = _batch_scatter

    @property
    def rounding(self) -> Rounding:
        return rounding_by(self.kind.data)

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        kind, (x, updates, *indices) = one_of(props, "kind", KINDS), operands  # C6
        if kind in ("add", "mul") and is_bool(x.element_type):  # C6
            raise DTypeError(f"cannot scatter {x.element_type} by {kind}")
        require_same_element((x, updates), ("the operand", "updates"))  # C5
        wanted, got = find_slices(x, indices, props).result, updates.get_shape()
        if len(wanted) != len(got) or not all(map(compatible, wanted, got)):  # C5
            raise ShapeError(f"updates must have the shape of the slices, {show_shape(wanted)}, got {show_shape(got)}")
        return (x,)

    @property
    def slices(self) -> Slices:
        return find_slices(tensor_of(self.x), tensors_of(self.indices), self.properties)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        x, updates, *indices = operands
        slices, kind = self.slices, self.kind.data
        starts = [i.astype(np.int64) for i in indices]
        within = [(i >= 0) & (i <= last) for i, last in zip(starts, slices.last, strict=True)]
        chosen = np.logical_and.reduce(within)
        points = [np.broadcast_to(p, chosen.shape)[chosen] for p in np.indices(chosen.shape, sparse=True)]
        where = slices.elements(points, [i[chosen] for i in starts])
        y = x.copy()
        with np.errstate(all="ignore"):
            if kind == "set":
                y[where] = updates[chosen]
            else:
                _AT[kind](y, where, updates[chosen])
        return (y,)

    def nest(self, b: NestWriter) -> None:
        """Point after point; for threads the elements of the slices are divided into parts, which each handle all points."""
        slices = self.slices
        n_batch, extent = len(slices.batch), list(slices.extent)
        parts = _parts(extent, self.result_dtype().itemsize)
        if parts > 1:
            extent[0] //= parts
        with ExitStack() as loops:
            first = None
            if parts > 1:
                first = loops.enter_context(b.loop(parts)).index * extent[0]
            point = [
                loops.enter_context(b.loop(n, "parallel" if k < n_batch else "seq")).index for k, n in enumerate(slices.points)
            ]
            indices = [b.read(2 + k, point) for k in range(len(slices.at))]
            loops.enter_context(b.when(_within(b.scalar, indices, slices.last, b.position)))
            starts = [b.index_of(b.scalar.convert(i, index)) for i in indices]
            rest = [loops.enter_context(b.loop(n)).index for n in extent]
            if first is not None:
                rest[0] = first + rest[0]
            where = [e.replace_dims_and_symbols([*point, *rest], starts) for e in slices.map.results]
            value = b.read(1, [*point, *rest])
            if self.kind.data != "set":
                value = b.scalar.combine(self.kind.data, b.load(b.results[0], where), value)
            b.write(value, where)


def _parts(extent: Sequence[int], itemsize: int) -> int:
    """The number of equal parts into which the first dim of a slice is divided, each of whole cache lines."""
    if not extent or isinstance(extent[0], Size):
        return 1
    line = _LINE_BYTES if expected(prod(extent[1:])) * itemsize < _LINE_BYTES else 1
    for parts in range(MAX_PARTS, 1, -1):
        if extent[0] % parts == 0 and extent[0] // parts * itemsize % line == 0:
            return parts
    return 1


def _within(
    b: ScalarBuilder, indices: Sequence[SSAValue], last: Sequence[int], size_value: Callable[[Any], SSAValue]
) -> SSAValue:
    """Whether a slice is in bounds, from the scalars of its indices; `size_value` makes an index of a size."""
    checks: list[SSAValue] = []
    for i, n in zip(indices, last, strict=True):
        checks.append(b.cmp("ge", i, b.const(0, i.type)))
        if isinstance(n, Size):
            checks.append(b.cmp("le", b.convert(i, i64), b.convert(size_value(n), i64)))
        elif n <= np.iinfo(numpy_dtype(i.type)).max:
            checks.append(b.cmp("le", i, b.const(n, i.type)))
    return reduce(lambda x, y: b.binary("and", x, y), checks)
