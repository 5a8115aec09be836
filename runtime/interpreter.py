"""The reference interpreter: runs a module at any phase before LLVM with NumPy, op by op, checking every access.

It is the oracle of `--validate-each`, `lamina-run --interpret` and the tests, so it is plain rather than fast: graph ops cost
their NumPy meaning, loop-level ops a few microseconds each. Parallel loops run backwards, so that code which depends on their
order shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, SymbolRefAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from ..dialects.graph.base import GraphOp
from ..dialects.graph.builder import dense_array
from ..dialects.graph.structure import FusionOp
from ..dialects.loop.memory import LaunchOp, LoadOp, ReduceLanesOp, StoreOp
from ..dialects.loop.structure import ForOp, IfOp, KernelOp
from ..dialects.loop.subscripts import linear_form
from ..dialects.types import DYNAMIC, numpy_dtype
from ..errors import LaminaError
from . import interp_scalar

Values = dict[SSAValue, Any]


class InterpreterError(LaminaError):
    """A program does what it must not (reads out of bounds, calls what is not there), or cannot be run yet."""

    def __init__(self, message: str, op: Operation | None = None):
        super().__init__(message)
        self.op = op


def interpret(module: ModuleOp, entry: str = "main", args: Sequence[Any] = ()) -> tuple[np.ndarray, ...]:
    """Run one function of a module and return its results.

    Args:
        module: graph IR, or loop IR with its host function, of any phase up to `program`.
        entry: the function.
        args: one array an argument; for a host function over memrefs its inputs only.

    Raises:
        InterpreterError: no such function, arguments that do not fit, an access out of bounds, or an op without a meaning.

    >>> from lamina.dialects.context import make_context
    >>> from lamina.dialects.parsing import parse_module
    >>> text = '''func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    ...   %y = graph.neg %x : tensor<2xf32>
    ...   func.return %y : tensor<2xf32>
    ... }'''
    >>> interpret(parse_module(make_context(), text), "main", [np.ones(2, np.float32)])
    (array([-1., -1.], dtype=float32),)
    """
    with np.errstate(all="ignore"):
        return Interpreter(module).call(entry, list(args))


class Interpreter:
    """Runs the functions and kernels of one module."""

    def __init__(self, module: ModuleOp):
        self.symbols: dict[str, Operation] = {}
        self.blocks: dict[Block, tuple[list[tuple[Callable[..., None], Operation]], tuple[SSAValue, ...]]] = {}
        self.forms: dict[Operation, list[Any]] = {}
        for op in module.body.block.ops:
            name = op.properties.get("sym_name")
            if name is not None:
                self.symbols[name.data] = op  # pyright: ignore[reportAttributeAccessIssue]
        self.handlers: dict[str, Callable[[Any, Values], None]] = {
            "func.call": self._call,
            "graph.fusion": self._fusion,
            "loop.for": self._for,
            "loop.if": self._if,
            "loop.load": self._load,
            "loop.store": self._store,
            "loop.alloc": self._alloc,
            "loop.launch": self._launch,
            "loop.reduce_lanes": self._reduce_lanes,
            "memref.alloc": self._alloc,
            "memref.view": self._view,
            "memref.reinterpret_cast": self._reinterpret,
            "memref.collapse_shape": self._reshape,
            "memref.expand_shape": self._reshape,
            "memref.cast": self._reshape,
            "memref.copy": self._copy,
            "memref.get_global": self._global,
        }

    # -- functions

    def call(self, name: str, args: list[Any]) -> tuple[np.ndarray, ...]:
        """Run a function on arrays."""
        function = self.symbols.get(name)
        if not isinstance(function, func.FuncOp) or not function.body.blocks:
            there = ", ".join(f"@{n}" for n, op in self.symbols.items() if isinstance(op, func.FuncOp)) or "none"
            raise InterpreterError(f"no function @{name} to run; there are: {there}")
        parameters = list(function.body.block.args)
        results = function.attributes.get("lamina.results")
        if not isinstance(results, IntegerAttr):
            return self._run(function.body.block, self._bind(name, parameters, args))
        # a host function: results and arena are memory that the caller gives
        has_arena = "lamina.arena" in function.attributes
        inputs = parameters[: len(parameters) - results.value.data - has_arena]
        values = self._bind(name, inputs, [np.array(a) for a in args])
        outputs = [self._fresh(p.type) for p in parameters[len(inputs) : len(inputs) + results.value.data]]
        for parameter, buffer in zip(parameters[len(inputs) :], outputs, strict=False):
            values[parameter] = buffer
        if has_arena:
            values[parameters[-1]] = np.full(parameters[-1].type.get_shape(), 0xA5, np.uint8)  # pyright: ignore
        self._run(function.body.block, values)
        return tuple(outputs)

    def _bind(self, name: str, parameters: Sequence[SSAValue], args: Sequence[Any]) -> Values:
        if len(parameters) != len(args):
            raise InterpreterError(f"@{name} takes {len(parameters)} arguments, got {len(args)}")
        values: Values = {}
        for k, (parameter, arg) in enumerate(zip(parameters, args, strict=True)):
            array = np.asarray(arg)
            shape, dtype = parameter.type.get_shape(), numpy_dtype(parameter.type.element_type)  # pyright: ignore
            fits = len(shape) == array.ndim and all(n in (DYNAMIC, m) for n, m in zip(shape, array.shape, strict=True))
            if array.dtype != dtype or not fits:
                raise InterpreterError(f"@{name} argument {k} must be {parameter.type}, got {array.dtype}{list(array.shape)}")
            values[parameter] = array
        return values

    def _run(self, block: Block, values: Values) -> tuple[Any, ...]:
        """Run a block; the operands of its terminator."""
        steps, returned = self.blocks.get(block) or self._prepared(block)
        for handler, op in steps:
            handler(op, values)
        return tuple([values[o] for o in returned])

    def _prepared(self, block: Block) -> tuple[list[tuple[Callable[..., None], Operation]], tuple[SSAValue, ...]]:
        """The ops of a block, each with what runs it, and the operands of its terminator; found once a block."""
        steps: list[tuple[Callable[..., None], Operation]] = []
        returned: tuple[SSAValue, ...] = ()
        for op in block.ops:
            if op.name in ("func.return", "graph.yield", "loop.yield"):
                returned = tuple(op.operands)
                break
            steps.append((self.handlers.get(op.name, self._graph if isinstance(op, GraphOp) else self._scalar), op))
        self.blocks[block] = steps, returned
        return steps, returned

    def _graph(self, op: GraphOp, values: Values) -> None:
        results = op.evaluate(*[values[o] for o in op.operands])
        for result, array in zip(op.results, results, strict=True):
            values[result] = array

    def _scalar(self, op: Operation, values: Values) -> None:
        meaning = interp_scalar.MEANINGS.get(op.name)
        if meaning is None:
            hint = {
                "graph.jvp": "; run graph-linearize",
                "graph.vjp": "; run graph-linearize and graph-transpose",
                "graph.transposed": "; run graph-transpose",
                "graph.vmap": "; run graph-vmap",
            }.get(op.name, "")
            raise InterpreterError(f"'{op.name}' op cannot be interpreted{hint}", op)
        values[op.results[0]] = meaning(op, *[values[o] for o in op.operands])

    def _call(self, op: func.CallOp, values: Values) -> None:
        results = self.call(op.callee.string_value(), [values[o] for o in op.operands])
        for result, array in zip(op.results, results, strict=True):
            values[result] = array

    def _fusion(self, op: FusionOp, values: Values) -> None:
        block = op.body.block
        inner: Values = {argument: values[o] for argument, o in zip(block.args, op.operands, strict=True)}
        for result, array in zip(op.results, self._run(block, inner), strict=True):
            values[result] = array

    # -- loops

    def _launch(self, op: LaunchOp, values: Values) -> None:
        kernel = self.symbols.get(op.kernel.string_value())
        if not isinstance(kernel, KernelOp):
            raise InterpreterError(f"'loop.launch' op names no kernel of the module: {op.kernel}", op)
        block = kernel.body.block
        if len(block.args) != len(op.operands):
            raise InterpreterError(f"'loop.launch' op gives {len(op.operands)} arguments to {len(block.args)}", op)
        inner: Values = {argument: values[o] for argument, o in zip(block.args, op.operands, strict=True)}
        self._run(block, inner)

    def _bound(self, map: AffineMap, operands: Sequence[SSAValue], values: Values) -> int:
        return map.eval([int(values[o]) for o in operands], [])[0]

    def _for(self, op: ForOp, values: Values) -> None:
        lower = self._bound(op.lower.data, op.lower_operands, values)
        upper = self._bound(op.upper.data, op.upper_operands, values)
        block, kind = op.body.block, op.kind.data
        index, carried_args = block.args[0], block.args[1:]
        carried = tuple(values[i] for i in op.inits)
        steps: Any = range(lower, upper, op.step.value.data)
        for i in reversed(steps) if kind == "parallel" else steps:
            values[index] = np.int64(i)
            if kind == "reduce":
                assert op.monoid is not None
                carried = interp_scalar.combine(op.monoid.data, carried, self._run(block, values))
                continue
            values.update(zip(carried_args, carried, strict=True))
            carried = self._run(block, values)
        values.update(zip(op.results, carried, strict=True))

    def _if(self, op: IfOp, values: Values) -> None:
        region = op.then if values[op.condition] else op.otherwise
        results = self._run(region.block, values) if region.blocks else ()
        values.update(zip(op.results, results, strict=True))

    def _reduce_lanes(self, op: ReduceLanesOp, values: Values) -> None:
        results = interp_scalar.reduce_lanes(op.monoid.data, tuple(values[v] for v in op.vectors))
        values.update(zip(op.results, results, strict=True))

    # -- memory

    def _position(self, op: LoadOp | StoreOp, values: Values) -> tuple[np.ndarray, tuple[Any, ...], Any]:
        """(buffer, index of every lane, mask) of an access; bounds are checked for the lanes that are on."""
        buffer = values[op.buffer]
        plan = self.forms.get(op)
        if plan is None:
            exprs, indices = op.map.data.results, tuple(op.indices)
            vector = op.lanes > 1 or interp_scalar.lanes_of(op.element_type_()) is not None
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

    def _fresh(self, type: Any) -> np.ndarray:
        """Memory nobody has written: NaN, or a pattern that shows."""
        dtype = numpy_dtype(type.element_type)
        if dtype == np.bool_:
            return np.zeros(type.get_shape(), dtype)
        poison = np.nan if dtype.kind == "f" else 0x5A5A5A5A % (1 << 8 * dtype.itemsize - 1)
        return np.full(type.get_shape(), poison, dtype)

    def _alloc(self, op: Operation, values: Values) -> None:
        values[op.results[0]] = self._fresh(op.results[0].type)

    def _view(self, op: memref.ViewOp, values: Values) -> None:
        arena, offset = values[op.operands[0]], int(values[op.operands[1]])
        type = op.results[0].type
        assert isinstance(type, MemRefType)
        dtype = numpy_dtype(type.element_type)
        size = int(np.prod(type.get_shape(), dtype=np.int64)) * dtype.itemsize
        if offset < 0 or offset + size > arena.size:
            raise InterpreterError(f"'memref.view' op of {size} bytes at {offset} is outside the arena of {arena.size}", op)
        values[op.results[0]] = arena[offset : offset + size].view(dtype).reshape(type.get_shape())

    def _reshape(self, op: Operation, values: Values) -> None:
        values[op.results[0]] = values[op.operands[0]].reshape(op.results[0].type.get_shape())  # pyright: ignore

    def _reinterpret(self, op: memref.ReinterpretCastOp, values: Values) -> None:
        buffer = values[op.operands[0]]
        sizes = [int(v) for v in op.static_sizes.get_values()]
        strides = [int(v) for v in op.static_strides.get_values()]
        offset = int(op.static_offsets.get_values()[0])
        span = offset + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True)) + 1 if 0 not in sizes else 0
        if span > buffer.size or not buffer.flags.c_contiguous:
            raise InterpreterError(f"'memref.reinterpret_cast' op needs {span} elements, the buffer has {buffer.size}", op)
        itemsize = buffer.dtype.itemsize
        flat = buffer.reshape(-1)[offset:]
        values[op.results[0]] = np.lib.stride_tricks.as_strided(flat, sizes, [s * itemsize for s in strides])

    def _copy(self, op: memref.CopyOp, values: Values) -> None:
        values[op.operands[1]][...] = values[op.operands[0]]

    def _global(self, op: memref.GetGlobalOp, values: Values) -> None:
        name = op.properties["name"]
        assert isinstance(name, SymbolRefAttr)
        found = self.symbols.get(name.string_value())
        if not isinstance(found, memref.GlobalOp):
            raise InterpreterError(f"'memref.get_global' op names no global of the module: {name}", op)
        initial: Any = found.initial_value
        values[op.results[0]] = dense_array(initial).reshape(op.results[0].type.get_shape())  # pyright: ignore
