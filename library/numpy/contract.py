"""lamina.numpy: products of matrices and sums over shared indices, all of them `graph.dot`."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...api import (
    Tracer,
    array_function,
    broadcast_tracer,
    build,
    full_like_tracer,
    lift,
    lift_as,
    lift_operands,
    operand,
    operation,
    token,
)
from ...api.dtypes import BOOL, INT32, canonical, is_complex_dtype, result_type
from ...api.errors import ShapeError
from .axes_and_shapes import normalize_axis, reshape_tracer, static_int, transpose_tracer
from .complex import conjugate
from .create import diagonal
from .elementwise import broadcast_shapes
from .join import stack
from .shape import moveaxis


def common_operands(*args: Any, preferred: Any = None) -> tuple[list[Tracer], np.dtype[Any]]:
    """Operands in the dtype in which they are multiplied and added up, and the dtype of the result.

    It is `preferred`, if given: sums are made in that dtype then, or in the common one of the operands, if that holds more.
    """
    args = tuple(operand(x) for x in args)
    tokens = [token(x) for x in args]
    dtype = work = result_type(tokens)
    if preferred is not None:
        dtype = canonical(preferred)
        work = result_type([work, dtype])
    # a product of bools says whether any pair holds: count the pairs
    work = INT32 if work == BOOL else work
    return lift_operands(args, tokens, (work,) * len(args)), dtype


def contract(
    x: Tracer, y: Tracer, over: tuple[Sequence[int], Sequence[int]], batch: tuple[Sequence[int], Sequence[int]] = ((), ())
) -> Tracer:
    """Sum of products over paired dims. Result dims: batch, the rest of x, the rest of y."""
    return build(
        "dot",
        x,
        y,
        lhs_batch=tuple(batch[0]),
        rhs_batch=tuple(batch[1]),
        lhs_contract=tuple(over[0]),
        rhs_contract=tuple(over[1]),
    )


def _paired(x: Tracer, y: Tracer, i: int, k: int, what: str) -> None:
    if x.shape[i] != y.shape[k]:
        raise ShapeError(
            f"{what} contracting sizes differ: lhs dim {i} is {x.shape[i]}, rhs dim {k} is {y.shape[k]} "
            f"(shapes {list(x.shape)} and {list(y.shape)})"
        )


@operation
def matmul(x1: Any, x2: Any, /, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """`np.matmul`: product of matrices, leading dims broadcast. Costs `2*m*n*k` flops a matrix.

    `precision` says nothing here and in the other products, as factors are never rounded.
    `preferred_element_type` is the dtype of the sums and of the result, as in jax: int32 for matrices of int8. Without it,
    sums of halves are made in float32 and rounded, and integers wrap in their own dtype.
    """
    (x, y), dtype = common_operands(x1, x2, preferred=preferred_element_type)
    if x.ndim == 0 or y.ndim == 0:
        raise ShapeError(f"matmul needs at least one dim in each operand, got {list(x.shape)} and {list(y.shape)}: use *")
    i, k = x.ndim - 1, max(y.ndim - 2, 0)
    _paired(x, y, i, k, "matmul")
    if y.ndim <= 2:
        return lift_as(contract(x, y, ((i,), (k,))), dtype)
    if x.ndim == 1:
        z = contract(y, x, ((k,), (0,)))
        return lift_as(z, dtype)
    try:
        lead = broadcast_shapes([x.shape[:-2], y.shape[:-2]])
    except ValueError:
        raise ShapeError(f"matmul leading dims do not broadcast: {list(x.shape)} and {list(y.shape)}") from None
    x = broadcast_tracer(x, (*lead, *x.shape[-2:]))
    y = broadcast_tracer(y, (*lead, *y.shape[-2:]))
    n = len(lead)
    return lift_as(contract(x, y, ((n + 1,), (n,)), (range(n), range(n))), dtype)


@operation
def dot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """`np.dot`: over the last dim of `a` and the last but one of `b`."""
    (x, y), dtype = common_operands(a, b, preferred=preferred_element_type)
    if x.ndim == 0 or y.ndim == 0:
        return lift_as(lift(x) * lift(y), dtype)
    i, k = x.ndim - 1, max(y.ndim - 2, 0)
    _paired(x, y, i, k, "dot")
    return lift_as(contract(x, y, ((i,), (k,))), dtype)


@operation
def inner(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """`np.inner`: over the last dims."""
    (x, y), dtype = common_operands(a, b, preferred=preferred_element_type)
    if x.ndim == 0 or y.ndim == 0:
        return lift_as(lift(x) * lift(y), dtype)
    _paired(x, y, x.ndim - 1, y.ndim - 1, "inner")
    return lift_as(contract(x, y, ((x.ndim - 1,), (y.ndim - 1,))), dtype)


@operation
def vdot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """`np.vdot`: the sum of products of all elements, complex ones of the first array conjugated."""
    (x, y), dtype = common_operands(a, b, preferred=preferred_element_type)
    x = conjugate(x)
    x, y = reshape_tracer(x, (x.size,)), reshape_tracer(y, (y.size,))
    _paired(x, y, 0, 0, "vdot")
    return lift_as(contract(x, y, ((0,), (0,))), dtype)


@operation
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """`np.vecdot`: along an axis, the others broadcast; complex numbers of the first array are conjugated."""
    x1, x2 = (moveaxis(_of_dims(x, 1, "vecdot"), axis, -1) for x in (x1, x2))
    _paired(x1, x2, x1.ndim - 1, x2.ndim - 1, "vecdot")
    return einsum("...i,...i->...", _conjugate(x1), x2, preferred_element_type=preferred_element_type)


def _conjugate(x: Tracer) -> Any:
    """The conjugate; real numbers and bools are unchanged, while NumPy's `conjugate` makes int8 of bools."""
    return conjugate(x) if is_complex_dtype(x.dtype) else x


