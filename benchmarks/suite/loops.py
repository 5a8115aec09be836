"""The cases as loops, compiled by numba: threads over the outermost loop, fast math, compilations kept on disk."""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

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
