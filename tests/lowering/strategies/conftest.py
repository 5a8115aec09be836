"""Fixtures of the tests of schedules."""

from __future__ import annotations

import pytest
from lamina.lowering.strategies import blocked


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks also where they would not pay: of few elements, so that small arrays have several."""
    monkeypatch.setenv("LAMINA_CACHE", "0")
    monkeypatch.setattr(blocked, "LEAST_WORK", 1)
    monkeypatch.setattr(blocked, "LEAST_SIDE", 2)
    monkeypatch.setattr(blocked, "LEAST_ROWS", 2)
    monkeypatch.setattr(blocked, "DEEPEST", 40)
    monkeypatch.setattr(blocked, "WIDEST", 96)
