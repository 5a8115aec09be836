"""The worked examples `examples/additions`: each patch adds one thing to a copy of the tree, in the files that are counted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from patched import ROOT, files_of, named_in, run_in_copy

FOLDER = ROOT / "examples" / "additions"

ELEMENT_TYPE = """
import ml_dtypes
import numpy as np

import lamina as lm
import lamina.numpy as lnp

every = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e3m4)
wide = np.linspace(-20, 20, 4001, dtype=np.float32)
with np.errstate(all="ignore"):
    np.testing.assert_array_equal(lm.jit(lambda x: x.astype(lnp.float32))(every), every.astype(np.float32))
    narrow = lm.jit(lambda x: x.astype(lnp.float8_e3m4))(wide)
    assert narrow.tobytes() == wide.astype(ml_dtypes.float8_e3m4).tobytes()
    assert lm.jit(lambda x: x + x)(every).dtype == ml_dtypes.float8_e3m4
"""

STRATEGY = """
import numpy as np

import lamina as lm


@lm.kernel
def running(x: lm.f32["N", 3], y: lm.f32["N", 3]):
    for i in range(x.shape[0]):
        y[i, 0] = x[i, 0]
        for j in range(1, 3):
            y[i, j] = y[i, j - 1] + x[i, j]


x = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
y = np.zeros_like(x)
running(x, y)
np.testing.assert_array_equal(y, np.cumsum(x, 1))
print(running.default_schedule())
"""

TARGET = """
import numpy as np

import lamina as lm

x = np.ones((64, 64), np.float32)
print(lm.jit(lambda a, b: a @ b).lower(x, x).as_text("asm", target="power10"))
"""

LIBRARY_FUNCTION = """
import numpy as np

import lamina as lm
from lamina.special import gauss

x = np.linspace(-3, 3, 25)
np.testing.assert_allclose(gauss(x), np.exp(-x * x), rtol=1e-14)
np.testing.assert_allclose(lm.jit(lm.vmap(lm.grad(gauss)))(x), -2 * x * np.exp(-x * x), rtol=1e-13)
"""

ALGORITHM = """
import numpy as np

import lamina as lm
from lamina.linalg import ldl


def product(x):
    factor, diagonal = ldl(x)
    return (factor * diagonal[..., None, :]) @ factor.conj().swapaxes(-1, -2)


rng = np.random.default_rng(0)
for dtype in (np.float32, np.complex128):
    for shape in ((1, 1), (37, 37), (9, 4, 4)):
        x = rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype == np.complex128 else 0)
        x = (x @ x.conj().swapaxes(-1, -2) + np.eye(shape[-1])).astype(dtype)
        factor, diagonal = (np.asarray(v) for v in lm.jit(ldl)(np.tril(x)))
        assert factor.dtype == dtype and (np.triu(factor, 1) == 0).all() and (diagonal > 0).all()
        np.testing.assert_allclose(lm.jit(product)(x), x, rtol=0, atol=100 * np.finfo(dtype).eps * np.abs(x).max())
x, t = ((a + a.T) / 2 for a in rng.normal(size=(2, 5, 5)))
x += 9 * np.eye(5)
y, slope = lm.jit(lambda x, t: lm.jvp(product, (x,), (t,)))(x, t)
np.testing.assert_allclose(slope, t, atol=1e-13)
print(lm.jit(ldl).lower(x).as_text("loop"))
"""

CASES = [
    pytest.param("algorithm.patch", "| a numerical algorithm", ALGORITHM, "loop.kernel @ldl", id="a numerical algorithm"),
    pytest.param("element_type.patch", "| a storage-only element type", ELEMENT_TYPE, "", id="an element type"),
    pytest.param("library_function.patch", "| a library function", LIBRARY_FUNCTION, "", id="a library function"),
    pytest.param("strategy.patch", "| a strategy", STRATEGY, "loop-unroll{loop=j", id="a strategy"),
    pytest.param("target.patch", "| a target", TARGET, "xvmadd", id="a target"),
]
"""A patch, the row of CONTRIBUTING.md, a program on the copy, and what it prints."""


@pytest.mark.parametrize("patch, row, program, printed", CASES)
def test_contributing_counts_files(patch: str, row: str, program: str, printed: str) -> None:
    (line,) = [line for line in (ROOT / "CONTRIBUTING.md").read_text().splitlines() if line.startswith(row)]
    files = files_of(FOLDER / patch)
    assert line.split("|")[2].split(":")[0].strip() == str(len(files)), f"CONTRIBUTING.md counts other than {files}"
    assert not (missing := named_in(line, FOLDER / patch)), f"CONTRIBUTING.md does not name {missing}"
    assert f"examples/additions/{patch}" in line


@pytest.mark.skipif(shutil.which("git") is None, reason="git applies the patch")
@pytest.mark.thorough(every=4)
@pytest.mark.parametrize("patch, row, program, printed", CASES)
def test_every_part_knows_what_is_added(tmp_path: Path, patch: str, row: str, program: str, printed: str) -> None:
    assert printed in run_in_copy(tmp_path, FOLDER / patch, program)


def test_every_patch_has_a_case() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(str(case.values[0]) for case in CASES)
