"""The planned memory of host functions over time: which bytes of the arena hold which buffer, from which step to which."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from xdsl.dialects import memref
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue

from ..dialects.loop.loops import KernelOp
from ..dialects.loop.memory import LaunchOp
from ..dialects.program import FuncOp
from ..lowering.analysis.nests import walk
from ..lowering.plan_buffers import known_bytes, scratch_layout

_WIDTH, _HEIGHT, _LEFT, _TOP = 900, 320, 70, 20


@dataclass(frozen=True)
class Lifetime:
    """A buffer in the arena: its bytes from `offset` on, from step `first` to step `last`, both included."""

    name: str
    offset: int
    size: int
    first: int
    last: int
    scratch: bool = False


@dataclass(frozen=True)
class Timeline:
    """The memory of one host function; `steps` names the launch at each point of time."""

    function: str
    arena_bytes: int
    steps: tuple[str, ...]
    buffers: tuple[Lifetime, ...]

    def svg(self) -> str:
        """Time runs from left to right, addresses from bottom to top; a rectangle is a buffer."""
        steps, total = max(1, len(self.steps)), max(1, self.arena_bytes)
        across, up = _WIDTH / steps, _HEIGHT / total
        parts = [
            f'<svg class="timeline" viewBox="0 0 {_LEFT + _WIDTH + 20} {_TOP + _HEIGHT + 40}" role="img">'
            f'<rect x="{_LEFT}" y="{_TOP}" width="{_WIDTH}" height="{_HEIGHT}" class="frame"/>'
        ]
        for k in range(5):
            y, value = _TOP + _HEIGHT * (1 - k / 4), self.arena_bytes * k // 4
            parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" class="axis" text-anchor="end">{in_bytes(value)}</text>')
        for number, one in enumerate(self.buffers):
            x, y = _LEFT + one.first * across, _TOP + _HEIGHT - (one.offset + one.size) * up
            title = f"{one.name}: {in_bytes(one.size)} at {one.offset}, {self.steps[one.first]} to {self.steps[one.last]}"
            width, height = (one.last - one.first + 1) * across, max(one.size * up, 0.5)
            look = "scratch" if one.scratch else f"hue{number % 8}"
            parts.append(
                f'<g class="buffer {look}"><title>{escape(title)}</title><rect x="{x:.1f}" y="{y:.2f}" width="{width:.1f}" '
                f'height="{height:.2f}"/>'
            )
            if height > 12 and width > 7 * len(one.name):
                parts.append(f'<text x="{x + 4:.1f}" y="{y + height / 2 + 4:.1f}">{escape(one.name)}</text>')
            parts.append("</g>")
        parts.append(f'<text x="{_LEFT}" y="{_TOP + _HEIGHT + 24}" class="axis">{steps} steps</text></svg>')
        return "".join(parts)


def in_bytes(size: int) -> str:
    """A number of bytes with its unit.

    >>> in_bytes(1280), in_bytes(3 << 20)
    ('1.25 KiB', '3 MiB')
    """
    power = min(3, max(0, size.bit_length() - 1) // 10)
    return f"{size / 1024**power:.3g} {('B', 'KiB', 'MiB', 'GiB')[power]}"


def timelines(module: ModuleOp) -> list[Timeline]:
    """The timelines of the host functions that have an arena."""
    kernels = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, KernelOp)}
    functions = [op for op in module.body.block.ops if isinstance(op, FuncOp) and op.arena is not None]
    return [_timeline(function, kernels) for function in functions]


def _timeline(function: FuncOp, kernels: dict[str, KernelOp]) -> Timeline:
    arena = function.arena
    owner: dict[SSAValue, memref.ViewOp] = {}
    used: dict[memref.ViewOp, list[int]] = {}
    steps: list[str] = []
    scratch: list[Lifetime] = []
    for op in function.body.block.ops:
        if isinstance(op, memref.ViewOp) and op.source is arena:
            owner[op.results[0]] = op
        elif _is_view(op) and op.operands[0] in owner:
            owner[op.results[0]] = owner[op.operands[0]]
        elif _is_step(op):
            if isinstance(op, LaunchOp):
                name = op.kernel.string_value()
                offset = op.properties.get("scratch")
                if isinstance(offset, IntegerAttr) and name in kernels:
                    size = scratch_layout(kernels[name])[1]
                    scratch.append(Lifetime(f"scratch of {name}", offset.value.data, size, len(steps), len(steps), True))
                steps.append(name)
            else:
                steps.append(op.name)
            for inner in walk(op) if op.regions else (op,):
                for operand in inner.operands:
                    if operand in owner:
                        used.setdefault(owner[operand], []).append(len(steps) - 1)
    buffers = [_lifetime(view, at, steps) for view, at in used.items()]
    arena_bytes = known_bytes(arena.type) if arena is not None else 0
    return Timeline(function.sym_name.data, arena_bytes or 0, tuple(steps), (*buffers, *scratch))


def steps_of(function: FuncOp) -> list[Operation]:
    """The ops at the points of time of its timeline."""
    return [op for op in function.body.block.ops if _is_step(op)]


def _is_step(op: Operation) -> bool:
    return not isinstance(op, ConstantOp) and not _is_view(op)


def _is_view(op: Operation) -> bool:
    return bool(op.results) and op.name.startswith(("memref.", "program.")) and bool(op.operands)


def _lifetime(view: memref.ViewOp, at: list[int], steps: list[str]) -> Lifetime:
    start = view.byte_shift.owner
    offset = start.value.value.data if isinstance(start, ConstantOp) and isinstance(start.value, IntegerAttr) else 0
    result = view.results[0]
    return Lifetime(result.name_hint or f"from {steps[min(at)]}", offset, known_bytes(result.type) or 0, min(at), max(at))