def _of_dims(x: Any, least: int, what: str) -> Tracer:
    x = lift(x)
    if x.ndim < least:
        raise ShapeError(f"{what} takes an operand of at least {least} dims here, got one of {x.ndim}")
    return x


@operation
def matvec(x1: Any, x2: Any, /) -> Any:
    """`np.matvec`."""
    x1, x2 = _of_dims(x1, 2, "matvec"), _of_dims(x2, 1, "matvec")
    _paired(x1, x2, x1.ndim - 1, x2.ndim - 1, "matvec")
    return einsum("...ij,...j->...i", x1, x2)


@operation
def vecmat(x1: Any, x2: Any, /) -> Any:
    """`np.vecmat`; complex numbers of the vector are conjugated."""
    x1, x2 = _of_dims(x1, 1, "vecmat"), _of_dims(x2, 2, "vecmat")
    _paired(x1, x2, x1.ndim - 1, x2.ndim - 2, "vecmat")
    return einsum("...i,...ij->...j", _conjugate(x1), x2)


@operation
def outer(a: Any, b: Any) -> Any:
    """`np.outer`: all products of an element of `a` and one of `b`."""
    x, y = lift(a), lift(b)
    return reshape_tracer(x, (x.size, 1)) * reshape_tracer(y, (1, y.size))


@operation
def kron(a: Any, b: Any) -> Any:
    """`np.kron`: each element of `a` times all of `b`."""
    x, y = lift(a), lift(b)
    rank = max(x.ndim, y.ndim)
    left, right = ((1,) * (rank - t.ndim) + t.shape for t in (x, y))
    wide = tuple(n for size in left for n in (size, 1)), tuple(n for size in right for n in (1, size))
    z = reshape_tracer(x, wide[0]) * reshape_tracer(y, wide[1])
    return reshape_tracer(z, tuple(n * m for n, m in zip(left, right, strict=True)))


@operation
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """`np.cross` of vectors of three elements, which lie along `axisa`, `axisb` and in the result along `axisc`.

    Vectors of two elements have a third that is 0; the product of two such is that third element alone.

    Args:
        axis: stands for all three.
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = moveaxis(lift(a), axisa, -1), moveaxis(lift(b), axisb, -1)
    if not {x.shape[-1], y.shape[-1]} <= {2, 3}:
        raise ShapeError(f"cross needs vectors of 2 or 3 elements, got shapes {list(x.shape)} and {list(y.shape)}")
    (x0, x1, *x2), (y0, y1, *y2) = ([t[..., k] for k in range(t.shape[-1])] for t in (x, y))
    if not x2 and not y2:
        return x0 * y1 - x1 * y0
    x2, y2 = (z[0] if z else full_like_tracer(t, 0) for z, t in ((x2, x0), (y2, y0)))
    return stack([x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0], axisc)


@operation
def tensordot(a: Any, b: Any, axes: Any = 2, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """`np.tensordot`: over the last `axes` dims of `a` and the first of `b`, or over paired lists of dims."""
    (x, y), dtype = common_operands(a, b, preferred=preferred_element_type)
    if isinstance(axes, tuple | list | np.ndarray):
        left, right = ([*part] if isinstance(part, tuple | list | np.ndarray) else [part] for part in axes)
    else:
        n = static_int(axes, "axes")
        if not 0 <= n <= min(x.ndim, y.ndim):
            raise ShapeError(f"tensordot over {n} axes does not fit shapes {list(x.shape)} and {list(y.shape)}")
        left, right = list(range(x.ndim - n, x.ndim)), list(range(n))
    left, right = [normalize_axis(i, x.ndim) for i in left], [normalize_axis(i, y.ndim) for i in right]
    if len(left) != len(right):
        raise ShapeError(f"tensordot axes must pair up, got {axes}")
    for i, k in zip(left, right, strict=True):
        _paired(x, y, i, k, "tensordot")
    return lift_as(contract(x, y, (left, right)), dtype)


# --------------------------------------------------------------------------------------------------------------------
# dot_general and einsum


@array_function
def dot_general(lhs: Any, rhs: Any, dimension_numbers: Any, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Sums of products over paired dims: `((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))`.

    Dims of the result: batch, the rest of `lhs`, the rest of `rhs`. `precision` says nothing: products are never rounded.
    """
    over, batch = dimension_numbers
    (x, y), dtype = common_operands(lhs, rhs, preferred=preferred_element_type)
    return lift_as(contract(x, y, over, batch), dtype)


