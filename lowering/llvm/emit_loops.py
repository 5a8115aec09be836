"""`loop.for` and `loop.if`: structure to basic blocks.

A loop is written in rotated form, test at the end; a guard in front is written only where the trip count is not known to be
positive. `unroll` loops disappear here: their indices become constants, which subscripts and index arithmetic fold.

A `reduce` loop combines in the order of its iterations, accumulator first: `acc = acc + contribution`. The contribution of
`reduce<add>` that is a float product used nowhere else is added with one rounding (`fma`) where the target has that
instruction. That is the defined value of a sum of products, the same in every schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr

from ...codegen.text import I64, const
from ...dialects.loop.loops import PAIR_MONOIDS, ForOp, IfOp, WhileOp
from ...dialects.loop.memory import AllocOp
from ...dialects.scalar_ops import DotWordsOp
from ...dialects.types import is_unsigned, scalar_of, shape_of
from ...dialects.vocabulary import IndexCastOp, StepOp
from ..analysis.bounds import too_much_code
from ..analysis.nests import walk
from . import emit_parallel
from .emit_affine import bound
from .emit_chunks import bounds_of_share
from .emit_core import Effect, FunctionEmitter, opaque
from .emit_integer import is_number
from .emit_reduce import Extreme, combine, combine_pairs, extremes, meets
from .emit_transpose import Window
from .emit_types import fail
from .emit_words import add_dot_words, add_pairs, small_factors


def loop(e: FunctionEmitter, op: ForOp) -> None:
    kind = op.kind.data
    lower = bound(e, "smax", op.lower.data.results, op.lower_operands, op)
    upper = bound(e, "smin", op.upper.data.results, op.upper_operands, op)
    step = op.step.value.data
    if op.threads is not None and not e.on_threads:
        emit_parallel.parallel(e, op, lower, upper, rotated)
        return
    if op.outlined is not None:
        emit_parallel.outlined(e, op, lower, upper, rotated)
        return
    if op in e.divided:
        lower, upper = bounds_of_share(e, op, lower, upper)
        rotated(e, op, lower, upper, step, None, [])
        return
    inits = [e.value(v, op) for v in op.inits]
    trips = None
    if is_number(lower) and is_number(upper):
        trips = max(0, -(-(int(upper) - int(lower)) // step))
    marked = _fuse_products(e, op)
    if trips is not None and (kind == "unroll" or trips <= 1):
        carried = _unrolled(e, op, int(lower), step, trips, inits)
    elif kind == "unroll" and is_number(lower) and (most := _numbers(op)):
        carried = _guarded(e, op, int(lower), min(most), upper, inits)
    else:
        carried = rotated(e, op, lower, upper, step, trips, inits)
    e.fused.difference_update(marked)
    depth = e.depth
    for result, x in zip(op.results, carried, strict=True):
        e.values[result] = x
        if x[0] == "%":
            e.levels[x] = min(e.levels.get(x, depth), depth)


def _unrolled(e: FunctionEmitter, op: ForOp, lower: int, step: int, trips: int, carried: list[str]) -> list[str]:
    if trips > 1 and (op, trips) not in e.affordable:
        if (reason := too_much_code(op, trips)) is not None:
            raise fail(op, f"unrolls to {reason}; split the loop and unroll the inner part, or make it seq")
        e.affordable.add((op, trips))
    if trips > 1 and step == 1:
        e.windows[op.index] = Window(op.index, lower, trips, e.depth, e.b.block)
    for k in range(trips):
        carried = _iteration(e, op, str(lower + k * step), carried)
    e.windows.pop(op.index, None)
    return carried


def _numbers(op: ForOp) -> list[int]:
    return [expr.value for expr in op.upper.data.results if isinstance(expr, AffineConstantExpr)]


def _guarded(e: FunctionEmitter, op: ForOp, first: int, last: int, upper: str, inits: list[str]) -> list[str]:
    """An unrolled loop that may end early: all iterations at once when it does not, else each under a test.

    The tile of a `min(16, N - j)` is nearly always full, and buffers in registers need constant indices on both paths.
    """
    b, step = e.b, op.step.value.data
    trips = max(0, -(-(last - first) // step))
    types = [e.ty(v.type, op) for v in op.inits]
    slot = e.open_slot()
    full, partly, done = b.fresh_label("full"), b.fresh_label("partly"), b.fresh_label("whole")
    b.cond_br(b.icmp("sge", upper, str(last), I64), full, partly)
    b.label(full)
    e.push(slot, certain=False, branch=True)
    complete = _unrolled(e, op, first, step, trips, inits)
    e.pop()
    from_full = b.block
    b.br(done)
    b.label(partly)
    if _indexes_registers(op):
        carried = _one_by_one(e, op, slot, range(first, last - (step == 1), step), upper, inits)
    else:
        e.push(slot, certain=False, branch=True)
        carried = rotated(e, op, str(first), upper, step, None, inits)
        e.pop()
    from_partly = b.block
    b.br(done)
    b.label(done)
    return [b.phi(ty, (x, from_full), (y, from_partly)) for ty, x, y in zip(types, complete, carried, strict=True)]


def _indexes_registers(op: ForOp) -> bool:
    """Whether a loop's index selects elements of a register tile: it must be a constant then."""
    for inner in walk(op.body.block):
        buffer = getattr(inner, "buffer", None)
        if buffer is not None and op.index in inner.operands:
            owner = buffer.owner
            if isinstance(owner, AllocOp) and owner.space.data == "register":
                return True
    return False


