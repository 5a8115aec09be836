"""Programs with Python control flow: what `jit` captures of them gives what they give in NumPy and outside of `jit`."""

from __future__ import annotations

import copy
import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import lamina as lm
import numpy as np
import pytest

PROGRAMS = sorted(Path(__file__).parent.glob("programs/*.py"))
GROUPS = 6
"""In how many tests a file is divided."""


def load(path: Path, numpy: bool = False) -> ModuleType:
    """A file of programs; with `numpy`, the same source on NumPy."""
    spec = importlib.util.spec_from_file_location(f"programs_{path.stem}{'_of_numpy' * numpy}", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    if numpy:
        exec(
            compile(path.read_text().replace("import lamina.numpy as lnp", "import numpy as lnp"), str(path), "exec"),
            module.__dict__,
        )
    else:
        spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def both() -> Callable[[Path], tuple[ModuleType, ModuleType]]:
    known: dict[Path, tuple[ModuleType, ModuleType]] = {}

    def modules(path: Path) -> tuple[ModuleType, ModuleType]:
        if path not in known:
            known[path] = load(path), load(path, numpy=True)
        return known[path]

    return modules


def run(function: Callable[..., Any], args: tuple[Any, ...]) -> list[np.ndarray[Any, Any]]:
    """The leaves of a result, from arguments that may change."""
    with np.errstate(all="ignore"):
        return [np.asarray(x) for x in lm.tree.leaves(function(*copy.deepcopy(args)))]


def static(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[str, ...]:
    """Arguments that are no arrays."""
    names = list(inspect.signature(function).parameters)
    return tuple(n for n, x in zip(names, args, strict=False) if isinstance(x, str | bool))


def equal(got: list[Any], want: list[Any], what: str, tolerance: float = 1e-9) -> None:
    assert len(got) == len(want), what
    for x, y in zip(got, want, strict=True):
        assert x.shape == y.shape and (x.dtype.kind == y.dtype.kind or {x.dtype.kind, y.dtype.kind} <= {"i", "f"}), (what, x, y)
        np.testing.assert_allclose(x, y, tolerance, tolerance, err_msg=what)


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("group", range(GROUPS))
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_captured_is_eager_is_numpy(path: Path, group: int, both: Any) -> None:
    ours, theirs = both(path)
    pairs = list(zip(ours.CASES, theirs.CASES.items(), strict=True))
    for function, (of_numpy, cases) in pairs[group::GROUPS]:
        compiled = lm.jit(function, static_argnames=static(function, cases[0]))
        for args in cases:
            want = run(of_numpy, args)
            equal(run(function, args), want, f"{function.__name__} eager")
            equal(run(compiled, args), want, f"{function.__name__} captured")


def total(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The sum of all floats in a result."""
    leaves = [np.float64(x) if isinstance(x, float) else x for x in lm.tree.leaves(function(*args))]
    return sum(x.sum() for x in leaves if getattr(x, "dtype", np.dtype(int)).kind == "f")


def slopes(function: Callable[..., Any], args: tuple[Any, ...], k: int) -> np.ndarray[Any, Any]:
    """Central differences in argument `k`."""
    x = np.asarray(args[k], float)
    out = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        ends: list[float] = []
        for step in (1e-6, -1e-6):
            moved = x.copy()
            moved[place] += step
            given = copy.deepcopy(args)
            ends.append(float(total(function, (*given[:k], moved[()], *given[k + 1 :]))))
        out[place] = (ends[0] - ends[1]) / 2e-6
    return out


@pytest.mark.thorough(every=6)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_derivatives(path: Path, both: Any) -> None:
    ours, theirs = both(path)
    of_numpy = dict(zip(ours.CASES, theirs.CASES.items(), strict=True))
    for function, mode in ours.GRADIENTS.items():
        numpy_function, cases = of_numpy[function]
        args = cases[0]
        k = next(k for k, x in enumerate(args) if getattr(x, "dtype", np.dtype(object)).kind == "f")
        want = slopes(numpy_function, args, k)

        def f(x: Any, function: Any = function, args: Any = args, k: int = k) -> Any:
            return total(function, (*copy.deepcopy(args[:k]), x, *copy.deepcopy(args[k + 1 :])))

        x = np.asarray(args[k])
        if mode == "reverse":
            got = lm.jit(lm.grad(f))(x)
        else:
            direction = np.linspace(0.5, 1.5, x.size).reshape(x.shape)
            got = lm.jit(lambda x, d, f=f: lm.jvp(f, (x,), (d,))[1])(x, direction)
            want = (want * direction).sum()
        np.testing.assert_allclose(got, want, 2e-4, 2e-5, err_msg=function.__name__)
