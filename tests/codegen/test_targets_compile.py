"""Ops and kernels compile to assembly for targets that this machine may not be able to run.

`LAMINA_TEST_TARGET` names one target, for which more of the table of ops is compiled (tests/on_targets.py sets it).
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import pytest
from lamina.codegen.targets import get
from lamina.executor.kernels import find_kernel
from lamina.pipeline import compile_to

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "transforms"))
from graphs import parse
from ops_table import ROWS, make_text

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "kernels"
sys.path.insert(0, str(EXAMPLES))

WANTED = os.environ.get("LAMINA_TEST_TARGET")
TARGETS = [WANTED] if WANTED else ["x86-64-v4", "aarch64", "riscv64"]
STEP = 4 if WANTED else 60
KERNELS = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem != "show")
every_target = pytest.mark.parametrize("target", TARGETS)


@pytest.mark.thorough(every=8)
@every_target
@pytest.mark.parametrize("first", range(STEP // 2, len(ROWS), 25 * STEP))
def test_ops(first: int, target: str) -> None:
    for row in ROWS[first : first + 25 * STEP : STEP]:
        text = make_text(row)
        assembly = compile_to(parse(text), "asm", target=get(target))
        assert isinstance(assembly, str) and "\nmain:" in assembly, text


@pytest.mark.thorough(every=8)
@every_target
@pytest.mark.parametrize("name", KERNELS)
def test_kernels(name: str, target: str) -> None:
    """With the default schedule, and with that of the author, which is of any target."""
    example = importlib.import_module(name)
    kernel = getattr(example, name)
    try:
        for schedule in (None, example.schedule):
            kernel.reset()
            if schedule is not None:
                schedule(kernel.schedule())
            module = kernel.module.clone()
            assembly = compile_to(module, "asm", target=get(target))
            assert isinstance(assembly, str) and f"\n{find_kernel(module).sym_name.data}:" in assembly
    finally:
        kernel.reset()
