"""The examples in docstrings run."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = [
    "",
    ".frontend.autodiff",
    ".frontend.call_kernel",
    ".frontend.functions",
    ".frontend.jit",
    ".frontend.nn",
    ".frontend.promotion",
    ".frontend.pytree",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = importlib.import_module(f"lamina{name}")
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0 and result.attempted > 0
