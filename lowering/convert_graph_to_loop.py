"""Lower graph functions: each distinct fusion becomes a kernel, the function a host function that launches kernels on buffers.

The host function is a `program.func`: it takes memrefs, for the arguments and for each result. Intermediates are
`memref.alloc`s until `plan-buffers`; a reshape is another view of the same buffer. Equal fusions share a kernel.

Where the blocked loops of an op cannot be built, the op gets its plain nest; a composite is decomposed and its primitives are
fused and converted instead.

A handwritten kernel (`graph.kernel`) is launched on buffers, with scalars loaded from theirs, and its sizes as constants.
Kernels that were in the module before are marked `scheduled`: later passes do not change them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import Any

from xdsl.context import Context
from xdsl.dialects import builtin, func, memref
from xdsl.dialects.builtin import IndexType, StringAttr, SymbolRefAttr, UnitAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass

from ..dialects import program
from ..dialects.element_types import numpy_dtype
from ..dialects.graph.base import CompositeOp, GraphOp
from ..dialects.graph.conditional import ChosenOp, WhileOp
from ..dialects.graph.control import ControlOp, ForOp, is_given_part
from ..dialects.graph.effects import EffectOp, effects_stay, has_effects
from ..dialects.graph.fusion import FusionOp, YieldOp
from ..dialects.graph.kernel import KernelCallOp
from ..dialects.graph.shape import ConcatOp, SliceOp
from ..dialects.loop.effects import CallbackOp
from ..dialects.loop.kernel import KernelOp
from ..dialects.loop.memory import CheckOp, LaunchOp, LoadOp
from ..dialects.operations import clone, create
from ..dialects.program_views import GetGlobalOp
from ..dialects.sizes.polynomial import Size, symbols_of
from ..dialects.types import element_of, has_symbols, shape_of
from ..errors import CompileError, LaminaError, about
from ..transforms.graph_collapse_dims import collapse_block
from ..transforms.graph_decompose import decompose
from ..transforms.graph_fuse import fuse_block
from ..transforms.graph_name_sizes import name_sizes
from .analysis.nests import holds, walk
from .carried import carried_by, initial_of, order_for_carried, overwritten_operand
from .fusion_to_loops import KernelPlan
from .host_buffers import HostBuffers, error_at, memref_of
from .host_calls import call_once, repeat, repeat_while
from .kernel_table import Kernels
from .plan_buffers import ALIGNMENT
from .work import launch_work_of_kernel

DONATED = "lamina.donated"
"""The attribute of a donated argument of a graph function."""


class _FunctionConverter(HostBuffers):
    """Builds the host function of one graph function."""

    def __init__(
        self,
        function: func.FuncOp,
        kernels: Kernels,
        by_hand: dict[str, KernelOp],
        carried: Sequence[tuple[SSAValue, SSAValue]] = (),
        effects: Collection[Operation] = (),
    ):
        super().__init__(function)
        self.carried = carried
        """The carried values of a loop body: each an argument, and the returned value that replaces it."""
        self.effects = effects
        """The ops whose order is fixed."""
        self.placed: set[Operation] = set()
        """The concats whose operands are stored in their result."""
        self.kernels = kernels
        self.by_hand = by_hand
        self.globals: list[memref.GlobalOp] = []
        self.work = 0

    def convert(self) -> None:
        source = self.function.body.block
        last = source.last_op
        if not isinstance(last, func.ReturnOp):
            raise CompileError(f"function @{self.function.sym_name.data} must end with a return")
        for value in (*source.args, *last.operands):
            _require_tensor(value, self.function.sym_name.data)
        returned = list(last.operands)
        values = (*source.args, *returned)
        types: list[Attribute] = list(map(memref_of, values))
        self.block = Block(arg_types=types)
        for symbol in symbols_of([size for value in source.args for size in shape_of(value)]):
            self.size(Size.product((symbol,)))
        for old, new in zip(source.args, self.block.args, strict=False):
            self.buffers[old] = new
            new.name_hint = old.name_hint
        results = self.block.args[len(source.args) : len(types)]
        for k, argument in enumerate(results):
            argument.name_hint = "result" if len(results) == 1 else f"result{k}"
        copies = [(value, target) for value, target in zip(returned, results, strict=True) if not self.assign(value, target)]
        if self.carried:
            order_for_carried(source, self.carried, self.effects)
        else:  # storing a part of a carried value early would overwrite the previous value
            self.place_parts(source)
        for op in source.ops:
            if op is not last:
                with about(op):
                    self._op(op)
        for value, target in copies:
            self.insert(create(memref.CopyOp, operands=[self.buffers[value], target]), last)
        self._replace(values, len(returned))

    def _replace(self, values: Sequence[SSAValue], n_results: int) -> None:
        """Replace the graph function by the host function, whose arguments are for `values`."""
        old = self.function
        sized = [(k, self.sizes_of(value, old)) for k, value in enumerate(values) if has_symbols(value)]
        numbers = {size: k for k, size in enumerate(self.sizes.values())}

        def spelled(size: Any) -> AffineExpr:
            return AffineConstantExpr(size) if isinstance(size, int) else AffineDimExpr(numbers[size])

        shapes = [(k, list(map(spelled, sizes)), None) for k, sizes in sized]
        donated = [] if old.arg_attrs is None else [k for k, a in enumerate(old.arg_attrs.data) if DONATED in a.data]
        name, work = old.sym_name.data, None if self.sizes else self.work
        meant = list(self.sizes)
        made = program.FuncOp.build_function(
            name, self.block, n_results, donated=donated, work=work, shapes=shapes, meant=meant
        )
        if old.sym_visibility is not None and old.sym_visibility.data == "private":
            made.properties["sym_visibility"] = old.sym_visibility
        made.attributes.update(old.attributes)
        made.location = old.location
        block = old.parent
        assert block is not None
        block.insert_op_before(made, old)
        old.detach()
        old.erase()

    def assign(self, value: SSAValue, target: SSAValue) -> bool:
        """Let the op that computes a returned value store it into the result; False when it must be copied."""
        while isinstance(value.owner, GraphOp) and value.owner.facts.view:
            source = value.owner.operands[0]
            if value in self.destinations or len(list(value.uses)) > 1:
                return False
            target = self.view(target, source, value.owner)
            value = source
        if not isinstance(value.owner, Operation) or value in self.destinations:
            return False
        self.destinations[value] = target
        owner = value.owner
        initial = owner.initial(value) if isinstance(owner, KernelCallOp) else initial_of(owner, value)
        # contents that only this kernel or loop changes are built in the result
        maker = None if initial is None or not initial.has_one_use() else initial.owner
        if initial is not None and isinstance(maker, FusionOp | KernelCallOp | GraphOp | ControlOp):
            is_view = isinstance(maker, GraphOp) and maker.facts.view
            if not is_view and maker.name != "graph.const":
                self.assign(initial, target)
        return True

    def place_parts(self, source: Block) -> None:
        """Let kernels store the operands of a concatenation along the outermost dim directly into its result, without a copy.

        This needs operands that are computed for it alone, and begin at cache lines.
        """
        for op in source.ops:
            concat = _concat_in(op)
            if concat is None or has_symbols(concat.y) or prod(shape_of(concat.y)[: concat.dim.value.data]) != 1:
                continue
            parts = list(op.operands) if concat is op else [op.operands[_parameter(arg)] for arg in concat.operands]
            *firsts, _ = accumulate([prod(shape_of(part)) for part in parts], initial=0)
            item = numpy_dtype(element_of(concat.y)).itemsize
            distinct = len(set(parts)) == len(parts)
            if distinct and all(map(_is_placeable, parts)) and all(first * item % ALIGNMENT == 0 for first in firsts):
                self.placed.add(op)
                self.parts |= {part: (op.results[0], first) for part, first in zip(parts, firsts, strict=True)}

    def _op(self, op: Operation) -> None:
        for result in op.results:
            _require_tensor(result, self.function.sym_name.data)
        if op in self.placed:
            self.buffer(op.results[0], op)
        elif isinstance(op, FusionOp):
            self._launch(op, KernelPlan.of(op))
        elif isinstance(op, KernelCallOp):
            self._launch_by_hand(op)
        elif isinstance(op, ForOp):
            self.work += repeat(self, op)
        elif isinstance(op, WhileOp):
            self.work += repeat_while(self, op)
        elif isinstance(op, ChosenOp):
            self.work += call_once(self, op)
        elif isinstance(op, EffectOp):
            self._effect(op)
        elif op.name == "graph.const":
            self._constant(op)
        elif isinstance(op, GraphOp) and op.facts.view:
            value = op.results[0]
            self.buffers[value] = self.view(self.buffers[op.operands[0]], value, op)
        elif isinstance(op, SliceOp) and op.y not in self.destinations and is_given_part(op):
            self.buffers[op.y] = self.view(self.buffers[op.x], op.y, op, op.offset or 0)
        elif isinstance(op, GraphOp) and (op.has_nest or op.equations()):
            self._single(op)
        elif isinstance(op, CompositeOp):
            raise CompileError(f"'{op.name}' op is a composite: run graph-decompose before convert-graph-to-loop")
        else:
            raise CompileError(f"'{op.name}' op has no loop form: convert-graph-to-loop cannot lower it")

    def _single(self, op: GraphOp) -> None:
        """The fusion of an op; an op outside every fusion is one by itself."""
        body = Block(arg_types=[o.type for o in op.operands])
        for argument, operand in zip(body.args, op.operands, strict=True):
            argument.name_hint = operand.name_hint
        copied = clone(op)
        copied.operands = body.args
        copied.location = op.location
        body.add_op(copied)
        if (initial := overwritten_operand(op)) is not None:
            self.written(op, initial, op.results[0])
        self._launch(op, KernelPlan(body, copied.results, range(len(shape_of(copied.results[0])))), op.facts.overwrites)

    def _launch(self, op: Operation, plan: KernelPlan, overwritten: int | None = None) -> None:
        """Launch the kernel of a plan; the contents of operand `overwritten` are in the buffer of the result already."""
        targets = [self.buffer(result, op) for result in op.results]
        given = (*(self.buffers[operand] for operand in op.operands), *targets)
        values, likes = (*op.operands, *op.results), (*plan.body.args, *plan.outputs)
        buffers = [self.reshaped(*three, op) for three in zip(given, values, likes, strict=True)]
        kernel, work = self.kernels.get(plan)
        self.work += work
        if kernel is None:
            self._decomposed(op, plan, buffers)
            return
        arguments = [buffer for k, buffer in enumerate(buffers) if k != overwritten]
        arguments += [self.size(size, op) for size in self.kernels.sizes[kernel]]
        self.insert(
            LaunchOp.create(operands=arguments, properties={"kernel": SymbolRefAttr(kernel.sym_name)}),
            op,
        )

    def _decomposed(self, op: Operation, plan: KernelPlan, buffers: Sequence[SSAValue]) -> None:
        """Convert the primitives into which the composites of a plan decompose, in place of its op."""
        body = Block(arg_types=[argument.type for argument in plan.body.args])
        values: dict[SSAValue, SSAValue] = dict(zip(plan.body.args, body.args, strict=True))
        body.add_ops([clone(member, values) for member in plan.body.ops if not isinstance(member, YieldOp)])
        body.add_op(func.ReturnOp(*(values[value] for value in plan.outputs)))
        _decompose_and_fuse(body)
        targets = buffers[len(body.args) :]
        self.buffers.update(zip(body.args, buffers, strict=False))
        returned = list(zip(body.last_op.operands, targets, strict=True))  # pyright: ignore[reportOptionalMemberAccess]
        copies = [(value, target) for value, target in returned if not self.assign(value, target)]
        for member in body.ops:
            if not isinstance(member, func.ReturnOp):
                self._op(member)
        for value, target in copies:
            self.insert(create(memref.CopyOp, operands=[self.buffers[value], target]), op)

    def _launch_by_hand(self, op: KernelCallOp) -> None:
        """Launch a handwritten kernel: written arrays in the buffers of the results, contents copied there first."""
        name = op.kernel.string_value()
        kernel = self.by_hand.get(name)
        if kernel is None:
            raise error_at(op, f"names no kernel of the module: @{name}")
        if holds(kernel, CheckOp):
            rule = "a program cannot stop in the middle: leave check_bounds out, or call it outside of jit"
            raise error_at(op, f"runs @{name}, which checks bounds: {rule}")
        try:
            taken = op.arguments(kernel)
            sizes = op.sizes(kernel, taken, [operand.type for operand in op.operands])
        except LaminaError as error:
            raise error_at(op, str(error)) from None
        given: list[SSAValue] = []
        for argument in taken:
            operand = argument.operand
            if argument.result is not None:
                given.append(self.written(op, operand, argument.result))
            elif operand is not None and argument.parameter.is_array:
                given.append(self.buffers[operand])
            elif operand is not None:
                given.append(self.insert(LoadOp.build_load(self.buffers[operand], AffineMap(0, 0, ()), []), op).results[0])
        bound, rest = iter(given), iter(self.index(n, op) for n in sizes.values)
        arguments = [next(rest if isinstance(a.type, IndexType) else bound) for a in kernel.body.block.args]
        self.insert(LaunchOp.create(operands=arguments, properties={"kernel": SymbolRefAttr(name)}), op)
        self.work += launch_work_of_kernel(kernel.body.block, dict(zip(kernel.index_arguments, sizes.values, strict=True)))

    def _effect(self, op: EffectOp) -> None:
        """Hand over buffers to Python."""
        mask = None if op.mask is None else self.buffers[op.mask]
        given, into = [self.buffers[v] for v in op.values], [self.buffer(result, op) for result in op.results]
        kind = op.name.removeprefix("graph.")
        self.insert(CallbackOp.make(kind, op.text.data, mask, given, into, op.batch_dims), op)

    def _constant(self, op: Operation) -> None:
        value = op.properties["value"]
        name = self.kernels.unique(f"{self.function.sym_name.data}_const{len(self.globals)}")
        type = memref_of(op.results[0])
        self.globals.append(
            create(
                memref.GlobalOp,
                properties={
                    "sym_name": StringAttr(name),
                    "type": type,
                    "initial_value": value,
                    "sym_visibility": StringAttr("private"),
                    "constant": UnitAttr(),
                },
            )
        )
        get = GetGlobalOp.create(result_types=[type], properties={"name": SymbolRefAttr(name)})
        self.buffers[op.results[0]] = self.insert(get, op).results[0]
        if (target := self.destinations.get(op.results[0])) is not None:
            self.insert(create(memref.CopyOp, operands=[self.buffers[op.results[0]], target]), op)


def _concat_in(op: Operation) -> ConcatOp | None:
    """The concat that an op is, or that is the whole of a fusion."""
    if type(op) is FusionOp:
        members = list(op.body.block.ops)
        return members[0] if len(members) == 2 and type(members[0]) is ConcatOp else None
    return op if type(op) is ConcatOp else None


def _parameter(value: SSAValue) -> int:
    """The operand number of a fusion for a value of its body."""
    assert isinstance(value, BlockArgument), "a fusion of a concat alone"
    return value.index


def _is_placeable(value: SSAValue) -> bool:
    """Whether a value is computed by kernels, for one other op alone, in a buffer without initial contents."""
    op = value.owner
    if not isinstance(op, FusionOp | GraphOp) or not value.has_one_use() or initial_of(op, value) is not None:
        return False
    if isinstance(op, FusionOp):
        return True
    return op.name != "graph.const" and not op.facts.view and (op.has_nest or bool(op.equations()))


def _require_tensor(value: SSAValue, function: str) -> None:
    if not isinstance(value.type, builtin.TensorType):
        raise CompileError(f"function @{function} has a value of type {value.type}: only functions over tensors are compiled")


def bodies_first(functions: Sequence[func.FuncOp]) -> list[func.FuncOp]:
    """Functions in an order in which each follows those that its loops and branches call."""
    by_name = {function.sym_name.data: function for function in functions}
    ordered: dict[func.FuncOp, None] = {}
    open_: list[func.FuncOp] = []

    def visit(function: func.FuncOp) -> None:
        if function in open_:
            raise error_at(
                function, f"@{function.sym_name.data} is a function of a loop or branch in itself: recursion cannot be compiled"
            )
        if function in ordered:
            return
        open_.append(function)
        for op in walk(function):
            for name in op.callees if isinstance(op, ControlOp) else ():
                if (callee := by_name.get(name.string_value())) is not None:
                    visit(callee)
        open_.pop()
        ordered[function] = None

    for function in functions:
        visit(function)
    return list(ordered)


def _decompose_and_fuse(body: Block) -> None:
    """Replace the composites of a block, including those with loop nests of their own, and group the resulting ops."""
    while composites := [op for op in body.ops if isinstance(op, CompositeOp)]:
        for op in composites:
            decompose(op)
    fuse_block(body)
    collapse_block(body)


@dataclass(frozen=True)
class ConvertGraphToLoopPass(ModulePass):
    """Lower every graph function of the module."""

    name = "convert-graph-to-loop"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        kernels = Kernels(op)
        block = op.body.block
        kernels.names = {name.data for o in block.ops if isinstance(name := o.properties.get("sym_name"), StringAttr)}
        by_hand = {o.sym_name.data: o for o in block.ops if isinstance(o, KernelOp)}
        for kernel in by_hand.values():
            if not kernel.is_derived:
                kernel.mark_scheduled()
        globals_: list[Operation] = []
        name_sizes(op)
        functions = [f for f in block.ops if isinstance(f, func.FuncOp) and f.body.blocks]
        carried = carried_by(functions)
        with effects_stay():
            effects = {inner for function in functions for inner in function.body.block.ops if has_effects(inner)}
        for function in bodies_first(functions):
            converter = _FunctionConverter(function, kernels, by_hand, carried.get(function.sym_name.data, ()), effects)
            with about(function):
                converter.convert()
            globals_ += converter.globals
        first = block.first_op
        for new in globals_:
            block.insert_op_before(new, first) if first is not None else block.add_op(new)
        for kernel, _ in kernels.by_key.values():
            if kernel is not None:
                block.add_op(kernel)
