"""Kernels of many kinds whose derivatives are tested, each with arguments and, for some, the same function on arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np

Spec = lm.TensorSpec
DRAW = np.random.default_rng(34)


@dataclass(frozen=True)
class Case:
    """A function that calls a kernel, and arguments.

    Attributes:
        graph: the same function written with `lamina.numpy`.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    graph: Callable[..., Any] | None = None


def normal(*shape: int) -> Any:
    return DRAW.normal(size=shape)


def zeros(*shape: int) -> Any:
    return lnp.zeros(shape, "float64")


@lm.kernel
def saxpy(a: lm.f64, x: lm.f64["N"], y: lm.f64["N"]):
    for i in range(N):
        y[i] += a * x[i]


@lm.kernel
def matmul(A: lm.f64["M", "K"], B: lm.f64["K", "N"], C: lm.f64["M", "N"]):
    for i in range(M):
        for j in range(N):
            s = 0.0
            for k in range(K):
                s += A[i, k] * B[k, j]
            C[i, j] = s


@lm.kernel
def trsm(L: lm.f64["N", "N"], B: lm.f64["N", "R"]):
    for i in range(N):
        for k in range(i):
            factor = L[i, k]
            for r in range(R):
                B[i, r] -= factor * B[k, r]
        q = 1.0 / L[i, i]
        for r in range(R):
            B[i, r] *= q


@lm.kernel
def dtw(a: lm.f64["N"], b: lm.f64["M"], D: lm.f64["N1", "M1"]):
    for i in range(1, N + 1):
        for j in range(1, M + 1):
            c = abs(a[i - 1] - b[j - 1])
            D[i, j] = c + min(D[i - 1, j], min(D[i, j - 1], D[i - 1, j - 1]))


@lm.kernel
def gauss_seidel(u: lm.f64["N", "N"], f: lm.f64["N", "N"], sweeps: lm.i64):
    for _ in range(sweeps):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])


@lm.kernel
def thomas(
    a: lm.f64["B", "N"], b: lm.f64["B", "N"], c: lm.f64["B", "N"], d: lm.f64["B", "N"], x: lm.f64["B", "N"], w: lm.f64["B", "N"]
):
    for s in range(B):
        w[s, 0] = c[s, 0] / b[s, 0]
        x[s, 0] = d[s, 0] / b[s, 0]
        for i in range(1, N):
            q = 1.0 / (b[s, i] - a[s, i] * w[s, i - 1])
            w[s, i] = c[s, i] * q
            x[s, i] = (d[s, i] - a[s, i] * x[s, i - 1]) * q
        for i in range(1, N):
            r = N - 1 - i
            x[s, r] = x[s, r] - w[s, r] * x[s, r + 1]


@lm.kernel
def horner(x: lm.f64["N"], c: lm.f64["D"], y: lm.f64["N"]):
    for i in range(N):
        s = c[0]
        for k in range(1, D):
            s = s * x[i] + c[k]
        y[i] = s


@lm.kernel
def covariance(X: lm.f64["N", "D"], C: lm.f64["D", "D"]):
    for i in range(D):
        for j in range(i + 1):
            s = 0.0
            for n in range(N):
                s += X[n, i] * X[n, j]
            C[i, j] = s
            C[j, i] = s


@lm.kernel
def biquad(x: lm.f64["C", "N"], y: lm.f64["C", "N"], k: lm.f64[5]):
    for c in range(C):
        z1 = 0.0
        z2 = 0.0
        for n in range(N):
            v = x[c, n]
            o = k[0] * v + z1
            z1 = k[1] * v - k[3] * o + z2
            z2 = k[2] * v - k[4] * o
            y[c, n] = o


@lm.kernel
def floyd(D: lm.f64["N", "N"]):
    for k in range(N):
        for i in range(N):
            t = D[i, k]
            for j in range(N):
                D[i, j] = min(D[i, j], t + D[k, j])


@lm.kernel
def csr(ptr: lm.i64["N1"], col: lm.i64["Z"], v: lm.f64["Z"], x: lm.f64["N"], y: lm.f64["N"]):
    for i in range(N):
        s = 0.0
        for p in range(ptr[i], ptr[i + 1]):
            s += v[p] * x[col[p]]
        y[i] = s


@lm.kernel
def fir(x: lm.f64["N"], h: lm.f64["T"], y: lm.f64["M"]):
    for i in range(M):
        s = 0.0
        for t in range(T):
            s += x[i + t] * h[t]
        y[i] = s


@lm.kernel
def lu(A: lm.f64["N", "N"]):
    for k in range(N):
        for i in range(k + 1, N):
            A[i, k] = A[i, k] / A[k, k]
            factor = A[i, k]
            for j in range(k + 1, N):
                A[i, j] -= factor * A[k, j]


@lm.kernel
def prefix(x: lm.f64["N"], y: lm.f64["N"]):
    s = 0.0
    for i in range(N):
        s += x[i]
        y[i] = s


