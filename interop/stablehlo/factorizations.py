"""Matrix factorizations as the calls of LAPACK that jax's linear algebra makes: `lapack_sgetrf_ffi` and so on.

LAPACK's results are brought to the form that the graph ops promise: reflectors of squared length 2, vectors whose first large
component is positive, NaN for matrices that are not finite. Real and imaginary parts that are two operands become one, and the
results two again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    ComplexType,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
    TensorType,
    i1,
    i32,
    i64,
)

from ...api.dtypes import numpy_dtype, tensor_type
from ...api.programs import enumerated
from .writing import Writer, element_of, flag, ints, shape_of

Matrices = Callable[[Writer, Any, Sequence[Any]], Sequence[Any]]
"""From the writer, the graph op and its operands, complex ones joined, to its results."""

_KINDS = {np.dtype(np.float32): "s", np.dtype(np.float64): "d", np.dtype(np.complex64): "c", np.dtype(np.complex128): "z"}


# --------------------------------------------------------------------------------------------------------------------
# Calls, and real and imaginary parts


def _layout(rank: int, is_matrix: bool) -> Any:
    """The dims of an array from the fastest one on: LAPACK's matrices are stored by columns."""
    order = list(reversed(range(rank)))
    if is_matrix:
        order[:2] = rank - 2, rank - 1
    return DenseIntOrFPElementsAttr.from_list(TensorType(IndexType(), [rank]), order)


def _option(value: Any) -> Any:
    if isinstance(value, str):
        return IntegerAttr(ord(value), IntegerType(8, Signedness.UNSIGNED))
    return flag(value) if isinstance(value, bool) else IntegerAttr(value, i32)


def _lapack(w: Writer, names: str, operands: Sequence[Any], results: Sequence[Any], **options: Any) -> Sequence[Any]:
    """A call of a routine on stacks of matrices; `names` are that of the real routine and, if it is another, the complex one's.

    A result is `(element, shape of one)`.
    """
    x = operands[0]
    kind, lead = _KINDS[numpy_dtype(element_of(x))], shape_of(x)[:-2]
    routine = names.split()[-1 if kind in "cz" else 0]
    types = [tensor_type(element, (*lead, *shape)) for element, shape in results]
    layouts = [_layout(len(shape_of(v)), len(shape_of(v)) - len(lead) == 2) for v in operands]
    made = [_layout(len(lead) + len(shape), len(shape) == 2) for _, shape in results]
    attributes = {
        "backend_config": StringAttr(""),
        "mhlo.backend_config": DictionaryAttr({name: _option(value) for name, value in options.items()}),
        "mhlo.frontend_attributes": DictionaryAttr({"num_batch_dims": StringAttr(str(len(lead)))}),
        "operand_layouts": ArrayAttr(layouts),
        "result_layouts": ArrayAttr(made),
    }
    target = StringAttr(f"lapack_{kind}{routine}_ffi")
    found = w.op("custom_call", operands, types, call_target_name=target, attributes=attributes)
    return list(found)


def _is_complex(value: Any) -> bool:
    return isinstance(element_of(value), ComplexType)


def _part_of(element: Any) -> Any:
    return element.element_type if isinstance(element, ComplexType) else element


def _part(w: Writer, name: str, z: Any) -> Any:
    return w.one(name, [z], tensor_type(_part_of(element_of(z)), shape_of(z)))


def _joined(w: Writer, re: Any, im: Any) -> Any:
    return w.one("complex", [re, im], tensor_type(ComplexType(element_of(re)), shape_of(re)))


def _of_matrices(count: int, splits: bool = False) -> Callable[[Matrices], Callable[[Writer, Any], Any]]:
    """A rule of an op with `count` operands, or with twice as many, first real and then imaginary parts.

    Results are parts, too, if the operands are or the op always splits them.
    """

    def decorate(rule: Matrices) -> Callable[[Writer, Any], Any]:
        @wraps(rule)
        def made(w: Writer, op: Any) -> Any:
            operands = list(op.operands)
            is_split = len(operands) > count
            if is_split:
                operands = [_joined(w, *pair) for pair in zip(operands[:count], operands[count:], strict=True)]
            results = list(rule(w, op, operands))
            if not (is_split or splits):
                return results
            wide = [_is_complex(y) for y in results]
            real = [_part(w, "real", y) if is_wide else y for y, is_wide in zip(results, wide, strict=True)]
            return real + [_part(w, "imag", y) for y, is_wide in zip(results, wide, strict=True) if is_wide]

        return made

    return decorate


