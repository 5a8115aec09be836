"""`lm.load` of shared objects: without the compiler, with checks, and what is refused before it is loaded."""

from __future__ import annotations

import ctypes.util
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lamina as lm
import ml_dtypes
import numpy as np
import pytest
from lamina.runtime.shared_object import MAGIC, ObjectError
from lamina.tools import lamina_compile

MODULE = """
func.func @main(%x: tensor<?x4xf32>, %n: tensor<?xi64>) -> (tensor<?x4xf32>, tensor<?xi64>) {
  %w = graph.const dense<[[0.5, -1.5, 2.5, 3.5], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.5], [1.25, 2.0, 3.0, 4.0]]>
    : tensor<4x4xf32>
  %y = graph.dot %x, %w contract [1] with [0] : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %z = graph.concat %n, %n along 0 : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  return %y, %z : tensor<?x4xf32>, tensor<?xi64>
}
func.func @narrow(%x: tensor<3xbf16>) -> tensor<3xf32> {
  %y = graph.convert %x : tensor<3xbf16> -> tensor<3xf32>
  return %y : tensor<3xf32>
}
loop.kernel @saxpy(%a: f32, %x: memref<?xf32, strided<[?]>>, %y: memref<?xf32>, %N: index, %step: index)
    shapes(%x[%N] strides [%step], %y[%N]) {
  loop.for seq %i = 0 to %N {
    %old = loop.load %y[%i] : memref<?xf32>
    %v = loop.load %x[%i] : memref<?xf32, strided<[?]>>
    %new = math.fma %a, %v, %old : f32
    loop.store %new, %y[%i] : memref<?xf32>
  }
}
"""
FILL = """
loop.kernel @fill(%x: memref<8xf32>, %n: index) {
  %c = arith.constant 1.0 : f32
  loop.for seq %i = 0 to min(%n, 8) {
    loop.store %c, %x[%i] : memref<8xf32>
  }
}
"""
W = np.array([[0.5, -1.5, 2.5, 3.5], [1, 2, 3, 4], [1, 2, 3, 4.5], [1.25, 2, 3, 4]], np.float32)
X, N = np.arange(12, dtype=np.float32).reshape(3, 4), np.arange(2)

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler"),
]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shared")
    (folder / "m.mlir").write_text(MODULE)
    args = [str(folder / "m.mlir"), "-o", str(folder / "m.so"), "--weights=file"]
    assert lamina_compile.main(args) == 0
    return folder / "m.so"


def test_functions_of_all_kinds(path: Path):
    functions = lm.load(path)
    y, twice = functions.main(X, N)
    np.testing.assert_allclose(y, X @ W, rtol=1e-6)
    assert twice.tolist() == [0, 1, 0, 1]
    out = np.empty((3, 4), np.float32), np.empty(4, np.int64)
    assert functions(X, N, out=out) is out and (out[0] == y).all()
    assert [part.shape for part in functions.main(X[:0], N[:0])] == [(0, 4), (0,)]
    assert functions.narrow(np.array([1, 2, 3], ml_dtypes.bfloat16)).tolist() == [1, 2, 3]
    y = np.ones(3, np.float32)
    assert functions.saxpy(2, X[:, 1], y) is None
    assert y.tolist() == [3, 11, 19]
    assert "main(x: float32[N, 4], n: int64[M]) -> (float32[N, 4], int64[2 * M])" in repr(functions)
    assert {"main", "narrow", "saxpy"} <= {*dir(functions)}


