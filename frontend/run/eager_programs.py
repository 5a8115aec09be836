"""The recorded program of a call on plain arrays, as a function of its inputs: interpreted by NumPy, or compiled as by `jit`.

A program of several ops returns the same bits as `jit` of it. So it is compiled when it is recorded, unless its ops return
these bits one by one (`_is_exact`): then it is interpreted for the first `WORTH_CODE` calls, which changes only its time. A
single op is NumPy's function below `COMPILED_WORK`, and so are factorizations and other ops that are slow to compile
(`OpFacts.slow_to_compile`). No program whose results depend on the choice changes from one to the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects.facts import Rounding
from ...dialects.graph.base import CompositeOp, GraphOp, ints
from ...dialects.graph.choose import CmpOp, ConvertOp
from ...dialects.graph.contract import DotOp
from ...dialects.graph.elementwise import ElementwiseOp
from ...dialects.graph.quiet import Quiet, run_quietly
from ...dialects.graph.shape import BroadcastOp
from ...dialects.operations import clone
from ...dialects.types import element_of, is_complex, is_float, numpy_dtype, shape_of
from ...runtime.arrays import plain
from ..trace.tracer import Tracer
from .eager_calls import Step, Writer, body, evaluated, fresh_all

if TYPE_CHECKING:
    from .eager import EagerTrace

Array = np.ndarray[Any, Any]

COMPILED_WORK = 1 << 16
"""Scalar operations from which a call is compiled: NumPy takes some ten microseconds for fewer, as long as a call does."""

_NEST_WEIGHT = 16
"""What an element of an op with loops of its own (a convolution, a scan) counts in scalar operations."""

WORTH_CODE = 64
"""Calls of an exact program of several ops after which it is compiled: that takes as long as a thousand interpreted ones."""

_MOST_CONSTANT = 1 << 12
"""Largest value, in elements, that is precomputed because it depends on no input."""

_compiling = RLock()


class EagerProgram:
    """The recorded ops of a trace, as a function of its inputs."""

    def __init__(self, trace: EagerTrace, out: Any):
        self._results: list[SSAValue] = []
        self._rebuild = self._template(trace, out)
        self._block = trace.block
        self.dtypes = [array.dtype for array in trace.inputs]
        ops: list[Any] = list(trace.block.ops)
        values: list[SSAValue] = [*trace.block.args, *(result for op in ops for result in op.results)]
        self._single = isinstance(out, Tracer)
        self._constants: dict[int, Array] = {}
        numbers = {value: k for k, value in enumerate(values)}
        stepped = self._stepped(ops, numbers)
        self._steps: list[Step] = [_step(op, numbers) for op in stepped]
        self._outputs = [numbers[value] for value in self._results]
        computes = bool(trace.inputs and self._results)
        is_large = computes and sum(map(interpreted_work, ops)) >= COMPILED_WORK
        is_several = len(stepped) > 1 or not all(map(_is_one_of_numpys, stepped))
        is_one_program = computes and is_several and not any(op.facts.slow_to_compile for op in ops)
        self.may_change = is_one_program and not is_large and all(map(_is_exact, ops))
        self._compiled = is_large or (is_one_program and not self.may_change)
        self._exact: list[bool] = []
        self._optimized: Block | None = None
        self._elementwise = is_large and self._single and all(_is_elementwise(op) for op in ops)
        self._values = len(values)
        self._native: Callable[..., Any] | None = None

    def _stepped(self, ops: Sequence[GraphOp], numbers: dict[SSAValue, int]) -> list[GraphOp]:
        """The ops that each call evaluates: values that depend on no input are computed here; broadcasts that NumPy does itself
        are dropped."""
        stepped: list[GraphOp] = []
        for op in ops:
            if isinstance(op, BroadcastOp) and _is_broadcast_by_users(op) and op.y not in self._results:
                numbers[op.y] = numbers[op.x]
                continue
            evaluate, operands, results = _step(op, numbers)
            if self._constants.keys() >= {*operands} and all(math.prod(shape_of(r)) <= _MOST_CONSTANT for r in op.results):
                found = run_quietly(evaluate, *[self._constants[k] for k in operands])
                # views, which `fresh` copies: no caller gets the array itself
                self._constants.update((k, array[...]) for k, array in zip(results, found, strict=True))
            else:
                stepped.append(op)
        return stepped

    def _template(self, trace: EagerTrace, out: Any) -> Callable[[Sequence[Any]], Any]:
        """From the results to the function's result tree."""
        if isinstance(out, Tracer):
            k = len(self._results)
            self._results.append(trace.lift(out).value)
            return lambda results: results[k]
        if isinstance(out, tuple | list):
            parts = [self._template(trace, item) for item in out]
            make = getattr(type(out), "_make", type(out))  # named tuples
            return lambda results: make([part(results) for part in parts])
        return lambda results: out

    def run(self, inputs: Sequence[Array]) -> Any:
        """The result for arrays of the dtypes and shapes that were recorded."""
        if self._compiled:
            return self._rebuild(self._call(inputs))
        inputs = [x.view(np.ndarray) for x in inputs]
        values: list[Any] = [None] * self._values
        for k, array in self._constants.items():
            values[k] = array
        self._exact = evaluated(self._steps, inputs, values)
        return self._rebuild(fresh_all([values[k] for k in self._outputs], inputs))

    def _call(self, inputs: Sequence[Array]) -> Sequence[Array]:
        out = self.native()(*[plain(array, dtype) for array, dtype in zip(inputs, self.dtypes, strict=True)])
        return out if isinstance(out, tuple) else (out,)

    def native(self) -> Callable[..., Any]:
        """The compiled program."""
        if self._native is None:
            with _compiling:
                self._native = self._native or self._compile()
        return self._native

    def change(self) -> bool:
        """Compile an interpreted program whose bits this does not change; whether it is the first time."""
        if not self.may_change:
            return False
        self.native()
        self.may_change, self._compiled = False, True
        return True

    def writes(self, writer: Writer) -> None:
        """Write the run of a program that has been run before, of the operands of the writer."""
        operands = ", ".join(writer.operands)
        if self._compiled:
            from ...runtime.callable import MISS

            writer.line(f"y = {writer.name('native', self.native())}({operands})")
            writer.line(f"if y is {writer.name('MISS', MISS)}:")  # not as machine code reads them in place
            writer.line(f"    return {writer.name('run', self.run)}([{operands}])")
            rebuilt = f"{writer.name('rebuild', self._rebuild)}(y if type(y) is tuple else (y,))"
            writer.line("return y" if self._single else f"return {rebuilt}")
            return
        if self._outputs and self._constants.keys() >= {*self._outputs}:
            results = [writer.name("constant", self._constants[k]) for k in self._outputs]
            writer.line(f"y = {', '.join(results)}")
        elif self._outputs:
            writer.quiet_call(body(self._steps, self._exact, self._outputs, len(self.dtypes), self._constants))
        if self._single:
            writer.line(f"return {writer.fresh('y')}")
        else:
            results = "y" if len(self._outputs) > 1 else "(y,)" if self._outputs else "()"
            fresh = f"{writer.name('fresh_all', fresh_all)}({results}, ({operands}{',' if operands else ''}))"
            writer.line(f"return {writer.name('rebuild', self._rebuild)}({fresh})")

    def _compile(self) -> Callable[..., Any]:
        from ...executor import executor

        return executor.function(self._module())

    def _module(self) -> ModuleOp:
        block = self._block
        if not isinstance(block.last_op, ReturnOp):
            block.add_op(ReturnOp.create(operands=self._results))
            types = [argument.type for argument in block.args], [value.type for value in self._results]
            self._whole = ModuleOp([FuncOp("main", types, Region(block), "public")])
        return self._whole

    # -- waiting (`lazy.py`)

    def may_wait(self) -> bool:
        """Whether the program is one to compile, of elementwise ops with one result."""
        return self._elementwise

    def result_type(self) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """Dtype and shape of the one result."""
        (result,) = self._results
        return numpy_dtype(element_of(result)), shape_of(result)

    def simplified(self) -> Block:
        """The program after the passes from graph to graph, by itself."""
        with _compiling:
            if self._optimized is None:
                from ... import pipeline

                module = clone(self._module())
                pipeline.run_to(module, "optimized")
                self._optimized = next(op for op in module.body.block.ops if isinstance(op, FuncOp)).body.block
            return self._optimized