# --------------------------------------------------------------------------------------------------------------------
# Arithmetic on stacks of matrices


def _conj(w: Writer, z: Any) -> Any:
    return _joined(w, _part(w, "real", z), w.one("negate", [_part(w, "imag", z)])) if _is_complex(z) else z


def _in_field(w: Writer, x: Any, like: Any) -> Any:
    """A real number as one of the element type of `like`."""
    return _joined(w, x, w.full(0, x)) if _is_complex(like) and not _is_complex(x) else x


def _times(w: Writer, x: Any, factor: Any, dims: Sequence[int]) -> Any:
    """`x` with a factor along some dims."""
    return w.one("multiply", [x, w.broadcast(_in_field(w, factor, x), dims, shape_of(x))])


def _rows_and_columns(w: Writer, x: Any) -> tuple[Any, Any]:
    rank = len(shape_of(x))
    return w.iota(shape_of(x), rank - 2, i64), w.iota(shape_of(x), rank - 1, i64)


def _kept(w: Writer, x: Any, direction: str) -> Any:
    """The elements of matrices whose row compares with the column, else 0."""
    return w.select(w.compare(direction, *_rows_and_columns(w, x)), x, w.full(0, x))


def _diagonal(w: Writer, x: Any) -> Any:
    """The diagonal of each matrix, as long as there are columns."""
    kept = _kept(w, x, "EQ")
    return w.reduce(kept, w.constant(0, element_of(x)), "add", [len(shape_of(x)) - 2])


def _top(w: Writer, x: Any, rows: int) -> Any:
    *lead, _, columns = shape_of(x)
    return w.slice(x, [0] * (len(lead) + 2), [*lead, rows, columns])


def _is_finite(w: Writer, x: Any) -> Any:
    """Whether all elements of each matrix are finite."""
    parts = [_part(w, "real", x), _part(w, "imag", x)] if _is_complex(x) else [x]
    found = None
    for part in parts:
        finite = w.one("is_finite", [part], tensor_type(i1, shape_of(part)))
        found = finite if found is None else w.one("and", [found, finite])
    rank = len(shape_of(x))
    return w.reduce(found, w.constant(True, i1), "and", [rank - 2, rank - 1])


def _or_nan(w: Writer, is_finite: Any, y: Any) -> Any:
    nan = w.full(complex(np.nan, np.nan) if _is_complex(y) else np.nan, y)
    lead = range(len(shape_of(is_finite)))
    return w.select(w.broadcast(is_finite, lead, shape_of(y)), y, nan)


def _phases(w: Writer, v: Any) -> Any:
    """For each column the number of magnitude 1 that makes its first component at least half the largest positive."""
    shape, element = shape_of(v), element_of(v)
    part, rank = _part_of(element), len(shape)
    size = w.one("abs", [v], tensor_type(part, shape))
    columns = [d for d in range(rank) if d != rank - 2]
    largest = w.reduce(size, w.constant(0, part), "maximum", [rank - 2])
    half = w.broadcast(w.one("multiply", [largest, w.full(0.5, largest)]), columns, shape)
    rows = w.iota(shape, rank - 2, i64)
    candidates = w.select(w.compare("GE", size, half), rows, w.full(shape[-2], rows))
    first = w.reduce(candidates, w.constant(np.int64(shape[-2]), i64), "minimum", [rank - 2])
    is_first = w.compare("EQ", rows, w.broadcast(first, columns, shape))
    chosen = w.reduce(w.select(is_first, v, w.full(0, v)), w.constant(0, element), "add", [rank - 2])
    if part is element:
        zero = w.full(0, chosen)
        return w.select(w.compare("LT", chosen, zero), w.full(-1, chosen), w.full(1, chosen))
    length = w.one("abs", [chosen], tensor_type(part, shape_of(chosen)))
    is_zero = w.compare("EQ", length, w.full(0, length))
    divisor = _in_field(w, w.select(is_zero, w.full(1, length), length), chosen)
    return w.select(is_zero, w.full(1, chosen), w.one("divide", [_conj(w, chosen), divisor]))