@operation
def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    optimize: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
    _dot_general: Callable[..., Any] | None = None,
) -> Any:
    """`np.einsum`, with subscripts as text, or as a list of labels behind each operand and, last, of the result.

    Three or more operands are contracted in NumPy's greedy order. `_dot_general`, which libraries for jax give, must be
    `lamina.lax.dot_general`: contractions are ops of their own.
    """
    if _dot_general not in (None, dot_general):
        raise TypeError("einsum computes contractions by lamina.lax.dot_general alone: leave _dot_general out")
    if not isinstance(subscripts, str):
        subscripts, operands = _of_labels(subscripts, *operands)
    if not operands:
        raise ShapeError("einsum needs at least one operand")
    xs, dtype = common_operands(*operands, preferred=preferred_element_type)
    terms, output = _parse(subscripts, xs)
    sizes = _sizes(terms, xs)
    parts = [_simple(x, list(term), sizes) for x, term in zip(xs, terms, strict=True)]
    for pair in _order(terms, output, sizes):
        chosen = [parts.pop(k) for k in sorted(pair, reverse=True)][::-1]
        keep = {*output, *(label for _, labels in parts for label in labels)}
        result = _sum_out(*chosen[0], keep | {label for _, labels in chosen[1:] for label in labels})
        for other in chosen[1:]:
            result = _pair(result, _sum_out(*other, keep | set(result[1])), keep)
        parts.append(result)
    x, labels = _sum_out(*parts[0], set(output))
    missing = [label for label in output if label not in labels]  # dims of size 1 that were dropped
    x = reshape_tracer(x, (*x.shape, *(1 for _ in missing)))
    labels = [*labels, *missing]
    x = transpose_tracer(x, [labels.index(label) for label in output])
    return lift_as(broadcast_tracer(x, tuple(sizes[label] for label in output)), dtype)


def _of_labels(*args: Any) -> tuple[str, tuple[Any, ...]]:
    """Subscripts as text for `operand, labels, operand, labels, ...` and, perhaps, the labels of the result."""
    *pairs, result = (*args, None) if len(args) % 2 == 0 else args
    terms = pairs[1::2]
    if not terms or not all(isinstance(term, list | tuple) for term in terms):
        raise TypeError("einsum takes its subscripts as text first, or a list of labels behind each operand")
    labels = sorted({label for term in (*terms, result or ()) for label in term if label is not ...})
    letters = {label: letter for label, letter in zip(labels, string.ascii_letters, strict=False)}
    if len(labels) > len(letters):
        raise ShapeError(f"einsum takes at most {len(string.ascii_letters)} labels, got {len(labels)}")

    def written(term: Any) -> str:
        return "".join("..." if label is ... else letters[label] for label in term)

    return ",".join(map(written, terms)) + ("" if result is None else f"->{written(result)}"), (*pairs[::2],)


def _parse(subscripts: str, xs: Sequence[Tracer]) -> tuple[list[list[str]], list[str]]:
    """The labels of each operand and of the result; dims of an ellipsis are labelled `.0` (the last), `.1`, ..."""
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    texts = left.split(",")
    if len(texts) != len(xs):
        raise ShapeError(f"einsum {subscripts!r} has {len(texts)} terms for {len(xs)} operands")
    terms = [_labels(text, x.ndim, subscripts) for text, x in zip(texts, xs, strict=True)]
    dots = max((sum(label[0] == "." for label in term) for term in terms), default=0)
    lead = [f".{k}" for k in range(dots - 1, -1, -1)]
    if arrow:
        output = [label for part in _tokens(right, subscripts) for label in (lead if part == "..." else [part])]
    else:
        every = [label for term in terms for label in term if label[0] != "."]
        output = [*lead, *sorted(label for label in set(every) if every.count(label) == 1)]
    known = {label for term in terms for label in term}
    if len(set(output)) != len(output) or not known.issuperset(output):
        raise ShapeError(f"einsum {subscripts!r}: result labels must be distinct and occur in an operand")
    return terms, output


