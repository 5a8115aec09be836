"""The table of public names, `names.toml`: it is what programs find, and what is written from it is up to date."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lamina import name_table, names
from lamina.tools import names as tool

ROOT = Path(__file__).parent.parent.parent
NAMESPACES = [space for space in name_table.HOMES if space != "lamina" and space.partition(".")[0] != "api"]


def module_of(space: str):
    """The module that is a namespace, as programs import it."""
    return importlib.import_module("lamina" if space == "lamina" else f"lamina.{space}")


def signature_of(function: Any) -> inspect.Signature | None:
    """None for some of NumPy's functions that are written in C."""
    return None if inspect.isbuiltin(getattr(function, "__wrapped__", None)) else inspect.signature(function)


def package_files() -> Iterator[Path]:
    outside = {"tests", "filecheck", "benchmarks", "examples", "docs", "build", "dist"}
    for path in ROOT.rglob("*.py"):
        first = path.relative_to(ROOT).parts[0]
        if first not in outside and not first.startswith("."):
            yield path


def test_what_is_written_from_the_table_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert tool.main(["--check"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("space", name_table.HOMES)
def test_a_namespace_has_the_names_of_the_table(space: str) -> None:
    module, listed = module_of(space), names.public(space)
    assert sorted(module.__all__) == sorted(listed)
    assert {*listed} <= {*dir(module)}
    for name in listed:
        assert getattr(module, name) is not None or name == "newaxis"


@pytest.mark.parametrize("space", NAMESPACES)
def test_functions_say_what_they_do(space: str) -> None:
    """Each public function has a signature, and a first line of its docstring that is a sentence."""
    module = module_of(space)
    for name in names.public(space):
        value = getattr(module, name)
        if tool.is_function(value):
            assert inspect.getdoc(value), f"{space}.{name} has no docstring"
            assert signature_of(value) is not None or "np." in (value.__doc__ or ""), name


@pytest.mark.parametrize(("path", "text"), [pytest.param(*pair, id=pair[0]) for pair in tool.stubs()])
def test_stubs_declare_what_there_is(path: str, text: str) -> None:
    """Each public name is declared once, by an import that leads to it or with the signature that it has."""
    package = ["lamina", *Path(path).parent.parts]
    declared: list[str] = []
    module = importlib.import_module(".".join(package if path.endswith("__init__.pyi") else [*package, Path(path).stem]))
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            base = ".".join([*package[: len(package) - node.level + 1], *([node.module] if node.module else [])])
            (alias,) = node.names
            declared.append(str(alias.asname))
            home = importlib.import_module(base)
            found = getattr(home, alias.name, None)
            found = importlib.import_module(f"{base}.{alias.name}") if found is None and hasattr(home, "__path__") else found
            mine = getattr(module, declared[-1])
            assert found is mine or isinstance(mine, names.Submodule), declared[-1]
        elif isinstance(node, ast.FunctionDef):
            declared.append(node.name)
            if (found := signature_of(getattr(module, node.name))) is None:
                continue
            written = node.args
            count = sum(map(len, (written.posonlyargs, written.args, written.kwonlyargs)))
            assert count + (written.vararg is not None) + (written.kwarg is not None) == len(found.parameters), node.name
    assert {*module.__all__} <= {*declared}
    assert len(declared) == len({*declared})


def test_names_are_imported_by_their_names() -> None:
    """Neither star imports nor assignments to `globals()` in the package, which no search for a name finds."""
    wrong: list[str] = []
    for path in package_files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: star import")
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "globals":
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: globals()")
    assert not wrong


def test_a_name_that_is_not_there_is_named() -> None:
    with pytest.raises(AttributeError, match=r"'lamina\.nn' has no attribute 'softmaks'"):
        _ = module_of("nn").softmaks
