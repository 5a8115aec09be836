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


def awaited(path: Path) -> None:
    """Tests of a part that is not there at all yet are skipped, in CI they fail."""
    if not path.exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{path.relative_to(ROOT)} does not exist yet")


@pytest.fixture(name="awaited", scope="session")
def _awaited():
    return awaited
