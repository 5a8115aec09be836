"""The example `examples/extension`: installed as any package is, its tests pass; without it, its names are unknown."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "extension"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the installed package."""
    pytest.importorskip("setuptools")
    source, folder = tmp_path_factory.mktemp("source") / "extension", tmp_path_factory.mktemp("installed")
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check")
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "--target", str(folder), str(source)], check=True)
    return folder


def run(command: Sequence[str], folder: Path | None, cwd: str = os.sep, **more: str) -> subprocess.CompletedProcess[str]:
    path = {} if folder is None else {"PYTHONPATH": str(folder)}
    given = {**os.environ, **path, **more}
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, cwd=cwd, env=given, check=False)


@pytest.mark.thorough
def test_its_tests_pass(installed: Path, tmp_path: Path) -> None:
    # in a copy: pytest imports the packages around the tests, and ours is one whose folder may have any name
    copy = tmp_path / "extension"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    options = ("-q", "-p", "no:cacheprovider", f"--rootdir={copy}", "-c", os.devnull)
    done = run(["-m", "pytest", *options, "tests"], installed, str(copy), LAMINA_CACHE_DIR=str(installed / "cache"))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


@pytest.mark.thorough
def test_the_entry_point_may_be_left_out_and_broken(installed: Path, tmp_path: Path) -> None:
    ask = "from lamina.extend import extensions; print(len(extensions()))"
    assert int(run(["-c", ask], installed).stdout) >= 8
    assert run(["-c", ask], installed, LAMINA_EXTENSIONS="off").stdout == "0\n"
    assert run(["-c", ask], None).stdout == "0\n"
    broken = tmp_path / "broken"
    shutil.copytree(installed, broken)
    (broken / "lamina_softcap" / "__init__.py").write_text("raise ValueError('no')\n")
    done = run(["-c", ask], broken)
    assert done.stdout == "0\n"
    assert "extension 'softcap' of package 'lamina-softcap' is left out: ValueError: no" in done.stderr
