"""Every example in the README and in the tutorials runs, in order, in one folder, and prints what the page says."""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r"(?:^<!-- file: (?P<file>\S+) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
SETUP = re.compile(r"^\s*(make \w+|git clone .*|cd lamina)\b.*$", re.MULTILINE)
"""Commands of the set-up itself: what runs this test."""


def run_page(page: Path, folder: Path) -> int:
    """Run the blocks of a page: how many ran. A block of text after one is what it prints, `...` in it is anything."""
    scripts = str(Path(sys.executable).parent)
    env = {**os.environ, "PATH": scripts + os.pathsep + os.environ["PATH"], "LAMINA_CACHE_DIR": str(folder / "cache")}
    ran, printed = 0, ""
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        language, text, name = block["language"], block["text"], block["file"]
        if name:
            (folder / name).write_text(text)
        if language == "python" and name != "lit.cfg.py":
            command = [sys.executable, *([name] if name else ["-c", text])]
        elif language == "sh":
            command = ["bash", "-euo", "pipefail", "-c", SETUP.sub("true", text)]
        elif language == "text":
            wanted = "".join("*" if part == "..." else fnmatch_literal(part) for part in re.split(r"(\.\.\.)", text.rstrip()))
            assert fnmatch.fnmatchcase(printed.rstrip(), wanted), f"{page.name} says\n{text}\nand this was printed:\n{printed}"
            continue
        else:
            assert name or language not in ("mlir", "bash"), f"a {language} example without a file name is not run:\n{text}"
            continue
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
        ran, printed = ran + 1, done.stdout
    return ran


def fnmatch_literal(text: str) -> str:
    """A pattern of fnmatch that matches a text and nothing else."""
    return re.sub(r"([*?[])", r"[\1]", text)


def test_examples_run(tmp_path: Path) -> None:
    assert run_page(ROOT / "README.md", tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda path: path.stem)
def test_tutorials_run(page: Path, tmp_path: Path) -> None:
    assert run_page(page, tmp_path)


def test_examples_of_interop_run(tmp_path: Path) -> None:
    assert run_page(ROOT / "docs" / "interop.md", tmp_path)


def test_examples_of_extending_run(tmp_path: Path) -> None:
    """In a process of their own, where what they register stays."""
    path = ROOT / "docs" / "extending.md"
    modules = "lamina.frontend.extend", "lamina.codegen.targets.base"
    code = f"""
import doctest, importlib
found = [doctest.testfile({str(path)!r}, module_relative=False)]
found += [doctest.testmod(importlib.import_module(name)) for name in {modules!r}]
assert all(one.attempted > 1 and not one.failed for one in found), found
"""
    env = {**os.environ, "LAMINA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_examples_of_foreign_models_run(tmp_path: Path) -> None:
    for package in ("torch", "jax", "onnx"):
        pytest.importorskip(package, reason=f"{package} is not installed (extra lamina[oracles])")
    assert run_page(ROOT / "docs" / "foreign_models.md", tmp_path) == 3


def test_examples_of_torch_run(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed (extra lamina[oracles])")
    code = f"""
import doctest, importlib, warnings
warnings.simplefilter("ignore")
found = [doctest.testfile({str(ROOT / "docs" / "torch.md")!r}, module_relative=False)]
found += [doctest.testmod(importlib.import_module(f"lamina.interop.torch.{{name}}")) for name in ("function", "backend")]
assert all(one.attempted > 1 and not one.failed for one in found), found
"""
    env = {**os.environ, "LAMINA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_examples_of_onnx_run(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    code = f"""
import doctest, importlib
found = [doctest.testfile({str(ROOT / "docs" / "onnx.md")!r}, module_relative=False)]
found += [doctest.testmod(importlib.import_module("lamina.interop.onnx.function"))]
assert all(one.attempted > 1 and not one.failed for one in found), found
"""
    env = {**os.environ, "LAMINA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
