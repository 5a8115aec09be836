"""The cases as loops, compiled by numba: threads over the outermost loop, fast math, compilations kept on disk."""

from __future__ import annotations

import math

import numpy as np
from numba import get_num_threads, njit, prange

_jit = njit(parallel=True, fastmath=True, cache=True)
_ONE = np.float32(1)


@_jit
def chain(x, y, z):
    out = np.empty_like(x)
    for i in prange(x.size):
        out[i] = np.tanh(x[i] * y[i] + z[i]) * (_ONE / (_ONE + np.exp(-x[i]))) + np.exp(-np.abs(z[i]))
    return out


@_jit
def black_scholes(spot, strike, time, rate, volatility):
    out = np.empty_like(spot)
    half, root_half = np.float32(0.5), np.float32(0.5**0.5)
    for i in prange(spot.size):
        root = volatility * np.sqrt(time[i])
        d1 = (np.log(spot[i] / strike[i]) + (rate + half * volatility * volatility) * time[i]) / root
        first = half + half * np.float32(math.erf(d1 * root_half))
        second = half + half * np.float32(math.erf((d1 - root) * root_half))
        out[i] = spot[i] * first - strike[i] * np.exp(-rate * time[i]) * second
    return out


@_jit
def gelu(x):
    out = np.empty_like(x)
    a, b, half = np.float32((2 / np.pi) ** 0.5), np.float32(0.044715), np.float32(0.5)
    for i in prange(x.size):
        v = x[i]
        out[i] = half * v * (_ONE + np.tanh(a * (v + b * v * v * v)))
    return out


@_jit
def triad(x, y):
    out = np.empty_like(x)
    for i in prange(x.size):
        out[i] = x[i] + np.float32(3) * y[i]
    return out


@_jit
def row_sums(x):
    out = np.empty(x.shape[0], x.dtype)
    for i in prange(x.shape[0]):
        total = np.float32(0)
        for j in range(x.shape[1]):
            total += x[i, j]
        out[i] = total
    return out


_STRIP = 128  # columns that a thread sums at once


