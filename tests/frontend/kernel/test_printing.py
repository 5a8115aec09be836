"""`print(...)` in kernels: the text of Python, in order; in parallel loops whole lines."""

from __future__ import annotations

import contextlib
import io
import types
from collections.abc import Callable
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from lamina.errors import CompileError, KernelError, ScheduleError
from lamina.frontend.kernel.build import build_kernel
from lamina.runtime.interpreter import Interpreter

NAME = "hé {x}"


def printed(function: Callable[..., Any], *args: Any, **options: Any) -> str:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        function(*args, **options)
    return text.getvalue()


def every_form(x: lm.f64["N"], y: lm.f32["N"], c: lm.ui8["N"], u: lm.ui64["N"], on: lm.bool_["N"], n: int):
    t = 0.0
    for i in range(N):
        t += x[i]
        print("i", i, x[i], y[i], c[i], u[i], on[i], n, t, True, 1.5, -i)
        print(f"{NAME} {i:>3} {x[i]:.3f} {y[i]} {c[i]:x} {on[i]!s:>6} {t:+.1e} {{}} {1e16} {n=}", end="|\n", flush=True)
        if i == 1:
            print()
            print("one", i, sep="", end=None)
    print(NAME, len(x), N, sep=", ")


def arguments(size: int) -> list[Any]:
    rng = np.random.default_rng(size)
    x = rng.normal(size=size) * 10.0 ** rng.integers(-20, 20, size)
    x[:3] = [np.nan, np.inf, -0.0][:size]
    words = rng.integers(0, 1 << 64, size, np.uint64)
    return [x, x.astype(np.float32), words.astype(np.uint8), words, words % 2 == 0, -5]


@pytest.mark.parametrize("size", [0, 1, 2, 7])
def test_the_text_is_pythons(size: int) -> None:
    with np.errstate(all="ignore"):
        args = arguments(size)
        names = {**every_form.__globals__, "N": size}
        want = printed(types.FunctionType(every_form.__code__, names), *args)
    kernel = lm.kernel(every_form)
    assert printed(kernel, *args) == want
    module = parse_module(make_context(), kernel.as_text())
    module.verify()
    assert f"{module!s}\n" == kernel.as_text()
    assert printed(Interpreter(module).launch, "every_form", [*args[:-1], np.int64(-5), size]) == want


@lm.kernel
def rows(x: lm.f64["N"], y: lm.f64["N"]):
    for i in lm.parallel(N):
        s = x[i]
        for _ in range(300):
            s = s * 0.5 + 1.0
        y[i] = s
        if i % 50 == 0:
            print("row", i, "value", s)


def test_parallel_loops_print_whole_lines() -> None:
    x, y = np.arange(20000.0), np.zeros(20000)
    want = printed(rows, x, y, threads=1)
    assert want.count("\n") == 400
    for threads in (2, 7):
        assert sorted(printed(rows, x, y, threads=threads).splitlines()) == sorted(want.splitlines())


@pytest.mark.parametrize("threads", [1, 7])
def test_what_a_closed_file_raises_is_raised(threads: int) -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError("closed")

    x = np.arange(20000.0)
    with contextlib.redirect_stdout(Closed()), pytest.raises(OSError, match="closed"):
        rows(x, x.copy(), threads=threads)
    assert printed(rows, x, x.copy(), threads=threads).count("\n") == 400


def test_in_programs() -> None:
    def f(x: Any) -> Any:
        return lm.call_kernel(rows, x, out=lm.TensorSpec(x.shape, "float64")).sum()

    assert printed(lm.jit(f), np.arange(101.0)) == printed(rows, np.arange(101.0), np.zeros(101), threads=1)
    slope = lm.jit(lm.grad(f))(np.arange(3.0))
    assert np.allclose(slope, 0.5**300)


@lm.kernel
def plain(x: lm.f64["N"], y: lm.f64["N"]):
    for i in range(N):
        y[i] = 2 * x[i]
        print(i, y[i])


@pytest.mark.parametrize("take", ["s.split('i', 4)", "s.peel('i', 2)", "s.unroll('i', 3)", "s.version('i', 5)"])
def test_steps_that_keep_the_lines(take: str) -> None:
    x = np.arange(11.0)
    want = printed(plain, x, x.copy())
    try:
        exec(take, {"s": plain.schedule()})
        assert printed(plain, x, x.copy()) == want
    finally:
        plain.reset()


def test_other_steps_are_refused() -> None:
    s = plain.schedule()
    for take in (lambda: s.vectorize("i", 4), lambda: s.parallelize("i"), lambda: s.tile("i", 4)):
        with pytest.raises(ScheduleError, match="the kernel prints"):
            take()
    assert not s.auto()
    plain.reset()


def test_objects_for_other_programs_cannot_print(tmp_path: Any) -> None:
    with pytest.raises(CompileError, match="op needs Python"):
        plain.export(tmp_path / "plain.o")


def takes_an_array(x: lm.f64["N"]):
    print(x)


def takes_a_file(x: lm.f64["N"]):
    print(x[0], file=None)


def has_an_open_format(x: lm.f64["N"], n: int):
    for i in range(N):
        print(f"{x[i]:{n}}")


def has_a_wrong_format(x: lm.f64["N"]):
    for i in range(N):
        print(f"{x[i]:d}")


def is_used(x: lm.f64["N"]):
    for i in range(N):
        x[i] = print("a")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (takes_an_array, "print takes numbers and texts in kernels"),
        (takes_a_file, "print takes values, sep, end and flush in kernels"),
        (has_an_open_format, "a format in a kernel is known"),
        (has_a_wrong_format, "Unknown format code 'd'"),
        (is_used, "has no value: it is a statement of its own"),
    ],
)
def test_mistakes(function: Any, message: str) -> None:
    with pytest.raises(KernelError, match=message) as error:
        build_kernel(function)
    assert "test_printing.py:" in str(error.value)


def test_a_text_from_outside_belongs_to_the_kernel() -> None:
    text = 'def k(x: lm.f64["N"]):\n    for i in range(N):\n        print(TITLE, f"{TITLE!r}", x[i])\n'
    for title in ("one", "two"):
        k = lm.kernel_from_source(text, names={"TITLE": title})
        assert printed(k, np.ones(1)) == f"{title} '{title}' 1.0\n"
