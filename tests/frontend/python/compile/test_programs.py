"""Functions that must split: `lm.compile` gives the answer of Python on each call of a sequence that flips guards, with the
same effects; breaks and guards are those of breaks.txt (`LAMINA_UPDATE=1` writes it, without -n)."""

from __future__ import annotations

import importlib.util
import os
import random
import re
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import lamina as lm
import numpy as np
import pytest

HERE = Path(__file__).parent
GOLDEN = HERE / "breaks.txt"


def _module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"compile_programs_{name}", HERE / "programs" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


PROGRAMS = {
    name: function
    for file in (
        "values",
        "structures",
        "state",
        "changes",
        "edges",
        "edges_of_objects",
        "edges_of_choices",
        "edges_of_changes",
    )
    for name, function in vars(_module(file)).items()
    if getattr(function, "__code__", None) is not None and function.__code__.co_varnames[:1] == ("compile",)
}

LISTED = {name for name, function in PROGRAMS.items() if "edges" not in function.__module__} - {"from_threads"}
"""Those that are written as users write, and give one report however threads take turns."""


def test_there_are_sixty() -> None:
    assert len(LISTED) >= 60


def golden() -> dict[str, str]:
    """The reports of breaks.txt by the names of programs, which alone are not indented."""
    parts = re.split(r"^(\w+)$", GOLDEN.read_text(), flags=re.MULTILINE)
    return {name: report.removeprefix("\n").removesuffix("\n") for name, report in zip(parts[1::2], parts[2::2], strict=True)}


def test_the_reports_are_of_these_programs() -> None:
    assert golden().keys() == LISTED


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", PROGRAMS)
def test_answers_breaks_and_guards(name: str) -> None:
    compiled: list[Any] = []

    def compile(function: Any) -> Any:
        made = lm.compile(function)
        compiled.append(made)
        return made

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        random.seed(5)
        expected = PROGRAMS[name](lambda function: function)
        random.seed(5)
        found = PROGRAMS[name](compile)
    _same(found, expected, name)
    if name in LISTED:
        report = "".join(_report(one) for one in compiled)
        if os.environ.get("LAMINA_UPDATE"):
            reports = {name: text for name, text in golden().items() if name in LISTED} | {name: report}
            GOLDEN.write_text("".join(f"{name}\n{reports[name]}\n" for name in sorted(reports)))
        assert report == golden().get(name)


def _report(compiled: Any) -> str:
    """What `lm.explain` says, without what depends on the machine."""
    text = str(lm.explain(compiled))
    text = re.sub(r", [\d.]+ us a call|, compiled in \d+ ms", "", text)
    return "".join(f"  {line}\n" for line in text.splitlines())


def _same(a: Any, b: Any, place: str) -> None:
    if isinstance(b, np.ndarray | np.generic | float | complex) and not isinstance(b, bool):
        assert np.shape(a) == np.shape(b), place
        assert np.asarray(a).dtype == np.asarray(b).dtype, place
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6, atol=1e-9, err_msg=place)
        assert not isinstance(b, float) or isinstance(b, np.floating) or type(a) is type(b), place
    elif isinstance(b, list | tuple):
        assert type(a).__name__ == type(b).__name__ and len(a) == len(b), place
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            _same(x, y, f"{place}[{k}]")
    elif isinstance(b, dict):
        assert type(a) is type(b) and list(a) == list(b), place
        for key in b:
            _same(a[key], b[key], f"{place}[{key!r}]")
    else:
        assert type(a) is type(b) and a == b, place
