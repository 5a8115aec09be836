"""Compiled kernels are found by their source and the meanings of its names."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.codegen import cache as object_cache
from lamina.executor import executor
from lamina.frontend.kernel.decorator import kernel
from lamina.frontend.kernel.facts import facts_of


def scale_by(factor: Any) -> Callable[..., None]:
    def scale(x: lm.f32["N"]):
        for i in range(len(x)):
            x[i] = factor * x[i]

    return scale


def with_function(function: Any) -> Callable[..., None]:
    def apply(x: lm.f32["N"]):
        for i in range(len(x)):
            x[i] = function(x[i])

    return apply


def with_type(type: Any) -> Callable[..., None]:
    def clear(x):
        for i in range(len(x)):
            x[i] = 0.0

    clear.__annotations__["x"] = type
    return clear


def test_equal_kernels_have_equal_facts() -> None:
    assert facts_of(scale_by(2.0)) == facts_of(scale_by(2.0))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(scale_by(2.0), scale_by(4.0), id="value"),
        pytest.param(scale_by(2), scale_by(2.0), id="type of a number"),
        pytest.param(scale_by(1), scale_by(True), id="truth"),
        pytest.param(scale_by(0.0), scale_by(-0.0), id="sign of zero"),
        pytest.param(scale_by(np.float32(0.1)), scale_by(np.float64(0.1)), id="NumPy's number"),
        pytest.param(with_function(np.sin), with_function(np.cos), id="function"),
        pytest.param(with_function(math.floor), with_function(np.floor), id="whose function"),
        pytest.param(with_type(lm.f32["N"]), with_type(lm.f32["M"]), id="size"),
        pytest.param(with_type(lm.f32["N"]), with_type(lm.f64["N"]), id="dtype"),
        pytest.param(with_type(lm.f32["N"]), with_type(lm.f32["N"].strided()), id="strides"),
    ],
)
def test_other_kernels_have_other_facts(one: Callable[..., None], other: Callable[..., None]) -> None:
    assert facts_of(one) != facts_of(other)


def test_a_function_is_not_taken_for_one_that_bears_its_name() -> None:
    def impostor(x: float) -> float:
        return x

    impostor.__module__, impostor.__name__ = "math", "sqrt"
    assert facts_of(with_function(impostor)) != facts_of(with_function(math.sqrt))


def test_numbers_of_other_classes_have_no_facts() -> None:
    class Factor(enum.IntEnum):
        TWO = 2

    class Quiet(np.float32):
        def __repr__(self) -> str:
            return "a number"

    assert facts_of(scale_by(Factor.TWO)) is None
    assert facts_of(scale_by(Quiet(2.5))) is None


def test_conversions_to_classes_derived_from_numpys_have_no_facts() -> None:
    class Single(np.float32):
        pass

    assert facts_of(with_function(Single)) is None
    assert facts_of(with_function(np.float32)) is not None


def test_a_called_kernel_is_part_of_the_facts() -> None:
    def calls(inner: Any) -> Callable[..., None]:
        def outer(x: lm.f32["N"]):
            inner(x)

        return outer

    two, four = (kernel(scale_by(factor)) for factor in (2.0, 4.0))
    assert facts_of(calls(two)) == facts_of(calls(two))
    assert facts_of(calls(two)) != facts_of(calls(four))


def test_a_kernel_that_calls_itself_has_no_facts() -> None:
    names: dict[str, Any] = {}

    def outer(x: lm.f32["N"]):
        again(x)

    outer.__globals__["again"] = names["again"] = kernel(outer)
    try:
        assert facts_of(outer) is None
    finally:
        del outer.__globals__["again"]


def test_places_count_where_messages_name_them() -> None:
    def first(x: lm.f32["N"], i: lm.i64):
        x[i] = 0.0

    one = facts_of(first, check_bounds=True)
    assert one is not None and str(Path(__file__).name) in one
    assert Path(__file__).name not in (facts_of(first) or "")


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """The functions that are read as kernels from here on, with a cache of its own."""
    from lamina.frontend.kernel import build

    found: list[Any] = []
    original = build.build_kernel

    def counted(function: Any, *options: bool) -> Any:
        found.append(function)
        return original(function, *options)

    monkeypatch.setattr(build, "build_kernel", counted)
    monkeypatch.setenv("LAMINA_CACHE", "1")
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(tmp_path))
    return found


def check(factor: float) -> None:
    x = np.arange(5, dtype=np.float32)
    kernel(scale_by(factor))(x)
    np.testing.assert_array_equal(x, factor * np.arange(5, dtype=np.float32))
    executor.forget()  # what follows is found on disk or nowhere


def test_what_is_known_is_not_read_again(reads: list[Any]) -> None:
    check(2.0)
    check(2.0)
    assert len(reads) == 1
    check(3.0)
    assert len(reads) == 2
    check(2.0)
    assert len(reads) == 2


def test_a_known_kernel_reports_as_a_new_one(reads: list[Any]) -> None:
    def first(x: lm.f32["N"], i: lm.i64):
        x[i] = 0.0

    messages = []
    for _ in range(2):
        with pytest.raises(IndexError) as raised:
            kernel(first, check_bounds=True)(np.zeros(3, np.float32), 5)
        messages.append(str(raised.value))
        executor.forget()
    assert messages[0] == messages[1] and "index 5" in messages[0]
    assert len(reads) == 1


def test_an_object_that_is_gone_is_compiled_again(reads: list[Any], tmp_path: Path) -> None:
    check(2.0)
    for path in tmp_path.rglob("*.lamina"):
        entry = object_cache.decode(path.stem, path.read_bytes())
        if entry is None or entry.obj:  # not the notes where objects are
            path.unlink()
    check(2.0)
    assert len(reads) == 2


@pytest.mark.parametrize("meta", [{}, {"kept": 1}, {"kept": "x"}])
def test_what_is_not_ours_is_a_miss(reads: list[Any], monkeypatch: pytest.MonkeyPatch, meta: dict[str, Any]) -> None:
    original = object_cache.put
    notes: list[str] = []

    def put(key: str, obj: bytes, given: dict[str, Any] | None = None) -> None:
        if given and "kept" in given:
            notes.append(key)
            given = meta
        original(key, obj, given)

    monkeypatch.setattr(object_cache, "put", put)
    check(2.0)
    check(2.0)
    assert len(reads) == 2 and len(notes) == 2


def test_another_frontend_reads_anew(reads: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    check(2.0)
    monkeypatch.setattr(executor, "frontend_version", lambda: "another")
    check(2.0)
    assert len(reads) == 2


def test_steps_are_taken_on_a_kernel_that_was_known(reads: list[Any]) -> None:
    check(2.0)
    again = kernel(scale_by(2.0))
    again(np.zeros(3, np.float32))
    s = again.schedule()
    s.split(s["i"], 4)
    x = np.ones(6, np.float32)
    again(x)
    np.testing.assert_array_equal(x, np.full(6, 2.0, np.float32))
