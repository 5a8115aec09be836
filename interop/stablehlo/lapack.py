"""The calls of LAPACK that jax's linear algebra lowers to on CPUs: `lapack_spotrf_ffi` and so on, in four types.

Each returns LAPACK's arrays, which jax unpacks, and a number for each matrix, 0 for success. Matrices are the last two dims.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...api import lift
from ...compat.jax.lax import linalg
from ...library.linalg import namespace as lnl
from ...library.numpy import namespace as lnp
from .faults import UnsupportedError


def _option(site: Any, name: str) -> str:
    """An option, which is the number of a character, as 76 for L."""
    found = (site.get("mhlo.backend_config") or {}).get(name)
    if found is None:
        raise UnsupportedError(f"needs the option {name}")
    return chr(found)


def _failed(*arrays: Any) -> Any:
    """1 for each matrix of results that has NaN, else 0."""
    bad = None
    for array in arrays:
        found = lnp.any(lnp.isnan(array), axis=(-2, -1))
        bad = found if bad is None else lnp.logical_or(bad, found)
    return lnp.asarray(bad).astype(np.int32)


def _adjoint(x: Any) -> Any:
    return lnp.conjugate(lnp.matrix_transpose(x))


def potrf(site: Any, operands: Sequence[Any]) -> Any:
    """Cholesky's factor, in the triangle that `uplo` says."""
    (x,) = operands
    if _option(site, "uplo") == "L":
        factor = linalg.cholesky(x, symmetrize_input=False)
        stored = lnp.tril(factor) + lnp.triu(x, 1)  # LAPACK leaves the other triangle as it was
    else:
        factor = _adjoint(linalg.cholesky(lift(_adjoint(x)), symmetrize_input=False))
        stored = lnp.triu(factor) + lnp.tril(x, -1)
    return [stored, _failed(factor)]


def getrf(site: Any, operands: Sequence[Any]) -> Any:
    """Both triangular factors in one array, and the rows that were exchanged, counted from 1."""
    y, pivots, _ = linalg.lu(operands[0])
    return [y, pivots + np.int32(1), lnp.zeros(y.shape[:-2], np.int32)]


def geqrf(site: Any, operands: Sequence[Any]) -> Any:
    """Reflectors below `R`, and their factors."""
    packed, taus = lnl.qr(operands[0], "raw")
    return [lnp.matrix_transpose(packed), taus]


def orgqr(site: Any, operands: Sequence[Any]) -> Any:
    """The product of reflectors."""
    return [linalg.householder_product(*operands)]


def ormqr(site: Any, operands: Sequence[Any]) -> Any:
    """A matrix multiplied by a product of reflectors."""
    options = site.get("mhlo.backend_config") or {}
    return [linalg.ormqr(*operands, left=options.get("left", True), transpose=options.get("transpose", False))]


def syevd(site: Any, operands: Sequence[Any]) -> Any:
    """Eigenvectors and eigenvalues of symmetric matrices, of which one triangle is read."""
    w, v = lnl.eigh(operands[0], _option(site, "uplo"))
    return [v, w, _failed(v)]


def gesdd(site: Any, operands: Sequence[Any]) -> Any:
    """Singular values, and vectors where the mode says so."""
    (x,) = operands
    mode = _option(site, "mode")
    if mode == "N":
        s = lnl.svd(x, compute_uv=False)
        u, vt = (lnp.zeros(site.shape(k), x.dtype) for k in (2, 3))
        return [x, s, u, vt, _failed(lnp.expand_dims(s, -1))]
    u, s, vt = lnl.svd(x, mode == "A")
    return [x, s, u, vt, _failed(u)]


def trsm(site: Any, operands: Sequence[Any]) -> Any:
    """The solution of a triangular system."""
    form = _option(site, "trans_x")
    y = linalg.triangular_solve(
        *operands,
        left_side=_option(site, "side") == "L",
        lower=_option(site, "uplo") == "L",
        unit_diagonal=_option(site, "diag") == "U",
        transpose_a=form != "N",
        conjugate_a=form == "C",
    )
    return [y]


def gees(site: Any, operands: Sequence[Any]) -> Any:
    """Schur's form and vectors, eigenvalues, and two numbers for each matrix."""
    (x,) = operands
    if _option(site, "sort") != "N":
        raise UnsupportedError("sorts eigenvalues, which Schur's form does not here")
    t, z = linalg.schur(x)
    diagonal = lnp.diagonal(t, 0, -2, -1)
    values = [diagonal] if x.dtype.kind == "c" else [diagonal, lnp.zeros_like(diagonal)]
    return [t, z, *values, lnp.zeros(x.shape[:-2], np.int32), _failed(t)]


def geev(site: Any, operands: Sequence[Any]) -> Any:
    """Eigenvalues, left eigenvectors and right ones; zeros for those that are not computed."""
    (x,) = operands
    left, right = _option(site, "compute_left") == "V", _option(site, "compute_right") == "V"
    found = list(linalg.eig(x, compute_left_eigenvectors=left, compute_right_eigenvectors=right))
    w = found.pop(0)
    zeros = lnp.zeros(x.shape, w.dtype)
    vl = found.pop(0) if left else zeros
    vr = found.pop(0) if right else zeros
    values = [w] if x.dtype.kind == "c" else [lnp.real(w), lnp.imag(w)]
    return [*values, vl, vr, _failed(lnp.expand_dims(w, -1))]


