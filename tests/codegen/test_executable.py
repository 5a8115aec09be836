"""The native entry, and the examples of the rooms' docstrings."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from lamina.codegen import cache, entry, executable, structured_builder
from lamina.codegen.targets import base
from lamina.dialects.sizes import binding
from lamina.runtime import signature


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("LAMINA_CACHE", raising=False)
    cache._open.cache_clear()
    yield tmp_path / cache._DIRECTORY
    cache._open.cache_clear()


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
