"""Copies of the tree with a patch: what the worked examples of CONTRIBUTING.md add is tried on them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
LEFT_OUT = ("tests", "filecheck", "benchmarks", "docs", "build", "dist", "examples", ".*")
"""Byte code is copied: files keep their times, so that all but what the patch changes is valid."""


def files_of(patch: Path) -> list[str]:
    """The files that a patch changes or adds."""
    return re.findall(r"^\+\+\+ b/(.+)$", patch.read_text(), re.M)


def named_in(row: str, patch: Path) -> list[str]:
    """The files of a patch that a row of CONTRIBUTING.md does not name, a new file by its folder."""
    named = [name if (ROOT / name).exists() else f"{Path(name).parent}/" for name in files_of(patch)]
    return [name for name in named if f"`{name}" not in row]


def run_in_copy(folder: Path, patch: Path, program: str) -> str:
    """What a program prints that runs on a copy of the tree with a patch; its stubs and name table are written anew."""
    copy = folder / "lamina"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
    no_repository = os.environ | {"GIT_DIR": str(folder / "none")}
    subprocess.run(["git", "apply", "-C1", str(patch)], cwd=copy, check=True, env=no_repository)
    environment = os.environ | {"PYTHONPATH": str(folder), "LAMINA_CACHE": "0"}
    if "names.toml" in files_of(patch):
        subprocess.run([sys.executable, "-m", "lamina.tools.names"], cwd=folder, env=environment, check=True)
    path = folder / "program.py"
    path.write_text(f"import lamina\n\nassert lamina.__file__.startswith({str(copy)!r}), lamina.__file__\n{program}")
    found = subprocess.run([sys.executable, str(path)], env=environment, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr
    return found.stdout
