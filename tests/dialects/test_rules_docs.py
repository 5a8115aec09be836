"""docs/rules.md agrees with the declarations."""

from __future__ import annotations

from pathlib import Path

from lamina.dialects.graph.rules import document


def test_docs_are_current(root: Path) -> None:
    page = (root / "docs" / "rules.md").read_text(encoding="utf-8")
    assert page == document(), "docs/rules.md is out of date; its first lines say how to write it"
