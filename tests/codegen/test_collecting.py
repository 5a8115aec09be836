"""Compilation puts off the collection of garbage, and only that."""

from __future__ import annotations

import gc
import weakref

import pytest
from lamina import pipeline
from lamina.errors import CompileError
from lamina.runtime import gc_pause
from xdsl.dialects.builtin import ModuleOp


@pytest.mark.parametrize("enabled", [True, False])
def test_collection_is_as_before_also_after_an_error(enabled: bool) -> None:
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with pytest.raises(CompileError, match="no function @main"):
            pipeline.build(ModuleOp([]))
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()


@pytest.mark.thorough
def test_what_a_compilation_leaves_is_out_of_the_young_generations_and_collected_in_the_end(
    monkeypatch: pytest.MonkeyPatch, thawed: None
) -> None:
    class Node:
        def __init__(self) -> None:
            self.itself = self

    def leave(count: int) -> weakref.ref[Node]:
        with gc_pause.collecting_later():
            nodes = [Node() for _ in range(count)]
            return weakref.ref(nodes[0])

    gc.collect()
    monkeypatch.setattr(gc_pause, "_left", 0)
    monkeypatch.setattr(gc_pause, "MOST_LEFT", 1000)
    first = leave(300)
    gc.collect(1)
    assert first() is not None and gc.get_freeze_count() == 0
    last = leave(1500)
    assert first() is None
    gc.collect()
    assert last() is None


def test_what_a_process_has_frozen_stays_frozen(monkeypatch: pytest.MonkeyPatch, thawed: None) -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    with gc_pause.collecting_later():
        pass
    assert gc.get_freeze_count() == frozen > 0 and gc_pause._has_frozen
    monkeypatch.setattr(gc, "get_freeze_count", None)  # counts all objects: not once for each compilation
    with gc_pause.collecting_later():
        pass
