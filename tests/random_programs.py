"""Random programs over `lamina.numpy`: 5 to 40 ops of all types, sizes known or dynamic, against the interpreter.

python tests/random_programs.py [COUNT [SEED]]     seeds from SEED on, 0 by default; forever without a count
"""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
from lamina.dialects.symbolic import expected_size
from lamina.runtime.interpreter import interpret

DTYPES = ("float32", "float64", "float16", "int8", "int32", "int64", "uint8", "uint32", "bool")
MOST = 1 << 14
"""Elements of a value at most, by expected sizes."""
SIZES = ((1, 1), (2, 5), (3, 3), (8, 7), (17, 4))

Op = Callable[[random.Random, list[Any]], Any]


def is_float(x: Any) -> bool:
    return x.dtype.kind == "f"


def small(x: Any) -> Any:
    """Values that stay within what every type holds."""
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
    if not is_float(x):
        return rng.choice([lambda: -x, lambda: abs(x), lambda: ~x, lambda: x // 3, lambda: x * x])()
    return rng.choice(
        [lambda: -x, lambda: lnp.tanh(x), lambda: lnp.exp(-abs(x)), lambda: lnp.sqrt(abs(x)), lambda: lnp.sin(x)]
    )()


def binary(rng: random.Random, values: list[Any]) -> Any:
    x = pick(rng, values, lambda v: v.dtype != bool)
    y = pick(rng, values, lambda v: v.dtype != bool, lambda v: v.shape == x.shape or v.ndim == 0 or v.shape == x.shape[1:])
    op = rng.choice([lnp.add, lnp.subtract, lnp.multiply, lnp.maximum, lnp.minimum])
    return small(op(x, y))


def choose(rng: random.Random, values: list[Any]) -> Any:
    x = pick(rng, values, lambda v: v.dtype != bool)
    y = pick(rng, values, lambda v: v.shape == x.shape, lambda v: v.dtype != bool)
    mask = rng.choice([lambda: x > y, lambda: x <= y, lambda: x == y])()
    return mask if rng.random() < 0.3 else lnp.where(mask, x, y)


def reduced(rng: random.Random, values: list[Any]) -> Any:
    x = pick(rng, values, rank(1))
    axis, keepdims = rng.choice([None, _axis(rng, x)]), rng.random() < 0.3
    if x.dtype == bool:
        return rng.choice([lnp.any, lnp.all, lnp.sum])(x, axis=axis, keepdims=keepdims)
    found = [lnp.sum] if empty(x) else [lnp.sum, lnp.max, lnp.min, lnp.mean]
    return small(rng.choice(found)(x, axis=axis, keepdims=keepdims))


def rows(rng: random.Random, values: list[Any]) -> Any:
    x = pick(rng, values, rank(1), is_float)
    axis = _axis(rng, x)
    return rng.choice([lambda: lm.nn.softmax(x, axis=axis), lambda: small(lnp.cumsum(x, axis)), lambda: lm.nn.layer_norm(x)])()


def ordered(rng: random.Random, values: list[Any]) -> Any:
    x = pick(rng, values, rank(1), lambda v: v.dtype not in (np.float16, bool))
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
    wide = lambda v: v.dtype in (np.float32, np.float64)  # noqa: E731
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
    return abs(small(x)).astype(rng.choice(DTYPES)) if x.dtype != bool else x.astype(rng.choice(DTYPES))


def sized(rng: random.Random, values: list[Any]) -> Any:
    x = pick(rng, values, rank(1, 3), is_float)
    n = x.shape[-1]
    return rng.choice(
        [lambda: x / (n + 1), lambda: x + lnp.arange(n) % 5, lambda: x * lnp.ones(n, x.dtype), lambda: x + (n % 3)]
    )()


OPS: tuple[Op, ...] = (
    *(unary, binary, binary, choose, reduced, rows, ordered, moved, moved, joined, product, gathered, converted, sized),
)


def elements(x: Any) -> int:
    total = 1
    for n in x.shape:
        total *= n if isinstance(n, int) else expected_size(n) // 8
    return total


class Drawn:
    """The program of a seed: its arguments, and the function, which draws the same ops whenever it is traced."""

    def __init__(self, seed: int):
        self.seed = seed
        rng = random.Random(seed)
        is_dynamic = seed % 4 != 3
        dims = ["n", "m"] if is_dynamic else [5, 3]
        self.shapes = [
            tuple([rng.choice([*dims, dims[0], 3, 4]) for _ in range(rng.choice([0, 1, 2, 2, 2, 3]))])
            for _ in range(rng.randint(2, 4))
        ]
        self.dtypes = [rng.choice(("float32", *DTYPES)) for _ in self.shapes]
        self.length = rng.randint(5, 40)
        known = {"n": lm.dim("n", min=1), "m": lm.dim("m", min=1)}
        specs = [tuple([known.get(size) for size in shape]) for shape in self.shapes]  # pyright: ignore[reportArgumentType, reportCallIssue]
        self.dynamic = {f"args[{k}]": spec for k, spec in enumerate(specs) if any(spec)}

    def __call__(self, *args: Any) -> Any:
        rng = random.Random(self.seed + 1)
        values = [*args]
        for _ in range(self.length):
            try:
                made = rng.choice(OPS)(rng, values)
            except LookupError:
                continue
            if elements(made) <= MOST:
                values.append(made)
        unused = values[len(args) :]
        return tuple(unused[-5:]) or tuple(values[:1])

    def arrays(self, n: int, m: int) -> list[np.ndarray]:
        rng = np.random.default_rng(self.seed)
        made: list[np.ndarray] = []
        for shape, name in zip(self.shapes, self.dtypes, strict=True):
            dtype, sizes = np.dtype(name), [{"n": n, "m": m}.get(size, size) for size in shape]  # pyright: ignore
            if dtype.kind == "f":
                made.append(rng.normal(size=sizes).astype(dtype))
            else:
                made.append(rng.integers(0, 2 if dtype.kind == "b" else 9, sizes).astype(dtype))
        return made


def check(seed: int) -> None:
    """Raise AssertionError if the program of a seed computes something else than its graph means."""
    drawn = Drawn(seed)
    compiled = lm.jit(drawn, dynamic=drawn.dynamic)
    sizes = SIZES if drawn.dynamic else SIZES[:1]
    module = compiled.lower(*drawn.arrays(2, 2)).module
    for n, m in sizes:
        args = drawn.arrays(n, m)
        got = compiled(*args)
        want = interpret(module, "main", args)
        for k, (x, y) in enumerate(zip(got, want, strict=True)):
            where = f"seed {seed}, n = {n}, m = {m}, result {k}\n{module}"
            assert x.shape == y.shape and x.dtype == y.dtype, where
            if x.dtype.kind in "f":
                # up to 40 ops on floats of which the interpreter adds sums in another order: what is wrong is off by far more
                np.testing.assert_allclose(x, y, rtol=2e-2 if x.dtype == np.float16 else 2e-3, atol=2e-3, err_msg=where)
            else:
                off = np.asarray(x != y).mean() if x.size else 0.0
                # integers and masks may come of floats that are rounded otherwise: a sum in another order
                assert off <= 0.05, where


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else None
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    failed = 0
    for seed in itertools.count(first) if count is None else range(first, first + count):
        try:
            check(seed)
        except Exception as error:
            failed += 1
            print(f"seed {seed}: {type(error).__name__}: {str(error)[:1500]}", flush=True)
    print(f"{count} programs, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
