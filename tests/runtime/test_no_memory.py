"""Kernels of a program that get no memory for their local arrays: an error, and the process goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import resource
import numpy as np, lamina as lm, lamina.numpy as lnp

@lm.kernel
def through(x: lm.f32["N"], y: lm.f32["N"]):
    rows = lm.empty((N, 1000000))
    for i in range(N):
        rows[i, 0] = x[i]
    for i in range(N):
        y[i] = rows[i, 0]

def once(x):
    return lm.call_kernel(through, x, out=lnp.zeros_like(x)) * 2

def looped(x):
    return lm.fori_loop(0, 3, lambda i, c: once(c), x)

f = lm.jit({function})
few, many = np.ones(3, np.float32), np.ones(20_000, np.float32)
wanted = f(few)
resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
try:
    f(many)
except MemoryError as error:
    assert "no memory for local arrays" in str(error), error
else:
    raise SystemExit("80 GB were there")
assert (f(few) == wanted).all() and wanted[0] == {value}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory as Linux has them")
@pytest.mark.parametrize(("function", "value"), [("once", 2), ("looped", 8)])
def test_it_is_an_error(function: str, value: int, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM.replace("{function}", function).replace("{value}", str(value)))
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