def test_nothing_of_the_compiler_is_imported(path: Path):
    text = f"""
import sys, numpy as np, lamina as lm
print(lm.load({str(path)!r}).main(np.ones((2, 4), 'f'), np.arange(1))[0][0, 0])
print([name for name in sys.modules if name.split('.')[0] in ('xdsl', 'llvmlite', 'ml_dtypes')])
print([name for name in sys.modules if name.startswith(('lamina.frontend.run.jit', 'lamina.dialects', 'lamina.codegen'))
       and type(sys.modules[name]).__name__ == 'module'])
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:3] == ["3.75", "[]", "[]"]


@pytest.mark.parametrize(
    ("name", "args", "error", "message"),
    [
        ("main", (X,), TypeError, r"main\(\) takes 2 arguments, got 1"),
        ("main", (X.tolist(), N), TypeError, r"'x' must be an array float32\[N, 4\], got list"),
        ("main", (X.astype(np.float64), N), TypeError, r"'x' must be float32\[N, 4\], got dtype float64"),
        ("main", (X.astype(">f4"), N), TypeError, "'x' must be .* got dtype >f4"),
        ("main", (X[0], N), ValueError, r"'x' must be float32\[N, 4\], got \[4\]: 1 dims"),
        ("main", (X[:, :3].copy(), N), ValueError, r"'x' must be float32\[N, 4\] with N = 3, M = 2, got \[3, 3\]"),
        ("main", (X.T.copy().T, N), ValueError, "'x' must be C-contiguous, got strides"),
        (
            "main",
            (np.zeros(49, np.uint8)[1:].view(np.float32).reshape(3, 4), N),
            ValueError,
            "'x' is not aligned to its elements",
        ),
        ("narrow", (np.zeros(4, ml_dtypes.bfloat16),), ValueError, r"must be bfloat16\[3\], got \[4\]"),
        ("narrow", (np.zeros(3, np.float16),), TypeError, r"must be bfloat16\[3\], got dtype float16"),
        ("saxpy", (2, X[0], X[0, :3].copy()), ValueError, r"'y' must be float32\[N\] with N = 4, step = 1, got \[3\]"),
        ("saxpy", ("2", X[0], X[1]), TypeError, "'a' must be float32, got str"),
        ("saxpy", (np.float64(2), X[0], X[1]), TypeError, "'a' must be float32, got float64"),
        ("saxpy", (X[0], X[0], X[1]), TypeError, "'a' is a number of type float32, got an array"),
        ("saxpy", (2, X[0], np.broadcast_to(X[0, 0], (4,))), ValueError, "'y' is written, and the array is read-only"),
    ],
)
def test_arguments_that_do_not_fit(path: Path, name: str, args: tuple[object, ...], error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        getattr(lm.load(path), name)(*args)


def test_results_and_names_that_do_not_fit(path: Path):
    functions = lm.load(path)
    with pytest.raises(TypeError, match="has 2 results, out= gives 1 arrays"):
        functions.main(X, N, out=np.empty((3, 4), np.float32))
    with pytest.raises(ValueError, match=r"must be float32\[N, 4\] with N = 3, M = 2, got \[2, 4\]"):
        functions.main(X, N, out=(np.empty((2, 4), np.float32), np.empty(4, np.int64)))
    with pytest.raises(AttributeError, match=r"m\.so has no function 'other'; there are: main, narrow, saxpy"):
        functions.other  # noqa: B018
    with pytest.raises(ObjectError, match="returned OVERLAP"):
        functions.main(X, N, out=(X, np.empty(4, np.int64)))


def test_sizes_that_no_array_has_are_keywords(tmp_path: Path):
    (tmp_path / "fill.mlir").write_text(FILL)
    assert lamina_compile.main([str(tmp_path / "fill.mlir"), "-o", str(tmp_path / "fill.so")]) == 0
    fill, x = lm.load(tmp_path / "fill.so"), np.zeros(8, np.float32)
    fill(x, n=3)
    assert x.tolist() == [1, 1, 1, 0, 0, 0, 0, 0]
    with pytest.raises(ObjectError, match="returned BAD_SIZE"):
        fill(x, n=-1)
    with pytest.raises(ValueError, match="no array gives the size 'n': give it as n="):
        fill(x)
    with pytest.raises(TypeError, match="has no size 'k'; it has: n"):
        fill(x, n=3, k=1)
    with pytest.raises(TypeError, match="size 'n' must be an int of 64 bits"):
        fill(x, n=2**63)


def test_strides_that_reach_too_far_are_refused(path: Path):
    lm.load(path)  # which gives the weights
    saxpy, x = ctypes.CDLL(str(path)).m_saxpy, np.zeros(4, np.float32)
    saxpy.argtypes = [ctypes.c_float, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
    sizes = [(0, 1), (2, 1), (2, 2**61), (2, -(2**61)), (2, -(2**63)), (-1, 1), (2**62, 0)]
    assert [saxpy(1, x.ctypes.data, x[2:].ctypes.data, *pair) for pair in sizes] == [0, 0, 3, 3, 3, 3, 3]


def test_threads_of_python_have_memory_of_their_own(path: Path):
    functions = lm.load(path)
    rows = [np.full((k % 7, 4), k, np.float32) for k in range(200)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda x: functions.main(x, N)[0], rows))
    for x, y in zip(rows, found, strict=True):
        np.testing.assert_allclose(y, x @ W, rtol=1e-6)


def test_damaged_files_are_refused(path: Path, tmp_path: Path):
    """Any bit and any length; nothing of such a file is loaded."""
    data, rng = path.read_bytes(), np.random.default_rng(0)
    target = tmp_path / path.name
    shutil.copy(path.with_suffix(".weights"), tmp_path)
    for k in range(300):
        bad = bytearray(data)
        bad[rng.integers(len(data))] ^= 1 << rng.integers(8)
        target.write_bytes(bad if k % 3 else data[: rng.integers(len(data))])
        with pytest.raises(ObjectError):
            lm.load(target)
    at = data.index(MAGIC)
    version = data[:at] + data[at:].replace(b'"version":1', b'"version":2')
    target.write_bytes(version)
    with pytest.raises(ObjectError, match="is damaged, or was changed after lamina-compile wrote it"):
        lm.load(target)


def test_weights_that_do_not_belong_are_refused(path: Path, tmp_path: Path):
    target, weights = tmp_path / path.name, tmp_path / path.with_suffix(".weights").name
    shutil.copy(path, target)
    data = path.with_suffix(".weights").read_bytes()
    with pytest.raises(ObjectError, match=r"needs its weights, .*m.weights: No such file"):
        lm.load(target)
    for bad in (b"", data[:-1], b"x" + data[1:], data[:20] + b"x" + data[21:], data[:-40] + b"x" + data[-39:]):
        weights.write_bytes(bad)
        with pytest.raises(ObjectError, match=r"m\.weights is damaged, or has the weights of another object"):
            lm.load(target)
    library = ctypes.CDLL(str(target))

    assert library.m_narrow(None, None, None, ctypes.c_int64(0)) == 9  # no weights have been given


def test_other_files_are_refused(path: Path, tmp_path: Path):
    (tmp_path / "text.so").write_text("no object")
    (tmp_path / "other.c").write_text("int f(void) { return 1; }")
    subprocess.run(["cc", "-shared", "-fPIC", "other.c", "-o", "other.so"], cwd=tmp_path, check=True)
    foreign = "riscv64" if os.uname().machine != "riscv64" else "aarch64"
    for name, message in (("text", "is no shared object"), ("other", "is not of lamina-compile"), ("none", "cannot read")):
        with pytest.raises(ObjectError, match=message):
            lm.load(tmp_path / f"{name}.so")
    (tmp_path / "m.mlir").write_text("func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n  return %x : tensor<2xf32>\n}")
    assert lamina_compile.main([str(tmp_path / "m.mlir"), "-o", str(tmp_path / "m.o"), "--target", foreign]) == 0
    with pytest.raises(ObjectError, match=f"m.so is for {foreign} linux, this machine is"):
        (tmp_path / "m.o").rename(tmp_path / "m.so")
        lm.load(tmp_path / "m.so")


def test_what_others_link_is_loaded(tmp_path: Path):
    """Two objects in one shared object, linked by the C compiler; C names distinguish functions of one name."""
    for name, op in (("one", "add"), ("two", "mul")):
        text = f"func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{\n  %y = graph.{op} %x, %x : tensor<2xf32>\n"
        (tmp_path / f"{name}.mlir").write_text(f"{text}  return %y : tensor<2xf32>\n}}")
        assert lamina_compile.main([str(tmp_path / f"{name}.mlir"), "-o", str(tmp_path / f"{name}.o")]) == 0
    subprocess.run(["cc", "-shared", "one.o", "two.o", "-o", "both.so"], cwd=tmp_path, check=True)
    functions = lm.load(tmp_path / "both.so")
    x = np.array([3, 4], np.float32)
    assert [function(x).tolist() for function in functions.functions.values()] == [[6, 8], [9, 16]]
    assert functions.two(x).tolist() == [9, 16]
