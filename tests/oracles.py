"""Libraries that tests compare with. Neither may leave threads in a process whose other tests fork: jax has one of its own."""

from __future__ import annotations

import fcntl
import io
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
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

    def run(path: Path) -> None:
        child = subprocess.run(command, input=stream.getvalue(), capture_output=True, timeout=200)
        assert child.returncode == 0, child.stderr.decode()[-2000:]
        path.write_bytes(child.stdout)

    given = [part for name, array in arrays.items() for part in (name, array.dtype, array.shape, array.tobytes())]
    with np.load(of_jax_once(repr((_PROGRAM, program, given)), run)) as found:
        return [found[f"arr_{k}"] for k in range(len(found.files))]


def of_jax_once(key: str, make: Callable[[Path], None]) -> Path:
    """The file of results of jax that `make` writes: once for a key, in all processes of a run of the tests."""
    folder = Path(os.environ["LAMINA_CACHE_DIR"]) / "results_of_jax"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{sha256((version('jax') + key).encode()).hexdigest()}.npz"
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            make(part := path.with_suffix(".part.npz"))
            part.replace(path)
    return path


def import_torch() -> Any:
    """torch, on the calling thread alone. Without it what calls this is skipped, a module too."""
    torch = pytest.importorskip("torch", reason="torch is not installed (extra lamina[oracles])")
    torch.set_num_threads(1)
    return torch