def _one_by_one(e: FunctionEmitter, op: ForOp, slot: list[str], indices: range, upper: str, carried: list[str]) -> list[str]:
    """Copies of an iteration, each under a test."""
    b = e.b
    types = [e.ty(v.type, op) for v in op.inits]
    for index in indices:
        run, skip = b.fresh_label("some"), b.fresh_label("next")
        before = b.block
        b.cond_br(b.icmp("slt", str(index), upper, I64), run, skip)
        b.label(run)
        e.push(slot, certain=False, branch=True)
        after = _iteration(e, op, str(index), carried)
        e.pop()
        ran = b.block
        b.br(skip)
        b.label(skip)
        carried = [b.phi(ty, (x, before), (y, ran)) for ty, x, y in zip(types, carried, after, strict=True)]
    return carried


def while_loop(e: FunctionEmitter, op: WhileOp) -> None:
    """Test, then body with the next test at its end."""
    b = e.b
    types = [e.ty(v.type, op) for v in op.inits]
    inits, start = [e.value(v, op) for v in op.inits], e.value(op.condition, op)
    body, done = b.fresh_label("while"), b.fresh_label("done")
    slot = e.open_slot()
    before = b.block
    b.cond_br(start, body, done)
    e.push(slot, certain=False)
    b.label(body)
    position = len(b.lines)
    phis = [b.name() for _ in inits]
    b.lines += [""] * len(inits)
    for argument, x in zip(op.body.block.args, phis, strict=True):
        e.values[argument] = x
        e.levels[x] = e.depth
    e.run(op.body.block)
    condition, *last = [e.value(v, op) for v in op.yielded]
    latch = b.block
    b.cond_br(condition, body, done)
    for k, (ty, phi, init, x) in enumerate(zip(types, phis, inits, last, strict=True)):
        b.lines[position + k] = f"  {phi} = phi {ty} [ {init}, %{before} ], [ {x}, %{latch} ]"
    e.pop()
    b.label(done)
    for result, ty, init, x in zip(op.results, types, inits, last, strict=True):
        e.define(result, b.phi(ty, (init, before), (x, latch)))


def _iteration(
    e: FunctionEmitter, op: ForOp, index: str, carried: list[str], special: dict[int, Extreme] | None = None
) -> list[str]:
    """Write the body once; returns the carried values."""
    block = op.body.block
    e.values[block.args[0]] = index
    is_reduction = op.monoid is not None
    if not is_reduction:
        for argument, x in zip(block.args[1:], carried, strict=True):
            e.values[argument] = x
    e.run(block)
    return _combined(e, op, carried, special or {}) if is_reduction else [e.value(v, op) for v in op.yielded]


