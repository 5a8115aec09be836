"""`dialects/verified.py`: a kind that was found valid is not verified again, an op that is not valid is, and little is kept."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from lamina.dialects import verified
from lamina.dialects.dominance import InvalidIR, verify_module
from lamina.dialects.graph.builder import GraphBuilder
from lamina.dialects.types import f32, tensor
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region


@pytest.fixture(autouse=True)
def nothing_is_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verified, "_valid", {})


def module_of(n: int, elements: int = 2) -> ModuleOp:
    """The sum of a vector and a constant, `n` times."""
    type = tensor(f32, (elements,))
    block = Block(arg_types=[type])
    b, x = GraphBuilder(block), block.args[0]
    for _ in range(n):
        x = b.add(x, b.const(np.arange(elements, dtype=np.float32)))
    block.add_op(ReturnOp(x))
    return ModuleOp([FuncOp("main", ([type], [type]), Region(block))])


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often ops of each name are verified."""
    found: Counter[str] = Counter()
    verify = Operation.verify

    def counted(self: Operation, verify_nested_ops: bool = True) -> None:
        found[self.name] += 1
        verify(self, verify_nested_ops)

    monkeypatch.setattr(Operation, "verify", counted)
    return found


def test_a_kind_is_verified_once(counts: Counter[str]) -> None:
    module = module_of(5)
    for _ in range(3):
        verify_module(module)
    assert counts["graph.add"] == 1 and counts["func.return"] == 3


def test_an_op_that_is_not_valid_is_found_each_time() -> None:
    module = module_of(3)
    verify_module(module)
    _, add, *_ = module.body.block.first_op.regions[0].block.ops
    add.results[0]._type = tensor(f32, (3,))
    for _ in range(2):
        with pytest.raises(InvalidIR, match="result type must be"):
            verify_module(module)


def test_large_constants_are_not_kept(counts: Counter[str]) -> None:
    small, large = module_of(1, 4), module_of(1, 1000)
    for module in (small, large) * 2:
        verify_module(module)
    assert counts["graph.const"] == 3
    kept = [a for attributes in verified._valid.values() for a in attributes if isinstance(a, DenseIntOrFPElementsAttr)]
    assert [len(a.data.data) for a in kept] == [16]


def test_the_number_of_kinds_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verified, "_MOST_VALID", 3)
    for n in range(1, 20):
        verify_module(module_of(1, n))
    assert 0 < len(verified._valid) <= 3
