"""Draws of the rules in `dialects/graph/rules_contract.py`: reductions, contractions, convolutions and attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from lamina.dialects.types import f32, f64, i1, i32, is_bool, is_float
from rule_draws_elementwise import Draw, Drawn, values
from sketches import ANY, FLOATS, NUMBERS, Sketch, element_of, shape_of
from xdsl.ir import SSAValue

SMALL = (0, 1, 1, 2, 2, 3)


def kind_of(d: Sketch, element: Any) -> str:
    """A kind of reduction that an element type has."""
    if is_float(element):
        return d.one(("add", "add", "mul", "max", "min"))
    return d.one(("max", "min", "and", "or") if is_bool(element) else ("add", "add", "mul", "max", "min", "and", "or"))


def _some(d: Sketch, x: SSAValue) -> list[int]:
    dims = d.some(range(len(shape_of(x))))
    d.random.shuffle(dims)
    return dims


def reduce_over_nothing(d: Sketch, root: str) -> Drawn:
    x = d.arg(d.shape(sizes=SMALL), d.one(ANY))
    dims = [] if d.rarely(0.6) else _some(d, x)
    return d.b.reduce(x, kind=kind_of(d, element_of(x)), dims=dims), not dims


def reduce_of_unit_dims(d: Sketch, root: str) -> Drawn:
    x = d.arg(d.shape(sizes=(0, 1, 1, 1, 2)), d.one(ANY))
    dims = _some(d, x)
    return d.b.reduce(x, kind=kind_of(d, element_of(x)), dims=dims), bool(dims) and all(shape_of(x)[k] == 1 for k in dims)


def reduce_of_reduce(d: Sketch, root: str) -> Drawn:
    x = d.arg(d.shape(0, 4, SMALL), d.one(ANY))
    kind, twice, used = kind_of(d, element_of(x)), not d.rarely(0.15), d.rarely(0.15)
    y = d.b.reduce(x, kind=kind, dims=_some(d, x)) if twice else x
    if used:
        d.also(y)
    other = kind_of(d, element_of(x)) if d.rarely(0.3) else kind
    return d.b.reduce(y, kind=other, dims=_some(d, y)), twice and not used and kind == other


def reduce_of_transpose(d: Sketch, root: str) -> Drawn:
    x = d.arg(d.shape(0, 4, SMALL), d.one(ANY))
    rank, moved = len(shape_of(x)), not d.rarely(0.1)
    perm = d.perm(rank)
    y = d.b.transpose(x, perm=perm) if moved else x
    dims = _some(d, y)
    kept = [perm[k] for k in range(rank) if k not in dims]
    return d.b.reduce(y, kind=kind_of(d, element_of(x)), dims=dims), moved and kept == sorted(kept)


def _of_repeated(sums: bool) -> Draw:
    def draw(d: Sketch, root: str) -> Drawn:
        small, dims, shape = d.stretched(SMALL if d.rarely(0.15) else (1, 2, 2, 3, 3, 4), 4)
        others = [k for k in range(len(shape)) if k not in dims]
        if others and d.rarely(0.2):  # repeated no times
            empty = d.one(others)
            shape = (*shape[:empty], 0, *shape[empty + 1 :])
        x = d.arg(small, d.one(ANY if not sums else (*NUMBERS, *NUMBERS, i1)))
        spread = not d.rarely(0.1)
        y = d.b.broadcast(x, dims, shape) if spread else d.arg(shape, element_of(x))
        over = _some(d, y) or _some(d, y)
        kind = "add" if sums and not is_bool(element_of(x)) and d.rarely(0.6) else kind_of(d, element_of(x))
        if not sums and kind in ("add", "mul") and d.rarely(0.4):
            kind = "min"
        real = [p for k, p in enumerate(dims) if small[k] == shape[p]]
        matches = spread and any(p not in real for p in over) and all(shape[p] for p in over if p not in real)
        return d.b.reduce(y, kind=kind, dims=over), matches and (kind == "add" if sums else kind not in ("add", "mul"))

    return draw


def sum_of_neg(d: Sketch, root: str) -> Drawn:
    x = d.arg(d.shape(sizes=SMALL), d.one(NUMBERS))
    negated, used, kind = d.rarely(0.8), d.rarely(0.2), kind_of(d, element_of(x))
    y = d.b.neg(x) if negated else d.b.abs(x)
    if used:
        d.also(y)
    return d.b.reduce(y, kind=kind, dims=_some(d, y)), negated and not used and kind == "add"


# dot


class Product:
    """Dims of a random contraction: shapes of both sides, and which dims are batch and contracted."""

    def __init__(self, d: Sketch, batch: int = 2, contract: int = 2, free: int = 2, sizes: Sequence[int] = SMALL):
        draw = d.random.randint
        groups = {"batch": draw(0, batch), "contract": draw(0, contract)}
        shared = {name: [d.one(sizes) for _ in range(n)] for name, n in groups.items()}
        self.shapes: list[tuple[int, ...]] = []
        self.props: dict[str, list[int]] = {}
        for side in ("lhs", "rhs"):
            roles = [("batch", k) for k in range(groups["batch"])] + [("contract", k) for k in range(groups["contract"])]
            roles += [("free", k) for k in range(draw(0, free))]
            d.random.shuffle(roles)
            self.shapes.append(tuple(d.one(sizes) if name == "free" else shared[name][k] for name, k in roles))
            for name, n in groups.items():
                self.props[f"{side}_{name}"] = [roles.index((name, k)) for k in range(n)]
        self.free = [
            [k for k in range(len(shape)) if k not in (*self.props[f"{side}_batch"], *self.props[f"{side}_contract"])]
            for side, shape in zip(("lhs", "rhs"), self.shapes, strict=True)
        ]

    @property
    def ranks(self) -> tuple[int, int, int]:
        """How many dims of the result are batch dims, free dims of lhs, and free dims of rhs."""
        return len(self.props["lhs_batch"]), len(self.free[0]), len(self.free[1])


def dot_of_transpose(d: Sketch, root: str) -> Drawn:
    p, element = Product(d), d.one((f32, f32, f64, i32))
    operands, fires = [], False
    for shape, free in zip(p.shapes, p.free, strict=True):
        if d.rarely(0.35):
            operands.append(d.arg(shape, element))
            continue
        perm = d.perm(len(shape))
        back = [perm.index(k) for k in range(len(shape))]
        operands.append(d.b.transpose(d.arg([shape[k] for k in back], element), perm=perm))
        fires = fires or [perm[k] for k in free] == sorted(perm[k] for k in free)
    return d.b.dot(*operands, **p.props), fires


def transpose_of_dot(d: Sketch, root: str) -> Drawn:
    p, element = Product(d), d.one((f32, f32, f64, i32))
    dotted, used = not d.rarely(0.1), d.rarely(0.15)
    n, m, k = p.ranks
    y = d.b.dot(*(d.arg(s, element) for s in p.shapes), **p.props) if dotted else d.arg((2,) * (n + m + k), element)
    if used:
        d.also(y)
    swapped = (*range(n), *range(n + m, n + m + k), *range(n, n + m))
    perm = swapped if d.rarely(0.7) else d.perm(n + m + k)
    return d.b.transpose(y, perm=perm), dotted and not used and perm == swapped


def dot_of_neg(d: Sketch, root: str) -> Drawn:
    p, element = Product(d, batch=1, contract=1, sizes=(0, 1, 2, 3)), d.one(NUMBERS)
    operands, alone = [], []
    for shape in p.shapes:
        x, negated, used = d.arg(shape, element), d.rarely(0.6), d.rarely(0.2)
        operands.append(d.b.neg(x) if negated else x)
        if negated:
            alone.append((not used, shape))
        if used:
            d.also(operands[-1])
    y = d.b.dot(*operands, **p.props)
    if len(alone) == 1:
        return y, alone[0][0] and math.prod(shape_of(y)) <= math.prod(alone[0][1])
    return y, len(alone) == 2


def dot_with_ones(d: Sketch, root: str) -> Drawn:
    p, element = Product(d, batch=d.one((0, 0, 0, 1))), d.one(NUMBERS)
    side = d.one((0, 1))
    if d.rarely(0.8):  # no free dims on one side
        p.shapes[side] = tuple(n for k, n in enumerate(p.shapes[side]) if k not in p.free[side])
        for name in ("batch", "contract"):
            key = f"{('lhs', 'rhs')[side]}_{name}"
            p.props[key] = [k - sum(f < k for f in p.free[side]) for k in p.props[key]]
        p.free[side] = []
    number = 1 if d.rarely(0.8) else d.one(values(element))
    operands = [d.number(number, s, element) if k == side else d.arg(s, element) for k, s in enumerate(p.shapes)]
    if d.rarely(0.1):
        operands[side] = d.arg(p.shapes[side], element)
    ones = operands[side].owner is not d.block and number == 1
    return d.b.dot(*operands, **p.props), ones and not p.props["lhs_batch"] and not p.free[side]


# convolution, attention


def conv_of_points(d: Sketch, root: str) -> Drawn:
    spatial = d.one((1, 2))
    rank, element = spatial + 2, d.one(FLOATS)
    odd = d.one((None,) * 5 + ("stride", "low", "high", "base_dilation", "window", "groups", "order"))
    batch, depth, features = d.one((1, 1, 2)), d.one((1, 2, 3)), d.one((1, 2, 4))
    groups = 2 if odd == "groups" else 1
    window = [2 if odd == "window" and k == 0 else 1 for k in range(spatial)]
    sizes = {
        "x": [batch, depth * groups, *(d.one((1, 2, 3)) for _ in range(spatial))],
        "w": [features * groups, depth, *window],
    }
    last = (0, rank - 1, *range(1, rank - 1))
    x_dims = last if d.rarely(0.5) else tuple(range(rank))
    y_dims = x_dims if odd != "order" else d.one((last, tuple(range(rank)), (0, 2, 1, *range(3, rank))))
    w_dims = d.perm(rank)
    props: dict[str, Any] = {name: [1] * spatial for name in ("stride", "base_dilation", "dilation")}
    props |= {name: [0] * spatial for name in ("low", "high")}
    if odd in props:
        props[odd][d.random.randrange(spatial)] += 1
    if d.rarely(0.3):
        props["dilation"] = [2] * spatial  # of no meaning to windows of one element
    x = d.arg([sizes["x"][x_dims.index(k)] for k in range(rank)], element)
    w = d.arg([sizes["w"][w_dims.index(k)] for k in range(rank)], element)
    y = d.b.conv(x, w, groups=groups, x_dims=x_dims, w_dims=w_dims, y_dims=y_dims, **props)
    order = tuple(range(rank))
    ordered = x_dims == y_dims and (x_dims == last or (x_dims == order and batch == 1))
    return y, odd not in ("stride", "low", "high", "base_dilation", "window", "groups") and ordered


def conv_of_patches(d: Sketch, root: str) -> Drawn:
    spatial = d.one((1, 2, 2))
    rank, element = spatial + 2, d.one(FLOATS)
    odd = d.one((None,) * 5 + ("stride", "low", "high", "base_dilation", "dilation", "groups", "last"))
    groups, batch, depth, features = 2 if odd == "groups" else 1, d.one((0, 1, 1, 2, 3)), d.one((1, 2)), d.one((1, 2, 30))
    window = [d.one((1, 2, 3)) for _ in range(spatial)]
    props: dict[str, Any] = {name: [1] * spatial for name in ("base_dilation", "dilation")}
    props |= {"low": [0] * spatial, "high": [d.one((0, 0, -1)) for _ in range(spatial)], "stride": list(window)}
    k = d.random.randrange(spatial)
    if odd == "high":
        props[odd][k] = 1
    elif odd in props:
        props[odd][k] += 1
    sizes = {
        "x": [batch, depth * groups, *(n * d.one((1, 2, 3)) + d.one((0, 1, 2)) for n in window)],
        "w": [features * groups, depth, *window],
    }
    x_dims, w_dims, y_dims = d.perm(rank), d.perm(rank), d.perm(rank)
    if (odd == "last") != (y_dims[1] == rank - 1):
        at = y_dims.index(rank - 1) if odd == "last" else (0 if y_dims[1] == rank - 1 else 1)
        y_dims = list(y_dims)
        y_dims[1], y_dims[at] = y_dims[at], y_dims[1]
    x = d.arg([sizes["x"][x_dims.index(k)] for k in range(rank)], element)
    w = d.arg([sizes["w"][w_dims.index(k)] for k in range(rank)], element)
    y = d.b.conv(x, w, groups=groups, x_dims=x_dims, w_dims=w_dims, y_dims=y_dims, **props)
    apart = odd not in ("stride", "low", "high", "base_dilation", "groups", "last") and max(window) > 1
    dense = all(n == 1 or by == 1 for n, by in zip(window, props["dilation"], strict=True))
    return y, apart and dense and 0 not in shape_of(y)


def attention_over_batch(d: Sketch, root: str) -> Drawn:
    outer = d.shape(1, 3, (1, 2, 2, 2, 2)) if d.rarely(0.85) else d.shape(1, 3, (0, 1))
    element = d.one(FLOATS)
    shared = outer if d.rarely(0.6) and outer[-1] else (*outer[:-1], 1)
    q, k, depth, width = (d.one((1, 2, 3)) for _ in range(4))
    operands = [d.arg((*outer, q, depth), element), d.arg((*shared, k, depth), element), d.arg((*shared, k, width), element)]
    fits = True
    if d.rarely(0.6):
        partly = tuple(d.one((1, n)) for n in outer)
        bias = d.one((outer, (1,) * len(outer), partly, partly))
        operands.append(d.arg((*bias, d.one((1, q)), d.one((1, k))), element if d.rarely(0.6) else i1))
        fits = math.prod(bias) in (1, math.prod(outer))

    y = d.b.attention(*operands, mask=d.one(("causal", "none")), scale=d.one((0.5, 1.0)))
    return y, len(outer) != 1 and fits and 0 not in outer


DRAWS: dict[str, Draw] = {
    "reduce_over_nothing": reduce_over_nothing,
    "reduce_of_unit_dims": reduce_of_unit_dims,
    "reduce_of_reduce": reduce_of_reduce,
    "reduce_of_transpose": reduce_of_transpose,
    "choose_from_repeated": _of_repeated(sums=False),
    "sum_of_repeated": _of_repeated(sums=True),
    "sum_of_neg": sum_of_neg,
    "dot_of_transpose": dot_of_transpose,
    "transpose_of_dot": transpose_of_dot,
    "dot_of_neg": dot_of_neg,
    "dot_with_ones": dot_with_ones,
    "conv_of_points": conv_of_points,
    "conv_of_patches": conv_of_patches,
    "attention_over_batch": attention_over_batch,
}
