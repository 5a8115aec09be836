"""The example `examples/elementwise_op`: a patch adds an op to a copy of the tree, all parts of which know it then."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATCH = ROOT / "examples" / "elementwise_op" / "log_cosh.patch"
LEFT_OUT = ("tests", "filecheck", "benchmarks", "docs", "build", "dist", "examples", ".*", "__pycache__")

PROGRAM = """
import lamina as lm
import numpy as np
from lamina.special import log_cosh
from lamina.tools import lamina_opt

X = np.linspace(-9, 9, 37).astype(np.float32)
WANT = np.logaddexp(X.astype(float), -X.astype(float)) - np.log(2)


def near(found, want):
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)


@lm.kernel
def kernel(x: lm.f32["N"], y: lm.f32["N"]):
    for i in range(x.shape[0]):
        y[i] = log_cosh(x[i])


assert lm.__file__.startswith({root!r}), lm.__file__
near(log_cosh(X), WANT)
near(lm.jit(log_cosh)(X), WANT)
near(lm.jit(lm.vmap(lm.grad(log_cosh)))(X), np.tanh(X))
near(lm.vmap(log_cosh)(X.reshape(37, 1)), WANT.reshape(37, 1))
out = np.zeros_like(X)
kernel(X, out)
near(out, WANT)
lamina_opt.main(["--convert-graph-to-loop", {mlir!r}])
"""

MLIR = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.log_cosh %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
"""


def patched_files() -> list[str]:
    return re.findall(r"^\+\+\+ b/(.+)$", PATCH.read_text(), re.M)


def test_contributing_counts_its_files() -> None:
    (row,) = [line for line in (ROOT / "CONTRIBUTING.md").read_text().splitlines() if line.startswith("| an elementwise op")]
    files = patched_files()
    assert row.split("|")[2].split(":")[0].strip() == str(len(files)), f"CONTRIBUTING.md counts other than {files}"
    named = [name if (ROOT / name).exists() else f"{Path(name).parent}/" for name in files]  # a new file by its folder
    assert all(f"`{name}`" in row for name in named), f"CONTRIBUTING.md names other files than {files}"


@pytest.mark.skipif(shutil.which("git") is None, reason="git applies the patch")
def test_every_part_knows_the_op(tmp_path: Path) -> None:
    copy = tmp_path / "lamina"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
    subprocess.run(
        ["git", "apply", "-C1", str(PATCH)], cwd=copy, check=True, env=os.environ | {"GIT_DIR": str(tmp_path / "none")}
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "LAMINA_CACHE": "0"}
    subprocess.run([sys.executable, "-m", "lamina.tools.names"], cwd=tmp_path, env=environment, check=True)
    mlir = tmp_path / "main.mlir"
    mlir.write_text(MLIR)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(root=str(copy), mlir=str(mlir)))
    found = subprocess.run([sys.executable, str(program)], env=environment, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr
    assert "scalar.log_cosh" in found.stdout