@_jit
def column_sums(x):
    out = np.zeros(x.shape[1], x.dtype)
    for strip in prange((x.shape[1] + _STRIP - 1) // _STRIP):
        first, last = strip * _STRIP, min(x.shape[1], (strip + 1) * _STRIP)
        for i in range(x.shape[0]):
            for j in range(first, last):
                out[j] += x[i, j]
    return out


@_jit
def softmax(x):
    out = np.empty_like(x)
    for i in prange(x.shape[0]):
        top = x[i, 0]
        for j in range(x.shape[1]):
            top = max(top, x[i, j])
        total = np.float32(0)
        for j in range(x.shape[1]):
            e = np.exp(x[i, j] - top)
            out[i, j] = e
            total += e
        scale = _ONE / total
        for j in range(x.shape[1]):
            out[i, j] *= scale
    return out


@_jit
def layer_norm(x, w, b):
    out = np.empty_like(x)
    n = np.float32(x.shape[1])
    for i in prange(x.shape[0]):
        mean = np.float32(0)
        for j in range(x.shape[1]):
            mean += x[i, j]
        mean /= n
        variance = np.float32(0)
        for j in range(x.shape[1]):
            variance += (x[i, j] - mean) * (x[i, j] - mean)
        scale = _ONE / np.sqrt(variance / n + np.float32(1e-5))
        for j in range(x.shape[1]):
            out[i, j] = (x[i, j] - mean) * scale * w[j] + b[j]
    return out


@_jit
def logsumexp(x):
    out = np.empty(x.shape[0], x.dtype)
    for i in prange(x.shape[0]):
        top = x[i, 0]
        for j in range(x.shape[1]):
            top = max(top, x[i, j])
        total = np.float32(0)
        for j in range(x.shape[1]):
            total += np.exp(x[i, j] - top)
        out[i] = np.log(total) + top
    return out


@_jit
def argmax(x):
    out = np.empty(x.shape[0], np.int64)
    for i in prange(x.shape[0]):
        best = 0
        for j in range(1, x.shape[1]):
            if x[i, j] > x[i, best]:
                best = j
        out[i] = best
    return out


@_jit
def depthwise(x, k, stride, padding):
    channels, height, width = x.shape[1:]
    size = k.shape[2]
    rows, columns = (height + 2 * padding - size) // stride + 1, (width + 2 * padding - size) // stride + 1
    out = np.empty((1, channels, rows, columns), x.dtype)
    for c in prange(channels):
        padded = np.zeros((height + 2 * padding, width + 2 * padding), x.dtype)
        padded[padding : padding + height, padding : padding + width] = x[0, c]
        for i in range(rows):
            out[0, c, i] = np.float32(0)
            for p in range(size):
                for q in range(size):
                    tap = k[c, 0, p, q]
                    for j in range(columns):
                        out[0, c, i, j] += tap * padded[i * stride + p, j * stride + q]
    return out


@_jit
def max_pool(x, size, stride, padding):
    channels, height, width = x.shape[1:]
    rows, columns = (height + 2 * padding - size) // stride + 1, (width + 2 * padding - size) // stride + 1
    out = np.empty((1, channels, rows, columns), x.dtype)
    for c in prange(channels):
        for i in range(rows):
            for j in range(columns):
                top = np.float32(-np.inf)
                for p in range(max(0, i * stride - padding), min(height, i * stride - padding + size)):
                    for q in range(max(0, j * stride - padding), min(width, j * stride - padding + size)):
                        top = max(top, x[0, c, p, q])
                out[0, c, i, j] = top
    return out


@_jit
def _sweep(a, b):
    for i in prange(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            b[i, j] = np.float32(0.25) * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


@njit(cache=True)
def jacobi(a, pairs):
    a, b = a.copy(), a.copy()
    for _ in range(pairs):
        _sweep(a, b)
        _sweep(b, a)
    return a


@_jit
def nbody(x, mass, softening):
    a = np.empty_like(x)
    n = mass.size
    for i in prange(n):
        ax, ay, az = np.float32(0), np.float32(0), np.float32(0)
        for j in range(n):
            dx, dy, dz = x[0, j] - x[0, i], x[1, j] - x[1, i], x[2, j] - x[2, i]
            square = dx * dx + dy * dy + dz * dz + softening
            pull = mass[j] / (square * np.sqrt(square))
            ax += pull * dx
            ay += pull * dy
            az += pull * dz
        a[0, i], a[1, i], a[2, i] = ax, ay, az
    return a


@_jit
def mandelbrot(re, im, limit):
    steps = np.empty((im.size, re.size), np.int32)
    for i in prange(im.size):
        for j in range(re.size):
            x, y, n = np.float32(0), np.float32(0), 0
            while n < limit and x * x + y * y <= np.float32(4):
                x, y = x * x - y * y + re[j], np.float32(2) * x * y + im[i]
                n += 1
            steps[i, j] = n
    return steps


@_jit
def embedding_bag(table, index):
    out = np.zeros((index.shape[0], table.shape[1]), table.dtype)
    for b in prange(index.shape[0]):
        for k in range(index.shape[1]):
            for d in range(table.shape[1]):
                out[b, d] += table[index[b, k], d]
    return out


@_jit
def gather(table, index):
    out = np.empty((index.size, table.shape[1]), table.dtype)
    for i in prange(index.size):
        for d in range(table.shape[1]):
            out[i, d] = table[index[i], d]
    return out


@_jit
def segment_sum(values, node, nodes):
    out = np.zeros((nodes, values.shape[1]), values.dtype)
    parts = get_num_threads()
    for part in prange(parts):  # edges may share a node: each thread has nodes of its own
        first, last = part * nodes // parts, (part + 1) * nodes // parts
        for e in range(node.size):
            if first <= node[e] < last:
                for d in range(values.shape[1]):
                    out[node[e], d] += values[e, d]
    return out
