"""Random functions that change state outside do what they do in Python: `tests/random_python.py --state` draws further ones."""

from __future__ import annotations

import os

import pytest
from random_python import check_state

SEED = 40 + 3 * int(os.environ.get("LAMINA_TEST_SEED", "0"))


@pytest.mark.parametrize("seed", [SEED, SEED + 1, SEED + 2])
def test_compiled_is_python(seed: int) -> None:
    check_state(seed, 4)
