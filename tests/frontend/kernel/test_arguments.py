"""Arguments of kernels: tensors of other libraries, and one array given for two parameters."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest


class Tensor:
    """What another library has: an object with DLPack's protocol."""

    def __init__(self, array: np.ndarray):
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


@lm.kernel
def added(x: lm.f32["N"], y: lm.f32["N"]):
    for i in range(len(x)):
        y[i] += x[i]


def test_tensors_are_changed_in_place() -> None:
    x, y = np.arange(5, dtype=np.float32), np.ones(5, np.float32)
    added(Tensor(x), y=Tensor(y))
    np.testing.assert_array_equal(y, x + 1)


def test_tensors_are_checked_as_arrays() -> None:
    with pytest.raises(TypeError, match="argument 'x' must be a NumPy array of float32"):
        added(Tensor(np.ones(3)), np.ones(3, np.float32))

    class Elsewhere(Tensor):
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("it is on a device")

    with pytest.raises(TypeError, match=r"argument 'x': this .*Elsewhere shares no memory with NumPy: it is on a device"):
        added(Elsewhere(np.ones(3, np.float32)), np.ones(3, np.float32))


def shifted(x: lm.f64["N"], y: lm.f64["M"]):
    for i in range(1, len(x)):
        y[i] = x[i - 1] + 1.0
    y[0] = len(y)


def scaled(x: lm.f64["N", "N"], y: lm.f64["N", "N"], z: lm.f64["N", "N"]):
    for i, j in lm.grid(x.shape):
        z[i, j] = x[i, j] * y[j, i]


def swept(x: lm.f64["N"], y: lm.f64["N"]):
    for i in range(1, len(x) - 1):
        y[i] = 0.25 * x[i - 1] + 0.5 * x[i] + 0.25 * x[i + 1]


@pytest.mark.parametrize("function", [shifted, swept])
@pytest.mark.parametrize("n", [2, 3, 17, 100])
def test_one_array_twice_is_what_python_does(function: Any, n: int) -> None:
    kernel = lm.kernel(function)
    for threads in (1, 2):
        x = np.random.default_rng(n).standard_normal(n)
        want = x.copy()
        function(want, want)
        kernel(x, x, threads=threads)
        np.testing.assert_array_equal(x, want)


def test_elementwise_in_place_and_three_times() -> None:
    kernel, other = lm.kernel(scaled), np.random.default_rng(0).standard_normal((9, 9))
    x = np.random.default_rng(1).standard_normal((9, 9))
    want = x * other.T
    kernel(x, other, x)
    np.testing.assert_array_equal(x, want)
    want = x.copy()
    for i in range(9):
        for j in range(9):
            want[i, j] = want[i, j] * want[j, i]
    kernel(x, x, z=x)
    np.testing.assert_array_equal(x, want)


def test_overlap_that_is_no_equality_is_refused() -> None:
    kernel, x = lm.kernel(swept), np.ones(9)
    with pytest.raises(ValueError, match="must not overlap another array"):
        kernel(x[1:], x[:-1])

    @lm.kernel
    def at_once(x: lm.f64["N"], y: lm.f64["N"]):
        for i in lm.parallel(1, len(x)):
            y[i] = x[i - 1] + 1

    with pytest.raises(ValueError, match="must not overlap another array"):  # its iterations would depend on each other
        at_once(x, x)


def test_complex_numbers_in_place() -> None:
    @lm.kernel
    def squared(x: lm.complex128["N"], y: lm.complex128["N"]):
        for i in range(len(x)):
            y[i] = x[i] * x[i]

    z = np.arange(4) + 1j
    want = z * z
    squared(z, z)
    np.testing.assert_array_equal(z, want)


def test_kernels_are_pickled_by_name() -> None:
    assert pickle.loads(pickle.dumps(added)) is added


def test_a_kernel_needs_no_graph_ops(tmp_path: Path) -> None:
    """The first kernel of a process loads what kernels need: graph ops and tracing would take a third of the time."""
    script = tmp_path / "first.py"
    script.write_text(
        "import sys\nimport lamina as lm\nimport numpy as np\n\n\n@lm.kernel\ndef doubled(x: lm.f32['N']):\n"
        "    for i in range(len(x)):\n        x[i] = 2.0 * x[i]\n\n\nx = np.ones(3, np.float32)\ndoubled(x)\n"
        "assert (x == 2).all()\nprint([name for name in sys.modules if name.startswith('lamina.dialects.graph')])\n"
    )
    found = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert found.stdout.strip() == "[]"
