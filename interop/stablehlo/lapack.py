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
    "gtsv": ("sdcz", gtsv),
}
ROUTINES = {f"lapack_{kind}{name}_ffi": f for name, (kinds, f) in _ROUTINES.items() for kind in kinds}
"""The functions by the names of their targets."""
ROUTINES |= {f"{prefix}{kind}trsm_ffi": trsm for kind in "sdcz" for prefix in ("lapack_", "blas_")}
