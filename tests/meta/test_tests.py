"""Every file of the package has tests that are found by its name, or by `tests/tested_by.txt`."""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
TESTS = ROOT / "tests"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FOLDERS = [name.partition(".")[2].replace(".", "/") for name in PYPROJECT["tool"]["setuptools"]["packages"]]


@cache
def files() -> tuple[str, ...]:
    """The files of the package, relative to the root; those that only collect names (`__init__.py`) aside."""
    found = (path for folder in FOLDERS for path in (ROOT / folder).glob("*.py") if path.name != "__init__.py")
    return tuple(sorted(str(path.relative_to(ROOT)) for path in found))


@cache
def imported() -> set[str]:
    """The files of the package that a test imports by name: `from lamina.dialects.loop.grain import wanted`."""
    found: set[str] = set()
    for path in TESTS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lamina."):
                base = str(node.module).removeprefix("lamina.").replace(".", "/")
                found |= {f"{base}.py", *(f"{base}/{name.name}.py" for name in node.names)}
            elif isinstance(node, ast.ImportFrom) and node.module == "lamina":
                found |= {f"{name.name}.py" for name in node.names}
            elif isinstance(node, ast.Import):
                found |= {f"{name.name.removeprefix('lamina.').replace('.', '/')}.py" for name in node.names}
    return found


@cache
def filechecks() -> set[str]:
    return {path.stem for path in (ROOT / "filecheck").rglob("*.mlir")}


def is_found(file: str) -> bool:
    """Whether a test or FileCheck file has the file's name, or a test imports it."""
    path = Path(file).with_suffix("")
    name = path.name.strip("_")
    passes = {name.replace("_", "-"), "loop-" + name.replace("_", "-")}
    own = any((TESTS / Path(*path.parts[:k]) / f"test_{name}.py").exists() for k in range(1, len(path.parts) + 1))
    return own or bool(passes & filechecks()) or file in imported()


@cache
def table() -> dict[str, list[str]]:
    """The rows of `tested_by.txt`: the tests of a file, or of a folder, which ends in `/`."""
    lines = (TESTS / "tested_by.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.partition(": ") for line in lines if line and not line.startswith("#")]
    found = {key: tests.split() for key, _, tests in rows}
    assert len(found) == len(rows), "two rows have one key"
    return found


def rows_of(file: str) -> list[str]:
    """The keys of the rows for a file: its own row, or that of its folder."""
    return [key for key in (file, f"{Path(file).parent}/") if key in table()][:1]


def test_every_file_has_tests() -> None:
    missing = [file for file in files() if not is_found(file) and not rows_of(file)]
    rule = "write tests/<folder>/test_<file>.py, or name the tests that exercise the file in tests/tested_by.txt:"
    assert not missing, "\n".join([rule, *missing])


def test_rows_are_needed_and_name_tests() -> None:
    """A file that has a test of its own name needs no row; the tests of each row exist and test something."""
    needed = {key for file in files() if not is_found(file) for key in rows_of(file)}
    wrong = [f"{key}: not needed" for key in table() if key not in needed]
    for key, tests in table().items():
        for test in tests:
            path = TESTS / test
            if not path.exists() or "def test_" not in path.read_text(encoding="utf-8"):
                wrong.append(f"{key}: {test} has no tests")
    assert not wrong, "\n".join(wrong)
