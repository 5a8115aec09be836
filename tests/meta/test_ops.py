"""Every graph op is complete: documentation, constraints with a test each, rules, a row in tests/ops_table.py."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lamina.dialects.graph import OPS
from lamina.dialects.graph.base import CompositeOp

ROOT = Path(__file__).parent.parent.parent
TABLE = ROOT / "tests" / "ops_table.py"
INVALID = ROOT / "filecheck" / "dialects" / "graph"

STRUCTURE = {
    "fusion",
    "yield",
    "call",
    "vjp",
    "jvp",
    "vmap",
    "transposed",
    "kernel",
    "for",
    "while",
    "case",
    "custom_derivative",
    "transpose_of",
}
"""Ops that hold or call code: they have no rules of their own, and are tested with the passes that expand them."""


@pytest.mark.parametrize("name", sorted(OPS))
def test_docstring_shows_an_example(name: str) -> None:
    doc = OPS[name].__doc__ or ""
    assert doc.strip(), f"graph.{name} has no docstring"
    assert "```mlir" in doc or f"graph.{name} " in doc, f"graph.{name} shows no example"


@pytest.mark.parametrize("name", sorted(OPS))
def test_every_constraint_has_a_case(name: str, awaited) -> None:
    awaited(INVALID)
    labels = re.findall(r"\((C\d+)\)", OPS[name].__doc__ or "")
    text = "".join(path.read_text() for path in INVALID.glob("invalid*.mlir"))
    missing = [label for label in labels if not re.search(rf"@{name}_{label.lower()}(?!\d)", text)]
    assert not missing, f"filecheck/dialects/graph/invalid*.mlir needs @{name}_{missing[0].lower()}_..."


@pytest.mark.parametrize("name", sorted(set(OPS) - STRUCTURE))
def test_rules_are_complete(name: str) -> None:
    op = OPS[name]
    for member in ("infer_types", "evaluate", "derivative", "batching"):
        assert hasattr(op, member), f"graph.{name} lacks {member}"
    assert op.derivative is not None or issubclass(op, CompositeOp), f"graph.{name} says of no derivative that there is none"
    assert hasattr(op, "equations") or hasattr(op, "decompose"), f"graph.{name} has neither equations nor decompose"


@pytest.mark.parametrize("name", sorted(set(OPS) - STRUCTURE))
def test_has_a_row_in_the_table(name: str, awaited) -> None:
    awaited(TABLE)
    assert re.search(rf"""["'](?:graph\.)?{name}["']""", TABLE.read_text()), f"tests/ops_table.py has no row for {name}"
