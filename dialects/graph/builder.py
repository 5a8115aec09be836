"""Builds graph ops at an insertion point, with inferred types: `b.add(x, y)`, `b.reduce(x, kind="add", dims=[0])`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, LocationAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ..sizes.polynomial import Size
from ..types import computed_in, element_of, element_type, is_float, is_stored, numpy_dtype, shape_of, tensor
from .base import OPS


def dense(array: np.ndarray) -> DenseIntOrFPElementsAttr:
    """A dense attribute with the bytes of an array; 0.4 ms for a million f32."""
    array = np.asarray(array, order="C")
    return DenseIntOrFPElementsAttr(tensor(element_type(array.dtype), array.shape), BytesAttr(array.tobytes()))  # pyright: ignore[reportArgumentType]


def dense_array(attribute: DenseIntOrFPElementsAttr) -> np.ndarray:
    """The array of a dense attribute, read-only and without a copy."""
    dtype = numpy_dtype(attribute.get_element_type())
    return np.frombuffer(attribute.data.data, dtype).reshape(attribute.type.get_shape())


class GraphBuilder:
    """Inserts graph ops at one point and returns their results.

    Any op of the dialect is a method: `b.<op>(*operands, **properties)`; a trailing underscore is dropped (`b.and_`). Ops with
    one result return it, others a tuple. `result=` gives the declared type to ops that take their shape from it.
    """

    def __init__(self, point: InsertPoint | Block, location: LocationAttr | None = None):
        self.point = InsertPoint.at_end(point) if isinstance(point, Block) else point
        self.location = location

    def insert(self, op: Operation) -> Any:
        """Insert an op; its result, or the tuple of its results."""
        if self.location is not None:
            op.location = self.location
        if self.point.insert_before is not None:
            self.point.block.insert_op_before(op, self.point.insert_before)
        else:
            self.point.block.add_op(op)
        return op.results[0] if len(op.results) == 1 else tuple(op.results)

    def build(self, name: str, operands: Sequence[SSAValue], props: Mapping[str, Any]) -> Any:
        """The method `name`, which inserts the op of that name on operands and properties."""
        return self.insert(OPS[name.rstrip("_")].make(operands, props))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        try:
            cls = OPS[name.rstrip("_")]
        except KeyError:
            raise AttributeError(f"the graph dialect has no op {name!r}") from None

        def emit(*operands: SSAValue, result: TensorType | None = None, **props: Any) -> Any:
            return self.insert(cls.make(operands, props, None if result is None else (result,)))

        return emit

    # -- ops whose result type is an argument

    def const(self, value: Any, element: Attribute | None = None) -> SSAValue:
        """A constant from an array or scalar, optionally converted to an element type."""
        array = np.asarray(value, None if element is None else numpy_dtype(element))
        own = element_type(array.dtype)
        if is_stored(own):
            return self.convert(self.const(array, computed_in(own)), own)
        return self.insert(OPS["const"].make((), {"value": dense(array)}))

    def full(self, value: float | int | bool, type: Attribute) -> SSAValue:
        """A tensor filled with one value, which may be a symbolic size: a scalar and a broadcast."""
        assert isinstance(type, TensorType)
        if is_stored(type.element_type):
            return self.convert(self.full(value, tensor(computed_in(type.element_type), type.get_shape())), type.element_type)
        scalar = self.size(value, type.element_type) if isinstance(value, Size) else self.const(value, type.element_type)
        if not type.get_shape():
            return scalar
        return self.broadcast(scalar, (), type.get_shape())

    def size(self, size: Any, element: Attribute) -> SSAValue:
        """A size as a scalar: a constant where it is known."""
        if not isinstance(size, Size):
            return self.const(size, element)
        return self.insert(OPS["dim"].make((), {"of": (size,)}, (tensor(element, ()),)))

    def full_like(self, x: SSAValue, value: float | int | bool) -> SSAValue:
        return self.full(value, x.type)

    def zeros_like(self, x: SSAValue) -> SSAValue:
        return self.full_like(x, 0)

    def broadcast(self, x: SSAValue, dims: Sequence[int], shape: Sequence[int]) -> SSAValue:
        """Dim `k` of `x` becomes dim `dims[k]` of a tensor of `shape`."""
        result = tensor(element_of(x), shape)
        return self.insert(OPS["broadcast"].make((x,), {"dims": tuple(dims)}, (result,)))

    def reshape(self, x: SSAValue, shape: Sequence[int]) -> SSAValue:
        result = tensor(element_of(x), shape)
        return self.insert(OPS["reshape"].make((x,), {}, (result,)))

    def convert(self, x: SSAValue, element: Attribute) -> SSAValue:
        """`x` with another element type; `x` itself when it has it already."""
        if element_of(x) == element:
            return x
        result = tensor(element, shape_of(x))
        return self.insert(OPS["convert"].make((x,), {}, (result,)))

    def bitcast(self, x: SSAValue, element: Attribute) -> SSAValue:
        """The bits of `x` as another element type of its width."""
        return self.insert(OPS["bitcast"].make((x,), {}, (tensor(element, shape_of(x)),)))

    def trunc(self, x: SSAValue) -> SSAValue:
        """Toward zero: floor of positive, ceil of negative values; integers are themselves."""
        if not is_float(element_of(x)):
            return x
        return self.mul(self.sign(x), self.floor(self.abs(x)))
