"""The state of the compiler: an edit of a source file anywhere in it changes every key, other files change none."""

from __future__ import annotations

import os
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from lamina.codegen import version

ROOT = Path(__file__).parent.parent.parent
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
PACKAGES = ["lamina", *(name for name in SETUPTOOLS["packages"] if name not in SETUPTOOLS["package-dir"])]
FOLDERS = [package.removeprefix("lamina").lstrip(".").replace(".", "/") for package in PACKAGES]
COMPILER = [folder for folder in FOLDERS if folder.split("/")[0] not in version.FRONT]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the package, whose state `version` tells."""
    for folder in FOLDERS:
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        for file in (ROOT / folder).glob("*.py"):
            shutil.copy2(file, tmp_path / folder / file.name)
    monkeypatch.setattr(version, "ROOT", tmp_path)
    yield tmp_path


def states() -> tuple[str, str]:
    """The state of the compiler and of the frontend, as a new process would find them."""
    return version.own_version.__wrapped__(), version.frontend_version.__wrapped__()


def test_an_edit_anywhere_changes_it(root: Path) -> None:
    """In every folder: a file changes, comes, and goes."""
    before = states()
    assert states() == before
    for folder in FOLDERS:
        changes = [folder in COMPILER, folder.split("/")[0] == "frontend"]
        for file in (sorted((root / folder).glob("*.py"))[-1], root / folder / "another.py"):
            file.write_text((file.read_text() if file.exists() else "") + "# edited\n")
            after = states()
            assert [x != y for x, y in zip(before, after, strict=True)] == changes, file
            before = after
        file.unlink()
        after = states()
        assert [x != y for x, y in zip(before, after, strict=True)] == changes, folder
        before = after


def test_an_edit_that_leaves_the_size(root: Path) -> None:
    before, file = states(), root / "lowering" / "widening" / "__init__.py"
    os.utime(file, ns=(1, 1))
    assert states()[0] != before[0]


def test_a_new_package_counts(root: Path) -> None:
    before = states()
    package = root / "lowering" / "widening" / "deeper"
    package.mkdir()
    (package / "__init__.py").write_text("")
    assert states()[0] != before[0]


@pytest.mark.parametrize(
    "path",
    ["tests/codegen/test_version.py", "docs/conf.py", "benchmarks/suite/__init__.py", ".venv/lib/__init__.py",
     "examples/kernels/matmul.py", "lowering/__pycache__/x.py", "lowering/notes.md", "README.md"],
)  # fmt: skip
def test_other_files_do_not_count(root: Path, path: str) -> None:
    before = states()
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text("unrelated")
    assert states() == before


def test_all_packages_are_compiler_or_front() -> None:
    assert {"lowering/widening", "runtime/interpreter", "codegen/targets", ""} <= set(COMPILER)
    listed = {line.rsplit(":", 2)[0].rpartition("/")[0] for line in version.source_files(ROOT)}
    assert listed == set(FOLDERS)
