"""Loops, conditionals and checks in a widened body: lanes that take another branch, or stop earlier, are off.

* `loop.if` of a uniform condition stays; else both branches run, each under a mask, and results are selected.
* `loop.while` runs until the last lane stops; lanes that stopped keep their values.
* `loop.for` whose bounds differ between lanes runs over all of their iterations with one index, or, where lanes start at values
  that depend on data, by iteration number with an index for each.

Ops that must not run when no lane is on (accesses of one element for all lanes, loops) are inside a `loop.if` of any lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import vector
from xdsl.dialects.builtin import IndexType, i1
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr

from ...dialects.loop.loops import ForOp, IfOp, WhileOp, YieldOp
from ...dialects.loop.memory import CheckOp, LoadOp, StoreOp
from ...dialects.operations import clone
from ...dialects.scalar import ScalarBuilder
from ...dialects.types import vector as vector_type
from ..analysis.lanes import has_own_bounds, shares_index, shift, stops_apart, yielded
from ..analysis.nests import holds
from .bounds import Bound, bound_of
from .reduce import contributions, reduce_lanes

if TYPE_CHECKING:
    from .body import Body

_INDEX = IndexType()


def any_lane(mask: SSAValue, target: Block) -> SSAValue:
    """Whether a lane is on."""
    return reduce_lanes(ScalarBuilder(target), "or", [mask])[0]


def _yield(values: Sequence[SSAValue], target: Block) -> None:
    target.add_op(YieldOp.create(operands=values))


# Conditionals


def copy_if(w: Body, op: IfOp, target: Block) -> None:
    regions = (op.then, op.otherwise)
    if op.condition not in w.varying:
        new = IfOp.create(
            operands=[w.scalar(op.condition)],
            result_types=[w.type_of(result) for result in op.results],
            regions=[Region(Block()) if region.blocks else Region() for region in regions],
        )
        w.add(new, op, target)
        for region, copy in zip(regions, (new.then, new.otherwise), strict=True):
            if region.blocks:
                w.copy(region.block, copy.block)
                pairs = zip(yielded(region.block), op.results, strict=True)
                _yield([w.wanted(v, result, copy.block) for v, result in pairs], copy.block)
        return
    builder = ScalarBuilder(target)
    condition = w.vector(op.condition, target)
    branches = [_branch(w, op.then.block, condition, target)]
    if op.otherwise.blocks:
        inverse = builder.invert(condition) if _has_effects(op.otherwise.block) else condition
        branches.append(_branch(w, op.otherwise.block, inverse, target))
    for k, result in enumerate(op.results):
        w.values[result] = chosen = builder.select(condition, branches[0][k], branches[1][k])
        chosen.name_hint = result.name_hint


def _branch(w: Body, block: Block, condition: SSAValue, target: Block) -> list[SSAValue]:
    """Run a block in the lanes of a condition; returns its yielded values, as vectors."""
    if not _has_effects(block):  # arithmetic is defined for all operands
        w.copy(block, target)
        return [w.vector(value, target) for value in yielded(block)]
    before, w.mask = w.mask, w.both(condition, w.mask, target)
    values = run_if_any(w, block, target)
    w.mask = before
    return values


def run_if_any(w: Body, block: Block, target: Block) -> list[SSAValue]:
    """Run a block in the lanes that are on, which may be none; returns its yielded values, as vectors."""
    if not _needs_a_lane(w, block):
        w.copy(block, target)
        return [w.vector(value, target) for value in yielded(block)]
    assert w.mask is not None
    types = [vector_type(value.type, w.lanes) for value in yielded(block)]
    guard = IfOp.create(
        operands=[any_lane(w.mask, target)],
        result_types=types,
        regions=[Region(Block()), Region(Block()) if types else Region()],
    )
    target.add_op(guard)
    w.copy(block, guard.then.block)
    _yield([w.vector(value, guard.then.block) for value in yielded(block)], guard.then.block)
    if types:
        _yield([w.constant(0, type) for type in types], guard.otherwise.block)
    return list(guard.results)


def _has_effects(block: Block) -> bool:
    return holds(block, LoadOp, StoreOp, CheckOp, ForOp, WhileOp)


def _needs_a_lane(w: Body, block: Block) -> bool:
    """Whether a block has an effect for all lanes at once that the kernel may have in none of them."""
    for op in block.ops:
        match op:
            case LoadOp() if w.is_same(op) and not w.is_own(op.buffer) and not w.may_read(op):
                return True
            case StoreOp() if w.is_same(op) and not w.is_own(op.buffer):
                return True
            case ForOp() | WhileOp():
                return True
            case CheckOp() if op.condition not in w.varying:
                return True
            case IfOp() if op.condition not in w.varying:
                if any(_needs_a_lane(w, region.block) for region in op.regions if region.blocks):
                    return True
            case _:
                pass
    return False


def copy_check(w: Body, op: CheckOp, target: Block) -> None:
    """Report the first of the lanes in which a check fails."""
    if op.condition not in w.varying and op.value not in w.varying:
        w.add(clone(op, w.values), op, target)
        return
    builder = ScalarBuilder(target, op.location)
    bad = w.both(builder.invert(w.vector(op.condition, target)), w.mask, target)
    value = w.vector(op.value, target)
    guard = IfOp.create(operands=[any_lane(bad, target)], regions=[Region(Block()), Region()])
    guard.location = op.location
    target.add_op(guard)
    inside = ScalarBuilder(guard.then.block, op.location)
    last = w.constant(w.lanes - 1, value.type)
    (first,) = reduce_lanes(inside, "min", [inside.select(bad, w.numbers(guard.then.block), last)])
    found = inside.insert(vector.ExtractOp(value, [first], _INDEX))
    guard.then.block.add_op(CheckOp.build_check(w.constant(0, i1), found, op.status.value.data))
    _yield([], guard.then.block)


# Loops


def copy_while(w: Body, op: WhileOp, target: Block) -> None:
    names = [argument.name_hint for argument in op.body.block.args]
    if not stops_apart(op, w.varying):
        inits = [w.wanted(init, result, target) for init, result in zip(op.inits, op.results, strict=True)]
        new = WhileOp.build_loop(w.scalar(op.condition), inits, names)
        w.add(new, op, target)
        w.values.update(zip(op.body.block.args, new.body.block.args, strict=True))
        inner = new.body.block
        w.copy(op.body.block, inner)
        condition, *values = op.yielded
        following = [w.wanted(v, result, inner) for v, result in zip(values, op.results, strict=True)]
        _yield([w.scalar(condition), *following], inner)
        return
    active = w.both(w.vector(op.condition, target), w.mask, target)
    inits = [active, *(w.vector(init, target) for init in op.inits)]
    new = WhileOp.build_loop(any_lane(active, target), inits, ["active", *names])
    new.location = op.location
    target.add_op(new)
    inner = new.body.block
    running, *arguments = inner.args
    w.values.update(zip(op.body.block.args, arguments, strict=True))
    before, w.mask = w.mask, running
    w.copy(op.body.block, inner)
    w.mask = before
    builder = ScalarBuilder(inner)
    condition, *values = [w.vector(value, inner) for value in op.yielded]
    still = builder.binary("and", running, condition)
    kept = [builder.select(running, value, old) for value, old in zip(values, arguments, strict=True)]
    _yield([any_lane(still, inner), still, *kept], inner)
    for old, result in zip(op.results, new.results[1:], strict=True):
        w.values[old] = result
        result.name_hint = old.name_hint


def copy_for(w: Body, op: ForOp, target: Block) -> None:
    if not has_own_bounds(op, w.varying):
        lower = op.lower.data, [w.scalar(v) for v in op.lower_operands]
        upper = op.upper.data, [w.scalar(v) for v in op.upper_operands]
        new = _new_loop(w, op, lower, upper, op.step.value.data, target)
        w.values[op.index] = new.index
        inner = new.body.block
        w.copy(op.body.block, inner)
        _yield([w.wanted(v, result, inner) for v, result in zip(op.yielded, op.results, strict=True)], inner)
    elif shares_index(op, w.loop, w.varying):
        _over_all(w, op, target)
    else:
        _by_number(w, op, target)


def _new_loop(
    w: Body,
    op: ForOp,
    lower: int | Bound,
    upper: Bound,
    step: int,
    target: Block,
) -> ForOp:
    inits = [w.wanted(init, result, target) for init, result in zip(op.inits, op.results, strict=True)]
    monoid = op.monoid.data if op.monoid is not None else None
    new = ForOp.build_loop(lower, upper, step=step, kind=op.kind.data, monoid=monoid, inits=inits)
    new.attributes.update(op.attributes)
    w.add(new, op, target)
    for old, argument in zip(op.body.block.args, new.body.block.args, strict=True):
        argument.name_hint = old.name_hint
        w.values[old] = argument
    return new


def _over_all(w: Body, op: ForOp, target: Block) -> None:
    """From the least lower to the greatest upper bound, lanes on within their own."""
    last = (w.lanes - 1) * w.loop.step.value.data
    bounds: list[Bound] = []
    tests: list[tuple[str, AffineExpr, Sequence[SSAValue]]] = []
    for sign, map, operands in ((-1, op.lower.data, op.lower_operands), (1, op.upper.data, op.upper_operands)):
        copies = [w.scalar(v) for v in operands]
        exprs: list[AffineExpr] = []
        for expr in map.results:
            coefficient = shift(expr, operands, w.loop, w.varying)
            if coefficient is None:  # computed from data: the greatest of all lanes
                dims = [w.vector(v, target) if v in w.varying else w.scalar(v) for v in operands]
                value = w.index_arith(target).value(expr, dims)
                copies.append(_greatest(w, value, target))
                exprs.append(AffineExpr.dimension(len(copies) - 1))
            else:
                exprs.append(expr + max(0, sign * coefficient) * sign * last)
            if coefficient != 0:
                tests.append(("lt" if sign > 0 else "ge", expr, operands))
        bounds.append(bound_of(exprs, copies))
    ends = [
        w.index_arith(target).value(expr, [w.vector(v, target) if v in w.varying else w.scalar(v) for v in operands])
        for _, expr, operands in tests
    ]
    new = _new_loop(w, op, bounds[0], bounds[1], op.step.value.data, target)
    inner = new.body.block
    index, mask = w.spread(new.index, inner), w.mask
    for (predicate, _, _), end in zip(tests, ends, strict=True):
        mask = w.both(ScalarBuilder(inner).cmp(predicate, index, end), mask, inner)
    assert mask is not None
    # the lane with the greatest upper bound is on to the end, if there is no other condition
    _masked_body(w, op, new, mask, is_some=w.mask is None and len(tests) == 1)


def _by_number(w: Body, op: ForOp, target: Block) -> None:
    """Iterations 0, 1, ... of all lanes together."""
    step, arithmetic = op.step.value.data, w.index_arith(target)
    ends: list[SSAValue] = []
    for which, map, operands in (("max", op.lower.data, op.lower_operands), ("min", op.upper.data, op.upper_operands)):
        dims = [w.vector(v, target) if v in w.varying else w.scalar(v) for v in operands]
        end = arithmetic.extreme(which, [arithmetic.value(expr, dims) for expr in map.results])
        assert not isinstance(end, int)
        ends.append(end if end.type != _INDEX else w.spread(end, target))
    first, end = ends
    trips = arithmetic.sub(end, first)
    if step != 1:
        trips = arithmetic.floordiv(arithmetic.add(trips, step - 1), step)
    assert not isinstance(trips, int)
    most = bound_of([AffineExpr.dimension(0)], [_greatest(w, trips, target)])
    new = _new_loop(w, op, 0, most, 1, target)
    inner = new.body.block
    number = w.spread(new.index, inner)
    mask = w.both(ScalarBuilder(inner).cmp("lt", number, trips), w.mask, inner)
    index = w.index_arith(inner).add(first, w.index_arith(inner).mul(number, step))
    assert not isinstance(index, int)
    w.values[op.index] = index
    _masked_body(w, op, new, mask, is_some=True)


def _greatest(w: Body, value: SSAValue, target: Block) -> SSAValue:
    """The greatest of an index in the lanes that are on."""
    builder = ScalarBuilder(target)
    if w.mask is not None:
        value = builder.select(w.mask, value, w.constant(-(1 << 63), value.type))
    return reduce_lanes(builder, "max", [value])[0]


def _masked_body(w: Body, op: ForOp, new: ForOp, mask: SSAValue, is_some: bool) -> None:
    """The body of a loop under a mask: lanes that are off keep what they carry."""
    inner = new.body.block
    before, w.mask, w.apart = (w.mask, w.apart), mask, True
    if is_some:
        w.copy(op.body.block, inner)
        values = [w.vector(value, inner) for value in op.yielded]
    else:
        values = run_if_any(w, op.body.block, inner)
    w.mask, w.apart = before
    if op.monoid is not None:
        values = contributions(values, op.monoid.data, mask, inner, w.top)
    else:
        builder = ScalarBuilder(inner)
        values = [builder.select(mask, value, old) for value, old in zip(values, inner.args[1:], strict=True)]
    _yield(values, inner)
