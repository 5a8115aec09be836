"""Counter-based random numbers for kernels: Philox4x32-10 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3, 2011).

A number is a function of a key and a counter and nothing else, so results do not depend on threads, vectors or the order of
iterations. The functions work in plain Python, too, with the same bits; kernels inline them.
"""

# pyright: basic

from __future__ import annotations

from typing import Any

import numpy as np


def philox(counter: Any, key: Any) -> Any:
    """Four random words of 32 bits each, as integers: Philox4x32-10 of the 64 bits of a counter and of a key.

    Args:
        counter: an integer, as the number of an iteration; its bits are the lower two words of the generator's four.
        key: an integer, one for each stream.

    About 50 integer operations; a vector of them is as fast as its multiplications of 32 bits.

    >>> [hex(word) for word in philox(0, 0)]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    a, b = int(counter) & 0xFFFFFFFF, (int(counter) >> 32) & 0xFFFFFFFF
    c, d = 0, 0
    k, m = int(key) & 0xFFFFFFFF, (int(key) >> 32) & 0xFFFFFFFF
    for r in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9):
        p, q = a * 0xD2511F53, c * 0xCD9E8D57
        u = (k + r * 0x9E3779B9) & 0xFFFFFFFF
        v = (m + r * 0xBB67AE85) & 0xFFFFFFFF
        a, b, c, d = ((q >> 32) & 0xFFFFFFFF) ^ b ^ u, q & 0xFFFFFFFF, ((p >> 32) & 0xFFFFFFFF) ^ d ^ v, p & 0xFFFFFFFF
    return a, b, c, d


def philox_uniform(counter: Any, key: Any) -> Any:
    """A random f64 of [0, 1), a multiple of 2^-53, of the first two words of `philox`.

    >>> round(philox_uniform(0, 0), 6)
    0.88052
    """
    a, b, _, _ = philox(counter, key)
    return ((b << 21) | (a >> 11)) * 1.1102230246251565e-16


def philox_normal(counter: Any, key: Any) -> Any:
    """A random f64 of the standard normal distribution, by Box and Muller's transform of the words of `philox`.

    >>> round(float(philox_normal(0, 0)), 6)
    -0.09
    """
    a, b, c, d = philox(counter, key)
    u = (((b << 21) | (a >> 11)) + 1) * 1.1102230246251565e-16
    v = ((d << 21) | (c >> 11)) * 1.1102230246251565e-16
    return np.sqrt(-2.0 * np.log(u)) * np.cos(6.283185307179586 * v)
