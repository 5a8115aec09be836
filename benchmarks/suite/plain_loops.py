"""Loops as users of compilers for kernels write them, each the same function for `lm.kernel`, numba and Python (`loop_forms.py`)."""

from __future__ import annotations

import lamina as lm
import numpy as np


def median3(x: lm.f32["H", "W"], y: lm.f32["H", "W"]):
    """Median of 3 x 3 neighbours, by selection in a local array."""
    for i in range(1, H - 1):
        for j in range(1, W - 1):
            v = lm.zeros(9, lm.f32)
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


def trsm(L: lm.f32["N", "N"], B: lm.f32["N", "R"]):
    """Triangular solve of many right sides."""
    for i in range(N):
        for k in range(i):
            l = L[i, k]
            for r in range(R):
                B[i, r] -= l * B[k, r]
        q = 1.0 / L[i, i]
        for r in range(R):
            B[i, r] *= q


def boxblur8(x: lm.ui8["H", "W"], y: lm.ui8["H", "W"]):
    """Mean of 3 x 3 bytes."""
    for i in range(1, H - 1):
        for j in range(1, W - 1):
            s = lm.i32(0)
            for a in range(3):
                for b in range(3):
                    s += lm.i32(x[i + a - 1, j + b - 1])
            y[i, j] = lm.ui8(s // 9)


def dtw(a: lm.f64["N"], b: lm.f64["M"], D: lm.f64["N1", "M1"]):
    """Dynamic time warping."""
    for i in range(1, N + 1):
        for j in range(1, M + 1):
            c = abs(a[i - 1] - b[j - 1])
            D[i, j] = c + min(D[i - 1, j], min(D[i, j - 1], D[i - 1, j - 1]))


def gauss_seidel(u: lm.f64["N", "N"], f: lm.f64["N", "N"], sweeps: lm.i64):
    """Sweeps of Gauss-Seidel over a grid."""
    for s in range(sweeps):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])


def thomas(
    a: lm.f64["B", "N"], b: lm.f64["B", "N"], c: lm.f64["B", "N"], d: lm.f64["B", "N"], x: lm.f64["B", "N"], w: lm.f64["B", "N"]
):
    """Tridiagonal systems, one a row (Thomas)."""
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


def radix(x: lm.ui32["N"], y: lm.ui32["N"], count: lm.i64[256], shift: lm.ui32):
    """A pass of a radix sort."""
    for d in range(256):
        count[d] = 0
    for i in range(N):
        count[lm.i64((x[i] >> shift) & lm.ui32(255))] += 1
    total = lm.i64(0)
    for d in range(256):
        n = count[d]
        count[d] = total
        total += n
    for i in range(N):
        d = lm.i64((x[i] >> shift) & lm.ui32(255))
        y[count[d]] = x[i]
        count[d] += 1


def horner(x: lm.f64["N"], c: lm.f64["D"], y: lm.f64["N"]):
    """A polynomial by its coefficients in memory."""
    for i in range(N):
        s = c[0]
        for k in range(1, D):
            s = s * x[i] + c[k]
        y[i] = s


def i8dot(A: lm.i8["M", "K"], B: lm.i8["N", "K"], C: lm.i32["M", "N"]):
    """Product of bytes, in 32 bits."""
    for i in range(M):
        for j in range(N):
            s = lm.i32(0)
            for k in range(K):
                s += lm.i32(A[i, k]) * lm.i32(B[j, k])
            C[i, j] = s


def covariance(X: lm.f64["N", "D"], C: lm.f64["D", "D"]):
    """The sums of products of all pairs of columns."""
    for i in range(D):
        for j in range(i + 1):
            s = 0.0
            for n in range(N):
                s += X[n, i] * X[n, j]
            C[i, j] = s
            C[j, i] = s


def biquad(x: lm.f32["C", "N"], y: lm.f32["C", "N"], k: lm.f32[5]):
    """A second-order recursive filter, one a row."""
    for c in range(C):
        z1 = lm.f32(0)
        z2 = lm.f32(0)
        for n in range(N):
            v = x[c, n]
            o = k[0] * v + z1
            z1 = k[1] * v - k[3] * o + z2
            z2 = k[2] * v - k[4] * o
            y[c, n] = o


def hist2d(x: lm.f64["N"], y: lm.f64["N"], h: lm.i64[32, 32]):
    """Histogram over two coordinates."""
    for i in range(N):
        a = lm.i64(x[i] * 32.0)
        b = lm.i64(y[i] * 32.0)
        if a >= 0 and a < 32 and b >= 0 and b < 32:
            h[a, b] += 1


