"""Reductions on vectors: initial values of partial results, contributions of lanes that are off, combination of lanes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Block, SSAValue

from ...dialects.loop.gather import GatherOp
from ...dialects.loop.loops import PAIR_MONOIDS, ForOp
from ...dialects.loop.memory import LoadOp, ReduceLanesOp
from ...dialects.operations import create
from ...dialects.scalar import ScalarBuilder, identity_value
from ...dialects.types import is_bool, is_float, scalar_of, shape_of
from ...dialects.types import vector as vector_type
from ...dialects.vocabulary import number_of


def identity(monoid: str, position: int, element: Attribute) -> float | int:
    """The initial value of a reduction: for a (value, index) pair, the neutral value at index 0."""
    if monoid in PAIR_MONOIDS:
        return 0 if position % 2 else identity_value(monoid.removeprefix("arg"), element)
    return identity_value(monoid, element)


def nothing(monoid: str, position: int, element: Attribute) -> float | int:
    """The contribution of a lane that is off: it changes no result, not even the sign of a zero."""
    if monoid == "add" and is_float(element):
        return -0.0
    if monoid in PAIR_MONOIDS and position % 2:  # of equal values that of the smallest index stays
        return identity_value("min", element)
    return identity(monoid, position, element)


def starts_neutral(loop: ForOp) -> bool:
    """Whether a reduction starts from the neutral element."""
    assert loop.monoid is not None
    for k, init in enumerate(loop.inits):
        if (number := number_of(init)) is None:
            return False
        neutral = identity(loop.monoid.data, k, init.type)
        if is_bool(init.type):
            number, neutral = bool(number), bool(neutral)
        if number != neutral:
            return False
    return True


def partial(loop: ForOp, lanes: int, top: Block) -> list[SSAValue]:
    """The initial vectors of partial results."""
    assert loop.monoid is not None
    builder, monoid = ScalarBuilder(top, loop.location), loop.monoid.data
    if monoid in PAIR_MONOIDS and not starts_neutral(loop):  # a pair combined with itself is unchanged
        types = [vector_type(init.type, lanes) for init in loop.inits]
        return [
            builder.insert(create(vector.BroadcastOp, operands=[init], result_types=[type]))
            for init, type in zip(loop.inits, types, strict=True)
        ]
    return [builder.const(identity(monoid, k, init.type), vector_type(init.type, lanes)) for k, init in enumerate(loop.inits)]


def combined(loop: ForOp, vectors: Sequence[SSAValue], block: Block) -> list[SSAValue]:
    """The lanes of partial results combined, then with the initial value; the ops are appended to a block."""
    assert loop.monoid is not None
    monoid, builder = loop.monoid.data, ScalarBuilder(block, loop.location)
    found: list[SSAValue] = []
    together = 2 if monoid in PAIR_MONOIDS else 1
    for k in range(0, len(vectors), together):
        found += reduce_lanes(builder, monoid, vectors[k : k + together])
    if starts_neutral(loop) or monoid in PAIR_MONOIDS:
        return found
    return [builder.combine(monoid, init, x) for init, x in zip(loop.inits, found, strict=True)]


def reduce_lanes(builder: ScalarBuilder, monoid: str, vectors: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """One `loop.reduce_lanes` of a vector or a pair of vectors."""
    types = [scalar_of(v.type) for v in vectors]
    properties: dict[str, Attribute] = {"monoid": StringAttr(monoid)}
    op = ReduceLanesOp.create(operands=vectors, result_types=types, properties=properties)
    builder.insert(op)
    return op.results


def in_order(vectors: Sequence[SSAValue], monoid: str, carried: Sequence[SSAValue], block: Block) -> list[SSAValue]:
    """The lanes of each vector combined with a carried value one after the other; a product is added unrounded."""
    builder, found = ScalarBuilder(block), []
    for vector_of_terms, value in zip(vectors, carried, strict=True):
        product = vector_of_terms.owner
        is_product = monoid == "add" and isinstance(product, arith.MulfOp) and not vector_of_terms.uses
        is_product = is_product and list(vectors).count(vector_of_terms) == 1
        for lane in range(shape_of(vector_of_terms)[0]):
            if is_product and isinstance(product, arith.MulfOp):
                x, y = (_lane(builder, factor, lane) for factor in product.operands)
                value = builder.insert(create(math.FmaOp, operands=[x, y, value], result_types=[value.type]))
            else:
                value = builder.combine(monoid, value, _lane(builder, vector_of_terms, lane))
        found.append(value)
    return found


def _lane(builder: ScalarBuilder, value: SSAValue, lane: int) -> SSAValue:
    return builder.insert(vector.ExtractOp(value, [lane], scalar_of(value.type)))


def contributions(values: Sequence[SSAValue], monoid: str, mask: SSAValue, block: Block, constants: Block) -> list[SSAValue]:
    """Neutral contributions in the lanes that are off."""
    builder, numbers, found = ScalarBuilder(block), ScalarBuilder(constants), []
    for k, value in enumerate(values):
        product = value.owner
        if monoid == "add" and isinstance(product, arith.MulfOp) and not value.uses and list(values).count(value) == 1:
            # stays a product, which a sum adds unrounded where the target can: -0.0 = 0.0 * -0.0
            x, y = product.operands
            if not (isinstance(x.owner, LoadOp | GatherOp) and x.owner.mask is mask):
                x = builder.select(mask, x, numbers.const(0.0, x.type))
            y = builder.select(mask, y, numbers.const(-0.0, y.type))
            found.append(builder.mul(x, y))
            product.detach()
            product.erase()
            continue
        off = numbers.const(nothing(monoid, k, scalar_of(value.type)), value.type)
        found.append(builder.select(mask, value, off))
    return found
