"""Faults planted in rules, derivatives and batching rules are noticed; `make mutants` plants them all."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "mutation"))
sys.path.insert(0, str(Path(__file__).parent.parent / "dialects"))
sys.path.insert(0, str(Path(__file__).parent.parent / "transforms"))
from targets import Fault, faults, module_of, plant, targets
from test_drawn_ops import test_batching_of_drawn as batching
from test_drawn_ops import test_derivatives_of_drawn as derivatives
from test_rules_drawn import test_drawn as rule

PLANTED: tuple[tuple[str, str, Callable[[str], None], str], ...] = (
    ("slice_of_slice", "step.append(s * d) -> step.append(d)", rule, "slice_of_slice"),
    ("slice_of_slice", "a + s * c -> a + c", rule, "slice_of_slice"),
    (
        "transpose_of_transpose",
        "tuple((first[q] for q in ints(op.perm))) -> tuple((ints(op.perm)[q] for q in first))",
        rule,
        "transpose_of_transpose",
    ),
    ("_transpose_pad", "p[2] + 1 -> p[2] - 1", derivatives, "pad"),
    ("_batch_slice", "(1, *ints(p['step'])) -> (2, *ints(p['step']))", batching, "slice"),
)


def _fault(name: str, edit: str) -> Fault:
    (found,) = [f for target in targets() if target.name == name for f in faults(target) if f.key.endswith(f": {edit}")]
    module_of(found.target.path)
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("name, edit, test, case", PLANTED, ids=[f"{name}-{k}" for k, (name, *_) in enumerate(PLANTED)])
def test_planted_fault_is_noticed(name: str, edit: str, test: Callable[[str], None], case: str) -> None:
    take_out = plant(_fault(name, edit))
    try:
        with pytest.raises(Exception):  # noqa: B017 - whatever the fault leads to
            test(case)
    finally:
        take_out()
    test(case)
