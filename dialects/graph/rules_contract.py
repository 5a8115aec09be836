"""Rules of reductions, contractions, convolutions and attention: data movement folds into their dims, sums get shorter."""

from __future__ import annotations

from math import prod
from typing import Any

from xdsl.ir import SSAValue

from ..sizes.polynomial import is_at_least
from ..types import DYNAMIC, shape_of
from .base import ints
from .builder import GraphBuilder
from .contract import free_dims
from .conv import transposed
from .convolution import Convolution, pick, placed
from .reduce import kept_dims
from .rules import REASSOCIATING, is_splat, made_by, rule

# --------------------------------------------------------------------------------------------------------------------
# reduce


@rule("reduce", "reduce(x) over no dims -> x", lambda b, x, y, i, j: b.reduce(x, kind="add", dims=()), REASSOCIATING)
def reduce_over_nothing(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.x if not ints(op.dims) else None


@rule(
    "reduce",
    "reduce(x) over dims of size 1 -> reshape(x)",
    lambda b, x, y, i, j: b.reduce(b.reshape(x, (2, 1, 3)), kind="max", dims=(1,)),
)
def reduce_of_unit_dims(op: Any, b: GraphBuilder) -> SSAValue | None:
    dims = ints(op.dims)
    return b.reshape(op.x, shape_of(op.y)) if dims and all(shape_of(op.x)[d] == 1 for d in dims) else None


@rule(
    "reduce",
    "reduce(reduce(x)) -> reduce(x) over all their dims, of one kind",
    lambda b, x, y, i, j: b.reduce(b.reduce(x, kind="add", dims=(0,)), kind="add", dims=(0,)),
    REASSOCIATING,
)
def reduce_of_reduce(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "reduce")
    if not inner or inner.kind != op.kind or not op.x.has_one_use():
        return None
    first = ints(inner.dims)
    kept = kept_dims(len(shape_of(inner.x)), first)
    return b.reduce(inner.x, kind=op.kind, dims=sorted((*first, *(kept[d] for d in ints(op.dims)))))


@rule(
    "reduce",
    "reduce(transpose(x)) -> reduce(x) over other dims, where the kept dims stay in order",
    lambda b, x, y, i, j: b.reduce(b.transpose(x, perm=(1, 0)), kind="add", dims=(1,)),
    REASSOCIATING,
)
def reduce_of_transpose(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "transpose")
    if not inner:
        return None
    perm, dims = ints(inner.perm), ints(op.dims)
    kept = [perm[d] for d in kept_dims(len(perm), dims)]
    return b.reduce(inner.x, kind=op.kind, dims=sorted(perm[d] for d in dims)) if kept == sorted(kept) else None


def _repeated_dims(op: Any) -> tuple[Any, list[int], list[int]] | None:
    """The broadcast under a reduction, the reduced dims it repeats along, and those it does not."""
    inner = made_by(op.x, "broadcast")
    if not inner:
        return None
    small, dims = shape_of(inner.x), ints(inner.dims)
    if DYNAMIC in (*small, *shape_of(op.x)):
        return None  # the number of repetitions is unknown, and may be 1
    real = {d for k, d in enumerate(dims) if small[k] == shape_of(op.x)[d]}
    repeated = [d for d in ints(op.dims) if d not in real]
    if not repeated or not all(is_at_least(shape_of(op.x)[d], 1) for d in repeated):
        return None  # a reduction over no elements
    return inner, repeated, [d for d in ints(op.dims) if d in real]


def _without(b: GraphBuilder, op: Any, inner: Any, repeated: list[int], others: list[int]) -> SSAValue:
    """The reduction with the repeated dims left out."""
    small, dims = shape_of(inner.x), ints(inner.dims)
    x = inner.x
    gone = [k for k, d in enumerate(dims) if d in repeated]
    if gone:  # stretched from size 1
        x = b.reshape(x, tuple(n for k, n in enumerate(small) if k not in gone))
    left = [d for d in range(len(shape_of(op.x))) if d not in repeated]
    if shape_of(x) != tuple(shape_of(op.x)[d] for d in left):
        places = tuple(left.index(d) for d in dims if d not in repeated)
        x = b.broadcast(x, places, tuple(shape_of(op.x)[d] for d in left))
    over = sorted(left.index(d) for d in others)
    return b.reduce(x, kind=op.kind, dims=over) if over else x


@rule(
    "reduce",
    "reduce(broadcast(x)) -> reduce(x) over the other dims, of kind max, min, and, or",
    lambda b, x, y, i, j: b.reduce(b.broadcast(x, (0, 2), (2, 4, 3)), kind="max", dims=(1, 2)),
)
def choose_from_repeated(op: Any, b: GraphBuilder) -> SSAValue | None:
    found = _repeated_dims(op)
    if not found or op.kind.data in ("add", "mul"):
        return None
    return _without(b, op, *found)


@rule(
    "reduce",
    "reduce add(broadcast(x)) -> mul(reduce add(x), the number of repetitions)",
    lambda b, x, y, i, j: b.reduce(b.broadcast(x, (0, 2), (2, 4, 3)), kind="add", dims=(1, 2)),
    REASSOCIATING,
)
def sum_of_repeated(op: Any, b: GraphBuilder) -> SSAValue | None:
    found = _repeated_dims(op)
    if not found or op.kind.data != "add":
        return None
    times = prod(shape_of(op.x)[d] for d in found[1])
    total = _without(b, op, *found)
    return b.mul(total, b.full(times, total.type))


@rule(
    "reduce",
    "reduce add(neg(x)) -> neg(reduce add(x)), the negated x needed nowhere else",
    lambda b, x, y, i, j: b.reduce(b.neg(x), kind="add", dims=(1,)),
    REASSOCIATING,  # a sum of zero has another sign
)
def sum_of_neg(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "neg")
    if not inner or op.kind.data != "add" or not op.x.has_one_use():
        return None
    return b.neg(b.reduce(inner.x, kind="add", dims=op.dims))


# --------------------------------------------------------------------------------------------------------------------
# dot


def _matrix(b: GraphBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """x times y transposed: tensor<2x2xf32>."""
    return b.dot(x, y, lhs_contract=(1,), rhs_contract=(1,))


@rule(
    "dot",
    "dot(transpose(x), y) -> dot(x, y) over other dims",
    lambda b, x, y, i, j: b.dot(b.transpose(x, perm=(1, 0)), y, lhs_contract=(1,), rhs_contract=(0,)),
)
def dot_of_transpose(op: Any, b: GraphBuilder) -> SSAValue | None:
    names = (("lhs_batch", "lhs_contract"), ("rhs_batch", "rhs_contract"))
    dims = {name: ints(op.properties[name]) for pair in names for name in pair}
    operands = list(op.operands)
    changed = False
    for k, (batch, contract) in enumerate(names):
        inner = made_by(operands[k], "transpose")
        if not inner:
            continue
        perm = ints(inner.perm)
        free = [perm[d] for d in free_dims(len(perm), dims[batch], dims[contract])]
        if free != sorted(free):
            continue  # the result's dims would come in another order
        operands[k] = inner.x
        for name in (batch, contract):
            dims[name] = tuple(perm[d] for d in dims[name])
        changed = True
    return b.dot(*operands, **dims) if changed else None


@rule(
    "transpose",
    "transpose(dot(x, y)) -> dot(y, x), where it exchanges their free dims",
    lambda b, x, y, i, j: b.transpose(_matrix(b, x, y), perm=(1, 0)),
)
def transpose_of_dot(op: Any, b: GraphBuilder) -> SSAValue | None:
    dot = made_by(op.x, "dot")
    if not dot or not dot.y.has_one_use():
        return None
    n_batch = len(ints(dot.lhs_batch))
    n_lhs = len(shape_of(dot.lhs)) - n_batch - len(ints(dot.lhs_contract))
    rank = len(shape_of(dot.y))
    swapped = (*range(n_batch), *range(n_batch + n_lhs, rank), *range(n_batch, n_batch + n_lhs))
    if ints(op.perm) != swapped:
        return None
    return b.dot(
        dot.rhs,
        dot.lhs,
        lhs_batch=dot.rhs_batch,
        rhs_batch=dot.lhs_batch,
        lhs_contract=dot.rhs_contract,
        rhs_contract=dot.lhs_contract,
    )


@rule(
    "dot",
    "dot(neg(x), neg(y)) -> dot(x, y); dot(neg(x), y) -> neg(dot(x, y)), where the result is no larger than x",
    lambda b, x, y, i, j: _matrix(b, b.neg(x), y),
    REASSOCIATING,
)
def dot_of_neg(op: Any, b: GraphBuilder) -> SSAValue | None:
    lhs, rhs = made_by(op.lhs, "neg"), made_by(op.rhs, "neg")
    operands = (lhs.x if lhs else op.lhs, rhs.x if rhs else op.rhs)
    if lhs and rhs:
        return b.insert(type(op).make(operands, op.properties))
    negated = op.lhs if lhs else op.rhs
    if not (lhs or rhs) or not negated.has_one_use() or prod(shape_of(op.y)) > prod(shape_of(negated)):
        return None
    return b.neg(b.insert(type(op).make(operands, op.properties)))


@rule(
    "dot",
    "dot(x, 1) -> reduce add(x), all dims of the ones contracted",
    lambda b, x, y, i, j: b.dot(x, b.full_like(b.reduce(x, kind="max", dims=(0,)), 1), lhs_contract=(1,), rhs_contract=(0,)),
    REASSOCIATING,
)
def dot_with_ones(op: Any, b: GraphBuilder) -> SSAValue | None:
    if is_splat(op.rhs, 1) and len(ints(op.rhs_contract)) == len(shape_of(op.rhs)):
        return b.reduce(op.lhs, kind="add", dims=sorted(ints(op.lhs_contract)))
    if is_splat(op.lhs, 1) and len(ints(op.lhs_contract)) == len(shape_of(op.lhs)):
        return b.reduce(op.rhs, kind="add", dims=sorted(ints(op.rhs_contract)))
    return None


@rule(
    "conv",
    "conv(x, w) with windows of one element -> dot(w, x) of one image, dot(x, w) where features are last",
    lambda b, x, y, i, j: b.conv(
        b.reshape(x, (1, 2, 3, 1)), b.reshape(y, (3, 2, 1, 1)), stride=(1, 1), low=(0, 0), high=(0, 0), groups=1
    ),
    REASSOCIATING,
)
def conv_of_points(op: Any, b: GraphBuilder) -> SSAValue | None:
    c, x, w = Convolution.of(op.properties), shape_of(op.x), shape_of(op.w)
    plain = {*c.stride, *c.base_dilation, c.groups} == {1} and {*c.low, *c.high} == {0}
    if DYNAMIC in (*x, *w) or not plain or any(size != 1 for size in pick(w, c.w_dims[2:])):
        return None
    out, depth = c.w_dims[:2]
    matrix = b.reshape(op.w, (w[min(out, depth)], w[max(out, depth)]))
    contracted = (int(depth > out),)
    in_order = tuple(range(len(x)))
    if c.x_dims == c.y_dims == (0, len(x) - 1, *in_order[1:-1]):
        return b.dot(op.x, matrix, lhs_contract=(len(x) - 1,), rhs_contract=contracted)
    if c.x_dims == c.y_dims == in_order and x[0] == 1:
        return b.reshape(b.dot(matrix, b.reshape(op.x, x[1:]), lhs_contract=contracted, rhs_contract=(0,)), shape_of(op.y))
    return None


@rule(
    "conv",
    "conv(x, w) with strides as long as the windows -> dot of patches and filters",
    lambda b, x, y, i, j: b.conv(
        b.reshape(x, (1, 1, 2, 3)), b.reshape(y, (3, 1, 2, 1)), stride=(2, 1), low=(0, 0), high=(0, 0), groups=1
    ),
    REASSOCIATING,
)
def conv_of_patches(op: Any, b: GraphBuilder) -> SSAValue | None:
    c, x, w, y = Convolution.of(op.properties), shape_of(op.x), shape_of(op.w), shape_of(op.y)
    if DYNAMIC in (*x, *w) or 0 in y or c.y_dims[1] == len(y) - 1 or not _are_apart(c, pick(w, c.w_dims[2:])):
        return None
    points = [role for role in map(c.y_dims.index, range(len(y))) if role != 1]
    depth = [role for role in map(c.w_dims.index, range(len(w))) if role != 0]
    rows, features, size = prod(y[c.y_dims[role]] for role in points), w[c.w_dims[0]], prod(pick(w, c.w_dims[1:]))
    filters = transposed(b, op.w, (c.w_dims[0], *(c.w_dims[role] for role in depth)))
    filters = b.reshape(filters, (features, size))
    if features > rows:  # the larger operand on the right
        order, patches = [*points, 1], b.reshape(_patches(op, b, c, [*points, *depth], len(points)), (rows, size))
        made = b.dot(patches, filters, lhs_contract=(1,), rhs_contract=(1,))
    else:
        order, patches = [1, *points], b.reshape(_patches(op, b, c, [*depth, *points], 0), (size, rows))
        made = b.dot(filters, patches, lhs_contract=(1,), rhs_contract=(0,))
    made = b.reshape(made, [y[c.y_dims[role]] for role in order])
    return transposed(b, made, [order.index(c.y_dims.index(d)) for d in range(len(y))])


def _are_apart(c: Convolution, window: tuple[int, ...]) -> bool:
    """Whether windows of more than one element tile the operand: no overlap, no gaps, no padding."""
    plain = {*c.base_dilation, c.groups} == {1} and {*c.low} == {0} and max(c.high) <= 0
    dense = all(n == 1 or by == 1 for n, by in zip(window, c.dilation, strict=True))
    return plain and dense and c.stride == window and max(window) > 1


def _patches(op: Any, b: GraphBuilder, c: Convolution, order: list[int], at: int) -> SSAValue:
    """The operand reshaped so that disjoint windows have dims of their own: dims by role, a window's from number `at` on."""
    x, image, points = shape_of(op.x), op.x, pick(shape_of(op.y), c.y_dims)
    taps = range(at, at + len(x) - 1)
    cut = placed((points[0], x[c.x_dims[1]], *(n * by for n, by in zip(points[2:], c.stride, strict=True))), c.x_dims)
    if tuple(cut) != x:
        image = b.slice(image, start=(0,) * len(x), stop=cut, step=(1,) * len(x))
    # each spatial dim becomes two: which window, and which element of it
    sizes, found = list[int](), list[tuple[int, bool]]()
    for role, n in zip(map(c.x_dims.index, range(len(x))), cut, strict=True):
        sizes += [n] if role < 2 else [points[role], c.stride[role - 2]]
        found += [(role, role == 1)] if role < 2 else [(role, False), (role, True)]
    return transposed(b, b.reshape(image, sizes), [found.index((role, k in taps)) for k, role in enumerate(order)])


@rule(
    "attention",
    "attention over batch dims -> attention over more heads, where the bias has all or none of the batch dims and heads",
    lambda b, x, y, i, j: b.attention(*[b.reshape(x, (2, 1, 3, 1))] * 3, mask="causal", scale=0.5),
)
def attention_over_batch(op: Any, b: GraphBuilder) -> SSAValue | None:
    shapes = [shape_of(operand) for operand in op.inputs]
    outer = len(shapes[0]) - 2
    if outer == 1 or any(DYNAMIC in sizes or 0 in sizes[:outer] for sizes in shapes):
        return None
    if len(shapes) == 4 and prod(shapes[3][:outer]) not in (1, prod(shapes[0][:outer])):
        return None
    merged = [b.reshape(x, (prod(n[:outer]), *n[outer:])) for x, n in zip(op.inputs, shapes, strict=True)]
    return b.reshape(b.attention(*merged, **op.properties), shape_of(op.y))