def popcount(x: lm.ui64["N"], y: lm.i64["N"]):
    """Bits that are set, by masks."""
    for i in range(N):
        v = x[i]
        v = v - ((v >> lm.ui64(1)) & lm.ui64(0x5555555555555555))
        v = (v & lm.ui64(0x3333333333333333)) + ((v >> lm.ui64(2)) & lm.ui64(0x3333333333333333))
        v = (v + (v >> lm.ui64(4))) & lm.ui64(0x0F0F0F0F0F0F0F0F)
        y[i] = lm.i64((v * lm.ui64(0x0101010101010101)) >> lm.ui64(56))


def base64(x: lm.ui8["N3"], table: lm.ui8[64], y: lm.ui8["N4"], n: lm.i64):
    """Three bytes as four letters."""
    for i in range(n):
        w = (lm.i32(x[3 * i]) << 16) | (lm.i32(x[3 * i + 1]) << 8) | lm.i32(x[3 * i + 2])
        y[4 * i] = table[(w >> 18) & 63]
        y[4 * i + 1] = table[(w >> 12) & 63]
        y[4 * i + 2] = table[(w >> 6) & 63]
        y[4 * i + 3] = table[w & 63]


def floyd(D: lm.f32["N", "N"]):
    """Shortest paths between all pairs (Floyd, Warshall)."""
    for k in range(N):
        for i in range(N):
            t = D[i, k]
            for j in range(N):
                D[i, j] = min(D[i, j], t + D[k, j])


def smith_waterman(a: lm.ui8["N"], b: lm.ui8["M"], H: lm.i32["N1", "M1"]):
    """Local alignment."""
    for i in range(1, N + 1):
        for j in range(1, M + 1):
            s = lm.i32(2) if a[i - 1] == b[j - 1] else lm.i32(-1)
            H[i, j] = max(lm.i32(0), max(H[i - 1, j - 1] + s, max(H[i - 1, j] - 1, H[i, j - 1] - 1)))


def kdsearch(tree: lm.f32["N", 3], q: lm.f32["Q", 3], best: lm.f32["Q"]):
    """Distance to the nearest of points in a k-d tree, with a stack."""
    for i in range(Q):
        stack = lm.zeros(64, lm.i64)
        top = lm.i64(1)
        b = lm.f32(1e30)
        while top > 0:
            top -= 1
            code = stack[top]
            node = code // 4
            axis = code % 4
            if node < N:
                s = lm.f32(0)
                for c in range(3):
                    e = q[i, c] - tree[node, c]
                    s += e * e
                b = min(b, s)
                e = q[i, axis] - tree[node, axis]
                after = lm.i64(0) if axis == 2 else axis + 1
                near = 2 * node + 1 if e < 0 else 2 * node + 2
                far = 2 * node + 2 if e < 0 else 2 * node + 1
                if e * e < b:
                    stack[top] = far * 4 + after
                    top += 1
                stack[top] = near * 4 + after
                top += 1
        best[i] = b


def crc(x: lm.ui8["N"], t: lm.ui32[256], out: lm.ui32[1]):
    """CRC by a table."""
    c = lm.ui32(0xFFFFFFFF)
    for i in range(N):
        c = t[lm.i64((c ^ lm.ui32(x[i])) & lm.ui32(255))] ^ (c >> lm.ui32(8))
    out[0] = c


def csr(ptr: lm.i64["N1"], col: lm.i64["Z"], v: lm.f64["Z"], x: lm.f64["N"], y: lm.f64["N"]):
    """A sparse matrix in rows times a vector."""
    for i in range(N):
        s = 0.0
        for p in range(ptr[i], ptr[i + 1]):
            s += v[p] * x[col[p]]
        y[i] = s


def life(x: lm.ui8["H", "W"], y: lm.ui8["H", "W"]):
    """A step of Conway's game of life."""
    for i in range(1, H - 1):
        for j in range(1, W - 1):
            n = (
                lm.i32(x[i - 1, j - 1])
                + lm.i32(x[i - 1, j])
                + lm.i32(x[i - 1, j + 1])
                + lm.i32(x[i, j - 1])
                + lm.i32(x[i, j + 1])
                + lm.i32(x[i + 1, j - 1])
                + lm.i32(x[i + 1, j])
                + lm.i32(x[i + 1, j + 1])
            )
            y[i, j] = lm.ui8(1) if n == 3 or (n == 2 and x[i, j] == 1) else lm.ui8(0)


