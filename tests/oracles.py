"""Libraries that tests compare with. Neither may leave threads in a process whose other tests fork: jax has one of its own."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

_PROGRAM = """
import io, sys
import jax, jax.numpy as jnp, numpy as np
from jax import lax
program, given = sys.argv[1], np.load(io.BytesIO(sys.stdin.buffer.read()))
names = dict(given) | {"jax": jax, "jnp": jnp, "np": np, "lax": lax}
exec(program, names)
np.savez(sys.stdout.buffer, *map(np.asarray, names["results"]))
"""


def by_jax(program: str, arrays: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The `results` that a program assigns, which sees the arrays and `jax, jnp, lax, np`. Without jax the test is skipped."""
    if find_spec("jax") is None:
        pytest.skip("jax is not installed (extra lamina[oracles])")
    stream = io.BytesIO()
    np.savez(stream, **arrays)  # pyright: ignore[reportArgumentType]
    command = [sys.executable, "-c", _PROGRAM, program]
    child = subprocess.run(command, input=stream.getvalue(), capture_output=True, timeout=200)
    assert child.returncode == 0, child.stderr.decode()[-2000:]
    found = np.load(io.BytesIO(child.stdout))
    return [found[f"arr_{k}"] for k in range(len(found.files))]


def import_torch() -> Any:
    """torch, on the calling thread alone. Without it what calls this is skipped, a module too."""
    torch = pytest.importorskip("torch", reason="torch is not installed (extra lamina[oracles])")
    torch.set_num_threads(1)
    return torch
