"""The graph of a function as a picture: ops, with a frame around those of one kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from io import StringIO

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.printer import Printer

from ..diagnostics import position_of_op
from ..dialects.graph.fusion import FusionOp, YieldOp
from .layout import Box, layered

_LINE, _PAD, _CHARACTER = 15, 10, 6.6
_LONGEST = 400
"""How many characters of an op's text are shown at most: constants may have millions."""


@dataclass
class Node:
    """A box: an op, an argument or the results of the function."""

    label: str
    detail: str
    title: str
    kind: str
    group: int
    box: Box | None = None

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the box around its two lines."""
        return max(len(self.label), len(self.detail), 3) * _CHARACTER + 14, _LINE * (2 if self.detail else 1) + 8


@dataclass
class Drawing:
    """The graph of one function. A group of nodes is one kernel; `kernels` has their names, once known."""

    function: str
    nodes: list[Node] = field(default_factory=list)
    edges: list[tuple[int, int, str]] = field(default_factory=list)
    """From, to, and the type of the value."""
    fused: list[bool] = field(default_factory=list)
    """Of each group, whether it is a fusion."""
    kernels: list[str] = field(default_factory=list)

    def svg(self) -> str:
        """The picture, as an SVG element; a group that is a fusion is a frame, with a link to its kernel."""
        frames = self._place()
        width = max((f.x + f.width for f in frames), default=0) + 20
        height = max((f.y + f.height for f in frames), default=0) + 20
        parts = [f'<svg class="graph" viewBox="-10 -10 {width:.0f} {height:.0f}" role="img">']
        for k, frame in enumerate(frames):
            if self.fused[k]:
                name = self.kernels[k] if k < len(self.kernels) else ""
                parts.append(
                    f'<g class="cluster" data-kernel="{escape(name)}"><rect x="{frame.x:.1f}" y="{frame.y:.1f}" '
                    f'width="{frame.width:.1f}" height="{frame.height:.1f}" rx="6"/>'
                    f'<text x="{frame.x + 6:.1f}" y="{frame.y + 12:.1f}">{escape(name)}</text></g>'
                )
        parts += self._lines()
        for number, node in enumerate(self.nodes):
            parts.append(_drawn(number, node))
        return "".join([*parts, "</svg>"])

    def _place(self) -> list[Box]:
        """Place all nodes, first in their groups, then the groups; the frames."""
        groups: list[list[int]] = [[] for _ in self.fused]
        for k, node in enumerate(self.nodes):
            groups[node.group].append(k)
        inner: list[list[Box]] = []
        sizes: list[tuple[float, float]] = []
        for number, members in enumerate(groups):
            index = {k: i for i, k in enumerate(members)}
            edges = [(index[a], index[b]) for a, b, _ in self.edges if a in index and b in index]
            boxes = layered([self.nodes[k].size for k in members], edges)
            pad, top = (_PAD, _PAD + 12) if self.fused[number] else (0, 0)
            inner.append([Box(b.x + pad, b.y + top, b.width, b.height) for b in boxes])
            right = max((b.x + b.width for b in boxes), default=0)
            bottom = max((b.y + b.height for b in boxes), default=0)
            sizes.append((right + 2 * pad, bottom + pad + top))
        between = {(self.nodes[a].group, self.nodes[b].group) for a, b, _ in self.edges}
        frames = layered(sizes, sorted((a, b) for a, b in between if a != b), gap=(24, 34))
        for frame, members, boxes in zip(frames, groups, inner, strict=True):
            for k, box in zip(members, boxes, strict=True):
                self.nodes[k].box = Box(frame.x + box.x, frame.y + box.y, box.width, box.height)
        return frames

    def _lines(self) -> Iterator[str]:
        for a, b, type in self.edges:
            start, end = self.nodes[a].box, self.nodes[b].box
            assert start is not None and end is not None
            x, y, u, v = start.x + start.width / 2, start.y + start.height, end.x + end.width / 2, end.y
            middle = (y + v) / 2
            yield (
                f'<path class="edge" data-from="{a}" data-to="{b}" '
                f'd="M{x:.1f},{y:.1f}C{x:.1f},{middle:.1f} {u:.1f},{middle:.1f} {u:.1f},{v:.1f}">'
                f"<title>{escape(type)}</title></path>"
            )


def _drawn(number: int, node: Node) -> str:
    box = node.box
    assert box is not None
    middle = box.x + box.width / 2
    detail = (
        f'<text class="detail" x="{middle:.1f}" y="{box.y + 2 * _LINE - 1:.1f}">{escape(node.detail)}</text>'
        if node.detail
        else ""
    )
    return (
        f'<g class="node {node.kind}" data-node="{number}" tabindex="0"><title>{escape(node.title)}</title>'
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="4"/>'
        f'<text x="{middle:.1f}" y="{box.y + _LINE:.1f}">{escape(node.label)}</text>{detail if node.detail else ""}</g>'
    )


def drawings(module: ModuleOp) -> list[Drawing]:
    """The graphs of the functions of a module that have bodies."""
    functions = [op for op in module.body.block.ops if isinstance(op, FuncOp) and op.body.blocks]
    return [_drawing(function) for function in functions]


def _drawing(function: FuncOp) -> Drawing:
    found = Drawing(function.sym_name.data)
    maker: dict[SSAValue, int] = {}
    for argument in function.body.block.args:
        found.fused.append(False)
        maker[argument] = len(found.nodes)
        text = f"%{argument.name_hint or f'arg{argument.index}'}"
        found.nodes.append(Node(text, short_type(argument), f"{text}: {argument.type}", "argument", len(found.fused) - 1))
    for op in function.body.block.ops:
        found.fused.append(isinstance(op, FusionOp))
        if isinstance(op, FusionOp):
            _add_fusion(found, op, maker)
        else:
            _add(found, op, maker)
    return found


def _add_fusion(found: Drawing, op: FusionOp, maker: dict[SSAValue, int]) -> None:
    block: Block = op.body.block
    for argument, operand in zip(block.args, op.operands, strict=True):
        if operand in maker:
            maker[argument] = maker[operand]
    for inner in block.ops:
        if isinstance(inner, YieldOp):
            for result, value in zip(op.results, inner.operands, strict=False):
                if value in maker:
                    maker[result] = maker[value]
        else:
            _add(found, inner, maker)


def _add(found: Drawing, op: Operation, maker: dict[SSAValue, int]) -> None:
    number = len(found.nodes)
    name = op.name.removeprefix("graph.").removeprefix("func.")
    kind = "constant" if op.name == "graph.const" else "results" if op.name == "func.return" else "op"
    detail = short_type(op.results[0]) if op.results else ""
    found.nodes.append(Node(name, detail, _text(op), kind, len(found.fused) - 1))
    used = {operand: None for operand in op.operands}
    for region in op.regions:  # values that the bodies of loops and branches capture
        for inner in region.walk():
            used.update((operand, None) for operand in inner.operands if operand in maker)
    for operand in used:
        if operand in maker:
            found.edges.append((maker[operand], number, str(operand.type)))
    for result in op.results:
        maker[result] = number


def _text(op: Operation) -> str:
    """The text of an op without its regions, cut where it is long, and its source position."""
    stream = StringIO()
    Printer(stream).print_op(op)
    text = stream.getvalue()
    text = text.split("\n", 1)[0] if op.regions else text
    text = text if len(text) <= _LONGEST else text[:_LONGEST] + " ..."
    place = position_of_op(op)
    return f"{text}\n{place}" if place is not None else text


def short_type(value: SSAValue) -> str:
    """A type as it fits into a box.

    >>> from xdsl.dialects.builtin import TensorType, f32
    >>> from xdsl.dialects.test import TestOp
    >>> short_type(TestOp(result_types=[TensorType(f32, [32, 64])]).results[0])
    '32x64xf32'
    """
    text = str(value.type)

    return text[7:-1] if text.startswith("tensor<") else text