def _empty(w: Writer, op: Any) -> Any:
    """Results of matrices without elements, which LAPACK does not take."""
    return [w.broadcast(w.constant(0, element_of(y)), (), shape_of(y)) for y in op.results]


def _unless_empty(rule: Callable[[Writer, Any], Any]) -> Callable[[Writer, Any], Any]:
    return wraps(rule)(lambda w, op: _empty(w, op) if 0 in shape_of(op.operands[0]) else rule(w, op))


# --------------------------------------------------------------------------------------------------------------------
# Triangular factors


@_of_matrices(1)
def cholesky(w: Writer, op: Any, operands: Sequence[Any]) -> Any:
    """`graph.cholesky`."""
    return [_kept(w, w.one("cholesky", [operands[0]], lower=flag(True)), "GE")]


@_of_matrices(2)
def triangular_solve(w: Writer, op: Any, operands: Sequence[Any]) -> Any:
    """`graph.triangular_solve`."""
    side, form, diagonal = (op.properties[name].data for name in ("side", "form", "diagonal"))
    props = {
        "left_side": flag(True),
        "lower": flag(side == "lower"),
        "unit_diagonal": flag(diagonal == "unit"),
        "transpose_a": enumerated("stablehlo.transpose", "TRANSPOSE" if form == "transposed" else "NO_TRANSPOSE"),
    }
    return [w.one("triangular_solve", list(operands), operands[1].type, **props)]


@_unless_empty
@_of_matrices(1)
def lu(w: Writer, op: Any, operands: Sequence[Any]) -> Any:
    """`graph.lu`."""
    (x,) = operands
    *_, rows, columns = shape_of(x)
    k = min(rows, columns)
    y, pivots, _ = _lapack(w, "getrf", [x], [(element_of(x), (rows, columns)), (i32, (k,)), (i32, ())])
    return [y, w.one("subtract", [pivots, w.full(1, pivots)])]


def permutation(w: Writer, op: Any) -> Any:
    """`graph.permutation`: one exchange after the other."""
    (pivots,) = op.operands
    shape, exchanges = shape_of(op.results[0]), shape_of(pivots)[-1]
    last, index = len(shape) - 1, tensor_type(i64, ())
    if 0 in shape or not exchanges:
        return [w.iota(shape, last, i32)]
    lead = shape[:-1]
    dims = list(range(last))
    start = [w.constant(np.int64(0), i64), w.iota(shape, last, i32), pivots]

    def body(w: Writer, k: Any, order: Any, pivots: Any) -> Any:
        rows = w.iota(shape, last, i32)

        def at(x: Any) -> Any:
            offsets = [w.constant(np.int64(0), i64)] * last
            sizes = ints((*lead, 1))
            type = tensor_type(i32, (*lead, 1))
            return w.reshape(w.one("dynamic_slice", [x, *offsets, k], type, slice_sizes=sizes), lead)

        p = at(pivots)
        p = w.one("minimum", [w.one("maximum", [p, w.full(0, p)]), w.full(shape[-1] - 1, p)])
        is_p = w.compare("EQ", rows, w.broadcast(p, dims, shape))
        is_k = w.compare("EQ", rows, w.broadcast(w.convert(k, i32), (), shape))
        one = w.broadcast(at(order), dims, shape)
        two = w.reduce(w.select(is_p, order, w.full(0, order)), w.constant(0, i32), "add", [last])
        swapped = w.select(is_k, w.broadcast(two, dims, shape), w.select(is_p, one, order))
        return [w.one("add", [k, w.constant(np.int64(1), i64)]), swapped, pivots]

    types = [v.type for v in start]
    assert types[0] == index
    test = w.region(types, lambda w, k, *_: [w.compare("LT", k, w.constant(np.int64(exchanges), i64))])
    return [w.op("while", start, types, [test, w.region(types, body)])[1]]


