"""The list of passes: as the passes say it, and kept for the next time."""

from __future__ import annotations

from pathlib import Path

import pytest
from lamina import passes
from lamina.dialects.context import make_context
from lamina.tools import reference


def test_each_pass_has_its_line() -> None:
    lines = reference.pass_lines().splitlines()
    assert {line.split()[0].removeprefix("--") for line in lines if line.startswith("  --")} == set(passes.all_names())


def test_the_list_is_kept_and_made_again_where_there_is_no_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(tmp_path))
    made: list[int] = []
    original = reference._pass_lines
    monkeypatch.setattr(reference, "_pass_lines", lambda names: made.append(len(names)) or original(names))
    first = reference.pass_lines()
    assert reference.pass_lines() == first and len(made) == 1
    monkeypatch.setenv("LAMINA_CACHE", "0")
    assert reference.pass_lines() == first and len(made) == 2


def test_a_page_has_no_docstring_of_a_base_class() -> None:
    assert "rewrite pass over an IR module" not in reference.pass_page("cse")
    assert "base class" not in reference.op_page("arith.addf", make_context())


def test_all_types_of_floats_are_one_word() -> None:
    assert "lhs: float or vector of float or tensor of float" in reference.op_page("arith.addf", make_context())
