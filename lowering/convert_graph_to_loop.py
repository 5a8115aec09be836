"""Lower graph functions: each unique fusion becomes one kernel, the function a host function that launches kernels on buffers.

The host function is a `program.func`: it takes memrefs, the arguments and one a result. Intermediates are `memref.alloc`s until
`plan-buffers`; a reshape is another view of the same buffer. Equal fusions share a kernel.

Where the blocked loops of an op cannot be built, the op gets its plain nest; a composite is decomposed and its primitives are
fused and converted instead.

A hand-written kernel (`graph.kernel`) is launched on buffers, numbers loaded from theirs, and its sizes as constants. Kernels
that were in the module before are marked `scheduled`: what follows leaves them as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, StringAttr, SymbolRefAttr, UnitAttr, i1, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.traits import SymbolTable

from ..dialects import program
from ..dialects.graph.base import CompositeOp, GraphOp
from ..dialects.graph.conditional import CaseOp
from ..dialects.graph.conditional import WhileOp as ConditionalOp
from ..dialects.graph.control import ControlOp
from ..dialects.graph.control import ForOp as RepeatedOp
from ..dialects.graph.effects import EffectOp, has_effects
from ..dialects.graph.kernel import KernelCallOp
from ..dialects.graph.structure import FusionOp, YieldOp
from ..dialects.loop.effects import CallbackOp
from ..dialects.loop.memory import CheckOp, LaunchOp, LoadOp
from ..dialects.loop.repeat import BranchOp, HostCallOp, RepeatOp, RepeatWhileOp
from ..dialects.loop.shapes import shapes_attribute
from ..dialects.loop.structure import ForOp, KernelOp, WhileOp
from ..dialects.symbolic import Monomial, Size, expected_size, symbols_of
from ..dialects.types import element_of, has_symbols, index, shape_of
from ..dialects.types import memref as memref_type
from ..errors import CompileError, LaminaError, about
from ..transforms.graph_collapse_dims import collapse_block
from ..transforms.graph_decompose import decompose
from ..transforms.graph_fuse import fuse_block
from ..transforms.graph_name_sizes import name_sizes
from .analysis.nests import holds, walk
from .carried import carried_by, initial_of, order_for_carried, overwritten_operand
from .fallbacks import Fallback, record
from .kernels import KernelEmitter, KernelPlan, size_name

MAX_NAME_OPS = 5
DONATED = "lamina.donated"
"""The attribute of an argument of a graph function that its caller gives away."""


@dataclass
class _Kernels:
    """The kernels of a module, one for each distinct fusion body."""

    module: builtin.ModuleOp
    by_key: dict[object, KernelOp | None] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    sizes: dict[KernelOp, list[Monomial]] = field(default_factory=dict)
    """What the index arguments of kernels are: terms of sizes that only a call knows."""

    def get(self, plan: KernelPlan) -> KernelOp | None:
        """The kernel of a plan; None where it has to be converted as the primitives of a composite."""
        key = plan_key(plan)
        if key not in self.by_key:
            self.by_key[key] = self._built(plan)
        return self.by_key[key]

    def _built(self, plan: KernelPlan) -> KernelOp | None:
        """A new kernel; where the nest of its op cannot be built, by the plain nest of that op."""
        nest, name = plan.nest, self._name(plan.body)
        if nest is None or not (nest.composite or nest.has_plain_nest):
            return self._emitted(KernelEmitter(plan, self.module), name)
        try:
            return self._emitted(KernelEmitter(plan, self.module), name)
        except MemoryError:
            raise
        except Exception as error:
            event = Fallback(name, f"the nest of '{nest.name}'", None, error)
        kernel = self._emitted(KernelEmitter(plan, self.module, is_plain=True), name) if nest.has_plain_nest else None
        record(event, kernel)
        return kernel

    def _emitted(self, emitter: KernelEmitter, name: str) -> KernelOp:
        block = emitter.emit()
        if (overwritten := overwritten_operand(emitter.outputs[0].owner)) is not None:
            block.erase_arg(emitter.buffers[overwritten])  # pyright: ignore[reportArgumentType]
        kernel = KernelOp.create(properties={"sym_name": StringAttr(name)}, regions=[Region(block)])
        if shapes := emitter.given_shapes():
            kernel.properties["shapes"] = shapes_attribute(shapes, len(emitter.sizes))
        self.sizes[kernel] = list(emitter.sizes)
        kernel.in_place_pairs = emitter.inplace
        return kernel

    def _name(self, body: Block) -> str:
        words = [op.name.removeprefix("graph.") for op in body.ops if op.name not in ("graph.const", "graph.yield")]
        heavy = [w for w in words if w not in ("broadcast", "transpose", "slice", "iota", "reshape")] or words or ["copy"]
        shown = list(dict.fromkeys(heavy))
        return self.unique("_".join(shown[:MAX_NAME_OPS]) + (f"_{len(heavy)}ops" if len(shown) > MAX_NAME_OPS else ""))

    def unique(self, base: str) -> str:
        """A symbol name that is still free."""
        name, k = base, 1
        while name in self.names:
            name, k = f"{base}_{k}", k + 1
        self.names.add(name)
        return name


def plan_key(plan: KernelPlan) -> object:
    """A canonical key of a plan: equal keys mean equal kernels."""
    body = plan.body
    number: dict[SSAValue, int] = {argument: k for k, argument in enumerate(body.args)}
    rows: list[object] = [tuple(plan.order), tuple(argument.type for argument in body.args)]
    for op in body.ops:
        if isinstance(op, YieldOp):
            continue
        properties = tuple(sorted(op.properties.items(), key=lambda item: item[0]))
        rows.append((op.name, properties, tuple(number[o] for o in op.operands), tuple(r.type for r in op.results)))
        for result in op.results:
            number[result] = len(number)
    rows += [tuple(number[value] for value in values) for values in (plan.outputs, plan.stored_first)]
    return tuple(rows)


def _work_of(body: Block) -> int:
    """Scalar operations of one run of a fusion body, about: the points of every equation, the elements of every other nest."""
    ops = [op for op in body.ops if isinstance(op, GraphOp)]
    nests = sum(_points(shape_of(v)) for op in ops if op.has_nest for v in (*op.operands, *op.results))
    return nests + sum(_points(equation.space) for op in ops for equation in op.equations())


def _points(sizes: Sequence[Any]) -> int:
    return prod([size if isinstance(size, int) else expected_size(size) for size in sizes])


_UNKNOWN_TRIPS = 16
"""How often a loop of a hand-written kernel is taken to run when its bounds depend on other loops or on data."""


def _work_of_kernel(block: Block, sizes: dict[SSAValue, int]) -> int:
    """Operations of one run of a block of a hand-written kernel, about."""
    total = 0
    for op in block.ops:
        inner = [_work_of_kernel(inside, sizes) for region in op.regions for inside in region.blocks]
        trips = _UNKNOWN_TRIPS if isinstance(op, ForOp | WhileOp) else 1
        if isinstance(op, ForOp) and all(v in sizes for v in (*op.lower_operands, *op.upper_operands)):
            lower = max(op.lower.data.eval([sizes[v] for v in op.lower_operands], []))
            upper = min(op.upper.data.eval([sizes[v] for v in op.upper_operands], []))
            trips = max(0, -(-(upper - lower) // op.step.value.data))
        total += trips * max(sum(inner), 1)
    return total


class _FunctionConverter:
    """Builds the host function of one graph function."""

    def __init__(
        self,
        function: func.FuncOp,
        kernels: _Kernels,
        by_hand: dict[str, KernelOp],
        carried: Sequence[tuple[SSAValue, SSAValue]] = (),
        effects: Collection[Operation] = (),
    ):
        self.function = function
        self.carried = carried
        """What the body of a loop carries: an argument, and the returned value that takes its place."""
        self.effects = effects
        """The ops whose order stays."""
        self.kernels = kernels
        self.by_hand = by_hand
        self.constants: dict[int, SSAValue] = {}
        self.globals: list[memref.GlobalOp] = []
        self.buffers: dict[SSAValue, SSAValue] = {}
        self.destinations: dict[SSAValue, SSAValue] = {}
        self.host = Block()
        self.work = 0
        self.sizes: dict[Any, SSAValue] = {}
        """The arguments of the host function that give sizes which only a call knows, by these."""

    def convert(self) -> None:
        source = self.function.body.block
        last = source.last_op
        if not isinstance(last, func.ReturnOp):
            raise CompileError(f"function @{self.function.sym_name.data} must end with a return")
        for value in (*source.args, *last.operands):
            _require_tensor(value, self.function.sym_name.data)
        returned = list(last.operands)
        values = (*source.args, *returned)
        types: list[Attribute] = list(map(_memref_of, values))
        self.host = Block(arg_types=types)
        for symbol in symbols_of([size for value in source.args for size in shape_of(value)]):
            self._size(Size((((symbol,), 1),)))
        for old, new in zip(source.args, self.host.args, strict=False):
            self.buffers[old] = new
            new.name_hint = old.name_hint
        results = self.host.args[len(source.args) : len(types)]
        for k, argument in enumerate(results):
            argument.name_hint = "result" if len(results) == 1 else f"result{k}"
        copies = [(value, target) for value, target in zip(returned, results, strict=True) if not self._assign(value, target)]
        if self.carried:
            order_for_carried(source, self.carried, self.effects)
        for op in source.ops:
            if op is not last:
                with about(op):
                    self._op(op)
        for value, target in copies:
            self._insert(memref.CopyOp.create(operands=[self.buffers[value], target]), last)
        self._replace(values, len(returned))

    def _size(self, size: Any, origin: Operation | None = None) -> Any:
        """A size: a number, or the argument of the host function that gives it.

        Raises:
            CompileError: no argument of the function has one of its symbols.
        """
        if not isinstance(size, Size):
            return size
        if size not in self.sizes:
            is_called = self.function.sym_visibility is not None and self.function.sym_visibility.data == "private"
            for symbol in size.symbols if origin is not None and not is_called else ():  # who calls it gives its sizes
                if Size((((symbol,), 1),)) not in self.sizes:
                    rule = f"size {size} of one of its values has {symbol}, which is in the shape of no argument"
                    raise _error(origin or self.function, f"cannot be compiled: {rule}")
            argument = self.sizes[size] = self.host.insert_arg(index, len(self.host.args))
            argument.name_hint = size_name(len(self.sizes) - 1)
        return self.sizes[size]

    def _sizes_of(self, value: SSAValue, origin: Operation) -> list[Any]:
        """The sizes of a value: numbers, and arguments of the host function."""
        return [self._size(size, origin) for size in shape_of(value)]

    def _replace(self, values: Sequence[SSAValue], n_results: int) -> None:
        """Put the host function, whose arguments are for `values`, in the place of the graph function."""
        old = self.function
        sized = [(k, self._sizes_of(value, old)) for k, value in enumerate(values) if has_symbols(value)]
        numbers = {size: k for k, size in enumerate(self.sizes.values())}

        def spelled(size: Any) -> AffineExpr:
            return AffineConstantExpr(size) if isinstance(size, int) else AffineDimExpr(numbers[size])

        shapes = [(k, list(map(spelled, sizes)), None) for k, sizes in sized]
        donated = [] if old.arg_attrs is None else [k for k, a in enumerate(old.arg_attrs.data) if DONATED in a.data]
        name, work = old.sym_name.data, None if self.sizes else self.work
        meant = list(self.sizes)
        made = program.FuncOp.build_function(name, self.host, n_results, donated=donated, work=work, shapes=shapes, meant=meant)
        if old.sym_visibility is not None and old.sym_visibility.data == "private":
            made.properties["sym_visibility"] = old.sym_visibility
        made.attributes.update(old.attributes)
        made.location = old.location
        block = old.parent
        assert block is not None
        block.insert_op_before(made, old)
        old.detach()
        old.erase()

    def _assign(self, value: SSAValue, target: SSAValue) -> bool:
        """Let the op that computes a returned value store it into the result; False when it must be copied."""
        while isinstance(value.owner, GraphOp) and value.owner.view:
            source = value.owner.operands[0]
            if value in self.destinations or len(list(value.uses)) > 1:
                return False
            target = self._view(target, source.type, value.owner)
            value = source
        if not isinstance(value.owner, Operation) or value in self.destinations:
            return False
        self.destinations[value] = target
        owner = value.owner
        initial = owner.initial(value) if isinstance(owner, KernelCallOp) else initial_of(owner, value)
        # contents that only this kernel or loop changes are made where the result is
        maker = None if initial is None or not initial.has_one_use() else initial.owner
        if initial is not None and isinstance(maker, FusionOp | KernelCallOp | GraphOp | ControlOp):
            if not getattr(maker, "view", False) and maker.name != "graph.const":
                self._assign(initial, target)
        return True

    def _insert(self, op: Operation, origin: Operation) -> Operation:
        op.location = origin.location
        self.host.add_op(op)
        return op

    def _view(self, buffer: SSAValue, type: Attribute, origin: Operation) -> SSAValue:
        """The same contiguous buffer under another shape, or with pairs for complex numbers."""
        shape = type.get_shape()  # pyright: ignore[reportAttributeAccessIssue]
        strides = [1] * len(shape)
        for k in range(len(shape) - 2, -1, -1):
            strides[k] = strides[k + 1] * shape[k + 1]
        view = memref.ReinterpretCastOp.from_dynamic(
            buffer,
            [0],
            [self._size(size, origin) for size in shape],
            [self._size(stride, origin) for stride in strides],
            memref_type(type.element_type, shape),  # pyright: ignore
        )
        return self._insert(view, origin).results[0]

    def _buffer(self, value: SSAValue, origin: Operation) -> SSAValue:
        """Where a computed value is stored: a result of the function, or a new buffer."""
        if value not in self.buffers:
            target = self.destinations.get(value)
            if target is None:
                target = self._alloc(value, origin)
            self.buffers[value] = target
        return self.buffers[value]

    def _op(self, op: Operation) -> None:
        for result in op.results:
            _require_tensor(result, self.function.sym_name.data)
        if isinstance(op, FusionOp):
            self._launch(op, KernelPlan.of(op))
        elif isinstance(op, KernelCallOp):
            self._launch_by_hand(op)
        elif isinstance(op, RepeatedOp):
            self._repeat(op)
        elif isinstance(op, ConditionalOp):
            self._repeat_while(op)
        elif isinstance(op, CaseOp):
            self._branch(op)
        elif isinstance(op, EffectOp):
            self._effect(op)
        elif op.name == "graph.const":
            self._constant(op)
        elif isinstance(op, GraphOp) and op.view:
            value = op.results[0]
            self.buffers[value] = self._view(self.buffers[op.operands[0]], value.type, op)
        elif isinstance(op, GraphOp) and (op.has_nest or op.equations()):
            self._single(op)
        elif isinstance(op, GraphOp) and op.composite:
            raise CompileError(f"'{op.name}' op is a composite: run graph-decompose before convert-graph-to-loop")
        else:
            raise CompileError(f"'{op.name}' op has no loop form: convert-graph-to-loop cannot lower it")

    def _single(self, op: GraphOp) -> None:
        """An op outside every fusion is a fusion of itself."""
        body = Block(arg_types=[o.type for o in op.operands])
        for argument, operand in zip(body.args, op.operands, strict=True):
            argument.name_hint = operand.name_hint
        clone = op.clone()
        clone.operands = body.args
        clone.location = op.location
        body.add_op(clone)
        if (initial := overwritten_operand(op)) is not None:
            self._written(op, initial, op.results[0])
        self._launch(op, KernelPlan(body, clone.results, range(len(shape_of(clone.results[0])))), op.overwrites)

    def _launch(self, op: Operation, plan: KernelPlan, overwritten: int | None = None) -> None:
        """Launch the kernel of a plan; the contents of operand `overwritten` stand in the buffer of the result already."""
        self.work += _work_of(plan.body)
        targets = [self._buffer(result, op) for result in op.results]
        given = (*(self.buffers[operand] for operand in op.operands), *targets)
        values, likes = (*op.operands, *op.results), (*plan.body.args, *plan.outputs)
        buffers = [self._reshaped(*three, op) for three in zip(given, values, likes, strict=True)]
        kernel = self.kernels.get(plan)
        if kernel is None:
            self._decomposed(op, plan, buffers)
            return
        arguments = [buffer for k, buffer in enumerate(buffers) if k != overwritten]
        for monomial in self.kernels.sizes[kernel]:
            arguments.append(self._size(Size(((monomial, 1),)), op))
        self._insert(
            LaunchOp.create(operands=arguments, properties={"kernel": SymbolRefAttr(kernel.sym_name)}),
            op,
        )

    def _decomposed(self, op: Operation, plan: KernelPlan, buffers: Sequence[SSAValue]) -> None:
        """Convert the primitives that the composites of a plan stand for, in the place of its op."""
        body = Block(arg_types=[argument.type for argument in plan.body.args])
        values: dict[SSAValue, SSAValue] = dict(zip(plan.body.args, body.args, strict=True))
        body.add_ops([member.clone(values) for member in plan.body.ops if not isinstance(member, YieldOp)])
        body.add_op(func.ReturnOp(*(values[value] for value in plan.outputs)))
        _decompose_and_fuse(body)
        targets = buffers[len(body.args) :]
        self.buffers.update(zip(body.args, buffers, strict=False))
        returned = list(zip(body.last_op.operands, targets, strict=True))  # pyright: ignore
        copies = [(value, target) for value, target in returned if not self._assign(value, target)]
        for member in body.ops:
            if not isinstance(member, func.ReturnOp):
                self._op(member)
        for value, target in copies:
            self._insert(memref.CopyOp.create(operands=[self.buffers[value], target]), op)

    def _launch_by_hand(self, op: KernelCallOp) -> None:
        """Launch a hand-written kernel: written arrays in the buffers of the results, contents copied there first."""
        name = op.kernel.string_value()
        kernel = self.by_hand.get(name)
        if kernel is None:
            raise _error(op, f"names no kernel of the module: @{name}")
        if holds(kernel, CheckOp):
            rule = "a program cannot stop in the middle: leave check_bounds out, or call it outside of jit"
            raise _error(op, f"runs @{name}, which checks bounds: {rule}")
        try:
            sizes = op.sizes(kernel, [operand.type for operand in op.operands])
        except LaminaError as error:
            raise _error(op, str(error)) from None
        given: list[SSAValue] = []
        for argument in op.arguments(kernel):
            operand = argument.operand
            if argument.result is not None:
                given.append(self._written(op, operand, argument.result))
            elif operand is not None and argument.parameter.is_array:
                given.append(self.buffers[operand])
            elif operand is not None:
                given.append(self._insert(LoadOp.build_load(self.buffers[operand], AffineMap(0, 0, ()), []), op).results[0])
        bound, rest = iter(given), iter(self._index(n, op) for n in sizes.values)
        arguments = [next(rest if isinstance(a.type, IndexType) else bound) for a in kernel.body.block.args]
        self._insert(LaunchOp.create(operands=arguments, properties={"kernel": SymbolRefAttr(name)}), op)
        self.work += _work_of_kernel(kernel.body.block, dict(zip(kernel.index_arguments, sizes.values, strict=True)))

    def _written(self, op: Operation, initial: SSAValue | None, result: SSAValue) -> SSAValue:
        """The buffer of what a hand-written kernel writes, with its initial contents."""
        if initial is None:
            return self._buffer(result, op)
        source = self.buffers[initial]
        if isinstance(source.owner, memref.AllocOp) and initial.has_one_use() and result not in self.destinations:
            self.buffers[result] = source  # nobody else wants the contents
            return source
        target = self._buffer(result, op)
        if source is not target:
            self._insert(memref.CopyOp.create(operands=[source, target]), op)
        return target

    def _repeat(self, op: RepeatedOp) -> None:
        """Call the function of a loop's body again and again, between two buffers for each carried value."""
        carry, spare = self._carried(op, op.inits, op.carried_results)
        position = self._scalar(i64, op, "i")
        consts, over = ([self.buffers[v] for v in values] for values in (op.consts, op.stacks))
        into = [self._buffer(result, op) for result in op.stacked_results]
        count = op.trips.value.data if op.count is None else self.buffers[op.count]
        groups = [consts, carry, spare, over, into]
        made = RepeatOp.make(op.callee.string_value(), count, position, groups, reverse=op.reverse is not None)
        self._call(made, op)
        trips = _UNKNOWN_TRIPS if op.count is not None else op.trips.value.data
        self.work += trips * sum(self._works(op))

    def _repeat_while(self, op: ConditionalOp) -> None:
        """Call the functions of the condition and the body in turns."""
        carry, spare = self._carried(op, op.inits, op.results)
        consts = [self.buffers[v] for v in op.consts]
        condition, body = (name.string_value() for name in op.callees)
        flag = self._scalar(i1, op, "going")
        self._call(RepeatWhileOp.make(condition, body, flag, [consts, carry, spare]), op)
        self.work += _UNKNOWN_TRIPS * sum(self._works(op))

    def _carried(
        self, op: Operation, inits: Sequence[SSAValue], results: Sequence[SSAValue]
    ) -> tuple[list[SSAValue], list[SSAValue]]:
        """Two buffers for each carried value, of which the first is that of the result and holds the initial value."""
        carry = [self._written(op, init, result) for init, result in zip(inits, results, strict=True)]
        return carry, [self._alloc(value, op) for value in inits]

    def _branch(self, op: CaseOp) -> None:
        """Call the function of one branch."""
        given = [self.buffers[v] for v in op.arguments]
        into = [self._buffer(result, op) for result in op.results]
        self._call(BranchOp.make(self.buffers[op.index], [n.string_value() for n in op.callees], given, into), op)
        self.work += max(self._works(op))

    def _call(self, call: HostCallOp, op: ControlOp) -> None:
        """Insert a call of other functions, with the sizes that these take; their temporaries are found later."""
        sizes = [[self._size(size, op) for size in function.meant_sizes()] for function in self._functions(op)]
        self._insert(call.with_more([((), given) for given in sizes]) if any(sizes) else call, op)

    def _functions(self, op: ControlOp) -> list[program.FuncOp]:
        """The functions that an op runs, which are converted already."""
        found = [SymbolTable.lookup_symbol(op, name) for name in op.callees]
        for name, function in zip(op.callees, found, strict=True):
            if not isinstance(function, program.FuncOp):
                raise _error(op, f"names no function of the module: {name}")
        return found  # pyright: ignore[reportReturnType]

    def _effect(self, op: EffectOp) -> None:
        """Hand over buffers to Python."""
        mask = None if op.mask is None else self.buffers[op.mask]
        given, into = [self.buffers[v] for v in op.values], [self._buffer(result, op) for result in op.results]
        kind = op.name.removeprefix("graph.")
        self._insert(CallbackOp.make(kind, op.text.data, mask, given, into, op.batch_dims), op)

    def _works(self, op: ControlOp) -> list[int]:
        """The work of a call of each function of an op, which are converted already."""
        return [1 if function.work is None else function.work.value.data for function in self._functions(op)]

    def _scalar(self, element: Attribute, origin: Operation, name: str) -> SSAValue:
        """A new buffer of one element."""
        return self._new_buffer(memref_type(element, ()), [], origin, name)

    def _alloc(self, like: SSAValue, origin: Operation) -> SSAValue:
        """A new buffer for values of a type."""
        sizes = [size for size in self._sizes_of(like, origin) if not isinstance(size, int)]
        return self._new_buffer(_memref_of(like), sizes, origin, like.name_hint)

    def _new_buffer(self, type: Attribute, sizes: Sequence[SSAValue], origin: Operation, name: str | None) -> SSAValue:
        alloc = memref.AllocOp.create(
            operands=sizes,
            result_types=[type],
            properties={"operandSegmentSizes": builtin.DenseArrayBase.from_list(builtin.i32, [len(sizes), 0])},
        )
        buffer = self._insert(alloc, origin).results[0]
        buffer.name_hint = name
        return buffer

    def _index(self, value: int, origin: Operation) -> SSAValue:
        if value not in self.constants:
            constant = self._insert(arith.ConstantOp(IntegerAttr(value, index)), origin).results[0]
            constant.name_hint = f"n{value}"
            self.constants[value] = constant
        return self.constants[value]

    def _reshaped(self, buffer: SSAValue, value: SSAValue, like: SSAValue, origin: Operation) -> SSAValue:
        """The buffer of a value under the shape of another tensor."""
        is_same = shape_of(value) == shape_of(like)
        return buffer if is_same else self._view(buffer, like.type, origin)

    def _constant(self, op: Operation) -> None:
        value = op.properties["value"]
        name = self.kernels.unique(f"{self.function.sym_name.data}_const{len(self.globals)}")
        type = _memref_of(op.results[0])
        self.globals.append(
            memref.GlobalOp.create(
                properties={
                    "sym_name": StringAttr(name),
                    "type": type,
                    "initial_value": value,
                    "sym_visibility": StringAttr("private"),
                    "constant": UnitAttr(),
                }
            )
        )
        get = memref.GetGlobalOp.create(result_types=[type], properties={"name": SymbolRefAttr(name)})
        self.buffers[op.results[0]] = self._insert(get, op).results[0]
        if (target := self.destinations.get(op.results[0])) is not None:
            self._insert(memref.CopyOp.create(operands=[self.buffers[op.results[0]], target]), op)


