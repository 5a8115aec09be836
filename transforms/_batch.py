"""A function mapped over a batch: its ops on batched operands, the batch always the first dim.

Elementwise ops take batched operands directly (unbatched ones are broadcast); others declare a batching rule.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ..dialects.graph.autodiff import DerivativeOp, VmapOp
from ..dialects.graph.base import CompositeOp, GraphOp, ints
from ..dialects.graph.builder import GraphBuilder
from ..dialects.graph.collective import CollectiveOp
from ..dialects.graph.conditional import CallOp, CaseOp, ChosenOp, WhileOp
from ..dialects.graph.control import ControlOp, ForOp
from ..dialects.graph.custom import CustomDerivativeOp
from ..dialects.graph.effects import AssertOp, CallbackOp, EffectOp, has_effects
from ..dialects.graph.kernel import KernelCallOp
from ..dialects.operations import clone
from ..dialects.types import element_of, shape_of, tensor
from ..errors import CompileError
from ._conditionals import batch_chosen, batch_while
from ._custom_rules import batch_custom
from ._for_loops import batch_for
from ._functions import called_function, error_at, replace_op, require_static
from ._kernels import batch_kernel


class Batcher:
    """Rebuilds ops with a leading batch dim where an operand has one."""

    def __init__(self, b: GraphBuilder, size: int, mask: SSAValue | None = None):
        self.b, self.size, self.mask = b, size, mask
        """`mask`: the elements for which effects happen, where not for all."""
        self.values: dict[SSAValue, SSAValue] = {}
        self.batched: set[SSAValue] = set()
        """Values of the function (not their replacements: one value may be passed both batched and not)."""
        self.differentiated = True
        """Whether code around the batch is still to be differentiated."""
        self.made: dict[tuple[object, ...], list[FuncOp]] = {}
        """The replacements of called functions."""

    def spread(self, value: SSAValue) -> SSAValue:
        """An unbatched value repeated along the batch dim."""
        rank = len(shape_of(value))
        return self.b.broadcast(value, tuple(range(1, rank + 1)), (self.size, *shape_of(value)))

    def run(self, function: FuncOp) -> list[SSAValue]:
        """Rebuild the ops of a function whose arguments are set; returns its results, all batched."""
        return [value if is_batched else self.spread(value) for value, is_batched in self.rebuild(function)]

    def of_function(
        self, b: GraphBuilder, function: FuncOp, values: Sequence[SSAValue], flags: Sequence[bool], mask: SSAValue | None = None
    ) -> Batcher:
        """One for a function of other values, of which those are batched that are flagged; with a mask, for some elements."""
        inner = Batcher(b, self.size, mask)
        inner.made, inner.differentiated = self.made, self.differentiated
        inner.values.update(zip(function.body.block.args, values, strict=True))
        inner.batched.update(a for a, flag in zip(function.body.block.args, flags, strict=True) if flag)
        return inner

    def rebuild(self, function: FuncOp) -> list[tuple[SSAValue, bool]]:
        """Rebuild the ops of a function whose arguments are set; returns its results, and whether each is batched."""
        location = self.b.location
        last = function.body.block.last_op
        assert last is not None
        for op in function.body.block.ops:
            if op is not last:
                self.process(op)
        self.b.location = location
        return [(self.values[v], v in self.batched) for v in last.operands]

    def process(self, op: Operation) -> None:
        """Rebuild one op."""
        operands = [self.values[o] for o in op.operands]
        flags = [o in self.batched for o in op.operands]
        self.b.location = op.location
        if self.mask is not None and isinstance(op, ControlOp | CustomDerivativeOp) and has_effects(op):
            if not ((isinstance(op, CaseOp) and flags[0]) or isinstance(op, CallOp)):
                rule = "has effects in a branch or loop of which each element of the batch takes its own"
                raise error_at(op, CompileError, f"{rule}: they can stand there, but in no loop or branch of functions there")
        if isinstance(op, EffectOp) and (any(flags) or self.mask is not None):
            self._effect(op, operands, flags)
            return
        if any(flags) and isinstance(op, ControlOp | CustomDerivativeOp):
            _batch_control(op, self)
            return
        if not any(flags):
            self.b.insert(clone(op, self.values))
            return
        if isinstance(op, CollectiveOp) and flags[1]:  # over this axis: one result for all elements
            self.values[op.y] = op.of_all(self.b, operands[0] if flags[0] else self.spread(operands[0]))
            return
        if not isinstance(op, GraphOp):
            raise error_at(op, CompileError, "has no batching rule")
        if isinstance(op, KernelCallOp):
            results = batch_kernel(op, operands, flags, self)
        elif op.batching == "elementwise":
            full = [o if flag else self.spread(o) for o, flag in zip(operands, flags, strict=True)]
            types = [tensor(element_of(r), (self.size, *shape_of(r))) for r in op.results]
            new = type(op).create(operands=full, result_types=types, properties=dict(op.properties))
            self.b.insert(new)
            results = list(new.results)
        elif self.size == 0:  # rules may divide by it, or multiply groups by it
            results = [self.b.full(0, tensor(element_of(r), (0, *shape_of(r)))) for r in op.results]
        elif op.batching is None:
            assert isinstance(op, CompositeOp)
            results = self._decomposed(op, operands, flags)
        else:
            assert callable(op.batching)
            results = list(op.batching(self.b, op, operands, flags))
        for old, value in zip(op.results, results, strict=True):
            self.values[old] = value
            self.batched.add(old)

    def _decomposed(self, op: CompositeOp, operands: Sequence[SSAValue], flags: Sequence[bool]) -> list[SSAValue]:
        """The results of a composite without a rule, from its decomposition."""
        block = Block(arg_types=[operand.type for operand in op.operands])
        found = op.decompose(GraphBuilder(block, op.location), op.properties, *block.args)
        inner = Batcher(self.b, self.size, self.mask)
        inner.differentiated = self.differentiated
        inner.values.update(zip(block.args, operands, strict=True))
        inner.batched.update(argument for argument, flag in zip(block.args, flags, strict=True) if flag)
        for one in block.ops:
            inner.process(one)
        results = [found] if isinstance(found, SSAValue) else found
        return [inner.values[v] if v in inner.batched else self.spread(inner.values[v]) for v in results]

    def _effect(self, op: EffectOp, operands: Sequence[SSAValue], flags: Sequence[bool]) -> None:
        """An effect for each element of the batch, or as a callback declares."""
        method = op.vmap.data if isinstance(op, CallbackOp) else "sequential"
        if method == "none":
            rule = 'has no batching rule: give pure_callback() a vmap_method, "sequential" to call it for each element'
            raise error_at(op, CompileError, f'{rule}, "expand_dims" or "broadcast_all" to call it with all of them')
        if method == "expand_dims":
            shapes = ((1, *shape_of(o)) for o in operands)
            full = [o if flag else self.b.reshape(o, shape) for o, flag, shape in zip(operands, flags, shapes, strict=True)]
        else:
            full = [o if flag else self.spread(o) for o, flag in zip(operands, flags, strict=True)]
        batch = op.batch_dims + (method == "sequential")
        mask = full.pop(0) if op.mask is not None else None
        if self.mask is not None and op.is_effect:
            mask = self._masked(op, mask, shape_of(full[0])[:batch] if full else (self.size,))
        if mask is None and not full:  # no operand determines the size of the batch
            mask = self.b.full(True, tensor(i1, (self.size,)))
        types = [tensor(element_of(r), (self.size, *shape_of(r))) for r in op.results]
        new = op.with_operands(mask, full, types, batch)
        self.b.insert(new)
        for old, value in zip(op.results, new.results, strict=True):
            self.values[old] = value
            self.batched.add(old)

    def _masked(self, op: EffectOp, mask: SSAValue | None, shape: Sequence[int]) -> SSAValue:
        """The condition of an effect that only happens where the mask holds: an assertion holds elsewhere."""
        assert self.mask is not None
        taken = self.mask if len(shape) == 1 else self.b.broadcast(self.mask, (0,), tuple(shape))
        if isinstance(op, AssertOp):
            assert mask is not None
            return self.b.or_(mask, self.b.not_(taken))
        return taken if mask is None else self.b.and_(mask, taken)


def _batch_control(op: ControlOp | CustomDerivativeOp, batcher: Batcher) -> None:
    if isinstance(op, ForOp):
        batch_for(op, batcher)
    elif isinstance(op, WhileOp):
        batch_while(op, batcher)
    elif isinstance(op, CustomDerivativeOp):
        batch_custom(op, batcher)
    else:
        assert isinstance(op, ChosenOp)
        batch_chosen(op, batcher)


def expand_vmap(op: VmapOp) -> None:
    """Replace one `graph.vmap`; the function it names must no longer contain calls or transformations."""
    function = called_function(op)
    require_static(op, function)
    axes = ints(op.axes)
    size = next(shape_of(a)[axis] for a, axis in zip(op.arguments, axes, strict=True) if axis >= 0)
    batcher = Batcher(GraphBuilder(InsertPoint.before(op), op.location), size)
    module = op.get_toplevel_object()
    assert isinstance(module, Operation)
    batcher.differentiated = any(isinstance(other, DerivativeOp) for other in module.walk())
    for argument, inner, axis in zip(op.arguments, function.body.block.args, axes, strict=True):
        value = argument
        if axis > 0:
            rank = len(shape_of(argument))
            value = batcher.b.transpose(argument, perm=(axis, *(d for d in range(rank) if d != axis)))
        batcher.values[inner] = value
        if axis >= 0:
            batcher.batched.add(inner)
    results = batcher.run(function)
    replace_op(op, results)
