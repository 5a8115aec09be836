"""`lm.to_stablehlo`: jax compiles the text in a child process, and its results are ours; and the way back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest
from factorization_programs import PROGRAMS as FACTORIZATIONS
from interop_programs import PROGRAMS as PLAIN
from interop_programs import compare, flat, leaves

sys.path.insert(0, str(Path(__file__).parent.parent.parent))
from oracles import of_jax_once

HERE = Path(__file__).parent
PROGRAMS = PLAIN | FACTORIZATIONS


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return {name: lm.to_stablehlo(function, *arguments) for name, (function, arguments) in PROGRAMS.items()}


@pytest.fixture(scope="module")
def of_jax(texts: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Any:
    pytest.importorskip("jax")
    given = tmp_path_factory.mktemp("jax") / "in.npz"
    arrays = {f"{name}:{k}": v for name, (_, arguments) in PROGRAMS.items() for k, v in enumerate(arguments)}
    np.savez(given, texts=np.array(json.dumps(texts)), **arrays)
    program = HERE / "run_with_jax.py"

    def run(path: Path) -> None:
        command = [sys.executable, str(program), str(given), str(path)]
        subprocess.run(command, check=True, capture_output=True, timeout=300, env={**os.environ, "JAX_PLATFORMS": "cpu"})

    with np.load(of_jax_once(f"{program.read_text()}{Path(__file__).read_text()}{sorted(texts.items())}", run)) as archive:
        return {name: archive[name] for name in archive.files}


@pytest.mark.parametrize("name", PROGRAMS)
def test_jax_runs_the_text(name: str, of_jax: Any) -> None:
    errors = json.loads(str(of_jax["errors"]))
    assert name not in errors, errors[name]
    function, arguments = PROGRAMS[name]
    got = []
    while f"{name}:{len(got)}" in of_jax:
        got.append(of_jax[f"{name}:{len(got)}"])
    compare(got, leaves(lm.jit(function)(*arguments)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_way_back(name: str, texts: dict[str, str]) -> None:
    function, arguments = PROGRAMS[name]
    compare(flat(lm.from_stablehlo(texts[name])(*arguments)), leaves(lm.jit(function)(*arguments)))


def test_an_op_without_a_form_is_named() -> None:
    with pytest.raises(lm.CompileError, match=r"'graph\.print' op has no form in StableHLO"):
        lm.to_stablehlo(lambda x: lm.debug.print("{}", x), lm.TensorSpec((3, 3), "float32"))
