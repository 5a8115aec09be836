"""Ops whose places depend on data: `gather` reads elements or windows at given indices, `scatter` combines updates into them.

Indices are given as one integer tensor for each addressed dim, all of one shape; every point of that shape names a place.
Nothing outside of an array is ever touched: `gather` moves a place inside, `scatter` leaves out a place that is not. Negative
indices are outside; what they mean in NumPy is written by the frontend.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, StringAttr, TensorType, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap, AffineSymExpr
from xdsl.irdl import operand_def, prop_def, result_def, var_operand_def

from ...errors import DifferentiationError, DTypeError, ShapeError
from ..facts import OpFacts, Rounding, rounding_by
from ..sizes.polynomial import Size, least
from ..types import (
    COMPLEX,
    DYNAMIC,
    INDICES,
    STORED,
    compatible,
    element_of,
    expected,
    index,
    is_bool,
    numpy_dtype,
    shape_of,
    show_shape,
    spelled,
    tensor,
    tensor_of,
    tensors_of,
    unify,
)
from .base import (
    CompositeOp,
    Custom,
    Equation,
    GraphOp,
    Linear,
    Position,
    Props,
    Read,
    Types,
    dims_map,
    graph_op,
    ints,
    normalize_dims,
    one_of,
    require_same_element,
)
from .batching import batch_size, later, repeated
from .quiet import Quiet

_INTS = DenseArrayBase.constr(i64)
_NONE = DenseArrayBase.from_list(i64, [])


# --------------------------------------------------------------------------------------------------------------------
# Places


@dataclass(frozen=True)
class Places:
    """The places in an operand that indices name, one a point.

    Attributes:
        shape: sizes of the operand.
        points: sizes of the index tensors.
        at: the addressed dims of the operand, one an index tensor.
        window: how much of each addressed dim a slice takes; empty: one element, and the dim is dropped.
        batch: operand dim `batch[k]` goes along with point dim `k`: a point's place is at its own index there.
    """

    shape: tuple[int, ...]
    points: tuple[int, ...]
    at: tuple[int, ...]
    window: tuple[int, ...]
    batch: tuple[int, ...]

    @property
    def kept(self) -> tuple[int, ...]:
        """The operand dims that a place extends over."""
        dropped = (*self.batch, *(() if self.window else self.at))
        return tuple(d for d in range(len(self.shape)) if d not in dropped)

    @property
    def extent(self) -> tuple[int, ...]:
        """Sizes of a place."""
        windows = dict(zip(self.at, self.window, strict=False))
        return tuple(windows.get(d, self.shape[d]) for d in self.kept)

    @property
    def result(self) -> tuple[int, ...]:
        """Sizes of all places together: points, then the dims of a place."""
        return (*self.points, *self.extent)

    @property
    def last(self) -> tuple[int, ...]:
        """The greatest index of each addressed dim at which a place is inside."""
        return tuple(self.shape[d] - (self.window[k] if self.window else 1) for k, d in enumerate(self.at))

    @property
    def map(self) -> AffineMap:
        """Operand index from a result index (dims) and the indices of its point (symbols)."""
        n_points, kept = len(self.points), self.kept
        exprs: list[AffineExpr] = []
        for d in range(len(self.shape)):
            inside: AffineExpr | None = AffineDimExpr(n_points + kept.index(d)) if d in kept else None
            if d in self.batch:
                inside = AffineDimExpr(self.batch.index(d))
            if d in self.at:
                start = AffineSymExpr(self.at.index(d))
                inside = start if inside is None else start + inside
            assert inside is not None
            exprs.append(inside)
        return AffineMap(len(self.result), len(self.at), tuple(exprs))

    def elements(self, points: Sequence[np.ndarray], starts: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """NumPy index arrays of all elements of the places of some points: one an operand dim, they broadcast together."""
        extent, found = self.extent, []
        for d in range(len(self.shape)):
            where = np.zeros((), np.int64)
            if d in self.batch:
                where = _trailing(points[self.batch.index(d)], len(extent))
            if d in self.at:
                where = _trailing(starts[self.at.index(d)], len(extent))
            if d in self.kept:
                k = self.kept.index(d)
                where = where + np.arange(extent[k]).reshape(-1, *(1,) * (len(extent) - k - 1))
            found.append(where)
        return tuple(found)


def _trailing(a: np.ndarray, n: int) -> np.ndarray:
    """With `n` more dims of size 1 at the end."""
    return a.reshape((*a.shape, *(1,) * n))


def find_places(x: TensorType, indices: Sequence[TensorType], props: Props) -> Places:
    """The places that the properties of a gather or scatter describe.

    Raises:
        DTypeError, ShapeError: constraints C1 to C4 of `graph.gather`.
    """
    shape = x.get_shape()
    at, window, batch = (ints(props.get(name, _NONE)) for name in ("at", "window", "batch"))
    if not at or len(indices) != len(at):  # C1
        raise ShapeError(f"needs one index tensor for each of the dims {list(at)}, got {len(indices)}")
    points = indices[0].get_shape()
    for k, type in enumerate(indices):
        if type.element_type not in INDICES:  # C1
            raise DTypeError(f"indices must be {spelled(INDICES)}, got {type.element_type}")
        other = type.get_shape()
        if len(other) != len(points) or not all(map(compatible, points, other)):  # C1
            raise ShapeError(f"indices must have one shape, number 0 is {show_shape(points)}, {k} is {show_shape(other)}")
        points = tuple(map(unify, points, other))
    normalize_dims((*at, *batch), len(shape), "addressed and batch")  # C2
    if window and len(window) != len(at):  # C3
        raise ShapeError(f"window needs one size for each of the dims {list(at)}, got {list(window)}")
    for d, size in zip(at, window or (1,) * len(at), strict=True):
        if size < 0 or (shape[d] != DYNAMIC and size > shape[d] and 0 not in points):  # C3
            raise ShapeError(f"a slice takes {size} of dim {d}, which has {shape[d]} of {show_shape(shape)}")
    if len(batch) > len(points) or not all(compatible(shape[d], n) for d, n in zip(batch, points, strict=False)):  # C4
        raise ShapeError(
            f"batch dims {list(batch)} of {show_shape(shape)} must have the sizes of the first dims of the indices, "
            f"{show_shape(points)}"
        )
    points = (*(unify(n, shape[d]) for d, n in zip(batch, points, strict=False)), *points[len(batch) :])
    return Places(shape, points, at, window, batch)


def _props(places: Places) -> dict[str, Any]:
    return {"at": places.at, "window": places.window, "batch": places.batch}


def _limit(indices: SSAValue, last: int) -> int:
    """The greatest index that the indices' element type can hold."""
    most = int(np.iinfo(numpy_dtype(element_of(indices))).max)
    return last if element_of(indices) == i64 else least(last, most)


