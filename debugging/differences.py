"""The meaning of the transformations of functions without their rules: derivatives by finite differences, maps by loops.

`graph.jvp`, `graph.vjp`, `graph.transposed` and `graph.vmap` are run as they are defined: in float64, whatever the module says,
by central differences of fourth order, column after column of a Jacobian, element after element of a mapped dim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    FunctionType,
    ModuleOp,
    TensorType,
    TypeAttribute,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ..dialects.facts import OwnDerivative
from ..dialects.graph.autodiff import JvpOp, TransformOp, TransposedOp, VjpOp, VmapOp
from ..dialects.graph.builder import dense_array
from ..dialects.types import f64, numpy_dtype, shape_of, tensor
from ..runtime.interpreter import Interpreter, InterpreterError

MAX_COLUMNS = 400
"""The most elements a gradient may have here: each one takes four runs of its function."""

STEPS = (2.0**-9, 2.0**-11)
"""Steps of the differences; where a result depends on the choice, there is no derivative near, or it is large."""

_NARROW = frozenset(("f16", "bf16", "f32"))


class NoMeaningError(InterpreterError):
    """A derivative that differences cannot compute: of a rule of its own, of complex numbers, of too many elements."""


def has_transforms(module: ModuleOp) -> bool:
    """Whether functions of functions are still to be expanded."""
    return any(isinstance(op, TransformOp) for op in module.walk())


def lifted(module: ModuleOp) -> ModuleOp:
    """A copy of a graph module with all floats as f64."""
    copy = module.clone()
    for op in copy.walk():
        for name, value in list(op.properties.items()):
            op.properties[name] = _lifted(value)
        for value in (*op.results, *(a for region in op.regions for block in region.blocks for a in block.args)):
            value._type = _lifted(value.type)  # pyright: ignore[reportPrivateUsage]
    return copy


def _lifted(attribute: Attribute) -> Any:
    if isinstance(attribute, DenseIntOrFPElementsAttr):
        type = attribute.type
        if str(type.element_type) not in _NARROW:
            return attribute
        data = BytesAttr(dense_array(attribute).astype(np.float64).tobytes())
        wide: Any = tensor(f64, type.get_shape())
        return DenseIntOrFPElementsAttr(wide, data)
    if isinstance(attribute, TensorType):
        return tensor(f64, attribute.get_shape()) if str(attribute.element_type) in _NARROW else attribute
    if isinstance(attribute, FunctionType):
        return FunctionType.from_lists([*map(_lifted, attribute.inputs)], [*map(_lifted, attribute.outputs)])
    return f64 if isinstance(attribute, TypeAttribute) and str(attribute) in _NARROW else attribute


class ByDifferences(Interpreter):
    """An interpreter of lifted modules that runs transformations by their definitions.

    Args:
        module: the result of `lifted`.
        step: of the differences.
    """

    def __init__(self, module: ModuleOp, step: float, limit: int | None = None, perform: Any = None):
        super().__init__(module, limit, perform)
        self._step = step
        self.handlers.update(
            {"graph.jvp": self._jvp, "graph.vjp": self._vjp, "graph.vmap": self._vmap, "graph.transposed": self._transposed}
        )

    def _function(self, op: Any) -> Callable[[Sequence[np.ndarray]], list[np.ndarray]]:
        name = op.callee.string_value()
        _check_rules(self.symbols, name, op)
        return lambda arguments: [np.asarray(y) for y in self.call(name, list(arguments))]

    def _jvp(self, op: JvpOp, values: dict[SSAValue, Any]) -> None:
        function = self._function(op)
        primals = [np.asarray(values[v]) for v in op.primals]
        tangents = dict(zip(_numbers(op.wrt), (np.asarray(values[v]) for v in op.vectors), strict=True))
        results = function(primals)
        moved = _difference(function, primals, tangents, self._step)
        slopes = [d for d, y in zip(moved, results, strict=True) if y.dtype.kind == "f"]
        values.update(zip(op.results, [*results, *slopes], strict=True))

    def _vjp(self, op: VjpOp, values: dict[SSAValue, Any]) -> None:
        function = self._function(op)
        primals = [np.asarray(values[v]) for v in op.primals]
        cotangents = [np.asarray(values[v]) for v in op.vectors]
        wrt = _numbers(op.wrt)
        _check_columns(sum(primals[k].size for k in wrt), op)
        gradients: list[np.ndarray] = []
        for k in wrt:
            gradient = np.zeros(primals[k].shape)
            for at in np.ndindex(gradient.shape):
                direction = np.zeros(gradient.shape)
                direction[at] = 1.0
                moved = _difference(function, primals, {k: direction}, self._step)
                columns = [d for d in moved if d.dtype.kind == "f"]
                gradient[at] = sum(float(np.sum(c * d)) for c, d in zip(cotangents, columns, strict=True))
            gradients.append(gradient)
        values.update(zip(op.results, [*function(primals), *gradients], strict=True))

    def _vmap(self, op: VmapOp, values: dict[SSAValue, Any]) -> None:
        axes = _numbers(op.axes)
        arguments = [np.asarray(values[v]) for v in op.arguments]
        size = next(x.shape[axis] for x, axis in zip(arguments, axes, strict=True) if axis >= 0)
        name = op.callee.string_value()
        rows: list[tuple[np.ndarray, ...]] = []
        for k in range(size):
            rows.append(
                self.call(name, [np.take(x, k, axis) if axis >= 0 else x for x, axis in zip(arguments, axes, strict=True)])
            )
        for j, result in enumerate(op.results):
            parts = [np.asarray(row[j]) for row in rows]
            values[result] = np.stack(parts) if parts else np.zeros(shape_of(result), numpy_dtype(_element(result)))

    def _transposed(self, op: TransposedOp, values: dict[SSAValue, Any]) -> None:
        block = op.body.block
        cotangents = [np.asarray(values[v]) for v in op.cotangents]
        shapes = [shape_of(a) for a in block.args]
        _check_columns(sum(int(np.prod(shape)) for shape in shapes), op)
        for k, (argument, result) in enumerate(zip(block.args, op.results, strict=True)):
            gradient = np.zeros(shapes[k])
            for at in np.ndindex(gradient.shape):
                inner = dict(values)
                for other, shape in zip(block.args, shapes, strict=True):
                    inner[other] = np.zeros(shape)
                inner[argument][at] = 1.0
                column = self._run(block, inner)
                gradient[at] = sum(float(np.sum(c * y)) for c, y in zip(cotangents, column, strict=True))
            values[result] = gradient


def _difference(
    function: Callable[[Sequence[np.ndarray]], list[np.ndarray]],
    primals: Sequence[np.ndarray],
    directions: dict[int, np.ndarray],
    step: float,
) -> list[np.ndarray]:
    """The directional derivative of each float result, of fourth order in `step`; others as they are."""

    def at(t: float) -> list[np.ndarray]:
        return function([x + t * directions[k] if k in directions else x for k, x in enumerate(primals)])

    near, far = (at(step), at(-step)), (at(2 * step), at(-2 * step))
    slopes: list[np.ndarray] = []
    for a, b, c, d in zip(*near, *far, strict=True):
        slopes.append((8 * (a - b) - (c - d)) / (12 * step) if a.dtype.kind == "f" else a)
    return slopes


def _check_columns(n: int, op: Operation) -> None:
    if n > MAX_COLUMNS:
        raise NoMeaningError(f"'{op.name}' op has {n} elements to differ in, more than {MAX_COLUMNS}", op)


def _check_rules(symbols: dict[str, Operation], name: str, op: Operation) -> None:
    """Refuse ops whose derivatives are not those of their values."""
    todo, seen = [name], set[str]()
    while todo:
        function = symbols.get(todo.pop())
        for inner in () if function is None else function.walk():
            if inner.has_trait(OwnDerivative):
                raise NoMeaningError(f"'{op.name}' op of a function with {inner.name}, which has a rule of its own", op)
            if any("complex" in str(v.type) for v in inner.results):
                raise NoMeaningError(f"'{op.name}' op of a function of complex numbers", op)
            for attribute in inner.properties.values():
                for symbol in _symbols(attribute):
                    if symbol not in seen:
                        seen.add(symbol)
                        todo.append(symbol)


def _symbols(attribute: Attribute) -> list[str]:
    from xdsl.dialects.builtin import ArrayAttr, SymbolRefAttr

    if isinstance(attribute, SymbolRefAttr):
        return [attribute.string_value()]
    if isinstance(attribute, ArrayAttr):
        return [name for one in attribute.data for name in _symbols(one)]
    return []


def _numbers(attribute: Any) -> list[int]:
    return [int(n) for n in attribute.get_values()]


def _element(value: SSAValue) -> Any:
    type: Any = value.type
    return type.element_type


__all__ = ["STEPS", "ByDifferences", "NoMeaningError", "has_transforms", "lifted"]
