"""`lm.to_stablehlo`: jax compiles the text in a child process, and its results are ours; and the way back."""

from __future__ import annotations

from typing import Any

import lamina as lm
import pytest
from interop_programs import PROGRAMS, compare, flat, leaves
from results_of_jax import results_of, results_of_jax


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return {name: lm.to_stablehlo(function, *arguments) for name, (function, arguments) in PROGRAMS.items()}


@pytest.fixture(scope="module")
def of_jax(texts: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Any:
    pytest.importorskip("jax")
    return results_of_jax(texts, PROGRAMS, tmp_path_factory.mktemp("jax"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_jax_runs_the_text(name: str, of_jax: Any) -> None:
    function, arguments = PROGRAMS[name]
    compare(results_of(name, of_jax), leaves(lm.jit(function)(*arguments)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_way_back(name: str, texts: dict[str, str]) -> None:
    function, arguments = PROGRAMS[name]
    compare(flat(lm.from_stablehlo(texts[name])(*arguments)), leaves(lm.jit(function)(*arguments)))


def test_an_op_without_a_form_is_named() -> None:
    with pytest.raises(lm.CompileError, match=r"'graph\.print' op has no form in StableHLO"):
        lm.to_stablehlo(lambda x: lm.debug.print("{}", x), lm.TensorSpec((3, 3), "float32"))
