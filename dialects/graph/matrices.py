"""Stacks of matrices, the last two dims of operands: helpers for rules of ops, and the base of ops with loops over each matrix.

The loops are written once over real and complex numbers (`complex_elements.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import SSAValue
from xdsl.irdl import VarOperandDef

from ...errors import DTypeError, FixedSizeError, ShapeError
from ..facts import FACTORIZATION
from ..sizes.polynomial import Size
from ..types import compatible, complex_of, element_of, f32, f64, is_complex, part_of, shape_of, show_shape, tensor
from .base import GraphOp, Props, Types
from .complex import conjugate
from .complex_elements import Element, Field

if TYPE_CHECKING:
    from .builder import GraphBuilder
    from .nest_writer import NestWriter

# --------------------------------------------------------------------------------------------------------------------
# Stacks of matrices, as values of graphs


def require_matrices(operand: TensorType, *, square: bool = False, known: bool = False) -> tuple[int, ...]:
    """The shape of a stack of matrices of f32 or f64, or complex ones; raises ShapeError or DTypeError for others.

    `known`: rows and columns must be known; raises FixedSizeError.
    """
    shape = operand.get_shape()
    if part_of(operand.element_type) not in (f32, f64):
        raise DTypeError(f"element type must be f32 or f64, or complex of them, got {operand.element_type}")
    if len(shape) < 2 or any(n < 0 for n in shape[-2:]):
        raise ShapeError(f"matrices need two dims or more, of known sizes, got {show_shape(shape)}")
    if square and shape[-1] != shape[-2]:
        raise ShapeError(f"matrices must be square, got {show_shape(shape)}")
    if known and any(isinstance(n, Size) for n in shape[-2:]):
        raise FixedSizeError(f"rows and columns must be known, got {show_shape(shape)}")
    return shape


def _are_alike(one: TensorType, other: TensorType) -> bool:
    shapes = one.get_shape(), other.get_shape()
    return one.element_type == other.element_type and len(shapes[0]) == len(shapes[1]) and all(map(compatible, *shapes))


def conjugated(b: GraphBuilder, x: SSAValue) -> SSAValue:
    """Each element's conjugate; real ones themselves."""
    return conjugate(b, x) if is_complex(element_of(x)) else x


def real_part(b: GraphBuilder, x: SSAValue) -> SSAValue:
    """The real parts of complex elements; real ones themselves."""
    return b.real(x) if is_complex(element_of(x)) else x


def in_field(b: GraphBuilder, x: SSAValue, like: SSAValue) -> SSAValue:
    """Real elements as elements of the type of `like`, which may be complex."""
    return b.convert(x, element_of(like))


def multiply(b: GraphBuilder, x: SSAValue, y: SSAValue, *, transpose: str = "", adjoint: str = "") -> SSAValue:
    """The product of two stacks of matrices.

    `transpose` names the operands (x, y) that are transposed before, `adjoint` those that are transposed and conjugated.
    """
    x, y = (conjugated(b, v) if name in adjoint else v for name, v in (("x", x), ("y", y)))
    transpose += adjoint
    lead = tuple(range(len(shape_of(x)) - 2))
    n = len(lead)
    over = (n if "x" in transpose else n + 1), (n + 1 if "y" in transpose else n)
    return b.dot(x, y, lhs_batch=lead, rhs_batch=lead, lhs_contract=over[:1], rhs_contract=over[1:])


def transposed(b: GraphBuilder, x: SSAValue) -> SSAValue:
    """Each matrix of a stack transposed."""
    rank = len(shape_of(x))
    return b.transpose(x, perm=(*range(rank - 2), rank - 1, rank - 2))


def adjoint_of(b: GraphBuilder, x: SSAValue) -> SSAValue:
    """Each matrix of a stack transposed and conjugated."""
    return transposed(b, conjugated(b, x))


def part(b: GraphBuilder, x: SSAValue, rows: tuple[int, int], columns: tuple[int, int]) -> SSAValue:
    """Rows and columns of each matrix of a stack, as (start, stop)."""
    shape = shape_of(x)
    lead = len(shape) - 2
    start, stop = (*([0] * lead), rows[0], columns[0]), (*shape[:-2], rows[1], columns[1])
    return x if stop == shape and not any(start) else b.slice(x, start=start, stop=stop, step=(1,) * len(shape))


