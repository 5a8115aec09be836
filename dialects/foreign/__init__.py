"""Verifiers for upstream's ops where xDSL verifies less than upstream, with upstream's messages.

    'arith.extf' op operand type 'f32' and result type 'f16' are cast incompatible

`tests/dialects/test_foreign.py` compares them with upstream's `mlir-opt`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from .types import Rule

_FILES = {
    **{"arith": "arithmetic", "math": "arithmetic", "vector": "vectors", "memref": "memory", "program": "memory"},
    **{"func": "control", "cf": "control", "scf": "control"},
}
"""The file with the rules of a dialect, loaded when an op of it is met."""

WORDED = frozenset({"func.return"})
"""Ops whose rule runs before xDSL's, whose message has another wording."""


@cache
def _rules(dialect: str) -> Mapping[str, Rule]:
    file = _FILES.get(dialect)
    return {} if file is None else import_module(f".{file}", __name__).RULES


def rule_of(name: str) -> Rule | None:
    """The check of the ops of a name, in addition to xDSL's."""
    return _rules(name.partition(".")[0]).get(name)