def _step(op: GraphOp, numbers: Mapping[SSAValue, int]) -> Step:
    return op.evaluator(), [numbers[o] for o in op.operands], [numbers[r] for r in op.results]


def _is_one_of_numpys(op: GraphOp) -> bool:
    """Whether one function of NumPy evaluates an op, as fast as compiled code."""
    evaluate = op.evaluator()
    if not isinstance(evaluate, Quiet) or isinstance(op, CompositeOp):
        return False
    return not isinstance(op, DotOp) or evaluate.function is np.matmul


def _is_exact(op: GraphOp) -> bool:
    """Whether an op has the same bits by itself and compiled with others: it rounds nothing, or as NumPy does."""
    if op.facts.view or op.facts.rounding is Rounding.NONE or isinstance(op, ConvertOp):
        return True
    return not any(is_float(element_of(x)) or is_complex(element_of(x)) for x in op.results)


def _is_elementwise(op: Operation) -> bool:
    return isinstance(op, GraphOp) and op.facts.pointwise


def _is_broadcast_by_users(op: BroadcastOp) -> bool:
    """Whether NumPy makes the operand as large as the result where it is used."""
    rank, own = len(op.result_shape()), len(op.shape())
    if ints(op.dims) != tuple(range(rank - own, rank)):
        return False
    return all(
        isinstance(user, ElementwiseOp)
        and type(user).evaluate in (ElementwiseOp.evaluate, CmpOp.evaluate)
        and not all(isinstance(x.owner, BroadcastOp) for x in user.operands)
        for user in (use.operation for use in op.y.uses)
    )


def interpreted_work(op: Operation) -> int:
    """About how many scalar operations an op takes."""
    assert isinstance(op, GraphOp)
    elements = max(math.prod(shape_of(value)) for value in (*op.operands, *op.results))
    if op.batching == "elementwise" or op.facts.view:
        return elements
    equations = () if isinstance(op, CompositeOp) else op.equations()
    return sum(math.prod(e.space) for e in equations) if equations else _NEST_WEIGHT * elements