def levenshtein(a: lm.ui8["N"], b: lm.ui8["M"], row: lm.i32["M1"]):
    """Edit distance in one row of memory."""
    for j in range(M + 1):
        row[j] = lm.i32(j)
    for i in range(N):
        diag = row[0]
        row[0] = lm.i32(i + 1)
        for j in range(M):
            c = diag + (lm.i32(0) if a[i] == b[j] else lm.i32(1))
            diag = row[j + 1]
            row[j + 1] = min(c, min(row[j] + 1, diag + 1))


def fir(x: lm.f32["N"], h: lm.f32["T"], y: lm.f32["M"]):
    """A finite filter."""
    for i in range(M):
        s = lm.f32(0)
        for t in range(T):
            s += x[i + t] * h[t]
        y[i] = s


def lu(A: lm.f64["N", "N"]):
    """LU without pivots."""
    for k in range(N):
        for i in range(k + 1, N):
            A[i, k] = A[i, k] / A[k, k]
            l = A[i, k]
            for j in range(k + 1, N):
                A[i, j] -= l * A[k, j]


def prefix(x: lm.f64["N"], y: lm.f64["N"]):
    """Running sums."""
    s = 0.0
    for i in range(N):
        s += x[i]
        y[i] = s


def merge(a: lm.f32["N"], b: lm.f32["M"], out: lm.f32["S"]):
    """Merge of two sorted arrays."""
    i = lm.i64(0)
    j = lm.i64(0)
    for s in range(S):
        if i < N and (j >= M or a[i] <= b[j]):
            out[s] = a[i]
            i += 1
        else:
            out[s] = b[j]
            j += 1


def julia(re: lm.f64["W"], im: lm.f64["H"], out: lm.i32["H", "W"]):
    """Steps until points of a plane leave a circle."""
    for i in range(H):
        for j in range(W):
            x = re[j]
            y = im[i]
            n = lm.i32(0)
            while n < 100 and x * x + y * y <= 4.0:
                t = x * x - y * y - 0.8
                y = 2.0 * x * y + 0.156
                x = t
                n += 1
            out[i, j] = n


def collatz(x: lm.i64["N"], out: lm.i64["N"]):
    """Steps of the Collatz sequence."""
    for i in range(N):
        v = x[i]
        n = lm.i64(0)
        while v > 1:
            v = v // 2 if v % 2 == 0 else 3 * v + 1
            n += 1
        out[i] = n


def deposit(x: lm.f64["N"], w: lm.f64["N"], g: lm.f64["G"]):
    """Charges of particles to the two nearest points of a grid."""
    for i in range(N):
        p = x[i] * lm.f64(G - 2)
        c = lm.i64(p)
        t = p - lm.f64(c)
        g[c] += w[i] * (1.0 - t)
        g[c + 1] += w[i] * t


def heat3d(a: lm.f32["X", "Y", "Z"], b: lm.f32["X", "Y", "Z"]):
    """A step of heat in three dims."""
    for i in range(1, X - 1):
        for j in range(1, Y - 1):
            for k in range(1, Z - 1):
                b[i, j, k] = 0.4 * a[i, j, k] + 0.1 * (
                    a[i - 1, j, k] + a[i + 1, j, k] + a[i, j - 1, k] + a[i, j + 1, k] + a[i, j, k - 1] + a[i, j, k + 1]
                )


def softmax(x: lm.f32["B", "N"], y: lm.f32["B", "N"]):
    """Exponentials of rows over their sums."""
    for i in range(B):
        m = x[i, 0]
        for j in range(N):
            m = max(m, x[i, j])
        s = lm.f32(0)
        for j in range(N):
            e = np.exp(x[i, j] - m)
            y[i, j] = e
            s += e
        for j in range(N):
            y[i, j] = y[i, j] / s


def argmin_rows(x: lm.f32["B", "N"], y: lm.i64["B"]):
    """The position of the least element of each row."""
    for i in range(B):
        m = x[i, 0]
        a = lm.i64(0)
        for j in range(N):
            if x[i, j] < m:
                m = x[i, j]
                a = j
        y[i] = a


def isum(x: lm.i32["N"], y: lm.i64[1]):
    """A sum of integers."""
    s = lm.i64(0)
    for i in range(N):
        s += lm.i64(x[i])
    y[0] = s
