"""Random functions with control flow give what Python gives: `tests/random_python.py` draws further ones."""

from __future__ import annotations

import pytest
from random_python import check


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [4, 7, 9])
def test_captured_is_python(seed: int) -> None:
    check(seed)
