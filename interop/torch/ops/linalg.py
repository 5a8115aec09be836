"""Matrix factorizations and what is solved with them, of the last two dims.

Errors that torch raises for singular matrices are results here, infinities and NaN; the number that torch returns for each of
them (`info`) is 0, or 1 where a result is not finite.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....api import lift
from ....compat.jax.lax import linalg as lax_linalg
from ....library.linalg import namespace as lnl
from ....library.numpy import namespace as lnp
from ..errors import UnsupportedOp
from ..nodes import Call, op


def _adjoint(x: Any) -> Any:
    return lnp.conj(lnp.swapaxes(x, -1, -2))


def _info(x: Any) -> Any:
    """1 for each matrix that is not finite."""
    return lnp.any(~lnp.isfinite(x), axis=(-2, -1)).astype(np.int32)


def _one_triangle(x: Any, upper: bool) -> Any:
    """The Hermitian matrix that one triangle says."""
    part = lnp.triu(x, 1) if upper else lnp.tril(x, -1)
    diagonal = lnp.real(lnp.diagonal(x, 0, -2, -1)).astype(x.dtype)
    return part + _adjoint(part) + lnp.eye(x.shape[-1], dtype=x.dtype) * diagonal[..., None, :]


def _lu(x: Any) -> tuple[Any, Any, Any]:
    """Both factors in one array, the rows that were exchanged, and their order."""
    packed, pivots, order = lax_linalg.lu(lift(x))
    return packed, pivots + np.int32(1), order


@op("_linalg_svd")
def svd(call: Call, x: Any, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None) -> Any:
    if compute_uv:
        return list(lnl.svd(x, full_matrices))
    empty = lnp.zeros((0,), x.dtype)
    return [empty, lnl.svd(x, compute_uv=False), empty]


@op("_linalg_eigh")
def eigh(call: Call, x: Any, UPLO: str = "L", compute_v: bool = True) -> Any:
    w, v = lnl.eigh(x, UPLO)
    return [w, v if compute_v else lnp.zeros((0,), x.dtype)]


@op("linalg_eig")
def eig(call: Call, x: Any) -> Any:
    return list(lnl.eig(x))


@op("_linalg_eigvals", "linalg_eigvals")
def eigvals(call: Call, x: Any) -> Any:
    return lnl.eigvals(x)


@op("linalg_qr")
def qr(call: Call, x: Any, mode: str = "reduced") -> Any:
    q, r = lnl.qr(x, "complete" if mode == "complete" else "reduced")
    return [lnp.zeros((0,), x.dtype) if mode == "r" else q, r]


@op("geqrf")
def geqrf(call: Call, x: Any) -> Any:
    packed, taus = lnl.qr(x, "raw")
    return [lnp.matrix_transpose(packed), taus]


@op("linalg_householder_product", "orgqr")
def householder_product(call: Call, x: Any, tau: Any) -> Any:
    return lax_linalg.householder_product(x, tau)


@op("linalg_cholesky_ex")
def cholesky_ex(call: Call, x: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    y = lnl.cholesky(_one_triangle(x, upper), upper=upper)
    return [y, _info(y)]


@op("cholesky")
def cholesky(call: Call, x: Any, upper: bool = False) -> Any:
    return cholesky_ex(call, x, upper=upper)[0]


@op("cholesky_inverse")
def cholesky_inverse(call: Call, x: Any, upper: bool = False) -> Any:
    inverse = _triangular(x, lnp.eye(x.shape[-1], dtype=x.dtype), upper)
    return inverse @ _adjoint(inverse) if upper else _adjoint(inverse) @ inverse


@op("cholesky_solve")
def cholesky_solve(call: Call, b: Any, x: Any, upper: bool = False) -> Any:
    first = _adjoint(x) if upper else x
    return _triangular(_adjoint(first), _triangular(first, b, False), True)


def _stacked(x: Any, b: Any) -> tuple[Any, Any]:
    """Matrices with the same leading dims."""
    lead = np.broadcast_shapes(x.shape[:-2], b.shape[:-2])
    return lnp.broadcast_to(x, (*lead, *x.shape[-2:])), lnp.broadcast_to(b, (*lead, *b.shape[-2:]))


def _triangular(a: Any, b: Any, upper: bool, unit: bool = False, transpose: bool = False) -> Any:
    a, b = _stacked(a, b)
    return lax_linalg.triangular_solve(
        lift(a), lift(b), left_side=True, lower=not upper, unit_diagonal=unit, transpose_a=transpose
    )


@op("linalg_solve_triangular")
def solve_triangular(call: Call, a: Any, b: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    if left:
        return _triangular(a, b, upper, unitriangular)
    turned = _triangular(lnp.swapaxes(a, -1, -2), lnp.swapaxes(b, -1, -2), not upper, unitriangular)
    return lnp.swapaxes(turned, -1, -2)


@op("triangular_solve")
def triangular_solve(
    call: Call, b: Any, a: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    a, b = _stacked(a, b)
    return [_triangular(a, b, upper, unitriangular, transpose), a]


@op("linalg_lu_factor_ex")
def lu_factor_ex(call: Call, x: Any, *, pivot: bool = True, check_errors: bool = False) -> Any:
    _need_pivots(pivot)
    packed, pivots, _ = _lu(x)
    zero = lnp.diagonal(packed, 0, -2, -1) == 0
    first = lnp.argmax(zero, -1) + 1 if zero.shape[-1] else lnp.zeros(zero.shape[:-1], np.int64)
    return [packed, pivots, lnp.where(lnp.any(zero, -1), first, 0).astype(np.int32)]


@op("linalg_lu")
def lu(call: Call, x: Any, *, pivot: bool = True) -> Any:
    _need_pivots(pivot)
    packed, _, order = _lu(x)
    return _unpacked(packed, order)


def _unpacked(packed: Any, order: Any) -> list[Any]:
    rows, columns = packed.shape[-2:]
    k = min(rows, columns)
    lower = lnp.tril(packed[..., :k], -1) + lnp.eye(rows, k, dtype=packed.dtype)
    p = (lnp.arange(rows)[:, None] == order[..., None, :]).astype(packed.dtype)
    return [p, lower, lnp.triu(packed[..., :k, :])]


@op("lu_unpack")
def lu_unpack(call: Call, packed: Any, pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    order = lax_linalg.lu_pivots_to_permutation(pivots - 1, packed.shape[-2])
    p, lower, upper = _unpacked(packed, order)
    empty = lnp.zeros((0,), packed.dtype)
    return [p if unpack_pivots else empty, *((lower, upper) if unpack_data else (empty, empty))]


def _need_pivots(pivot: bool) -> None:
    if not pivot:
        raise UnsupportedOp("factors without pivots, as torch does on GPUs alone")


@op("linalg_lu_solve")
def lu_solve(call: Call, packed: Any, pivots: Any, b: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    if not left:  # x a = b is a^H x^H = b^H
        return _adjoint(lu_solve(call, packed, pivots, _adjoint(b), adjoint=not adjoint))
    lead = np.broadcast_shapes(packed.shape[:-2], b.shape[:-2])
    packed, b = _stacked(packed, b)
    pivots = lnp.broadcast_to(pivots, (*lead, pivots.shape[-1]))
    order = lax_linalg.lu_pivots_to_permutation(pivots - 1, packed.shape[-2])[..., None]
    if not adjoint:
        b = lnp.take_along_axis(b, order.astype(np.int64), -2)
        return _triangular(packed, _triangular(packed, b, False, unit=True), True)
    turned = _adjoint(packed)
    y = _triangular(turned, _triangular(turned, b, False), True, unit=True)
    return lnp.take_along_axis(y, lnp.argsort(order, -2), -2)


@op("_linalg_solve_ex")
def solve_ex(call: Call, a: Any, b: Any, *, left: bool = True, check_errors: bool = False) -> Any:
    is_vector = b.ndim == 1 or (b.ndim == a.ndim - 1 and tuple(b.shape) == tuple(a.shape[:-1]))
    b = b[..., None] if is_vector else b
    packed, pivots, info = lu_factor_ex(call, a)
    x = lu_solve(call, packed, pivots, b, left=left or is_vector)
    return [x[..., 0] if is_vector else x, packed, pivots, info]


@op("linalg_inv_ex")
def inv_ex(call: Call, x: Any, *, check_errors: bool = False) -> Any:
    y = lnl.inv(x)
    return [y, _info(y)]


@op("_linalg_det")
def det(call: Call, x: Any) -> Any:
    return [lnl.det(x), *_lu(x)[:2]]


@op("_linalg_slogdet")
def slogdet(call: Call, x: Any) -> Any:
    return [*lnl.slogdet(x), *_lu(x)[:2]]


@op("linalg_pinv")
def pinv(call: Call, x: Any, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Any:
    """From singular values (of Hermitian matrices from eigenvalues) above the larger one of two bounds."""
    given = rcond if call.overload in ("default", "rcond_tensor") else rtol
    if given is None:
        given = 0.0 if atol is not None else float(np.finfo(x.dtype).eps) * max(x.shape[-2:])
    if hermitian:
        w, v = lnl.eigh(x, "L")
        u, s, vh = v, w, _adjoint(v)
    else:
        u, s, vh = lnl.svd(x, full_matrices=False)
    if not s.shape[-1]:
        return lnp.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
    size = lnp.abs(s)
    bound = lnp.asarray(given)[..., None] * lnp.max(size, -1, keepdims=True)
    bound = bound if atol is None else lnp.maximum(bound, lnp.asarray(atol)[..., None])
    inverse = lnp.where(size > bound, 1 / lnp.where(size > bound, s, 1), 0).astype(x.dtype)
    return (_adjoint(vh) * inverse[..., None, :]) @ _adjoint(u)


@op("linalg_matrix_exp")
def matrix_exp(call: Call, x: Any) -> Any:
    return lnl.expm(x)


@op("ormqr")
def ormqr(call: Call, x: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
    return lax_linalg.ormqr(x, tau, other, left=left, transpose=transpose)
