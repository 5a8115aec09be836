"""In CI no test is skipped but for what the machine is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))
from skips import ALLOWED, excess

TESTS = Path(__file__).parent.parent


def test_reasons_and_counts() -> None:
    assert excess([]) == []
    assert excess(["needs fork"] * ALLOWED["needs fork"]) == []
    assert "needs fork" in excess(["needs fork"] * (ALLOWED["needs fork"] + 1))[0]
    assert excess(["could not import 'jax'", "needs fork"]) == ["no test may be skipped in CI because: could not import 'jax'"]
    assert excess(["it needs fork"])


TEST = """
import pytest

def test_it():
    pytest.skip("{reason}")

def test_more():
    pass
"""
MODULE = """
import pytest
pytest.skip("{reason}", allow_module_level=True)
"""


@pytest.mark.thorough(every=3)
@pytest.mark.parametrize(
    ("reason", "ci", "code"), [("no such library", "1", 1), ("no such library", "", 0), ("needs fork", "1", 0)]
)
def test_a_session_fails(tmp_path: Path, reason: str, ci: str, code: int) -> None:
    """By a skip with another reason, in a test and of a module, in CI alone."""
    for name in ("conftest.py", "skips.py"):
        (tmp_path / name).write_text((TESTS / name).read_text())
    (tmp_path / "test_one.py").write_text(TEST.format(reason=reason))
    (tmp_path / "test_two.py").write_text(MODULE.format(reason=reason))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "1", "-c", "/dev/null", "--rootdir=.", "."]
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")} | {"CI": ci}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == code and "1 passed, 2 skipped" in done.stdout, done.stdout + done.stderr
    assert ("no test may be skipped in CI because: no such library" in done.stdout) == bool(code)
