"""Loops over sliding windows: what convolutions and pooling share.

A window reads its elements `stride` apart from those of its neighbour. The *phase* of a position is its remainder by the
stride: neighbouring windows read neighbouring elements of one phase.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import Any

from xdsl.dialects import math
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ..types import is_float, scalar_of

Index = AffineExpr | int


@contextmanager
def over(b: Any, sizes: Sequence[Any], kind: str = "parallel") -> Iterator[list[AffineExpr]]:
    """One loop a size, outermost first; a size of 1 needs none."""
    with ExitStack() as stack:
        yield [AffineConstantExpr(0) if size == 1 else stack.enter_context(b.loop(size, kind)).index for size in sizes]


@contextmanager
def within(b: Any, bounds: Sequence[tuple[Any, Any]]) -> Iterator[list[AffineExpr]]:
    """One loop for each pair of bounds, outermost first; a single index needs none."""
    with ExitStack() as stack:
        one = [isinstance(low, int) and isinstance(high, int) and high - low == 1 for low, high in bounds]
        yield [
            AffineConstantExpr(low) if single else stack.enter_context(b.loop(high, lower=low)).index
            for single, (low, high) in zip(one, bounds, strict=True)
        ]


def multiply_add(b: Any, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
    """`x * y + z`; of floats with one rounding."""
    if not is_float(scalar_of(x.type)):
        return b.scalar.add(b.scalar.mul(x, y), z)
    properties: dict[str, Attribute] = {"fastmath": FastMathFlagsAttr("none")}
    return b.scalar.insert(math.FmaOp.create(operands=[x, y, z], result_types=[x.type], properties=properties))


@dataclass(frozen=True)
class Taps:
    """Elements of a window along one dim that are of one phase: element `first + t * step` reads position `at + t * by`."""

    phase: Index
    first: Index
    step: int
    at: Index
    by: int
    count: Index

    @staticmethod
    def of_phase(each: Sequence[Taps], phase: Index) -> Taps | None:
        """Those of the phase that an index says, if what differs from phase to phase is linear in it.

        >>> taps = Taps.of_phase([Taps(0, 0, 2, 0, 1, 4), Taps(1, 1, 2, 0, 1, 3)], AffineExpr.dimension(0))
        >>> str(taps.first), str(taps.count)
        ('d0', '((d0 * -1) + 4)')
        """
        if len(each) == 1:
            return each[0]

        def line(name: str) -> Index | None:
            start, *others = (getattr(taps, name) for taps in each)
            slope = others[0] - start
            return phase * slope + start if all(x == start + k * slope for k, x in enumerate(others, 1)) else None

        first, at, count = line("first"), line("at"), line("count")
        if first is None or at is None or count is None:
            return None
        return Taps(phase, first, each[0].step, at, each[0].by, count)


@dataclass(frozen=True)
class Axis:
    """One dim along which windows slide: `count` windows over an operand of `size`."""

    size: int
    window: int
    stride: int = 1
    dilation: int = 1
    low: int = 0
    count: int = 1

    @cached_property
    def phases(self) -> tuple[int, ...]:
        """Positions modulo the stride that windows read."""
        return tuple(sorted({k * self.dilation % self.stride for k in range(self.window)}))

    @property
    def step(self) -> int:
        """From one element of a window to the next of its phase."""
        return self.stride // gcd(self.stride, self.dilation)

    @property
    def span(self) -> int:
        """Positions that a window reaches over."""
        return (self.window - 1) * self.dilation + 1

    @property
    def reach(self) -> int:
        """How many positions of a phase one window reads beyond its own."""
        return (self.window - 1) * self.dilation // self.stride

    @property
    def positions(self) -> int:
        """Padded positions that all windows together reach over."""
        return (self.count - 1) * self.stride + self.span

    def taps(self, phase: int) -> Taps:
        """The elements of a window that have a phase."""
        step = self.step
        first = next(k for k in range(self.window) if k * self.dilation % self.stride == phase)
        at, by = first * self.dilation // self.stride, step * self.dilation // self.stride
        return Taps(self.phases.index(phase), first, step, at, by, -(-(self.window - first) // step))

    def inside(self, phase: int, stride: int) -> tuple[int, int]:
        """The range of `q` for which position `q * stride + phase` is an element of the operand."""
        return -(-(self.low - phase) // stride), -(-(self.low + self.size - phase) // stride)


def clipped(bounds: tuple[int, int], size: int, start: Index = 0) -> tuple[Any, Any]:
    """Loop bounds of the part of a range that lies in `start ... start + size`, counted from there."""
    low, high = bounds
    if isinstance(start, int):
        low, high = min(max(0, low - start), size), max(0, min(size, high - start))
        return low, max(low, high)
    return [AffineConstantExpr(0), start * -1 + low], [AffineConstantExpr(size), start * -1 + high]
