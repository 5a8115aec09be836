"""The example `examples/derivatives`: one function, differentiated in four ways."""

from __future__ import annotations

import importlib.util
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

FILE = Path(__file__).parents[2] / "examples" / "derivatives" / "four_ways.py"
_spec = importlib.util.spec_from_file_location("four_ways", FILE)
assert _spec is not None and _spec.loader is not None
example = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(example)


def test_the_ways_agree(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    exact = [1 / 2 + 5, 2 - np.cos(5.0)]
    for found in example.both_modes():
        np.testing.assert_allclose(found, exact, rtol=1e-14)
    example.trace()
    shown = capsys.readouterr().out
    assert "11.652" in shown and "5.5" in shown and "1.716" in shown
    errors = example.numeric()
    assert errors["forward"].min() < 1e-6 and errors["central"].min() < 1e-9
    assert errors["forward"].argmin() < errors["central"].argmin() and errors["forward"][0] > 1, "steps that are too small"
    rows = example.symbolic(4)
    ours = [count for *_, count in rows]
    assert np.diff(ours).max() <= 10, "a program grows by the same number of operations each time"
    if rows[0][1] is not None:
        assert rows[3][1] > 3 * ours[3] and "dy/dx1 = x2 + 1/x1" in capsys.readouterr().out


@pytest.mark.thorough
def test_the_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    example.numeric(str(tmp_path / "errors.svg"))
    assert ElementTree.parse(tmp_path / "errors.svg").getroot().tag.endswith("svg")
