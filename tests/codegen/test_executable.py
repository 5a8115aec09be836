"""The way from text to a call through the cache."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from lamina.codegen import cache, entry, executable, structured_builder
from lamina.codegen.executable import cached_executable
from lamina.codegen.targets import base
from lamina.dialects.sizes import binding
from lamina.runtime import signature
from lamina.runtime.signature import ArrayParam, Signature

SIGNATURE = Signature("f", (), (ArrayParam.of_shape("r", "int64", ()),))
TEXT = "define void @f(ptr %r, ptr %arena) {\n  store i64 1, ptr %r\n  ret void\n}"


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("LAMINA_CACHE", raising=False)
    cache._open.cache_clear()
    yield tmp_path / cache._DIRECTORY
    cache._open.cache_clear()


def test_made_once(fresh):
    made = []

    def make():
        made.append(1)
        return SIGNATURE, TEXT

    for _ in range(3):
        found = cached_executable("k", make)
        assert found.run(()) == 1 and found.signature == SIGNATURE
    assert made == [1]
    (file,) = [f for f in fresh.iterdir() if b'"k"' in f.read_bytes()]
    file.write_bytes(file.read_bytes()[:-1])
    assert cached_executable("k", make).run(()) == 1
    assert made == [1, 1]


@pytest.mark.parametrize("meta", [{}, {"signature": 3}, {"signature": "{}"}])
def test_foreign_entry_is_a_miss(fresh, meta):
    cache.put("k", b"no object", meta)
    assert cached_executable("k", lambda: (SIGNATURE, TEXT)).run(()) == 1
    cache.put("k", b"no object", {"signature": SIGNATURE.to_json()})
    assert cached_executable("k", lambda: (SIGNATURE, TEXT)).run(()) == 1


def test_entry_without_and_with_cache(fresh, monkeypatch):
    for _ in range(2):
        assert executable._load_entry().symbols
        assert len(list(fresh.iterdir())) == 1
    monkeypatch.setenv("LAMINA_CACHE", "0")
    assert executable._load_entry().symbols


@pytest.mark.parametrize("module", [base, cache, entry, executable, structured_builder, signature, binding])
def test_docstrings(module):
    with np.printoptions(legacy=False):
        assert doctest.testmod(module).failed == 0