@lm.kernel
def median(x: lm.f64["H", "W"], y: lm.f64["H", "W"]):
    for i in range(1, H - 1):
        for j in range(1, W - 1):
            v = lm.zeros(9, lm.f64)
            for a in range(3):
                for b in range(3):
                    v[3 * a + b] = x[i + a - 1, j + b - 1]
            for a in range(5):
                m = a
                for b in range(a + 1, 9):
                    if v[b] < v[m]:
                        m = b
                t = v[a]
                v[a] = v[m]
                v[m] = t
            y[i, j] = v[4]


@lm.kernel
def jacobi(x: lm.f64["H", "W"], y: lm.f64["H", "W"]):
    for i in range(1, H - 1):
        for j in range(1, W - 1):
            y[i, j] = 0.5 * x[i, j] + 0.125 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])


@lm.kernel
def softmax(x: lm.f64["M", "N"], y: lm.f64["M", "N"]):
    for i in range(M):
        m = x[i, 0]
        for j in range(N):
            m = max(m, x[i, j])
        s = 0.0
        for j in range(N):
            e = np.exp(x[i, j] - m)
            y[i, j] = e
            s += e
        for j in range(N):
            y[i, j] /= s


@lm.kernel
def attraction(p: lm.f64["N", 3], m: lm.f64["N"], out: lm.f64["N", 3]):
    for i in range(N):
        ax, ay, az = 0.0, 0.0, 0.0
        for j in range(N):
            dx, dy, dz = p[j, 0] - p[i, 0], p[j, 1] - p[i, 1], p[j, 2] - p[i, 2]
            square = dx * dx + dy * dy + dz * dz + 0.01
            q = m[j] / (square * math.sqrt(square))
            ax += q * dx
            ay += q * dy
            az += q * dz
        out[i, 0], out[i, 1], out[i, 2] = ax, ay, az


@lm.kernel
def deposit(x: lm.f64["N"], w: lm.f64["N"], g: lm.f64["M"]):
    for i in range(N):
        k = lm.i64(x[i])
        t = x[i] - k
        g[k] += w[i] * (1 - t)
        g[k + 1] += w[i] * t


@lm.kernel
def pieces(x: lm.f64["N"], y: lm.f64["N"]):
    for i in range(N):
        if x[i] > 0:
            y[i] = x[i] * x[i]
        elif x[i] > -1:
            y[i] = math.sin(x[i]) * math.tanh(x[i])
        else:
            y[i] = math.exp(x[i]) ** 1.5


@lm.kernel
def recurrent(x: lm.f64["T", "H"], u: lm.f64["H", "H"], h: lm.f64["T", "H"]):
    c = lm.zeros(H, lm.f64)
    for t in range(1, T):
        for i in range(H):
            s = x[t, i]
            for j in range(H):
                s += u[i, j] * h[t - 1, j]
            c[i] = 0.5 * c[i] + math.tanh(s)
        for i in range(H):
            h[t, i] = math.tanh(c[i])


@lm.kernel
def every_second(x: lm.f64["N"], y: lm.f64["N"]):
    s = 1.0
    for i in range(N - 1, -1, -3):
        s = s * x[i] + math.cos(s)
        y[i] = s


@lm.kernel
def product(x: lm.f64["M", "N"], y: lm.f64["M"]):
    for i in range(M):
        p, low = 1.0, x[i, 0]
        for j in range(N):
            p *= x[i, j]
            low = min(low, x[i, j])
        y[i] = p * low


@lm.kernel
def smooth(u: lm.f64["N"], steps: lm.i64):
    for _ in range(steps):
        for i in range(1, N - 1):
            u[i] = 0.5 * u[i] + 0.25 * math.sin(u[i - 1] * u[i + 1])


@lm.kernel
def lengths(x: lm.f64["N"], ends: lm.i64["B"], y: lm.f64["B"]):
    for b in range(B):
        s = 0.0
        for i in range(ends[b]):
            if x[i] < 0.3:
                continue
            s += math.sqrt(x[i])
        y[b] = s if s > 0.5 else 2 * s


def out(*shape: int) -> Any:
    return Spec(shape, "float64")


def _graph_jacobi(x: Any, y: Any) -> Any:
    inner = 0.5 * x[1:-1, 1:-1] + 0.125 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
    return y.at[1:-1, 1:-1].set(inner)


def _graph_attraction(p: Any, m: Any) -> Any:
    d = p[None, :, :] - p[:, None, :]
    square = (d * d).sum(-1) + 0.01
    return ((m[None, :] / square**1.5)[:, :, None] * d).sum(1)


def _graph_pieces(x: Any) -> Any:
    low = lnp.where(x > -1, lnp.sin(x) * lnp.tanh(x), lnp.exp(1.5 * x))
    return lnp.where(x > 0, x * x, low)


def _graph_softmax(x: Any) -> Any:
    e = lnp.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def _graph_fir(x: Any, h: Any) -> Any:
    return sum(x[t : t + 8] * h[t] for t in range(5))


