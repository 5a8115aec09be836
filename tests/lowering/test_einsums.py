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


@pytest.mark.parametrize("group", range(GROUPS))
def test_contractions_of_any_letters(group: int) -> None:
    for seed in range(FIRST_SEED + group, FIRST_SEED + EXAMPLES, GROUPS):
        check(seed)


def test_a_batch_inside_the_rows_has_panels_of_its_own() -> None:
    x, y = (np.random.default_rng(0).standard_normal(shape).astype(np.float32) for shape in ((3, 33, 16), (7, 3, 16, 33)))
    found = lm.jit(lambda x, y: lnp.einsum("hij,bhjk->bhki", x, y))(x, y)
    np.testing.assert_allclose(found, np.einsum("hij,bhjk->bhki", x, y), atol=1e-4)
