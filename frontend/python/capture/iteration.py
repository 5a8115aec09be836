"""The iterables of `for`: ranges with traced bounds, rows of arrays, and `zip`, `enumerate` and `reversed` of them."""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ....dialects.sizes.polynomial import Size, positive
from ....errors import TracingError
from ...trace.array_functions import arrays as lnp
from ...trace.locations import located
from ...trace.promotion import is_integer_dtype
from ...trace.tracer import Tracer
from ...trace.tracing import lift
from .sizes import are_sizes, extreme
from .writes import item


class Items(ABC):
    """A sequence that a loop goes over.

    Attributes:
        length: the number of items, an int or a traced one.
        size: the same as a size, where it is symbolic.
        is_uniform: whether items of numbers that only the program knows can be read.
    """

    length: Any = 0
    size: Size | None = None
    is_uniform = True

    @abstractmethod
    def item(self, k: Any) -> Any:
        """Item `k`, a number or a traced one."""

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self.length, Tracer):
            remedy = "make it static (static_argnums)" if self.size is None else "leave that dim out of dynamic="
            length = (
                "the length of this range is traced" if self.size is None else f"the number of items is the size {self.size}"
            )
            raise located(TracingError(f"{length}: go over it in a `for` statement, or {remedy}"))
        return (self.item(k) for k in builtins.range(self.length))

    def __len__(self) -> int:
        if isinstance(self.length, Tracer):
            raise located(TracingError("the length of this range is traced: it has no len()"))
        return self.length


class Range(Items):
    """`range(start, stop, step)`, of traced numbers."""

    def __init__(self, *bounds: Any):
        start, stop, step = bounds
        if are_sizes(bounds) and type(step) is int and step:
            count = positive((stop - start + (step - 1)) // step if step > 0 else (start - stop + (-step - 1)) // -step)
            self.size = count if isinstance(count, Size) else None
        start, stop, step = self.start, self.stop, self.step = [lift(x) if isinstance(x, Size) else x for x in bounds]
        if all(isinstance(x, int) for x in (start, stop, step)):
            self.length: Any = len(builtins.range(start, stop, step))
            return
        distance = stop - start
        if isinstance(step, int):
            if step == 0:
                raise ValueError("range() arg 3 must not be zero")
            count = (distance + (step - 1)) // step if step > 0 else (-distance + (-step - 1)) // -step
        else:
            size = lnp.abs(step)
            count = (lnp.where(step > 0, distance, -distance) + size - 1) // size
        self.length = lnp.maximum(count, 0)

    def item(self, k: Any) -> Any:
        return self.start + k * self.step

    def __getitem__(self, k: int) -> Any:
        return self.item(k)


class Rows(Items):
    """The items of an array along its first dim."""

    def __init__(self, x: Any):
        self.x = x
        self.length = x.shape[0]
        if isinstance(self.length, Size):
            self.size, self.length = self.length, lift(self.length)

    def item(self, k: Any) -> Any:
        return item(self.x, k)


class Listed(Items):
    """The items of a list or tuple: their numbers must be known."""

    is_uniform = False

    def __init__(self, items: Sequence[Any]):
        self.items = items
        self.length = len(items)

    def item(self, k: Any) -> Any:
        return self.items[k]


class Zipped(Items):
    """`zip`: as long as the shortest."""

    def __init__(self, parts: Sequence[Items]):
        self.parts = parts
        known = [p.length for p in parts if isinstance(p.length, int)]
        self.length: Any = min(known) if known else parts[0].length
        for part in parts:
            if isinstance(part.length, Tracer) and not (known and self.length == 0):
                self.length = lnp.minimum(self.length, part.length)
        sizes = [p.length if p.size is None else p.size for p in parts]
        self.size = extreme("min", sizes) if are_sizes(sizes) else None
        self.is_uniform = all(p.is_uniform for p in parts)

    def item(self, k: Any) -> Any:
        return tuple(p.item(k) for p in self.parts)


class Enumerated(Items):
    """`enumerate`."""

    def __init__(self, part: Items, start: Any):
        self.part, self.start = part, start
        self.length, self.size, self.is_uniform = part.length, part.size, part.is_uniform

    def item(self, k: Any) -> Any:
        return self.start + k, self.part.item(k)


class Backwards(Items):
    """`reversed`."""

    def __init__(self, part: Items):
        self.part = part
        self.length, self.size, self.is_uniform = part.length, part.size, part.is_uniform

    def item(self, k: Any) -> Any:
        return self.part.item(self.length - 1 - k)


def items_of(x: Any) -> Items | None:
    """The iterable of a loop over `x`; None if only Python's own iteration reads it."""
    if isinstance(x, Items):
        return x
    if isinstance(x, Tracer):
        if not x.shape:
            raise located(TracingError("iteration over a traced scalar"))
        return Rows(x)
    if isinstance(x, builtins.range):
        return Range(x.start, x.stop, x.step)
    if isinstance(x, np.ndarray) and x.ndim:
        return Rows(x)
    return Listed(x) if isinstance(x, list | tuple) else None


def steps(x: Any) -> Any:
    """The iterable of a loop in a generator, step by step in Python."""
    return x if (items := items_of(x)) is None else items


def _is_traced_integer(x: Any) -> bool:
    return isinstance(x, Size) or (isinstance(x, Tracer) and not x.shape and is_integer_dtype(x.dtype))


def range_(*args: Any) -> Any:
    """`range`."""
    if not any(isinstance(a, Tracer | Size) for a in args):
        return builtins.range(*args)
    for a in args:
        if isinstance(a, Tracer) and not _is_traced_integer(a):
            raise located(TracingError(f"range() takes integers, got {a.dtype}{list(a.shape)}"))
    return Range(*([0, args[0], 1] if len(args) == 1 else [*args, *([1] if len(args) == 2 else [])]))


def zip_(*args: Any, strict: bool = False) -> Any:
    """`zip`."""
    parts = [items_of(a) for a in args]
    if not any(isinstance(a, Tracer | Items) for a in args) or None in parts:
        return builtins.zip(*args, strict=strict)
    made = Zipped([p for p in parts if p is not None])
    if strict and len({p.length for p in made.parts if isinstance(p.length, int)}) > 1:
        raise ValueError("zip() arguments have different lengths")
    return made


def enumerate_(iterable: Any, start: Any = 0) -> Any:
    """`enumerate`."""
    part = items_of(iterable) if isinstance(iterable, Tracer | Items | builtins.range) else None
    return builtins.enumerate(iterable, start) if part is None else Enumerated(part, start)


def reversed_(iterable: Any) -> Any:
    """`reversed`."""
    if not isinstance(iterable, Tracer | Items):
        return builtins.reversed(iterable)
    part = items_of(iterable)
    assert part is not None
    return Backwards(part)
