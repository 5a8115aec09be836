"""The example kernels: right at all sizes with one compilation, on any number of threads; schedules as text do the same."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina import passes
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from lamina.errors import ScheduleError

FOLDER = Path(__file__).parent.parent.parent / "examples" / "kernels"
sys.path.insert(0, str(FOLDER))

NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "show")
SIZES = {name: (0, 1, 2, 3, 7, 16, 33, 100, 1000) for name in NAMES}
SIZES |= {
    "saxpy": (*SIZES["saxpy"], 4095, 4096, 300_000),
    "histogram": (*SIZES["histogram"], 100_000),
    "prefix_sum": (*SIZES["prefix_sum"], 1023, 1024, 5000, 300_000),
    "conv2d": (0, 1, 2, 3, 7, 16, 33, 60),
    "floyd_warshall": (0, 1, 2, 3, 7, 16, 33, 100, 150),
    "matmul": (0, 1, 2, 3, 7, 16, 33, 100, 200),
    "mandelbrot": (0, 1, 2, 3, 7, 16, 33, 100, 150),
}


def module_of(name: str) -> Any:
    return importlib.import_module(name)


@pytest.fixture(params=["unscheduled", "scheduled"])
def scheduled(request: pytest.FixtureRequest) -> bool:
    return request.param == "scheduled"


@pytest.fixture
def kernel(name: str) -> Iterator[Any]:
    """The kernel of an example, without a schedule."""
    found = getattr(module_of(name), name)
    found.reset()
    yield found
    found.reset()


def arguments(name: str, size: int) -> list[Any]:
    """Arguments of a kernel for a size."""
    if name != "matmul":
        return module_of(name).arguments(size)
    rng = np.random.default_rng(0)
    shapes = (size, size + 3), (size + 3, size + size // 2), (size, size + size // 2)
    return [rng.standard_normal(shape, dtype=np.float32) for shape in shapes]


def copies(args: list[Any]) -> list[Any]:
    return [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]


def written(kernel: Any, args: list[Any]) -> list[np.ndarray]:
    """The arrays that a kernel writes."""
    return [arg for arg, param in zip(args, kernel.signature.params, strict=True) if getattr(param, "writes", False)]


def close(found: np.ndarray, wanted: np.ndarray) -> None:
    """Equal integers; floats that differ by no more than a sum in another order does."""
    assert found.shape == wanted.shape
    if found.dtype.kind != "f":
        np.testing.assert_array_equal(found, wanted)
        return
    rounding = 100 * np.finfo(found.dtype).eps
    scale = max(1.0, float(np.abs(wanted, where=np.isfinite(wanted), out=np.zeros(wanted.shape)).max(initial=0)))
    np.testing.assert_allclose(found, wanted, rtol=rounding, atol=rounding * scale)


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", NAMES)
def test_one_compilation_is_right_at_all_sizes_on_all_numbers_of_threads(name: str, kernel: Any, scheduled: bool) -> None:
    module = module_of(name)
    if scheduled:
        module.schedule(kernel.schedule())
    executable = kernel.compile()
    for size in SIZES[name]:
        args = arguments(name, size)
        wanted = module.reference(*copies(args))
        before = copies(args)
        results: list[list[np.ndarray]] = []
        for threads in (1, 2, 7):
            given = copies(args)
            kernel(*given, threads=threads)
            results.append(written(kernel, given))
            for one, other in zip(given, before, strict=True):  # inputs are only read
                if isinstance(one, np.ndarray) and not any(one is out for out in results[-1]):
                    np.testing.assert_array_equal(one, other)
        for found, want in zip(results[0], wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
            close(found, want)
        for other in results[1:]:
            for one, two in zip(results[0], other, strict=True):
                assert one.tobytes() == two.tobytes(), f"size {size}: threads change results"
    assert kernel.compile() is executable


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", NAMES)
def test_the_schedule_as_text_gives_the_same_kernel(name: str, kernel: Any) -> None:
    unscheduled = kernel.as_text("loop")
    s = kernel.schedule()
    module_of(name).schedule(s)
    context = make_context()
    replayed = parse_module(context, unscheduled)
    passes.run_passes(replayed, context, str(s), verify_each=True)
    scheduled = parse_module(context, s.as_text())
    assert str(replayed) == str(scheduled)
    assert kernel.as_text("loop") == unscheduled
    for step in s.steps:
        assert f"{step.name}{{" in str(s)


@pytest.mark.parametrize("name", ["blur"])
def test_lamina_opt_runs_the_schedule(name: str, kernel: Any) -> None:
    unscheduled = kernel.as_text("loop")
    s = kernel.schedule()
    module_of(name).schedule(s)
    s.auto()  # what is left is scheduled by default, and stands in the text
    command = [sys.executable, "-m", "lamina.tools.lamina_opt", "-", "-p", str(s)]
    done = subprocess.run(command, input=unscheduled, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    context = make_context()
    ours, theirs = (parse_module(context, text).body.block.first_op for text in (kernel.as_text("scheduled"), done.stdout))
    assert str(theirs) == str(ours)


@pytest.mark.parametrize("name", NAMES)
def test_the_loops_as_python_compute_the_same(name: str, kernel: Any) -> None:
    text = kernel.schedule().as_python()
    args = arguments(name, 7)
    wanted = module_of(name).reference(*copies(args))
    scope: dict[str, Any] = {"empty": np.empty, "sqrt": np.sqrt}
    scope |= {one: np.dtype(one).type for one in ("float32", "float64", "int32", "int64")}
    exec(f"from __future__ import annotations\n{text}", scope)
    found: dict[str, int] = {}
    for arg, param in zip(args, kernel.signature.params, strict=True):
        for size, dim in zip(getattr(arg, "shape", ()), getattr(param, "dims", ()), strict=True):
            if dim.symbol is not None:
                found[kernel.signature.symbols[dim.symbol]] = size - dim.constant
    with np.errstate(all="ignore"):
        scope[name](*args, *(found[symbol] for symbol in kernel.signature.symbols))
    for one, want in zip(written(kernel, args), wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        close(one, want)


@pytest.mark.parametrize("name", NAMES)
def test_a_schedule_shows_its_loops_as_python(name: str, kernel: Any) -> None:
    s = kernel.schedule()
    module_of(name).schedule(s)
    text = s.as_python()
    compile(f"from __future__ import annotations\n{text}", name, "exec")
    assert text.startswith(f"def {name}(")
    for loop in s.loops:
        assert f"for {loop.name} in range(" in text


def test_running_an_example_shows_loops_and_times(capsys: pytest.CaptureFixture[str]) -> None:
    module_of("bitonic").main()
    said = capsys.readouterr().out
    assert "def bitonic(" in said and "loop-vectorize{" in said and "default" in said and "NumPy" in said


@pytest.mark.parametrize("size", [0, 1, 2, 3, 5, 16, 100, 1000])
def test_bitonic_steps_sort(size: int) -> None:
    module = module_of("bitonic")
    module.bitonic.reset()
    x = np.random.default_rng(size).standard_normal(size).astype(np.float32)
    np.testing.assert_array_equal(module.sort(x), np.sort(x))
    module.schedule(module.bitonic.schedule())
    np.testing.assert_array_equal(module.sort(x, threads=2), np.sort(x))
    module.bitonic.reset()


def refused(kernel: Any, verb: str, *parameters: Any) -> str:
    """Why a step is refused."""
    kernel.reset()
    with pytest.raises(ScheduleError) as caught:
        getattr(kernel.schedule(), verb)(*parameters)
    kernel.reset()
    return str(caught.value)


def test_what_the_readme_says_of_refusals_is_so() -> None:
    assert "iteration loop=0 reads A[1, 1] and iteration loop=1 writes it" in refused(
        module_of("jacobi").jacobi, "parallelize", "loop"
    )
    assert "a subscript of rows depends on data" in refused(module_of("histogram").histogram, "vectorize", "i", 8)

    @lm.kernel
    def in_place(D: lm.f32["N", "N"]):
        for k in range(N):
            for i in range(N):
                for j in range(N):
                    D[i, j] = min(D[i, j], D[i, k] + D[k, j])

    assert "writes" in refused(in_place, "parallelize", "i")


def test_the_schedule_of_nbody_keeps_every_bit() -> None:
    module = module_of("nbody")
    plain, vectors = module.arguments(100), module.arguments(100)
    module.nbody.reset()
    module.nbody(*plain)
    module.schedule(module.nbody.schedule())
    module.nbody(*vectors)
    module.nbody.reset()
    assert plain[2].tobytes() == vectors[2].tobytes()


def test_every_example_has_a_paragraph(root: Path) -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    for path in FOLDER.glob("*.py"):
        assert f"[{path.name}]({path.name})" in text
