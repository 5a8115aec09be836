"""The loops of an op that a kernel describes (`op_kernels.py`), for the sizes of the op.

The kernel is for one problem, as one matrix; an op whose operands have more dims solves a stack of them, in parallel. Small
problems that take the same steps are copied to local buffers and back, as the strategy `batched_small` expects them: it then
holds one problem in each lane.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr

from ..codegen.targets import Target
from ..dialects.graph.base import GraphOp
from ..dialects.loop.parameters import Interface
from ..dialects.types import complex_of, element_of, shape_of
from ..errors import CompileError
from .kernel_replay import Buffers, Operand, Part, Replay
from .op_kernels import loop_form

if TYPE_CHECKING:
    from .nest_builder import NestBuilder

_LEAST = 4
"""Fewest problems that are worth moving into lanes."""


def write_kernel(b: NestBuilder, op: GraphOp) -> None:
    """Write the loops of the kernel that is the loop form of an op, for each problem of a stack."""
    operands, results = op.operand_parts(), op.result_parts()
    shape = op.shape()
    n = 0 if op.facts.problem_rank is None else len(shape) - op.facts.problem_rank
    if 0 in shape[:n] or any(0 in shape_of(result) for result in op.results):
        return
    in_lanes = _goes_in_lanes(op, n, b.target)
    kernel = loop_form(op, [*_elements(op.operands, operands), *_elements(op.results, results)], b.target, in_lanes)
    values = [*(op.operands[parts[0]] for parts in operands), *(op.results[parts[0]] for parts in results)]
    interface = Interface(kernel)
    if len(interface.parameters) != len(values):
        facts = f"it has {len(interface.parameters)} parameters, the op has {len(values)} operands and results"
        raise CompileError(f"'{op.name}' op cannot be computed by kernel @{kernel.sym_name.data}: {facts}")
    lead: dict[int, AffineExpr] = {}
    with ExitStack() as loops:
        # the longest dim is innermost: vectors hold one of its problems in each lane
        for dim in sorted(range(n), key=lambda d: shape[d]):
            lead[dim] = loops.enter_context(b.loop(shape[dim])).index
        at = [lead[dim] for dim in range(n)]
        given: list[Part] = [Operand(b, k, at) for k in range(len(op.operands))]
        found: list[Part] = [Buffers(b, buffer, at) for buffer in b.results]
        used = [given, found]
        if in_lanes:
            used = [_locals(b, op.operands, n, "given"), _locals(b, op.results, n, "found")]
            _copy(b, given, used[0], op.operands, n)
        replay = Replay(b, kernel, is_split=len(op.operands) > len(operands))
        if in_lanes:
            _share(replay, interface, operands, results, used)
        arrays = [*([used[0][k] for k in parts] for parts in operands), *([used[1][k] for k in parts] for parts in results)]
        sizes = [shape_of(value)[n:] for value in values]
        replay.run(interface, arrays, sizes)
        if in_lanes:
            _copy(b, used[1], found, op.results, n)


def _goes_in_lanes(op: GraphOp, lead: int, target: Target) -> bool:
    """Whether vectors may hold a problem in each lane: they are several, small, and take the same steps."""
    if not op.facts.uniform_steps or max(op.shape()[:lead], default=1) < _LEAST:
        return False
    elements = sum(math.prod(shape_of(value)[lead:]) for value in (*op.operands, *op.results))
    return elements * target.vector_bits // 8 <= target.l2_bytes * 3 // 4


def _share(
    replay: Replay,
    interface: Interface,
    operands: Sequence[Sequence[int]],
    results: Sequence[Sequence[int]],
    used: Sequence[list[Part]],
) -> None:
    """Let a result that the kernel begins as a copy of an operand be the local copy that there is of that operand."""
    arguments: list[SSAValue] = [parameter.argument for parameter in interface.parameters]
    for nest, source, target in replay.first_copies():
        k, r = arguments.index(source), arguments.index(target) - len(operands)
        for given, found in zip(operands[k], results[r], strict=True):
            unused = used[1][found]
            assert isinstance(unused, Buffers)
            unused.drop()
            used[1][found] = used[0][given]
        replay.skipped.add(nest)


def _elements(values: Sequence[SSAValue], parts: Sequence[Sequence[int]]) -> list[Attribute]:
    """The element types of values that are given as parts: complex ones for two."""
    return [complex_of(element_of(values[p[0]])) if len(p) == 2 else element_of(values[p[0]]) for p in parts]


def _locals(b: NestBuilder, values: Sequence[SSAValue], lead: int, name: str) -> list[Part]:
    """A local buffer for a problem of each value."""
    buffers = [b.local(shape_of(v)[lead:], element_of(v), "scratch", name=f"{name}{k}") for k, v in enumerate(values)]
    return [Buffers(b, buffer, []) for buffer in buffers]


def _copy(b: NestBuilder, sources: Sequence[Part], targets: Sequence[Part], likes: Sequence[SSAValue], lead: int) -> None:
    """Copy a problem, an array after the other."""
    for source, target, like in zip(sources, targets, likes, strict=True):
        with ExitStack() as loops:
            point = [loops.enter_context(b.loop(size)).index for size in shape_of(like)[lead:]]
            target.store(source.load(point), point)
