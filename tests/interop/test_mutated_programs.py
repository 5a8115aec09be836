"""A share of the mutated programs that `tests/mutated_programs.py` tries by thousands."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("onnx")
from mutated_programs import main


@pytest.mark.parametrize(("kind", "count"), [("onnx", 120), pytest.param("stablehlo", 80, marks=pytest.mark.thorough)])
def test_each_is_read_or_refused(kind: str, count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(kind, str(tmp_path / "tried.jsonl"), count)
    printed = capsys.readouterr().out
    assert status == 0, printed
    assert f"{count} programs:" in printed and "'refused'" in printed
