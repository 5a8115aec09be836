"""Compilation puts off the collection of garbage, and only that."""

from __future__ import annotations

import gc

import pytest
from lamina import pipeline
from lamina.errors import CompileError
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
