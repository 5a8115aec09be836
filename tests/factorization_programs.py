"""Programs of matrix factorizations, and of windows and recurrences, that StableHLO has no single op for.

Results that depend on rounding in their order or phase are multiplied out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np

RNG = np.random.default_rng(1)


def drawn(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    x = RNG.normal(size=shape)
    return (x + 1j * RNG.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


SQUARE = {
    "f32": drawn(5, 5),
    "f64": drawn(2, 4, 4, dtype=np.float64),
    "complex64": drawn(1, 1, dtype=np.complex64),
    "complex128": drawn(2, 4, 4, dtype=np.complex128),
}
ANY = {**SQUARE, "tall": drawn(6, 3), "wide": drawn(2, 3, 5, dtype=np.complex64)}
IMAGE = drawn(1, 2, 7, 7)


def adjoint(x: Any) -> Any:
    return lnp.conj(lnp.swapaxes(x, -1, -2))


def hermitian(x: Any) -> Any:
    return x + adjoint(x)


def definite(x: Any) -> Any:
    return x @ adjoint(x) + lnp.eye(x.shape[-1], dtype=x.dtype)


def residual_of_eig(x: Any) -> Any:
    w, v = lm.linalg.eig(x)
    return lnp.abs(x @ v - v * w[..., None, :]), lnp.sum(lnp.abs(v) ** 2, -2)


def back_from_schur(x: Any) -> Any:
    t, z = lm.lax.linalg.schur(x)
    return z @ t @ adjoint(z), lnp.tril(t, -2)


def back_from_hessenberg(x: Any) -> Any:
    h, q = lm.linalg.hessenberg(x, calc_q=True)
    return q @ h @ adjoint(q), lnp.abs(h)


def whole_svd(x: Any) -> Any:
    u, s, vt = lm.linalg.svd(x)
    return s, lnp.abs(u[..., : s.shape[-1]]), lnp.abs(vt[..., : s.shape[-1], :])


def of_eigh(x: Any) -> Any:
    w, v = lm.linalg.eigh(hermitian(x))
    return (w**3).sum() + (v[0] ** 2 * np.arange(5, dtype=np.float32)).sum()


def pooled(kind: str, window: int, stride: int, dilation: int, padding: str, power: int = 2) -> Callable[[Any], Any]:
    init, function = (-np.inf, lm.lax.max) if kind == "max" else (np.inf, lm.lax.min)
    sizes, steps, holes = ((1, 1, n, n) for n in (window, stride, dilation))

    def total(x: Any) -> Any:
        return (lm.lax.reduce_window(x, init, function, sizes, steps, padding, window_dilation=holes) ** power).sum()

    return total


def second_slope(x: Any) -> Any:
    return lm.jvp(lm.grad(pooled("max", 3, 2, 1, "SAME", 3)), (x,), (x,))[1]


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    **{f"solve {n}": (lm.linalg.solve, (x, x[..., :2])) for n, x in SQUARE.items()},
    **{f"det {n}": (lambda x: (lm.linalg.det(x), *lm.linalg.slogdet(x)), (x,)) for n, x in SQUARE.items()},
    **{f"inv {n}": (lm.linalg.inv, (x,)) for n, x in SQUARE.items()},
    **{f"cholesky {n}": (lambda x: lm.linalg.cholesky(definite(x)), (x,)) for n, x in SQUARE.items()},
    **{f"eigh {n}": (lambda x: tuple(lm.linalg.eigh(hermitian(x))), (x,)) for n, x in SQUARE.items()},
    **{f"eigvalsh {n}": (lambda x: lm.linalg.eigvalsh(hermitian(x)), (x,)) for n, x in SQUARE.items()},
    **{f"eig {n}": (residual_of_eig, (x,)) for n, x in SQUARE.items()},
    **{f"eigvals {n}": (lambda x: lnp.sort(lm.linalg.eigvals(x)), (x,)) for n, x in SQUARE.items()},
    **{f"schur {n}": (back_from_schur, (x,)) for n, x in SQUARE.items()},
    **{f"hessenberg {n}": (back_from_hessenberg, (x,)) for n, x in SQUARE.items()},
    **{f"lu {n}": (lambda x: tuple(lm.lax.linalg.lu(x)), (x,)) for n, x in ANY.items()},
    **{f"qr {n}": (lambda x: tuple(lm.linalg.qr(x)), (x,)) for n, x in ANY.items()},
    **{f"complete qr {n}": (lambda x: tuple(lm.linalg.qr(x, "complete")), (x,)) for n, x in ANY.items()},
    **{f"svd {n}": (lambda x: tuple(lm.linalg.svd(x, full_matrices=False)), (x,)) for n, x in ANY.items()},
    **{f"whole svd {n}": (whole_svd, (x,)) for n, x in ANY.items()},
    **{f"singular values {n}": (lambda x: lm.linalg.svd(x, compute_uv=False), (x,)) for n, x in ANY.items()},
    "pinv": (lm.linalg.pinv, (ANY["tall"],)),
    "svd of nan": (lambda x: tuple(lm.linalg.svd(x * np.float32(np.nan))), (SQUARE["f32"],)),
    "eigh of inf": (lambda x: tuple(lm.linalg.eigh(x / np.float32(0))), (SQUARE["f32"],)),
    "no columns": (lambda x: (lm.linalg.eigvalsh(x), lm.linalg.inv(x), lm.linalg.det(x)), (np.zeros((3, 0, 0), np.float32),)),
    "eigh slope": (lm.grad(of_eigh), (SQUARE["f32"],)),
    "solve slope": (lm.grad(lambda x: (lm.linalg.solve(x, x.T) ** 2).sum()), (SQUARE["f32"],)),
    "qr slope": (lm.grad(lambda x: sum((v**3).sum() for v in lm.linalg.qr(x))), (ANY["tall"],)),
    "pool slope": (lm.grad(pooled("max", 3, 2, 1, "SAME")), (IMAGE,)),
    "pool slope with holes": (lm.grad(pooled("max", 2, 1, 2, "VALID")), (IMAGE,)),
    "pool slope of ties": (lm.grad(lambda x: pooled("min", 3, 2, 1, "SAME")(lnp.round(x) + 0 * x)), (IMAGE,)),
    "second pool slope": (second_slope, (IMAGE,)),
    "slope of cumprod": (lm.grad(lambda x: (lnp.cumprod(x, 1) ** 2).sum()), (SQUARE["f32"],)),
    "slope of reverse cumprod": (lm.grad(lambda x: (lm.lax.cumprod(x, 0, reverse=True) ** 2).sum()), (SQUARE["f32"],)),
    "saturated tanh": (lm.grad(lambda x: lnp.tanh(x).sum()), (np.array([0, 0.5, -3, 20, -40, 90], np.float32),)),
}
