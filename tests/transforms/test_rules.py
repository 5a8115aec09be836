"""Every rewrite rule fires on its example and keeps the meaning, as exactly as it says, on random and edge inputs."""

from __future__ import annotations

import pytest
from lamina.dialects.graph.rules import RULES as DECLARED
from lamina.dialects.graph.rules import Rule, rules_by_root
from lamina.testing import check_rule

rules_by_root()
RULES: dict[str, Rule] = {}
for entry in DECLARED:
    RULES.setdefault(entry.name, entry)


@pytest.mark.parametrize("name", RULES)
def test_rule(name: str) -> None:
    check_rule(RULES[name])


def test_every_equation_says_what_becomes_what() -> None:
    for rule in RULES.values():
        assert " -> " in rule.equation, rule.name