def _graph_covariance(X: Any) -> Any:
    return X.T @ X


def _graph_horner(x: Any, c: Any) -> Any:
    return ((c[0] * x + c[1]) * x + c[2]) * x + c[3]


def _graph_biquad(x: Any, k: Any) -> Any:
    z1 = z2 = lnp.zeros(x.shape[0], "float64")
    rows = []
    for n in range(x.shape[1]):
        v = x[:, n]
        o = k[0] * v + z1
        z1, z2 = k[1] * v - k[3] * o + z2, k[2] * v - k[4] * o
        rows.append(o)
    return lnp.stack(rows, 1)


_PTR, _COL = np.array([0, 2, 2, 5, 9, 10]), np.array([0, 3, 1, 2, 4, 0, 1, 3, 4, 2])
_ROWS = np.repeat(np.arange(5), np.diff(_PTR))
call = lm.call_kernel

CASES = {
    "saxpy": Case(lambda a, x, y: call(saxpy, a, x, out=y), (0.5, normal(9), normal(9)), lambda a, x, y: y + a * x),
    "matmul": Case(lambda a, b: call(matmul, a, b, out=out(4, 6)), (normal(4, 5), normal(5, 6)), lambda a, b: a @ b),
    "trsm": Case(
        lambda L, B: call(trsm, L, out=B),
        (np.tril(normal(5, 5)) * 0.3 + 2 * np.eye(5), normal(5, 3)),
        lambda L, B: lm.linalg.solve(lnp.tril(L), B),
    ),
    "dtw": Case(lambda a, b, D: call(dtw, a, b, out=D), (normal(5), normal(6), normal(6, 7))),
    "gauss_seidel": Case(lambda u, f: call(gauss_seidel, f, 3, out=u), (normal(6, 6), normal(6, 6))),
    "thomas": Case(
        lambda a, b, c, d: call(thomas, a, b, c, d, out=(zeros(3, 6), zeros(3, 6))),
        (0.2 * normal(3, 6), 0.1 * normal(3, 6) + 2, 0.2 * normal(3, 6), normal(3, 6)),
    ),
    "horner": Case(lambda x, c: call(horner, x, c, out=out(7)), (normal(7), normal(4)), _graph_horner),
    "covariance": Case(lambda X: call(covariance, X, out=out(4, 4)), (normal(6, 4),), _graph_covariance),
    "biquad": Case(lambda x, k: call(biquad, x, k, out=out(3, 9)), (normal(3, 9), 0.3 * normal(5)), _graph_biquad),
    "floyd": Case(lambda D: call(floyd, out=D), (DRAW.uniform(1, 5, (6, 6)),)),
    "csr": Case(
        lambda v, x: call(csr, _PTR, _COL, v, x, out=out(5)),
        (normal(10), normal(5)),
        lambda v, x: lnp.zeros(5, "float64").at[_ROWS].add(v * x[_COL]),
    ),
    "fir": Case(lambda x, h: call(fir, x, h, out=out(8)), (normal(12), normal(5)), _graph_fir),
    "lu": Case(lambda A: call(lu, out=A), (0.3 * normal(6, 6) + 3 * np.eye(6),)),
    "prefix": Case(lambda x: call(prefix, x, out=out(8)), (normal(8),), lambda x: lnp.cumsum(x)),
    "median": Case(lambda x: call(median, x, out=zeros(6, 7)), (normal(6, 7),)),
    "jacobi": Case(lambda x, y: call(jacobi, x, out=y), (normal(6, 7), normal(6, 7)), _graph_jacobi),
    "softmax": Case(lambda x: call(softmax, x, out=zeros(4, 7)), (normal(4, 7),), _graph_softmax),
    "attraction": Case(lambda p, m: call(attraction, p, m, out=out(6, 3)), (normal(6, 3), normal(6)), _graph_attraction),
    "deposit": Case(lambda x, w, g: call(deposit, x, w, out=g), (DRAW.uniform(0, 7, 9), normal(9), normal(8))),
    "pieces": Case(lambda x: call(pieces, x, out=out(40)), (normal(40),), _graph_pieces),
    "recurrent": Case(lambda x, u, h: call(recurrent, x, u, out=h), (normal(4, 5), 0.3 * normal(5, 5), normal(4, 5))),
    "every_second": Case(lambda x, y: call(every_second, x, out=y), (normal(11), normal(11))),
    "product": Case(lambda x: call(product, x, out=out(4)), (normal(4, 5),), lambda x: x.prod(1) * x.min(1)),
    "smooth": Case(lambda u: call(smooth, 3, out=u), (normal(9),)),
    "lengths": Case(lambda x: call(lengths, x, np.array([3, 0, 7]), out=out(3)), (DRAW.uniform(0.1, 2, 9),)),
}
"""By name. Those with a `graph` are compared with its derivative, too."""
