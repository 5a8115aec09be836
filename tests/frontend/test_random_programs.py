"""A fixed sample of the random programs that `make fuzz` draws without end."""

from __future__ import annotations

import pytest
from random_programs import check


@pytest.mark.parametrize("seed", range(20))
def test_a_random_program_computes_what_its_graph_means(seed: int) -> None:
    check(seed)