def _hessenberg(x: Any) -> tuple[Any, Any, Any]:
    """Hessenberg's form with a real subdiagonal, the reflectors below it in rows of their own, and their factors.

    The library's transformation may differ from the product of reflectors in phases of columns; the form follows these.
    """
    n = x.shape[-1]
    h, z = lnl.hessenberg(x, calc_q=True)
    if n < 2:
        return h, z[..., 1:, 1:], z[..., 1:, 0]
    phases = lnp.ones_like(h[..., 0])
    if x.dtype.kind == "c":
        last = h[..., n - 1, n - 2]
        phases = lift(phases).at[..., n - 1].set(lnp.where(last == 0, 1, lnp.sign(last)))
        z = z * phases[..., None, :]
    packed, taus = lnl.qr(z[..., 1:, 1:], "raw")
    packed = lnp.matrix_transpose(packed)
    signs = lnp.sign(lnp.diagonal(packed, 0, -2, -1).real).astype(x.dtype)  # of R, which is diagonal
    phases = phases * lnp.concatenate([lnp.ones_like(signs[..., :1]), signs], -1)
    return lnp.conjugate(phases)[..., :, None] * h * phases[..., None, :], packed, taus


def _below_subdiagonal(packed: Any) -> Any:
    return lnp.pad(lnp.tril(packed, -1), [(0, 0)] * (packed.ndim - 2) + [(1, 0), (0, 1)])


def gehrd(site: Any, operands: Sequence[Any]) -> Any:
    """Hessenberg's form with the reflectors below it, and their factors."""
    (x,) = operands
    options = site.get("mhlo.backend_config") or {}
    n = x.shape[-1]
    if (options.get("low"), options.get("high")) != (1, n):
        raise UnsupportedError(f"reduces rows {options.get('low')} to {options.get('high')} of {n} alone")
    h, packed, taus = _hessenberg(x)
    return [lnp.triu(h, -1) + _below_subdiagonal(packed), taus, lnp.zeros(x.shape[:-2], np.int32)]


def sytrd(site: Any, operands: Sequence[Any]) -> Any:
    """The tridiagonal form of symmetric matrices, of which one triangle is read, its two diagonals, and the reflectors."""
    (x,) = operands
    is_upper = _option(site, "uplo") == "U"
    x = x[..., ::-1, ::-1] if is_upper else x  # the upper form is the lower one of the reversed order
    below = lnp.tril(x, -1)
    diagonal = lnp.diagonal(x, 0, -2, -1).real
    t, packed, taus = _hessenberg(lift(below + _adjoint(below) + lnp.eye(x.shape[-1], dtype=x.dtype) * diagonal[..., None, :]))
    stored = lnp.tril(lnp.triu(t, -1)) + _below_subdiagonal(packed)
    d, e = (lnp.diagonal(t, k, -2, -1).real for k in (0, -1))
    if is_upper:
        stored, d, e, taus = stored[..., ::-1, ::-1], d[..., ::-1], e[..., ::-1], taus[..., ::-1]
    return [stored, d, e, taus, lnp.zeros(x.shape[:-2], np.int32)]


def gtsv(site: Any, operands: Sequence[Any]) -> Any:
    """The solution of a tridiagonal system; the diagonals are given back as they are."""
    below, diagonal, above, right = operands
    n = diagonal.shape[-1]
    pad = [(0, 0)] * (diagonal.ndim - 1)
    low = below if below.shape[-1] == n else lnp.pad(below, [*pad, (1, 0)])
    high = above if above.shape[-1] == n else lnp.pad(above, [*pad, (0, 1)])
    y = linalg.tridiagonal_solve(low, diagonal, high, right)
    return [below, diagonal, above, y, lnp.zeros(diagonal.shape[:-1], np.int32)]


_ROUTINES: dict[str, tuple[str, Callable[[Any, Sequence[Any]], Any]]] = {
    "potrf": ("sdcz", potrf),
    "getrf": ("sdcz", getrf),
    "geqrf": ("sdcz", geqrf),
    "orgqr": ("sd", orgqr),
    "ungqr": ("cz", orgqr),
    "ormqr": ("sd", ormqr),
    "unmqr": ("cz", ormqr),
    "syevd": ("sd", syevd),
    "heevd": ("cz", syevd),
    "gesdd": ("sdcz", gesdd),
    "gees": ("sdcz", gees),
    "geev": ("sdcz", geev),
    "gehrd": ("sdcz", gehrd),
    "sytrd": ("sd", sytrd),
    "hetrd": ("cz", sytrd),
    "gtsv": ("sdcz", gtsv),
}
ROUTINES = {f"lapack_{kind}{name}_ffi": f for name, (kinds, f) in _ROUTINES.items() for kind in kinds}
"""The functions by the names of their targets."""
ROUTINES |= {f"{prefix}{kind}trsm_ffi": trsm for kind in "sdcz" for prefix in ("lapack_", "blas_")}
