"""Counting what passes do, and stopping them: statistics of a pass, and which applications of a rule take place.

A rule is anything that rewrites and has a name: a rule of the graph ops, a strategy, a step. Code that applies one asks
`allows` first, and calls `count` for what is worth a line in `lamina-opt --mlir-pass-statistics`. Without settings both cost an
attribute lookup.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass
class _State:
    counts: dict[str, int] | None = None
    """What was counted since `start_counting`; None: nobody asks."""
    windows: dict[str, tuple[int, int | None]] = field(default_factory=dict)
    """Of rules: how many applications are skipped, and how many take place after them (None: all)."""
    only: Collection[str] | None = None
    without: Collection[str] = ()
    applied: dict[str, int] = field(default_factory=dict)
    """How often each rule was about to be applied; kept while there are settings."""
    is_set: bool = False


_state = _State()


def count(name: str, number: int = 1) -> None:
    """Add to a statistic of the pass that runs."""
    if _state.counts is not None:
        _state.counts[name] = _state.counts.get(name, 0) + number


def start_counting() -> None:
    """Forget what was counted and count from here on."""
    _state.counts = {}


def counted() -> dict[str, int]:
    """What was counted since `start_counting`, which ends."""
    counts, _state.counts = _state.counts or {}, None
    return counts


def allows(rule: str) -> bool:
    """Whether the next application of a rule takes place; each call is one that would."""
    if not _state.is_set:
        return True
    if rule in _state.without or (_state.only is not None and rule not in _state.only):
        return False
    number = _state.applied[rule] = _state.applied.get(rule, 0) + 1
    skip, most = _state.windows.get(rule, (0, None))
    return number > skip and (most is None or number <= skip + most)


def limit(
    windows: Mapping[str, tuple[int, int | None]] | None = None,
    *,
    only: Collection[str] | None = None,
    without: Collection[str] = (),
) -> None:
    """Say which applications of rules take place from here on; called with nothing, all of them.

    Args:
        windows: of rules by name, how many applications to skip, and how many follow that take place (None: all).
        only: no rules but these are applied.
        without: rules that are not applied.
    """
    _state.windows, _state.only, _state.without = dict(windows or {}), only, without
    _state.applied = {}
    _state.is_set = bool(windows) or only is not None or bool(without)


def applications() -> dict[str, int]:
    """How often each rule was about to be applied since `limit`, while it limits anything."""
    return dict(_state.applied)
