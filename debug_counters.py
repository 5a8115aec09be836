"""Counters for debugging passes: statistics of a pass, and windows that select which applications of a rule take place.

A rule is anything that rewrites and has a name: a rule of the graph ops, a strategy, a step. Code that applies one asks
`allows` first, and calls `count` for the events that `lamina-opt --mlir-pass-statistics` reports. Without settings both cost an
attribute lookup.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass
class _State:
    counts: dict[str, int] | None = None
    """The counts since `start_counting`; None while counting is off."""
    windows: dict[str, tuple[int, int | None]] = field(default_factory=dict)
    """The window of each rule: how many applications are skipped, and how many then take place (None: all)."""
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
    """Reset the counts and start counting."""
    _state.counts = {}


def counted() -> dict[str, int]:
    """Stop counting; the counts since `start_counting`."""
    counts, _state.counts = _state.counts or {}, None
    return counts


def allows(rule: str) -> bool:
    """Whether the next application of a rule takes place; each call counts as one application."""
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
    """Set which applications of rules take place from here on; without arguments, all of them.

    Args:
        windows: for rules by name, how many applications to skip, and how many then take place (None: all).
        only: the only rules that are applied.
        without: the rules that are not applied.
    """
    _state.windows, _state.only, _state.without = dict(windows or {}), only, without
    _state.applied = {}
    _state.is_set = bool(windows) or only is not None or bool(without)


def applications() -> dict[str, int]:
    """How often each rule was about to be applied since `limit`, while it limits anything."""
    return dict(_state.applied)


def resume(applied: Mapping[str, int]) -> None:
    """Take over the `applications` of a run that began with this state, in a child of this process."""
    _state.applied = dict(applied)
