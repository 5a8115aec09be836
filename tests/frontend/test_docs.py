"""The examples in docstrings run, and names in documents exist."""

from __future__ import annotations

import doctest
import importlib
import re
from functools import reduce
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.dialects.context import make_context
from lamina.passes import find_pass
from lamina.runtime.interpreter import interpret
from xdsl.parser import Parser

MODULES = [
    "",
    ".frontend.functions.autodiff",
    ".frontend.kernel.call_kernel",
    ".frontend.trace.program",
    ".frontend.run.jit",
    ".compat.jax.lax.indexing",
    ".compat.jax.lax.reductions",
    ".frontend.trace.promotion",
    ".frontend.trace.pytree",
    ".frontend.run.record",
    ".library.random.samplers",
    ".library.special.incomplete",
]


@pytest.mark.thorough(every=8)
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


def test_control_flow_page() -> None:
    """The programs of the page run as they stand, one after the other, and its IR means what they do."""
    text = (Path(__file__).parents[2] / "docs" / "control_flow.md").read_text()
    place: dict[str, Any] = {}
    for program in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(program, place)
    (source,) = re.findall(r"```mlir\n(.*?)```", text, re.DOTALL)
    module = Parser(make_context(), source).parse_module()
    module.verify()
    x = np.float64(2)
    assert interpret(module, "main", [x])[0] == 15 == place["by_condition"](x) == place["by_function"](x)
    passes = re.findall(r"`(graph-[a-z-]+)", text)
    assert passes and all(find_pass(name).name == name for name in passes)
