"""The reference interpreter: runs a module at any phase before LLVM with NumPy, op by op, checking every access.

It is the oracle of `--validate-each`, `lamina-run --interpret` and the tests, so it is plain rather than fast: graph ops cost
their NumPy meaning, loop-level ops a few microseconds each. Parallel loops run backwards, so that code which depends on their
order shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType, ModuleOp, ShapedType, StringAttr, SymbolRefAttr
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import program
from ...dialects.graph.autodiff import TransformOp
from ...dialects.graph.base import GraphOp
from ...dialects.graph.builder import dense_array
from ...dialects.graph.conditional import CaseOp
from ...dialects.graph.conditional import WhileOp as ConditionalOp
from ...dialects.graph.control import ForOp as RepeatedOp
from ...dialects.graph.custom import CustomDerivativeOp
from ...dialects.graph.effects import EffectOp
from ...dialects.graph.extents import Extents, has_open_sizes
from ...dialects.graph.fusion import FusionOp
from ...dialects.graph.kernel import KernelCallOp
from ...dialects.loop.assume import AssumeOp, holds_for
from ...dialects.loop.effects import CallbackOp
from ...dialects.loop.loops import ForOp, IfOp, KernelOp, WhileOp
from ...dialects.loop.memory import CheckOp, LaunchOp, LoadOp, ReduceLanesOp, StoreOp
from ...dialects.loop.prints import PrintOp
from ...dialects.loop.repeat import BranchOp, CallOp, HostCallOp, RepeatOp, RepeatWhileOp
from ...dialects.loop.subscripts import linear_form
from ...dialects.types import DYNAMIC, element_of, numpy_dtype, shape_of, tensor
from ...errors import CompileError, DTypeError, ShapeError, about
from .. import effects, prints
from ..effect_sites import Site
from . import accesses, buffers, monoids, scalars
from .accesses import Step
from .buffers import InterpreterError, TooLongError, Values

MAX_CALL_DEPTH = 64

Sizes = Callable[[SSAValue, int], int]
"""The size of a dim of a value; DYNAMIC where it does not follow from the arguments of the function."""

Perform = Callable[..., None]
"""`perform(site, operands=..., results=...)`: lets an effect happen and fills the results."""


class Interpreter:
    """Runs the functions and kernels of one module."""

    def __init__(self, module: ModuleOp, limit: int | None = None, perform: Perform | None = None):
        self.begin(limit, perform)
        self.fill: int | None = None
        """The byte that fills uninitialized memory; None for NaN, and a recognizable pattern."""
        self.backwards = True
        """Whether parallel loops run backwards."""
        self.over_donated = False
        """Whether results that may be written over donated arguments are."""
        self.symbols: dict[str, Operation] = {}
        self.blocks: dict[Block, tuple[list[Step], tuple[SSAValue, ...]]] = {}
        self.forms: dict[Operation, list[Any]] = {}
        self.loops: dict[Operation, accesses.Loop] = {}
        self.extents: dict[Block, Extents | None] = {}
        for op in module.body.block.ops:
            name = op.properties.get("sym_name")
            if isinstance(name, StringAttr):
                self.symbols[name.data] = op
        self.handlers: dict[str, Callable[[Any, Values], None]] = {
            "func.call": self._call,
            "graph.assert": self._effect_of_graph,
            "graph.call": self._call,
            "graph.callback": self._effect_of_graph,
            "graph.case": self._case_graph,
            "graph.custom_derivative": self._call,
            "graph.for": self._repeat_graph,
            "graph.fusion": self._fusion,
            "graph.kernel": self._kernel,
            "graph.print": self._effect_of_graph,
            "graph.while": self._while_graph,
            "loop.branch": self._branch,
            "loop.call": self._call_once,
            "loop.callback": self._effect,
            "loop.for": self._for,
            "loop.if": self._if,
            "loop.load": self._load,
            "loop.store": self._store,
            "loop.while": self._while,
            "loop.gather": accesses.gather,
            "loop.scatter": accesses.scatter,
            "loop.prefetch": lambda op, values: None,
            "loop.check": self._check,
            "loop.print": self._print,
            "loop.assume": self._assume,
            "loop.alloc": self._alloc,
            "loop.launch": self._launch,
            "loop.repeat": self._repeat,
            "loop.repeat_while": self._repeat_while,
            "loop.reduce_lanes": self._reduce_lanes,
            "memref.alloc": self._alloc,
            "memref.view": buffers.view,
            "memref.reinterpret_cast": buffers.reinterpret,
            "program.reinterpret_cast": buffers.reinterpret,
            "memref.collapse_shape": buffers.reshape,
            "memref.expand_shape": buffers.reshape,
            "memref.subview": buffers.subview,
            "memref.cast": buffers.reshape,
            "memref.copy": buffers.copy,
            "memref.get_global": self._global,
            "program.get_global": self._global,
        }

    def begin(self, limit: int | None, perform: Perform | None) -> None:
        """Forget the state of a run, which may have failed."""
        self.perform = perform or partial(effects.perform, functions={})
        self.iterations_left = float("inf") if limit is None else limit
        self.depth = 0
        self.sizes: Sizes = _unknown_size
        """Of the function that runs."""

    # -- hooks for observers of a run

    def evaluate(
        self, op: GraphOp, arrays: Sequence[np.ndarray], meaning: Callable[..., Sequence[np.ndarray]]
    ) -> Sequence[np.ndarray]:
        """The results of a graph op on its operands, by its meaning."""
        return meaning(*arrays)

    def meaning(self, op: Operation, meaning: Callable[..., Any]) -> Callable[..., Any]:
        """The function that runs a scalar or vector op, whose meaning takes the op and its operands."""
        return meaning

    def combiner(self, monoid: str) -> Callable[[tuple[Any, ...], tuple[Any, ...]], tuple[Any, ...]]:
        """The function that combines one iteration of a reduction with the last."""
        return accesses.combiner(monoid)

    def combine_lanes(self, monoid: str, vectors: tuple[Any, ...]) -> tuple[Any, ...]:
        """The lanes of vectors by a monoid."""
        return monoids.reduce_lanes(monoid, vectors)

    # -- functions

    def call(self, name: str, args: list[Any]) -> tuple[np.ndarray, ...]:
        """Run a function on arrays."""
        function = self.symbols.get(name)
        if isinstance(function, program.FuncOp):
            return self._host(function, args)
        if not isinstance(function, func.FuncOp) or not function.body.blocks:
            there = ", ".join(f"@{n}" for n, op in self.symbols.items() if isinstance(op, func.FuncOp | program.FuncOp))
            raise InterpreterError(f"no function @{name} to run; there are: {there or 'none'}")
        if self.depth >= MAX_CALL_DEPTH:
            raise InterpreterError(f"@{name} is called more than {MAX_CALL_DEPTH} calls deep", function)
        block = function.body.block
        values = self._bind(name, block.args, args)
        self.depth, outer = self.depth + 1, self.sizes
        self.sizes = self._open_sizes(block, values)
        returned = self._run(block, values)
        self.depth, self.sizes = self.depth - 1, outer
        return returned

    def _open_sizes(self, block: Block, values: Values) -> Sizes:
        """The sizes that follow from those of the arguments of a function."""
        if block not in self.extents:
            try:
                self.extents[block] = Extents(block, whole=False) if has_open_sizes(block) else None
            except CompileError:  # sizes that can never be equal: the op says so itself
                self.extents[block] = None
        extents = self.extents[block]
        if extents is None:
            return _unknown_size
        known = {extents.of(v, d): n for v in block.args for d, n in enumerate(np.shape(values[v]))}
        return lambda value, dim: size if isinstance(size := extents.of(value, dim), int) else known.get(size, DYNAMIC)

    def _host(self, function: program.FuncOp, args: Sequence[Any]) -> tuple[np.ndarray, ...]:
        """Run a host function: results and arena are memory that the caller gives."""
        values = self._bind(function.sym_name.data, function.inputs, [np.array(a) for a in args])
        sizes = function.bind_sizes([np.shape(values[argument]) for argument in function.inputs])
        values.update(sizes)
        given = (*function.outputs, *function.temporaries)
        shapes = ([sizes[n] for n in function.sizes_of(buffer) if not isinstance(n, int)] for buffer in given)
        outputs = [buffers.fresh(buffer.type, shape, self.fill) for buffer, shape in zip(given, shapes, strict=True)]
        for result, number in function.donation_pairs if self.over_donated else ():
            outputs[result] = values[function.inputs[number]]
        values.update(zip(given, outputs, strict=True))
        if function.arena is not None:
            values[function.arena] = np.full(function.arena_bytes, 0xFF if self.fill is None else self.fill, np.uint8)
        self._run(function.body.block, values)
        return tuple(outputs[: len(function.outputs)])

    def _bind(self, name: str, parameters: Sequence[SSAValue], args: Sequence[Any]) -> Values:
        if len(parameters) != len(args):
            raise InterpreterError(f"@{name} takes {len(parameters)} arguments, got {len(args)}")
        values: Values = {}
        for k, (parameter, arg) in enumerate(zip(parameters, args, strict=True)):
            array = np.asarray(arg)
            try:
                shape, dtype = shape_and_dtype(parameter.type)
            except (KeyError, AttributeError):
                raise InterpreterError(f"@{name} argument {k} of type {parameter.type} cannot be given") from None
            if array.dtype != dtype or not _fits(shape, array.shape):
                raise InterpreterError(f"@{name} argument {k} must be {parameter.type}, got {array.dtype}{list(array.shape)}")
            values[parameter] = array if isinstance(parameter.type, ShapedType) else array[()]
        return values

    def _run(self, block: Block, values: Values) -> tuple[Any, ...]:
        """Run a block; the operands of its terminator."""
        steps, returned = self.blocks.get(block) or self._prepared(block)
        for step in steps:
            step(values)
        return tuple([values[o] for o in returned])

    def _prepared(self, block: Block) -> tuple[list[Step], tuple[SSAValue, ...]]:
        """The functions that run each op of a block, and the operands of its terminator; found once a block."""
        steps: list[Step] = []
        returned: tuple[SSAValue, ...] = ()
        for op in block.ops:
            if op.name in ("func.return", "graph.yield", "loop.yield"):
                returned = tuple(op.operands)
                break
            handler, meaning = self.handlers.get(op.name), scalars.MEANINGS.get(op.name)
            with about(op):
                if isinstance(op, LoadOp | StoreOp):
                    assert handler is not None
                    steps.append(accesses.access(op, handler))
                elif handler is not None:
                    steps.append(partial(handler, op))
                elif meaning is not None:
                    steps.append(accesses.scalar(op, self.meaning(op, meaning)))
                else:
                    steps.append(partial(self._graph if isinstance(op, GraphOp) else self._unknown, op))
        self.blocks[block] = steps, returned
        return steps, returned

    def _graph(self, op: GraphOp, values: Values) -> None:
        arrays = [values[o] for o in op.operands]
        types: list[Any] = [value.type for value in (*op.operands, *op.results)]
        open_sizes = any(DYNAMIC in type.get_shape() for type in types)
        try:
            if open_sizes:  # the rules that could not be checked before the sizes were known
                known = [tensor(o.element_type, x.shape) for o, x in zip(types, arrays, strict=False)]
                op.infer_types(known, op.properties, types[len(arrays) :])
                results = self.evaluate(op, arrays, partial(self._evaluate_open, op))
            else:
                results = self.evaluate(op, arrays, op.evaluate)
        except (ShapeError, DTypeError, ValueError, IndexError) as error:
            raise InterpreterError(f"'{op.name}' op {error}", op) from None
        for result, array in zip(op.results, results, strict=True):
            if open_sizes and not _fits(shape_of(result), array.shape):
                raise InterpreterError(f"'{op.name}' op result has sizes {list(array.shape)}, not {result.type}", op)
            values[result] = array

    def _evaluate_open(self, op: GraphOp, *arrays: np.ndarray) -> Sequence[np.ndarray]:
        """The results of an op that needs sizes which follow from those of other values, as a broadcast."""
        types = [tensor(element_of(r), [self.sizes(r, d) for d in range(len(shape_of(r)))]) for r in op.results]
        sized = op.create(operands=op.operands, result_types=types, properties=op.properties)
        results = sized.evaluate(*arrays)
        sized.erase()  # else it stays a use of the operands
        return results

    def _unknown(self, op: Operation, values: Values) -> None:
        hint = f"; run {op.EXPANDED_BY}" if isinstance(op, TransformOp) else ""
        raise InterpreterError(f"'{op.name}' op cannot be interpreted{hint}", op)

    def _call(self, op: func.CallOp | CustomDerivativeOp, values: Values) -> None:
        results = self.call(op.callee.string_value(), [values[o] for o in op.operands])
        for result, array in zip(op.results, results, strict=True):
            values[result] = array

    def _fusion(self, op: FusionOp, values: Values) -> None:
        block = op.body.block
        inner: Values = {a: _under_shape(values[o], a) for a, o in zip(block.args, op.operands, strict=True)}
        for result, array in zip(op.results, self._run(block, inner), strict=False):
            values[result] = _under_shape(array, result)

    def _repeat_graph(self, op: RepeatedOp, values: Values) -> None:
        """A loop of a graph, by its definition."""
        count = op.trips.value.data if op.count is None else max(0, int(values[op.count]))
        consts, stacks = ([values[v] for v in group] for group in (op.consts, op.stacks))
        carried: Sequence[Any] = [values[v] for v in op.inits]
        stacked = [np.empty(shape_of(r), numpy_dtype(element_of(r))) for r in op.stacked_results]
        self._spend(count, op)
        for k in range(count) if op.reverse is None else range(count - 1, -1, -1):
            args = [np.asarray(k, np.int64), *consts, *carried, *(x[k, ...] for x in stacks)]
            results = self.call(op.callee.string_value(), args)
            carried = results[: len(carried)]
            for stack, part in zip(stacked, results[len(carried) :], strict=True):
                stack[k] = part
        values.update(zip(op.results, [*carried, *stacked], strict=True))

    def _while_graph(self, op: ConditionalOp, values: Values) -> None:
        consts, carried = [values[v] for v in op.consts], [values[v] for v in op.inits]
        condition, body = (name.string_value() for name in op.callees)
        while self.call(condition, [*consts, *carried])[0]:
            self._spend(1, op)
            carried = list(self.call(body, [*consts, *carried]))
        values.update(zip(op.results, carried, strict=True))

    def _case_graph(self, op: CaseOp, values: Values) -> None:
        chosen = op.callees[min(max(int(values[op.index]), 0), len(op.callees) - 1)]
        results = self.call(chosen.string_value(), [values[v] for v in op.arguments])
        values.update(zip(op.results, results, strict=True))

    def _repeat(self, op: RepeatOp, values: Values) -> None:
        """A loop of a host function: the buffers of the carried values take turns."""
        count = op.trips.value.data if op.count is None else max(0, int(values[op.count]))
        consts, carry, spare, over, into = ([values[v] for v in group] for group in op.groups)
        self._spend(count, op)
        sources, targets = carry, spare
        for k in range(count) if op.reverse is None else range(count - 1, -1, -1):
            values[op.index][...] = k
            given = [values[op.index], *consts, *sources, *(x[k, ...] for x in over), *targets, *(x[k, ...] for x in into)]
            self._call_host(op, 0, given, values)
            sources, targets = targets, sources
        _keep(carry, sources)

    def _repeat_while(self, op: RepeatWhileOp, values: Values) -> None:
        """As `_repeat`, as long as the condition stores true."""
        consts, carry, spare = ([values[v] for v in group] for group in (op.consts, op.carry, op.spare))
        flag = values[op.flag]
        sources, targets = carry, spare
        while True:
            self._call_host(op, 0, [*consts, *sources, flag], values)
            if not flag[()]:
                break
            self._spend(1, op)
            self._call_host(op, 1, [*consts, *sources, *targets], values)
            sources, targets = targets, sources
        _keep(carry, sources)

    def _branch(self, op: BranchOp, values: Values) -> None:
        chosen = min(max(int(values[op.index]), 0), len(op.callees) - 1)
        self._call_host(op, chosen, [values[v] for v in (*op.read, *op.into)], values)

    def _call_once(self, op: CallOp, values: Values) -> None:
        self._call_host(op, 0, [values[v] for v in (*op.read, *op.into)], values)

    def _effect_of_graph(self, op: EffectOp, values: Values) -> None:
        given = [values[o] for o in op.operands]
        results = [np.empty(shape_of(r), numpy_dtype(element_of(r))) for r in op.results]
        kind = op.name.removeprefix("graph.")
        self.perform(Site(kind, op.text.data, op.batch_dims, op.mask is not None), operands=given, results=results)
        values.update(zip(op.results, results, strict=True))

    def _effect(self, op: CallbackOp, values: Values) -> None:
        masked = op.mask is not None
        buffers = [values[o] for o in op.operands]
        n = int(masked) + len(op.read)
        site = Site(op.kind.data, op.text.data, op.batch.value.data, masked)
        self.perform(site, operands=buffers[:n], results=buffers[n:])

    def _call_host(self, op: HostCallOp, number: int, given: list[Any], values: Values) -> None:
        """Call another host function, one of those of an op by number, on buffers."""
        name = op.callees[number]
        given += [values[v] for part in op.more[number] for v in part]
        function = self.symbols.get(name)
        if not isinstance(function, program.FuncOp):
            raise InterpreterError(f"'{op.name}' op names no function of the module: @{name}", op)
        if op.memory is not None:
            given.append(values[op.memory])
        parameters = function.body.block.args
        if len(given) != len(parameters):
            raise InterpreterError(f"'{op.name}' op gives {len(given)} buffers to @{name}", op)
        self._run(function.body.block, dict(zip(parameters, given, strict=True)))

    def _spend(self, iterations: int, op: Operation) -> None:
        self.iterations_left -= iterations
        if self.iterations_left < 0:
            raise TooLongError("more loop iterations than allowed", op)

    def _kernel(self, op: KernelCallOp, values: Values) -> None:
        kernel = self.symbols.get(op.kernel.string_value())
        if not isinstance(kernel, KernelOp):
            raise InterpreterError(f"'graph.kernel' op names no kernel of the module: {op.kernel}", op)
        arrays = [np.asarray(values[o]) for o in op.operands]
        types: list[Any] = [tensor(element_of(o), x.shape) for o, x in zip(op.operands, arrays, strict=True)]
        given: list[Any] = []
        try:
            arguments = op.arguments(kernel)
            sizes = op.sizes(kernel, arguments, types)
            for argument in arguments:
                parameter = argument.parameter
                if argument.operand is None:
                    given.append(buffers.fresh(sizes.type_of(parameter), fill=self.fill))
                elif argument.result is not None:
                    given.append(np.array(values[argument.operand]))
                else:
                    given.append(values[argument.operand] if parameter.is_array else np.asarray(values[argument.operand])[()])
                if argument.result is not None:
                    values[argument.result] = given[-1]
        except (CompileError, ShapeError, DTypeError) as error:
            raise InterpreterError(f"'graph.kernel' op {error}", op) from None
        bound, rest = iter(given), iter(sizes.values)
        args = [next(rest if isinstance(a.type, IndexType) else bound) for a in kernel.body.block.args]
        self.launch(kernel.sym_name.data, args)

    # -- loops

    def launch(self, name: str, args: Sequence[Any]) -> None:
        """Run a kernel of the module on arrays, in place; scalars and sizes are given as the kernel takes them.

        >>> from lamina.dialects.context import make_context
        >>> from lamina.dialects.parsing import parse_module
        >>> text = '''loop.kernel @fill(%x: memref<?xf32>, %N: index) shapes(%x[%N]) {
        ...   loop.for seq %i = 0 to %N {
        ...     %one = arith.constant 1.0 : f32
        ...     loop.store %one, %x[%i] : memref<?xf32>
        ...   }
        ... }'''
        >>> x = np.zeros(3, np.float32)
        >>> Interpreter(parse_module(make_context(), text)).launch("fill", [x, 3])
        >>> x
        array([1., 1., 1.], dtype=float32)
        """
        kernel = self.symbols.get(name)
        if not isinstance(kernel, KernelOp):
            raise InterpreterError(f"no kernel @{name} in the module")
        block = kernel.body.block
        if len(block.args) != len(args):
            raise InterpreterError(f"kernel @{name} takes {len(block.args)} arguments, got {len(args)}")
        values: Values = {}
        for argument, arg in zip(block.args, args, strict=True):
            shaped = isinstance(argument.type, ShapedType)
            values[argument] = arg if shaped else numpy_dtype(argument.type).type(arg)
        with np.errstate(all="ignore"):
            self._run(block, values)

    def _while(self, op: WhileOp, values: Values) -> None:
        block = op.body.block
        going, carried = values[op.condition], tuple(values[i] for i in op.inits)
        while going:
            self.iterations_left -= 1
            if self.iterations_left < 0:
                raise TooLongError("more loop iterations than allowed", op)
            values.update(zip(block.args, carried, strict=True))
            going, *carried = self._run(block, values)
        values.update(zip(op.results, carried, strict=True))

    def _check(self, op: CheckOp, values: Values) -> None:
        if not values[op.condition]:
            raise InterpreterError(f"'loop.check' op {op.status.value.data} failed for {values[op.value]}", op)

    def _assume(self, op: AssumeOp, values: Values) -> None:
        if not holds_for(op.kind.data, np.asarray(values[op.buffer])):
            raise InterpreterError(f"'loop.assume' op does not hold: the array is not {op.kind.data}", op)

    def _print(self, op: PrintOp, values: Values) -> None:
        given = [dtype.type(values[value]) for dtype, value in zip(op.dtypes, op.values, strict=True)]
        prints.write(op.text.data, given, op.flush is not None)

    def _launch(self, op: LaunchOp, values: Values) -> None:
        kernel = self.symbols.get(op.kernel.string_value())
        if not isinstance(kernel, KernelOp):
            raise InterpreterError(f"'loop.launch' op names no kernel of the module: {op.kernel}", op)
        block = kernel.body.block
        if len(block.args) != len(op.operands):
            raise InterpreterError(f"'loop.launch' op gives {len(op.operands)} arguments to {len(block.args)}", op)
        inner: Values = {argument: values[o] for argument, o in zip(block.args, op.operands, strict=True)}
        self._run(block, inner)

    def _for(self, op: ForOp, values: Values) -> None:
        if op not in self.loops:
            self.loops[op] = accesses.Loop(op)
        loop = self.loops[op]
        lower, upper, block = loop.lower(values), loop.upper(values), loop.block
        carried = tuple([values[i] for i in loop.inits])
        self.iterations_left -= max(0, upper - lower) // loop.step
        if self.iterations_left < 0:
            raise TooLongError("more loop iterations than allowed", op)
        iterations = accesses.indices(loop.kind, lower, upper, loop.step, self.backwards)
        index, carried_args = loop.index, loop.carried
        steps, returned = self.blocks.get(block) or self._prepared(block)
        if loop.monoid is not None:
            combine = self.combiner(loop.monoid)
            for values[index] in iterations:
                for step in steps:
                    step(values)
                carried = combine(carried, tuple([values[o] for o in returned]))
        else:
            for values[index] in iterations:
                for argument, value in zip(carried_args, carried, strict=True):
                    values[argument] = value
                for step in steps:
                    step(values)
                carried = [values[o] for o in returned]
        for result, value in zip(loop.results, carried, strict=True):
            values[result] = value

    def _if(self, op: IfOp, values: Values) -> None:
        region = op.then if values[op.condition] else op.otherwise
        results = self._run(region.block, values) if region.blocks else ()
        values.update(zip(op.results, results, strict=True))

    def _reduce_lanes(self, op: ReduceLanesOp, values: Values) -> None:
        results = self.combine_lanes(op.monoid.data, tuple(values[v] for v in op.vectors))
        values.update(zip(op.results, results, strict=True))

    # -- memory

    def _position(self, op: LoadOp | StoreOp, values: Values) -> tuple[np.ndarray, tuple[Any, ...], Any]:
        """(buffer, index of every lane, mask) of an access; bounds are checked for the lanes that are on."""
        buffer = values[op.buffer]
        plan = self.forms.get(op)
        if plan is None:
            exprs, indices = op.map.data.results, tuple(op.indices)
            vector = op.lanes > 1 or scalars.lanes_of(op.element_type_()) is not None
            plan = self.forms[op] = [indices, [(e, linear_form(e, len(indices))) for e in exprs], vector]
        indices, forms, vector = plan
        at = [int(values[i]) for i in indices]
        point: list[Any] = []
        for expr, form in forms:
            point.append(expr.eval(at, []) if form is None else sum([c * a for c, a in zip(form[0], at)], form[1]))  # noqa: B905
        on: Any = None
        if not vector and all([0 <= i < n for i, n in zip(point, buffer.shape)]):  # noqa: B905
            return buffer, tuple(point), None
        if vector:
            dim = op.lane_dim()
            point[dim] = point[dim] + np.arange(op.lanes) * op.lane_step()
            on = np.ones(op.lanes, np.bool_) if op.mask is None else values[op.mask]
        for dim, (index, size) in enumerate(zip(point, buffer.shape, strict=True)):
            wrong = np.asarray((np.asarray(index) < 0) | (np.asarray(index) >= size))
            if (wrong & on).any() if on is not None else wrong.any():
                raise InterpreterError(f"'{op.name}' op index {index} of dim {dim} is out of bounds for {op.buffer.type}", op)
        return buffer, tuple(point), on

    def _load(self, op: LoadOp, values: Values) -> None:
        buffer, point, on = self._position(op, values)
        if on is None:
            values[op.value] = buffer[point]
            return
        inside = tuple(np.where(on, index, 0) if isinstance(index, np.ndarray) else index for index in point)
        off = np.zeros(len(on), buffer.dtype)
        values[op.value] = np.where(on, buffer[inside], off) if on.any() else off

    def _store(self, op: StoreOp, values: Values) -> None:
        buffer, point, on = self._position(op, values)
        value = values[op.value]
        if on is None:
            buffer[point] = value
            return
        for lane in np.flatnonzero(on):
            buffer[tuple(index[lane] if isinstance(index, np.ndarray) else index for index in point)] = value[lane]

    def _alloc(self, op: Operation, values: Values) -> None:
        buffers.alloc(op, values, self.fill)

    def _global(self, op: memref.GetGlobalOp, values: Values) -> None:
        name = op.properties["name"]
        assert isinstance(name, SymbolRefAttr)
        found = self.symbols.get(name.string_value())
        if not isinstance(found, memref.GlobalOp):
            raise InterpreterError(f"'{op.name}' op names no global of the module: {name}", op)
        initial, result = found.initial_value, op.results[0]
        if isinstance(initial, DenseIntOrFPElementsAttr):
            values[result] = dense_array(initial).reshape(shape_of(result))
        else:  # memory of the process, which is zero at first
            values[result] = np.zeros(shape_of(result), numpy_dtype(element_of(result)))


def _keep(carry: Sequence[np.ndarray], last: Sequence[np.ndarray]) -> None:
    """Bring carried values back into their own buffers."""
    for kept, value in zip(carry, last, strict=True):
        if kept is not value:
            kept[...] = value


def _unknown_size(value: SSAValue, dim: int) -> int:
    return DYNAMIC


def _under_shape(array: Any, value: SSAValue) -> Any:
    """The elements of an array in the shape of a value."""
    shape = shape_of(value)
    return array if DYNAMIC in shape or np.shape(array) == shape else np.reshape(array, shape)


def _fits(declared: Sequence[int], shape: Sequence[int]) -> bool:
    return len(declared) == len(shape) and all(n in (DYNAMIC, m) for n, m in zip(declared, shape, strict=True))


def shape_and_dtype(type: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and dtype of the values of a tensor, memref or scalar type; KeyError for types without values here."""
    if isinstance(type, ShapedType):
        return tuple(type.get_shape()), numpy_dtype(type.element_type)  # pyright: ignore[reportAttributeAccessIssue]
    return (), numpy_dtype(type)


__all__ = ["Interpreter", "InterpreterError", "TooLongError", "shape_and_dtype"]
