"""Matrix factorizations as calls of LAPACK: jax runs them, and they come back."""

from __future__ import annotations

from typing import Any

import lamina as lm
import pytest
from factorization_programs import PROGRAMS
from interop_programs import compare, flat, leaves
from results_of_jax import results_of, results_of_jax


@pytest.fixture(scope="module")
def of_jax(tmp_path_factory: pytest.TempPathFactory) -> Any:
    pytest.importorskip("jax")
    texts = {name: lm.to_stablehlo(function, *arguments) for name, (function, arguments) in PROGRAMS.items()}
    return results_of_jax(texts, PROGRAMS, tmp_path_factory.mktemp("jax"))


@pytest.mark.thorough
@pytest.mark.parametrize("name", PROGRAMS)
def test_jax_runs_the_text(name: str, of_jax: Any) -> None:
    function, arguments = PROGRAMS[name]
    compare(results_of(name, of_jax), leaves(lm.jit(function)(*arguments)))


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_way_back(name: str) -> None:
    function, arguments = PROGRAMS[name]
    text = lm.to_stablehlo(function, *arguments)
    compare(flat(lm.from_stablehlo(text)(*arguments)), leaves(lm.jit(function)(*arguments)))
