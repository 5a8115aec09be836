"""Ops of random programs: each draws its operands among the values so far, and raises LookupError where none fits."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
from lamina.dialects.element_types import TABLE

STORED = tuple(row.dtype for row in TABLE if row.dtype.name.startswith(("float8", "int4", "uint4")))
"""What is only stored has no common dtype with most others: values are converted to it and back."""
DTYPES = tuple(row.dtype for row in TABLE if row.dtype not in STORED)
COMMON = (np.dtype(np.float32), np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int32))
MOST_CARRIED = 600
"""Elements of what a loop carries at most."""

Op = Callable[[random.Random, list[Any]], Any]


def is_float(x: Any) -> bool:
    return x.dtype.kind in "fV"  # bfloat16 is of kind V


def is_complex(x: Any) -> bool:
    return x.dtype.kind == "c"


def is_ordered(x: Any) -> bool:
    return x.dtype != bool and not is_complex(x)


def small(x: Any) -> Any:
    """Values that stay within what every type holds."""
    if is_complex(x):
        return x / (1 + abs(x)) * 4
    return lnp.tanh(x) * 4 if is_float(x) else x % 7 if x.dtype != bool else x


def pick(rng: random.Random, values: list[Any], *wanted: Callable[[Any], bool]) -> Any:
    found = [x for x in values if all(w(x) for w in wanted)]
    if not found:
        raise LookupError
    return rng.choice(found[-6:] if rng.random() < 0.7 else found)


def rank(at_least: int, at_most: int = 9) -> Callable[[Any], bool]:
    return lambda x: at_least <= x.ndim <= at_most


def _axis(rng: random.Random, x: Any) -> int:
    return rng.randrange(x.ndim)


def unary(rng: random.Random, values: list[Any]) -> Any:
    x = pick(rng, values)
    if x.dtype == bool:
        return ~x
    if is_complex(x):
        return rng.choice([lambda: -x, lambda: x.conj(), lambda: x * 1j, lambda: small(x * x)])()
    if not is_float(x):
        return rng.choice([lambda: -x, lambda: abs(x), lambda: ~x, lambda: x // 3, lambda: x * x])()
    return rng.choice(
        [lambda: -x, lambda: lnp.tanh(x), lambda: lnp.exp(-abs(x)), lambda: lnp.sqrt(1 + abs(x)), lambda: lnp.sin(x)]
    )()


def binary(rng: random.Random, values: list[Any]) -> Any:
    x = pick(rng, values, lambda v: v.dtype != bool)
    y = pick(rng, values, lambda v: v.dtype != bool, lambda v: v.shape == x.shape or v.ndim == 0 or v.shape == x.shape[1:])
    found = [lnp.add, lnp.subtract, lnp.multiply]
    if is_ordered(x) and is_ordered(y):
        found += [lnp.maximum, lnp.minimum]
    return small(rng.choice(found)(x, y))


def choose(rng: random.Random, values: list[Any]) -> Any:
    x = pick(rng, values, is_ordered)
    y = pick(rng, values, lambda v: v.shape == x.shape, is_ordered)
    mask = rng.choice([lambda: x > y, lambda: x <= y, lambda: x == y])()
    return mask if rng.random() < 0.3 else lnp.where(mask, x, y)


def reduced(rng: random.Random, values: list[Any]) -> Any:
    x = pick(rng, values, rank(1))
    axis, keepdims = rng.choice([None, _axis(rng, x)]), rng.random() < 0.3
    if x.dtype == bool:
        return rng.choice([lnp.any, lnp.all, lnp.sum])(x, axis=axis, keepdims=keepdims)
    found = [lnp.sum] if empty(x) or is_complex(x) else [lnp.sum, lnp.max, lnp.min, lnp.mean]
    return small(rng.choice(found)(x, axis=axis, keepdims=keepdims))


def rows(rng: random.Random, values: list[Any]) -> Any:
    x = pick(rng, values, rank(1), is_float)
    axis = _axis(rng, x)
    return rng.choice([lambda: lm.nn.softmax(x, axis=axis), lambda: small(lnp.cumsum(x, axis)), lambda: lm.nn.layer_norm(x)])()


def ordered(rng: random.Random, values: list[Any]) -> Any:
    x = pick(rng, values, rank(1), is_ordered, lambda v: not is_float(v) or v.dtype.itemsize > 2)
    found = [lnp.sort] if is_float(x) else [lnp.sort, lnp.argsort]  # what is equal but for rounding has no order
    return rng.choice(found)(x, axis=_axis(rng, x))


def moved(rng: random.Random, values: list[Any]) -> Any:
    x = pick(rng, values, rank(1, 4))
    axis = _axis(rng, x)

    def taken(part: slice) -> Any:
        return x[(slice(None),) * axis + (part,)]

    return rng.choice(
        [
            lambda: lnp.transpose(x),
            lambda: x.reshape(-1),
            lambda: x.reshape((*x.shape[:axis], 1, *x.shape[axis:])) if x.ndim < 4 else x.reshape(-1),
            lambda: x.reshape((x.shape[0], -1)),
            lambda: lnp.concatenate([x, x], axis),
            lambda: lnp.stack([x, x], axis) if x.ndim < 4 else lnp.flip(x, axis),
            lambda: lnp.flip(x, axis),
            lambda: taken(slice(1, None)),
            lambda: taken(slice(None, -1)),
            lambda: taken(slice(None, None, 2)),
            lambda: taken(slice(-2, None)),
            lambda: lnp.roll(x, 1, axis) if not empty(x) else x,
            lambda: lnp.repeat(x, 2, axis),
            lambda: (
                lnp.pad(x, [(1, 0) if d == axis else (0, 0) for d in range(x.ndim)]) if x.dtype != bool else lnp.flip(x, axis)
            ),
        ]
    )()


def empty(x: Any) -> bool:
    """Whether a value may have no elements, as far as is known."""
    return any(not (n >= 1 if isinstance(n, int) else n.bounds[0] >= 1) for n in x.shape)


def joined(rng: random.Random, values: list[Any]) -> Any:
    x = pick(rng, values, rank(1, 3))
    y = pick(rng, values, lambda v: v.dtype == x.dtype, lambda v: v.ndim == x.ndim, lambda v: v.shape[1:] == x.shape[1:])
    return lnp.concatenate([x, y])


def product(rng: random.Random, values: list[Any]) -> Any:
    wide = lambda v: v.dtype.kind in "fc" and v.dtype.itemsize > 2  # noqa: E731
    x = pick(rng, values, rank(2, 3), wide)
    fits = lambda v: (v.ndim == 2 and v.shape[0] == x.shape[-1]) or (v.ndim == 2 and v.shape[1] == x.shape[-1])  # noqa: E731
    y = pick(rng, values, wide, lambda v: v.dtype == x.dtype, fits)
    return small(x @ (y if y.shape[0] == x.shape[-1] else y.T))


def gathered(rng: random.Random, values: list[Any]) -> Any:
    x = pick(rng, values, rank(1, 3), lambda v: not empty(v))
    i = pick(rng, values, rank(1, 2), lambda v: v.dtype in (np.int32, np.int64))
    return lnp.take(x, i % x.shape[0], axis=0)


def converted(rng: random.Random, values: list[Any]) -> Any:
    x = pick(rng, values)
    y = (abs(small(x)) if x.dtype != bool else x).astype(dtype := rng.choice((*DTYPES, *STORED)))
    return y.astype(np.float32) if dtype in STORED else y


def sized(rng: random.Random, values: list[Any]) -> Any:
    x = pick(rng, values, rank(1, 3), is_float)
    n = x.shape[-1]
    return rng.choice(
        [lambda: x / (n + 1), lambda: x + lnp.arange(n) % 5, lambda: x * lnp.ones(n, x.dtype), lambda: x + (n % 3)]
    )()


def kept(rng: random.Random, values: list[Any], i: Any, exact: list[Any], depth: int) -> Any:
    """The first of the values after some ops that keep its shape and type; `i` is a number of an iteration."""
    x = values[0]
    others = [v for v in values[1:] if v.dtype == x.dtype and v.shape in (x.shape, x.shape[1:], ())]
    at = _axis(rng, x) if x.ndim else 0

    def updated() -> Any:
        n = x.shape[0]
        return x.at[i % n].set(rng.choice([lambda: ~x[-1], lambda: x[0]])() if x.dtype == bool else -x[(i + 1) % n])

    steps: list[Callable[[], Any]] = [lambda: unary(rng, [x]), lambda: x]
    if x.dtype != bool:
        steps += [lambda: binary(rng, [x, *others])] * 2
    if is_ordered(x):
        steps.append(lambda: lnp.where(x > 0, x, -x))
    if x.ndim:
        steps += [lambda: lnp.flip(x, at), lambda: lnp.roll(x, 1, at)]
    if x.ndim and not empty(x):
        steps += [updated] * 2
    if depth < 2:
        steps += [lambda: control(rng, [x], exact, depth + 1)] * 2
    for _ in range(rng.randint(1, 3)):
        made = rng.choice(steps)()
        if made.shape == x.shape and made.dtype == x.dtype:
            x = made
    return x


def control(rng: random.Random, values: list[Any], exact: list[Any], depth: int = 0) -> Any:
    """A branch or a loop over a value, with others from around it; what decides follows from `exact` values alone.

    Bodies may be traced more than once, so each draws from a generator of its own.
    """
    x = pick(rng, values, lambda v: np.prod(v.shape) <= MOST_CARRIED)
    known = pick(rng, exact, is_ordered, lambda v: not empty(v))
    most = lnp.max(known)
    seeds, trips, is_reverse = [rng.randrange(1 << 30) for _ in range(3)], rng.choice((0, 1, 2, 3, 5)), rng.random() < 0.5

    def body(k: int, a: Any, i: Any = 0, *more: Any) -> Any:
        return kept(random.Random(seeds[k]), [a, *more, *values], i, exact, depth)

    def scanned() -> Any:
        xs = pick(rng, values, rank(1), lambda v: v.shape[0] <= 9)
        carried, found = lm.scan(lambda a, v: (body(0, a, 1, v), body(1, v, 2, a)), x, xs, reverse=is_reverse)
        return carried if depth or is_reverse else found

    def branches(n: int) -> list[Callable[[Any], Any]]:
        return [lambda a, k=k: body(k, a) for k in range(n)]

    count = most.astype(np.int32) % 4 if is_ordered(most) else trips
    forms: list[Callable[[], Any]] = [
        lambda: lm.cond(most > 1, *branches(2), x),
        lambda: lm.switch(count + is_reverse, branches(3), x),
        lambda: lm.fori_loop(0, trips, lambda i, a: body(0, a, i), x),
        lambda: lm.fori_loop(1, count + 1, lambda i, a: body(0, a, i), x),
        lambda: lm.while_loop(lambda s: s[0] < count, lambda s: (s[0] + 1, body(0, s[1], s[0])), (0 * count, x))[1],
        scanned,
    ]
    return rng.choice(forms)()


OPS: tuple[Op, ...] = (
    *(unary, binary, binary, choose, reduced, rows, ordered, moved, moved, joined, product, gathered, converted, sized),
)
