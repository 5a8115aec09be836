"""Builds StableHLO ops: what the translation from graph ops writes with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, IntegerAttr, TensorType, i1, i64
from xdsl.dialects.func import CallOp
from xdsl.ir import Block, Region

from ...api.dtypes import element_type, numpy_dtype, tensor_type
from ...api.programs import dense, enumerated, structured


def shape_of(value: Any) -> tuple[int, ...]:
    """The sizes of a tensor."""
    return tuple(value.type.get_shape())


def element_of(value: Any) -> Any:
    """The element type of a tensor."""
    return value.type.element_type


def ints(values: Sequence[int]) -> Any:
    """`array<i64: ...>`."""
    return DenseArrayBase.from_list(i64, [int(v) for v in values])


def number(value: int) -> Any:
    """`value : i64`."""
    return IntegerAttr(int(value), i64)


def flag(value: bool) -> Any:
    """`true` or `false`."""
    return BoolAttr.from_bool(value)


class Writer:
    """Inserts StableHLO ops before an op, or at the end of a block.

    Args:
        ctx: the context that has the classes of the ops.
        insert: takes each op.
    """

    def __init__(self, ctx: Any, insert: Callable[[Any], None], location: Any) -> None:
        self.ctx, self.insert, self.location = ctx, insert, location

    def op(
        self,
        name: str,
        operands: Sequence[Any],
        types: Sequence[Any],
        regions: Sequence[Region] = (),
        attributes: Mapping[str, Any] | None = None,
        **props: Any,
    ) -> Any:
        """An op by its name without `stablehlo.`; its results."""
        full = name if "." in name else f"stablehlo.{name}"
        made = self.ctx.get_op(full).create(
            operands=list(operands),
            result_types=list(types),
            properties=props,
            attributes=dict(attributes or {}),
            regions=list(regions),
        )
        made.location = self.location
        self.insert(made)
        return made.results

    def one(self, name: str, operands: Sequence[Any], type: Any = None, **props: Any) -> Any:
        """An op with one result, of the type of the first operand if none is given."""
        return self.op(name, operands, [operands[0].type if type is None else type], **props)[0]

    def call(self, callee: str, operands: Sequence[Any], types: Sequence[Any]) -> Any:
        """A `func.call`."""
        made = CallOp(callee, list(operands), list(types))
        made.location = self.location
        self.insert(made)
        return made.results

    def constant(self, value: Any, element: Any) -> Any:
        """A constant of an array or a number."""
        return self.op("constant", (), [tensor_type(element, np.shape(value))], value=dense(_array(value, element)))[0]

    def full(self, value: Any, like: Any) -> Any:
        """A value in the shape of another."""
        return self.broadcast(self.constant(value, element_of(like)), (), shape_of(like))

    def broadcast(self, x: Any, dims: Sequence[int], shape: Sequence[int]) -> Any:
        """`broadcast_in_dim`."""
        type = tensor_type(element_of(x), tuple(shape))
        return self.one("broadcast_in_dim", [x], type, broadcast_dimensions=ints(dims))

    def reshape(self, x: Any, shape: Sequence[int]) -> Any:
        """`reshape`."""
        return self.one("reshape", [x], tensor_type(element_of(x), tuple(shape)))

    def convert(self, x: Any, element: Any) -> Any:
        """`convert`."""
        return self.one("convert", [x], tensor_type(element, shape_of(x)))

    def transpose(self, x: Any, perm: Sequence[int]) -> Any:
        """`transpose`."""
        type = tensor_type(element_of(x), tuple(shape_of(x)[d] for d in perm))
        return self.one("transpose", [x], type, permutation=ints(perm))

    def iota(self, shape: Sequence[int], dim: int, element: Any) -> Any:
        """`iota`."""
        return self.op("iota", (), [tensor_type(element, tuple(shape))], iota_dimension=number(dim))[0]

    def slice(self, x: Any, start: Sequence[int], stop: Sequence[int], step: Sequence[int] | None = None) -> Any:
        """`slice`."""
        step = [1] * len(start) if step is None else step
        sizes = tuple(max(0, -(-(b - a) // s)) for a, b, s in zip(start, stop, step, strict=True))
        props = {"start_indices": ints(start), "limit_indices": ints(stop), "strides": ints(step)}
        return self.one("slice", [x], tensor_type(element_of(x), sizes), **props)

    def concatenate(self, xs: Sequence[Any], dim: int) -> Any:
        """`concatenate`."""
        sizes = list(shape_of(xs[0]))
        sizes[dim] = sum(shape_of(x)[dim] for x in xs)
        return self.one("concatenate", xs, tensor_type(element_of(xs[0]), tuple(sizes)), dimension=number(dim))

    def compare(self, direction: str, x: Any, y: Any, total: bool = False) -> Any:
        """`compare`."""
        dtype = numpy_dtype(element_of(x))
        kind = {"i": "SIGNED", "u": "UNSIGNED", "b": "UNSIGNED"}.get(dtype.kind, "TOTALORDER" if total else "FLOAT")
        return self.one(
            "compare",
            [x, y],
            tensor_type(i1, shape_of(x)),
            comparison_direction=enumerated("stablehlo.comparison_direction", direction),
            compare_type=enumerated("stablehlo.comparison_type", kind),
        )

    def select(self, condition: Any, x: Any, y: Any) -> Any:
        """`select`."""
        return self.one("select", [condition, x, y], x.type)

    def region(self, types: Sequence[Any], body: Callable[..., Sequence[Any]]) -> Region:
        """A region with arguments of types, whose results `body(writer, *arguments)` gives."""
        block = Block(arg_types=list(types))
        inner = Writer(self.ctx, block.add_op, self.location)
        inner.op("return", body(inner, *block.args), ())
        return Region(block)

    def combining(self, element: Any, name: str) -> Region:
        """The region that applies an op to two scalars."""
        scalar = tensor_type(element, ())
        return self.region([scalar, scalar], lambda w, a, b: [w.one(name, [a, b])])

    def reduce(self, x: Any, init: Any, name: str, dims: Sequence[int]) -> Any:
        """`reduce` by an op."""
        shape = tuple(n for d, n in enumerate(shape_of(x)) if d not in dims)
        regions = [self.combining(element_of(x), name)]
        return self.op("reduce", [x, init], [tensor_type(element_of(x), shape)], regions, dimensions=ints(dims))[0]


def _array(value: Any, element: Any) -> np.ndarray:
    array = np.asarray(value)
    return array if array.dtype == numpy_dtype(element) else array.astype(numpy_dtype(element))


__all__ = ["TensorType", "Writer", "element_type", "structured"]
