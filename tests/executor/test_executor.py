"""Executables by their keys: in memory, on disk, and built."""

from __future__ import annotations

import dataclasses
import doctest
import threading
from pathlib import Path
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina import pipeline
from lamina.codegen import cache
from lamina.codegen.executable import object_for
from lamina.codegen.targets import get, host
from lamina.executor import executor
from lamina.executor.executor import Built, Executor
from lamina.runtime.signature import ArrayParam, Signature
from xdsl.dialects.builtin import ModuleOp

SIGNATURE = Signature("f", (), (ArrayParam.of_shape("r", "int64", ()),))
TEXT = "define void @f(ptr %r, ptr %arena) {\n  store i64 1, ptr %r\n  ret void\n}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an empty cache on disk."""
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("LAMINA_CACHE", raising=False)
    return tmp_path / cache._DIRECTORY


def built() -> Built:
    return SIGNATURE, object_for(SIGNATURE, TEXT), ()


def module(number: int = 1) -> ModuleOp:
    return lm.jit(lambda x: x * number).lower(np.zeros(3, np.int64)).module


def test_memory_then_disk_then_the_pipeline(folder: Path) -> None:
    x = np.arange(3)
    first = executor.program(module())
    assert executor.statistics() == executor.Statistics(built=1)
    assert executor.program(module()) is first and executor.statistics().found == 1
    executor.forget()
    again = executor.program(module())
    assert again is not first and executor.statistics() == executor.Statistics(loaded=1)
    np.testing.assert_array_equal(again.run([x]), first.run([x]))
    executor.forget()
    for path in folder.iterdir():
        path.unlink()
    executor.program(module())
    assert executor.statistics() == executor.Statistics(built=1)


def test_all_entrances_share_one_key(folder: Path) -> None:
    x = np.ones((200, 200), np.float32)

    def squared(x: Any) -> Any:
        return x * x

    want = lm.jit(squared)(x)
    made = executor.statistics()
    assert made.built == 1
    np.testing.assert_array_equal(lm.jit(squared)(x), want)
    np.testing.assert_array_equal(lm.jit(squared).lower(x).compile()(x), want)
    np.testing.assert_array_equal(lm.jit(squared).lower(x).runner()([x]), want)
    assert dataclasses.replace(executor.statistics(), found=0) == made and executor.statistics().found == 3


def test_the_key_covers_the_module_the_target_and_the_configuration() -> None:
    one = module()
    assert executor.key(one, host(), "program") == executor.key(one.clone(), host(), "program")
    other = get("aarch64" if host().architecture == "x86_64" else "x86-64-v3")
    keys = {
        executor.key(one, host(), "program"),
        executor.key(module(2), host(), "program"),
        executor.key(one, other, "program"),
        executor.key(one, host(), "kernel"),
        executor.key(one, host(), "program", "main"),
    }
    assert len(keys) == 5


def test_names_of_arguments_are_those_of_messages() -> None:
    for name in ("weights", "bias"):
        found = executor.program(module(), names=[name])
        with pytest.raises(ValueError, match=name):
            found.run([np.zeros(4, np.int64)])


@pytest.mark.parametrize("times", [3, 300])
def test_a_module_that_may_not_be_changed_stays(times: int) -> None:
    def repeated(x: Any) -> Any:
        for k in range(times):
            x = lnp.sin(x) * (k + 1)
        return x

    given = lm.jit(repeated).lower(np.zeros(3)).module
    text = str(given)
    first = executor.program(given)
    assert str(given) == text and executor.program(given) is first


def test_bounded() -> None:
    small = Executor(limit=2)
    codes = [small.get(name, lambda: executor.program(module())) for name in "abc"]
    assert small.statistics == executor.Statistics(dropped=1)
    assert small.get("c", pytest.fail) is codes[2] and small.get("b", pytest.fail) is codes[1]
    assert small.get("a", lambda: executor.program(module())) is not codes[0]
    assert small.get("b", pytest.fail) is codes[1], "the one that was used longest ago goes"


def test_threads_that_need_the_same_wait_for_one() -> None:
    made: list[int] = []
    begin = threading.Barrier(4)
    one, found = Executor(), []

    def make() -> Any:
        made.append(1)
        return executor.program(module())

    def run() -> None:
        begin.wait()
        found.append(one.get("k", make))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1 and len(set(map(id, found))) == 1


def test_what_fails_is_tried_again() -> None:
    one = Executor()

    def fail() -> Any:
        raise ValueError("no")

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            one.get("k", fail)
    assert one.get("k", lambda: executor.program(module())).executable.run([np.arange(3)]).tolist() == [0, 1, 2]


@pytest.mark.parametrize("meta", [{}, {"signature": 3}, {"signature": "{}"}, {"kept": "gone"}, {"checks": [1]}])
def test_foreign_entries_are_misses(folder: Path, meta: dict[str, Any]) -> None:
    one = Executor()
    cache.put("k", b"no object", meta)
    assert one.load("k") is None
    cache.put("k", b"no object", {"signature": SIGNATURE.to_json(), **meta})
    assert one.load("k") is None
    assert one.store("k", built()).run(()) == 1
    found = one.load("k")
    assert found is not None and found.run(()) == 1 and found.signature == SIGNATURE
    (path,) = [path for path in folder.iterdir() if b'"k"' in path.read_bytes()]
    path.write_bytes(path.read_bytes()[:-1])
    assert one.load("k") is None


def test_another_compiler_has_other_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    first = executor.program(module())
    monkeypatch.setattr(executor, "version", lambda: "with another step")
    assert executor.program(module()) is not first


def test_the_pipeline_itself_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "put", lambda *args: pytest.fail("written"))
    signature, obj = pipeline.build(module())
    assert signature.name == "main" and obj


def test_docstrings() -> None:
    assert doctest.testmod(executor).failed == 0
