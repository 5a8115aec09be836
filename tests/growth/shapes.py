"""Graphs of any number of ops, as functions of arrays: what the growth of passes is measured on.

Each shape uses values twice in another way: where a pass visits a graph as the tree of its expressions, the number of its steps
doubles with each op of all of them but the chain.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
from lamina import nn

ROWS, COLUMNS = 4, 6
"""The shape of each value: what is counted does not depend on it."""


def chain(x: Any, n: int) -> Any:
    """Each op has one operand, the last result."""
    for k in range(n):
        x = (lnp.sin, lnp.tanh, lnp.exp, lnp.negative)[k % 4](x)
    return x


def twice(x: Any, n: int) -> Any:
    """Each step reads the last value twice: n doublings as a tree."""
    h = x
    for _ in range(n // 4):
        h = h * x + lnp.maximum(h, 0.1) * 0.5
    return nn.softmax(h)


def squares(x: Any, n: int) -> Any:
    """Both operands of each op are the last result."""
    for k in range(n):
        x = x * x if k % 2 else x + x
    return x


def ladder(x: Any, n: int) -> Any:
    """Two rails, each of which reads both."""
    a, b = x, lnp.cos(x)
    for _ in range(n // 2):
        a, b = a * b, a + b
    return a - b


def diamonds(x: Any, n: int) -> Any:
    """Each value goes two ways, which meet."""
    for _ in range(n // 3):
        x = lnp.sin(x) * lnp.exp(x)
    return x


def tree(x: Any, n: int) -> Any:
    """Leaves that are summed by pairs."""
    leaves = [lnp.sin(x * (1.0 + k)) for k in range(max(1, n // 3))]
    while len(leaves) > 1:
        pairs = [a + b for a, b in zip(leaves[::2], leaves[1::2], strict=False)]
        leaves = pairs + leaves[2 * len(pairs) :]
    return leaves[0]


def star(x: Any, n: int) -> Any:
    """One value that all others read, and one that reads them all, by and by."""
    total = x
    for k in range(n // 2):
        total = total + lnp.maximum(x, float(k))
    return total


def fan(x: Any, n: int) -> Any:
    """As many results as ops: each value is one."""
    results = [x]
    for _ in range(n // 2):
        results.append(lnp.tanh(results[-1]) + x)
    return results


def rows(x: Any, n: int) -> Any:
    """Reductions, whose results meet the values that they were made of."""
    for k in range(n // 4):
        x = x - (x.sum(axis=1, keepdims=True) if k % 2 else x.max(axis=0, keepdims=True))
        x = lnp.tanh(x)
    return x


def products(x: Any, n: int) -> Any:
    """Products of matrices between elementwise ops, as layers of a network."""
    weight = lnp.ones((COLUMNS, COLUMNS), np.float32) * 0.1
    for _ in range(n // 4):
        x = lnp.tanh(x @ weight) + x
    return x


def moves(x: Any, n: int) -> Any:
    """Values that are cut, turned, put together and indexed."""
    for k in range(n // 5):
        left, right = x[:, : 1 + k % 5], x[:, 1 + k % 5 :]
        x = lnp.concatenate([right, left], axis=1)
        x = lnp.reshape(lnp.transpose(x), (ROWS, COLUMNS)) + x
    return x


def branches(x: Any, n: int) -> Any:
    """Comparisons and choices."""
    for _ in range(n // 4):
        x = lnp.where(x > 0, x * 0.5, -x)
    return x


def reads(x: Any, n: int) -> Any:
    """Elements that are read and written at indices."""
    for k in range(n // 4):
        x = x.at[k % ROWS].add(x[(k + 1) % ROWS] * 0.5)
    return x


def functions(x: Any, n: int) -> Any:
    """Branches one after the other, whose functions passes make, copy and look up by name."""
    for k in range(max(1, n // 4)):
        x = lm.cond(x[0, k % COLUMNS] > 0, lambda x: lnp.sin(x) * 0.5, lambda x: x * x, x)
    return x


def nested(x: Any, n: int) -> Any:
    """Branches inside of branches."""

    def choose(n: int) -> Callable[[Any], Any]:
        if n < 8:
            return lambda x: lnp.sin(x) * (1.0 + n)
        return lambda x: lm.cond(x[0, n % COLUMNS] > 0, choose(n // 2), choose(n - n // 2), x)

    return choose(n)(x)


def drawn(seed: int) -> Callable[[Any, int], Any]:
    """A graph at random: each op reads values that were made a few ops ago, or long ago."""

    def graph(x: Any, n: int) -> Any:
        draw = random.Random(seed)
        reach = draw.choice((2, 4, 16))
        weights = [draw.random() for _ in KINDS]
        values = [x, lnp.cos(x)]
        for _ in range(n):
            a = values[-draw.randint(1, min(reach, len(values)))]
            b = values[-draw.randint(1, min(reach, len(values)))] if draw.random() < 0.95 else draw.choice(values)
            values.append(draw.choices(KINDS, weights)[0](a, b))
        total = values[-1]
        for value in values[-1 - reach : -1]:
            total = total + value
        return total

    return graph


KINDS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda a, b: a * b,
    lambda a, b: a + b,
    lambda a, b: lnp.maximum(a, b),
    lambda a, b: lnp.tanh(a),
    lambda a, b: lnp.exp(-a * a),
    lambda a, b: lnp.where(a > b, a, b),
    lambda a, b: a - b.mean(axis=1, keepdims=True),
    lambda a, b: a * b.sum(axis=0),
    lambda a, b: lnp.transpose(lnp.reshape(a, (COLUMNS, ROWS))) + b,
    lambda a, b: lnp.concatenate([a[:, 2:], b[:, :2]], axis=1),
    lambda a, b: a @ (lnp.transpose(b) @ a),
)


@dataclass(frozen=True)
class Graph:
    """A graph by its name, of any number of ops."""

    name: str
    make: Callable[[Any, int], Any]

    def of(self, n: int) -> Callable[[Any], Any]:
        """The function whose graph has about n ops."""
        return lambda x: self.make(x, n)


SHAPES = tuple(
    Graph(make.__name__, make)
    for make in (
        chain,
        twice,
        squares,
        ladder,
        diamonds,
        tree,
        star,
        fan,
        rows,
        products,
        moves,
        branches,
        reads,
        functions,
        nested,
    )
)
X = np.linspace(0.1, 0.9, ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
