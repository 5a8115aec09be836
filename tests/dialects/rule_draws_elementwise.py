"""Draws of the rules in `dialects/graph/rules_elementwise.py`: what they match, and what is close to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from lamina.dialects.types import bf16, f16, f32, f64, i1, i32, i64, is_bool, is_float, is_unsigned, numpy_dtype, tensor
from sketches import ANY, FLOATS, INTEGERS, NUMBERS, STORED, Sketch, element_of, shape_of, ui8, wrapped
from xdsl.ir import Block, SSAValue

Drawn = tuple[SSAValue, "bool | None"]
"""The root of a pattern, and whether the rule fires on it; None where the draw does not say."""
Draw = Callable[[Sketch, str], Drawn]

DOMAINS: dict[str, Sequence[Any]] = {
    **dict.fromkeys(("neg", "abs", "sign", "add", "sub", "mul", "div", "rem"), NUMBERS),
    **dict.fromkeys(("not", "and", "or", "xor"), INTEGERS),
    **dict.fromkeys(("popcount", "clz", "shl", "shr"), tuple(e for e in INTEGERS if not is_bool(e))),
    **dict.fromkeys(("max", "min", "cmp", "select", "convert"), ANY),
}
"""Element types of elementwise ops; of those that are not here floats."""
BINARY = ("add", "sub", "mul", "div", "rem", "pow", "atan2", "max", "min", "and", "or", "xor", "shl", "shr", "cmp")
PREDICATES = ("eq", "ne", "lt", "le", "gt", "ge")


def arity(root: str) -> int:
    return 3 if root == "select" else 2 if root in BINARY else 1


def elements(d: Sketch, root: str) -> list[Any]:
    """Element types of the operands of an op."""
    element = d.one(DOMAINS.get(root, FLOATS))
    return [i1, element, element] if root == "select" else [element] * arity(root)


def build(d: Sketch, root: str, operands: Sequence[SSAValue], target: Any = None) -> SSAValue:
    """An elementwise op; conversions go to `target`."""
    if root == "cmp":
        return d.b.cmp(*operands, predicate=d.one(PREDICATES))
    if root == "convert":
        x = operands[0]
        target = target or d.one([e for e in ANY if e != element_of(x)])
        return d.b.convert(x, target)
    return getattr(d.b, root + "_")(*operands)


def values(element: Any) -> list[Any]:
    """Numbers that constants are made of."""
    if is_bool(element):
        return [False, True]
    return [0, 1, -1, 2, 3, 5] if not is_float(element) else [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, math.inf, -3.0]


# Known numbers


def fold_splats(d: Sketch, root: str) -> Drawn:
    shape, kinds = d.shape(), elements(d, root)
    known = [d.rarely(0.85) for _ in kinds]
    operands = [d.number(d.one(values(e)), shape, e) if k else d.arg(shape, e) for e, k in zip(kinds, known, strict=True)]
    if root == "convert" and d.rarely(0.4):
        return d.b.convert(d.number(2.0, shape, f32), d.one(STORED)), False
    return build(d, root, operands), all(known)


def fold_constants(d: Sketch, root: str) -> Drawn:
    large = d.rarely(0.15)
    shape = d.one(((1025,), (5, 205), (1024,))) if large else d.shape()
    fits = math.prod(shape) <= 1024

    def const(shape: Sequence[int], element: Any) -> SSAValue:
        rng = np.random.default_rng(d.random.randrange(1 << 30))
        return d.b.const(np.asarray(rng.integers(0, 4, shape)).astype(numpy_dtype(element)))

    element = d.one(NUMBERS)
    if root == "convert" and d.rarely(0.4):  # to a type that is stored only
        return d.b.convert(const(shape, f32), d.one(STORED)), False
    if root in SHAPED:
        known = not d.rarely(0.15)
        x = const(shape, element) if known else d.arg(shape, element)
        y = SHAPED[root](d, x, const)
        return y, None if large and root == "dot" else known and fits and math.prod(shape_of(y)) <= 1024
    kinds = elements(d, root)
    known = [not d.rarely(0.1) for _ in kinds]
    operands = [const(shape, e) if k else d.arg(shape, e) for e, k in zip(kinds, known, strict=True)]
    return build(d, root, operands), all(known) and fits


def _pad(d: Sketch, x: SSAValue, const: Any) -> SSAValue:
    n = len(shape_of(x))
    low, high, interior = ([d.one((0, 1)) for _ in range(n)] for _ in range(3))
    if n and d.rarely():
        high[0] = d.one((1023, 1024, 1025)) - low[0]  # the result is larger than what folds
    return d.b.pad(x, const((), element_of(x)), low=low, high=high, interior=interior)


def _dot(d: Sketch, x: SSAValue, const: Any) -> SSAValue:
    shape = shape_of(x)
    over = d.some(range(len(shape)))
    y = const((*(shape[k] for k in over), 2), element_of(x))
    return d.b.dot(x, y, lhs_contract=over, rhs_contract=tuple(range(len(over))))


SHAPED: dict[str, Callable[[Sketch, SSAValue, Any], SSAValue]] = {
    "reshape": lambda d, x, const: d.b.reshape(x, d.regrouped(shape_of(x))),
    "transpose": lambda d, x, const: d.b.transpose(x, perm=d.perm(len(shape_of(x)))),
    "slice": lambda d, x, const: d.b.slice(x, **d.sliced(shape_of(x))),
    "reverse": lambda d, x, const: d.b.reverse(x, dims=d.some(range(len(shape_of(x))))),
    "concat": lambda d, x, const: d.b.concat(x, x, dim=0) if shape_of(x) else d.b.reverse(x, dims=()),
    "pad": _pad,
    "reduce": lambda d, x, const: d.b.reduce(x, kind="add", dims=d.some(range(len(shape_of(x))))),
    "dot": _dot,
}


# Fewer elements


def elementwise_of_broadcasts(d: Sketch, root: str) -> Drawn:
    small, dims, shape = d.stretched()
    operands, fires, like = [], True, False
    for element in elements(d, root):
        if d.rarely(0.3):
            plain = not d.rarely()
            operands.append(d.number(d.one(values(element)), shape, element, plain=True))
            if not plain and shape:  # known, but no broadcast
                operands[-1] = d.b.reshape(d.b.reshape(operands[-1], (math.prod(shape),)), shape)
                fires = False
            elif not shape and operands[-1].owner.name != "graph.broadcast":
                fires = False
        elif d.rarely(0.15):
            operands.append(d.arg(shape, element))
            fires = False
        else:
            mine, at = small, dims
            if like and d.rarely(0.4):  # the same shape at other dims, or another shape at the same dims
                others = [o for o in _places(small, shape) if o != tuple(dims)]
                if others and d.rarely(0.6):
                    at, fires = list(d.one(others)), False
                elif any(n == 1 or shape[at[k]] != 1 for k, n in enumerate(small)):
                    mine = tuple(1 if d.rarely(0.5) else shape[at[k]] for k in range(len(small)))
                    fires = fires and mine == small
            like = True
            operands.append(d.b.broadcast(d.arg(mine, element), at, shape))
    return build(d, root, operands), fires and like


def _places(small: Sequence[int], shape: Sequence[int]) -> list[tuple[int, ...]]:
    """All dims that a small shape may be broadcast to."""
    from itertools import combinations

    return [
        at
        for at in combinations(range(len(shape)), len(small))
        if all(n in (1, shape[p]) for n, p in zip(small, at, strict=True))
    ]


def elementwise_of_transposes(d: Sketch, root: str) -> Drawn:
    shape = d.shape(sizes=(0, 1, 2, 2, 3, 3))
    perm = d.perm(len(shape))
    operands, fires, like = [], True, False
    for element in elements(d, root):
        if d.rarely(0.15):
            operands.append(d.number(d.one(values(element)), [shape[p] for p in perm], element))
        elif d.rarely(0.1):
            operands.append(d.arg([shape[p] for p in perm], element))
            fires = False
        else:
            mine = perm
            if like and d.rarely(0.3):
                mine = d.perm(len(shape))
                fires = fires and mine == perm
            back = [0] * len(shape)
            for k, p in enumerate(mine):
                back[p] = k
            operands.append(d.b.transpose(d.arg([shape[perm[k]] for k in back], element), perm=mine))
            like = True
            if d.rarely(0.12):
                d.also(operands[-1])
                fires = fires and arity(root) == 1
    return build(d, root, operands), fires and like


# Signs


def _signed(op: str, names: Sequence[str], kinds: Sequence[Any] = NUMBERS) -> Draw:
    """op(f(x)), f one of `names`, or another op that the rule leaves alone."""

    def draw(d: Sketch, root: str) -> Drawn:
        x = d.arg(d.shape(), d.one(kinds))
        inner = d.one((*names, *names, "sign"))
        return getattr(d.b, op)(getattr(d.b, inner)(x)), inner in names or (op == "abs" and is_unsigned(element_of(x)))

    return draw


def _scaled(d: Sketch, x: SSAValue, known: bool) -> list[SSAValue]:
    """A value and a known number, in any order."""
    element = element_of(x)
    other = d.number(d.one(values(element)), shape_of(x), element) if known else d.arg(shape_of(x), element)
    pair = [x, other]
    d.random.shuffle(pair)
    return pair


def neg_of_scaled(d: Sketch, root: str) -> Drawn:
    x = d.arg(d.shape(), d.one((*FLOATS, *FLOATS, i32)))
    known, used = d.rarely(0.8), d.rarely(0.2)
    y = d.b.mul(*_scaled(d, x, known))
    if used:
        d.also(y)
    return d.b.neg(y), known and not used and is_float(element_of(x))


def mul_of_neg_by_number(d: Sketch, root: str) -> Drawn:
    x, known, negated = d.arg(d.shape(), d.one((*FLOATS, *FLOATS, i64))), d.rarely(0.8), d.rarely(0.8)
    y = d.b.neg(x) if negated else d.b.abs(x)
    return d.b.mul(*_scaled(d, y, known)), known and negated and is_float(element_of(x))


def _of_negs(op: str, both: bool, floats: bool) -> Draw:
    """op(neg(x), neg(y)); unless `both`, one negated operand is enough if nothing else needs it."""

    def draw(d: Sketch, root: str) -> Drawn:
        shape, element = d.shape(), d.one(NUMBERS)
        operands, movable = [], []
        for _ in range(2):
            x = d.arg(shape, element)
            negated, used = d.rarely(0.65), not both and d.rarely(0.3)
            operands.append(d.b.neg(x) if negated else d.b.abs(x) if d.rarely(0.3) else x)
            movable.append(negated and not used)
            if used:
                d.also(operands[-1])
        matches = all(movable) if both else any(movable)
        return getattr(d.b, op)(*operands), matches and (is_float(element) or not floats)

    return draw


def add_of_neg(d: Sketch, root: str) -> Drawn:
    shape, element = d.shape(), d.one(NUMBERS)
    operands = [d.arg(shape, element) for _ in range(2)]
    negated = [d.rarely(0.5) for _ in range(2)]
    operands = [d.b.neg(x) if n else x for x, n in zip(operands, negated, strict=True)]
    op = d.b.add if root == "add" else d.b.sub
    return op(*operands), any(negated) if root == "add" else negated[1]


# Identities with a known number


def _known(kinds: Sequence[Any], numbers: Sequence[Any], fires: Callable[[Any, Any, int], bool]) -> Draw:
    """op(x, c) or op(c, x); `fires(element, c, side of the number)`."""

    def draw(d: Sketch, root: str) -> Drawn:
        element, shape = d.one(kinds), d.shape()
        offered = [*numbers, _least(element), _greatest(element)]
        offered = [wrapped(n, element) for n in offered if is_float(element) or n in offered[-2:] or abs(n) < 2**31]
        pairs = [(n, side) for n in offered for side in (0, 1)]
        hits = [pair for pair in pairs if fires(element, *pair)]
        number, side = d.one(hits if hits and d.rarely(0.6) else pairs)
        x, c = d.arg(shape, element), d.number(number, shape, element)
        operands = [c, x] if side == 0 else [x, c]
        return getattr(d.b, root + "_")(*operands), fires(element, number, side)

    return draw


def _least(element: Any) -> Any:
    if is_float(element):
        return -math.inf
    return 0 if is_bool(element) else int(np.iinfo(numpy_dtype(element)).min)


def _greatest(element: Any) -> Any:
    if is_float(element):
        return math.inf
    return 1 if is_bool(element) else int(np.iinfo(numpy_dtype(element)).max)


def _is(number: Any, wanted: Any) -> bool:
    """Equal, and of one sign also where both are zero."""
    return number == wanted and math.copysign(1, number) == math.copysign(1, wanted)


def _zero(element: Any) -> float | int:
    return -0.0 if is_float(element) else 0


def _ones(element: Any) -> int:
    return 1 if is_bool(element) else -1


NEAR = (0, -0.0, 1, -1, 2, 3)
POWERS = (4.0, 0.5, -2.0, 1.0, 3.0, 0.75, 0.0, -0.0, 2.0**99, 2.0**100, -(2.0**-101), 2.0**-102, math.nan, 6.0)


def _is_power(n: float) -> bool:
    return math.isfinite(n) and n != 0 and abs(math.frexp(n)[0]) == 0.5 and -101 <= math.frexp(n)[1] - 1 <= 99


def _itself(kinds: Sequence[Any], fires: Callable[[Any], bool]) -> Draw:
    """op(x, x), or of two values."""

    def draw(d: Sketch, root: str) -> Drawn:
        shape, element = d.shape(), d.one(DOMAINS.get(root, kinds) if root in ("max", "min", "and", "or") else kinds)
        x = d.arg(shape, element)
        y = x if d.rarely(0.75) else d.arg(shape, element)
        return build(d, root, [x, y]), x is y and fires(element)

    return draw


# Bits, choices, conversions


def not_of_not(d: Sketch, root: str) -> Drawn:
    x = d.arg(d.shape(), d.one(INTEGERS))
    twice = d.rarely(0.75)
    return d.b.not_(d.b.not_(x) if twice else d.b.and_(x, x)), twice


def not_of_equality(d: Sketch, root: str) -> Drawn:
    shape, element = d.shape(), d.one(ANY)
    if d.rarely(0.1):
        return d.b.not_(d.b.and_(d.arg(shape, i1), d.arg(shape, i1))), False
    predicate = d.one((*PREDICATES, "eq", "ne", "eq", "ne"))
    y = d.b.cmp(d.arg(shape, element), d.arg(shape, element), predicate=predicate)
    return d.b.not_(y), predicate in ("eq", "ne")


def _select(d: Sketch) -> tuple[SSAValue, SSAValue, SSAValue]:
    shape, element = d.shape(), d.one(ANY)
    return d.arg(shape, i1), d.arg(shape, element), d.arg(shape, element)


def select_of_same(d: Sketch, root: str) -> Drawn:
    c, x, y = _select(d)
    same = d.rarely(0.75)
    return d.b.select(c, x, x if same else y), same


def select_of_known(d: Sketch, root: str) -> Drawn:
    c, x, y = _select(d)
    known = d.rarely(0.8)
    return d.b.select(d.number(d.rarely(0.5), shape_of(c), i1) if known else c, x, y), known


def select_of_truths(d: Sketch, root: str) -> Drawn:
    shape, element = d.shape(), d.one((i1, i1, i1, i32, f32))
    truths = [d.rarely(0.5) for _ in range(2)]
    choices = [d.number(t, shape, element) if not d.rarely(0.1) else d.arg(shape, element) for t in truths]
    known = all(c.owner is not d.block for c in choices)
    return d.b.select(d.arg(shape, i1), *choices), known and element == i1 and truths[0] != truths[1]


def select_of_not(d: Sketch, root: str) -> Drawn:
    c, x, y = _select(d)
    inverted = d.rarely(0.75)
    return d.b.select(d.b.not_(c) if inverted else c, x, y), inverted


def convert_to_same(d: Sketch, root: str) -> Drawn:
    x = d.arg(d.shape(), d.one((*ANY, *STORED)))
    other = d.rarely() and element_of(x) not in STORED
    target = tensor(f64 if element_of(x) != f64 else f32, shape_of(x)) if other else x.type
    from lamina.dialects.graph import OPS

    return d.b.insert(OPS["convert"].create(operands=[x], result_types=[target])), not other


HELD = {
    **{(i1, wide): True for wide in ANY},
    **dict.fromkeys([(i32, i64), (i32, f64), (f32, f64), (f16, f32), (bf16, f32)], True),
    **{(ui8, wide): True for wide in (i32, i64, f32, f64)},
}
"""Pairs of different types where the second holds all values of the first."""


def convert_and_back(d: Sketch, root: str) -> Drawn:
    narrow = d.one((*ANY, *STORED, i32, i64))
    wide = f32 if narrow in STORED else d.one([e for e in ANY if e != narrow])
    target = narrow if d.rarely(0.85) or narrow in STORED else d.one([e for e in ANY if e not in (narrow, wide)])
    x = d.arg(d.shape(), narrow)
    if d.rarely(0.1) and not is_bool(wide):
        return d.b.convert(d.b.abs(d.arg(d.shape(), wide)), target if target != wide else narrow), False
    return d.b.convert(d.b.convert(x, wide), target), target == narrow and (narrow, wide) in HELD


def convert_of_moved(d: Sketch, root: str) -> Drawn:
    narrow = d.one(STORED)
    x = d.arg(d.shape(1), narrow)
    wide = d.b.convert(x, f32)
    dims = range(len(shape_of(x)))
    move = d.one(("reverse", "transpose", "concat", "pad", "slice", "gather", "abs"))
    if move == "concat":
        other = d.b.full_like(wide, 2.0) if d.rarely(0.3) else d.arg(shape_of(x), f32) if d.rarely() else wide
        y, stems = d.b.concat(wide, other, dim=0), not isinstance(other.owner, Block)
    elif move == "pad":
        known = d.rarely(0.7)
        value = d.b.const(1.5, f32) if known else d.arg((), f32)
        amounts = [d.one((0, 1, 2)) for _ in dims]
        y, stems = d.b.pad(wide, value, low=amounts, high=amounts, interior=[0 for _ in dims]), known
    elif move == "gather":
        places = d.b.const(np.zeros(3, np.int32))
        y, stems = d.b.gather(wide, places, at=(0,)), True
    elif move == "abs":
        y, stems = d.b.abs(wide), False
    elif move == "transpose":
        y, stems = d.b.transpose(wide, perm=d.perm(len(dims))), True
    else:
        y, stems = d.b.reverse(wide, dims=d.some(dims)) if move == "reverse" else d.b.slice(wide, **d.sliced(shape_of(x))), True
    other_type = d.rarely(0.1)
    return d.b.convert(y, f64 if other_type else narrow), stems and not other_type


DRAWS: dict[str, Draw] = {
    "fold_splats": fold_splats,
    "fold_constants": fold_constants,
    "elementwise_of_broadcasts": elementwise_of_broadcasts,
    "elementwise_of_transposes": elementwise_of_transposes,
    "neg_of_neg": _signed("neg", ("neg",)),
    "neg_of_scaled": neg_of_scaled,
    "abs_of_signed": _signed("abs", ("neg", "abs")),
    "mul_of_negs": _of_negs("mul", both=True, floats=False),
    "div_of_negs": _of_negs("div", both=True, floats=True),
    "mul_of_neg_by_number": mul_of_neg_by_number,
    "mul_of_neg": _of_negs("mul", both=False, floats=False),
    "div_of_neg": _of_negs("div", both=False, floats=True),
    "add_of_neg": add_of_neg,
    "sub_of_neg": add_of_neg,
    "mul_by_one": _known(NUMBERS, NEAR, lambda e, n, side: n == 1),
    "mul_by_minus_one": _known(NUMBERS, NEAR, lambda e, n, side: n == -1),
    "mul_by_zero": _known(NUMBERS, NEAR, lambda e, n, side: n == 0 and not is_float(e)),
    "div_by_one": _known(NUMBERS, NEAR, lambda e, n, side: n == 1 and side == 1),
    "div_by_power_of_two": _known((*FLOATS, f32, i32), POWERS, lambda e, n, side: is_float(e) and side == 1 and _is_power(n)),
    "add_of_zero": _known(NUMBERS, NEAR, lambda e, n, side: _is(n, _zero(e))),
    "sub_of_zero": _known(NUMBERS, NEAR, lambda e, n, side: _is(n, 0) and side == 1),
    "sub_from_zero": _known(NUMBERS, NEAR, lambda e, n, side: _is(n, _zero(e)) and side == 0),
    "sub_of_itself": _itself(NUMBERS, lambda e: not is_float(e)),
    "max_of_least": _known(ANY, (0, 1), lambda e, n, side: n == _least(e)),
    "min_of_greatest": _known(ANY, (0, 1), lambda e, n, side: n == _greatest(e)),
    "pow_one": _known(FLOATS, NEAR, lambda e, n, side: n == 1 and side == 1),
    "pow_zero": _known(FLOATS, NEAR, lambda e, n, side: n == 0 and side == 1),
    "pow_two": _known(FLOATS, NEAR, lambda e, n, side: n == 2 and side == 1),
    "pow_three": _known(FLOATS, NEAR, lambda e, n, side: n == 3 and side == 1),
    "pow_minus_one": _known(FLOATS, NEAR, lambda e, n, side: n == -1 and side == 1),
    "choice_of_itself": _itself(ANY, lambda e: True),
    "and_of_ones": _known(INTEGERS, NEAR, lambda e, n, side: wrapped(n, e) == wrapped(_ones(e), e)),
    "and_of_zero": _known(INTEGERS, NEAR, lambda e, n, side: n == 0),
    "or_of_zero": _known(INTEGERS, NEAR, lambda e, n, side: n == 0),
    "or_of_ones": _known(INTEGERS, NEAR, lambda e, n, side: wrapped(n, e) == wrapped(_ones(e), e)),
    "xor_of_ones": _known(INTEGERS, NEAR, lambda e, n, side: wrapped(n, e) == wrapped(_ones(e), e)),
    "xor_of_itself": _itself(INTEGERS, lambda e: True),
    "cmp_of_itself": _itself(ANY, lambda e: not is_float(e)),
    "not_of_not": not_of_not,
    "not_of_equality": not_of_equality,
    "select_of_same": select_of_same,
    "select_of_known": select_of_known,
    "select_of_truths": select_of_truths,
    "select_of_not": select_of_not,
    "convert_to_same": convert_to_same,
    "convert_and_back": convert_and_back,
    "convert_of_moved": convert_of_moved,
}