def clamped(b: Any, indices: Sequence[SSAValue], places: Places) -> list[SSAValue]:
    """Indices moved inside, as `gather` does it."""
    return [
        b.min(b.max(i, b.full_like(i, 0)), b.full_like(i, _limit(i, last)))
        for i, last in zip(indices, places.last, strict=True)
    ]


def inside(b: Any, indices: Sequence[SSAValue], places: Places) -> SSAValue:
    """Which points have places that are inside."""
    found = [b.cmp(i, b.full_like(i, 0), predicate="ge") for i in indices]
    found += [b.cmp(i, b.full_like(i, _limit(i, n)), predicate="le") for i, n in zip(indices, places.last, strict=True)]
    return reduce(b.and_, found)


def _over_places(b: Any, value: SSAValue, places: Places) -> SSAValue:
    """One value a point, repeated over its place."""
    return b.broadcast(value, tuple(range(len(places.points))), places.result)


def _moved(b: Any, value: SSAValue, source: int, target: int) -> SSAValue:
    """A value with one of its dims moved."""
    perm = [d for d in range(len(shape_of(value))) if d != source]
    perm.insert(target, source)
    return value if source == target else b.transpose(value, perm=perm)


# --------------------------------------------------------------------------------------------------------------------
# gather


def _transpose_gather(b: Any, op: GatherOp, k: int, ct: SSAValue) -> SSAValue:
    places = op.places
    zeros = b.full(0, op.operands[0].type)
    return b.scatter(zeros, ct, *clamped(b, op.operands[1:], places), kind="add", **_props(places))


