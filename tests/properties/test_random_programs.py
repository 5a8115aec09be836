"""A fixed sample of the random programs that `make fuzz` draws without end."""

from __future__ import annotations

import lamina as lm
import pytest
from lamina import pipeline
from random_programs import Drawn, check


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("seed", range(20))
def test_a_random_program_computes_what_its_graph_means(seed: int) -> None:
    check(seed)


@pytest.mark.parametrize("seed", [142, 156])
def test_a_graph_becomes_the_same_loops_each_time(seed: int) -> None:
    drawn = Drawn(seed)
    graph = lm.jit(drawn, dynamic=drawn.dynamic).lower(*drawn.arrays(2, 2)).module
    texts: set[str] = set()
    for _ in range(3):
        module = graph.clone()
        pipeline.run_to(module, "loop")
        texts.add(str(module))
    assert len(texts) == 1
