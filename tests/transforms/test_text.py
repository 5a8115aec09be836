"""The FileCheck files of derivatives and batches, in this process: what the mutation run asks besides numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import Options
from filecheck.parser import Parser
from lamina.tools.lamina_opt import main

FILES = Path(__file__).parent.parent.parent / "filecheck" / "transforms"


@pytest.mark.parametrize("name", ["graph-linearize", "graph-transpose", "graph-vmap"])
def test_text(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = FILES / f"{name}.mlir"
    assert main([str(path), "-p", name, "--split-input-file"]) == 0
    options = Options(str(path))
    matcher = Matcher(options, FInput(name, capsys.readouterr().out), Parser.from_opts(options))
    assert matcher.run() == 0
