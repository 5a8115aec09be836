"""Helpers of schedule primitives: indices replaced in subscripts and bounds, loops copied, witnesses found on a copy."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import lru_cache

from xdsl.dialects.builtin import IndexType, LocationAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap

from ...dialects.loop.loops import ForOp, KernelOp, segment_sizes
from ...dialects.loop.memory import AllocOp, LoadOp, PrefetchOp, StoreOp
from ...dialects.loop.subscripts import canonical, linear_form, map_attribute
from ...dialects.scalar import ScalarBuilder
from ..analysis.accesses import accesses
from ..analysis.affine import Affine, as_map
from ..analysis.bounds import set_bounds
from ..analysis.dependence import Conflict
from ..analysis.nests import FreshNames, name_of, ops_in
from ..analysis.regions import lowers, uppers

_INDEX = IndexType()


def rebased(exprs: Sequence[AffineExpr], values: Sequence[SSAValue], home: list[SSAValue]) -> list[AffineExpr]:
    """Expressions over `values` as expressions over `home`, to which missing values are added."""
    home.extend(value for value in dict.fromkeys(values) if value not in home)
    dims = [AffineExpr.dimension(home.index(value)) for value in values]
    return [expr.replace_dims_and_symbols(dims, []) for expr in exprs]


def replace_index(
    old: SSAValue, expr: AffineExpr, values: Sequence[SSAValue], block: Block, location: LocationAttr | None = None
) -> None:
    """Replace an index by a linear expression, which may be over that index itself, in a block and the regions in it.

    Subscripts and bounds absorb the expression. For other uses a single op computes it, in the innermost block that dominates
    them all: so perfect nests stay perfect.
    """
    users = dict.fromkeys(use.operation for use in old.uses if stands_in(use.operation, block))
    others = [(op, k) for op in users for k in _replace_in_maps(op, old, expr, values)]
    if not others:
        return
    value, ops = computed(expr, values, location)
    if ops:
        value.name_hint = old.name_hint
    place_at_start(ops, _around_all([op for op, _ in others]))
    for op, k in others:
        op.operands[k] = value


def start_at_zero(loop: ForOp) -> bool:
    """Let a loop run from 0 instead of an expression, if its greatest trip count is known; returns whether it now does."""
    low, high = lowers(loop), uppers(loop)
    if len(low) != 1 or low[0] == Affine.of(0):
        return len(low) == 1
    ends = [end - low[0] for end in high]
    if low[0].number is not None or all(end.number is None for end in ends):
        return False
    map, values = as_map([low[0]])
    start = AffineExpr.dimension(len(values)) + map.results[0]
    replace_index(loop.index, start, [*values, loop.index], loop.body.block, loop.location)
    map, values = as_map(ends)
    set_bounds(loop, ([AffineConstantExpr(0)], []), (map.results, values))
    return True


def _replace_in_maps(op: Operation, old: SSAValue, expr: AffineExpr, values: Sequence[SSAValue]) -> list[int]:
    """Replace an index in the maps of an op; operands that are this index outside of maps stay."""
    operands = op._operands
    plain = range(len(operands))
    if isinstance(op, ForOp):
        bounds = (op.lower.data, op.lower_operands), (op.upper.data, op.upper_operands)
        lower, upper = (_replaced(*bound, old, expr, values) for bound in bounds)
        set_bounds(op, (lower[0].results, lower[1]), (upper[0].results, upper[1]))
        plain = range(len(op._operands) - len(op.inits), len(op._operands))
    elif isinstance(op, LoadOp | StoreOp | PrefetchOp):
        op.operands, changes, plain = replaced_subscripts(op, old, expr, values)
        op.properties.update(changes)
    return [k for k in plain if op._operands[k] is old]


def replaced_subscripts(
    op: LoadOp | StoreOp | PrefetchOp, old: SSAValue, expr: AffineExpr, values: Sequence[SSAValue]
) -> tuple[list[SSAValue], dict[str, Attribute], list[int]]:
    """An access with an index replaced in its subscripts: operands, changed properties, other operands."""
    operands, old_indices = op._operands, op.indices
    start, n = 2 if isinstance(op, StoreOp) else 1, len(old_indices)
    rest = operands[start + n :]
    map, indices = _replaced(op.map.data, old_indices, old, expr, values)
    changes: dict[str, Attribute] = {"map": map_attribute(map)}
    if not isinstance(op, PrefetchOp):
        changes.update(segment_sizes(*[1] * start, len(indices), len(rest)))
    after = start + len(indices)
    return [*operands[:start], *indices, *rest], changes, [*range(start), *range(after, after + len(rest))]


def _replaced(
    map: AffineMap, operands: Sequence[SSAValue], old: SSAValue, expr: AffineExpr, values: Sequence[SSAValue]
) -> tuple[AffineMap, list[SSAValue]]:
    """A map in which an index is replaced, and the values that it ranges over then."""
    if old not in operands:
        return map, list(operands)
    home: list[SSAValue] = []
    for operand in operands:
        home += [value for value in dict.fromkeys(values if operand is old else (operand,)) if value not in home]
    number = {value: k for k, value in enumerate(home)}
    places = tuple([-1 if operand is old else number[operand] for operand in operands])
    new, used = _substituted(map, places, expr, tuple([number[value] for value in values]), len(home))
    return new, [home[k] for k in used]


@lru_cache(maxsize=4096)
def _substituted(
    map: AffineMap, places: tuple[int, ...], expr: AffineExpr, numbers: tuple[int, ...], count: int
) -> tuple[AffineMap, tuple[int, ...]]:
    """A map whose dims become those of `places`, or, for -1, an expression over the dims `numbers`, without unused dims.

    Also returns which of the `count` dims the result keeps.
    """
    new = expr.replace_dims_and_symbols([AffineExpr.dimension(k) for k in numbers], [])
    dims = [new if k < 0 else AffineExpr.dimension(k) for k in places]
    results = [result.replace_dims_and_symbols(dims, []) for result in map.results]
    used = sorted({dim for result in results for dim in result.used_dims()})
    if len(used) < count:
        left: list[AffineExpr] = [AffineConstantExpr(0)] * count
        for k, dim in enumerate(used):
            left[dim] = AffineExpr.dimension(k)
        results = [result.replace_dims_and_symbols(left, []) for result in results]
    return AffineMap(len(used), 0, tuple([canonical(result, len(used)) for result in results])), tuple(used)


def computed(
    expr: AffineExpr, values: Sequence[SSAValue], location: LocationAttr | None = None
) -> tuple[SSAValue, list[Operation]]:
    """The value of a linear expression and the detached ops that compute it; a plain index needs none."""
    form = linear_form(expr, len(values))
    assert form is not None
    block = Block()
    builder = ScalarBuilder(block, location)
    total: SSAValue | None = None
    for value, c in zip(values, form[0], strict=True):
        if c:
            term = value if c == 1 else builder.mul(value, builder.const(c, _INDEX))
            total = term if total is None else builder.add(total, term)
    if form[1] or total is None:
        constant = builder.const(form[1], _INDEX)
        total = constant if total is None else builder.add(total, constant)
    ops = list(block.ops)
    for op in ops:
        op.detach()
    return total, ops


def place_at_start(ops: Sequence[Operation], block: Block) -> None:
    """Insert ops at the start of a block."""
    if block.first_op is None:
        block.add_ops(ops)
    else:
        block.insert_ops_before(ops, block.first_op)


def _around_all(ops: Sequence[Operation]) -> Block:
    """The innermost block that contains all ops, directly or in nested regions."""
    block = ops[0].parent
    while block is not None and not all(stands_in(op, block) for op in ops):
        parent = block.parent_op()
        block = parent.parent if parent is not None else None
    assert block is not None
    return block


def stands_in(op: Operation, block: Block) -> bool:
    """Whether a block contains an op, directly or in a nested region."""
    home = op.parent
    while home is not None and home is not block:
        parent = home.parent_op()
        home = parent.parent if parent is not None else None
    return home is not None


def take_body(loop: ForOp) -> Block:
    """The body of a loop that is replaced: a detached block."""
    return loop.body.detach_block(loop.body.block)


def put_instead(loop: ForOp, news: Sequence[Operation], results: Sequence[SSAValue]) -> None:
    """Replace a loop by ops, and its results by values."""
    block = loop.parent
    assert block is not None
    block.insert_ops_before(news, loop)
    for old, new in zip(loop.results, results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    loop.detach()
    loop.erase()


def copied(loop: ForOp, kernel: KernelOp, suffix: str = "_rest") -> ForOp:
    """A copy of a loop whose loops and local buffers have new names."""
    new, fresh = loop.clone(), FreshNames(kernel)
    for op in ops_in(new, ForOp, AllocOp):
        named = op.index if isinstance(op, ForOp) else op.buffer
        if named.name_hint is not None:
            named.name_hint = fresh.of(named.name_hint + suffix)
    return new


def on_original(conflict: Conflict, copy: KernelOp, kernel: KernelOp, parts: Mapping[str, tuple[str, ...]]) -> Conflict:
    """A conflict found on a scheduled copy of a kernel, reported for the kernel itself.

    The copy holds the accesses of the kernel in the same order. `parts` maps a loop of the kernel to the loops of the copy
    whose variables add up to its variable.
    """
    theirs, ours = accesses(copy), accesses(kernel)
    first, second = (
        next(mine for mine, other in zip(ours, theirs, strict=True) if other.op is access.op)
        for access in (conflict.first, conflict.second)
    )

    def variables(loops: Sequence[ForOp], at: Mapping[str, int]) -> dict[str, int]:
        return {name: sum(at.get(part, 0) for part in parts.get(name, (name,))) for name in map(name_of, loops)}

    return dataclasses.replace(
        conflict,
        first=first,
        second=second,
        at_first=variables(first.loops, conflict.at_first),
        at_second=variables(second.loops, conflict.at_second),
    )