def _error(op: Operation, message: str) -> CompileError:
    error = CompileError(f"'{op.name}' op {message}")
    error.location = op.location  # pyright: ignore[reportAttributeAccessIssue]
    return error


def _memref_of(value: SSAValue) -> builtin.MemRefType:
    return memref_type(element_of(value), shape_of(value))


def _require_tensor(value: SSAValue, function: str) -> None:
    if not isinstance(value.type, builtin.TensorType):
        raise CompileError(f"function @{function} has a value of type {value.type}: only functions over tensors are compiled")


def bodies_first(functions: Sequence[func.FuncOp]) -> list[func.FuncOp]:
    """Functions, each after those that its loops and branches run."""
    by_name = {function.sym_name.data: function for function in functions}
    ordered: dict[func.FuncOp, None] = {}
    open_: list[func.FuncOp] = []

    def visit(function: func.FuncOp) -> None:
        if function in open_:
            raise _error(
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
    """Replace the composites of a block, those that write their own loops as well, and group what is there then."""
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
        kernels = _Kernels(op)
        block = op.body.block
        kernels.names = {o.properties["sym_name"].data for o in block.ops if "sym_name" in o.properties}  # pyright: ignore
        by_hand = {o.sym_name.data: o for o in block.ops if isinstance(o, KernelOp)}
        for kernel in by_hand.values():
            kernel.mark_scheduled()
        globals_: list[Operation] = []
        functions = [f for f in block.ops if isinstance(f, func.FuncOp) and f.body.blocks]
        for function in functions:
            name_sizes(function)
        carried = carried_by(functions)
        effects = {inner for function in functions for inner in function.body.block.ops if has_effects(inner)}
        for function in bodies_first(functions):
            converter = _FunctionConverter(function, kernels, by_hand, carried.get(function.sym_name.data, ()), effects)
            with about(function):
                converter.convert()
            globals_ += converter.globals
        first = block.first_op
        for new in globals_:
            block.insert_op_before(new, first) if first is not None else block.add_op(new)
        for kernel in kernels.by_key.values():
            if kernel is not None:
                block.add_op(kernel)
