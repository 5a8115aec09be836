"""Shrinks a module that shows a fault as far as it still shows it: delta debugging over functions, results, ops and sizes.

After Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input" (2002), with the replacements of IR reducers:
the result of an op becomes an argument, one of its operands, or a constant, and the op is removed.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    TensorType,
    VectorType,
)
from xdsl.ir import Operation, SSAValue
from xdsl.traits import ConstantLike, IsTerminator

from ..dialects.context import make_context
from ..dialects.dominance import errors_in
from ..dialects.graph.create import ConstOp
from ..dialects.graph.effects import EffectOp
from ..dialects.parsing import parse_module
from ..errors import is_interruption

Fails = Callable[[ModuleOp], bool]
"""Whether a module still shows the fault. It may change the module."""

SECONDS = 60.0
"""How long a reduction takes at most, in seconds of processor time, unless it is told otherwise."""

_WAITING = 5
"""How many times as long it may take by the clock: a command may wait, and a machine may be busy."""


def op_count(module: ModuleOp) -> int:
    """Ops of a module that compute: all but modules, functions, kernels, and terminators."""
    return sum(1 for op in module.walk() if _computes(op))


def _computes(op: Operation) -> bool:
    is_fixed = op.has_trait(IsTerminator) or op.has_trait(ConstantLike)
    return not is_fixed and op.name not in _FRAMES


_FRAMES = frozenset("builtin.module func.func program.func loop.kernel".split())


def reduced(module: ModuleOp, fails: Fails, seconds: float = SECONDS) -> ModuleOp:
    """The smallest module found that fails.

    Args:
        module: fails; it is not changed.
        fails: called with copies that verify.
        seconds: of processor time, also that of commands that `fails` runs, after which the best one so far is returned.

    Returns:
        The module itself where nothing can be left out.
    """
    return _Reduction(module.clone(), fails, seconds).run()


class _Reduction:
    """The best module so far, and the attempts to make it smaller."""

    def __init__(self, module: ModuleOp, fails: Fails, seconds: float):
        self.best, self.fails = module, fails
        self.end, self.latest = _processor_time() + seconds, time.perf_counter() + _WAITING * seconds

    def run(self) -> ModuleOp:
        """Take turns until nothing helps or the time is up."""
        while True:
            before = str(self.best)
            # sizes before ops: the others are tried on fewer elements, which derivatives by differences take one by one
            for attempt in (self.drop_results, self.drop_symbols, self.shrink_sizes, self.drop_ops, self.simplify_constants):
                attempt()
                self.sweep()
            if str(self.best) == before or self.is_late:
                return self.best

    @property
    def is_late(self) -> bool:
        """Whether the time is up."""
        return _processor_time() > self.end or time.perf_counter() > self.latest

    def keeps(self, candidate: ModuleOp) -> bool:
        """Take a module as the best one if it verifies and fails."""
        if self.is_late:
            return False
        try:
            if any(True for _ in errors_in(candidate)) or not self.fails(candidate.clone()):
                return False
        except Exception as error:  # a candidate that the compiler refuses is no smaller fault
            if is_interruption(error):
                raise
            return False
        self.best = candidate
        return True

    def changed(self, change: Callable[[list[Operation]], bool | None]) -> bool:
        """Change a copy, given its ops in order; whether that is the best one now."""
        candidate = self.best.clone()
        try:
            if change(list(candidate.walk())) is False:
                return False
            remove_dead(candidate)
        except Exception as error:  # a candidate that the compiler refuses is no smaller fault
            if is_interruption(error):
                raise
            return False
        return self.keeps(candidate)

    # -- attempts

    def sweep(self) -> None:
        """Remove unused ops and arguments."""
        self.changed(lambda ops: None)
        for k, op in enumerate(self.best.walk()):
            if isinstance(op, func.FuncOp) and op.body.blocks and any(a.first_use is None for a in op.body.block.args):
                self.changed(lambda ops, k=k: drop_unused_arguments(ops[k]))
                break

    def drop_symbols(self) -> None:
        """Leave out functions, kernels and globals."""
        for k in range(len(list(self.best.body.block.ops)) - 1, -1, -1):

            def drop(ops: list[Operation], k: int = k) -> bool | None:
                module = ops[0]
                assert isinstance(module, ModuleOp)
                tops = list(module.body.block.ops)
                if k >= len(tops) or len(tops) < 2:
                    return False
                tops[k].detach()
                tops[k].erase(safe_erase=False)
                return None

            self.changed(drop)

    def drop_results(self) -> None:
        """Return as few results as possible, one at best."""
        for k, op in enumerate(list(self.best.walk())):
            if not isinstance(op, func.FuncOp) or not op.body.blocks:
                continue
            n = len(op.function_type.outputs)
            done = any(self.changed(lambda ops, k=k, j=j: keep_results(ops[k], [j])) for j in range(n)) if n > 1 else True
            if not done:
                for j in range(n - 1, -1, -1):
                    self.changed(lambda ops, k=k, j=j: keep_results(ops[k], [i for i in range(_n(ops[k])) if i != j]))

    def drop_ops(self) -> None:
        """Leave out ops, many at once first."""
        size = max(1, len(list(self.best.walk())) // 2)
        while size and not self.is_late:
            start = len(list(self.best.walk()))
            while start > 0 and not self.is_late:
                first = max(0, start - size)
                for way in (_by_argument, _by_operand, _by_constant) if size == 1 else (_by_argument, _by_constant):
                    if self.changed(lambda ops, a=first, b=start, way=way: drop_range(ops[a:b], way)):
                        break
                start = min(first, len(list(self.best.walk())))
            size //= 2

    def shrink_sizes(self) -> None:
        """Write smaller numbers for the sizes in types, the same number everywhere."""
        sizes = {n for op in self.best.walk() for value in op.results for n in _shape(value) if n > 1}
        sizes |= {
            n for op in self.best.walk() for r in op.regions for b in r.blocks for a in b.args for n in _shape(a) if n > 1
        }
        for size in sorted(sizes, reverse=True):
            for smaller in dict.fromkeys((1, 2, 3, size // 4, size // 2, size - 1)):
                if 0 < smaller < size and self.keeps_text(_with_size(str(self.best), size, smaller)):
                    break

    def simplify_constants(self) -> None:
        """Make constants ones or zeros, and leave out attributes that may go."""
        for k, op in enumerate(list(self.best.walk())):
            if isinstance(op, ConstOp):
                for number in (1, 0):
                    if self.changed(lambda ops, k=k, number=number: _splat(ops[k], number)):
                        break
            for name in list(op.attributes):
                if not isinstance(op, ModuleOp):
                    self.changed(lambda ops, k=k, name=name: ops[k].attributes.pop(name) and None)

    def keeps_text(self, text: str) -> bool:
        """`keeps` of a text, if it parses."""
        try:
            candidate = parse_module(make_context(), text)
        except Exception as error:  # a candidate that the compiler refuses is no smaller fault
            if is_interruption(error):
                raise
            return False
        return self.keeps(candidate)


def _processor_time() -> float:
    """Of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def _shape(value: SSAValue) -> tuple[int, ...]:
    type: Any = value.type
    return tuple(type.get_shape()) if isinstance(type, TensorType | MemRefType) else ()


