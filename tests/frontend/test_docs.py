"""The examples in docstrings run, and names in documents exist."""

from __future__ import annotations

import doctest
import importlib
import re
from functools import reduce
from pathlib import Path

import lamina as lm
import pytest

MODULES = [
    "",
    ".frontend.autodiff",
    ".frontend.call_kernel",
    ".frontend.functions",
    ".frontend.jit",
    ".frontend.lax_indexing",
    ".frontend.lax_reductions",
    ".frontend.nn",
    ".frontend.promotion",
    ".frontend.pytree",
    ".frontend.record",
    ".frontend.random_samplers",
    ".frontend.special_incomplete",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = importlib.import_module(f"lamina{name}")
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0 and result.attempted > 0


def test_names_that_reach_ops_exist() -> None:
    text = (Path(__file__).parents[2] / "docs" / "ops.md").read_text()
    named = re.findall(r"`(lax|lnp|nn|linalg|random|fft|lm)\.([a-z_0-9.]+)", text)
    assert len(named) > 100
    for home, path in named:
        place = lm if home == "lm" else lm.numpy if home == "lnp" else getattr(lm, home)
        reduce(getattr, path.rstrip(".").split("."), place)