# --------------------------------------------------------------------------------------------------------------------
# Reflectors


def _reflectors(w: Writer, y: Any, taus: Any, first: int = 0) -> Any:
    """The vectors that LAPACK keeps below a diagonal, with 1 before them, at squared length 2; `first` rows are 0.

    `I - tau v v^H` is `I - t u u^H` with `u = c v`, `c = tau / sqrt(re tau)`, and `t` a function of the phase of `c`.
    """
    *lead, rows, _ = shape_of(y)
    count = shape_of(taus)[-1]
    y = w.slice(y, [0] * (len(lead) + 2), [*lead, rows, count])
    row, column = _rows_and_columns(w, y)
    row = w.one("subtract", [row, w.full(first, row)]) if first else row
    zero, one = w.full(0, y), w.full(1, y)
    v = w.select(w.compare("GT", row, column), y, w.select(w.compare("EQ", row, column), one, zero))
    part = _part(w, "real", taus) if _is_complex(taus) else taus
    is_zero = w.compare("EQ", part, w.full(0, part))
    root = _in_field(w, w.one("sqrt", [w.select(is_zero, w.full(1, part), part)]), taus)
    scale = w.one("divide", [taus, root])
    return _times(w, v, scale, [*range(len(lead)), len(lead) + 1])


@_unless_empty
@_of_matrices(1)
def householder(w: Writer, op: Any, operands: Sequence[Any]) -> Any:
    """`graph.householder`."""
    (x,) = operands
    *_, rows, columns = shape_of(x)
    k, element = min(rows, columns), element_of(x)
    y, taus = _lapack(w, "geqrf", [x], [(element, (rows, columns)), (element, (k,))])
    return [_reflectors(w, y, taus), _kept(w, _top(w, y, k), "LE")]


@_of_matrices(1)
def householder_product(w: Writer, op: Any, operands: Sequence[Any]) -> Any:
    """`graph.householder_product`."""
    (v,) = operands
    *lead, rows, count = shape_of(v)
    columns, element = op.properties["columns"].value.data, element_of(v)
    whole = (*lead, rows, columns)
    if not count or 0 in whole:
        blank = w.broadcast(w.constant(1, element), (), whole)
        return [_kept(w, blank, "EQ")]
    first = _diagonal(w, v)
    real = _part(w, "real", first) if _is_complex(first) else first
    taus = w.one("multiply", [first, _in_field(w, real, first)])
    divisor = w.select(w.compare("EQ", first, w.full(0, first)), w.full(1, first), first)
    scaled = w.one("divide", [v, w.broadcast(divisor, [*range(len(lead)), len(lead) + 1], shape_of(v))])
    if columns > count:
        zeros = w.broadcast(w.constant(0, element), (), (*lead, rows, columns - count))
        scaled = w.concatenate([scaled, zeros], len(lead) + 1)
    return _lapack(w, "orgqr ungqr", [scaled, taus], [(element, (rows, columns))])


# --------------------------------------------------------------------------------------------------------------------
# Eigenvalues and singular values


@_unless_empty
@_of_matrices(1)
def eigh(w: Writer, op: Any, operands: Sequence[Any]) -> Any:
    """`graph.eigh`."""
    (x,) = operands
    n, element = shape_of(x)[-1], element_of(x)
    results = [(element, (n, n)), (_part_of(element), (n,)), (i32, ())]
    v, values, _ = _lapack(w, "syevd heevd", [x], results, mode="V", uplo="L")
    finite = _is_finite(w, _kept(w, x, "GE"))
    v = _times(w, v, _phases(w, v), _columns(v))
    return [_or_nan(w, finite, values), _or_nan(w, finite, v)]


def _columns(x: Any) -> list[int]:
    """The dims of a number for each column of matrices."""
    rank = len(shape_of(x))
    return [*range(rank - 2), rank - 1]