def _with_size(text: str, old: int, new: int) -> str:
    """A text with another number for a size, wherever that number stands."""
    return re.sub(rf"(?:(?<=[\d?]x)|(?<![\w.@%])){old}(?=x|(?![\w.]))", str(new), text)


# Changes


Way = Callable[[SSAValue, Operation], SSAValue | None]
"""The replacements for a result of a removed op."""


def drop_range(ops: Sequence[Operation], way: Way) -> bool | None:
    """Leave out some ops, of which those that frame others stay."""
    gone = 0
    for op in reversed(ops):
        if op.parent is None or not _computes(op):
            continue
        values = [way(result, op) for result in op.results if result.first_use is not None]
        if any(value is None for value in values):
            continue
        used = [result for result in op.results if result.first_use is not None]
        for result, value in zip(used, values, strict=True):
            assert value is not None
            result.replace_all_uses_with(value)
        op.detach()
        op.erase(safe_erase=False)
        gone += 1
    return None if gone else False


def _by_argument(result: SSAValue, op: Operation) -> SSAValue | None:
    function = op.parent_op()
    if not isinstance(function, func.FuncOp) or not isinstance(result.type, TensorType) or _is_called(function):
        return None
    if op.name == "graph.const":
        return None
    argument = function.body.block.insert_arg(result.type, len(function.body.block.args))
    argument.location = op.location
    function.properties["function_type"] = func.FunctionType.from_lists(
        [a.type for a in function.body.block.args], [*function.function_type.outputs]
    )
    function.properties.pop("arg_attrs", None)
    return argument


