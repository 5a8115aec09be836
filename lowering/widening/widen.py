"""Loops rewritten so that each iteration computes several of the original ones on vectors.

    before                                         after, 8 lanes
    loop.for seq %i = 0 to %N {                  loop.for vector %i = 0 to (%N floordiv 8) * 8 step 8 {
      %a = loop.load %x[%i]                        %a = loop.load %x[%i] : ..., vector<8xf32>
      loop.store %a, %y[%i]                        loop.store %a, %y[%i] : ..., vector<8xf32>
    }                                            }
                                                 loop.for vector %i_rest = (%N floordiv 8) * 8 to %N step 8 {  // once or not
                                                   %n = arith.subi %N, %i_rest : index
                                                   %m = vector.create_mask %n : vector<8xi1>
                                                   %a = loop.load %x[%i_rest] mask %m ...

A reduction keeps a vector of partial results, combined at the end in a fixed tree, so its order is a fact of the schedule and
not of the machine. If it is `ordered`, only its terms are vectors: the lanes are added one after the other. Whether iterations
may run in one vector is not decided here: see `schedule/vectorize.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import AffineMapAttr, DenseIntOrFPElementsAttr, IndexType, VectorType, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.loop.loops import ForOp, IfOp, WhileOp, YieldOp, segment_sizes
from ...dialects.loop.memory import AllocOp, CheckOp, LoadOp, PrefetchOp, StoreOp
from ...dialects.operations import create, ops_of
from ...dialects.scalar_ops import is_arithmetic
from ...dialects.types import vector as vector_type
from ..analysis.lanes import has_own_bounds, varying_values, yielded
from ..analysis.nests import buffer_name, kernel_of, walk
from ..index_arith import IndexArith
from .body import Body
from .bounds import Part, Tail, parts
from .reduce import combined, contributions, in_order, partial
from .registers import make_room

_INDEX = IndexType()
_COPIED = (LoadOp, StoreOp, AllocOp, PrefetchOp, CheckOp, IfOp, WhileOp, YieldOp)


def obstacle(loop: ForOp) -> str | None:
    """The op of a loop that has no vector form, or None."""
    varying = varying_values(loop)
    for op in walk(loop.body.block):
        if any([type(value._type) is VectorType for value in (*op._operands, *op.results)]):
            return "the loop holds vectors already"
        if isinstance(op, ForOp):
            if op.kind.data == "vector":
                return "a loop inside is vectorized already"
            if op.kind.data == "unroll" and has_own_bounds(op, varying):
                return "an unrolled loop inside has bounds that depend on it"
        elif isinstance(op, AllocOp):
            if any(size in varying for size in op.sizes):
                return f"the size of {buffer_name(op.buffer)} depends on it"
        elif not isinstance(op, _COPIED) and not is_lanewise(op):
            return f"'{op.name}' has no vector form"
    return None


def is_lanewise(op: Operation) -> bool:
    """Whether a scalar op means the same, lane by lane, on vectors."""
    return is_arithmetic(op) and not op.regions


def widen(loop: ForOp, lanes: int, tail: Tail = "masked", *, ordered: bool = False) -> list[ForOp]:
    """Replace a loop without obstacles; returns the loop on full vectors and the remainder loop, if needed.

    Args:
        ordered: whether a reduction keeps its order, of single values: it then carries scalars.
    """
    block = loop.parent_block()
    assert block is not None
    top, after, loops, masks = Block(), Block(), list[ForOp](), list[SSAValue | None]()
    reducing = loop.monoid is not None
    values: Sequence[SSAValue] = [] if not reducing else loop.inits if ordered else partial(loop, lanes, top)
    plan = parts(loop, lanes, tail)
    rest = next((part for part in plan if part.lanes == "scalar"), None)
    for part in plan:
        if part is rest:
            continue
        new, mask = _widened(loop, part, lanes, top, values, ordered)
        loops.append(new)
        masks.append(mask)
        values = list(new.results)
    if reducing and loops and not ordered:
        values = combined(loop, values, after)
    for new in loops:
        sweep(new.body.block)
    sweep(top)
    _place(top, loop)
    for new in loops:
        block.insert_op_before(new, loop)
    for new, mask in zip(loops, masks, strict=True):
        make_room(new, mask)
    for op in list(after.ops):
        op.detach()
        block.insert_op_before(op, loop)
    if rest is not None:
        _continue(loop, rest, values if loops else loop.inits)
        return [*loops, loop]
    for old, new in zip(loop.results, values, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    loop.detach()
    loop.erase(safe_erase=False)
    return loops


def _widened(
    loop: ForOp, part: Part, lanes: int, top: Block, values: Sequence[SSAValue], ordered: bool
) -> tuple[ForOp, SSAValue | None]:
    """One detached vector loop, and its mask."""
    monoid = loop.monoid.data if loop.monoid is not None else None
    carried = [value.type for value in values] if ordered else []
    body = Block(arg_types=[_INDEX, *carried])
    for new_argument, argument in zip(body.args, loop.body.block.args, strict=False):
        new_argument.name_hint = argument.name_hint
    mask = _mask(loop, part, lanes, body, top)
    copy = Body(loop, lanes, body, top, mask)
    copy.copy(loop.body.block, body)
    results = [copy.vector(value, body) for value in yielded(loop.body.block)]
    if mask is not None and monoid is not None:
        results = contributions(results, monoid, mask, body, top)
    if ordered and monoid is not None:
        results = in_order(results, monoid, body.args[1:], body)
        monoid = None
    body.add_op(YieldOp.create(operands=results))
    new = ForOp.build_loop(
        part.lower,
        part.upper,
        step=loop.step.value.data * lanes,
        kind="reduce" if monoid is not None else "seq" if ordered else "vector",
        monoid=monoid,
        inits=values,
        body=body,
    )
    new.location = loop.location
    new.attributes.update(loop.attributes)
    return new, mask


def _mask(loop: ForOp, part: Part, lanes: int, body: Block, top: Block) -> SSAValue | None:
    """The lanes that are on; None: all."""
    if part.lanes == "all":
        return None
    type = vector_type(i1, lanes)
    if isinstance(part.lanes, int):
        op: Operation = create(arith.ConstantOp, result_types=[type], properties={"value": _first_lanes(part.lanes, lanes)})
        top.add_op(op)
    else:
        outside, inside, step = IndexArith(top, top), IndexArith(body, top), loop.step.value.data
        upper = outside.extreme("min", [outside.value(e, loop.upper_operands) for e in loop.upper.data.results])
        left = inside.sub(upper, body.args[0])
        if step != 1:
            left = inside.floordiv(inside.add(left, step - 1), step)
        assert not isinstance(left, int)
        op = vector.CreateMaskOp([left], type)
        body.add_op(op)
    mask = op.results[0]
    mask.name_hint = "mask"
    return mask


@cache
def _first_lanes(count: int, lanes: int) -> DenseIntOrFPElementsAttr:
    bits = [int(k < count) for k in range(lanes)]
    # the overloads of xDSL's from_list name tensors alone; it takes vectors
    return DenseIntOrFPElementsAttr.from_list(vector_type(i1, lanes), bits)  # pyright: ignore[reportCallIssue, reportArgumentType]


def sweep(block: Block) -> None:
    """Remove unused arithmetic: scalars of values that became vectors, vectors of values that only index."""
    for op in reversed(list(ops_of(block))):
        for region in op.regions:
            for inner in region.blocks:
                sweep(inner)
        if not any([result.first_use for result in op.results]) and (is_arithmetic(op) or op.name.startswith("vector.")):
            op.detach()
            op.erase()


def _continue(loop: ForOp, rest: Part, inits: Sequence[SSAValue]) -> None:
    """Restrict a loop to the remaining iterations, from existing values."""
    (lower, low), (upper, high) = rest.lower, rest.upper
    loop.operands = [*low, *high, *inits]
    loop.properties.update(
        lower=AffineMapAttr(lower), upper=AffineMapAttr(upper), **segment_sizes(len(low), len(high), len(inits))
    )


def _place(top: Block, loop: ForOp) -> None:
    """Move ops before the loop; constants go to the top of the kernel, equal ones are merged."""
    block, home = loop.parent_block(), kernel_of(loop).body.block
    assert block is not None
    known: dict[Attribute, arith.ConstantOp] | None = None
    for op in list(top.ops):
        op.detach()
        if not isinstance(op, arith.ConstantOp):
            block.insert_op_before(op, loop)
            continue
        if known is None:
            known = {constant.value: constant for constant in ops_of(home) if isinstance(constant, arith.ConstantOp)}
        same = known.get(op.value)
        if same is not None:
            op.results[0].replace_all_uses_with(same.results[0])
            op.erase()
            op = same
            op.detach()  # it may stand after the loop
        known[op.value] = op
        first = home.first_op
        if first is None:
            home.add_op(op)
        else:
            home.insert_op_before(op, first)
