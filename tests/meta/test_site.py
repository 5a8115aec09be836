"""`make docs` builds the site: every link leads somewhere, every op and pass is in the reference."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from lamina import passes
from lamina.dialects.context import make_context


@pytest.mark.thorough
def test_the_site_is_whole(root: Path, tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(
        command, cwd=root, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stdout + done.stderr
    reference = {path.stem: path.read_text(encoding="utf-8") for path in (tmp_path / "reference").glob("*.html")}
    context = make_context()
    for name in ("graph", "loop", "program"):
        missing = [op.name for op in context.get_dialect(name).operations if op.name not in reference[name]]
        assert not missing
    listed = reference["passes"] + reference["primitives"]
    assert not [name for name in passes.infos() if name not in listed]
