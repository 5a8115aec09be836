"""Counter-based random numbers in kernels: the published vectors, and the same bits on any number of threads."""

from __future__ import annotations

import lamina as lm
import numpy as np
import pytest


@lm.kernel
def drawn(words: lm.i64["N", 4], u: lm.f64["N"], g: lm.f64["N"], key: lm.i64, step: lm.i64):
    for i in range(len(u)):
        a, b, c, d = lm.philox(i * step, key)
        words[i, 0] = a
        words[i, 1] = b
        words[i, 2] = c
        words[i, 3] = d
        u[i] = lm.philox_uniform(i, key)
        g[i] = lm.philox_normal(i, key)


def test_known_answers() -> None:
    """The first vector of Random123's kat_vectors; others of it use the upper words of the counter."""
    words, u, g = np.zeros((2, 4), np.int64), np.zeros(2), np.zeros(2)
    drawn(words, u, g, 0, 1)
    assert list(words[0]) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


@pytest.mark.parametrize("n", [0, 1, 7, 1000])
def test_kernels_draw_what_python_draws(n: int) -> None:
    key, step = -3, 1 << 40
    words, u, g = np.zeros((n, 4), np.int64), np.zeros(n), np.zeros(n)
    drawn(words, u, g, key, step)
    assert [tuple(row) for row in words] == [lm.philox(i * step, key) for i in range(n)]
    assert list(u) == [lm.philox_uniform(i, key) for i in range(n)]
    np.testing.assert_allclose(g, [lm.philox_normal(i, key) for i in range(n)], rtol=1e-13, atol=1e-15)


def test_threads_and_moments() -> None:
    n = 200_000
    results = []
    for threads in (1, 2, 7):
        words, u, g = np.zeros((n, 4), np.int64), np.zeros(n), np.zeros(n)
        drawn(words, u, g, 42, 1, threads=threads)
        results.append((words, u, g))
    for other in results[1:]:
        for x, y in zip(results[0], other, strict=True):
            assert x.tobytes() == y.tobytes()
    _, u, g = results[0]
    assert 0 <= u.min() and u.max() < 1
    assert abs(u.mean() - 0.5) < 0.003 and abs(u.var() - 1 / 12) < 0.001
    assert abs(g.mean()) < 0.01 and abs(g.var() - 1) < 0.02