def rotated(e: FunctionEmitter, op: ForOp, lower: str, upper: str, step: int, trips: int | None, inits: list[str]) -> list[str]:
    b = e.b
    body, done = b.fresh_label("loop"), b.fresh_label("done")
    slot = e.open_slot()
    before = entry = b.block
    runs, entered = "true", None
    if trips is None:
        runs = b.icmp("slt", lower, upper, I64)
        b.cond_br(runs, body, done)
        entered = e.open_slot()
    else:
        b.br(body)
    e.push(slot, certain=trips is not None, entered=entered)
    b.label(body)
    positions = len(b.lines)
    counter, index, phis, special = b.name(), b.name(), [b.name() for _ in inits], extremes(e, op)
    types, masks = [e.ty(v.type, op) for v in op.inits], [x for one in special.values() for x in one.ordered]
    types += [ty for one in special.values() for ty in one.types]
    inits = inits + [const(True, ty) for ty in types[len(inits) :]]
    b.lines += [""] * (1 + len(inits))
    if e.optimized:
        index = counter
    else:
        b.lines.append(f"  {index} = {opaque(b, counter)}")
    for x in (index, *phis):
        e.levels[x] = e.depth
    from_zero = lower in e.not_negative or (is_number(lower) and int(lower) >= 0)
    if from_zero:
        e.not_negative.add(index)
    carried = _iteration(e, op, index, phis, special)
    carried += [x for one in special.values() for x in one.ordered]
    following = b.emit(f"add {'nuw ' if from_zero else ''}nsw i64 {index}, {step}")
    b.cond_br(b.icmp("slt", following, upper, I64), body, done)
    latch = b.block
    if entered:
        entry = b.fresh_label("enter")
        b.lines[positions - 2] = f"  br i1 {runs}, label %{entry}, label %{done}"
        entered[:] = [f"{entry}:", *entered, f"  br label %{body}"]
    b.lines[positions] = f"  {counter} = phi i64 [ {lower}, %{entry} ], [ {following}, %{latch} ]"
    for k, (ty, phi, init, last) in enumerate(zip(types, phis + masks, inits, carried, strict=True)):
        b.lines[positions + 1 + k] = f"  {phi} = phi {ty} [ {init}, %{entry} ], [ {last}, %{latch} ]"
    e.pop()
    b.label(done)
    if trips is None:
        carried = [b.phi(ty, (init, before), (last, latch)) for ty, init, last in zip(types, inits, carried, strict=True)]
    found, masks = carried[: len(phis)], iter(carried[len(phis) :])
    for k, one in special.items():
        found[k] = one.finish(found[k], [next(masks) for _ in one.types])
    return found


def _fuse_products(e: FunctionEmitter, op: ForOp) -> list[Operation]:
    """The products that a `reduce<add>` adds without rounding them; they are not written separately."""
    if op.monoid is None or op.monoid.data != "add":
        return []
    products: list[Operation] = []
    for result, contribution in zip(op.results, op.yielded, strict=True):
        product = contribution.owner
        if not isinstance(product, Operation) or product.parent is not op.body.block or not contribution.has_one_use():
            continue
        of_integers = isinstance(product, arith.MuliOp) and meets(result, "add") and small_factors(e, product)
        if of_integers or isinstance(product, arith.MulfOp | DotWordsOp):
            e.fused.add(product)
            products.append(product)
    return products


def _combined(e: FunctionEmitter, op: ForOp, carried: list[str], special: dict[int, Extreme]) -> list[str]:
    assert op.monoid is not None
    monoid, yielded = op.monoid.data, op.yielded
    types = [e.ty(v.type, op) for v in yielded]
    if monoid in PAIR_MONOIDS:
        if len(yielded) % 2:
            raise fail(op, f"reduces by {monoid}, which needs (value, index) pairs, got {len(yielded)} values")
        result: list[str] = []
        for k in range(0, len(yielded), 2):
            pair = (e.value(yielded[k], op), e.value(yielded[k + 1], op))
            facts = {"unsigned": is_unsigned(scalar_of(yielded[k].type)), "later": _ascends(op, k + 1)}
            result += combine_pairs(e.b, monoid, (carried[k], carried[k + 1]), pair, types[k], types[k + 1], **facts)
        return result
    result = []
    for k, (v, acc, ty) in enumerate(zip(yielded, carried, types, strict=True)):
        product = v.owner
        if k in special:
            result.append(special[k].combine(acc, e.value(v, op)))
        elif product in e.fused and isinstance(product, arith.MuliOp):
            result.append(add_pairs(e, product, acc, ty))
        elif product in e.fused and isinstance(product, Operation):
            x, y = [e.value(o, op) for o in product.operands]
            one = isinstance(product, DotWordsOp)
            result.append(add_dot_words(e, product, acc, [x, y], ty) if one else e.b.fma(x, y, acc, ty))
        else:
            result.append(combine(e.b, monoid, acc, e.value(v, op), ty, is_unsigned(scalar_of(v.type))))
    return result


