"""Random contractions of two arrays, some with an epilogue: whatever their letters, they are scheduled and right.

LAMINA_TEST_EXAMPLES says how many there are, LAMINA_TEST_SEED from which seed on.
"""

from __future__ import annotations

import os
import random

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

EXAMPLES = int(os.environ.get("LAMINA_TEST_EXAMPLES", "320")) // 2
FIRST_SEED = int(os.environ.get("LAMINA_TEST_SEED", "0"))
GROUPS = 8


def check(seed: int) -> None:
    rng, numbers = random.Random(f"einsum {seed}"), np.random.default_rng(seed)
    letters = "abcdef"[: rng.randint(2, 5)]
    sizes = {letter: rng.choice((1, 2, 3, 7, 16, 33)) for letter in letters}
    left, right = ("".join(rng.sample(letters, rng.randint(1, len(letters)))) for _ in range(2))
    both = sorted(set(left + right))
    spelled = f"{left},{right}->{''.join(rng.sample(both, rng.randint(0, len(both))))}"
    x, y = (numbers.standard_normal([sizes[letter] for letter in word]).astype(np.float32) for word in (left, right))
    has_epilogue = rng.random() < 0.5
    wanted = np.einsum(spelled, x.astype(np.float64), y.astype(np.float64))
    scale = max(1.0, float(np.abs(wanted).max()))

    def contract(x, y):
        found = lnp.einsum(spelled, x, y)
        return lnp.tanh(found) + x.sum() if has_epilogue else found

    if has_epilogue:
        wanted = np.tanh(wanted) + x.sum(dtype=np.float64)
    try:
        np.testing.assert_allclose(lm.jit(contract)(x, y), wanted, rtol=0, atol=2e-5 * scale * x.size**0.5)
    except Exception as error:
        pytest.fail(f"seed {seed}: {spelled} of {sizes}: {type(error).__name__}: {error}")


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("group", range(GROUPS))
def test_contractions_of_any_letters(group: int) -> None:
    for seed in range(FIRST_SEED + group, FIRST_SEED + EXAMPLES, GROUPS):
        check(seed)


def test_a_batch_inside_the_rows_has_panels_of_its_own() -> None:
    x, y = (np.random.default_rng(0).standard_normal(shape).astype(np.float32) for shape in ((3, 33, 16), (7, 3, 16, 33)))
    found = lm.jit(lambda x, y: lnp.einsum("hij,bhjk->bhki", x, y))(x, y)
    np.testing.assert_allclose(found, np.einsum("hij,bhjk->bhki", x, y), atol=1e-4)


@pytest.mark.thorough
def test_products_of_a_matrix_and_its_transpose():
    """Computed by bands up to the diagonal from 256 rows on: symmetric to the last bit, also where the last band is thin."""
    numbers = np.random.default_rng(FIRST_SEED)
    for depth, n, dtype in ((1024, 256, np.float32), (1031, 257, np.float64), (700, 321, np.int32)):
        x = (numbers.standard_normal((depth, n)) * 9).astype(dtype)
        found, wanted = lm.jit(lambda x: x @ x.T * 2)(x.T), x.T @ x * 2
        scale = float(np.abs(wanted).max())
        np.testing.assert_allclose(found, wanted, rtol=0, atol=scale * 1e-5 if dtype == np.float32 else scale * 1e-14)
        np.testing.assert_array_equal(found, found.T)
    x[3, 7] = 2**30  # integers wrap, as in NumPy
    np.testing.assert_array_equal(lm.jit(lambda x: x.T @ x)(x), x.T @ x)
    x, w = (numbers.standard_normal(shape).astype(np.float32) for shape in ((1024, 256), (256, 256)))
    slope = lm.jit(lm.grad(lambda x, w: ((x.T @ x) * w).sum()))(x, w)
    np.testing.assert_allclose(slope, x @ (w + w.T), rtol=0, atol=5e-4)  # f32: sums of 256 and of 1024 products, up to 400
    x[5, 100] = np.nan
    found = lm.jit(lambda x: x.T @ x)(x)
    assert np.isnan(found[100]).all() and np.isnan(found).sum() == 511
    for rows, columns in (("n", None), (None, "k"), ("n", "k")):  # sizes that a call knows are one product
        found = lm.jit(lambda x: x.T @ x, dynamic={"x": (rows, columns)})(w)
        np.testing.assert_allclose(found, w.T @ w, rtol=0, atol=5e-4)  # f32: sums of 256 and of 1024 products, up to 400