BLOCK = 64
"""Columns of a block. Measured: the loops within a block take as long as those of a block half as wide plus the matmuls."""


def compared(b: GraphBuilder, predicate: str, shape: Sequence[int], below: int = 0) -> SSAValue:
    """The mask of elements whose `row + below` and column satisfy a predicate, for each matrix of a stack."""
    rank = len(shape)
    rows, columns = (b.iota(dim=k, result=tensor(i32, shape)) for k in (rank - 2, rank - 1))
    return b.cmp(b.add(rows, b.full_like(rows, below)) if below else rows, columns, predicate=predicate)


def kept(b: GraphBuilder, x: SSAValue, predicate: str, below: int = 0) -> SSAValue:
    """`x` where row and column satisfy a predicate, else 0."""
    return b.select(compared(b, predicate, shape_of(x), below), x, b.zeros_like(x))


def mirrored(b: GraphBuilder, x: SSAValue) -> SSAValue:
    """The symmetric or Hermitian matrices with the given lower triangles; diagonals are real."""
    below = kept(b, x, "gt")
    diagonal = kept(b, in_field(b, real_part(b, x), x), "eq")
    return b.add(b.add(below, diagonal), adjoint_of(b, below))


def identity(b: GraphBuilder, element: Any, shape: Sequence[int]) -> SSAValue:
    """A stack of matrices with ones on their diagonals."""
    one, zero = (b.full(value, tensor(element, shape)) for value in (1, 0))
    return b.select(compared(b, "eq", shape), one, zero)


def diagonal_of(b: GraphBuilder, x: SSAValue) -> SSAValue:
    """The diagonals of a stack of square matrices."""
    return b.reduce(kept(b, x, "eq"), kind="add", dims=(len(shape_of(x)) - 1,))


def on_columns(b: GraphBuilder, x: SSAValue, shape: Sequence[int]) -> SSAValue:
    """A stack of vectors as matrices of equal rows: an element for each column."""
    rank = len(shape)
    return b.broadcast(x, (*range(rank - 2), rank - 1), shape)


def on_rows(b: GraphBuilder, x: SSAValue, shape: Sequence[int]) -> SSAValue:
    """A stack of vectors as matrices of equal columns: an element for each row."""
    return b.broadcast(x, tuple(range(len(shape) - 1)), shape)


