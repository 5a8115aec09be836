"""A StableHLO module as functions of arrays: each op is evaluated by functions of the library, on tracers.

So what is imported is traced like a user's Python: `jit`, derivatives, batching and all levels below know nothing of StableHLO.
A call of another function of the module becomes a call of the graph. The table of ops is in `table.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from ...api import Tracer, lift, lift_as
from ...api.errors import ShapeError
from ...api.functions import jit
from ...api.tracing import current
from . import faults
from .faults import UnsupportedError
from .quantized import Quantized, dequantized, expressed, integers_of, is_quantized
from .values import DYNAMIC, bounds_of, dtype_of, fitted, is_tensor

Values = Sequence[Any]
"""Tracers, tuples of values, and None for tokens."""


class Site:
    """One op under evaluation: what a row of the table reads of it.

    Attributes:
        op: the op.
        types: the declared types of its results; of quantized ones, those of the numbers.
    """

    def __init__(self, op: Any, frame: Frame) -> None:
        self.op, self.frame = op, frame
        self.types = [expressed(result.type) for result in op.results]

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute as a Python value."""
        return self.op.get(name, default)

    def required(self, name: str) -> Any:
        """An attribute that the op must have."""
        found = self.op.get(name)
        if found is None:
            raise UnsupportedError(f"needs the attribute {name}")
        return found

    def shape(self, k: int = 0) -> tuple[int, ...]:
        """The declared shape of a result."""
        return tuple(self.types[k].get_shape())

    def dtype(self, k: int = 0) -> Any:
        """The declared dtype of a result."""
        return dtype_of(self.types[k])

    def region(self, k: int) -> Region:
        """A region of the op, to be called."""
        return Region(self.op.regions[k], self.frame)

    @property
    def module(self) -> Module:
        """The module of the op."""
        return self.frame.module


class Frame:
    """The values of a block under evaluation, and of those around it."""

    def __init__(self, module: Module, values: Mapping[Any, Any]) -> None:
        self.module, self.values = module, dict(values)

    def copy(self) -> Frame:
        """Another frame with the same values, in which a block may be run beside this one."""
        return Frame(self.module, self.values)

    def run(self, block: Any, arguments: Values) -> list[Any]:
        """The values that a block returns."""
        if len(arguments) != len(block.args):
            raise ShapeError(f"has a region of {len(block.args)} arguments, which is given {len(arguments)}")
        for argument, value in zip(block.args, arguments, strict=True):
            self.values[argument] = value
        trace = current()
        assert trace is not None
        for op in block.ops:
            trace.builder.location = op.location
            try:
                operands = [self.values[operand] for operand in op.operands]
                if op.name in ("func.return", "stablehlo.return"):
                    return operands
                results = self.module.evaluate(op, operands, self)
            except Exception as error:
                if not faults.is_fault(error):
                    raise
                raise faults.at(op, error) from error
            finally:
                trace.builder.location = None
            self.values.update(zip(op.results, results, strict=True))
        raise UnsupportedError("has a block without a return")


class Region:
    """A region of an op as a function of values."""

    def __init__(self, region: Any, frame: Frame) -> None:
        if len(region.blocks) != 1:
            raise UnsupportedError(f"needs regions of one block, got {len(region.blocks)}")
        self.block, self.frame = region.blocks[0], frame

    def __call__(self, *arguments: Any) -> list[Any]:
        """The values that it returns."""
        shaped = [fitted(value, argument.type) for value, argument in zip(arguments, self.block.args, strict=True)]
        return [dequantized(value) for value in Frame(self.frame.module, self.frame.values).run(self.block, shaped)]


