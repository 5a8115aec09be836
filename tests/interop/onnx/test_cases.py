"""ONNX's own backend tests, a sample: one of each op here, all in `make conformance-onnx`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnx")

CONFORMANCE = Path(__file__).parent.parent.parent / "conformance"
sys.path.insert(0, str(CONFORMANCE))

PASSES = (CONFORMANCE / "onnx_passes.txt").read_text(encoding="utf-8").split()
STEP = 24
"""One of so many tests is in this sample."""
KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")


@pytest.fixture(scope="module")
def cases() -> dict[str, Any]:
    from onnx.backend.test import loader

    with pytest.warns(RuntimeWarning):  # its own arithmetic overflows
        found = {c.name: c for kind in KINDS for c in loader.load_model_tests(kind=kind)}
    return found


@pytest.mark.thorough(every=4)
@pytest.mark.parametrize("name", PASSES[::STEP])
def test_equals_its_outputs(cases: dict[str, Any], name: str) -> None:
    from onnx_child import run

    if name not in cases:
        pytest.skip("a test of another release of onnx")
    assert run(cases[name]) == ("pass", "")
