"""What jax computes for StableHLO texts, in a child process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from oracles import of_jax_once

PROGRAM = Path(__file__).parent / "interop" / "stablehlo" / "run_with_jax.py"


def results_of_jax(texts: Mapping[str, str], programs: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Arrays by `name:number`, and `errors`, the JSON of messages by name; once for all processes of a test run.

    Args:
        texts: StableHLO by name.
        programs: pairs of a function and its arguments by name.
        folder: where the arguments are written.
    """
    given = folder / "in.npz"
    arrays = {f"{name}:{k}": v for name, (_, arguments) in programs.items() for k, v in enumerate(arguments)}
    np.savez(given, texts=np.array(json.dumps(texts)), **arrays)

    def run(path: Path) -> None:
        command = [sys.executable, str(PROGRAM), str(given), str(path)]
        subprocess.run(command, check=True, capture_output=True, timeout=300, env={**os.environ, "JAX_PLATFORMS": "cpu"})

    with np.load(of_jax_once(f"{PROGRAM.read_text()}{Path(__file__).read_text()}{sorted(texts.items())}", run)) as archive:
        return {name: archive[name] for name in archive.files}


def results_of(name: str, found: Mapping[str, Any]) -> list[np.ndarray]:
    """The results of one program.

    Raises:
        AssertionError: jax refused its text.
    """
    errors = json.loads(str(found["errors"]))
    assert name not in errors, errors[name]
    got = []
    while f"{name}:{len(got)}" in found:
        got.append(found[f"{name}:{len(got)}"])
    return got
