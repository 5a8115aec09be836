"""A roofline: the limits by the arithmetic and the memory of the machine, and where each kernel stands.

S. Williams, A. Waterman, D. Patterson, "Roofline: An Insightful Visual Performance Model", 2009. Both limits are those of one
core, measured by `codegen/machine`; flops and bytes are counted, not measured.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from math import floor, log10

_WIDTH, _HEIGHT, _LEFT, _TOP = 760, 320, 70, 16


@dataclass(frozen=True)
class Point:
    """A kernel: its floating-point operations and the bytes it moves at least, in one run."""

    name: str
    flops: float
    bytes: int

    @property
    def intensity(self) -> float:
        """Flops for each byte."""
        return self.flops / max(1, self.bytes)


@dataclass(frozen=True)
class Machine:
    """Limits of one core: flops a second in float32, bytes a second from memory."""

    flops: float
    bandwidth: float

    def bound(self, intensity: float) -> float:
        """Flops a second that a kernel of this intensity can reach."""
        return min(self.flops, self.bandwidth * intensity)


def limit_of(point: Point, machine: Machine) -> tuple[str, float]:
    """The limit of a kernel, and the least seconds that it takes when its data come from memory.

    >>> limit_of(Point("dot", 1e9, 1_000_000), Machine(1e11, 1e10))
    ('arithmetic', 0.01)
    """
    arithmetic, memory = point.flops / machine.flops, point.bytes / machine.bandwidth
    return ("arithmetic", arithmetic) if arithmetic >= memory else ("memory traffic", memory)


def svg(points: Iterable[Point], machine: Machine) -> str:
    """The picture; both axes are logarithmic, flops a byte to the right, flops a second upwards."""
    shown = [p for p in points if p.flops > 0 and p.bytes > 0]
    ridge = machine.flops / machine.bandwidth
    lowest = min([0.05, ridge / 10, *(p.intensity / 2 for p in shown)])
    highest = max([ridge * 10, *(p.intensity * 2 for p in shown)])
    top, bottom = machine.flops * 2, machine.bound(lowest) / 2

    def x(intensity: float) -> float:
        return _LEFT + _WIDTH * (log10(intensity) - log10(lowest)) / (log10(highest) - log10(lowest))

    def y(rate: float) -> float:
        return _TOP + _HEIGHT * (log10(top) - log10(rate)) / (log10(top) - log10(bottom))

    parts = [f'<svg class="roofline" viewBox="0 0 {_LEFT + _WIDTH + 20} {_TOP + _HEIGHT + 44}" role="img">']
    for k in range(floor(log10(lowest)) + 1, floor(log10(highest)) + 1):
        parts.append(f'<path class="grid" d="M{x(10.0**k):.1f},{_TOP}V{_TOP + _HEIGHT}"/>')
        parts.append(
            f'<text class="axis" x="{x(10.0**k):.1f}" y="{_TOP + _HEIGHT + 16}" text-anchor="middle">{10.0**k:g}</text>'
        )
    for k in range(floor(log10(bottom)) + 1, floor(log10(top)) + 1):
        parts.append(f'<path class="grid" d="M{_LEFT},{y(10.0**k):.1f}H{_LEFT + _WIDTH}"/>')
        parts.append(
            f'<text class="axis" x="{_LEFT - 6}" y="{y(10.0**k) + 4:.1f}" text-anchor="end">{10.0 ** (k - 9):g}</text>'
        )
    parts.append(
        f'<path class="roof" d="M{x(lowest):.1f},{y(machine.bound(lowest)):.1f}L{x(ridge):.1f},{y(machine.flops):.1f}'
        f'H{_LEFT + _WIDTH}"/>'
    )
    for p in shown:
        rate = machine.bound(p.intensity)
        what, seconds = limit_of(p, machine)
        title = f"{p.name}: {p.flops:.4g} flop, {p.bytes:.4g} bytes, at least {seconds * 1e6:.3g} us, bound by {what}"
        parts.append(
            f'<g class="point"><title>{escape(title)}</title><circle cx="{x(p.intensity):.1f}" cy="{y(rate):.1f}" r="5"/>'
            f'<text x="{x(p.intensity) + 7:.1f}" y="{y(rate) + 14:.1f}">{escape(p.name)}</text></g>'
        )
    labels = f"flop a byte; upwards GFLOP/s of one core ({machine.flops / 1e9:.0f} at most, {machine.bandwidth / 1e9:.0f} GB/s)"
    parts.append(f'<text class="axis" x="{_LEFT}" y="{_TOP + _HEIGHT + 36}">{labels}</text></svg>')
    return "".join(parts)