def _batch_gather(b: Any, op: GatherOp, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
    places, (x, *indices) = op.places, operands
    n_points, n_batch = len(places.points), len(places.batch)
    if not any(batched[1:]):  # the new dim is one more that a place extends over
        y = b.gather(x, *indices, at=later(places.at), window=places.window, batch=later(places.batch))
        return [_moved(b, y, n_points, 0)]
    size = batch_size(operands, batched)
    indices = [i if flag else repeated(b, i, size) for i, flag in zip(indices, batched[1:], strict=True)]
    if batched[0]:
        return [b.gather(x, *indices, at=later(places.at), window=places.window, batch=(0, *later(places.batch)))]
    indices = [_moved(b, i, 0, n_batch) for i in indices]
    return [_moved(b, b.gather(x, *indices, **_props(places)), n_batch, 0)]


@graph_op
class GatherOp(GraphOp):
    """The elements, or windows, of an operand at given indices: one place a point of the index tensors.

    `at` names the dims that the index tensors address, in order. Without `window` a place has one element of each, and these
    dims are dropped; with it as many as the window says, from the index on. Other dims are taken whole, but for `batch` dims:
    dim `batch[k]` goes along with dim `k` of the indices. The result's dims are those of the indices, then those of a place. An
    index is clamped so that its place is inside.

    ```mlir
    %rows = graph.gather %x, %i at [0] : (tensor<9x4xf32>, tensor<5xi64>) -> tensor<5x4xf32>
    %block = graph.gather %x, %r, %c at [0, 1] window [2, 3] : (tensor<9x4xf32>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
    %best = graph.gather %x, %k at [1] batch [0] : (tensor<9x4xf32>, tensor<9xi64>) -> tensor<9xf32>
    ```

    (C1) One index tensor an addressed dim, at least one; they are of i32 or i64 and of one shape.
    (C2) Addressed and batch dims are distinct and within the rank.
    (C3) `window` is left out or has a size for each addressed dim; a place is not larger than the operand,
    unless there are none.
    (C4) The sizes of the batch dims are those of the first dims of the indices.
    """

    name = "graph.gather"
    facts = OpFacts(rounding=Rounding.NONE, stores=(*STORED, *COMPLEX), on_parts="each")
    x = operand_def(TensorType)
    indices = var_operand_def(TensorType)
    at = prop_def(_INTS)
    window = prop_def(_INTS, default_value=_NONE)
    batch = prop_def(_INTS, default_value=_NONE)
    y = result_def(TensorType)
    syntax = "$x, *indices at [at] (window [window])? (batch [batch])?"
    derivative = Linear(_transpose_gather, operands=(0,))
    batching = _batch_gather

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        return (tensor(operands[0].element_type, find_places(operands[0], operands[1:], props).result),)

    @property
    def places(self) -> Places:
        return find_places(tensor_of(self.x), tensors_of(self.indices), self.properties)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return self.evaluator()(*operands)

    def evaluator(self) -> Callable[..., tuple[np.ndarray, ...]]:
        places, shape = self.places, self.result_shape()
        points, (last, *others) = np.indices(places.points, sparse=True), places.last

        def rows(x: np.ndarray, index: np.ndarray) -> np.ndarray:
            return x.take(np.minimum(np.maximum(index, 0), last), 0)

        def elements(x: np.ndarray, *indices: np.ndarray) -> np.ndarray:
            starts = [np.clip(i.astype(np.int64), 0, most) for i, most in zip(indices, (last, *others), strict=True)]
            return np.broadcast_to(x[places.elements(points, starts)], shape).copy()

        is_of_rows = places.at == (0,) and not places.window and not places.batch
        return Quiet(rows if is_of_rows else elements, numpy_dtype(element_of(self.x)))

    def equations(self) -> tuple[Equation, ...]:
        places = self.places
        n = len(places.result)
        indices = [Read(1 + k, dims_map(n, range(len(places.points)))) for k in range(len(places.at))]
        positions = tuple(Position(k, last) for k, last in enumerate(places.last))
        reads = (*indices, Read(0, places.map, positions))
        return (Equation(places.result, reads, lambda b, *scalars: scalars[-1]),)


# --------------------------------------------------------------------------------------------------------------------
# scatter

_AT: dict[str, Callable[..., None]] = {
    "add": np.add.at,
    "mul": np.multiply.at,
    "max": np.maximum.at,
    "min": np.minimum.at,
}
KINDS = ("set", *_AT)


def _jvp_scatter(b: Any, op: ScatterOp, tangents: Sequence[SSAValue | None]) -> Sequence[SSAValue | None]:
    kind, places, (x, updates, *indices) = op.kind.data, op.places, op.operands
    dx, du = tangents[:2]
    if kind == "mul":
        parts = [] if dx is None else [b.scatter(dx, updates, *indices, kind="mul", **_props(places))]
        if du is not None:
            moved = b.mul(du, _other_factors(b, op))
            parts.append(b.scatter(b.zeros_like(x), moved, *indices, kind="add", **_props(places)))
        return [reduce(b.add, parts)]
    if kind in ("max", "min"):
        return [_jvp_extreme(b, op, dx, du)]
    if du is None and kind == "add":
        return [dx]
    dx = b.zeros_like(x) if dx is None else dx
    du = b.zeros_like(updates) if du is None else du
    return [b.scatter(dx, du, *indices, kind=kind, **_props(places))]


def _other_factors(b: Any, op: ScatterOp) -> SSAValue:
    """For each update of a product, what it is multiplied by: the operand's element and the other updates that meet there.

    Where several meet, that is their product without zeros over the update, unless there are zeros: then all but a zero that is
    alone have the factor 0. So no update divides by itself where it is 0.
    """
    places, (x, updates, *indices) = op.places, op.operands
    element = b.gather(x, *indices, **_props(places))
    if prod(places.points) == 1:
        return element
    zero, one = b.zeros_like(updates), b.full_like(updates, 1)

    def met(values: SSAValue, start: int, kind: str) -> SSAValue:
        """All the values that go where each update goes, combined."""
        combined = b.scatter(b.full_like(x, start), values, *indices, kind=kind, **_props(places))
        return b.gather(combined, *indices, **_props(places))

    is_zero = b.cmp(updates, zero, predicate="eq")
    count, zeros = met(one, 0, "add"), met(b.select(is_zero, one, zero), 0, "add")
    factors = b.select(is_zero, one, updates)
    product = met(factors, 1, "mul")
    only_zero = b.and_(is_zero, b.cmp(zeros, one, predicate="eq"))
    others = b.select(b.cmp(zeros, zero, predicate="eq"), b.div(product, factors), b.select(only_zero, product, zero))
    return b.mul(element, b.select(b.cmp(count, one, predicate="eq"), one, others))


def _jvp_extreme(b: Any, op: ScatterOp, dx: SSAValue | None, du: SSAValue | None) -> SSAValue:
    """The mean over the operand's element and the updates that attain the extreme, as for `graph.reduce`."""
    places, (x, updates, *indices), y = op.places, op.operands, op.results[0]
    element = element_of(x)

    def collected(values: SSAValue) -> SSAValue:
        return b.scatter(b.zeros_like(x), values, *indices, kind="add", **_props(places))

    hit_x = b.convert(b.cmp(x, y, predicate="eq"), element)
    hit_u = b.convert(b.cmp(updates, b.gather(y, *indices, **_props(places)), predicate="eq"), element)
    count = b.add(hit_x, collected(hit_u))
    parts = [] if dx is None else [b.mul(dx, hit_x)]
    parts += [] if du is None else [collected(b.mul(du, hit_u))]
    return b.div(reduce(b.add, parts), count)


def _transpose_scatter(b: Any, op: ScatterOp, k: int, ct: SSAValue) -> SSAValue:
    kind, places, (_, updates, *indices) = op.kind.data, op.places, op.operands
    if kind in ("max", "min"):
        raise DifferentiationError(f"'{op.name}' op of kind {kind} is not linear")
    if k == 0:
        if kind == "add":
            return ct
        factor = b.zeros_like(updates) if kind == "set" else updates
        return b.scatter(ct, factor, *indices, kind=kind, **_props(places))
    taken = b.gather(ct, *indices, **_props(places))
    used = _last_updates(b, op) if kind == "set" else _over_places(b, inside(b, indices, places), places)
    return b.select(used, taken, b.zeros_like(taken))


def _last_updates(b: Any, op: ScatterOp) -> SSAValue:
    """Which elements of the updates the result of a `set` holds: those whose number is found where they went."""
    places, indices = op.places, op.operands[2:]
    count = prod(places.points)
    number = b.reshape(b.insert(_iota(count)), places.points)
    number = _over_places(b, number, places)
    nobody = b.full(-1, tensor(i64, places.shape))
    holder = b.scatter(nobody, number, *indices, kind="set", **_props(places))
    return b.cmp(b.gather(holder, *indices, **_props(places)), number, predicate="eq")


def _iota(count: int) -> GraphOp:
    from .create import IotaOp

    return IotaOp.make((), {"dim": 0}, (tensor(i64, (count,)),))


def _batch_scatter(b: Any, op: ScatterOp, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
    places, kind = op.places, op.kind.data
    size = batch_size(operands, batched)
    x, updates = (o if flag else repeated(b, o, size) for o, flag in zip(operands[:2], batched[:2], strict=True))
    if not any(batched[2:]):  # the new dim is one more that a place extends over
        updates = _moved(b, updates, 0, len(places.points))
        props = {"at": later(places.at), "window": places.window, "batch": later(places.batch)}
        return [b.scatter(x, updates, *operands[2:], kind=kind, **props)]
    indices = [i if flag else repeated(b, i, size) for i, flag in zip(operands[2:], batched[2:], strict=True)]
    props = {"at": later(places.at), "window": places.window, "batch": (0, *later(places.batch))}
    return [b.scatter(x, updates, *indices, kind=kind, **props)]


MAX_PARTS = 4
"""Into how many independent parts places are divided for threads; each reads all indices."""

_LINE_BYTES = 128


@graph_op
class ScatterOp(GraphOp):
    """An operand into whose elements, or windows, updates are combined: `set add mul max min`.

    Places are named as by `graph.gather`, and the updates have the type of what it would give. They are combined one after the
    other in the order of the points, so what meets in one element has a defined result: the last one for `set`. A place that
    is not inside as a whole is left out.

    ```mlir
    %y = graph.scatter add %x, %u, %i at [0] : (tensor<9x4xf32>, tensor<5x4xf32>, tensor<5xi64>) -> tensor<9x4xf32>
    %z = graph.scatter set %x, %v, %r, %c at [0, 1] window [2, 3]
      : (tensor<9x4xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<9x4xf32>
    ```

    (C1) - (C4) as for `graph.gather`.
    (C5) Updates have the operand's element type and the shape of its places.
    (C6) The kind is one of set, add, mul, max, min; add and mul are not of i1.
    """

    name = "graph.scatter"
    facts = OpFacts(stores=COMPLEX, overwrites=0)
    x = operand_def(TensorType)
    updates = operand_def(TensorType)
    indices = var_operand_def(TensorType)
    kind = prop_def(StringAttr)
    at = prop_def(_INTS)
    window = prop_def(_INTS, default_value=_NONE)
    batch = prop_def(_INTS, default_value=_NONE)
    y = result_def(TensorType)
    syntax = "<kind> $x, $updates, *indices at [at] (window [window])? (batch [batch])?"
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
        wanted, got = find_places(x, indices, props).result, updates.get_shape()
        if len(wanted) != len(got) or not all(map(compatible, wanted, got)):  # C5
            raise ShapeError(f"updates must have the shape of the slices, {show_shape(wanted)}, got {show_shape(got)}")
        return (x,)

    @property
    def places(self) -> Places:
        return find_places(tensor_of(self.x), tensors_of(self.indices), self.properties)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        x, updates, *indices = operands
        places, kind = self.places, self.kind.data
        starts = [i.astype(np.int64) for i in indices]
        within = [(i >= 0) & (i <= last) for i, last in zip(starts, places.last, strict=True)]
        chosen = np.logical_and.reduce(within)
        points = [np.broadcast_to(p, chosen.shape)[chosen] for p in np.indices(chosen.shape, sparse=True)]
        where = places.elements(points, [i[chosen] for i in starts])
        y = x.copy()
        with np.errstate(all="ignore"):
            if kind == "set":
                y[where] = updates[chosen]
            else:
                _AT[kind](y, where, updates[chosen])
        return (y,)

    def nest(self, b: Any) -> None:
        """Point after point; for threads the elements of the places are divided into parts, each of which goes through all."""
        places = self.places
        n_batch, extent = len(places.batch), list(places.extent)
        parts = _parts(extent, self.result_dtype().itemsize)
        if parts > 1:
            extent[0] //= parts
        with ExitStack() as loops:
            first = None
            if parts > 1:
                first = loops.enter_context(b.loop(parts)).index * extent[0]
            point = [
                loops.enter_context(b.loop(n, "parallel" if k < n_batch else "seq")).index for k, n in enumerate(places.points)
            ]
            indices = [b.read(2 + k, point) for k in range(len(places.at))]
            loops.enter_context(b.when(_within(b.scalar, indices, places.last, b.position)))
            starts = [b.index_of(b.scalar.convert(i, index)) for i in indices]
            rest = [loops.enter_context(b.loop(n)).index for n in extent]
            if first is not None:
                rest[0] = first + rest[0]
            where = [e.replace_dims_and_symbols([*point, *rest], starts) for e in places.map.results]
            value = b.read(1, [*point, *rest])
            if self.kind.data != "set":
                value = b.scalar.combine(self.kind.data, b.load(b.results[0], where), value)
            b.write(value, where)


def _parts(extent: Sequence[int], itemsize: int) -> int:
    """Into how many parts the first dim of a place is divided: each with whole cache lines, all alike."""
    if not extent or isinstance(extent[0], Size):
        return 1
    line = _LINE_BYTES if expected(prod(extent[1:])) * itemsize < _LINE_BYTES else 1
    for parts in range(MAX_PARTS, 1, -1):
        if extent[0] % parts == 0 and extent[0] // parts * itemsize % line == 0:
            return parts
    return 1


def _within(b: Any, indices: Sequence[SSAValue], last: Sequence[int], size_value: Callable[[Any], SSAValue]) -> SSAValue:
    """Whether a place is inside, from the scalars of its indices; `size_value` makes an index of a size."""
    checks: list[SSAValue] = []
    for i, n in zip(indices, last, strict=True):
        checks.append(b.cmp("ge", i, b.const(0, i.type)))
        if isinstance(n, Size):
            checks.append(b.cmp("le", b.convert(i, i64), b.convert(size_value(n), i64)))
        elif n <= np.iinfo(numpy_dtype(i.type)).max:
            checks.append(b.cmp("le", i, b.const(n, i.type)))
    return reduce(lambda x, y: b.binary("and", x, y), checks)


# --------------------------------------------------------------------------------------------------------------------
# embedding


def _batch_embedding(b: Any, op: GraphOp, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
    ids, table = operands
    if not batched[1]:
        return [b.embedding(ids, table)]
    if not batched[0]:
        return [_moved(b, b.gather(table, ids, at=(1,)), len(shape_of(ids)), 0)]
    return [b.gather(table, ids, at=(1,), batch=(0,))]


@graph_op
class EmbeddingOp(CompositeOp):
    """The rows of a table that ids name; an id outside of the table is moved inside.

    ```mlir
    %y = graph.embedding %ids, %table : (tensor<8x32xi64>, tensor<1000x64xf32>) -> tensor<8x32x64xf32>
    ```

    (C1) The ids are i32 or i64.
    (C2) The table has two dims and at least one row.
    """

    name = "graph.embedding"
    facts = OpFacts(rounding=Rounding.NONE)
    ids = operand_def(TensorType)
    table = operand_def(TensorType)
    y = result_def(TensorType)
    syntax = "$ids, $table"
    batching = _batch_embedding

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        ids, table = operands
        if ids.element_type not in INDICES:  # C1
            raise DTypeError(f"ids must be {spelled(INDICES)}, got {ids.element_type}")
        shape = table.get_shape()
        if len(shape) != 2 or shape[0] == 0:  # C2
            raise ShapeError(f"the table needs rows and columns, got {show_shape(shape)}")
        return (tensor(table.element_type, (*ids.get_shape(), shape[1])),)

    @classmethod
    def decompose(cls, b: Any, props: Props, *operands: SSAValue) -> SSAValue:
        return b.gather(operands[1], operands[0], at=(0,))

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        ids, table = operands
        return (table[np.clip(ids.astype(np.int64), 0, len(table) - 1)],)
