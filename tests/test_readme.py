"""Every example in the README runs, in order, in one folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"(?:^<!-- file: (?P<file>\S+) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
SETUP = re.compile(r"^\s*(make \w+|git clone .*|cd lamina)\b.*$", re.MULTILINE)
"""Commands of the set-up itself: what runs this test."""


def test_examples_run(tmp_path: Path) -> None:
    scripts = str(Path(sys.executable).parent)
    env = {**os.environ, "PATH": scripts + os.pathsep + os.environ["PATH"], "LAMINA_CACHE_DIR": str(tmp_path / "cache")}
    ran = 0
    for block in BLOCK.finditer((ROOT / "README.md").read_text(encoding="utf-8")):
        language, text, name = block["language"], block["text"], block["file"]
        if name:
            (tmp_path / name).write_text(text)
        if language == "python":
            command = [sys.executable, str(tmp_path / name) if name else "-c", *([] if name else [text])]
        elif language == "sh":
            command = ["bash", "-euo", "pipefail", "-c", SETUP.sub("true", text)]
        else:
            assert name or language not in ("mlir", "bash"), f"a {language} example without a file name is not run:\n{text}"
            continue
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
        ran += 1
    assert ran


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
