"""The example `examples/elementwise_op`: a patch adds an op to a copy of the tree, all parts of which know it then."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from patched import ROOT, files_of, named_in, run_in_copy

PATCH = ROOT / "examples" / "elementwise_op" / "log_cosh.patch"

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


def test_contributing_counts_its_files() -> None:
    (row,) = [line for line in (ROOT / "CONTRIBUTING.md").read_text().splitlines() if line.startswith("| an elementwise op")]
    files = files_of(PATCH)
    assert row.split("|")[2].split(":")[0].strip() == str(len(files)), f"CONTRIBUTING.md counts other than {files}"
    assert not (missing := named_in(row, PATCH)), f"CONTRIBUTING.md does not name {missing}"


@pytest.mark.skipif(shutil.which("git") is None, reason="git applies the patch")
def test_every_part_knows_the_op(tmp_path: Path) -> None:
    mlir = tmp_path / "main.mlir"
    mlir.write_text(MLIR)
    assert "scalar.log_cosh" in run_in_copy(tmp_path, PATCH, PROGRAM.format(mlir=str(mlir)))
