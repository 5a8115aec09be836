"""Random small graphs, shared by the draws of rules, derivatives and batching rules."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from lamina.dialects.graph.builder import GraphBuilder
from lamina.dialects.types import (
    bf16,
    f16,
    f32,
    f64,
    i1,
    i32,
    i64,
    is_bool,
    is_float,
    is_unsigned,
    numpy_dtype,
    tensor,
    width_of,
)
from xdsl.dialects.builtin import IntegerType, ModuleOp, Signedness
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

ui8 = IntegerType(8, Signedness.UNSIGNED)
FLOATS, INTS, INTEGERS = (f32, f64), (i32, i64, ui8), (i1, i32, i64, ui8)
NUMBERS, ANY, STORED = (*FLOATS, *INTS), (*FLOATS, *INTEGERS), (f16, bf16)
SIZES = (0, 1, 1, 2, 2, 3, 4)
FILLED = (1, 1, 2, 2, 3, 4)


def shape_of(value: SSAValue) -> tuple[int, ...]:
    return value.type.get_shape()  # pyright: ignore[reportAttributeAccessIssue]


def element_of(value: SSAValue) -> Any:
    return value.type.element_type  # pyright: ignore[reportAttributeAccessIssue]


class Sketch:
    """A function that grows: `arg` adds an argument, `b` builds ops, `also` returns a value beside the last one."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.block = Block()
        self.b: Any = GraphBuilder(self.block)
        self.others: list[SSAValue] = []

    # -- choices

    def one(self, options: Sequence[Any]) -> Any:
        return self.random.choice(list(options))

    def rarely(self, share: float = 0.25) -> bool:
        return self.random.random() < share

    def some(self, options: Sequence[Any], least: int = 0) -> list[Any]:
        """A few of the options, in order."""
        count = self.random.randint(least, len(options))
        return sorted(self.random.sample(list(options), count))

    def shape(self, least: int = 0, most: int = 3, sizes: Sequence[int] = SIZES) -> tuple[int, ...]:
        return tuple(self.one(sizes) for _ in range(self.random.randint(least, most)))

    def perm(self, rank: int) -> tuple[int, ...]:
        return tuple(self.random.sample(range(rank), rank))

    # -- values

    def arg(self, shape: Sequence[int], element: Any = f32) -> SSAValue:
        return self.block.insert_arg(tensor(element, tuple(shape)), len(self.block.args))

    def also(self, value: SSAValue) -> None:
        self.others.append(value)

    def number(self, value: Any, shape: Sequence[int], element: Any, plain: bool = False) -> SSAValue:
        """A known number in one of its forms: a broadcast constant (the only one if `plain`), reshaped, or a dense constant."""
        value = wrapped(value, element)
        scalar = self.b.const(value, element)
        shape = tuple(shape)
        form = "broadcast" if plain else self.one(("broadcast", "dense", "reshape", "twice"))
        if form == "dense" and 0 < math.prod(shape) <= 64:
            return self.b.const(np.full(shape, value, numpy_dtype(element)))
        if form == "reshape" and shape:
            return self.b.reshape(self.b.broadcast(scalar, (), (math.prod(shape),)), shape)
        if form == "twice" and shape:
            return self.b.broadcast(self.b.broadcast(scalar, (), shape[-1:]), (len(shape) - 1,), shape)
        return self.b.broadcast(scalar, (), shape) if shape or self.rarely() else scalar

    def stretched(self, sizes: Sequence[int] = SIZES, most: int = 3) -> tuple[tuple[int, ...], list[int], tuple[int, ...]]:
        """Shape, dims and result shape of a broadcast."""
        result = self.shape(0, most, sizes)
        dims = self.some(range(len(result)))
        return tuple(1 if self.rarely(0.2) else result[d] for d in dims), dims, result

    def respelled(self, shape: Sequence[int]) -> tuple[int, ...]:
        """A shape with dims of size 1 taken out and put in elsewhere."""
        kept = [n for n in shape if n != 1 or self.rarely()]
        for _ in range(self.random.randint(0, 2)):
            kept.insert(self.random.randint(0, len(kept)), 1)
        return tuple(kept)

    def regrouped(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Another shape with as many elements."""
        if self.rarely(0.3):
            return self.respelled(shape)
        total = math.prod(shape)
        if total == 0:
            return (*self.shape(0, 2), 0)
        divisor = self.one([n for n in range(1, total + 1) if total % n == 0])
        return self.one(((total,), (divisor, total // divisor), (divisor, 1, total // divisor)))

    def sliced(self, shape: Sequence[int]) -> dict[str, list[int]]:
        """Properties of a slice of a shape."""
        start, stop, step = [], [], []
        for n in shape:
            first = self.random.randint(0, min(n, 3) if self.rarely(0.1) else max(0, min(n - 1, 3)))
            last = n - self.random.randint(0, 3)
            start.append(first)
            stop.append(last if last > first else self.random.randint(first if self.rarely(0.2) else min(n, first + 1), n))
            step.append(self.one((1, 1, 2, 3)))
        return {"start": start, "stop": stop, "step": step}

    def function(self, *results: SSAValue) -> ModuleOp:
        """The module of the function, which returns the results and what was noted with `also`."""
        results = (*results, *self.others)
        self.block.add_op(ReturnOp(*results))
        types = [a.type for a in self.block.args]
        return ModuleOp([FuncOp("main", (types, [r.type for r in results]), Region(self.block))])


def wrapped(value: Any, element: Any) -> Any:
    """A number as one that an element type has."""
    if is_bool(element):
        return bool(value)
    if is_float(element):
        return value
    return int(value) % 2 ** width_of(element) if is_unsigned(element) else int(value)


def inputs(
    types: Sequence[Any], seed: int, draw: Callable[[np.random.Generator, np.dtype, tuple[int, ...]], np.ndarray]
) -> Any:
    rng = np.random.default_rng(seed)
    return [draw(rng, numpy_dtype(t.element_type), t.get_shape()) for t in types]


def whole(rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """Small whole numbers: sums and products of them are exact in any order."""
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    return np.asarray(rng.integers(-4, 5, shape)).astype(dtype)  # of unsigned types great numbers


def infinite(rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """Whole numbers, infinities and NaN: sums and products of them, too, are the same in any order."""
    values = whole(rng, dtype, shape)
    if dtype.kind in "biu":
        return values
    odd = rng.choice(np.array([np.inf, -np.inf, np.nan]), shape)
    return np.asarray(np.where(rng.random(shape) < 0.2, odd, values)).astype(dtype)


def usual(rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    if dtype.kind in "biu":
        return whole(rng, dtype, shape) if dtype.kind != "i" else rng.integers(-100, 100, shape, dtype)
    return np.asarray(rng.normal(scale=3, size=shape)).astype(dtype)


def edges(rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    if dtype.kind in "bu":
        return whole(rng, dtype, shape)
    if dtype.kind == "i":
        limits = np.iinfo(dtype)
        return rng.choice(np.array([0, 1, -1, 2, 7, limits.max, limits.max - 1, limits.min, limits.min + 1], dtype), shape)
    values = [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 3.0, -2.0]
    if dtype.itemsize >= 4:
        limits = np.finfo(dtype)
        values += [limits.max, limits.tiny, -limits.smallest_subnormal, limits.tiny / 2]
    return rng.choice(np.array(values).astype(dtype), shape)
