"""Loops over sliding windows, shared by convolutions and pooling.

Corresponding elements of neighbouring windows are `stride` positions apart. The *phase* of a position is its remainder by the
stride: neighbouring windows read neighbouring elements of one phase.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import TYPE_CHECKING, Any

from xdsl.dialects import math
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ..operations import create
from ..types import is_float, scalar_of

if TYPE_CHECKING:
    from .nest_writer import NestWriter

Index = AffineExpr | int


@contextmanager
def over(b: NestWriter, sizes: Sequence[Any], kind: str = "parallel") -> Iterator[list[AffineExpr]]:
    """One loop a size, outermost first; a size of 1 needs none."""
    with ExitStack() as stack:
        yield [AffineConstantExpr(0) if size == 1 else stack.enter_context(b.loop(size, kind)).index for size in sizes]


@contextmanager
def within(b: NestWriter, bounds: Sequence[tuple[Any, Any]]) -> Iterator[list[AffineExpr]]:
    """One loop for each pair of bounds, outermost first; a single index needs none."""
    with ExitStack() as stack:
        one = [isinstance(low, int) and isinstance(high, int) and high - low == 1 for low, high in bounds]
        yield [
            AffineConstantExpr(low) if single else stack.enter_context(b.loop(high, lower=low)).index
            for single, (low, high) in zip(one, bounds, strict=True)
        ]


def multiply_add(b: NestWriter, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
    """`x * y + z`; of floats with one rounding."""
    if not is_float(scalar_of(x.type)):
        return b.scalar.add(b.scalar.mul(x, y), z)
    properties: dict[str, Attribute] = {"fastmath": FastMathFlagsAttr("none")}
    return b.scalar.insert(create(math.FmaOp, operands=[x, y, z], result_types=[x.type], properties=properties))


@dataclass(frozen=True)
class Taps:
    """Elements of a window along one dim that are of one phase: element `first + t * step` reads position `at + t * by`."""

    phase: Index
    first: Index
    step: int
    at: Index
    by: int
    count: Index


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
        """The distance from one element of a window to the next of its phase."""
        return self.stride // gcd(self.stride, self.dilation)

    @property
    def span(self) -> int:
        """Number of positions that a window spans."""
        return (self.window - 1) * self.dilation + 1

    @property
    def reach(self) -> int:
        """How many positions of a phase one window reads beyond its own."""
        return (self.window - 1) * self.dilation // self.stride

    @property
    def positions(self) -> int:
        """Number of padded positions that all windows together span."""
        return (self.count - 1) * self.stride + self.span

    @property
    def are_even(self) -> bool:
        """Whether phases are multiples of the dilation: phase number `k` is that of element `k` of a window."""
        return self.phases == tuple(k * self.dilation for k in range(len(self.phases)))

    def taps(self, number: Index) -> Taps:
        """The elements of a window that have a phase, by its number; an index where phases `are_even`.

        >>> taps = Axis(9, 7, stride=3).taps(AffineExpr.dimension(0))
        >>> str(taps.first), str(taps.count)
        ('d0', '(((d0 * -1) + 7) ceildiv 3)')
        """
        if isinstance(number, int) and not self.are_even:
            first = next(k for k in range(self.window) if k * self.dilation % self.stride == self.phases[number])
            at = first * self.dilation // self.stride
        else:
            first, at = number, 0
        return Taps(number, first, self.step, at, self.step * self.dilation // self.stride, self._count(first))

    def _count(self, first: Index) -> Index:
        """How many elements of a window there are from one on, `step` apart."""
        if isinstance(first, int):
            return -((first - self.window) // self.step)
        counts = [-((k - self.window) // self.step) for k in range(len(self.phases))]
        slope = counts[-1] - counts[0]
        if counts == [counts[0] + k * slope for k in range(len(counts))]:
            return first * slope + counts[0]
        return (first * -1 + self.window).ceil_div(self.step)

    def phase(self, number: Index) -> Index:
        """A phase by its number."""
        return self.phases[number] if isinstance(number, int) else number * self.dilation

    def inside(self, phase: Index, stride: int) -> tuple[Index, Index]:
        """The range of `q` for which position `q * stride + phase` is an element of the operand."""
        if isinstance(phase, int):
            return -((phase - self.low) // stride), -((phase - self.low - self.size) // stride)
        ends = (phase * -1 + self.low, phase * -1 + (self.low + self.size))
        return ends[0].ceil_div(stride), ends[1].ceil_div(stride)


def clipped(bounds: tuple[Index, Index], size: int, start: Index = 0) -> tuple[Any, Any]:
    """Loop bounds of the part of a range that lies in `start ... start + size`, counted from there."""
    low, high = bounds
    if isinstance(start, int) and isinstance(low, int) and isinstance(high, int):
        low, high = min(max(0, low - start), size), max(0, min(size, high - start))
        return low, max(low, high)
    return [AffineConstantExpr(0), _less(low, start)], [AffineConstantExpr(size), _less(high, start)]


def _less(end: Index, start: Index) -> AffineExpr:
    if isinstance(start, int):
        return AffineConstantExpr(end - start) if isinstance(end, int) else end if start == 0 else end + -start
    return start * -1 + end
