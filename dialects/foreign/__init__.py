"""What upstream's verifiers say of upstream's ops where xDSL's say nothing, in upstream's words.

    'arith.extf' op operand type 'f32' and result type 'f16' are cast incompatible

`tests/dialects/test_foreign.py` compares them with upstream's `mlir-opt`.
"""

from __future__ import annotations

from . import arithmetic, control, memory, vectors
from .types import Rule

_RULES: dict[str, Rule] = {**arithmetic.RULES, **vectors.RULES, **memory.RULES, **control.RULES}

WORDED = frozenset({"func.return"})
"""Ops whose rule stands before xDSL's, which says the same in other words."""


def rule_of(name: str) -> Rule | None:
    """What to check of ops of a name, besides what xDSL checks."""
    return _RULES.get(name)
