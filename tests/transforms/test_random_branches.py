"""Derivatives of batches of random branches against jax, in a child process; skipped where jax is not installed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import lamina as lm
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import random_branches
from random_branches import XS, Program, derivatives, load, names

if find_spec("jax") is None:
    pytest.skip("jax is not installed (extra lamina[oracles])", allow_module_level=True)


SECOND = (4, 5, 7)
"""Results of order 2: where one overflows, the order of its steps says whether it is infinite or NaN."""


def check(seeds: Sequence[int], folder: Path, depth: int) -> None:
    programs = [Program(seed, depth) for seed in seeds]
    command = [sys.executable, random_branches.__file__, str(folder)]
    given = json.dumps([program.jax for program in programs])
    child = subprocess.run(command, input=given, capture_output=True, text=True)
    assert child.returncode == 0, child.stderr[-2000:]
    known = names(lm, lm.numpy, lm.lax)
    for seed, program, line in zip(seeds, programs, child.stdout.splitlines(), strict=True):
        f = load(program.ours, folder / f"program{seed}.py", known)
        for k, (got, want) in enumerate(zip(derivatives(f, lm, np.array(XS)), json.loads(line), strict=True)):
            if k in SECOND:
                got, want = (np.where(np.isfinite(y), y, np.nan) for y in (got, want))
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9, err_msg=f"seed {seed}, result {k}\n{program.ours}")


@pytest.mark.thorough
def test_random_branches(tmp_path: Path):
    check((0, 3, 4, 5, 8, 10), tmp_path, 2)  # with all forms


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("block", range(30))
def test_many_random_branches(block: int, tmp_path: Path):
    check(range(100 + 10 * block, 110 + 10 * block), tmp_path, 3)