def batch_leading(b: GraphBuilder, op: GraphOp, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
    """The batching rule of ops on stacks of matrices: one more leading dim."""
    size = next(shape_of(o)[0] for o, flag in zip(operands, batched, strict=True) if flag)
    full = [
        o if flag else b.broadcast(o, tuple(range(1, len(shape_of(o)) + 1)), (size, *shape_of(o)))
        for o, flag in zip(operands, batched, strict=True)
    ]
    found = b.build(op.name.removeprefix("graph."), full, op.properties)
    return [found] if len(op.results) == 1 else list(found)


# --------------------------------------------------------------------------------------------------------------------
# Loops


class MatrixOp(GraphOp, ABC):
    """Base of ops on stacks of matrices that write their own loops, for one matrix.

    Operands and results of a complex type are split into planes by `graph-split-complex`: the op then has the real parts as
    its operands and results, and the imaginary parts, in the same order, after them.
    """

    batching = batch_leading
    facts = FACTORIZATION

    @classmethod
    @abstractmethod
    def whole_types(cls, operands: Types, props: Props) -> Types:
        """Result types of operands that are not split."""

    @abstractmethod
    def meaning(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        """The meaning in NumPy, of operands that are not split."""

    @classmethod
    def count(cls) -> int:
        """How many operands there are that are not split."""
        return sum(not isinstance(definition, VarOperandDef) for _, definition in cls.get_irdl_definition().operands)

    @property
    def is_split(self) -> bool:
        """Whether operands are parts of complex matrices."""
        return len(self.operands) > self.count()

    @classmethod
    def splits(cls, n_operands: int) -> bool:
        """Whether complex results of so many operands are split."""
        return n_operands > cls.count()

    @classmethod
    def joined_types(cls, operands: Sequence[TensorType]) -> Sequence[TensorType]:
        """The types of operands as if they were not split."""
        n = cls.count()
        if len(operands) == n:
            return operands
        is_split = len(operands) == 2 * n and all(map(_are_alike, operands[:n], operands[n:]))
        if not is_split or any(is_complex(o.element_type) for o in operands):
            shown = ", ".join(map(str, operands))
            raise DTypeError(f"takes {n} operands, or their real and then their imaginary parts, got {shown}")
        for operand in operands:
            require_matrices(operand)
        return [tensor(complex_of(o.element_type), o.get_shape()) for o in operands[:n]]

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        found = cls.whole_types(cls.joined_types(operands), props)
        if not cls.splits(len(operands)):
            return found
        parts = [tensor(part_of(t.element_type), t.get_shape()) for t in found]
        return (*parts, *(p for p, t in zip(parts, found, strict=True) if is_complex(t.element_type)))

    def split_results(self) -> list[tuple[int, ...]]:
        """For each whole result the numbers of its parts among the results."""
        if not self.splits(len(self.operands)):
            return [(k,) for k in range(len(self.results))]
        operands = [tensor(element_of(o), shape_of(o)) for o in self.operands]
        types = self.whole_types(self.joined_types(operands), self.properties)
        after = iter(range(len(types), len(self.results)))
        return [(k, next(after)) if is_complex(type.element_type) else (k,) for k, type in enumerate(types)]

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        n = self.count()
        found = self.meaning(*(map(joined, operands[:n], operands[n:]) if self.is_split else operands))
        if not self.splits(len(operands)):
            return found
        split = [value for value in found if np.iscomplexobj(value)]
        return (*(np.ascontiguousarray(np.real(v)) for v in found), *(np.ascontiguousarray(np.imag(v)) for v in split))

    def operand_parts(self) -> Sequence[Sequence[int]]:
        n = self.count()
        return [(k, k + n) if self.is_split else (k,) for k in range(n)]

    def result_parts(self) -> Sequence[Sequence[int]]:
        return self.split_results()

    def nest(self, b: NestWriter) -> None:
        if self.facts.kernels is not None:
            b.kernel()
            return
        shape = self.shape()
        if 0 in (*shape[:-2], *(n for r in self.results for n in shape_of(r))):
            return
        lead: dict[int, Any] = {}
        with ExitStack() as loops:
            for dim in sorted(range(len(shape) - 2), key=lambda d: shape[d]):
                lead[dim] = loops.enter_context(b.loop(shape[dim])).index
            self.loops(b, Matrices(b, self, [lead[dim] for dim in sorted(lead)]))

    def loops(self, b: NestWriter, m: Matrices) -> None:
        """The loops over one matrix, of ops that no kernel computes."""
        raise NotImplementedError


class Matrices:
    """One matrix of each operand and result of an op, at points within it.

    Attributes:
        field: arithmetic with their elements.
    """

    def __init__(self, b: NestWriter, op: MatrixOp, lead: Sequence[Any]):
        self.b, self.op, self.lead = b, op, lead
        self.field = Field(b, element_of(op.operands[0]), op.is_split)
        self.operands = [(k, k + op.count()) if op.is_split else (k,) for k in range(op.count())]
        self.results = op.split_results()

    def read(self, k: int, *point: Any) -> Element:
        """An element of operand `k`."""
        return tuple(self.b.read(part, [*self.lead, *point]) for part in self.operands[k])

    def largest(self, n: int) -> SSAValue:
        """The largest size of the elements of the first operand, `n x n`."""
        b, f = self.b, self.field
        with b.loop(n, "reduce", monoid="max", inits=[f.number(0)]) as i:
            with b.loop(n, "reduce", monoid="max", inits=[f.number(0)]) as j:
                j.give(f.size(self.read(0, i.index, j.index)))
            i.give(j.results[0])
        return i.results[0]

    def load(self, k: int, *point: Any) -> Element:
        """An element of result `k`, as stored so far."""
        return self.field.load([self.b.results[part] for part in self.results[k]], [*self.lead, *point])

    def store(self, value: Element, k: int, *point: Any) -> None:
        """Store an element of result `k`."""
        self.field.store(value, [self.b.results[part] for part in self.results[k]], [*self.lead, *point])


def joined(re: np.ndarray, im: np.ndarray) -> np.ndarray:
    """The complex numbers with these parts, of which one may be infinite."""
    z = np.empty(re.shape, np.result_type(re, np.complex64))
    z.real, z.imag = re, im  # a product with 1j would make NaN of infinities
    return z


def stacked(x: np.ndarray) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """The matrices of a stack with their indices."""
    for place in np.ndindex(x.shape[:-2]):
        yield place, x[place]
