"""What all tests share."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def mlir_opt() -> str:
    """Upstream's `mlir-opt`; in CI its absence is a failure, elsewhere the test is skipped."""
    spec = find_spec("mlir")
    for folder in spec.submodule_search_locations or () if spec else ():
        path = Path(folder) / "bin" / "mlir-opt"
        if os.access(path, os.X_OK):
            return str(path)
    if os.environ.get("CI"):
        pytest.fail("mlir-opt is missing: install the extra lamina[test]")
    pytest.skip("mlir-opt is not installed (extra lamina[test])")