def _tokens(text: str, subscripts: str) -> list[str]:
    head, dots, tail = text.partition("...")
    if not all(c.isalpha() for c in head + tail):
        raise ShapeError(f"einsum {subscripts!r}: labels are letters, '...' stands once in a term")
    return [*head, *(["..."] if dots else []), *tail]


def _labels(text: str, rank: int, subscripts: str) -> list[str]:
    parts = _tokens(text, subscripts)
    free = rank - sum(part != "..." for part in parts)
    if free < 0 or (free and "..." not in parts):
        raise ShapeError(f"einsum {subscripts!r}: term {text!r} does not fit an operand of {rank} dims")
    lead = [f".{k}" for k in range(free - 1, -1, -1)]
    return [label for part in parts for label in (lead if part == "..." else [part])]


def _sizes(terms: Sequence[Sequence[str]], xs: Sequence[Tracer]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for term, x in zip(terms, xs, strict=True):
        for label, n in zip(term, x.shape, strict=True):
            known = sizes.setdefault(label, n)
            if known != n and 1 not in (known, n):
                raise ShapeError(f"einsum label {label!r} has sizes {known} and {n}")
            sizes[label] = n if known == 1 else known
    return sizes


Part = tuple[Tracer, list[str]]


def _simple(x: Tracer, labels: list[str], sizes: dict[str, int]) -> Part:
    """An operand without stretched dims and with each label once: repeated labels take the diagonal."""
    kept = [k for k, label in enumerate(labels) if x.shape[k] == sizes[label]]
    x = reshape_tracer(x, tuple(x.shape[k] for k in kept))
    labels = [labels[k] for k in kept]
    while True:
        repeated = next(((labels.index(b), k) for k, b in enumerate(labels) if labels.index(b) < k), None)
        if repeated is None:
            return x, labels
        i, k = repeated
        x = diagonal(x, axis1=i, axis2=k)
        labels = [*(b for at, b in enumerate(labels) if at not in repeated), labels[i]]


def _order(terms: Sequence[Sequence[str]], output: Sequence[str], sizes: dict[str, int]) -> list[tuple[int, ...]]:
    if len(terms) < 3:
        return [tuple(range(len(terms)))]
    names: dict[str, int] = {}
    for term in terms:
        for label in term:
            names.setdefault(label, len(names))
    interleaved: list[Any] = []
    for term in terms:
        unique = list(dict.fromkeys(term))
        interleaved += [np.broadcast_to(np.float32(0), [sizes[label] for label in unique]), [names[b] for b in unique]]
    path, _ = np.einsum_path(*interleaved, [names[label] for label in output], optimize="greedy")
    return [tuple(pair) for pair in path[1:]]


def _sum_out(x: Tracer, labels: list[str], keep: set[str]) -> Part:
    dims = tuple(k for k, label in enumerate(labels) if label not in keep)
    if not dims:
        return x, labels
    return build("reduce", x, kind="add", dims=dims), [label for label in labels if label in keep]


def _pair(a: Part, b: Part, keep: set[str]) -> Part:
    (x, left), (y, right) = a, b
    shared = [label for label in left if label in right]
    batch = [label for label in shared if label in keep]
    over = [label for label in shared if label not in keep]
    rest = [label for label in left if label not in shared], [label for label in right if label not in shared]
    labels = [*batch, *rest[0], *rest[1]]
    if over:
        places = [[side.index(label) for label in group] for group in (over, batch) for side in (left, right)]
        return contract(x, y, (places[0], places[1]), (places[2], places[3])), labels
    x = transpose_tracer(x, [left.index(label) for label in [*batch, *rest[0]]])
    y = transpose_tracer(y, [right.index(label) for label in [*batch, *rest[1]]])
    n = len(batch)
    x = reshape_tracer(x, (*x.shape, *(1 for _ in rest[1])))
    y = reshape_tracer(y, (*y.shape[:n], *(1 for _ in rest[0]), *y.shape[n:]))
    shape = broadcast_shapes([x.shape, y.shape])
    return build("mul", broadcast_tracer(x, shape), broadcast_tracer(y, shape)), labels
