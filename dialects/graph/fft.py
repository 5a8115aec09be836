"""Discrete Fourier transforms: `fft` of complex tensors, and `butterflies`, the loops to which it is lowered.

`graph-split-complex` plans a transform (`transforms/_fourier.py`) and writes it with `butterflies`: a mixed-radix transform by
Stockham's algorithm, which needs no reversal of digits. A pass of radix r splits transforms of length `r * m`:

    y[q + s*(r*p + j)] = w**(p*j) * sum_i x[q + s*(p + i*m)] * exp(-2 pi i j / r)     for p < m, q < s, j < r

with s the product of the radices before it. Real and imaginary parts are in buffers of their own, so that all arithmetic is on
vectors: along other dims of the tensor, if there are some, else along q, and along p in the first pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, TensorType, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr
from xdsl.irdl import operand_def, prop_def, result_def

from ...errors import DTypeError, ShapeError
from ..facts import OpFacts, Rounding
from ..types import COMPLEX, DYNAMIC, compatible, element_of, f32, f64, is_complex, show_shape, tensor, width_of
from .base import (
    GraphOp,
    Linear,
    NotDifferentiable,
    Props,
    Types,
    graph_op,
    integer,
    ints,
    require_same_element,
    require_same_shape,
    word,
)
from .batching import along
from .elementwise import joined_shape

if TYPE_CHECKING:
    from ..scalar import ScalarBuilder
    from .builder import GraphBuilder
    from .nest_writer import NestWriter

_INTS = DenseArrayBase.constr(i64)
DIRECTIONS = ("forward", "inverse")
_MOST_STACK = 1 << 15
"""Largest total of buffers on the stack, in bytes."""


def _require_direction(direction: str) -> None:
    if direction not in DIRECTIONS:
        raise DTypeError(f"direction must be forward or inverse, got {direction}")


@graph_op
class FftOp(GraphOp):
    """The discrete Fourier transform along a dim: `y[k] = sum_j x[j] * exp(-2 pi i j k / n)`; inverse with a plus, not scaled.

    Cost: O(n log n) for every n; those with a prime factor above 43 take three transforms of powers of 2 (Bluestein).

    ```mlir
    %y = graph.fft %x along 1 forward : tensor<3x8xcomplex<f32>>
    ```

    (C1) The element type is complex.
    (C2) The dim is within the rank, and its size at least 1.
    (C3) The direction is forward or inverse.
    """

    name = "graph.fft"
    facts = OpFacts(rounding=Rounding.NORM, stores=COMPLEX, slow_to_compile=True)
    x = operand_def(TensorType)
    dim = prop_def(IntegerAttr)
    direction = prop_def(StringAttr)
    y = result_def(TensorType)
    syntax = "$x along #dim <direction>"
    types = "same"
    # the matrix of the map is symmetric
    derivative = Linear(lambda b, op, k, ct: b.fft(ct, dim=op.properties["dim"], direction=op.properties["direction"]))
    batching = along("dim")

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        if not is_complex(operands[0].element_type):  # C1
            raise DTypeError(f"operand element type must be complex, got {operands[0].element_type}")
        shape, dim = operands[0].get_shape(), integer(props["dim"])
        if not 0 <= dim < len(shape):  # C2
            raise ShapeError(f"dim must be within the rank, got {dim} for {show_shape(shape)}")
        if shape[dim] == 0:  # C2
            raise ShapeError(f"dim {dim} of {show_shape(shape)} has no elements to transform")
        _require_direction(word(props["direction"]))  # C3
        return (operands[0],)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        if self.direction.data == "forward":
            y = np.fft.fft(operands[0], axis=integer(self.dim))
        else:
            y = np.fft.ifft(operands[0], axis=integer(self.dim), norm="forward")
        return (y.astype(self.result_dtype(), copy=False),)


# --------------------------------------------------------------------------------------------------------------------
# Passes


class Pass(NamedTuple):
    """A pass: its radix, `m` and `s` as above, and where its roots begin in the table."""

    radix: int
    m: int
    s: int
    first: int


def passes(radices: Sequence[int]) -> list[Pass]:
    """The passes of a transform of length `prod(radices)`."""
    found: list[Pass] = []
    m, s, first = math.prod(radices), 1, 0
    for radix in radices:
        m //= radix
        found.append(Pass(radix, m, s, first))
        first += 0 if m == 1 else (radix - 1) * m
        s *= radix
    return found


def table_size(radices: Sequence[int]) -> int:
    """How many roots of unity (twiddle factors) the passes multiply by."""
    return max(1, sum((radix - 1) * m for radix, m, *_ in passes(radices) if m > 1))


def roots_of_unity(numbers: Any, n: int, direction: str, dtype: np.dtype) -> np.ndarray:
    """`exp(-+ 2 pi i k / n)` of integers k, real parts before imaginary ones: each correctly rounded but for rare cases.

    Angles are reduced exactly to an eighth of the circle and evaluated in extended precision.
    """
    k = np.asarray(numbers, np.int64) % n * 8
    octant, rest = k // n, k % n
    odd = octant % 2 == 1
    angle = np.where(odd, n - rest, rest).astype(np.longdouble) * _QUARTER_PI / n
    c, s = np.cos(angle), np.sin(angle)
    swap = (octant + 1) // 2 % 2 == 1
    c, s = np.where(swap, s, c), np.where(swap, c, s)
    c = np.where((octant >= 2) & (octant < 6), -c, c)
    s = np.where(octant >= 4, -s, s)
    return np.stack([c, -s if direction == "forward" else s]).astype(dtype)


_QUARTER_PI = np.arctan(np.longdouble(1))


@lru_cache(maxsize=64)
def table(radices: tuple[int, ...], direction: str, dtype: np.dtype) -> np.ndarray:
    """The roots that the passes multiply by: of each pass those of j = 1 for all p, then those of j = 2, and so on."""
    parts = [np.zeros(0, np.int64)]
    n = math.prod(radices)
    for radix, m, s, _ in passes(radices):
        if m > 1:
            parts.append((np.arange(1, radix)[:, None] * np.arange(m) * s).reshape(-1))
    numbers = np.concatenate(parts)
    return roots_of_unity(numbers if len(numbers) else np.zeros(1, np.int64), n, direction, dtype)


Number = tuple[SSAValue, SSAValue]
"""A complex scalar: its parts."""


class Butterfly:
    """Writes transforms of a few complex scalars as straight-line code."""

    def __init__(self, b: ScalarBuilder, element: Any, direction: str, has_fma: bool):
        self.b, self.element, self.has_fma = b, element, has_fma
        self.sign = -1 if direction == "forward" else 1

    def add(self, x: Number, y: Number) -> Number:
        return self.b.add(x[0], y[0]), self.b.add(x[1], y[1])

    def sub(self, x: Number, y: Number) -> Number:
        return self.b.sub(x[0], y[0]), self.b.sub(x[1], y[1])

    def scale(self, x: Number, factor: float) -> Number:
        c = self.b.const(factor, self.element)
        return self.b.mul(x[0], c), self.b.mul(x[1], c)

    def add_scaled(self, x: Number, y: Number, factor: float) -> Number:
        """`x + factor * y`."""
        if not self.has_fma:
            return self.add(x, self.scale(y, factor))
        c = self.b.const(factor, self.element)
        return self.b.fma(y[0], c, x[0]), self.b.fma(y[1], c, x[1])

    def times(self, x: Number, w: Number) -> Number:
        b = self.b
        if self.has_fma:
            return b.fma(b.neg(x[1]), w[1], b.mul(x[0], w[0])), b.fma(x[0], w[1], b.mul(x[1], w[0]))
        return b.sub(b.mul(x[0], w[0]), b.mul(x[1], w[1])), b.add(b.mul(x[0], w[1]), b.mul(x[1], w[0]))

    def turned(self, x: Number) -> Number:
        """`sign * i * x`."""
        return (self.b.neg(x[1]), x[0]) if self.sign > 0 else (x[1], self.b.neg(x[0]))

    def add_turned(self, x: Number, y: Number, sign: int = 1) -> Number:
        """`x + sign * self.sign * i * y`."""
        b, plus = self.b, sign * self.sign > 0
        re = b.sub(x[0], y[1]) if plus else b.add(x[0], y[1])
        return re, b.add(x[1], y[0]) if plus else b.sub(x[1], y[0])

    def rotated(self, x: Number, k: int, n: int) -> Number:
        """`x` times the root `exp(sign * 2 pi i k / n)`: the roots of 1 and 8 take less than a product."""
        k %= n
        if k == 0:
            return x
        if 2 * k == n:
            return self.b.neg(x[0]), self.b.neg(x[1])
        if 4 * k == n:
            return self.turned(x)
        if 4 * k == 3 * n:
            re, im = self.turned(x)
            return self.b.neg(re), self.b.neg(im)
        if 8 * k == n:
            return self.scale(self.add_turned(x, x), math.sqrt(0.5))
        if 8 * k == 3 * n:
            re, im = self.add_turned(x, x, -1)
            return self.scale((self.b.neg(re), self.b.neg(im)), math.sqrt(0.5))
        c, s = (float(v) for v in roots_of_unity(k, n, "inverse", np.dtype(np.float64)))
        return self.times(x, (self.b.const(c, self.element), self.b.const(self.sign * s, self.element)))

    def of(self, x: Sequence[Number]) -> list[Number]:
        """The transform of some numbers."""
        n = len(x)
        if n == 1:
            return list(x)
        if n == 2:
            return [self.add(*x), self.sub(*x)]
        if n == 4:
            even, odd = (self.add(x[0], x[2]), self.sub(x[0], x[2])), (self.add(x[1], x[3]), self.sub(x[1], x[3]))
            return [
                self.add(even[0], odd[0]),
                self.add_turned(even[1], odd[1]),
                self.sub(even[0], odd[0]),
                self.add_turned(even[1], odd[1], -1),
            ]
        factor = next((k for k in (4, 2, 3, 5, 7, 11, 13) if n % k == 0 and k < n), n)
        return self._prime(x) if factor == n else self._composite(x, factor)

    def _composite(self, x: Sequence[Number], first: int) -> list[Number]:
        """Cooley and Tukey: transforms of every `n / first`-th number, then across them."""
        n, count = len(x), len(x) // first
        inner = [self.of(x[k::count]) for k in range(count)]
        rows = [self.of([self.rotated(inner[k][j], k * j, n) for k in range(count)]) for j in range(first)]
        return [rows[k % first][k // first] for k in range(n)]

    def _prime(self, x: Sequence[Number]) -> list[Number]:
        """The direct sum: terms at equal distance from the first on either side share cosines, and sines up to the sign."""
        n = len(x)
        half = range(1, n // 2 + 1)
        sums, gaps = [self.add(x[k], x[n - k]) for k in half], [self.sub(x[k], x[n - k]) for k in half]
        cosines, sines = roots_of_unity(range(n), n, "inverse", np.dtype(np.float64))
        result = [x[0]] * n
        for term in sums:
            result[0] = self.add(result[0], term)
        for j in half:
            level, turn = x[0], None
            for k, term, gap in zip(half, sums, gaps, strict=True):
                level = self.add_scaled(level, term, float(cosines[j * k % n]))
                sine = float(sines[j * k % n])
                turn = self.scale(gap, sine) if turn is None else self.add_scaled(turn, gap, sine)
            assert turn is not None
            result[j], result[n - j] = self.add_turned(level, turn), self.add_turned(level, turn, -1)
        return result


def _batch_butterflies(
    b: GraphBuilder, op: GraphOp, operands: Sequence[SSAValue], batched: Sequence[bool]
) -> Sequence[SSAValue]:
    raise DTypeError(f"'{op.name}' op is made after batching")


@graph_op
class ButterfliesOp(GraphOp):
    """The transform along the middle dim of a tensor of three, by passes; the result has pairs along a new last dim.

    `roots` has the twiddle factors of the passes (`table`). In the form `pairs` the middle dim of the first
    operand has real and imaginary parts in turn, and the second one is not read. With a `twist` of t, element k of column c is
    multiplied by two more roots at the end, which stand in the table behind those of the passes: number `k * t + c % t`, and
    behind these `c / t * n + k`.

    ```mlir
    %p = graph.butterflies %re, %im, %w radices [4, 2] forward parts twist 0
      : (tensor<1x8x16xf32>, tensor<1x8x16xf32>, tensor<2x6xf32>) -> tensor<1x8x16x2xf32>
    ```

    (C1) The operands have one element type, f32 or f64.
    (C2) The parts have one shape of three dims, the middle one the product of the radices, which are from 2 to 43, or twice it.
    (C3) There are two rows of roots, one for each product.
    (C4) The direction is forward or inverse, the form parts or pairs.
    (C5) The twist divides the last dim, or is 0.
    """

    name = "graph.butterflies"
    facts = OpFacts(rounding=Rounding.NORM, writes_once=True, fuses_copies=True, slow_to_compile=True)
    re = operand_def(TensorType)
    im = operand_def(TensorType)
    roots = operand_def(TensorType)
    radices = prop_def(_INTS)
    direction = prop_def(StringAttr)
    form = prop_def(StringAttr)
    twist = prop_def(IntegerAttr)
    pairs = result_def(TensorType)
    syntax = "$re, $im, $roots radices [radices] <direction> <form> twist #twist"
    derivative = NotDifferentiable(lambda op: "it is made after derivatives are taken")
    batching = _batch_butterflies

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        require_same_element(operands, ("re", "im", "roots"))  # C1
        if operands[0].element_type not in (f32, f64):  # C1
            raise DTypeError(f"operand element type must be f32 or f64, got {operands[0].element_type}")
        require_same_shape(operands[:2], ("re", "im"))  # C2
        shape, radices = joined_shape(operands[:2]), ints(props["radices"])
        if any(not 2 <= radix <= 43 for radix in radices):  # C2
            raise ShapeError(f"radices must be from 2 to 43, got {list(radices)}")
        _require_direction(word(props["direction"]))  # C4
        if (form := word(props["form"])) not in ("parts", "pairs"):  # C4
            raise DTypeError(f"form must be parts or pairs, got {form}")
        n, middle = math.prod(radices), math.prod(radices) * (2 if form == "pairs" else 1)
        if len(shape) != 3 or not radices or not compatible(shape[1], middle):  # C2
            raise ShapeError(f"needs three dims, the middle one of size {middle}, got {show_shape(shape)}")
        twist = integer(props["twist"])
        if twist < 0 or (twist and shape[2] != DYNAMIC and shape[2] % twist):  # C5
            raise ShapeError(f"the twist must divide {shape[2]} columns, got {twist}")
        size = table_size(radices) + (n * (twist + shape[2] // twist) if twist else 0)
        roots = operands[2].get_shape()
        if len(roots) != 2 or (shape[2] != DYNAMIC and not all(map(compatible, roots, (2, size)))):  # C3
            raise ShapeError(f"needs roots [2,{size}], got {show_shape(roots)}")
        return (tensor(operands[0].element_type, (shape[0], n, shape[2], 2)),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        re, im, roots = operands
        if self.form.data == "pairs":
            re, im = re[:, ::2], re[:, 1::2]
        outer, n, inner = re.shape
        x = re + 1j * im
        for radix, m, s, first in passes(ints(self.radices)):
            k = np.arange(radix)
            c, d = roots_of_unity(np.outer(k, k), radix, self.direction.data, re.dtype)
            y = np.einsum("ji,aipqb->ajpqb", c + 1j * d, x.reshape(outer, radix, m, s, inner))
            if m > 1:
                c, d = roots[:, first : first + (radix - 1) * m].reshape(2, radix - 1, m)
                y[:, 1:] *= (c + 1j * d)[..., None, None]
            x = np.moveaxis(y, 1, 2).reshape(outer, n, inner)
        if twist := integer(self.twist):
            fine, coarse = np.split((roots[0] + 1j * roots[1])[table_size(ints(self.radices)) :], [n * twist])
            fine, coarse = fine.reshape(n, 1, twist), coarse.reshape(inner // twist, n).T[..., None]
            x = x * (fine * coarse).reshape(n, inner)
        return (np.stack([x.real, x.imag], -1).astype(re.dtype),)

    def copied(self) -> tuple[int, ...]:
        return (0, 1)

    def nest(self, b: NestWriter) -> None:
        _Nest(b, self).write()


class _Nest:
    """The loops of a `graph.butterflies`."""

    def __init__(self, b: NestWriter, op: ButterfliesOp):
        self.b, self.op = b, op
        self.element: Any = element_of(op.re)
        self.passes = passes(ints(op.radices))
        self.outer, self.n, self.inner, _ = op.result_shape()
        self.in_pairs, self.twist = op.form.data == "pairs", integer(op.twist)
        self.lanes = b.target.lanes(width_of(self.element))

    def write(self) -> None:
        b = self.b
        if self.inner == 1 and not self.in_pairs and not self.twist:
            with b.loop(self.outer) as row:
                self.row(row.index)
            return
        size = self.twist or self.inner
        with b.loop(self.outer) as row, self.loop(self.inner // size if size else 1) as group:
            with b.loop(size, step=self.lanes) as block:
                self.block(row.index, group, block.index, size)

    def buffers(self, shape: tuple[int, ...], count: int, name: str = "part") -> list[tuple[SSAValue, SSAValue]]:
        size = 2 * count * math.prod(shape) * width_of(self.element) // 8
        space = "stack" if size <= _MOST_STACK else "scratch"
        return [
            (
                self.b.local(shape, self.element, space, name=f"{name}_re"),
                self.b.local(shape, self.element, space, name=f"{name}_im"),
            )
            for _ in range(count)
        ]

    @contextmanager
    def loop(self, size: int) -> Iterator[AffineExpr]:
        """The index of a loop; of one iteration none is needed."""
        if size == 1:
            yield AffineConstantExpr(0)
        else:
            with self.b.loop(size) as opened:
                yield opened.index

    def butterfly(self, x: list[Number], step: Pass, p: Any) -> Iterator[Number]:
        """The inputs of a butterfly, times its twiddle factors."""
        write = Butterfly(self.b.scalar, self.element, self.op.direction.data, self.b.target.has_fma)
        for j, y in enumerate(write.of(x)):
            if j and step.m > 1:
                at = step.first + (j - 1) * step.m
                y = write.times(y, (self.b.read(2, [0, p + at]), self.b.read(2, [1, p + at])))
            yield y

    # -- one row

    def row(self, row: Any) -> None:
        """One contiguous row: vectors hold its elements."""
        b, n = self.b, self.n
        last = len(self.passes) - 1
        source: Any = None
        buffers = self.buffers((n,), min(last, 2)) if last else []
        for number, step in enumerate(self.passes):
            radix, m, s, _ = step
            target = None if number == last else buffers[-1] if source is buffers[0] else buffers[0]
            # the first pass stores along memory: its results are transposed afterwards, in blocks
            columns = self.buffers((radix, m), 1, "columns")[0] if number == 0 and target is not None else None
            with self.loop(m) as p, self.loop(s) as q:
                x = []
                for i in range(radix):
                    at = q + (p + i * m) * s
                    if source is None:
                        x.append((b.read(0, [row, at, 0]), b.read(1, [row, at, 0])))
                    else:
                        x.append((b.load(source[0], [at]), b.load(source[1], [at])))
                for j, y in enumerate(self.butterfly(x, step, p)):
                    for part in range(2):
                        if target is None:
                            b.write(y[part], [row, q + j * s, 0, part])
                        elif columns is not None:
                            b.store(y[part], columns[part], [j, p])
                        else:
                            b.store(y[part], target[part], [q + (p * radix + j) * s])
            for to, stored in zip(target or (), columns or (), strict=False):
                with b.loop(m) as p, b.loop(radix) as j:
                    b.store(b.load(stored, [j.index, p.index]), to, [p.index * radix + j.index])
            source = target

    # -- many rows beside each other

    def block(self, row: Any, group: Any, start: Any, size: int) -> None:
        """As many columns as a vector has lanes, copied to adjacent memory; they start in a group of `size`."""
        b, n, lanes = self.b, self.n, self.lanes
        first = start + group * size
        last = len(self.passes) - 1
        ends = [lanes, -start + size] if size % lanes else lanes
        source: Any = self.copied_pairs(row, first, ends) if self.in_pairs else None
        buffers = self.buffers((n, lanes), min(last, 2)) if last else []
        for number, step in enumerate(self.passes):
            radix, m, s, _ = step
            target = None if number == last else buffers[-1] if source is buffers[0] else buffers[0]
            is_outside = number == 0 or target is None
            with self.loop(m) as p, self.loop(s) as q, b.loop(ends if is_outside else lanes) as lane:
                x = [self.element_at(source, row, first, lane.index, q + (p + i * m) * s) for i in range(radix)]
                for j, y in enumerate(self.butterfly(x, step, p)):
                    k = q + j * s
                    if target is None and self.twist:
                        y = self.twisted(y, k, group, start + lane.index)
                    for part in range(2):
                        if target is None:
                            b.write(y[part], [row, k, first + lane.index, part])
                        else:
                            b.store(y[part], target[part], [q + (p * radix + j) * s, lane.index])
            source = target

    def element_at(self, source: Any, row: Any, first: Any, lane: Any, at: Any) -> Number:
        """An element of a column: of the operands, of their copy in pairs, or of the results of the last pass."""
        b = self.b
        if source is None:
            return b.read(0, [row, at, first + lane]), b.read(1, [row, at, first + lane])
        if isinstance(source, tuple):
            return b.load(source[0], [at, lane]), b.load(source[1], [at, lane])
        return b.load(source, [at * 2, lane]), b.load(source, [at * 2 + 1, lane])

    def copied_pairs(self, row: Any, first: Any, ends: Any) -> SSAValue:
        """Strided columns, copied."""
        b, size = self.b, 2 * self.n
        space = "stack" if size * self.lanes * width_of(self.element) // 8 <= _MOST_STACK else "scratch"
        copy = b.local((size, self.lanes), self.element, space, name="copy")
        with b.loop(size) as at, b.loop(ends) as lane:
            b.store(b.read(0, [row, at.index, first + lane.index]), copy, [at.index, lane.index])
        return copy

    def twisted(self, y: Number, k: Any, group: Any, column: Any) -> Number:
        """An element times the roots of its position and its column."""
        b = self.b
        write = Butterfly(b.scalar, self.element, self.op.direction.data, b.target.has_fma)
        behind = table_size(ints(self.op.radices))
        fine = [b.read(2, [part, k * self.twist + column + behind]) for part in range(2)]
        coarse = [b.read(2, [part, group * self.n + k + (behind + self.n * self.twist)]) for part in range(2)]
        return write.times(y, write.times((fine[0], fine[1]), (coarse[0], coarse[1])))