def _ascends(op: ForOp, k: int) -> bool:
    """Whether the positions of a reduction of pairs increase with its iterations, from one no higher than the first."""
    bounds, init = op.constant_bounds(), op.inits[k].owner
    if bounds is None or bounds[0] < 0 or not isinstance(init, arith.ConstantOp):
        return False
    most = _most(op.yielded[k])
    if most is None or most >= 2**31:
        return False
    start: Any = init.value
    first = start.value.data if isinstance(start, IntegerAttr) else max(start.get_values())
    return first <= bounds[0] and _grows(op.yielded[k], op)


def _grows(value: SSAValue, op: ForOp) -> bool:
    """Whether a value is the index of a loop, in any type that holds it, plus nonnegative indices."""
    if value is op.index:
        return True
    owner = value.owner
    if isinstance(owner, IndexCastOp | vector.BroadcastOp):
        return _grows(owner.operands[0], op)
    if isinstance(owner, arith.AddiOp):
        return any(_grows(x, op) and _most(y) is not None for x, y in (owner.operands, owner.operands[::-1]))
    return False


def _most(value: SSAValue) -> int | None:
    """The greatest value of an index, if it is known and the index is never negative."""
    owner = value.owner
    if isinstance(owner, IndexCastOp | vector.BroadcastOp):
        return _most(owner.operands[0])
    if isinstance(owner, arith.AddiOp | arith.MuliOp):
        x, y = map(_most, owner.operands)
        return None if x is None or y is None else x + y if isinstance(owner, arith.AddiOp) else x * y
    found: int | None = None
    if isinstance(owner, StepOp):
        found = shape_of(owner.results[0])[0] - 1
    elif isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr) and owner.value.value.data >= 0:
        found = owner.value.value.data
    elif isinstance(loop := owner.parent_op(), ForOp) and value is loop.index:
        bounds = loop.constant_bounds()
        found = bounds[1] if bounds is not None and bounds[0] >= 0 else None
    return found


def conditional(e: FunctionEmitter, op: IfOp) -> None:
    b = e.b
    condition = e.value(op.condition, op)
    regions = (op.then, op.otherwise)
    if condition in ("true", "false"):
        region = regions[condition == "false"]
        if region.blocks:
            e.run(region.block)
            for result, v in zip(op.results, _yielded(region), strict=True):
                e.values[result] = e.value(v, op)
        return
    slot = e.open_slot()
    then, otherwise, done = b.fresh_label("then"), b.fresh_label("else"), b.fresh_label("endif")
    before = b.block
    b.cond_br(condition, then, otherwise if op.otherwise.blocks else done)
    incoming: list[tuple[list[str], str]] = []
    for region, label in zip(regions, (then, otherwise), strict=True):
        if not region.blocks:
            incoming.append(([], before))
            continue
        b.label(label)
        e.push(slot, certain=False, branch=True)
        e.run(region.block)
        e.pop()
        incoming.append(([e.value(v, op) for v in _yielded(region)], b.block))
        b.br(done)
    b.label(done)
    for k, result in enumerate(op.results):
        ty = e.ty(result.type, op)
        e.define(result, b.phi(ty, *[(values[k], block) for values, block in incoming]))


def _yielded(region) -> Sequence[SSAValue]:
    last = region.block.last_op
    return last.operands if last is not None and last.name == "loop.yield" else ()


# Affine expressions of index values


EFFECTS: dict[str, Effect] = {
    "loop.for": loop,
    "loop.while": while_loop,
    "loop.if": conditional,
    "loop.yield": lambda e, op: None,
}