@_unless_empty
@_of_matrices(1)
def square_svd(w: Writer, op: Any, operands: Sequence[Any]) -> Any:
    """`graph.square_svd`."""
    (x,) = operands
    n, element = shape_of(x)[-1], element_of(x)
    has_vectors = op.properties["mode"].data == "vectors"
    results = [(element, (n, n)), (_part_of(element), (n,)), (element, (n, n)), (element, (n, n)), (i32, ())]
    _, s, u, vt, _ = _lapack(w, "gesdd", [x], results, mode="A" if has_vectors else "N")
    finite = _is_finite(w, x)
    if not has_vectors:
        return [_or_nan(w, finite, s)]
    phases = _phases(w, u)
    u, vt = _times(w, u, phases, _columns(u)), _times(w, vt, _conj(w, phases), range(len(shape_of(x)) - 1))
    return [_or_nan(w, finite, y) for y in (s, u, vt)]


@_unless_empty
@_of_matrices(1)
def schur(w: Writer, op: Any, operands: Sequence[Any]) -> Any:
    """`graph.schur`."""
    (x,) = operands
    *lead, n, _ = shape_of(x)
    element, finite = element_of(x), _is_finite(w, x)
    if op.properties["form"].data == "hessenberg":
        if n < 2:
            return [_or_nan(w, finite, x), _or_nan(w, finite, w.full(1, x))]
        results = [(element, (n, n)), (element, (n - 1,)), (i32, ())]
        y, taus, _ = _lapack(w, "gehrd", [x], results, low=1, high=n)
        offset = [0] * len(lead)
        packed = w.slice(y, [*offset, 1, 0], [*lead, n, n - 1])
        inner = _lapack(w, "orgqr ungqr", [packed, taus], [(element, (n - 1, n - 1))])[0]
        padding = {
            "edge_padding_low": [*offset, 1, 1],
            "edge_padding_high": [*offset, 0, 0],
            "interior_padding": [*offset, 0, 0],
        }
        z = w.one("pad", [inner, w.constant(0, element)], x.type, **{name: ints(row) for name, row in padding.items()})
        row, column = _rows_and_columns(w, z)
        is_first = w.one("and", [w.compare("EQ", row, w.full(0, row)), w.compare("EQ", column, w.full(0, column))])
        z = w.select(is_first, w.full(1, z), z)
        h = w.select(w.compare("LE", row, w.one("add", [column, w.full(1, column)])), y, w.full(0, y))
        return [_or_nan(w, finite, h), _or_nan(w, finite, z)]
    values = [(element, (n,))] * (1 if isinstance(element, ComplexType) else 2)
    results = [(element, (n, n)), (element, (n, n)), *values, (i32, ()), (i32, ())]
    t, z, *_ = _lapack(w, "gees", [x], results, mode="V", sort="N")
    phases = _phases(w, z)
    t = _times(w, _times(w, t, phases, _columns(t)), _conj(w, phases), range(len(lead) + 1))
    return [_or_nan(w, finite, t), _or_nan(w, finite, _times(w, z, phases, _columns(z)))]


@_unless_empty
@_of_matrices(1, splits=True)
def eig(w: Writer, op: Any, operands: Sequence[Any]) -> Any:
    """`graph.eig`."""
    (x,) = operands
    n, element = shape_of(x)[-1], element_of(x)
    has_vectors = op.properties["mode"].data == "vectors"
    wide = element if isinstance(element, ComplexType) else ComplexType(element)
    values = [(element, (n,))] * (1 if wide is element else 2)
    results = [*values, (wide, (n, n)), (wide, (n, n)), (i32, ())]
    found = _lapack(w, "geev", [x], results, compute_left="N", compute_right="V" if has_vectors else "N")
    eigenvalues = found[0] if wide is element else _joined(w, *found[:2])
    finite = _is_finite(w, x)
    made = [_or_nan(w, finite, eigenvalues)]
    if has_vectors:
        v = found[-2]
        made.append(_or_nan(w, finite, _times(w, v, _phases(w, v), _columns(v))))
    return made
