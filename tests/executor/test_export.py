"""Programs and kernels written from Python for callers without it; the command line is tested in tests/tools."""

from __future__ import annotations

from pathlib import Path

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest


@lm.kernel
def scale(x: lm.f32["M", "N"], by: float, y: lm.f32["M", "N"]):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = by * x[i, j]


def test_weights_are_constants(tmp_path: Path) -> None:
    """Large arrays that a function closes over, which are hidden arguments of its code, are in the object or beside it."""
    w, b = np.random.default_rng(0).normal(size=(300, 70)).astype(np.float32), np.arange(70, dtype=np.float32)
    lowered = lm.jit(lambda x, y: (lnp.tanh(x @ w + b), y["a"] * 2)).lower(np.ones((5, 300), np.float32), {"a": np.ones(3)})
    x, y = np.full((5, 300), 0.1, np.float32), np.arange(3.0)
    lowered.export(tmp_path / "one.so", header=tmp_path / "one.h")
    for got, want in zip(lm.load(tmp_path / "one.so").main(x, y), (np.tanh(x @ w + b), y * 2), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)
    assert "int one(const float *" in (tmp_path / "one.h").read_text()
    lowered.export(tmp_path / "two.so", weights="file")
    assert (tmp_path / "two.weights").stat().st_size >= w.nbytes
    assert len(lowered.module.body.block.first_op.body.blocks[0].args) > 2  # the program itself keeps its arguments


def test_quantized_weights_stay_bytes_in_the_program(tmp_path: Path) -> None:
    w = np.random.default_rng(0).integers(-128, 128, (64, 32)).astype(np.int8)
    x = np.random.default_rng(1).integers(-128, 128, (16, 64)).astype(np.int8)
    lm.jit(lambda x: lnp.matmul(x, w, preferred_element_type=np.int32)).lower(x).export(tmp_path / "int.so")
    np.testing.assert_array_equal(lm.load(tmp_path / "int.so").main(x), x.astype(int) @ w.astype(int))


@pytest.mark.parametrize("suffix", ["o", "a", "s", "ll"])
def test_kernels_with_their_schedule(tmp_path: Path, suffix: str) -> None:
    scale.export(tmp_path / f"mine.{suffix}", header=tmp_path / "mine.h", target="x86-64-v3")
    assert "int mine_scale(const float *x, double by, float *y, int64_t M, int64_t N" in (tmp_path / "mine.h").read_text()
    if suffix in ("s", "ll"):
        assert "mine_scale" in (tmp_path / f"mine.{suffix}").read_text()


def test_kernels_are_loaded(tmp_path: Path) -> None:
    scale.export(tmp_path / "mine.so", prefix="other")
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((2, 3), np.float32)
    lm.load(tmp_path / "mine.so").scale(x, 3.0, y)
    np.testing.assert_array_equal(y, 3 * x)


def test_what_cannot_be_written_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    lowered = lm.jit(lambda x: x + 1).lower(np.ones(3))
    with pytest.raises(lm.CompileError, match="must end in"):
        lowered.export(tmp_path / "one.exe")
    with pytest.raises(lm.CompileError, match="same file"):
        lowered.export(tmp_path / "one.so", header=tmp_path / "one.so")
    with pytest.raises(lm.CompileError, match="target"):
        lowered.export(tmp_path / "one.so", target="vax")
    with pytest.raises(OSError, match="directory"):
        lowered.export(tmp_path / "none" / "one.so")
    (tmp_path / "folder.so").mkdir()
    with pytest.raises(OSError, match="directory"):
        lowered.export(tmp_path / "folder.so", header=tmp_path / "folder.h")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.so"]