class Module:
    """A parsed module, its functions, and their Python functions, made once.

    Args:
        op: the `builtin.module`.
    """

    def __init__(self, op: Any) -> None:
        self.op = op
        self.functions = {f.properties["sym_name"].data: f for f in op.body.block.ops if f.name == "func.func"}
        self._called: dict[str, Callable[..., Any]] = {}
        self._open: list[str] = []
        self._is_open: dict[str, bool] = {}

    def function(self, name: str) -> Any:
        """The `func.func` of a name."""
        found = self.functions.get(name)
        if found is None:
            there = ", ".join(f"@{known}" for known in self.functions) or "none"
            raise UnsupportedError(f"names @{name}, which is no function of the module; there are: {there}")
        return found

    def callable(self, name: str) -> Callable[..., Any]:
        """A function of the module, of arrays; several results are a tuple."""
        function = self.function(name)
        if not function.body.blocks:
            raise UnsupportedError(f"calls @{name}, which is declared and not defined")
        block = function.body.blocks[0]

        def imported(*arguments: Any) -> Any:
            if len(arguments) != len(block.args):
                raise TypeError(f"{name}() takes {len(block.args)} arguments, got {len(arguments)}")
            if name in self._open:
                raise UnsupportedError(f"calls @{name}, which calls itself")
            self._open.append(name)
            try:
                values = [self._argument(name, k, x, a) for k, (x, a) in enumerate(zip(arguments, block.args, strict=True))]
                results = Frame(self, {}).run(block, values)
            finally:
                self._open.pop()
            results = [integers_of(value) for value in results]
            return results[0] if len(results) == 1 else tuple(results)

        imported.__name__ = imported.__qualname__ = name
        return imported

    def _argument(self, name: str, k: int, value: Any, argument: Any) -> Any:
        type = argument.type
        if not is_tensor(type):
            return value
        trace = current()
        assert trace is not None
        given, dtype = trace.lift(value), dtype_of(type)
        declared = tuple(type.get_shape())
        shown = f"{name}() argument {k} is {given.dtype}{list(given.shape)}, its type is {type}"
        if len(given.shape) != len(declared) or any(n not in (m, DYNAMIC) for n, m in zip(declared, given.shape, strict=True)):
            raise ShapeError(shown)
        if any(most is not None and n > most for n, most in zip(given.shape, bounds_of(type), strict=True)):
            raise ShapeError(shown)
        if given.dtype != dtype and not given.weak:
            raise TypeError(shown)
        lifted = lift_as(given, dtype)
        return Quantized(lifted, type) if is_quantized(type) else lifted

    def called(self, name: str) -> Callable[..., Any]:
        """A function of the module that is traced once however often it is called."""
        if name not in self._called:
            self._called[name] = jit(self.callable(name), capture="trace")
        return self._called[name]

    def call(self, name: str, operands: Values) -> Any:
        """A call: of a function of the graph, or, where sizes are open in the text, of its ops, to see which are known."""
        if name not in self._is_open:
            types = {value.type for op in self.function(name).walk() for value in (*op.operands, *op.results)}
            self._is_open[name] = any(is_tensor(type) and DYNAMIC in type.get_shape() for type in types)
        return (self.callable(name) if self._is_open[name] else self.called(name))(*operands)

    def evaluate(self, op: Any, operands: Values, frame: Frame) -> list[Any]:
        """The results of one op."""
        if op.name == "func.call":
            found = self.call(op.properties["callee"].root_reference.data, [integers_of(x) for x in operands])
            results = list(found) if len(op.results) != 1 else [found]
            return [Quantized(x, r.type) if is_quantized(r.type) else x for x, r in zip(results, op.results, strict=True)]
        row = table().get(op.name)
        if row is None:
            raise UnsupportedError("is not supported")
        if row.bits and any(is_quantized(value.type) for value in (*op.operands, *op.results)):
            raise UnsupportedError("is not supported of quantized types")
        site, operands = Site(op, frame), [dequantized(x) for x in operands]
        values = [lift(x) if isinstance(x, Tracer) and not row.raw else x for x in operands]
        found = row.evaluate(site, values)
        results = found if row.several else [found]
        if len(results) != len(site.types):
            raise ShapeError(f"has {len(site.types)} results, its meaning {len(results)}")
        return [fitted(value, result.type) for value, result in zip(results, op.results, strict=True)]


@cache
def table() -> Mapping[str, Any]:
    """The rows, loaded with the first op: they need the whole library."""
    from .table import TABLE

    return TABLE