def _by_operand(result: SSAValue, op: Operation) -> SSAValue | None:
    return next((operand for operand in op.operands if operand.type == result.type), None)


def _by_constant(result: SSAValue, op: Operation) -> SSAValue | None:
    block = op.parent
    assert block is not None
    type: Any = result.type
    if isinstance(type, TensorType):
        made: Operation = ConstOp.create(result_types=[type], properties={"value": _dense(type, 1)})
    elif isinstance(type, VectorType):
        value = _dense(type, 1)
        made = arith.ConstantOp.create(result_types=[type], properties={"value": value})
    elif isinstance(type, IntegerType | IndexType):
        made = arith.ConstantOp.create(result_types=[type], properties={"value": IntegerAttr(0, type)})
    elif str(type)[:1] in "fb":
        made = arith.ConstantOp.create(result_types=[type], properties={"value": FloatAttr(1.0, type)})
    else:
        return None
    block.insert_op_before(made, op)
    return made.results[0]


def _dense(type: Any, number: int) -> DenseIntOrFPElementsAttr:
    import numpy as np
    from xdsl.dialects.builtin import BytesAttr

    from ..dialects.types import numpy_dtype

    data = np.full(type.get_shape(), number).astype(numpy_dtype(type.element_type))
    return DenseIntOrFPElementsAttr(type, BytesAttr(data.tobytes()))


def _splat(op: Operation, number: int) -> bool | None:
    value = _dense(op.results[0].type, number)
    if op.properties["value"] == value:
        return False
    op.properties["value"] = value
    return None


def _n(op: Operation) -> int:
    assert isinstance(op, func.FuncOp)
    return len(op.function_type.outputs)


def keep_results(op: Operation, kept: Sequence[int]) -> bool | None:
    """Let a function that nothing calls return some of its results."""
    if not isinstance(op, func.FuncOp) or _is_called(op):
        return False
    last = op.body.block.last_op
    assert last is not None
    last.operands = [last.operands[k] for k in kept]
    outputs = [op.function_type.outputs.data[k] for k in kept]
    op.properties["function_type"] = func.FunctionType.from_lists([*op.function_type.inputs], outputs)
    op.properties.pop("res_attrs", None)
    return None


def drop_unused_arguments(op: Operation) -> bool | None:
    """Take no arguments that are not used, in a function that nothing calls."""
    if not isinstance(op, func.FuncOp) or _is_called(op):
        return False
    block = op.body.block
    attributes = op.arg_attrs
    kept = [k for k, a in enumerate(block.args) if a.first_use is not None]
    for argument in list(block.args):
        if argument.first_use is None:
            block.erase_arg(argument)
    op.properties["function_type"] = func.FunctionType.from_lists([a.type for a in block.args], [*op.function_type.outputs])
    if attributes is not None:
        op.properties["arg_attrs"] = ArrayAttr([attributes.data[k] for k in kept])
    return None


def _is_called(function: func.FuncOp) -> bool:
    module = function.parent_op()
    name = f"@{function.sym_name.data}"
    return module is None or any(
        name in str(value)
        for op in module.walk()
        if op is not function
        for value in op.properties.values()
        if "@" in str(value)
    )


def remove_dead(module: ModuleOp) -> None:
    """Remove ops without effects whose results are unused."""
    changed = True
    while changed:
        changed = False
        for op in _backwards(module):
            pure = op.name.startswith(("graph.", "arith.", "math.", "scalar.", "vector.", "loop.load", "loop.gather"))
            if pure and op.results and op.parent is not None and all(r.first_use is None for r in op.results):
                if isinstance(op, EffectOp):
                    continue
                op.detach()
                op.erase()
                changed = True


def _backwards(module: ModuleOp) -> Iterator[Operation]:
    yield from reversed(list(module.walk()))


__all__ = ["Fails", "op_count", "reduced"]
