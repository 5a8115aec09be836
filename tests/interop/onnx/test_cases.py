"""ONNX's own backend tests, a sample: one of each op here, all in `make conformance-onnx`."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnx")

CONFORMANCE = Path(__file__).parent.parent.parent / "conformance"
sys.path.insert(0, str(CONFORMANCE))

PASSES = (CONFORMANCE / "onnx_passes.txt").read_text(encoding="utf-8").split()
STEP = 24
"""One of so many tests is in this sample."""
POOLS = ("averagepool", "lppool", "maxpool")
"""Ops whose tests ONNX computes in 9 s, in loops of Python; tests of PyTorch stand for them."""
SAMPLE = [name for name in PASSES if not name.startswith(tuple(f"test_{op}" for op in POOLS))][::STEP]
SAMPLE += ["test_AvgPool2d_stride", "test_MaxPool2d_stride_padding_dilation"]
KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")


@pytest.fixture(scope="module")
def cases() -> dict[str, Any]:
    """The tests by name. ONNX computes those of nodes when the modules of their ops are imported."""
    from onnx.backend.test import loader
    from onnx.backend.test.case import node

    found = {case.name: case for kind in KINDS[1:] for case in loader.load_model_tests(kind=kind)}
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # its own arithmetic overflows
        for path in sorted(Path(node.__path__[0]).glob("[a-z]*.py")):
            if path.stem not in POOLS:
                import_module(f"{node.__name__}.{path.stem}")
    return found | {case.name: case for case in node._NodeTestCases}


@pytest.mark.thorough(every=4)
@pytest.mark.parametrize("name", SAMPLE)
def test_equals_its_outputs(cases: dict[str, Any], name: str) -> None:
    from onnx_child import run

    if name not in cases:
        pytest.skip("a test of another release of onnx")
    assert run(cases[name]) == ("pass", "")
